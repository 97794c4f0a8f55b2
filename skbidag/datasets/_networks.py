"""Discrete Bayesian networks: how they are held, sampled and loaded."""

import json
from collections.abc import Sequence
from importlib.resources import files
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from skbidag._sklearn import Interval, StrOptions, validate_params
from skbidag.graphs import topological_order

if TYPE_CHECKING:
    import pandas as pd

_DATA = files("skbidag.datasets") / "data"

NETWORKS = {
    "alarm",
    "andes",
    "asia",
    "cancer",
    "child",
    "earthquake",
    "hailfinder",
    "hepar2",
    "insurance",
    "sachs",
    "survey",
    "win95pts",
}


class DiscreteNetwork:
    """A Bayesian network of categorical variables.

    Parameters
    ----------
    names : sequence of str
        Names of the variables.
    levels : sequence of sequences of str
        The levels of each variable. Its codes are their positions.
    parents : sequence of sequences of int
        The parents of each variable.
    cpts : sequence of array-like of shape (n_levels, n_configurations)
        The conditional probability table of each variable. A column is the
        distribution for one configuration of the parents; of the parents' levels, those
        of the first parent vary fastest from column to column. Columns that do not
        quite sum to 1, because they were rounded, are rescaled.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    levels : list of lists of str
        The levels of each variable.
    parents : list of ndarray of int
        The parents of each variable, in the order the table has them in.
    cpts : list of ndarray of shape (n_levels, n_configurations)
        The conditional probability table of each variable.
    adjacency : ndarray of bool of shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i -> j.

    Examples
    --------
    >>> from skbidag.datasets import DiscreteNetwork
    >>> network = DiscreteNetwork(
    ...     names=["rain", "grass"],
    ...     levels=[["no", "yes"], ["dry", "wet"]],
    ...     parents=[[], [0]],
    ...     cpts=[[[0.8], [0.2]], [[1.0, 0.0], [0.0, 1.0]]],
    ... )
    >>> network.adjacency.astype(int)
    array([[0, 1],
           [0, 0]])
    >>> rows = network.sample(5, random_state=0)
    >>> bool((rows[:, 0] == rows[:, 1]).all())
    True
    """

    def __init__(
        self,
        names: Sequence[str],
        levels: Sequence[Sequence[str]],
        parents: Sequence[Sequence[int]] | Sequence[NDArray[np.intp]],
        cpts: Sequence[ArrayLike],
    ):
        self.names = [str(name) for name in names]
        n_nodes = len(self.names)
        if len(set(self.names)) != n_nodes:
            raise ValueError("names must differ from each other.")
        for given, what in ((levels, "levels"), (parents, "parents"), (cpts, "cpts")):
            if len(given) != n_nodes:
                raise ValueError(
                    f"{what} must have one entry per variable: got {len(given)} for "
                    f"{n_nodes} names."
                )
        self.levels = [list(of_node) for of_node in levels]
        for name, of_node in zip(self.names, self.levels, strict=True):
            if not of_node or len(set(of_node)) != len(of_node):
                raise ValueError(f"The levels of {name!r} must differ from each other.")
        self.parents = [np.array(others, dtype=np.intp) for others in parents]
        self.adjacency = np.zeros((n_nodes, n_nodes), dtype=bool)
        for node, others in enumerate(self.parents):
            if len(set(others.tolist()) & set(range(n_nodes))) != len(others):
                raise ValueError(
                    f"The parents of {self.names[node]!r} must be different numbers "
                    f"from 0 to {n_nodes - 1}, got {others.tolist()}."
                )
            self.adjacency[others, node] = True
        # It raises if there is a cycle.
        self._order = topological_order(self.adjacency)
        self.cpts = [self._check_cpt(node, cpt) for node, cpt in enumerate(cpts)]

    def _check_cpt(self, node, cpt):
        cpt = np.array(cpt, dtype=np.float64)
        sizes = [len(self.levels[i]) for i in (node, *self.parents[node])]
        shape = (sizes[0], int(np.prod(sizes[1:])))
        name = self.names[node]
        if cpt.shape != shape:
            raise ValueError(
                f"The table of {name!r} must have shape {shape}, got {cpt.shape}."
            )
        if not ((cpt >= 0).all() and np.allclose(cpt.sum(axis=0), 1, atol=1e-6)):
            raise ValueError(
                f"Each column of the table of {name!r} must be a probability "
                "distribution."
            )
        return cpt / cpt.sum(axis=0)

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_nodes={len(self.names)}, "
            f"n_edges={self.adjacency.sum()})"
        )

    @validate_params(
        {
            "n_samples": [Interval(Integral, 1, None, closed="left")],
            "random_state": ["random_state"],
            "as_frame": ["boolean"],
        },
        prefer_skip_nested_validation=True,
    )
    def sample(
        self,
        n_samples: int,
        random_state: int | np.random.RandomState | None = None,
        *,
        as_frame: bool = False,
    ) -> "NDArray[np.int32] | pd.DataFrame":
        """Draw rows from the joint distribution.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Determines the rows. Pass an int for the same rows in every call.
        as_frame : bool, default=False
            Whether to return a pandas DataFrame.

        Returns
        -------
        rows : ndarray of int or DataFrame of shape (n_samples, n_nodes)
            Codes 0, 1, ... of the levels; in a DataFrame, categories with the names of
            the levels.
        """
        rng = check_random_state(random_state)
        codes = np.empty((len(self.names), n_samples), dtype=np.int32)
        for node in self._order:
            cumulative = self.cpts[node].cumsum(axis=0)
            # The same number divided by itself: a last level of probability 0 is
            # never drawn, whatever the rounding.
            cumulative /= cumulative[-1]
            configuration = np.zeros(n_samples, dtype=np.intp)
            stride = 1
            for parent in self.parents[node]:
                configuration += stride * codes[parent]
                stride *= len(self.levels[parent])
            uniform = rng.random_sample(n_samples)
            codes[node] = 0
            for bound in cumulative[:-1]:
                codes[node] += uniform >= bound[configuration]
        rows = np.ascontiguousarray(codes.T)
        return _to_frame(rows, self.names, self.levels) if as_frame else rows


def _to_frame(codes, names, levels):
    import pandas as pd  # takes a while

    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes[:, i], categories=levels[i])
            for i, name in enumerate(names)
        }
    )


@validate_params({"name": [StrOptions(NETWORKS)]}, prefer_skip_nested_validation=True)
def load_network(name: str) -> DiscreteNetwork:
    """Load a discrete benchmark network.

    The networks come from the Bayesian network repository [1]_; ``data/README.md``
    beside this module has the source and the terms of each.

    ============ ======= =======
    name           nodes   edges
    ============ ======= =======
    cancer             5       4
    earthquake         5       4
    survey             6       6
    asia               8       8
    sachs             11      17
    child             20      25
    insurance         27      52
    alarm             37      46
    hailfinder        56      66
    hepar2            70     123
    win95pts          76     112
    andes            223     338
    ============ ======= =======

    Parameters
    ----------
    name : str
        One of the names above.

    Returns
    -------
    network : DiscreteNetwork
        The network, with names, levels, adjacency and conditional probability tables.

    References
    ----------
    .. [1] M. Scutari. Bayesian network repository.
       https://www.bnlearn.com/bnrepository/

    Examples
    --------
    >>> from skbidag.datasets import load_network
    >>> network = load_network("asia")
    >>> network
    DiscreteNetwork(n_nodes=8, n_edges=8)
    >>> network.sample(1000, random_state=0).shape
    (1000, 8)
    """
    nodes = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))["nodes"]
    position = {node["name"]: i for i, node in enumerate(nodes)}
    return DiscreteNetwork(
        names=list(position),
        levels=[node["levels"] for node in nodes],
        parents=[[position[name] for name in node["parents"]] for node in nodes],
        cpts=[node["cpt"] for node in nodes],
    )


@validate_params({"as_frame": ["boolean"]}, prefer_skip_nested_validation=True)
def load_asia(*, as_frame: bool = False) -> Bunch:
    """Load 500 samples of the asia network.

    Eight yes-or-no variables of a fictitious chest clinic [1]_: a visit to Asia,
    smoking, tuberculosis, lung cancer, either of these two, bronchitis, an abnormal
    X-ray and shortness of breath.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether the data are a pandas DataFrame of categories.

    Returns
    -------
    asia : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : ndarray of int or DataFrame of shape (500, 8)
            The rows, as codes of the levels, or as categories.
        adjacency : ndarray of bool of shape (8, 8)
            The DAG the data come from. ``adjacency[i, j]`` is the edge i -> j.
        feature_names : list of str
            Names of the columns.
        levels : list of lists of str
            The levels of each variable: code 0 is "yes", 1 is "no".
        DESCR : str
            What the data are.

    References
    ----------
    .. [1] S. L. Lauritzen and D. J. Spiegelhalter (1988). Local computations with
       probabilities on graphical structures and their application to expert systems.
       Journal of the Royal Statistical Society B 50.

    Examples
    --------
    >>> from skbidag.datasets import load_asia
    >>> asia = load_asia()
    >>> asia.data.shape
    (500, 8)
    >>> asia.feature_names
    ['asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'xray', 'dysp']
    """
    network = load_network("asia")
    lines = (_DATA / "asia500.csv").read_text(encoding="utf-8").splitlines()
    codes = np.array([line.split(",") for line in lines[1:]], dtype=np.int32)
    return Bunch(
        data=_to_frame(codes, network.names, network.levels) if as_frame else codes,
        adjacency=network.adjacency,
        feature_names=network.names,
        levels=network.levels,
        DESCR=(
            "500 samples of the asia network of Lauritzen and Spiegelhalter (1988): "
            "eight binary variables of a fictitious chest clinic."
        ),
    )
