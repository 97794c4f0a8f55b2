"""Graphs and networks in the formats of other programs, written and read.

A graph is an adjacency matrix in which ``A[i, j]`` is the edge i -> j, or a frame with
the variables' names on it. A network is a
:class:`~skbidag.datasets.DiscreteNetwork` or a :class:`~skbidag.GaussianNetwork`, with
parameters. Formats of text are strings here, whatever file they are in:

================= =================== ====================== ==========================
format            of                  write                  read
================= =================== ====================== ==========================
BIF               discrete networks   :func:`to_bif`         :func:`from_bif`
pgmpy             networks            :func:`to_pgmpy`       :func:`from_pgmpy`
bnlearn's string  DAGs                :func:`to_modelstring` :func:`from_modelstring`
DAGitty           DAGs and CPDAGs     :func:`to_dagitty`     :func:`from_dagitty`
GraphML           graphs              :func:`to_graphml`     :func:`from_graphml`
networkx          graphs              :func:`~skbidag.graphs.to_networkx`,
                                      :func:`~skbidag.graphs.from_networkx`
================= =================== ====================== ==========================

What is read is a labelled frame, which goes wherever a graph does.
"""

from skbidag.formats._bif import from_bif, to_bif
from skbidag.formats._dagitty import from_dagitty, to_dagitty
from skbidag.formats._graphml import from_graphml, to_graphml
from skbidag.formats._modelstring import from_modelstring, to_modelstring
from skbidag.formats._pgmpy import from_pgmpy, to_pgmpy

__all__ = [
    "from_bif",
    "from_dagitty",
    "from_graphml",
    "from_modelstring",
    "from_pgmpy",
    "to_bif",
    "to_dagitty",
    "to_graphml",
    "to_modelstring",
    "to_pgmpy",
]
