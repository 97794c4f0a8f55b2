# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Categorical networks under interventions: exact probabilities, and simulated rows.

:class:`Elimination` sums products of probabilities. What a variable x does to y when it
is set depends on the ancestors of y alone, without the edges into x. One of these after
the other is summed out, that with the smallest table first, until a table of x and y
is left.

:func:`simulate` is for networks whose tables would be too large. A world is the network
with one variable set to a level; the last world has none set. All worlds use the same
uniform numbers, so that a world differs from the last one only downstream of its
variable, and only there it is simulated.
"""

import numpy as np


cdef class Elimination:
    """Probabilities of one variable given that another is set, in one DAG at a time.

    The state is a list of factors: tables over some of the variables, at first the
    probabilities of each node given its parents. To sum out a variable, the factors
    that have it are multiplied, entry by entry of the table of all their variables,
    and their sums over its levels are one new factor. The product of all factors,
    summed over what is not summed out yet, stays the same. The cost is that of these
    tables' entries.

    Parameters
    ----------
    n_levels : ndarray of intp, shape (n,)
        Number of levels of each variable.
    max_entries : int
        How many entries the tables may have in all.
    """

    cdef:
        Py_ssize_t n, max_entries
        const Py_ssize_t[::1] n_levels, first_parent, parents, first_entry
        const double[::1] probabilities
        # variables that matter, those still to be summed out, who is in a factor with
        # whom, and the size of the table that summing out a variable takes
        Py_ssize_t[::1] relevant, table_size
        unsigned char[::1] matters, left
        unsigned char[:, ::1] together
        # factors: whether still there, their variables in order, where entries begin
        # (of nodes among the probabilities, of others in the work space)
        unsigned char[:, ::1] has
        unsigned char[::1] is_live, is_made
        Py_ssize_t[:, ::1] scope
        Py_ssize_t[::1] n_scope, begin
        double[::1] work
        # the present table: axes, strides by factor, and where each factor stands
        Py_ssize_t[::1] axes, value, chosen, place, step
        Py_ssize_t[:, ::1] strides

    def __init__(self, n_levels, max_entries):
        n = len(n_levels)
        self.n, self.max_entries, self.n_levels = n, max_entries, n_levels
        self.relevant = np.zeros(n, dtype=np.intp)
        self.table_size = np.zeros(n, dtype=np.intp)
        self.matters = np.zeros(n, dtype=np.uint8)
        self.left = np.zeros(n, dtype=np.uint8)
        self.together = np.zeros((n, n), dtype=np.uint8)
        # each variable brings one factor and leaves at most one
        self.has = np.zeros((2 * n, n), dtype=np.uint8)
        self.is_live = np.zeros(2 * n, dtype=np.uint8)
        self.is_made = np.zeros(2 * n, dtype=np.uint8)
        self.scope = np.zeros((2 * n, n), dtype=np.intp)
        self.n_scope = np.zeros(2 * n, dtype=np.intp)
        self.begin = np.zeros(2 * n, dtype=np.intp)
        self.work = np.zeros(max_entries)
        self.axes = np.zeros(n, dtype=np.intp)
        self.value = np.zeros(n, dtype=np.intp)
        self.chosen = np.zeros(2 * n, dtype=np.intp)
        self.place = np.zeros(2 * n, dtype=np.intp)
        self.step = np.zeros(2 * n, dtype=np.intp)
        self.strides = np.zeros((2 * n, n), dtype=np.intp)

    def set_network(
        self,
        const Py_ssize_t[::1] first_parent,
        const Py_ssize_t[::1] parents,
        const Py_ssize_t[::1] first_entry,
        const double[::1] probabilities,
    ):
        """Look at a DAG.

        Parameters
        ----------
        first_parent, parents : arrays
            The parents of node i are ``parents[first_parent[i]:first_parent[i + 1]]``.
        first_entry, probabilities : arrays
            From ``probabilities[first_entry[i]]`` on, those of the levels of i for each
            configuration of its parents, of which the last changes fastest.
        """
        self.first_parent, self.parents = first_parent, parents
        self.first_entry, self.probabilities = first_entry, probabilities

    def conditional(self, Py_ssize_t cause, Py_ssize_t outcome, double[:, ::1] out):
        """Probabilities of a variable's levels given that another one is set.

        Parameters
        ----------
        cause : int
            The variable that is set; a path leads from it to `outcome`.
        outcome : int
            The variable to look at, another one.
        out : ndarray of shape (n_levels of cause, n_levels of outcome)
            Gets the probabilities.

        Returns
        -------
        done : bool
            False if the tables would have too many entries.
        """
        cdef:
            Py_ssize_t n_relevant, n_left, n_factors, k, node, best
            Py_ssize_t n_used = 0
            bint done = True
        with nogil:
            n_relevant = self.find_relevant(cause, outcome)
            n_factors = self.first_factors(n_relevant, cause)
            n_left = n_relevant
            for k in range(n_relevant):
                node = self.relevant[k]
                self.left[node] = node != cause and node != outcome
                n_left -= not self.left[node]
                self.measure(node, n_relevant)
            while n_left:
                best = -1
                for k in range(n_relevant):
                    node = self.relevant[k]
                    if self.left[node] and (
                        best < 0 or self.table_size[node] < self.table_size[best]
                    ):
                        best = node
                if n_used + self.table_size[best] > self.max_entries:
                    done = False
                    break
                self.left[best] = 0
                n_left -= 1
                self.sum_out(best, n_factors, n_used)
                n_used += self.table_size[best] // self.n_levels[best]
                n_factors += 1
                self.connect_neighbors(best, n_relevant)
            if done:
                self.finish(cause, outcome, n_factors, out)
        return done

    cdef Py_ssize_t find_relevant(
        self, Py_ssize_t cause, Py_ssize_t outcome
    ) noexcept nogil:
        """Collect the outcome and its ancestors, without those of the cause."""
        cdef Py_ssize_t n_relevant = 1, done = 0, node, parent, k
        for node in range(self.n):
            self.matters[node] = 0
        self.matters[outcome] = 1
        self.relevant[0] = outcome
        while done < n_relevant:
            node = self.relevant[done]
            done += 1
            if node == cause:
                continue
            for k in range(self.first_parent[node], self.first_parent[node + 1]):
                parent = self.parents[k]
                if not self.matters[parent]:
                    self.matters[parent] = 1
                    self.relevant[n_relevant] = parent
                    n_relevant += 1
        return n_relevant

    cdef Py_ssize_t first_factors(
        self, Py_ssize_t n_relevant, Py_ssize_t cause
    ) noexcept nogil:
        """Make the probabilities of the relevant nodes the factors."""
        cdef Py_ssize_t n_factors = 0, a, b, k, node, first, n_parents
        for a in range(n_relevant):
            for b in range(n_relevant):
                self.together[self.relevant[a], self.relevant[b]] = 0
        for k in range(n_relevant):
            node = self.relevant[k]
            if node == cause:
                continue
            first = self.first_parent[node]
            n_parents = self.first_parent[node + 1] - first
            for a in range(n_parents):
                self.scope[n_factors, a] = self.parents[first + a]
            self.scope[n_factors, n_parents] = node
            self.n_scope[n_factors] = n_parents + 1
            self.begin[n_factors] = self.first_entry[node]
            self.is_made[n_factors] = 0
            self.add_factor(n_factors)
            for a in range(n_parents + 1):
                for b in range(n_parents + 1):
                    self.together[
                        self.scope[n_factors, a], self.scope[n_factors, b]
                    ] = 1
            n_factors += 1
        return n_factors

    cdef void add_factor(self, Py_ssize_t factor) noexcept nogil:
        """Note which variables a new factor has."""
        cdef Py_ssize_t a
        for a in range(self.n):
            self.has[factor, a] = 0
        for a in range(self.n_scope[factor]):
            self.has[factor, self.scope[factor, a]] = 1
        self.is_live[factor] = 1

    cdef void measure(self, Py_ssize_t node, Py_ssize_t n_relevant) noexcept nogil:
        """Work out the size of the table that summing out a variable takes."""
        cdef Py_ssize_t k, size = self.n_levels[node]
        for k in range(n_relevant):
            if self.relevant[k] != node and self.together[node, self.relevant[k]]:
                size *= self.n_levels[self.relevant[k]]
                if size > self.max_entries:
                    size = self.max_entries + 1
                    break
        self.table_size[node] = size

    cdef void connect_neighbors(
        self, Py_ssize_t node, Py_ssize_t n_relevant
    ) noexcept nogil:
        """Those that were together with a variable are in one factor now."""
        cdef Py_ssize_t a, b, one, other
        for a in range(n_relevant):
            one = self.relevant[a]
            if one == node or not self.together[node, one]:
                continue
            for b in range(n_relevant):
                other = self.relevant[b]
                if self.together[node, other]:
                    self.together[one, other] = 1
            self.together[one, node] = 0
        for a in range(n_relevant):
            one = self.relevant[a]
            if self.left[one] and self.together[node, one]:
                self.measure(one, n_relevant)

    cdef void sum_out(
        self, Py_ssize_t node, Py_ssize_t new, Py_ssize_t n_used
    ) noexcept nogil:
        """Multiply the factors that have a variable, and sum over its levels."""
        cdef Py_ssize_t n_chosen = 0, n_axes = 0, f, a, k, entry, size
        cdef Py_ssize_t n_node = self.n_levels[node]
        cdef double product, total
        for a in range(self.n):
            self.has[new, a] = 0
        for f in range(new):
            if not (self.is_live[f] and self.has[f, node]):
                continue
            self.is_live[f] = 0
            self.chosen[n_chosen] = f
            n_chosen += 1
            for a in range(self.n_scope[f]):
                k = self.scope[f, a]
                if k != node and not self.has[new, k]:
                    self.has[new, k] = 1
                    self.scope[new, n_axes] = k
                    n_axes += 1
        size = 1
        for a in range(n_axes):
            self.axes[a] = self.scope[new, a]
            size *= self.n_levels[self.axes[a]]
        self.n_scope[new] = n_axes
        self.begin[new] = n_used
        self.is_made[new] = 1
        self.is_live[new] = 1
        self.start_table(n_chosen, n_axes, node)
        for entry in range(size):
            total = 0.0
            for k in range(n_node):
                product = 1.0
                for f in range(n_chosen):
                    product *= self.entry(
                        self.chosen[f], self.place[f] + k * self.step[f]
                    )
                total += product
            self.work[n_used + entry] = total
            self.next_entry(n_chosen, n_axes)

    cdef inline double entry(self, Py_ssize_t factor, Py_ssize_t at) noexcept nogil:
        return self.work[at] if self.is_made[factor] else self.probabilities[at]

    cdef void start_table(
        self, Py_ssize_t n_chosen, Py_ssize_t n_axes, Py_ssize_t summed
    ) noexcept nogil:
        """Strides of the chosen factors along the axes, and the first entry."""
        cdef Py_ssize_t f, a, k, factor, stride
        for a in range(n_axes):
            self.value[a] = 0
        for f in range(n_chosen):
            factor = self.chosen[f]
            self.place[f] = self.begin[factor]
            self.step[f] = 0
            for a in range(n_axes):
                self.strides[f, a] = 0
            stride = 1
            for k in range(self.n_scope[factor] - 1, -1, -1):
                if self.scope[factor, k] == summed:
                    self.step[f] = stride
                else:
                    for a in range(n_axes):
                        if self.axes[a] == self.scope[factor, k]:
                            self.strides[f, a] = stride
                stride *= self.n_levels[self.scope[factor, k]]

    cdef inline void next_entry(
        self, Py_ssize_t n_chosen, Py_ssize_t n_axes
    ) noexcept nogil:
        """Move all factors on to the next entry; the last axis changes fastest."""
        cdef Py_ssize_t a = n_axes - 1, f, n_levels
        while a >= 0:
            n_levels = self.n_levels[self.axes[a]]
            self.value[a] += 1
            if self.value[a] < n_levels:
                for f in range(n_chosen):
                    self.place[f] += self.strides[f, a]
                return
            for f in range(n_chosen):
                self.place[f] -= self.strides[f, a] * (n_levels - 1)
            self.value[a] = 0
            a -= 1

    cdef void finish(
        self, Py_ssize_t cause, Py_ssize_t outcome, Py_ssize_t n_factors,
        double[:, ::1] out,
    ) noexcept nogil:
        """Multiply what is left: factors of the cause, the outcome, or both."""
        cdef Py_ssize_t n_chosen = 0, f, a, b
        cdef double product
        for f in range(n_factors):
            if self.is_live[f]:
                self.chosen[n_chosen] = f
                n_chosen += 1
        self.axes[0] = cause
        self.axes[1] = outcome
        self.start_table(n_chosen, 2, -1)
        for a in range(self.n_levels[cause]):
            for b in range(self.n_levels[outcome]):
                product = 1.0
                for f in range(n_chosen):
                    product *= self.entry(self.chosen[f], self.place[f])
                out[a, b] = product
                self.next_entry(n_chosen, 2)


def simulate(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] first_parent,
    const Py_ssize_t[::1] parents,
    const Py_ssize_t[::1] first_entry,
    const double[::1] below,
    const Py_ssize_t[::1] n_levels,
    const Py_ssize_t[::1] first_level,
    const double[:, ::1] uniform,
    const Py_ssize_t[::1] set_variable,
    const Py_ssize_t[::1] set_code,
    const unsigned char[:, ::1] reach,
    int[:, :, ::1] codes,
    double[:, ::1] probability,
):
    """Simulate one DAG's worlds, and give each level's probability in each world.

    Parameters
    ----------
    order : array of shape (n,)
        The nodes, parents first.
    first_parent, parents : arrays
        The parents of node i are ``parents[first_parent[i]:first_parent[i + 1]]``.
    first_entry, below : arrays
        From ``below[first_entry[i]]`` on, for each configuration of the parents of i,
        the probabilities of levels up to 0, up to 1 and so on, without the last.
    n_levels, first_level : arrays of shape (n,)
        Number of levels, and the column of a node's first level in `probability`.
    uniform : array of shape (n, n_rows)
        The uniform numbers behind each node's rows.
    set_variable, set_code : arrays of shape (n_worlds,)
        What each world but the last sets.
    reach : array of shape (n, n)
        Whether a path leads from i to j.
    codes : array of shape (n, n_worlds + 1, n_rows)
        Work space.
    probability : array of shape (n_worlds + 1, n_all_levels)
        Gets the mean over rows of the level's probability given the row's parents.
    """
    cdef Py_ssize_t n = order.shape[0]
    cdef Py_ssize_t last = set_variable.shape[0]
    cdef Py_ssize_t n_rows = uniform.shape[1]
    cdef Py_ssize_t position, node, world, row, p, k, entry, column, n_free
    cdef double u, share
    cdef int code
    with nogil:
        for position in range(n):
            node = order[position]
            n_free = n_levels[node] - 1
            column = first_level[node]
            for world in range(last, -1, -1):
                if world < last and set_variable[world] == node:
                    for row in range(n_rows):
                        codes[node, world, row] = <int> set_code[world]
                    for k in range(n_free + 1):
                        probability[world, column + k] = k == set_code[world]
                    continue
                if world < last and not reach[set_variable[world], node]:
                    for row in range(n_rows):
                        codes[node, world, row] = codes[node, last, row]
                    for k in range(n_free + 1):
                        probability[world, column + k] = probability[last, column + k]
                    continue
                for k in range(n_free + 1):
                    probability[world, column + k] = 0.0
                for row in range(n_rows):
                    entry = 0
                    for p in range(first_parent[node], first_parent[node + 1]):
                        entry *= n_levels[parents[p]]
                        entry += codes[parents[p], world, row]
                    entry = first_entry[node] + entry * n_free
                    u = uniform[node, row]
                    code = 0
                    for k in range(n_free):
                        share = below[entry + k]
                        code += u >= share
                        probability[world, column + k] += share
                    codes[node, world, row] = code
                # from probabilities of levels up to k to those of levels k
                probability[world, column + n_free] = n_rows
                for k in range(n_free, 0, -1):
                    probability[world, column + k] -= probability[world, column + k - 1]
                for k in range(n_free + 1):
                    probability[world, column + k] /= n_rows
