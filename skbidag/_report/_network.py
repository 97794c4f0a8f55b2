"""What the page's script draws: variables, pairs, graphs and places, as plain data."""

import numpy as np

from skbidag._data import names_of
from skbidag._edge_effects import direct_effects
from skbidag._report._wording import meaning_of_effects
from skbidag.diagnostics import edge_diagnostics
from skbidag.inspection._layout import layered_layout
from skbidag.inspection._plotting import shorten

# Pairs that are joined with less than this probability are not carried...
LEAST_PROBABILITY = 0.01
# ... nor are more than this many, but for those of the graphs below.
MOST_PAIRS = 3000
# Sampled DAGs that are carried, spread over the chains.
MOST_SAMPLES = 48
# What the first picture shows, and what the layout is of.
THRESHOLD = 0.5
# Pixels: the font's size, a box's height in it, and the room beside a name.
FONT_SIZE, HEIGHT, PADDING, SPACING = 14.0, 1.9, 1.4, 1.4
# Letters of a name that are shown; who points at it sees the whole name.
LONGEST_LABEL = 24
# The script's columns of a pair: i < j, and numbers of i -> j and of j -> i.
PAIR = ("i", "j", "joined", "dag", "cpdag", "error", "rhat", "effect")


def network_of(estimator, dynamic=None):
    """The network of a fitted estimator as JSON can hold it.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    dynamic : DynamicStructure, default=None
        What the estimator is the transition of: its slices stand side by side.

    Returns
    -------
    network : dict
        The variables (``names``, ``labels``, ``background``), what is known of
        ``pairs`` (see `PAIR`), the graphs as lists of edges (``best``, ``cpdag``,
        ``samples``), and where boxes (``x``, ``y``, ``width``) and edges (``routes``)
        are, y downwards.
    """
    names = node_names(estimator)
    samples = sampled_dags(estimator)
    known, meaning = probabilities_of(estimator)
    graphs = [estimator.adjacency_, estimator.cpdag_, *(dag for *_, dag in samples)]
    pairs, left_out = pairs_worth_telling(known["joined"], graphs)
    return {
        "names": names,
        "labels": [shortened(name) for name in names],
        "background": np.flatnonzero(estimator.dag_samples_.background).tolist(),
        "pairs": pair_rows(known, pairs),
        "left_out": left_out,
        "least": LEAST_PROBABILITY,
        "threshold": THRESHOLD,
        "effect": meaning,
        "best": edges_of(estimator.adjacency_),
        "cpdag": edges_of(estimator.cpdag_),
        "samples": [
            {"chain": chain, "draw": draw, "log_score": score, "edges": edges_of(dag)}
            for chain, draw, score, dag in samples
        ],
        **places(consensus(known["joined"], known["cpdag"]), names, dynamic),
    }


def probabilities_of(estimator):
    """What is known of edges, matrices by the names of `PAIR`, and what effects are."""
    joined = estimator.edge_probabilities("skeleton")
    effects = direct_effects(estimator.score_, estimator.dag_samples_)
    meaning = meaning_of_effects(estimator.score_.of_parameters)
    # exact probabilities have no sampling error
    error = rhat = np.full(joined.shape, np.nan)
    if hasattr(estimator, "rhat_"):
        diagnostics = edge_diagnostics(estimator)
        error, rhat = diagnostics.mcse, diagnostics.rhat
    known = {
        "joined": joined,
        "dag": estimator.edge_probabilities("dag"),
        "cpdag": estimator.edge_probabilities("cpdag"),
        "error": error,
        "rhat": rhat,
        "effect": effects,
    }
    return known, meaning


def node_names(estimator):
    """Names of the variables, or their numbers."""
    names = names_of(estimator)
    names = range(estimator.n_features_in_) if names is None else names
    return [str(name) for name in names]


def shortened(name):
    """A name that fits into a box."""
    return shorten(name, LONGEST_LABEL)


def edges_of(graph):
    """The edges of a graph as pairs of numbers."""
    return np.argwhere(graph).tolist()


def consensus(joined, in_cpdags, threshold=THRESHOLD):
    """Pairs that are joined above a threshold, directed where CPDAGs agree."""
    directed = in_cpdags > threshold
    return directed | ((joined > threshold) & ~(directed | directed.T))


def sampled_dags(estimator):
    """Some of the sampled DAGs: (chain, draw, log score, DAG), in this order."""
    samples = estimator.dag_samples_
    n_chains, n_draws = samples.n_chains, samples.n_draws
    if len(samples) == 1:
        return []  # the best DAG alone
    per_chain = max(1, min(n_draws, MOST_SAMPLES // n_chains))
    draws = np.unique(np.linspace(0, n_draws - 1, per_chain).round().astype(int))
    return [
        (
            chain,
            int(draw),
            float(estimator.log_score_trace_[chain, draw]),
            samples[chain * n_draws + int(draw)],
        )
        for chain in range(min(n_chains, MOST_SAMPLES))
        for draw in draws
    ]


def pairs_worth_telling(joined, graphs):
    """Pairs i < j, the most probable first, and how many others were seen."""
    drawn = np.logical_or.reduce(graphs)
    drawn = np.triu(drawn | drawn.T)
    seen = np.argwhere(np.triu(joined > 0) | drawn)
    seen = seen[np.argsort(-joined[tuple(seen.T)], kind="stable")]
    probable = joined[tuple(seen.T)] >= LEAST_PROBABILITY
    kept = (probable & (np.arange(len(seen)) < MOST_PAIRS)) | drawn[tuple(seen.T)]
    return seen[kept], int(np.sum(~kept))


def pair_rows(known, pairs):
    """The numbers of each pair in the order of `PAIR`, of i -> j and then of j -> i."""
    joined, *both = (known[name] for name in PAIR[2:])
    return [
        [
            int(i),
            int(j),
            plain(joined[i, j]),
            *(
                plain(value)
                for matrix in both
                for value in (matrix[i, j], matrix[j, i])
            ),
        ]
        for i, j in pairs
    ]


def plain(value):
    """A number with four digits that matter; what is not finite is a word or None."""
    if np.isnan(value):
        return None
    if np.isinf(value):
        return "infinite"
    return float(f"{value:.4g}")


def places(graph, names, dynamic=None):
    """Boxes and routes of a graph, in pixels."""
    widths = np.array([text_width(shortened(name)) for name in names]) + PADDING
    if dynamic is not None:
        x, y, size, step = slice_places(widths, dynamic)
        routes = {}
    else:
        step = 0.0
        layout = layered_layout(graph, widths, HEIGHT, SPACING)
        x, y, size = layout.x, layout.size[1] - layout.y, layout.size
        # a straight line needs no route
        routes = {
            edge: route * [1, -1] + [0, layout.size[1]]
            for edge, route in layout.routes.items()
            if layout.layer[edge[0]] >= 0
        }

    def pixels(values):
        return np.round(np.asarray(values) * FONT_SIZE, 1).tolist()

    return {
        "x": pixels(x),
        "y": pixels(y),
        "width": pixels(widths),
        "height": pixels(HEIGHT),
        "font_size": FONT_SIZE,
        "slices": pixels(step),
        "size": pixels(size),
        "routes": [[i, j, pixels(route)] for (i, j), route in routes.items()],
    }


def slice_places(widths, dynamic):
    """The slices of a dynamic network side by side, the present on the right.

    The last number is the distance of the slices. The network's nodes are what does not
    change, the slices before, the last first, and the present.
    """
    graph = dynamic.probabilities_
    nodes = np.arange(len(widths))
    n_static, n_variables = graph.n_static, graph.n_variables
    lag = (nodes - n_static) // n_variables + 1
    lag[lag > graph.n_lags] = 0
    column = np.where(nodes < n_static, 0, graph.n_lags - lag + (n_static > 0))
    row = np.where(nodes < n_static, nodes, (nodes - n_static) % n_variables)
    step = 2.2 * widths.max()
    x, y = widths.max() / 2 + step * column, HEIGHT * (0.5 + 1.6 * row)
    return x, y, (float(x.max() + step / 2), float(y.max() + HEIGHT)), step


def text_width(text):
    """Width of a text in units of the font's size, about."""
    return sum(letter_width(letter) for letter in text)


def letter_width(letter):
    """Width of a letter in the usual fonts, rather too much than too little."""
    if ord(letter) > 0x2E80:  # ideographs and symbols
        return 1.1
    if letter in "fijlrtI|!'.,:;()[]{}/ ":
        return 0.4
    if letter in "mwMW@%—…":
        return 0.97
    return 0.72 if letter.isupper() else 0.63
