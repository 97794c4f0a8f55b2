"""Pictures of what was learned, and of how sure one can be of it.

Displays follow scikit-learn's conventions: ``from_estimator`` draws, into ``ax`` if it
is given, and returns the display, whose attributes are the axes, the figure and what
is drawn. matplotlib is needed only when something is drawn.
"""

from skbidag.inspection._concordance import ConcordanceDisplay
from skbidag.inspection._edge_probability import EdgeProbabilityDisplay
from skbidag.inspection._edge_trace import EdgeTraceDisplay
from skbidag.inspection._expansion import ExpansionDisplay
from skbidag.inspection._graph import GraphDisplay
from skbidag.inspection._slices import DynamicGraphDisplay
from skbidag.inspection._trace import TraceDisplay

__all__ = [
    "ConcordanceDisplay",
    "DynamicGraphDisplay",
    "EdgeProbabilityDisplay",
    "EdgeTraceDisplay",
    "ExpansionDisplay",
    "GraphDisplay",
    "TraceDisplay",
]
