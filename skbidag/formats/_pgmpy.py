"""Models of pgmpy, which is imported when one is made or read."""

from functools import singledispatch
from typing import Any

import numpy as np

from skbidag._gaussian_network import GaussianNetwork
from skbidag.datasets import DiscreteNetwork


def to_pgmpy(network: DiscreteNetwork | GaussianNetwork) -> Any:
    """A network as a model of pgmpy.

    Parameters
    ----------
    network : DiscreteNetwork or GaussianNetwork
        The network, such as ``model.parameters("best").network()``.

    Returns
    -------
    model : pgmpy.models.DiscreteBayesianNetwork or LinearGaussianBayesianNetwork
        The same nodes, edges and parameters.
    """
    try:
        import pgmpy  # noqa: F401 (takes seconds, and is not always there)
    except ImportError as error:
        raise ImportError(
            'pgmpy is needed, but not installed: pip install "skbidag[pgmpy]".'
        ) from error
    return _model(network)


def from_pgmpy(model: Any) -> DiscreteNetwork:
    """A discrete network from a model of pgmpy.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        A model with the tables of all its nodes. One without is a graph of networkx,
        see :func:`skbidag.graphs.from_networkx`.

    Returns
    -------
    network : DiscreteNetwork
        The same nodes, levels, edges and tables.
    """
    names = [str(node) for node in model.nodes()]
    place = {node: i for i, node in enumerate(model.nodes())}
    levels, parents, tables = [], [], []
    for node in model.nodes():
        table = model.get_cpds(node)
        if table is None or not hasattr(table, "state_names"):
            raise ValueError(
                f"The pgmpy model has no table of probabilities of {node!r}."
            )
        levels.append([str(state) for state in table.state_names[node]])
        parents.append([place[parent] for parent in table.variables[1:]])
        # there, the last parent's level changes fastest
        tables.append(np.asarray(table.values).reshape(len(levels[-1]), -1, order="F"))
    return DiscreteNetwork(names, levels, parents, tables)


@singledispatch
def _model(network):
    raise TypeError(
        f"pgmpy has discrete and linear Gaussian networks, got "
        f"{type(network).__name__}. It is model.parameters('best').network() that "
        "makes one."
    )


@_model.register
def _(network: DiscreteNetwork):
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = _with_graph(DiscreteBayesianNetwork(), network)
    for node, name in enumerate(network.names):
        # there, the last parent's level changes fastest
        parents = network.parents[node][::-1]
        states = {
            network.names[i]: [str(level) for level in network.levels[i]]
            for i in (node, *parents)
        }
        table = TabularCPD(
            name,
            len(network.levels[node]),
            network.cpts[node],
            evidence=[network.names[i] for i in parents] or None,
            evidence_card=[len(network.levels[i]) for i in parents] or None,
            state_names=states,
        )
        model.add_cpds(table)
    return model


@_model.register
def _(network: GaussianNetwork):
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = _with_graph(LinearGaussianBayesianNetwork(), network)
    names = network.names
    for node, name in enumerate(names):
        parents = np.flatnonzero(network.adjacency[:, node])
        model.add_cpds(
            LinearGaussianCPD(
                name,
                [network.intercepts[node], *network.coefficients[parents, node]],
                np.sqrt(network.variances[node]),
                [names[i] for i in parents],
            )
        )
    return model


def _with_graph(model, network):
    names = network.names
    model.add_nodes_from(names)
    model.add_edges_from(
        (names[i], names[j]) for i, j in np.argwhere(network.adjacency)
    )
    return model
