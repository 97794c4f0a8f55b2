# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Views of the score tables: pointers into the arrays of each node.

A kernel that looks up a million rows a second cannot go through Python objects to
find them. The views hold the addresses, and keep the arrays alive.
"""

from libc.stdint cimport int16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np


cdef class TableViews:
    """Addresses of the tables of all nodes.

    Nodes in the *background* have no parents and stand right of all others, whatever a
    walk does: they are in the places, but not in what moves. The others are *main*.

    Parameters
    ----------
    tables : sequence of NodeTable
        One per node, in order.
    maximize : bool, default=False
        Whether a walk asks for maxima alone: then columns do not matter that are
        nowhere above the base column.
    """

    def __cinit__(self, tables, bint maximize=False):
        cdef Py_ssize_t n = len(tables), i, k, n_pairs
        cdef const Py_ssize_t[::1] candidates, columns
        self.n_nodes = n
        self.width = max(table.width for table in tables)
        self.n_places = max(n + 1, self.width)
        self.arrays = []
        self.nodes = <NodeView *> calloc(n, sizeof(NodeView))
        self.bits = <signed char *> malloc(n * n)
        self.main = <Py_ssize_t *> calloc(n, sizeof(Py_ssize_t))
        self.in_background = <unsigned char *> calloc(n, 1)
        if (
            self.nodes == NULL or self.bits == NULL or self.main == NULL
            or self.in_background == NULL
        ):
            raise MemoryError
        memset(self.bits, -1, n * n)
        for i, table in enumerate(tables):
            candidates, columns = table.candidates, table.columns
            if table.background:
                self.in_background[i] = 1
            else:
                self.main[self.n_main] = i
                self.n_main += 1
            self.arrays += [candidates, columns]
            self.nodes[i].n_candidates = candidates.shape[0]
            self.nodes[i].candidates = (
                &candidates[0] if candidates.shape[0] else NULL
            )
            self.nodes[i].width = columns.shape[0]
            self.nodes[i].columns = &columns[0]
            self.nodes[i].base_column = table.base_column
            self.nodes[i].scores = self._matrix(table.scores, columns.shape[0])
            if table.scores is not None:
                self.nodes[i].base_scores = self._vector(
                    np.ascontiguousarray(table.scores[:, table.base_column])
                )
            self.nodes[i].ratios = self._matrix(table.ratios, columns.shape[0])
            self.nodes[i].maxima = self._matrix(table.maxima, columns.shape[0])
            self.nodes[i].log_sums = self._vector(table.log_sums)
            for k in range(candidates.shape[0]):
                self.bits[i * n + candidates[k]] = <signed char> k
            if table.scattered:
                self._number_columns(i)
        if self.column_numbers != NULL or maximize:
            n_pairs = self._relate(tables, maximize)
            if self.few_relatives or 2 * n_pairs < n * n:
                self._list_relatives(n_pairs)
            else:
                free(self.related)
                self.related = NULL

    def __dealloc__(self):
        free(self.nodes)
        free(self.bits)
        free(self.main)
        free(self.in_background)
        free(self.column_numbers)
        free(self.related)
        free(self.relatives)
        free(self.first_relative)

    @property
    def few_relatives(self):
        """Whether tables have columns for few outsiders, so that relocations are cheap.
        """
        return self.column_numbers != NULL

    @property
    def background(self):
        """Which nodes are in the background."""
        cdef Py_ssize_t i
        return np.array([self.in_background[i] for i in range(self.n_nodes)], bool)

    cdef object _number_columns(self, Py_ssize_t node):
        """Note which column of a node's table stands for which variable."""
        cdef Py_ssize_t n = self.n_nodes, k
        cdef NodeView *view = &self.nodes[node]
        cdef int16_t *numbers
        if self.column_numbers == NULL:
            self.column_numbers = <int16_t *> malloc(n * n * sizeof(int16_t))
            if self.column_numbers == NULL:
                raise MemoryError
        view.scattered = view.columns
        numbers = self.column_numbers + node * n
        for k in range(n):
            numbers[k] = <int16_t> (view.width - 1)  # which is nobody's
        for k in range(view.width):
            if view.columns[k] < n:
                numbers[view.columns[k]] = <int16_t> k

    cdef Py_ssize_t _relate(self, tables, bint maximize) except -1:
        """Note whose tables have whom; give the number of pairs."""
        cdef Py_ssize_t n = self.n_nodes, n_pairs = 0, i, j, k
        cdef const NodeView *view
        cdef const unsigned char[::1] matters
        self.related = <unsigned char *> calloc(n * n, 1)
        if self.related == NULL:
            raise MemoryError
        for i in range(n):
            view = &self.nodes[i]
            matters = tables[i].columns_that_matter if maximize else (
                np.ones(view.width, dtype=np.uint8)
            )
            for k in range(view.n_candidates + view.width):
                if k < view.n_candidates:
                    j = view.candidates[k]
                elif matters[k - view.n_candidates]:
                    j = view.columns[k - view.n_candidates]
                else:
                    continue
                if j < n and j != i:
                    self.related[i * n + j] |= IN_TABLE
                    self.related[j * n + i] |= HAS_TABLE
        for i in range(n * n):
            n_pairs += self.related[i] != 0
        return n_pairs

    cdef object _list_relatives(self, Py_ssize_t n_pairs):
        """List for each node those that have it in their tables, or are in its own."""
        cdef Py_ssize_t n = self.n_nodes, size = 0, i, j
        self.relatives = <Py_ssize_t *> malloc(max(n_pairs, 1) * sizeof(Py_ssize_t))
        self.first_relative = <Py_ssize_t *> malloc((n + 1) * sizeof(Py_ssize_t))
        if self.relatives == NULL or self.first_relative == NULL:
            raise MemoryError
        for i in range(n):
            self.first_relative[i] = size
            for j in range(n):
                if self.related[i * n + j]:
                    self.relatives[size] = j
                    size += 1
        self.first_relative[n] = size

    cdef const double *_matrix(self, object array, Py_ssize_t width) except? NULL:
        cdef const double[:, ::1] view
        if array is None:
            return NULL
        if array.shape[1] != width:
            raise ValueError("a table has another number of columns than it says")
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
