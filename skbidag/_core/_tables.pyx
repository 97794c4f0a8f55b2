# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Views of the score tables: pointers into the arrays of each node.

A kernel that looks up a million rows a second cannot go through Python objects to
find them. The views hold the addresses, and keep the arrays alive.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np


cdef class TableViews:
    """Addresses of the tables of all nodes.

    Parameters
    ----------
    tables : sequence of NodeTable
        One per node, in order, with the same number of columns.
    """

    def __cinit__(self, tables):
        cdef Py_ssize_t i, k
        cdef const Py_ssize_t[::1] candidates
        self.n_nodes = len(tables)
        self.width = tables[0].width
        self.arrays = []
        self.nodes = <NodeView *> calloc(self.n_nodes, sizeof(NodeView))
        self.bits = <signed char *> malloc(self.n_nodes * self.n_nodes)
        if self.nodes == NULL or self.bits == NULL:
            raise MemoryError
        memset(self.bits, -1, self.n_nodes * self.n_nodes)
        for i, table in enumerate(tables):
            candidates = table.candidates
            self.arrays.append(candidates)
            self.nodes[i].n_candidates = candidates.shape[0]
            self.nodes[i].candidates = (
                &candidates[0] if candidates.shape[0] else NULL
            )
            self.nodes[i].base_column = table.base_column
            self.nodes[i].scores = self._matrix(table.scores)
            if table.scores is not None:
                self.nodes[i].base_scores = self._vector(
                    np.ascontiguousarray(table.scores[:, table.base_column])
                )
            self.nodes[i].ratios = self._matrix(table.ratios)
            self.nodes[i].maxima = self._matrix(table.maxima)
            self.nodes[i].log_sums = self._vector(table.log_sums)
            for k in range(candidates.shape[0]):
                self.bits[i * self.n_nodes + candidates[k]] = <signed char> k

    def __dealloc__(self):
        free(self.nodes)
        free(self.bits)

    cdef const double *_matrix(self, object array) except? NULL:
        cdef const double[:, ::1] view
        if array is None:
            return NULL
        if array.shape[1] != self.width:
            raise ValueError("tables differ in their number of columns")
        view = array
        self.arrays.append(view)
        return &view[0, 0]

    cdef const double *_vector(self, object array) except? NULL:
        cdef const double[::1] view
        if array is None:
            return NULL
        view = array
        self.arrays.append(view)
        return &view[0]
