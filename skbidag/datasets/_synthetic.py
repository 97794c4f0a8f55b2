"""Data simulated from random Bayesian networks."""

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state

from skbidag._sklearn import Interval, StrOptions, validate_params
from skbidag.datasets._networks import DiscreteNetwork
from skbidag.datasets._random_graphs import GRAPH_CONSTRAINTS, draw_dag, limit_parents
from skbidag.graphs import topological_order

# A table above this size is a mistake in the parameters rather than a wish.
_MOST_CPT_ENTRIES = 10**7


def _check_range(limits, name):
    limits = np.asarray(limits)
    if limits.shape != (2,) or limits.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a pair (low, high) of numbers.")
    low, high = limits.tolist()
    return low, high


@validate_params(
    {
        **GRAPH_CONSTRAINTS,
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "strengths": ["array-like"],
        "signs": [StrOptions({"positive", "random"})],
        "noise_scale": [Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_gaussian_network(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    graph: str | ArrayLike = "erdos_renyi",
    expected_parents: float = 2.0,
    strengths: tuple[float, float] = (0.4, 2.0),
    signs: Literal["positive", "random"] = "positive",
    noise_scale: float = 1.0,
    standardize: bool = True,
    power: float = 0.4,
    n_islands: int = 2,
    interconnectivity: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Simulate a linear Gaussian structural equation model on a random DAG.

    Every variable is the weighted sum of its parents and of normal noise. The defaults
    are the setting with strong edges of [1]_; its weak edges are
    ``strengths=(0.1, 1.0)``.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=10
        Number of variables. Ignored if `graph` is a matrix.
    graph : {"erdos_renyi", "barabasi_albert", "islands"} or array-like of shape \
            (n_features, n_features), default="erdos_renyi"
        The DAG: independent edges, preferential attachment, groups of nodes with few
        edges between them, or a matrix whose entry [i, j] is the edge i -> j.
    expected_parents : float, default=2.0
        Mean number of parents of a node. More than a DAG can hold gives all it can.
    strengths : tuple of two floats, default=(0.4, 2.0)
        The absolute values of the weights are uniform between these.
    signs : {"positive", "random"}, default="positive"
        Whether all weights are positive, or each is negative with probability 1/2.
    noise_scale : float, default=1.0
        Standard deviation of the noise of every variable.
    standardize : bool, default=True
        Whether the columns are shifted and scaled to mean 0 and variance 1, so that
        their variances do not give away the order of the variables.
    power : float, default=0.4
        Power of the preferential attachment, for ``graph="barabasi_albert"``.
    n_islands : int, default=2
        Number of groups, for ``graph="islands"``.
    interconnectivity : float, default=0.1
        Expected share of the edges that join different groups, for
        ``graph="islands"``.
    random_state : int, RandomState instance or None, default=None
        Determines the graph, the weights and the noise. Pass an int for the same data
        in every call.

    Returns
    -------
    network : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : ndarray of shape (n_samples, n_features)
            The rows.
        adjacency : ndarray of bool of shape (n_features, n_features)
            ``adjacency[i, j]`` is the edge i -> j. The order of the columns is not a
            topological order.
        weights : ndarray of shape (n_features, n_features)
            ``weights[i, j]`` is how much j grows with i, before standardizing; 0 where
            there is no edge.
        feature_names : list of str
            Names of the columns.
        DESCR : str
            How the data were made.

    References
    ----------
    .. [1] J. Kuipers, P. Suter and G. Moffa (2022). Efficient sampling and structure
       learning of Bayesian networks. Journal of Computational and Graphical
       Statistics 31. `arXiv:1803.07859 <https://arxiv.org/abs/1803.07859>`_

    Examples
    --------
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(n_samples=50, n_features=6, random_state=0)
    >>> network.data.shape
    (50, 6)
    >>> network.adjacency.shape
    (6, 6)
    """
    low, high = _check_range(strengths, "strengths")
    if not 0 <= low <= high < np.inf or high == 0:
        raise ValueError(
            "strengths must be a pair (low, high) with 0 <= low <= high and 0 < high, "
            f"got {strengths!r}."
        )
    if standardize and n_samples < 2:
        raise ValueError("standardize=True needs n_samples of at least 2.")
    rng = check_random_state(random_state)
    adjacency = draw_dag(
        rng, n_features, graph, expected_parents, power, n_islands, interconnectivity
    )
    n_features = len(adjacency)
    weights = np.zeros(adjacency.shape)
    n_edges = int(adjacency.sum())
    weights[adjacency] = rng.uniform(low, high, size=n_edges)
    if signs == "random":
        weights[adjacency] *= rng.choice([-1.0, 1.0], size=n_edges)

    # One row per variable, so that sums run over contiguous memory.
    columns = noise_scale * rng.standard_normal((n_features, n_samples))
    for node in topological_order(adjacency):
        parents = np.flatnonzero(adjacency[:, node])
        columns[node] += weights[parents, node] @ columns[parents]
    if standardize:
        columns -= columns.mean(axis=1, keepdims=True)
        columns /= columns.std(axis=1, ddof=1, keepdims=True)

    kind = graph if isinstance(graph, str) else "given"
    return Bunch(
        data=np.ascontiguousarray(columns.T),
        adjacency=adjacency,
        weights=weights,
        feature_names=_names(n_features),
        DESCR=(
            f"{n_samples} samples of a linear Gaussian structural equation model with "
            f"{n_features} variables on a DAG with {n_edges} edges (graph: {kind}), "
            f"{signs} weights between {low} and {high}, noise of standard deviation "
            f"{noise_scale}, columns {'' if standardize else 'not '}standardized."
        ),
    )


@validate_params(
    {
        **GRAPH_CONSTRAINTS,
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_levels": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "concentration": [Interval(Real, 0, None, closed="neither")],
        "max_parents": [None, Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_discrete_network(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    graph: str | ArrayLike = "erdos_renyi",
    expected_parents: float = 2.0,
    max_parents: int | None = None,
    n_levels: int | tuple[int, int] = 2,
    concentration: float = 1.0,
    power: float = 0.4,
    n_islands: int = 2,
    interconnectivity: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Simulate categorical variables from a random discrete Bayesian network.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=10
        Number of variables. Ignored if `graph` is a matrix.
    graph : {"erdos_renyi", "barabasi_albert", "islands"} or array-like of shape \
            (n_features, n_features), default="erdos_renyi"
        The DAG: independent edges, preferential attachment, groups of nodes with few
        edges between them, or a matrix whose entry [i, j] is the edge i -> j.
    expected_parents : float, default=2.0
        Mean number of parents of a node. More than a DAG can hold gives all it can.
    max_parents : int, default=None
        The most parents a node may have, None for any number. A node that has more
        keeps so many of them, chosen at random, which lowers the mean. The binary
        networks of [1]_ are those with ``graph="barabasi_albert"`` and five parents at
        most.
    n_levels : int or tuple of two ints, default=2
        Number of levels of every variable, or the smallest and largest number, between
        which each variable's is drawn.
    concentration : float, default=1.0
        A variable's probabilities, for each configuration of its parents, are drawn
        from a symmetric Dirichlet distribution. Below 1 they are close to 0 and 1, far
        above 1 all alike.
    power : float, default=0.4
        Power of the preferential attachment, for ``graph="barabasi_albert"``.
    n_islands : int, default=2
        Number of groups, for ``graph="islands"``.
    interconnectivity : float, default=0.1
        Expected share of the edges that join different groups, for
        ``graph="islands"``.
    random_state : int, RandomState instance or None, default=None
        Determines the graph, the probabilities and the rows. Pass an int for the same
        data in every call.

    Returns
    -------
    network : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : ndarray of int of shape (n_samples, n_features)
            The rows, as codes 0, 1, ... of the levels.
        adjacency : ndarray of bool of shape (n_features, n_features)
            ``adjacency[i, j]`` is the edge i -> j. The order of the columns is not a
            topological order.
        network : DiscreteNetwork
            The network with its conditional probability tables, to sample more.
        feature_names : list of str
            Names of the columns.
        DESCR : str
            How the data were made.

    References
    ----------
    .. [1] J. Kuipers, P. Suter and G. Moffa (2022). Efficient sampling and structure
       learning of Bayesian networks. Journal of Computational and Graphical
       Statistics 31. `arXiv:1803.07859 <https://arxiv.org/abs/1803.07859>`_

    Examples
    --------
    >>> from skbidag.datasets import make_discrete_network
    >>> bunch = make_discrete_network(50, 6, n_levels=(2, 4), random_state=0)
    >>> bunch.data.shape
    (50, 6)
    >>> bunch.network
    DiscreteNetwork(n_nodes=6, n_edges=13)

    A binary network on a power-law graph:

    >>> bunch = make_discrete_network(
    ...     50, 40, graph="barabasi_albert", max_parents=5, random_state=0
    ... )
    >>> int(bunch.adjacency.sum(axis=0).max())
    5
    """
    rng = check_random_state(random_state)
    if isinstance(n_levels, Integral):
        low, high = n_levels, n_levels
    else:
        low, high = _check_range(n_levels, "n_levels")
    if low != int(low) or high != int(high) or not 2 <= low <= high:
        raise ValueError(
            "n_levels must be an int or a pair (low, high) of ints with "
            f"2 <= low <= high, got {n_levels!r}."
        )
    adjacency = draw_dag(
        rng, n_features, graph, expected_parents, power, n_islands, interconnectivity
    )
    if max_parents is not None:
        adjacency = limit_parents(rng, adjacency, max_parents, isinstance(graph, str))
    n_features = len(adjacency)
    sizes = rng.randint(int(low), int(high) + 1, size=n_features)
    parents = [np.flatnonzero(column) for column in adjacency.T]
    cpts = [
        _draw_cpt(rng, node, sizes[[node, *others]].tolist(), concentration)
        for node, others in enumerate(parents)
    ]
    network = DiscreteNetwork(
        names=_names(n_features),
        levels=[[str(level) for level in range(size)] for size in sizes],
        parents=parents,
        cpts=cpts,
    )
    kind = graph if isinstance(graph, str) else "given"
    return Bunch(
        data=network.sample(n_samples, random_state=rng),
        adjacency=adjacency,
        network=network,
        feature_names=_names(n_features),
        DESCR=(
            f"{n_samples} samples of a discrete Bayesian network with {n_features} "
            f"variables of {low} to {high} levels on a DAG with {adjacency.sum()} "
            f"edges (graph: {kind}), probabilities drawn from a Dirichlet distribution "
            f"with concentration {concentration}."
        ),
    )


def _names(n_features):
    return [f"x{i}" for i in range(n_features)]


def _draw_cpt(rng, node, sizes, concentration):
    """Draw one Dirichlet vector per configuration of the parents.

    Gamma variables are drawn by their logarithms (that of shape a is that of shape
    a + 1 times U^(1/a)): with a small concentration all of a column could be zero.
    """
    shape = (sizes[0], int(np.prod(sizes[1:], dtype=object)))
    if shape[0] * shape[1] > _MOST_CPT_ENTRIES:
        raise ValueError(
            f"Node {node} has {len(sizes) - 1} parents with {shape[1]} configurations, "
            "too many for a conditional probability table. Lower expected_parents or "
            "n_levels."
        )
    log_gamma = np.log(rng.standard_gamma(concentration + 1.0, size=shape))
    log_gamma += np.log1p(-rng.random_sample(shape)) / concentration
    cpt = np.exp(log_gamma - log_gamma.max(axis=0))
    return cpt / cpt.sum(axis=0)
