"""The hot loops, one by one, and what the processor can do: for guard.py, limits.py."""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from common import best_of, chain_from_dag, paper_score, space_of_size, tables_of
from pc import make_data
from tables import binary_data, layout

from skbidag._core._subsets import subset_maxima, subset_sums
from skbidag._pc import pc_skeleton
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BDe


@dataclass
class Loop:
    """Something to time: what runs, and how many units one run has."""

    name: str
    unit: str
    run: object
    n_units: float

    def nanoseconds(self, repeats):
        """Time of a unit, the best of several runs, in time of this thread."""
        return 1e9 * best_of(self.run, repeats, time.thread_time) / self.n_units


class Workload:
    """The data that the loops run on.

    Parameters
    ----------
    n : int, default=80
        Number of variables.
    n_candidates : int, default=12
        Permissible parents of the node whose table is built.
    chain_candidates : int, default=6
        Permissible parents of every node, for chains.
    """

    def __init__(self, n=80, n_candidates=12, chain_candidates=6):
        self.n = n
        self.n_candidates = n_candidates
        self.chain_candidates = chain_candidates
        self.network = make_gaussian_network(10 * n, n, random_state=0)
        self.score = paper_score().fit(self.network.data)

    @cached_property
    def tables(self):
        """Tables for chains: the true parents and some others."""
        rng = np.random.default_rng(0)
        permitted = space_of_size(rng, self.network.adjacency, self.chain_candidates)
        return tables_of(self.score, permitted)

    def chain(self, kind):
        """A chain that has left its start behind."""
        chain = chain_from_dag(kind, self.tables, self.network.adjacency)
        chain.run(5000)
        return chain

    def loops(self):
        """All loops, one after the other."""
        n, K = self.n, self.n_candidates
        candidates, outsiders, out = layout(n, K)
        yield Loop(
            "BGe scores",
            "entry",
            lambda: self.score.fill_table(0, candidates, outsiders, 0, out),
            out.size,
        )

        binary = BDe(edge_penalty=1.0).fit(
            binary_data(np.random.default_rng(0), 500, n)
        )
        few, others, small = layout(n, 6)
        yield Loop(
            "BDe scores",
            "entry",
            lambda: binary.fill_table(0, few, others, 0, small),
            small.size,
        )

        ratios, log_sums = np.empty_like(out), np.empty(len(out))
        yield Loop(
            "sums",
            "entry and pass",
            lambda: subset_sums(out, 0, ratios, log_sums),
            out.size * K,
        )

        maxima = out.copy()  # a second pass over the maxima takes as long as the first
        yield Loop(
            "maxima", "entry and pass", lambda: subset_maxima(maxima), out.size * K
        )

        for kind, n_steps in (
            ("order", 100_000),
            ("dag", 100_000),
            ("partition", 20_000),
        ):
            chain = self.chain(kind)
            yield Loop(
                f"{kind} step",
                "step",
                lambda chain=chain, n_steps=n_steps: chain.run(n_steps),
                n_steps,
            )

        X = make_data(n, 10 * n, 0)

        def skeleton():
            return pc_skeleton(X, alpha=0.25)

        yield Loop("PC test", "test", skeleton, sum(skeleton().n_tests))


# ------------------------------------------------------------- the processor itself


def calibrations():
    """Fixed work that no change of skbidag touches; times are in ns per unit.

    *serial*: random numbers, each of which needs the one before. *vector*: a product
    of matrices that stay in the cache, in flops. *cache* and *memory*: copies, in
    bytes read and written; the first fits into the second-level cache.
    """
    rng = np.random.default_rng(0)
    numbers = np.empty(200_000)
    yield Loop("serial", "number", lambda: rng.random(out=numbers), numbers.size)

    a, b = rng.random((2, 192, 192))
    c = np.empty_like(a)
    yield Loop("vector", "flop", lambda: np.matmul(a, b, out=c), 2 * 192**3)

    small, copy = np.ones(12_000), np.ones(12_000)

    def copy_often():
        for _ in range(100):
            np.copyto(copy, small)

    yield Loop("cache", "byte", copy_often, 100 * 2 * small.nbytes)

    large, far = np.ones(8_000_000), np.ones(8_000_000)
    yield Loop("memory", "byte", lambda: np.copyto(far, large), 2 * large.nbytes)
