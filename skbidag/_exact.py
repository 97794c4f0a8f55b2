"""Exact structure learning as an estimator, for few variables."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skbidag._chains import entropy_of
from skbidag._constraints import Edges
from skbidag._data import Rows, Seed
from skbidag._dynamic_programming import (
    ORDER_WEIGHTED,
    OVER_DAGS,
    ExactPosterior,
    check_effort,
    exact_posterior,
    find_best_dag,
)
from skbidag._learner import StructureLearner
from skbidag._posterior import DAGSamples
from skbidag._search_space import start_space
from skbidag._sklearn import Interval, StrOptions, _fit_context
from skbidag.graphs import to_cpdag
from skbidag.scores import BaseScore

BEST_ALONE = "best DAG alone"


class ExactStructure(StructureLearner):
    """Find the best DAG and the probabilities of edges exactly, for few variables.

    Dynamic programming over the subsets of the variables: no chain, no search, no
    error but that of rounding. Time and memory double, or more, with each variable, see
    Notes. Where it can be afforded, it is what samplers can be measured against.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore, default="auto"
        How well parents explain a child. "auto" is BGe for continuous and BDe for
        categorical columns.
    categorical_features : "auto", None or array-like, default="auto"
        The categorical columns, by names, indices or a boolean mask; None is no
        column. "auto" is the rule of the other estimators.
    search_space : {"full", "pc", "ges", "glasso", "exact"}, array, callable, \
            estimator or list, default="full"
        Which parents a node may have, as in :class:`OrderMCMCStructure`. Answers are
        exact for the DAGs of this space.
    alpha : float, sequence of floats or "auto", default="auto"
        Significance level of PC's tests. "auto" is ``min(0.4, 20 / n_features)``; of
        several levels, the skeletons are united.
    max_parents : int or "auto", default="auto"
        The largest permissible set. A node with more candidates keeps the strongest,
        with a warning. "auto" is all of them.
    forbidden_edges, required_edges : array, frame or list of pairs, default=None
        Edges that no DAG, or every DAG, has: an (n, n) array or a frame whose labels
        are variables, or (parent, child) pairs of names or indices.
    tiers : list of list, default=None
        Groups of variables, by name or index; no edge leads from a later group to
        an earlier one. Over DAGs, each group is worked out by itself.
    background : array-like, default=None
        Variables that are given, not explained, as in :class:`OrderMCMCStructure`:
        names, indices or a boolean mask.
    edge_prior : array of shape (n_features, n_features), default=None
        ``edge_prior[i, j]`` are the log prior odds of the edge i -> j.
    missing : {"drop", "error"}, default="drop"
        Whether rows with missing cells are left out, with a warning, or refused. Exact
        sums are of complete data; the samplers also draw what is missing.
    posterior : {"over DAGs", "order-weighted", "best DAG alone"}, \
            default="over DAGs"
        What edge probabilities are of: the posterior in which each DAG counts once,
        that of :class:`PartitionMCMCStructure`; the one in which it counts once for
        each order it fits, that of :class:`OrderMCMCStructure`; or none, for only the
        best DAG is asked for.
    n_draws : int, default=500
        DAGs drawn from the posterior, independently. Predictions and probabilities of
        the edges of CPDAGs are averages over them; all else does without.
    memory_limit : float, default=None
        Bytes that may be used. None is a share of what is free.
    n_jobs : int, default=None
        Number of threads that score parent sets.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    adjacency_ : ndarray of bool, shape (n_features, n_features)
        The DAG with the highest score of all; one of them, if there are several.
    cpdag_ : ndarray of bool, shape (n_features, n_features)
        Its Markov equivalence class. An undirected edge has both [i, j] and [j, i].
    log_score_ : float
        Its log score.
    adjacency_probabilities_ : ndarray of shape (n_features, n_features)
        ``adjacency_probabilities_[i, j]`` is the probability of i -> j, exactly. Of the
        best DAG alone, its CPDAG.
    posterior_ : str
        What the probabilities are of, the parameter `posterior`.
    dag_samples_ : DAGSamples
        The DAGs drawn, in one chain; indexing and iteration give (n, n) bool arrays.
    log_score_trace_ : ndarray of shape (1, n_draws)
        Their log scores.
    search_space_ : ndarray of bool, shape (n_features, n_features)
        The permissible parents.
    score_ : BaseScore
        The fitted score.
    feature_kinds_ : ndarray of str, shape (n_features,)
        What the columns were taken for, "continuous" or "categorical".
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    Notes
    -----
    With n variables the best DAG and the order-weighted posterior take some
    ``n**2 * 2**n`` steps and ``12 * n * 2**n`` bytes, the posterior over DAGs ``4**n``
    steps and ``8 * 3**n`` bytes. That is about a second for the best DAG of 20
    continuous variables and some ten for the probabilities over orders; over DAGs, a
    second or two for 14 variables, and about a minute for 17. What it would take is
    worked out first, and an error says if it is too much.

    Not the number of variables counts, but that of the largest group in which all may
    be ancestors of each other. Tiers, and spaces in which few edges are permitted, make
    such groups smaller. (Over orders, groups are those between which no edge is
    permitted at all.) Variables in the background belong to no group; but a node has
    ``2**k`` sets of its k permissible parents, among which they are.

    References
    ----------
    Silander & Myllymäki (2006), *A simple approach for finding the globally optimal
    Bayesian network structure*, UAI. Koivisto (2006), *Advances in exact Bayesian
    structure discovery in Bayesian networks*, UAI. Tian & He (2009), *Computing
    posterior probabilities of structural features in Bayesian networks*, UAI. Kuipers &
    Moffa (2017), *Partition MCMC for inference on acyclic digraphs*, JASA 112, for the
    sums over layers that are taken here in place of sums over sinks.

    Examples
    --------
    >>> from skbidag import ExactStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> exact = ExactStructure(random_state=0).fit(network.data)
    >>> exact.adjacency_probabilities_.shape
    (8, 8)

    No DAG has a higher score, the generating one neither:

    >>> bool(exact.log_score_ >= exact.score_.dag_score(network.adjacency))
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **StructureLearner._parameter_constraints,
        "search_space": [
            StrOptions({"pc", "ges", "glasso", "exact", "full"}),
            *StructureLearner._parameter_constraints["search_space"][1:],
        ],
        "background": [None, "array-like"],
        "missing": [StrOptions({"drop", "error"})],
        "posterior": [StrOptions({OVER_DAGS, ORDER_WEIGHTED, BEST_ALONE})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        score: str | BaseScore = "auto",
        *,
        categorical_features: str | ArrayLike | None = "auto",
        search_space: Any = "full",
        alpha: float | Sequence[float] | Literal["auto"] = "auto",
        max_parents: int | Literal["auto"] = "auto",
        forbidden_edges: Edges = None,
        required_edges: Edges = None,
        tiers: Sequence[Sequence] | None = None,
        background: ArrayLike | None = None,
        edge_prior: ArrayLike | None = None,
        missing: Literal["drop", "error"] = "drop",
        posterior: str = OVER_DAGS,
        n_draws: int = 500,
        memory_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ):
        self.score = score
        self.categorical_features = categorical_features
        self.search_space = search_space
        self.alpha = alpha
        self.max_parents = max_parents
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.background = background
        self.edge_prior = edge_prior
        self.missing = missing
        self.posterior = posterior
        self.n_draws = n_draws
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _posterior(self):
        return self.posterior

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> Self:
        """Learn the structure from data.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data, continuous or categorical (see `categorical_features`). Rows
            with missing cells are left out, with a warning. A column with one value
            has no edges but required ones.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. A weight of 2 is the row given twice.
        interventions : array-like, default=None
            Which variables were set in each row, as in the samplers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        vars(self).pop("adjacency_", None)  # not fitted until all is done
        problem = self._pose(X, sample_weight, interventions)
        entropy = entropy_of(check_random_state(self.random_state))
        most = problem.n_features if self.max_parents == "auto" else self.max_parents
        space = start_space(
            problem,
            self.search_space,
            alpha=self.alpha,
            extended=False,
            max_parents=most,
            entropy=entropy,
            n_jobs=self.n_jobs,
        )
        alone = self.posterior == BEST_ALONE
        check_effort(space, None if alone else self.posterior, self.memory_limit)
        best = find_best_dag(problem.score, space, self.n_jobs)
        log_score = problem.log_score(best)
        if log_score == -np.inf:
            raise ValueError("No DAG of the search space has a score above -inf.")
        background = problem.constraints.background
        known = problem.targets, problem.constraints.upstream
        cpdag = to_cpdag(best, background, targets=(*known[0], *known[1]))
        if alone:
            exact = ExactPosterior(
                cpdag.astype(float), best[None], np.array([log_score])
            )
        else:
            exact = exact_posterior(
                problem.score,
                space,
                self.posterior,
                np.random.default_rng(entropy),
                self.n_draws,
                self.n_jobs,
            )
        self.score_ = problem.score
        self.search_space_ = space.permitted.copy()
        self._space = space
        self.adjacency_probabilities_ = exact.probabilities
        packed = np.packbits(exact.dags[None], axis=-1)
        self.dag_samples_ = DAGSamples(packed, background, *known)
        self.log_score_trace_ = exact.log_scores[None]
        self.log_score_ = log_score
        self.cpdag_ = cpdag
        self.adjacency_ = best
        return self

    def _edge_probabilities(self, kind):
        """Exact, but for those of edges of CPDAGs, which are shares of the draws."""
        if self.posterior_ != BEST_ALONE and kind == "dag":
            return self.adjacency_probabilities_.copy()
        if self.posterior_ != BEST_ALONE and kind == "skeleton":
            either = self.adjacency_probabilities_ + self.adjacency_probabilities_.T
            return np.minimum(either, 1.0)
        return super()._edge_probabilities(kind)

    def _edge_errors(self):
        """None: edge probabilities are exact."""
        exact = np.zeros_like(self.adjacency_probabilities_)
        return exact, np.full_like(exact, np.nan)
