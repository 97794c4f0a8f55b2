# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Grow-shrink trees: how nodes choose parents from those that stand before them.

Written from Andrews, Ramsey, Sanchez Romero, Camchong & Kummerfeld (2023), *Fast
scalable and accurate discovery of DAGs using the best order score search and
grow-shrink trees*, NeurIPS 36.

State
    A tree for each node: at a set of parents stand the additions that pay, the best
    first, and each leads to the set with it.
Step
    A node *grows* parents: it walks down its tree, adding the best of those that
    stand until none pays. Then it *shrinks* what it got: it takes out the worst until
    that does not pay either.
What stays true
    A set is scored once, whatever walk meets it. Its score comes of the additions that
    led to it first, which decides the last bits.
Cost
    O(1) for each set on a known way, and as many glances as additions that do not
    stand; a new set takes one pass over all variables.

Several threads may walk at a time. A set that is there does not change, and is read
without a lock; who misses one locks the node's tree. A thread may walk *ahead* of
those whose turn it is, to have sets scored that they will ask for. That leaves no
trace: what was only met ahead is not counted, and if a walk in its turn comes to the
set by another way, which gives it other last bits, it is made anew.
"""

from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
    WAIT_LOCK,
)
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcmp

import numpy as np


cdef enum:
    FIRST_ROOM = 8  # for sets in a tree
    # bytes
    LINE = 32
    FIRST_CHUNK = 1 << 16
    LARGEST_CHUNK = 1 << 23


cdef int better_first(const void *left, const void *right) noexcept nogil:
    cdef:
        const Addition *first = <const Addition *> left
        const Addition *second = <const Addition *> right
    if first.worth != second.worth:
        return 1 if first.worth < second.worth else -1
    return 1 if first.variable > second.variable else -1


cdef inline uint64_t hash_of(const int *parents, Py_ssize_t size) noexcept nogil:
    cdef uint64_t found = 0x9e3779b97f4a7c15
    cdef Py_ssize_t k
    for k in range(size):
        found = (found ^ <uint32_t> parents[k]) * <uint64_t> 0xff51afd7ed558ccd
        found ^= found >> 32
    return found


cdef Py_ssize_t slot_of(
    const Tree *tree, const int *parents, Py_ssize_t size
) noexcept nogil:
    """Where in the table a set stands, or would."""
    cdef Py_ssize_t slot = <Py_ssize_t> (hash_of(parents, size) & (tree.room - 1))
    cdef const Grown *found
    while tree.table[slot] != NULL:
        found = tree.table[slot]
        if found.n_parents == size and (
            memcmp(parents_of(found), parents, size * sizeof(int)) == 0
        ):
            break
        slot = (slot + 1) & (tree.room - 1)
    return slot


cdef int enlarge(Tree *tree) except -1 nogil:
    """Twice the room for a tree's sets."""
    cdef:
        Grown **old = tree.table
        Grown **new = <Grown **> calloc(2 * tree.room, sizeof(Grown *))
        Py_ssize_t k, room = tree.room
    if new == NULL:
        with gil:
            raise MemoryError
    tree.table = new
    tree.room = 2 * room
    for k in range(room):
        if old[k] != NULL:
            new[slot_of(tree, parents_of(old[k]), old[k].n_parents)] = old[k]
    free(old)
    return 0


cdef Looks new_looks(Py_ssize_t n) except *:
    cdef Looks looks
    looks.marked = <unsigned char *> calloc(n + 1, 1)
    looks.variables = <int *> malloc((n + 1) * sizeof(int))
    looks.n = 0
    if looks.marked == NULL or looks.variables == NULL:
        free_looks(&looks)
        raise MemoryError
    return looks


cdef void free_looks(Looks *looks) noexcept nogil:
    free(looks.marked)
    free(looks.variables)


cdef inline void look_at(Looks *looks, int variable) noexcept nogil:
    if not looks.marked[variable]:
        looks.marked[variable] = True
        looks.variables[looks.n] = variable
        looks.n += 1


cdef class GrowShrinkTrees:
    """The trees of all nodes.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    forbidden, required : arrays of bool, shape (n, n)
        Edges that no DAG, or every DAG, has.
    standing : array of bool, shape (n,)
        Variables that have no parents, and no tree.
    max_parents : int
        The most parents that growing takes.
    least_gain : float
        What an addition or a removal must be worth.
    """

    def __cinit__(
        self, score, forbidden, required, standing, Py_ssize_t max_parents,
        double least_gain,
    ):
        cdef:
            Py_ssize_t n = len(forbidden), node
            Walker *walker
        self.scores = score.set_scores()
        self.least_gain = least_gain
        self.n = n
        self.max_parents = max_parents
        self.forbidden = np.ascontiguousarray(forbidden.T, dtype=np.uint8)
        self.trees = <Tree *> calloc(n, sizeof(Tree))
        self.chunk_lock = PyThread_allocate_lock()
        if self.trees == NULL or self.chunk_lock == NULL:
            raise MemoryError
        walker = self.new_walker()
        try:
            for node in range(n):
                if not standing[node]:
                    self.plant(node, score, np.flatnonzero(required[:, node]), walker)
        finally:
            self.free_walker(walker)

    cdef object plant(self, Py_ssize_t node, score, required, Walker *walker):
        """The tree of a node, with nothing but its root."""
        cdef:
            Tree *tree = &self.trees[node]
            Py_ssize_t k
        tree.n_required = len(required)
        tree.required = <int *> malloc((len(required) + 1) * sizeof(int))
        tree.lock = PyThread_allocate_lock()
        if tree.required == NULL or tree.lock == NULL:
            raise MemoryError
        for k in range(tree.n_required):
            tree.required[k] = required[k]
        self.root(
            node, score.local_score(node, tuple(required.tolist())), walker
        )

    cdef int root(
        self, Py_ssize_t node, double value, Walker *walker
    ) except -1 nogil:
        """Let a tree begin, with the log score of the required parents."""
        cdef:
            Tree *tree = &self.trees[node]
            Py_ssize_t k
        tree.room = FIRST_ROOM
        tree.table = <Grown **> calloc(tree.room, sizeof(Grown *))
        if tree.table == NULL:
            with gil:
                raise MemoryError
        for k in range(tree.n_required):
            walker.parents[k] = tree.required[k]
        tree.root = self.make(node, walker.parents, tree.n_required, value, walker)
        tree.root.is_met = True
        tree.table[slot_of(tree, tree.required, tree.n_required)] = tree.root
        tree.n_sets = 1
        tree.n_met += 1
        return 0

    cdef int forget(self, Walker *walker) except -1 nogil:
        """Let all trees begin anew; nobody may be on a walk, or stand anywhere."""
        cdef:
            Chunk *chunks = self.chunk
            Chunk *chunk
            Tree *tree
            Py_ssize_t node
        self.chunk = NULL
        try:
            for node in range(self.n):
                tree = &self.trees[node]
                if tree.table != NULL:
                    free(tree.table)
                    tree.table = NULL
                    self.root(node, tree.root.value, walker)
        finally:
            while chunks != NULL:
                chunk, chunks = chunks, chunks.before
                free(chunk)
        return 0

    def __dealloc__(self):
        cdef:
            Py_ssize_t node
            Tree *tree
            Chunk *chunk
        while self.chunk != NULL:
            chunk, self.chunk = self.chunk, self.chunk.before
            free(chunk)
        if self.chunk_lock != NULL:
            PyThread_free_lock(self.chunk_lock)
        if self.trees == NULL:
            return
        for node in range(self.n):
            tree = &self.trees[node]
            free(tree.table)
            free(tree.required)
            if tree.lock != NULL:
                PyThread_free_lock(tree.lock)
        free(self.trees)

    cdef Py_ssize_t n_met(self) noexcept nogil:
        """How many sets were met by walks in their turn, forgotten ones among them."""
        cdef Py_ssize_t node, total = 0
        for node in range(self.n):
            total += self.trees[node].n_met
        return total

    # ------------------------------------------------------------------ walkers

    cdef Walker *new_walker(self) except NULL:
        cdef Walker *walker = <Walker *> calloc(1, sizeof(Walker))
        if walker == NULL:
            raise MemoryError
        walker.stands = <unsigned char *> calloc(self.n + 1, 1)
        walker.scores = <double *> malloc((self.n + 3) * sizeof(double))
        walker.parents = <Py_ssize_t *> malloc((self.n + 1) * sizeof(Py_ssize_t))
        walker.additions = <Addition *> malloc((self.n + 1) * sizeof(Addition))
        if (
            walker.stands == NULL or walker.scores == NULL or walker.parents == NULL
            or walker.additions == NULL
        ):
            self.free_walker(walker)
            raise MemoryError
        walker.looks = new_looks(self.n)
        return walker

    cdef void free_walker(self, Walker *walker) noexcept nogil:
        if walker == NULL:
            return
        free(walker.stands)
        free(walker.scores)
        free(walker.parents)
        free(walker.additions)
        free_looks(&walker.looks)
        free(walker)

    # -------------------------------------------------------------------- walks

    cdef Grown *grow(
        self, Py_ssize_t node, Walker *walker, Looks *looks
    ) except NULL nogil:
        """The set that a node grows from the variables that stand.

        Tells the variables on which that depends, unless `looks` is NULL.
        """
        cdef:
            Tree *tree = &self.trees[node]
            Grown *grown = tree.root
            const Step *steps
            Py_ssize_t k, chosen, n_parents = tree.n_required
        if looks != NULL:
            for k in range(looks.n):
                looks.marked[looks.variables[k]] = False
            looks.n = 0
            for k in range(tree.n_required):
                look_at(looks, tree.required[k])
        while n_parents < self.max_parents:
            steps = steps_of(grown)
            chosen = 0
            while chosen < grown.n_steps and not walker.stands[steps[chosen].variable]:
                chosen += 1
            if looks != NULL:
                for k in range(min(chosen + 1, grown.n_steps)):
                    look_at(looks, steps[k].variable)
            if chosen == grown.n_steps:
                break
            if load_int(steps[chosen].is_known) and (
                load_int(steps[chosen].beyond.set.is_met)
            ):
                grown = steps[chosen].beyond.set
            else:
                grown = self.settle(tree, node, grown, chosen, walker)
            n_parents += 1
        if load_int(grown.n_shrunk) < 0:
            self.shrink(tree, node, grown, walker)
        return grown

    cdef Grown *settle(
        self, Tree *tree, Py_ssize_t node, Grown *before, Py_ssize_t chosen,
        Walker *walker,
    ) except NULL nogil:
        """The set that a step leads to, which no walk in its turn has met."""
        cdef:
            Step *step = steps_of(before) + chosen
            const int *parents_before = parents_of(before)
            Py_ssize_t k = 0, slot, size = before.n_parents + 1
            double worth
            int parents[64]
            int *in_order = parents
            Grown *found
        in_order = <int *> malloc(size * sizeof(int)) if size > 64 else parents
        if in_order == NULL:
            with gil:
                raise MemoryError
        while k < size - 1 and parents_before[k] < step.variable:
            in_order[k] = parents_before[k]
            k += 1
        in_order[k] = step.variable
        for k in range(k + 1, size):
            in_order[k] = parents_before[k - 1]
        PyThread_acquire_lock(tree.lock, WAIT_LOCK)
        try:
            # it is known only if that set is for good, or has the step's own last bits
            worth = step.beyond.set.value if step.is_known else step.beyond.worth
            slot = slot_of(tree, in_order, size)
            found = tree.table[slot]
            if found != NULL and not (
                walker.ahead or found.is_met or found.value == worth
            ):
                found = NULL
            if found == NULL:
                for k in range(size):
                    walker.parents[k] = in_order[k]
                found = self.make(node, walker.parents, size, worth, walker)
                # whoever stands at one that this replaces may go on from there
                tree.n_sets += tree.table[slot] == NULL
                tree.table[slot] = found
                if 2 * tree.n_sets > tree.room:
                    enlarge(tree)
            if not found.is_met:
                if walker.ahead:
                    walker.is_sure = False
                else:
                    store_int(found.is_met, True)
                    tree.n_met += 1
            if not step.is_known and (found.is_met or found.value == worth):
                step.beyond.set = found
                store_int(step.is_known, True)
        finally:
            PyThread_release_lock(tree.lock)
            if in_order != parents:
                free(in_order)
        return found

    cdef Grown *make(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double value, Walker *walker,
    ) except NULL nogil:
        """A set with its log score, and the additions that pay."""
        cdef:
            Py_ssize_t other, k, n_additions = 0
            const unsigned char *forbidden = &self.forbidden[node, 0]
            double least = value + self.least_gain
            Grown *made
        self.scores.add_each(node, parents, size, walker.scores)
        for other in range(self.n):
            if walker.scores[other] > least and not forbidden[other]:
                walker.additions[n_additions].worth = walker.scores[other]
                walker.additions[n_additions].variable = <int> other
                n_additions += 1
        qsort(walker.additions, n_additions, sizeof(Addition), better_first)
        made = <Grown *> self.memory_for(
            sizeof(Grown) + n_additions * sizeof(Step) + 2 * size * sizeof(int)
        )
        made.n_steps = <int> n_additions
        made.n_shrunk = -1
        made.is_met = False
        made.n_parents = <int> size
        made.value = value
        for k in range(n_additions):
            steps_of(made)[k].beyond.worth = walker.additions[k].worth
            steps_of(made)[k].variable = walker.additions[k].variable
            steps_of(made)[k].is_known = False
        for k in range(size):
            parents_of(made)[k] = <int> parents[k]
        return made

    cdef void *memory_for(self, Py_ssize_t size) except NULL nogil:
        """Memory for a set, out of few large pieces."""
        cdef:
            Chunk *chunk
            Py_ssize_t room
            char *found
        size = (size + LINE - 1) // LINE * LINE
        PyThread_acquire_lock(self.chunk_lock, WAIT_LOCK)
        chunk = self.chunk
        if chunk == NULL or chunk.used + size > chunk.size:
            room = FIRST_CHUNK
            if chunk != NULL:
                room = min(2 * chunk.size, LARGEST_CHUNK)
            room = max(room, size + 2 * LINE)
            chunk = <Chunk *> malloc(room)
            if chunk != NULL:
                chunk.before, chunk.size = self.chunk, room
                # sets begin where lines of the cache do
                chunk.used = 2 * LINE - (<size_t> chunk) % LINE
                self.chunk = chunk
        if chunk != NULL:
            found = <char *> chunk + chunk.used
            chunk.used += size
        PyThread_release_lock(self.chunk_lock)
        if chunk == NULL:
            with gil:
                raise MemoryError
        return found

    cdef int shrink(
        self, Tree *tree, Py_ssize_t node, Grown *grown, Walker *walker
    ) except -1 nogil:
        """Take parents out of a set while that raises the score."""
        cdef:
            Py_ssize_t k, worst, size = grown.n_parents
            double best = grown.value
            bint pays
        PyThread_acquire_lock(tree.lock, WAIT_LOCK)
        try:
            if grown.n_shrunk >= 0:
                return 0
            for k in range(size):
                walker.parents[k] = parents_of(grown)[k]
            # of two additions each pays beside the other, or the first had been the
            # other
            pays = size > tree.n_required + 2
            while pays and size > 0:
                self.scores.remove_each(node, walker.parents, size, walker.scores)
                for k in range(size):
                    if is_among(tree.required, tree.n_required, walker.parents[k]):
                        walker.scores[k] = -INFINITY
                worst = 0
                for k in range(1, size):
                    if walker.scores[k] > walker.scores[worst]:
                        worst = k
                pays = walker.scores[worst] > best + self.least_gain
                if pays:
                    best = walker.scores[worst]
                    size -= 1
                    for k in range(worst, size):
                        walker.parents[k] = walker.parents[k + 1]
            for k in range(size):
                shrunk_of(grown)[k] = <int> walker.parents[k]
            grown.shrunk_value = best
            store_int(grown.n_shrunk, <int> size)
        finally:
            PyThread_release_lock(tree.lock)
        return 0

    cdef double value_at(
        self, Py_ssize_t node, const Grown *grown, const unsigned char *stands
    ) noexcept nogil:
        """What a node's set is worth: -inf if a required parent is missing."""
        cdef Py_ssize_t k
        for k in range(self.trees[node].n_required):
            if not stands[self.trees[node].required[k]]:
                return -INFINITY
        return grown.shrunk_value


cdef inline bint is_among(
    const int *variables, Py_ssize_t size, Py_ssize_t variable
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(size):
        if variables[k] == variable:
            return True
    return False
