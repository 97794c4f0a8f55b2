"""Data augmentation: chains over DAGs and missing cells at a time (Tanner & Wong 1987).

The state of a chain is what it walks over, an order or a DAG or a partition, and the
missing cells. For a while it walks on the tables of the completed data; then a DAG is
drawn given where it stands, parameters of this DAG given the completed data, and the
missing cells of each row given the parameters and the row's other cells; and tables are
built for the new cells, on which the chain goes on from where it stood. Each of these
leaves the posterior of DAG and cells given what is observed as it is.

To the machinery of chains this is a chain as any other, which renews its cells where
others leap between modes. Random numbers for cells depend on the chain's number and its
steps alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator, make_schedule
from skbidag._missing import Completion
from skbidag._sampling import ChainMaker, SamplingSettings, Walk
from skbidag._search import LEAST_GAIN, random_order, search_orders
from skbidag._search_space import SearchSpace, space_of_several
from skbidag._tables import build_tables
from skbidag._workspace import Workspace

# Completions of a chain of no given length in its first round; a second, twice as long,
# follows where there are few variables and tables take little time.
N_COMPLETIONS, FEW_VARIABLES = 200, 30
# Completions of a short chain of a given length
FEWEST_COMPLETIONS = 100
# Steps between completions, over those of a chain of the paper's length: building the
# tables takes longer than so many steps.
STRETCH_SHARE = 0.1
# Draws of parameters and cells for each DAG that is drawn
N_SWEEPS = 2
# Completions that a chain keeps, at least, of those it has made
N_KEPT = 10
# How many of all chains' completions predictions and `missing_draws_` are of
MOST_COMPLETED = 20
# Rounds of search and completion, completions between them, and those that count
N_SEARCHES, N_BETWEEN, N_AVERAGED = 3, 15, 10


@dataclass(frozen=True)
class AugmentedSettings(SamplingSettings):
    """How long chains are that also draw missing cells."""

    @classmethod
    def of(cls, settings):
        """The same settings, for such chains."""
        return cls(**vars(settings))

    def stretch(self, n_features):
        """Steps between completions."""
        steps = int(STRETCH_SHARE * auto_n_iter(n_features, 5.0))
        if self.n_iter is not None:
            steps = min(steps, self.n_iter // FEWEST_COMPLETIONS)
        return max(1, steps)

    def schedule(self, n_features):
        n_iter = self.n_iter or min(
            N_COMPLETIONS * self.stretch(n_features), self.most_steps(n_features)
        )
        return make_schedule(n_iter, self.burn_in, self.n_draws)

    def most_steps(self, n_features):
        n_completions = N_COMPLETIONS * (2 if n_features < FEW_VARIABLES else 1)
        return self.max_iter or n_completions * self.stretch(n_features)


class AugmentedChain:
    """A chain, and the missing cells that its tables are made for.

    Parameters
    ----------
    maker : AugmentedChainMaker
        What it is made by.
    views : TableViews
        Tables of the first completion.
    index : int
        The chain's number.
    """

    def __init__(self, maker, views, index):
        self.maker, self.index = maker, index
        self.chain = maker.walk_maker(views, index)
        self.rows = maker.completion.rows
        self.workspace, self.tables = Workspace(), ()
        # completions, each with the step it was made at; every so many are kept
        self.kept, self.every, self.n_made = [], 1, 0

    def run(self, n_steps):
        """Walk on the present tables."""
        self.chain.run(n_steps)

    def draw_dag(self, packed):
        """Draw a DAG given where the chain stands."""
        return self.chain.draw_dag(packed)

    def complete(self, n_steps):
        """Draw the missing cells anew, and go on with these."""
        maker, n = self.maker, self.rows.shape[1]
        packed = np.zeros((n, -(-n // 8)), dtype=np.uint8)
        self.chain.draw_dag(packed)
        dag = np.unpackbits(packed, axis=-1, count=n).view(bool)
        stream = bit_generator(maker.entropy, 1, 5, self.index, n_steps)
        rng = np.random.RandomState(stream)
        self.rows = maker.completion.draw(self.rows, dag, rng, N_SWEEPS)
        self._keep(n_steps)
        state = self.chain.__getstate__()
        self._build_tables()
        self.chain.restore(state)
        maker.walk_maker.settle(self.chain)

    def _keep(self, n_steps):
        if self.n_made % self.every == 0:
            self.kept = [*self.kept, (n_steps, self._cells())]
            if len(self.kept) == 2 * N_KEPT:
                self.kept, self.every = self.kept[::2], 2 * self.every
        self.n_made += 1

    def _cells(self):
        return self.rows[self.maker.completion.holes.missing]

    def _build_tables(self):
        """A chain, anywhere, on tables of the present rows."""
        maker = self.maker
        for table in self.tables:
            table.release(self.workspace)
        self.tables = build_tables(
            maker.completion.score_of(self.rows),
            maker.space,
            sums=True,
            workspace=self.workspace,
            n_jobs=1,
            memory_limit=np.inf,  # as much as the tables of the first completion
        )
        self.chain = maker.walk_maker(self.tables.views(), self.index)

    def __getstate__(self):
        return self.chain.__getstate__() | {
            "cells": self._cells(),
            "kept": self.kept,
            "every": self.every,
            "n_made": self.n_made,
        }

    def restore(self, state):
        """Go on from a state that ``__getstate__`` gave."""
        completion = self.maker.completion
        self.kept, self.every = state["kept"], state["every"]
        self.n_made = state["n_made"]
        if self.n_made:
            self.rows = completed(completion, state["cells"])
            self._build_tables()
        self.chain.restore(state)


@dataclass(frozen=True)
class AugmentedChainMaker(ChainMaker):
    """Makes the chains of one fit; can be pickled."""

    walk_maker: ChainMaker
    completion: Completion
    space: SearchSpace
    stretch: int

    #: Steps that take about as long as tables
    leap_steps = 20_000

    def __call__(self, views, index):
        """Chain number `index`, at first on the tables of `views`."""
        return AugmentedChain(self, views, index)

    def point_of(self, chain):
        """Where on its walk a chain stands, and the log score there."""
        return self.walk_maker.point_of(chain.chain)

    def go_on_from(self, chain, dag, mode, generator):
        """Take a chain to another mode."""
        self.walk_maker.go_on_from(chain.chain, dag, mode, generator)

    @property
    def leap_interval(self):
        """Steps between completions."""
        return self.stretch

    def leap(self, chain, index, n_steps):
        """Draw the missing cells anew."""
        chain.complete(n_steps)


@dataclass(frozen=True)
class AugmentedWalk(Walk):
    """A walk on tables that change with the missing cells.

    Attributes
    ----------
    walk : Walk
        What it is on given tables.
    completion : Completion
        How missing cells are drawn.
    space : SearchSpace
        What the tables are of.
    stretch : int
        Steps between completions.
    """

    walk: Walk
    completion: Completion
    space: SearchSpace
    stretch: int

    def chain_maker(self, starts, modes, entropy):
        """Chains start with the first completion."""
        walk_maker = self.walk.chain_maker(starts, modes, entropy)
        return AugmentedChainMaker(
            entropy, modes, walk_maker, self.completion, self.space, self.stretch
        )

    def best_dag(self, tables, state):
        """The best DAG of what a chain has seen."""
        return self.walk.best_dag(tables, state)

    def traces(self, points, log_scores):
        """What the points of the walk are to a user."""
        return self.walk.traces(points, log_scores)


def completed(completion, cells):
    """The rows with these missing cells."""
    rows = completion.rows.copy()
    rows[completion.holes.missing] = cells
    return rows


@dataclass(frozen=True)
class Completions:
    """What was drawn for missing cells, several times.

    Attributes
    ----------
    completion : Completion
        How cells are drawn.
    cells : list of ndarray
        For each draw the missing cells of the rows to learn from.
    """

    completion: Completion
    cells: list

    def __len__(self):
        return len(self.cells)

    def scores(self):
        """Yield the score of each completion, made when it is asked for."""
        for cells in self.cells:
            yield self.completion.score_of(completed(self.completion, cells))


def completions_of(completion, runs, burn_in):
    """Completed rows from the chains, a few of each.

    Parameters
    ----------
    completion : Completion
        How cells are drawn.
    runs : list of ChainRun
        Where the chains stand.
    burn_in : int
        Steps after which completions count, if there are any.

    Returns
    -------
    rows : list of ndarray of shape (n_rows, n_features)
        At least one for each chain.
    """
    share, found = max(1, MOST_COMPLETED // len(runs)), []
    for run in runs:
        kept = run.state["kept"]
        later = [cells for steps, cells in kept if steps > burn_in]
        later = later or [run.state["cells"]]
        chosen = np.linspace(0, len(later) - 1, min(share, len(later)))
        found += [completed(completion, later[k]) for k in chosen.astype(int)]
    return found


def best_dag_of(score, space, samples, entropy, workspace):
    """The best of the sampled DAGs and of those around it, by a score.

    Parameters
    ----------
    score : BaseScore
        That of the mean sufficient statistics of several completions.
    space : SearchSpace
        Which parents nodes may have.
    samples : DAGSamples
        Sampled DAGs.
    entropy : tuple of int
        Seed.
    workspace : Workspace
        Memory of tables.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    log_score : float
        Its log score.
    """
    parent_sets, membership = samples.families()
    main = np.flatnonzero(~samples.background)
    totals = np.zeros(len(samples))
    for node in main:
        scores = [score.local_score(node, parents) for parents in parent_sets[node]]
        totals += np.array(scores)[membership[node]]
    best = samples[int(np.argmax(totals))]
    stream = bit_generator(entropy, 1, 6)
    tables = build_tables(score, space, maxima=True, workspace=workspace)
    order = random_order(np.random.Generator(stream), best)
    n_iter = auto_n_iter(len(main), 3.5)
    order, _ = search_orders(tables, order, stream, "kicks", n_iter)
    found = tables.best_dag(order)
    value = tables.log_score(found)
    tables.release(workspace)
    if value > totals.max() + LEAST_GAIN:
        return found, float(value)
    return best, float(totals.max())


def search_with_holes(problem, find, entropy, stop):
    """Search and complete in turn: structural EM (Friedman 1998) with drawn cells.

    Given the best DAG, missing cells are drawn again and again; the mean of the
    sufficient statistics makes the score by which the next search finds a DAG. The
    spaces of all searches are united.

    Parameters
    ----------
    problem : Problem
        With a completion.
    find : callable
        Searches, given a problem: a SearchResult.
    entropy : tuple of int
        Seed.
    stop : Stop
        Ends it early.

    Returns
    -------
    found : SearchResult
        What the last search found, in the union of the spaces.
    problem : Problem
        With the score of the last search.
    completed : list of ndarray
        The completed rows that it is made of.
    """
    completion, found = problem.completion, find(problem)
    rows, averaged = completion.rows, [completion.rows]
    rng = np.random.RandomState(bit_generator(entropy, 1, 7))
    spaces = [found.space]
    for _ in range(N_SEARCHES - 1):
        if found.adjacency is None or found.cut_short or stop:
            break
        averaged = []
        for k in range(N_BETWEEN):
            rows = completion.draw(rows, found.adjacency, rng)
            if k >= N_BETWEEN - N_AVERAGED:
                averaged.append(rows)
        problem = replace(problem, score=completion.score_of_all(averaged))
        before, found = found, find(problem)
        spaces.append(found.space)
        if np.array_equal(before.adjacency, found.adjacency):
            break
    if len(spaces) > 1:
        space = space_of_several(problem, spaces, found.adjacency)
        found = replace(found, space=space, outside_mass=None, tables=())
    return found, problem, averaged
