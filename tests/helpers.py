"""What several test files use. ``A[i, j]`` is the edge i -> j."""

import itertools
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from numpy.testing import assert_array_equal

from skbidag import OrderMCMCStructure
from skbidag._search_space import SearchSpace
from skbidag.scores.base import BaseScore

# -------------------------------------------------------------------- reference data

DATA = Path(__file__).parent / "data"


def read_data(name, dtype=float):
    """The rows of a file of ``tests/data``."""
    return np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1, dtype=dtype)


def read_exact_posterior(name, kind):
    """Exact edge probabilities, of the posterior over DAGs ("dag") or "order"s."""
    return np.loadtxt(DATA / f"{name}_exact_{kind}_posterior.csv", delimiter=",")


# ---------------------------------------------------------------------------- graphs


def graph(n, *edges):
    """The graph with these edges."""
    A = np.zeros((n, n), dtype=bool)
    for i, j in edges:
        A[i, j] = True
    return A


def random_dag(rng, n, density):
    """A DAG in which a pair of nodes is adjacent with probability `density`."""
    A = np.triu(rng.random((n, n)) < density, 1)
    order = rng.permutation(n)
    return A[np.ix_(order, order)]


def all_dags(n):
    """Every DAG with n nodes, an array of shape (n_dags, n, n)."""
    pairs = list(itertools.combinations(range(n), 2))
    choices = np.array(list(itertools.product(range(3), repeat=len(pairs))), "i1")
    graphs = np.zeros((len(choices), n, n), dtype=bool)
    for column, (i, j) in enumerate(pairs):
        graphs[:, i, j] = choices[:, column] == 1
        graphs[:, j, i] = choices[:, column] == 2
    paths = graphs.copy()
    for _ in range(n - 1):
        paths = graphs | (paths.astype("u1") @ graphs.astype("u1") > 0)
    return graphs[~paths[:, range(n), range(n)].any(axis=1)]


# ----------------------------------------------------------------- spaces and scores


def random_space(rng, n, extended=True, max_candidates=3, outsiders=0.8, required=0.0):
    """A random space in which some required edges, if any, form a DAG."""
    permitted = np.zeros((n, n), dtype=bool)
    for j in range(n):
        others = np.delete(np.arange(n), j)
        size = rng.integers(0, min(max_candidates, n - 1) + 1)
        permitted[rng.permutation(others)[:size], j] = True
    extra = ~permitted & ~np.eye(n, dtype=bool) & (rng.random((n, n)) < outsiders)
    place = rng.permutation(n)
    needed = permitted & (place[:, None] > place) & (rng.random((n, n)) < required)
    return SearchSpace(permitted, extra & extended, needed, extended)


class MadeUpScore(BaseScore):
    """Arbitrary values: normal, times `spread`, and a `bonus` for some parents.

    With a bonus of a thousand nats for having parent 0 or 1, sums without them are
    nothing beside sums with them.
    """

    def __init__(self, spread=1.0, seed=0, bonus=0.0):
        self.spread = spread
        self.seed = seed
        self.bonus = bonus

    def _fit(self, X, sample_weight):
        pass

    def log_marginal_likelihood(self, node, parents):
        parents = np.sort(np.asarray(parents, dtype=int))
        key = [self.seed, node, *(parents + 1)]
        value = self.spread * np.random.default_rng(key).normal() - 100.0
        return value + self.bonus * np.isin(parents, [0, 1]).any()


# ------------------------------------------------------------------------ estimators

QUICK = {"n_iter": 2000, "n_draws": 40, "n_chains": 2, "random_state": 0}


def quick(structure=OrderMCMCStructure, **params):
    """An estimator with short chains, where it is not the question what they find."""
    return structure(**{**QUICK, **params})


def assert_same_draws(model, other):
    """Chains took the same path, and what was learned from them is the same."""
    assert_array_equal(model.dag_samples_.packed, other.dag_samples_.packed)
    assert_array_equal(model.log_score_trace_, other.log_score_trace_)
    assert_array_equal(model.rhat_, other.rhat_)
    assert_array_equal(model.acceptance_rate_, other.acceptance_rate_)
    assert_array_equal(model.adjacency_, other.adjacency_)
    assert_array_equal(model.adjacency_probabilities_, other.adjacency_probabilities_)
    assert model.n_iter_ == other.n_iter_


class Callback:
    """A callback of scikit-learn's that does nothing; tests fill in what they need."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        pass


# ------------------------------------------------------------------ other processes


@contextmanager
def python_process(script):
    """Run a script beside the test, in a process that ends with the context.

    Its output is not buffered: a line can be read when it is printed.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-u", "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_chains(process, n_chains):
    """Read the lines of a verbose fit until each chain has made a block of steps."""
    seen = set()
    while len(seen) < n_chains:
        seen.add(re.match(r"\[.*\] (chain \d+):", process.stdout.readline())[1])


def control_c(process):
    """Interrupt a process that prints, when it notices, how long it has worked.

    It prints to stderr, as other threads may be in the middle of a line on stdout.

    Returns
    -------
    seconds : float
        The time it worked until then. Unlike what a clock shows, it does not depend on
        what else the machine does.
    """
    before = psutil.Process(process.pid).cpu_times()
    process.send_signal(signal.SIGINT)
    return float(process.stderr.readline()) - before.user - before.system
