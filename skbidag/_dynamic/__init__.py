"""Dynamic networks: structure in time, learned from one or many series.

A dynamic network is a background problem. The present slice's variables are the main
ones; what is before them, and what does not change, is in the background. So series
become rows (``_series.py``), and an ordinary estimator learns from these.
``_score.py`` is the score where several sets of rows share one structure,
``_graph.py`` what is learned, as edges between slices, ``_coding.py`` has values as
numbers, ``_simulate.py`` draws what comes next, and ``_structure.py`` is the estimator
around all of it.
"""

from skbidag._dynamic._graph import DynamicGraph
from skbidag._dynamic._series import series_from_wide
from skbidag._dynamic._simulate import Forecast
from skbidag._dynamic._structure import DynamicStructure

__all__ = ["DynamicGraph", "DynamicStructure", "Forecast", "series_from_wide"]
