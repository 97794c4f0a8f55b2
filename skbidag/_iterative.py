"""The search for the best DAG, with iterative repair of the space, as an estimator."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skbidag._constraints import Edges
from skbidag._data import Seed
from skbidag._order import OrderStructure
from skbidag._posterior import DAGSamples
from skbidag._search import ENGINES, Searcher, SearchSettings, search_structure
from skbidag._sklearn import Interval, StrOptions
from skbidag._tables import table_bytes
from skbidag.scores import BaseScore


class IterativeSearchStructure(Searcher, OrderStructure):
    """Find the best DAG, and repair the search space on the way.

    The search alternates: find the best DAG in the present space, in which every
    node may take one parent from outside its permissible set; let what that DAG
    adds into the space; until neither the space nor the best score changes. On the
    final space DAGs are sampled by order MCMC, for edge probabilities: those of the
    order-weighted posterior, in which a DAG counts once for each order it fits.

    Where every node may have all others as parents within `max_parents`, a
    `search_space` given by name is everything from the start: every DAG is then in
    reach.

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
    search_space : {"pc", "ges", "glasso", "exact", "full"}, array, callable, \
            estimator or list, default="pc"
        Where to start: PC's skeleton, the edges that :class:`GESSkeleton` finds, the
        non-zero entries of a graphical lasso's precision matrix, the edges of the best
        DAG of all (up to some 20 variables), all, an (n, n) 0/1 array of permitted
        edges whose entry [i, j] concerns i -> j, a callable that makes one from the
        data, an estimator that learns one, or a list of these for their union.
    alpha : float, sequence of floats or "auto", default="auto"
        Significance level of PC's tests. "auto" is ``min(0.4, 20 / n_features)``; of
        several levels, the skeletons are united.
    extra_parent : bool, default=True
        Whether each node may take one parent from outside its permissible set, with
        more than 256 variables one of the strongest.
        Without, the space never grows.
    max_parents : int or "auto", default="auto"
        The largest permissible set (hard limit). "auto" is all other variables where
        the tables of all parent sets take a second or so (up to 18 continuous
        variables, or 16 to 18 categorical ones with a few hundred rows), and 14
        beyond; up to 20 for eight nodes at most, whose parents fill that, with fewer
        extra parents to choose from. In dense networks of continuous variables the
        best DAG may have more parents than any such set.
    soft_limit : int, default=12
        The largest permissible set for anything but the best DAG's own parents.
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
    scheme : {"wide", "paper", "accumulated"}, default="wide"
        What comes into the space. "wide": all that may help, forward selection by the
        score above all. "paper": what the paper has and nothing else. The first space
        H₀ is `search_space` as it is, up to `max_parents`, and the next one
        H₀ ∪ G, where G is the best DAG of the last (see `merge`), until the score does
        not rise. "accumulated": the same with what earlier DAGs brought in.
    first_space : array, callable, estimator or list, default=None
        With the paper's schemes, edges that the first search has beside
        `search_space`; the next ones have those of them that its DAG took.
    search : {"auto", "kicks", "greedy", "transpositions", "swaps", "mcmc", \
            "annealing"}, default="auto"
        How orders are searched. "kicks": climb by relocating nodes, displace a few,
        climb again. "greedy", "transpositions" and "swaps": climb from random orders
        by relocations, or by the best exchange of two neighbors, or of any two nodes.
        "mcmc": order MCMC at a power of the score, see `search_power`. "annealing": at
        a growing power. "auto" is "kicks", and with the paper's schemes "mcmc".
    search_power : float or "auto", default="auto"
        With the paper's schemes, the power of the score for ``search="mcmc"``. "auto"
        tunes it on the acceptance rate, as other schemes do.
    merge : {"skeleton", "cpdag", "dag"}, default="skeleton"
        What of the best DAG comes into the space. A node for which that is too much
        falls back to the next.
    expansion : {"map", "posterior", "partition"}, default="map"
        "posterior" lets in, beside the best DAG, the edges whose probability in a
        short order chain exceeds `threshold`; with the paper's schemes these alone.
        "partition", for these schemes, takes a chain over partitions.
    threshold : float, default=0.5
        See `expansion`.
    max_expansions : int, default=50
        The most expansions.
    n_restarts : int, default=1
        Number of independent searches, of which the best counts.
    missing : {"augment", "drop", "error"}, default="augment"
        What becomes of missing cells. "augment" draws them together with the DAGs,
        from the posterior given all that is observed; they must be missing at random
        (see :doc:`/missing`). "drop" leaves out rows that have any, with a warning,
        and "error" refuses them.
    start : array, sequence or list of these, default=None
        Where the (first) search starts: a DAG, (n, n) array or frame, or an order, all
        variables by name or index, parents before children. None is an order that is
        annealed, or with the paper's schemes drawn at random.
    search_iter : int or "auto", default="auto"
        Steps of each search over orders, or as much work. "auto" is
        max(25000, 3.5 n^2 ln n).
    n_iter : int or "auto", default="auto"
        Steps per chain. "auto" is max(25000, 5 n^2 ln n), as in the paper, and then
        twice as many again and again until the chains have converged (see
        ``converged_``), within `max_iter` and `max_time`.
    n_draws : int, default=500
        DAGs kept per chain. 0 does without sampling; then
        ``adjacency_probabilities_`` are the zeros and ones of ``cpdag_``, and
        ``dag_samples_`` holds the best DAG alone.
    burn_in : float, default=0.2
        Share of the steps that is dropped at the start of each chain.
    n_chains : int, default=4
        Number of chains.
    move_probabilities : {"auto", "paper"} or sequence of 3 floats, default="auto"
        How often chains swap two nodes, transpose neighbors and relocate a node.
        "auto" is in proportion to (6, n, 1), and so is "paper".
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
        Number of searches, then chains, that run at the same time. The result does
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed.
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
    adjacency_ : ndarray of bool, shape (n_features, n_features)
        The best DAG found; ``adjacency_[i, j]`` is the edge i -> j.
    cpdag_ : ndarray of bool, shape (n_features, n_features)
        Its Markov equivalence class. An undirected edge has both [i, j] and [j, i].
    log_score_ : float
        Its log score.
    search_space_ : ndarray of bool, shape (n_features, n_features)
        The permissible parents at the end.
    outside_mass_ : ndarray of shape (n_features,)
        How well the space holds: for each variable, the expected number of parents per
        DAG in parent sets that the space leaves out, as far as a search around
        sampled DAGs finds them.
    expansions_ : structured array
        Per search: ``log_score``, ``n_edges`` of its best DAG, ``n_permitted``
        edges of the space, the ``largest_set``, and ``seconds``.
    n_expansions_ : int
        How often the space grew.
    expansion_dags_ : ndarray of bool, shape (n_searches, n_features, n_features)
        The best DAG of each search.
    expansion_probabilities_ : ndarray, shape (n_searches, n_features, n_features)
        With the paper's schemes, edge probabilities on each space if it grows by these,
        otherwise None.
    expansion_traces_ : list of ndarray
        With the paper's schemes, log scores along each search, 200 or so: of where
        it stood, or of sampled DAGs if the space grows by these. Otherwise None.
    adjacency_probabilities_ : ndarray of shape (n_features, n_features)
        ``adjacency_probabilities_[i, j]`` is the probability of i -> j in the
        order-weighted posterior.
    posterior_ : str
        What the probabilities are of: "order-weighted", for a DAG counts once for each
        order it fits, so that sparse DAGs, and some directions, weigh more than in the
        posterior over DAGs; "best DAG alone" if nothing was sampled.
    log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the sampled DAGs.
    order_trace_ : ndarray of int, shape (n_chains, n_draws, n_features)
        The orders that the DAGs were drawn from, parents before children; not there
        if nothing was sampled.
    order_log_score_trace_ : ndarray of shape (n_chains, n_draws)
        Log scores of the orders: of all their DAGs in the space together.
    dag_samples_ : DAGSamples
        The sampled DAGs; indexing and iteration give (n, n) bool arrays.
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
    Kuipers, Suter & Moffa (2022), *Efficient sampling and structure learning of
    Bayesian networks*, JCGS 31, section 3.

    Notes
    -----
    BiDAG name: ``iterativeMCMC``.

    Examples
    --------
    >>> from skbidag import IterativeSearchStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(400, 20, random_state=0)
    >>> search = IterativeSearchStructure(random_state=0).fit(network.data)
    >>> bool(search.log_score_ >= search.score_.dag_score(network.adjacency))
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **OrderStructure._parameter_constraints,
        "search_space": [
            StrOptions({"pc", "ges", "glasso", "exact", "full"}),
            *OrderStructure._parameter_constraints["search_space"][1:],
        ],
        "soft_limit": [Interval(Integral, 0, None, closed="left")],
        "scheme": [StrOptions({"wide", "paper", "accumulated"})],
        "first_space": [None, *OrderStructure._parameter_constraints["search_space"]],
        "search": [StrOptions({"auto", *ENGINES})],
        "search_power": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "merge": [StrOptions({"skeleton", "cpdag", "dag"})],
        "expansion": [StrOptions({"map", "posterior", "partition"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "max_expansions": [Interval(Integral, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "search_iter": OrderStructure._parameter_constraints["n_iter"],
        "n_draws": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        score: str | BaseScore = "auto",
        *,
        categorical_features: str | ArrayLike | None = "auto",
        search_space: Any = "pc",
        alpha: float | Sequence[float] | Literal["auto"] = "auto",
        extra_parent: bool = True,
        max_parents: int | Literal["auto"] = "auto",
        soft_limit: int = 12,
        forbidden_edges: Edges = None,
        required_edges: Edges = None,
        tiers: Sequence[Sequence] | None = None,
        background: ArrayLike | None = None,
        edge_prior: ArrayLike | None = None,
        missing: Literal["augment", "drop", "error"] = "augment",
        scheme: Literal["wide", "paper", "accumulated"] = "wide",
        first_space: Any = None,
        search: str = "auto",
        search_power: float | Literal["auto"] = "auto",
        merge: Literal["skeleton", "cpdag", "dag"] = "skeleton",
        expansion: Literal["map", "posterior", "partition"] = "map",
        threshold: float = 0.5,
        max_expansions: int = 50,
        n_restarts: int = 1,
        start: Any = None,
        search_iter: int | Literal["auto"] = "auto",
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
        self.soft_limit = soft_limit
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.background = background
        self.edge_prior = edge_prior
        self.missing = missing
        self.scheme = scheme
        self.first_space = first_space
        self.search = search
        self.search_power = search_power
        self.merge = merge
        self.expansion = expansion
        self.threshold = threshold
        self.max_expansions = max_expansions
        self.n_restarts = n_restarts
        self.start = start
        self.search_iter = search_iter
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

    def search_settings(self):
        """How to search, for this estimator and for samplers that it searches for.

        Returns
        -------
        settings : SearchSettings
            From the parameters, which are checked.
        """
        self._validate_params()
        wide = self.scheme == "wide"
        if wide:
            self._refuse_what_the_paper_has()
        engine = self.search
        if engine == "auto":
            engine = "kicks" if wide else "mcmc"
        return SearchSettings(
            search_space=self.search_space,
            alpha=self.alpha,
            extra_parent=self.extra_parent,
            max_parents=self.max_parents,
            soft_limit=self.soft_limit,
            engine=engine,
            merge=self.merge,
            threshold=None if self.expansion == "map" else self.threshold,
            max_expansions=self.max_expansions,
            n_restarts=self.n_restarts,
            n_iter=None if self.search_iter == "auto" else self.search_iter,
            n_jobs=self.n_jobs,
            memory_limit=self.memory_limit,
            cover=self.n_draws > 0,
            scheme=self.scheme,
            first_space=self.first_space,
            power=None if self.search_power == "auto" else self.search_power,
            walk="partitions" if self.expansion == "partition" else "orders",
            start=self.start,
        )

    def _refuse_what_the_paper_has(self):
        """Parameters that are for the paper's schemes alone."""
        for name, value in {
            "first_space": self.first_space is not None,
            "search_power": self.search_power != "auto",
            "expansion": self.expansion == "partition",
        }.items():
            if value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for scheme='paper' and "
                    "scheme='accumulated'."
                )

    def _find(self, problem, entropy, stop):
        result = search_structure(problem, self.search_settings(), entropy, stop)
        self.expansions_ = result.expansions
        self.n_expansions_ = len(result.expansions) - 1
        self.expansion_dags_ = result.dags
        self.expansion_probabilities_ = result.probabilities
        self.expansion_traces_ = result.traces
        return result

    def _warn_if_much_is_outside(self):
        if self.scheme == "wide":  # a plain space is what was asked for
            super()._warn_if_much_is_outside()

    def _sample(self, problem, progress, context, stop):
        if self.n_draws:
            super()._sample(problem, progress, context, stop)
        else:
            self._keep_best_alone(problem, progress.found)

    def _keep_best_alone(self, problem, found):
        """Learned attributes where nothing is sampled."""
        self.adjacency_ = found.adjacency
        self.dag_samples_ = DAGSamples(
            np.packbits(found.adjacency[None, None], axis=-1),
            problem.constraints.background,
            problem.targets,
            problem.constraints.upstream,
        )
        self.cpdag_ = self.dag_samples_.as_kind(found.adjacency[None], "cpdag")[0]
        # of all completions, where cells are missing
        self.log_score_ = replace(problem, score=self.score_).log_score(found.adjacency)
        self.search_space_ = found.space.permitted.copy()
        self._space = found.space
        self.outside_mass_ = np.full(len(found.adjacency), np.nan)
        self.adjacency_probabilities_ = self.cpdag_.astype(float)
        self.posterior_ = "best DAG alone"
        self.log_score_trace_ = np.array([[self.log_score_]])
        self.rhat_ = np.full(found.adjacency.shape, np.nan)
        self.log_score_rhat_ = float("nan")
        self.converged_ = False
        self.acceptance_rate_ = np.empty(0)
        self.n_iter_ = 0
        self.table_bytes_ = int(table_bytes(found.space, n_tables=1).sum())
