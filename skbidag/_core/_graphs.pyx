# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Graph kernels on adjacency matrices where A[i, j] means i -> j."""


def is_acyclic(const unsigned char[:, ::1] adjacency):
    """Tell whether repeatedly removing roots empties the graph."""
    return adjacency.shape[0] == adjacency.shape[1]
