"""Order MCMC as an estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skbidag._base import BaseStructure, SamplerMixin
from skbidag._chains import bit_generator, move_mixture
from skbidag._constraints import Edges
from skbidag._core._order import OrderChain
from skbidag._data import Seed
from skbidag._sampling import ChainMaker, Walk
from skbidag._search import order_moves, random_order
from skbidag._sklearn import Interval, StrOptions
from skbidag._starts import log_probability_of_order
from skbidag.scores import BaseScore


@dataclass(frozen=True)
class OrderChainMaker(ChainMaker):
    """Makes the chains of one fit; can be pickled."""

    starts: list
    probabilities: np.ndarray
    scan: bool

    def __call__(self, views, index):
        """Chain number `index` on the tables of `views`."""
        # one that goes on from elsewhere may start anywhere
        start = self.starts and self.starts[index].order
        return OrderChain(
            views,
            bit_generator(self.entropy, 0, index),
            np.arange(len(self.modes[0])) if start is None else start,
            self.probabilities,
            scan=self.scan,
        )

    def point_of(self, chain):
        """The order, and its log score."""
        return chain.order, chain.log_score

    def settle(self, chain):
        """The order stays."""
        chain.set_order(chain.order)

    def go_on_from(self, chain, dag, mode, generator):
        """Propose an order of the mode.

        Each order of a DAG counts. They are not drawn with the same probability, which
        acceptance makes up for.
        """
        main = ~chain.background
        order = random_order(generator, mode & main[:, None])
        log_ratio = log_probability_of_order(chain.order, dag, main)
        log_ratio -= log_probability_of_order(order, mode, main)
        if np.log(generator.random()) < log_ratio:
            chain.set_order(order)


@dataclass(frozen=True)
class OrderWalk(Walk):
    """A walk over orders: swaps, transpositions and relocations."""

    probabilities: np.ndarray
    scan: bool

    def chain_maker(self, starts, modes, entropy):
        """Chains start at the orders."""
        return OrderChainMaker(entropy, modes, starts, self.probabilities, self.scan)

    def best_dag(self, tables, state):
        """The best DAG of the best order."""
        return tables.best_dag(state["best_order"])

    def traces(self, points, log_scores):
        """Orders with the parents first, and their log scores."""
        return {
            "order_trace_": points[..., ::-1],
            "order_log_score_trace_": log_scores,
        }


class OrderStructure(BaseStructure):
    """What estimators share whose chains walk over orders."""

    _posterior = "order-weighted"

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **BaseStructure._parameter_constraints,
        "move_probabilities": [StrOptions({"auto", "paper"}), "array-like"],
        "relocation_scan": ["boolean"],
    }

    def _walk(self, n_features):
        probabilities = move_mixture(self.move_probabilities, order_moves(n_features))
        return OrderWalk(probabilities, self.relocation_scan)


class OrderMCMCStructure(SamplerMixin, OrderStructure):
    """Sample DAGs by MCMC over the orders of the variables.

    A chain walks over permutations of the variables. All DAGs that fit an order are
    summed over at once, by lookups in precomputed tables, so a step takes well under
    a microsecond and chains mix far better than over single DAGs. A DAG that fits
    many orders is counted once for each of them, which makes the prior over DAGs
    non-uniform: sparse DAGs weigh more, and so do some directions. Edge probabilities
    are those of this order-weighted posterior; :class:`PartitionMCMCStructure` has
    those of the posterior over DAGs.

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
    move_probabilities : {"auto", "paper"} or sequence of 3 floats, default="auto"
        How often two random nodes are swapped, two neighbors are transposed, and a
        node is relocated. "auto" is in proportion to (6, n, 1), and so is "paper".
    relocation_scan : bool, default=False
        Whether nodes are relocated in turn instead of at random.
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
        ``adjacency_probabilities_[i, j]`` is the probability of i -> j in the
        order-weighted posterior.
    posterior_ : str
        What the probabilities are of: "order-weighted", for a DAG counts once for each
        order it fits, so that sparse DAGs, and some directions, weigh more than in the
        posterior over DAGs.
    adjacency_ : ndarray of bool, shape (n_features, n_features)
        The best-scoring DAG found.
    cpdag_ : ndarray of bool, shape (n_features, n_features)
        Its Markov equivalence class. An undirected edge has both [i, j] and [j, i].
    log_score_ : float
        Its log score.
    log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the sampled DAGs.
    order_trace_ : ndarray of int, shape (n_chains, n_draws, n_features)
        The orders that the DAGs were drawn from, parents before children.
    order_log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the orders: of all their DAGs in the space together.
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
        Share of steps that changed the order.
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
    Friedman & Koller (2003), *Being Bayesian about network structure*, Machine
    Learning 50. Kuipers, Suter & Moffa (2022), *Efficient sampling and structure
    learning of Bayesian networks*, JCGS 31.

    Notes
    -----
    BiDAG name: ``orderMCMC``.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> model.adjacency_probabilities_.shape
    (8, 8)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **OrderStructure._parameter_constraints,
        "power": [Interval(Real, 0, None, closed="neither")],
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
        move_probabilities: ArrayLike | Literal["auto", "paper"] = "auto",
        relocation_scan: bool = False,
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
        self.move_probabilities = move_probabilities
        self.relocation_scan = relocation_scan
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
