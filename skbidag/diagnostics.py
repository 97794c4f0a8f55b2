"""Whether chains have converged, and how exact what they say is.

The smallest functions work on plain arrays of draws, shape (n_chains, n_draws, ...).
R-hat compares the spread between half chains with the one within; the effective sample
size (ESS) is the number of independent draws that would be as exact; the Monte Carlo
standard error (MCSE) follows from it. Definitions are those of Vehtari, Gelman,
Simpson, Carpenter & Bürkner (2021), *Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC*, Bayesian Analysis 16.

The others take a fitted estimator and look at edges, at any other feature of the
sampled DAGs, or at equivalence classes.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skbidag._data import names_of, resolve_index, unique_rows
from skbidag._posterior import (
    edge_draws,
    graph_counts,
    split_rhat_of_counts,
)
from skbidag._sklearn import Interval, StrOptions, validate_params
from skbidag.graphs import KIND, Kind, align_labels, labels_of

__all__ = [
    "chain_edge_probabilities",
    "concordance",
    "edge_diagnostics",
    "ess",
    "feature_probability",
    "mcse",
    "rhat",
    "to_arviz",
    "to_inference_dict",
    "top_cpdags",
]

# Series whose autocorrelations are worked out at a time, in bytes
BLOCK_BYTES = 1 << 25


# -------------------------------------------------------------- arrays of draws


def _check_draws(draws):
    draws = np.asarray(draws, dtype=float)
    if draws.ndim < 2:
        raise ValueError(
            "draws must have the shape (n_chains, n_draws, ...), got an array of shape "
            f"{draws.shape}."
        )
    if not np.isfinite(draws).all():
        raise ValueError("draws must be finite.")
    return draws


def _halves(draws):
    """Half chains; of an odd number of draws the one in the middle is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws):
    """Normal quantiles of the ranks over all chains."""
    ranks = rankdata(draws.reshape(-1, *draws.shape[2:]), method="average", axis=0)
    return ndtri((ranks - 0.375) / (len(ranks) + 0.25)).reshape(draws.shape)


def _rhat_of_halves(halves):
    length = halves.shape[1]
    # squares of log scores may overflow
    halves = halves / np.maximum(1.0, np.abs(halves).max(axis=(0, 1)))
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    # equal numbers have no variance, which rounding of their mean may give them
    constant = np.ptp(halves, axis=1) == 0
    within = np.where(constant, 0.0, halves.var(axis=1, ddof=1)).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.sqrt((length - 1) / length + between / within)
    # means of equal numbers differ by rounding
    return np.where(between <= 1e-20, 1.0, values)


@validate_params(
    {"draws": ["array-like"], "method": [StrOptions({"rank", "split"})]},
    prefer_skip_nested_validation=True,
)
def rhat(
    draws: ArrayLike, method: Literal["rank", "split"] = "rank"
) -> float | NDArray[np.float64]:
    """R-hat: whether chains, and halves of chains, agree.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        One or more quantities along each chain.
    method : {"rank", "split"}, default="rank"
        "split" compares the means of half chains. "rank" does so with normal scores
        of the draws' ranks, and with those of their distances from the median, and
        takes the larger: it also sees differences of spread, and does not mind heavy
        tails.

    Returns
    -------
    rhat : float or ndarray of shape (...)
        About 1 where the chains agree. 1 for a constant, infinite where each half has
        a constant of its own, NaN with fewer than four draws.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.diagnostics import rhat
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> print(f"{rhat(draws):.2f}")
    1.00
    >>> draws[0] += 3
    >>> print(f"{rhat(draws):.2f}")
    1.47
    """
    series = _check_draws(draws)
    if series.shape[1] < 4:
        values = np.full(series.shape[2:], np.nan)
    elif method == "split":
        values = _rhat_of_halves(_halves(series))
    else:
        halves = _halves(series)
        folded = np.abs(halves - np.median(halves, axis=(0, 1)))
        values = np.maximum(
            _rhat_of_halves(_normal_scores(halves)),
            _rhat_of_halves(_normal_scores(folded)),
        )
    return values if values.ndim else float(values)


@validate_params(
    {"draws": ["array-like"], "method": [StrOptions({"bulk", "mean"})]},
    prefer_skip_nested_validation=True,
)
def ess(
    draws: ArrayLike, method: Literal["bulk", "mean"] = "bulk"
) -> float | NDArray[np.float64]:
    """Effective sample size: how many independent draws would be as exact.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        One or more quantities along each chain.
    method : {"bulk", "mean"}, default="bulk"
        "mean" is that of the mean of the draws, "bulk" that of the mean of the normal
        scores of their ranks.

    Returns
    -------
    ess : float or ndarray of shape (...)
        NaN for a constant, and with fewer than four draws per chain.

    Notes
    -----
    Autocorrelations are combined over half chains and summed as far as Geyer's initial
    monotone sequence goes.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.diagnostics import ess
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(4, 1000))
    >>> bool(3500 < ess(draws) < 4500)
    True

    Draws that each stand twice are worth half:

    >>> bool(1750 < ess(np.repeat(draws, 2, axis=1)[:, :1000]) < 2250)
    True
    """
    series = _check_draws(draws)
    if series.shape[1] < 4:
        values = np.full(series.shape[2:], np.nan)
    else:
        halves = _halves(series)
        if method == "bulk":
            halves = _normal_scores(halves)
        values = _ess_of_chains(halves)
    return values if values.ndim else float(values)


def effective_sizes(draws):
    """Effective sample sizes of the means of draws, whatever their type.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, ...)
        One or more quantities along each chain.

    Returns
    -------
    sizes : ndarray of shape (...)
        NaN for a constant, and with fewer than four draws per chain.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2:], np.nan)
    return _ess_of_chains(_halves(draws))


def _ess_of_chains(chains):
    """ESS of the means of quantities along chains, shape (n_chains, n_draws, ...)."""
    shape = chains.shape[2:]
    chains = chains.reshape(*chains.shape[:2], -1)
    values = np.empty(chains.shape[2])
    step = max(1, BLOCK_BYTES // (8 * chains.shape[0] * chains.shape[1]))
    for start in range(0, len(values), step):
        block = slice(start, start + step)
        values[block] = _ess_of_block(chains[:, :, block].astype(float))
    return values.reshape(shape)


def _ess_of_block(chains):
    n_chains, n_draws, _ = chains.shape
    total = n_chains * n_draws
    means = chains.mean(axis=1)
    centered = chains - means[:, None]
    # autocovariances by the convolution theorem, padded so that ends do not meet
    padded = fft.next_fast_len(2 * n_draws, real=True)
    power = np.abs(fft.rfft(centered, padded, axis=1)) ** 2
    covariance = fft.irfft(power, padded, axis=1)[:, :n_draws].mean(axis=0) / n_draws
    within = covariance[0] * n_draws / (n_draws - 1)
    overall = covariance[0] + (means.var(axis=0, ddof=1) if n_chains > 1 else 0.0)
    constant = np.ptp(chains, axis=(0, 1)) == 0
    overall = np.where(constant, 1.0, overall)
    rho = 1 - (within - covariance) / overall
    rho[0] = 1.0

    # Geyer: sums of pairs are positive and decrease; the rest is noise. Of the first
    # pair that is not taken, a positive even term still is.
    n_pairs = max(1, (n_draws - 3) // 2)
    pairs = rho[0 : 2 * n_pairs : 2] + rho[1 : 2 * n_pairs : 2]
    taken = np.logical_and.accumulate(pairs >= 0, axis=0)
    taken[0] = True
    sums = np.where(taken, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    after = np.minimum(2 * taken.sum(axis=0), n_draws - 1)
    even = np.maximum(np.take_along_axis(rho, after[None], axis=0)[0], 0.0)
    time = np.maximum(2 * sums - 1 + even, 1 / np.log10(total))
    return np.where(constant, np.nan, total / time)


@validate_params({"draws": ["array-like"]}, prefer_skip_nested_validation=True)
def mcse(draws: ArrayLike) -> float | NDArray[np.float64]:
    """Monte Carlo standard error of the mean of draws.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        One or more quantities along each chain.

    Returns
    -------
    mcse : float or ndarray of shape (...)
        Standard deviation over the square root of the effective sample size; 0 for a
        constant, NaN with fewer than four draws per chain.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.diagnostics import mcse
    >>> draws = np.random.default_rng(0).normal(size=(4, 2500))
    >>> print(f"{mcse(draws):.3f}")
    0.010
    """
    return _mean_and_error(_check_draws(draws))[1]


def _mean_and_error(draws):
    """Means, their Monte Carlo standard errors, and effective sample sizes."""
    total = draws.shape[0] * draws.shape[1]
    mean = draws.mean(axis=(0, 1))
    if draws.dtype == bool:
        variance = mean * (1 - mean) * total / max(1, total - 1)
        constant = variance == 0
    else:
        variance = draws.var(axis=(0, 1), ddof=1) if total > 1 else np.zeros_like(mean)
        constant = np.ptp(draws, axis=(0, 1)) == 0
    if draws.shape[1] < 4:
        unknown = np.full(mean.shape, np.nan)[()]
        return mean, unknown, unknown
    size = _ess_of_chains(_halves(draws))
    # what only the draw in the middle has, halves do not see
    size = np.where(np.isnan(size) & ~constant, total, size)
    with np.errstate(invalid="ignore"):
        error = np.where(constant, 0.0, np.sqrt(variance / size))
    return mean, error[()], size[()]


# ------------------------------------------------------------------------ edges


@validate_params(
    {"estimator": "no_validation", "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def chain_edge_probabilities(estimator: Any, kind: Kind = "dag") -> NDArray[np.float64]:
    """Edge probabilities by each chain alone.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Which edges, see the estimator's ``edge_probabilities``.

    Returns
    -------
    probabilities : ndarray of shape (n_chains, n_features, n_features)
        ``probabilities[c, i, j]`` is the share of chain c's DAGs with the edge i -> j.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.diagnostics import chain_edge_probabilities
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> chain_edge_probabilities(model).shape
    (4, 8, 8)
    """
    check_is_fitted(estimator)
    samples = estimator.dag_samples_
    counts, _ = graph_counts(samples, kind)
    return counts.sum(axis=1) / samples.n_draws


@validate_params(
    {"estimator": "no_validation", "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def edge_diagnostics(estimator: Any, kind: Kind = "dag") -> Bunch:
    """How exact each edge's probability is.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Which edges, see the estimator's ``edge_probabilities``.

    Returns
    -------
    diagnostics : :class:`~sklearn.utils.Bunch`
        Arrays of shape (n_features, n_features); entry [i, j] is about the edge i -> j.

        probability : ndarray
            Posterior probabilities.
        mcse : ndarray
            Their Monte Carlo standard errors. 0 where all draws agree.
        ess : ndarray
            Effective sample sizes; NaN where all draws agree.
        rhat : ndarray
            Split R-hat; 1 where all draws agree.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.diagnostics import edge_diagnostics
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> bool(edge_diagnostics(model).mcse.max() < 0.05)
    True
    """
    check_is_fitted(estimator)
    samples = estimator.dag_samples_
    counts, sizes = graph_counts(samples, kind)
    probability = counts.sum(axis=(0, 1)) / len(samples)
    # most pairs never have an edge: only the others' draws are looked at
    varies = (probability > 0) & (probability < 1)
    draws = edge_draws(samples, varies, kind)
    size = np.full(probability.shape, np.nan)
    error = np.full(probability.shape, np.nan if samples.n_draws < 4 else 0.0)
    _, error[varies], size[varies] = _mean_and_error(draws)
    return Bunch(
        probability=probability,
        mcse=error,
        ess=size,
        rhat=split_rhat_of_counts(counts, sizes),
    )


def check_runs(probabilities):
    """Validate the edge probabilities of several runs.

    Parameters
    ----------
    probabilities : array-like of shape (n_runs, n_nodes, n_nodes)
        Those of each run. Runs that are labelled frames are put into the order of the
        first.

    Returns
    -------
    probabilities : ndarray of shape (n_runs, n_nodes, n_nodes)
        The array.
    """
    if isinstance(probabilities, list | tuple) and len(probabilities):
        names = labels_of(probabilities[0], "probabilities")
        probabilities = [
            align_labels(run, names, "probabilities") for run in probabilities
        ]
    runs = np.asarray(probabilities, dtype=float)
    if runs.ndim != 3 or runs.shape[1] != runs.shape[2]:
        raise ValueError(
            "probabilities must have the shape (n_runs, n_nodes, n_nodes), got "
            f"{runs.shape}."
        )
    return runs


@validate_params({"probabilities": ["array-like"]}, prefer_skip_nested_validation=True)
def concordance(
    probabilities: ArrayLike, min_probability: float | None = 0.05
) -> Bunch:
    """How well the edge probabilities of several chains or runs agree.

    Parameters
    ----------
    probabilities : array-like of shape (n_runs, n_nodes, n_nodes)
        Edge probabilities by each run, such as
        :func:`chain_edge_probabilities` gives. The diagonals are ignored. Of labelled
        frames, all are put into the order of the first.
    min_probability : float or None, default=0.05
        Only edges count that are more probable than this by at least one run, as in
        the paper: nearly all edges are improbable by every run, and these would make
        any runs agree. None is all pairs of nodes.

    Returns
    -------
    concordance : :class:`~sklearn.utils.Bunch`
        Arrays of shape (n_runs, n_runs), over the edges that count.

        r2 : ndarray
            Squared correlations. NaN where a run gives all edges the same probability.
        rmsd : ndarray
            Root mean squared differences. NaN where no edge counts.
        n_edges : int
            How many edges count.

    References
    ----------
    Kuipers, Suter & Moffa (2022), *Efficient sampling and structure learning of
    Bayesian networks*, JCGS 31.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.diagnostics import chain_edge_probabilities, concordance
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> agreement = concordance(chain_edge_probabilities(model))
    >>> bool(agreement.r2.min() > 0.95), bool(agreement.rmsd.max() < 0.05)
    (True, True)
    """
    runs = check_runs(probabilities)
    counts = ~np.eye(runs.shape[1], dtype=bool)
    if min_probability is not None:
        counts &= (runs > min_probability).any(axis=0)
    values = runs[:, counts]
    n_runs, n_edges = values.shape
    if n_edges == 0:
        nothing = np.full((n_runs, n_runs), np.nan)
        return Bunch(r2=nothing, rmsd=nothing.copy(), n_edges=0)
    differences = values[:, None] - values
    centered = values - values.mean(axis=1, keepdims=True)
    products = centered @ centered.T
    squares = products.diagonal()
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = products**2 / np.outer(squares, squares)
    constant = np.ptp(values, axis=1) == 0  # rounded means leave it a variance
    r2[constant | constant[:, None]] = np.nan
    return Bunch(
        r2=np.minimum(r2, 1.0),
        rmsd=np.sqrt(np.mean(differences**2, axis=2)),
        n_edges=n_edges,
    )


# -------------------------------------------------------------- features of DAGs


@validate_params(
    {"estimator": "no_validation", "feature": [callable]},
    prefer_skip_nested_validation=True,
)
def feature_probability(
    estimator: Any, feature: Callable[..., ArrayLike], *nodes: int | str
) -> Bunch:
    """Posterior probability, or mean, of any feature of the DAG.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.
    feature : callable
        Called with a DAG, a bool array ``A`` in which ``A[i, j]`` is the edge i -> j,
        and the indices of `nodes`; returns whether the DAG has the feature, or a
        number, or an array of either. Functions of :mod:`skbidag.graphs` that serve:
        :func:`~skbidag.graphs.has_path`, :func:`~skbidag.graphs.ancestor_matrix`,
        :func:`~skbidag.graphs.markov_blanket_matrix`,
        :func:`~skbidag.graphs.has_v_structure` and
        :func:`~skbidag.graphs.v_structure_matrix`.
    *nodes : int or str
        Nodes that the feature is about, by index or name.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        Of the shape of what `feature` returns:

        probability : float or ndarray
            Share of the sampled DAGs with the feature, or its mean.
        mcse : float or ndarray
            Monte Carlo standard error, see :func:`mcse`.
        ess : float or ndarray
            Effective sample size, NaN where all draws agree.

    Examples
    --------
    Does smoking, directly or not, lead to trouble with breathing?

    >>> from skbidag import PartitionMCMCStructure
    >>> from skbidag.datasets import load_asia
    >>> from skbidag.diagnostics import feature_probability
    >>> from skbidag.graphs import has_path
    >>> asia = load_asia(as_frame=True)
    >>> tiers = [["smoke"], asia.data.columns.drop("smoke")]
    >>> model = PartitionMCMCStructure(tiers=tiers, random_state=0).fit(asia.data)
    >>> result = feature_probability(model, has_path, "smoke", "dysp")
    >>> bool(result.probability > 0.95), bool(result.mcse < 0.02)
    (True, True)

    Any function will do:

    >>> n_edges = feature_probability(model, lambda A: A.sum())
    >>> bool(10 < n_edges.probability < 14)
    True
    """
    check_is_fitted(estimator)
    n, names = estimator.n_features_in_, names_of(estimator)
    nodes = [resolve_index(node, n, names, "nodes") for node in nodes]
    samples = estimator.dag_samples_
    # the DAGs of a narrow posterior occur many times
    _, first, which = unique_rows(samples.packed.reshape(len(samples), -1))
    values = [np.asarray(feature(samples[index], *nodes)) for index in first]
    shapes = {value.shape for value in values}
    if len(shapes) > 1 or not all(value.dtype.kind in "biuf" for value in values):
        raise ValueError(
            "feature must return truth values or numbers, always of the same shape; "
            f"got shapes {sorted(shapes)} of {values[0].dtype}."
        )
    draws = np.stack(values)[which.reshape(samples.n_chains, samples.n_draws)]
    mean, error, size = _mean_and_error(draws)
    return Bunch(probability=mean, mcse=error, ess=size)


@validate_params(
    {"estimator": "no_validation", "k": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def top_cpdags(estimator: Any, k: int = 5) -> Bunch:
    """The most probable Markov equivalence classes.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.
    k : int, default=5
        How many; there may be fewer.

    Returns
    -------
    top : :class:`~sklearn.utils.Bunch`
        Sorted by probability.

        cpdags : ndarray of bool, shape (k, n_features, n_features)
            The classes; ``cpdags[c, i, j]`` is the edge i -> j, together with
            ``cpdags[c, j, i]`` it is the undirected edge i - j.
        probability : ndarray of shape (k,)
            Shares of the sampled DAGs that are in each class.
        mcse : ndarray of shape (k,)
            Their Monte Carlo standard errors.
        log_score : ndarray of shape (k,)
            The largest log score of a sampled DAG of each class.

    Notes
    -----
    With many variables nearly every sampled DAG has a class of its own; the
    probabilities of edges or other features are then what can be relied on.

    Examples
    --------
    >>> from skbidag import PartitionMCMCStructure
    >>> from skbidag.datasets import load_network
    >>> from skbidag.diagnostics import top_cpdags
    >>> cancer = load_network("cancer").sample(500, random_state=0)
    >>> model = PartitionMCMCStructure(random_state=0).fit(cancer)
    >>> top = top_cpdags(model, k=3)
    >>> top.cpdags.shape, bool(top.probability[0] >= top.probability[1])
    ((3, 5, 5), True)
    """
    check_is_fitted(estimator)
    samples = estimator.dag_samples_
    packed = np.concatenate(
        [
            np.packbits(samples.as_kind(dags, "cpdag"), axis=-1)
            for chain in range(samples.n_chains)
            for dags in samples.slices(chain)
        ]
    )
    _, first, which = unique_rows(packed.reshape(len(packed), -1))
    counts = np.bincount(which)
    # of classes that are as frequent, the one that was drawn first
    top = np.lexsort((first, -counts))[:k]
    log_scores = estimator.log_score_trace_.ravel()
    belongs = which[:, None] == top
    draws = belongs.reshape(samples.n_chains, samples.n_draws, -1)
    probability, error, _ = _mean_and_error(draws)
    return Bunch(
        cpdags=np.unpackbits(
            packed[first[top]], axis=-1, count=samples.n_features
        ).view(bool),
        probability=probability,
        mcse=error,
        log_score=np.array([log_scores[column].max() for column in belongs.T]),
    )


# ------------------------------------------------------------------------ export


@validate_params({"estimator": "no_validation"}, prefer_skip_nested_validation=True)
def to_inference_dict(
    estimator: Any,
) -> tuple[dict[str, dict[str, NDArray]], dict[str, dict[str, list[str]]]]:
    """Draws in the form that ArviZ reads.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.

    Returns
    -------
    groups : dict of dict of ndarray
        ``groups["posterior"]["adjacency"]``, bool of shape (n_chains, n_draws,
        n_features, n_features), whose last axes are parent and child;
        ``groups["posterior"]["n_edges"]`` and ``groups["sample_stats"]["lp"]``, the log
        scores, of shape (n_chains, n_draws).
    labels : dict
        The dimensions' names and coordinates, as ``dims`` and ``coords``.

    Notes
    -----
    :func:`to_arviz` makes ArviZ's object of them. The adjacency matrices are unpacked:
    2000 draws of 100 variables take 20 MB.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.diagnostics import to_inference_dict
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> groups, labels = to_inference_dict(model)
    >>> groups["posterior"]["adjacency"].shape
    (4, 500, 8, 8)
    """
    check_is_fitted(estimator)
    samples = estimator.dag_samples_
    adjacency = np.stack(
        [np.concatenate(list(samples.slices(c))) for c in range(samples.n_chains)]
    )
    names = getattr(estimator, "feature_names_in_", range(samples.n_features))
    names = [str(name) for name in names]
    groups = {
        "posterior": {"adjacency": adjacency, "n_edges": adjacency.sum(axis=(2, 3))},
        "sample_stats": {"lp": estimator.log_score_trace_.copy()},
    }
    labels = {
        "dims": {"adjacency": ["parent", "child"]},
        "coords": {"parent": names, "child": names},
    }
    return groups, labels


@validate_params({"estimator": "no_validation"}, prefer_skip_nested_validation=True)
def to_arviz(estimator: Any) -> Any:
    """Draws as an object of ArviZ, which must be installed.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure estimator.

    Returns
    -------
    data : arviz.InferenceData or xarray.DataTree
        Before ArviZ 1.0 the former, from then on the latter. What is in it, see
        :func:`to_inference_dict`.
    """
    groups, labels = to_inference_dict(estimator)
    try:
        import arviz
    except ImportError as error:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install "
            '"skbidag[arviz]". to_inference_dict has the draws as arrays.'
        ) from error
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups, **labels)
    return arviz.from_dict(**groups, **labels)
