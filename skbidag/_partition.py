"""Sampling from the posterior over DAGs, as an estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skbidag._base import BaseStructure, SamplerMixin
from skbidag._blocks import (
    paper_partition_moves,
    partition_moves,
    partition_of_dag,
)
from skbidag._chains import bit_generator, move_mixture
from skbidag._constraints import Edges
from skbidag._core._partition import PartitionChain
from skbidag._dag_walk import DAGWalk, dag_moves
from skbidag._data import Seed
from skbidag._sampling import ChainMaker, Walk
from skbidag._sklearn import Interval, StrOptions
from skbidag.scores import BaseScore


@dataclass(frozen=True)
class PartitionChainMaker(ChainMaker):
    """Makes the chains of one fit; can be pickled."""

    starts: list
    probabilities: np.ndarray

    def __call__(self, views, index):
        """Chain number `index` on the tables of `views`."""
        # one that goes on from elsewhere may start anywhere
        partition = np.zeros(len(self.modes[0]))
        if self.starts:
            partition = partition_of_dag(self.starts[index].dag, views.background)
        stream = bit_generator(self.entropy, 0, index)
        return PartitionChain(views, stream, partition, self.probabilities)

    def point_of(self, chain):
        """The blocks of the nodes, and the partition's log score."""
        return chain.partition, chain.log_score

    def settle(self, chain):
        """The partition stays, and was looked up when it was restored."""

    def go_on_from(self, chain, dag, mode, generator):
        """Move to the partition of the mode: each DAG has one."""
        chain.set_partition(partition_of_dag(mode, chain.background))


@dataclass(frozen=True)
class PartitionWalk(Walk):
    """A walk over ordered partitions: swaps, splits, joins, relocations, reversals."""

    probabilities: np.ndarray

    def chain_maker(self, starts, modes, entropy):
        """Chains start at the partitions of the DAGs."""
        return PartitionChainMaker(entropy, modes, starts, self.probabilities)

    def best_dag(self, tables, state):
        """The best DAG of an order that fits the best partition.

        An order leaves nodes even more parents than the partition does.
        """
        return tables.best_dag(np.argsort(state["best_partition"], kind="stable"))

    def traces(self, points, log_scores):
        """Numbers of the nodes' blocks from the roots on, and log scores."""
        return {
            "partition_trace_": points.max(axis=-1, keepdims=True) - points,
            "partition_log_score_trace_": log_scores,
        }


class PartitionMCMCStructure(SamplerMixin, BaseStructure):
    """Sample DAGs by MCMC from the posterior in which every DAG counts once.

    Unlike over orders (:class:`OrderMCMCStructure`), where a DAG counts once for each
    order it fits, the samples come from the posterior itself, with a uniform prior
    over DAGs unless `edge_prior` or the score's penalty says otherwise. Two walks lead
    there, on the same precomputed tables.

    By default a chain walks over DAGs, each with one of its orders beside it, by the
    moves of order MCMC, and at about its price: of all orders of a DAG one is drawn
    with a probability that acceptance takes into account.

    With ``walk="partitions"`` it walks over ordered partitions into blocks, as in
    partition MCMC: the roots of a DAG, the nodes all of whose parents are roots, and
    so on. Each DAG belongs to one partition, all of whose DAGs are summed over at once.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore, default="auto"
        How well parents explain a child. "auto" is BGe for continuous and BDe for
        categorical columns.
    categorical_features : "auto", None or array-like, default="auto"
        The categorical columns, by names, indices or a boolean mask; None is no
        column. "auto" takes strings, booleans, categories and integers with few
        different values as categorical, other numbers as continuous, and warns where
        it guesses; the user guide has the rule. A `score` object decides by itself.
    search_space : {"iterative", "pc", "ges", "glasso", "exact", "full"}, array, \
            callable, estimator or list, default="iterative"
        Which parents a node may have: what :class:`IterativeSearchStructure` ends
        with, from whose best DAG the chains then start; PC's skeleton; the edges
        that :class:`GESSkeleton` finds; the non-zero entries of a graphical lasso's
        precision matrix; the edges of the best DAG of all (up to some 20 variables);
        all; an (n, n) 0/1 array of
        permitted edges whose entry [i, j] concerns i -> j; a callable that makes
        one from the data; an estimator that learns one (``search_space_``,
        ``precision_`` or ``adjacency_``, such as :class:`PCSkeleton`); an
        :class:`IterativeSearchStructure` with settings of its own, which searches
        with the score and constraints of this estimator; the same fitted and frozen,
        ``FrozenEstimator(search)``; a :class:`ScoreSpace`, whose scores are used if
        they are of the same data; or a list of these for their union.
    alpha : float, sequence of floats or "auto", default="auto"
        Significance level of PC's tests. "auto" is ``min(0.4, 20 / n_features)``; of
        several levels, the skeletons are united.
    extra_parent : bool, default=True
        Whether each node may take one parent from outside its permissible set, with
        more than 256 variables one of the strongest.
    max_parents : int or "auto", default="auto"
        The largest permissible set. A node with more candidates keeps the
        strongest, with a warning. Tables take 2**max_parents rows. "auto" is
        all other variables where the tables of all parent sets take a second or so
        (up to 18 continuous variables, or 16 to 18 categorical ones with a few
        hundred rows), and 14 beyond; up to 20 for eight nodes at most, whose parents
        fill that, with fewer extra parents to choose from. In dense networks of
        continuous variables the best DAG may have more, and a warning says that draws
        have not.
    forbidden_edges, required_edges : array, frame or list of pairs, default=None
        Edges that no DAG, or every DAG, has: an (n, n) array or a frame whose labels
        are variables, or (parent, child) pairs of names or indices.
    tiers : list of list, default=None
        Groups of variables, by name or index; no edge leads from a later group to
        an earlier one.
    background : array-like, default=None
        Variables that are given, not explained, such as age, batch or treatment: names,
        indices or a boolean mask. They have no parents, and no edges among each other,
        but may be parents of all others. Orders and partitions are of the others, and
        the score of a DAG is the sum over these. To forbid the edges to such variables
        instead is another prior: where they stand in an order would count.
    edge_prior : array of shape (n_features, n_features), default=None
        ``edge_prior[i, j]`` are the log prior odds of the edge i -> j.
    missing : {"augment", "drop", "error"}, default="augment"
        What becomes of missing cells. "augment" draws them together with the DAGs,
        from the posterior given all that is observed; they must be missing at random
        (see :doc:`/missing`). "drop" leaves out rows that have any, with a warning,
        and "error" refuses them.
    start : array, sequence or list of these, default=None
        Where chains start: a DAG, (n, n) array or frame, or an order, all variables by
        name or index, parents before children; or a list of such, which the chains
        take in turn. Where the space does not hold a DAG, the best DAG of one of its
        orders. None is the best DAG of a search, other modes, and orders annealed for
        the chains.
    power : float, default=1.0
        DAGs are drawn in proportion to this power of their posterior probability:
        below 1 of a flatter posterior, above 1 of one nearer to the best DAG. Log
        scores are those of the DAGs, without it.
    n_iter : int or "auto", default="auto"
        Steps per chain. "auto" is max(25000, 5 n^2 ln n), as in the paper, and then
        twice as many again and again until the chains have converged (see
        ``converged_``), within `max_iter` and `max_time`.
    n_draws : int, default=500
        DAGs kept per chain.
    burn_in : float, default=0.2
        Share of the steps that is dropped at the start of each chain.
    n_chains : int, default=4
        Number of chains.
    walk : {"dags", "partitions"}, default="dags"
        What the chains walk over: DAGs with an order beside them, or the ordered
        partitions of partition MCMC. The posterior is the same.
    move_probabilities : {"auto", "paper"} or sequence of floats, default="auto"
        Over DAGs six numbers: how often the parents of a node are drawn anew, two
        neighbors in the order are exchanged, any two nodes are, a node is relocated, an
        edge is reversed, and the order is drawn anew; "auto" is in proportion to
        (4 n, 4 n, 30, 1, 1, 2). Over partitions five: how often two nodes of different
        blocks are swapped, two nodes of adjacent blocks are swapped, a block is split
        or two are joined, a node is relocated, and an edge is reversed; "auto" is in
        proportion to (n, 4 n, n, 16, 4), and "paper", over partitions, to
        (6, n, n, 1, 0): its four moves, with the shares that it gives swaps and
        relocations over orders.
    max_iter : int or "auto", default="auto"
        The most steps per chain with ``n_iter="auto"``, which an integer `n_iter` does
        not mind. "auto" is 32 times the paper's length, or 3,200,000 if that is more.
    max_time : float, default=None
        Seconds after which the fit stops with the draws made so far, and a warning
        says how many. With `warm_start` another ``fit`` goes on. None is no limit.
    memory_limit : float, default=None
        Bytes the tables may take. None is a share of what is free.
    n_jobs : int, default=None
        Number of chains that run at the same time. The result does not depend on
        it, nor on the joblib backend.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains.
    verbose : int, default=0
        Whether to print the progress.
    warm_start : bool, default=False
        Whether the next ``fit`` goes on with the same chains, on the same data, until
        there are `n_draws`: no new burn-in, and the same result as one longer fit.
        With ``n_iter="auto"``, also until they have converged: an ended fit goes on
        where it was, if there is more time or a larger `max_iter`. Draws made before
        an interrupt (Ctrl-C) are kept.

    Attributes
    ----------
    adjacency_probabilities_ : ndarray of shape (n_features, n_features)
        ``adjacency_probabilities_[i, j]`` is the posterior probability of i -> j.
    posterior_ : str
        What the probabilities are of: "over DAGs", for every DAG counts once.
    adjacency_ : ndarray of bool, shape (n_features, n_features)
        The best-scoring DAG found.
    cpdag_ : ndarray of bool, shape (n_features, n_features)
        Its Markov equivalence class. An undirected edge has both [i, j] and [j, i].
    log_score_ : float
        Its log score.
    log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the sampled DAGs.
    order_trace_ : ndarray of int, shape (n_chains, n_draws, n_features)
        Over DAGs, the orders that stood beside them, parents before children.
    partition_trace_ : ndarray of int, shape (n_chains, n_draws, n_features)
        Over partitions, the block of each variable, 0 for those of the roots.
    partition_log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the partitions: of all their DAGs in the space together.
    dag_samples_ : DAGSamples
        The sampled DAGs; indexing and iteration give (n, n) bool arrays.
    search_space_ : ndarray of bool, shape (n_features, n_features)
        The permissible parents.
    outside_mass_ : ndarray of shape (n_features,)
        How well the space holds: for each variable, the expected number of parents per
        DAG in parent sets that the space leaves out, as far as a search around
        sampled DAGs finds them.
    n_iter_ : int
        Steps of each chain; of the longest, if they were stopped.
    rhat_ : ndarray of shape (n_features, n_features)
        Split R-hat of each edge over the chains; infinite where each chain stays with
        its own.
    log_score_rhat_ : float
        Split R-hat of the log score.
    converged_ : bool
        Whether the chains agree, and have made enough draws: split R-hat is at most
        1.01 for the log score and for every edge that matters (its probability is
        between 0.02 and 0.98, or differs by more than 0.05 between chains), and each
        of these has 400 effective draws. With fewer than 2000 draws in all less is
        asked for: a fifth of them, and an R-hat that independent draws would have.
        False with fewer than 50 draws per chain, and with one chain, which has
        nothing to agree with.
    acceptance_rate_ : ndarray of shape (n_chains,)
        Share of steps that changed where the chain stands.
    fit_seconds_ : float
        How long the fit took; with `warm_start`, all fits that went on.
    table_bytes_ : int
        Memory of the score tables.
    score_ : BaseScore
        The fitted score.
    feature_kinds_ : ndarray of str, shape (n_features,)
        What the columns were taken for, "continuous" or "categorical".
    missing_draws_ : CompletedTables
        Where cells were missing and drawn: a sequence of completed tables.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    References
    ----------
    Kuipers & Moffa (2017), *Partition MCMC for inference on acyclic digraphs*,
    Journal of the American Statistical Association 112. Kuipers, Suter & Moffa
    (2022), *Efficient sampling and structure learning of Bayesian networks*, JCGS
    31. Grzegorczyk & Husmeier (2008), *Improving the structure MCMC sampler for
    Bayesian networks by introducing a new edge reversal move*, Machine Learning 71.

    Notes
    -----
    BiDAG name: ``partitionMCMC``.

    The tables are those of order sampling: 2**K rows for a node with K permissible
    parents, not 3**K.

    Over DAGs, the target is P(DAG) q(order | DAG), where q builds the order from the
    roots on, each node whose parents stand already being as probable as another.
    Summed over orders, that is P(DAG).

    Examples
    --------
    >>> from skbidag import PartitionMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = PartitionMCMCStructure(random_state=0).fit(network.data)
    >>> model.adjacency_probabilities_.shape
    (8, 8)
    """

    _posterior = "over DAGs"

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **BaseStructure._parameter_constraints,
        "power": [Interval(Real, 0, None, closed="neither")],
        "walk": [StrOptions({"dags", "partitions"})],
        "move_probabilities": [StrOptions({"auto", "paper"}), "array-like"],
    }

    def __init__(
        self,
        score: str | BaseScore = "auto",
        *,
        categorical_features: str | ArrayLike | None = "auto",
        search_space: Any = "iterative",
        alpha: float | Sequence[float] | Literal["auto"] = "auto",
        extra_parent: bool = True,
        max_parents: int | Literal["auto"] = "auto",
        forbidden_edges: Edges = None,
        required_edges: Edges = None,
        tiers: Sequence[Sequence] | None = None,
        background: ArrayLike | None = None,
        edge_prior: ArrayLike | None = None,
        missing: Literal["augment", "drop", "error"] = "augment",
        start: Any = None,
        power: float = 1.0,
        n_iter: int | Literal["auto"] = "auto",
        n_draws: int = 500,
        burn_in: float = 0.2,
        n_chains: int = 4,
        walk: Literal["dags", "partitions"] = "dags",
        move_probabilities: ArrayLike | Literal["auto", "paper"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        max_time: float | None = None,
        memory_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
    ):
        self.score = score
        self.categorical_features = categorical_features
        self.search_space = search_space
        self.alpha = alpha
        self.extra_parent = extra_parent
        self.max_parents = max_parents
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.background = background
        self.edge_prior = edge_prior
        self.missing = missing
        self.start = start
        self.power = power
        self.n_iter = n_iter
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.walk = walk
        self.move_probabilities = move_probabilities
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _walk(self, n_features):
        walk, moves = {
            "dags": (DAGWalk, dag_moves),
            "partitions": (PartitionWalk, partition_moves),
        }[self.walk]
        if (
            isinstance(self.move_probabilities, str)
            and self.move_probabilities == "paper"
        ):
            if self.walk != "partitions":
                raise ValueError(
                    "move_probabilities='paper' is for walk='partitions': chains over "
                    "DAGs make moves of their own."
                )
            moves = paper_partition_moves
        return walk(move_mixture(self.move_probabilities, moves(n_features)))
