"""The search for the best DAG: a function of the problem and its settings.

It alternates (Kuipers, Suter & Moffa 2022, section 3): find the best DAG in the
present space, in which every node may take one parent from outside; let what that DAG
adds into the space; until neither the space nor the best score changes. ``_orders``
searches one space, over orders; ``_expansion`` makes a space larger around a DAG;
``_spaces`` is the loop around both. In the end ``_cover`` widens the space until it
holds the posterior. ``_plain`` is the paper's scheme with nothing added, and
``_schemes`` chooses between the two.
"""

from skbidag._search._cover import short_chain
from skbidag._search._orders import (
    ENGINES,
    LEAST_GAIN,
    order_moves,
    random_order,
    search_orders,
    starting_orders,
)
from skbidag._search._schemes import search_structure
from skbidag._search._spaces import Searcher, SearchResult, SearchSettings

__all__ = [
    "ENGINES",
    "LEAST_GAIN",
    "SearchResult",
    "SearchSettings",
    "Searcher",
    "order_moves",
    "random_order",
    "search_orders",
    "search_structure",
    "short_chain",
    "starting_orders",
]
