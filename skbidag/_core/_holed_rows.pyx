# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Probabilities of categories in rows with unobserved cells.

In a DAG the probability of what is observed in a row is a product: of its families
without an unobserved cell, and of a sum for each cluster of unobserved cells
(``_alike.pyx``), over their joint values, of the product of the families they are in.
So sums are taken once for each cluster, and DAGs add up logarithms, 16 rows at a time.

With a variable that is to be predicted set free, each cluster it sees has such a sum
for each of its levels, which all groups of DAGs share that have the cluster. A group's
levels have the product of these and of the variable's other families. DAGs count there
by the probability of the row's other observed cells: theirs, divided by that of the
level that is observed.

Joint values are gone through depth first: a factor comes in as soon as its variables
have values, and sums come out for the levels of each variable. Where an observed
variable x sees one cell y of a cluster, these are enough for its own: with families f
that have both,

    sum(x') = sum over y of sum(y) × product over f of f(x', y) / f(x, y)
"""

import numpy as np
from libc.stdint cimport int32_t

from skbidag._core._alike cimport AlikeDags, Surroundings
from skbidag._core._vector cimport skb_exp_array, skb_log

cdef extern from *:
    """
    #define SKB_TILE 16

    /* Sum over a DAG's families of their terms, for 16 rows. */
    SKB_CLONES void skb_add_logs(
        const double *terms, const int32_t *families, Py_ssize_t n, double start,
        double *out)
    {
        skb_vec sum[4];
        for (int k = 0; k < 4; k++)
            sum[k] = SKB_ALL(start);
        for (Py_ssize_t i = 0; i < n; i++) {
            const double *term = terms + SKB_TILE * (Py_ssize_t)families[i];
            for (int k = 0; k < 4; k++)
                sum[k] += SKB_LOAD(term + 4 * k);
        }
        for (int k = 0; k < 4; k++)
            SKB_STORE(out + 4 * k, sum[k]);
    }
    """
    enum: SKB_TILE
    void skb_add_logs(
        const double *, const int32_t *, Py_ssize_t, double, double *,
    ) noexcept nogil

# A sum of products of probabilities that is smaller may have lost digits. DAGs whose
# weights vanish beside the largest, below 1e-308, cannot matter where it is not.
cdef double SMALLEST = 1e-200

# The weight of what is not there
cdef double NOTHING = -1e300


cdef class HoledRows:
    """Probabilities of variables' levels, one row after the other.

    Parameters
    ----------
    n_levels : ndarray of intp, shape (n,)
        Number of levels of each variable.
    table : ndarray of float64
        Probabilities in each family, by the codes of its members plus one.
    table_start : ndarray of intp, shape (n_families,)
        Where each family's begin.
    member_first, members, strides : ndarrays of intp
        Members of each family, one family after the other, and the distance between
        entries of the table that differ by one in the member's code.
    around : Surroundings
        Of the variables.
    of_dag : ndarray of int32, shape (n_dags, n)
        The families of each DAG.
    log_shares : ndarray of shape (n_dags,)
        Log weights of the DAGs before a row is looked at.
    max_values : int
        How many joint values are summed over at most.
    """

    cdef:
        const Py_ssize_t[::1] n_levels, table_start, member_first, members, strides
        const double[::1] table, log_table, log_shares
        const int32_t[:, ::1] of_dag
        Surroundings around
        Py_ssize_t max_values, n, n_families, most_levels
        # of each surrounding's families, the stride of its owner
        Py_ssize_t[::1] own_strides

    def __init__(
        self, n_levels, table, table_start, member_first, members, strides,
        Surroundings around, of_dag, log_shares, max_values,
    ):
        self.n_levels, self.table, self.table_start = n_levels, table, table_start
        self.member_first, self.members, self.strides = member_first, members, strides
        self.around, self.of_dag, self.log_shares = around, of_dag, log_shares
        self.log_table = np.log(table)
        self.max_values = max_values
        self.n, self.n_families = around.n, len(table_start)
        self.most_levels = max(n_levels)
        self.own_strides = np.zeros(around.families.shape[0], dtype=np.intp)
        self.find_own_strides()

    cdef void find_own_strides(self) noexcept:
        cdef Py_ssize_t v, k, e, t
        for v in range(self.n):
            for k in range(self.around.owner_first[v], self.around.owner_first[v + 1]):
                for e in range(
                    self.around.family_first[k], self.around.family_first[k + 1]
                ):
                    for t in range(
                        self.member_first[self.around.families[e]],
                        self.member_first[self.around.families[e] + 1],
                    ):
                        if self.members[t] == v:
                            self.own_strides[e] = self.strides[t]

    def probabilities(
        self, const int32_t[:, ::1] codes, const Py_ssize_t[::1] nodes,
        double[:, ::1] out, unsigned char[:, ::1] done,
    ):
        """Probabilities of variables' levels given the other cells of their rows.

        Parameters
        ----------
        codes : ndarray of int32, shape (n_rows, n)
            The rows; unobserved cells have codes below -1.
        nodes : ndarray of intp
            The variables to predict.
        out : ndarray of shape (n_rows, n_columns)
            Gets the probabilities, variable by variable.
        done : ndarray of uint8, shape (n_rows, n_nodes)
            Gets 0 where in some DAG there is too much to sum over, and 1 elsewhere.
        """
        missing = np.asarray(codes) < -1
        most = missing.sum(axis=1).max(initial=0)
        rows = Rows(self, most)
        rows.fill(codes, missing.view(np.uint8), nodes, out, done)

    def log_probabilities(
        self, const int32_t[:, ::1] codes, double[::1] out, unsigned char[::1] done,
    ):
        """Log probabilities of the observed cells of rows, averaged over the DAGs.

        Parameters
        ----------
        codes : ndarray of int32, shape (n_rows, n)
            The rows; unobserved cells have codes below -1.
        out : ndarray of shape (n_rows,)
            Gets the log probabilities.
        done : ndarray of uint8, shape (n_rows,)
            Gets 0 where in some DAG there is too much to sum over, and 1 elsewhere.
        """
        missing = np.asarray(codes) < -1
        most = missing.sum(axis=1).max(initial=0)
        Rows(self, most).log_probabilities(codes, missing.view(np.uint8), out, done)


cdef class Rows:
    """What is worked out of one row after the other.

    Parameters
    ----------
    of : HoledRows
        What all rows have in common.
    most_cells : int
        How many cells of a row are unobserved at most.
    """

    cdef:
        HoledRows of
        AlikeDags alike
        Py_ssize_t n_dags, width
        const int32_t *codes
        const Py_ssize_t *base
        const unsigned char *open
        # of 16 rows: of families, where their table begins given what is observed, and
        # log probabilities; of DAGs
        Py_ssize_t[:, ::1] bases
        double[:, ::1] terms, sums_of_dags
        unsigned char[:, ::1] is_open
        # of clusters; of DAGs
        double[::1] log_sums, weight
        double peak
        # what clusters say of a variable's levels, and who asked and used it last; sums
        # for the levels of their cells
        double[:, ::1] of_levels, of_cells
        Py_ssize_t[::1] asked_by, used_by
        Py_ssize_t n_asked, n_used
        # the variables summed over, in turn, and their places
        Py_ssize_t[::1] free, place, values
        double[:, ::1] margins
        double[::1] products, branch, sums
        # the families they are in: where the table begins, the strides of the free
        # members, and with which of them a family comes in
        Py_ssize_t[::1] start, depth, stride_first, stride_place, stride
        Py_ssize_t[::1] in_turn, n_at, first_at, seen
        Py_ssize_t stamp

    def __init__(self, HoledRows of, Py_ssize_t most_cells):
        self.of, self.alike = of, AlikeDags(of.around, most_cells)
        self.n_dags = of.around.n_dags
        self.width = (self.n_dags + 3) // 4 * 4
        self.bases = np.zeros((SKB_TILE, of.n_families), dtype=np.intp)
        self.terms = np.zeros((of.n_families, SKB_TILE))
        self.sums_of_dags = np.zeros((self.n_dags, SKB_TILE))
        self.is_open = np.zeros((SKB_TILE, of.n_families), dtype=np.uint8)
        most_clusters = max(1, most_cells) * self.n_dags
        self.log_sums = np.zeros(most_clusters)
        self.of_levels = np.zeros((most_clusters, of.most_levels))
        self.of_cells = np.zeros((most_clusters, of.most_levels))
        self.asked_by = np.zeros(most_clusters, dtype=np.intp)
        self.used_by = np.zeros(most_clusters, dtype=np.intp)
        self.n_asked = self.n_used = 0
        self.weight = np.zeros(self.width)
        self.free = np.zeros(of.n, dtype=np.intp)
        self.place = np.full(of.n, -1, dtype=np.intp)
        self.values = np.zeros(of.n, dtype=np.intp)
        self.margins = np.zeros((of.n, of.most_levels))
        self.products = np.zeros(of.n + 1)
        self.branch = np.zeros(of.n + of.most_levels + 1)
        self.sums = np.zeros(of.most_levels)
        self.start = np.zeros(of.n_families, dtype=np.intp)
        self.depth = np.zeros(of.n_families, dtype=np.intp)
        self.stride_first = np.zeros(of.n_families + 1, dtype=np.intp)
        self.stride_place = np.zeros(len(of.members), dtype=np.intp)
        self.stride = np.zeros(len(of.members), dtype=np.intp)
        self.in_turn = np.zeros(of.n_families, dtype=np.intp)
        self.n_at = np.zeros(of.n, dtype=np.intp)
        self.first_at = np.zeros(of.n + 1, dtype=np.intp)
        self.seen = np.full(of.n_families, -1, dtype=np.intp)
        self.stamp = 0

    cdef void fill(
        self, const int32_t[:, ::1] codes, const unsigned char[:, ::1] missing,
        const Py_ssize_t[::1] nodes, double[:, ::1] out, unsigned char[:, ::1] done,
    ) noexcept:
        cdef Py_ssize_t tile, r, i, column, n_rows = codes.shape[0]
        with nogil:
            for tile in range(0, n_rows, 16):
                self.add_tile(codes, tile)
                for r in range(tile, min(n_rows, tile + 16)):
                    column = 0
                    done[r, 0] = self.weigh_row(
                        &codes[r, 0], &missing[r, 0], r - tile
                    )
                    for i in range(nodes.shape[0] - 1, -1, -1):
                        done[r, i] = done[r, 0]
                    for i in range(nodes.shape[0]):
                        if done[r, i]:
                            done[r, i] = self.predict(nodes[i], &out[r, column])
                        column += self.of.n_levels[nodes[i]]

    cdef void log_probabilities(
        self, const int32_t[:, ::1] codes, const unsigned char[:, ::1] missing,
        double[::1] out, unsigned char[::1] done,
    ) noexcept:
        cdef Py_ssize_t tile, r, d, n_rows = codes.shape[0]
        cdef double total
        with nogil:
            for tile in range(0, n_rows, 16):
                self.add_tile(codes, tile)
                for r in range(tile, min(n_rows, tile + 16)):
                    done[r] = self.weigh_row(&codes[r, 0], &missing[r, 0], r - tile)
                    if done[r]:
                        total = 0.0
                        for d in range(self.n_dags):
                            total += self.weight[d]
                        out[r] = self.peak + skb_log(total)

    cdef void add_tile(
        self, const int32_t[:, ::1] codes, Py_ssize_t tile
    ) noexcept nogil:
        """What families without an unobserved cell add up to in each DAG."""
        cdef Py_ssize_t r, d
        for r in range(tile, min(codes.shape[0], tile + 16)):
            self.look_up(&codes[r, 0], r - tile)
        for d in range(self.n_dags):
            skb_add_logs(
                &self.terms[0, 0], &self.of.of_dag[d, 0], self.of.n,
                self.of.log_shares[d], &self.sums_of_dags[d, 0],
            )

    cdef bint weigh_row(
        self, const int32_t *codes, const unsigned char *missing, Py_ssize_t r
    ) noexcept nogil:
        """Weights of DAGs in a row; False if there is too much to sum over."""
        self.codes, self.base = codes, &self.bases[r, 0]
        self.open = &self.is_open[r, 0]
        self.alike.look_at(missing)
        return self.weigh_dags(r)

    cdef void look_up(self, const int32_t *codes, Py_ssize_t r) noexcept nogil:
        """Where a row is in the tables of the families."""
        cdef:
            Py_ssize_t f, k, at
            int32_t code
            bint is_open
        for f in range(self.of.n_families):
            at = self.of.table_start[f]
            is_open = False
            for k in range(self.of.member_first[f], self.of.member_first[f + 1]):
                code = codes[self.of.members[k]]
                if code < -1:
                    is_open = True
                else:
                    at += self.of.strides[k] * (code + 1)
            self.bases[r, f] = at
            self.is_open[r, f] = is_open
            self.terms[f, r] = 0.0 if is_open else self.of.log_table[at]

    cdef bint weigh_dags(self, Py_ssize_t r) noexcept nogil:
        """How probable what is observed is in each DAG, relative to the best.

        Returns
        -------
        done : bool
            False if in some DAG there is too much to sum over.
        """
        cdef:
            Py_ssize_t c, d, i, t, level, length
            double total
            const int32_t *of_dag
        for c in range(self.alike.n_clusters):
            length = 0
            for t in range(
                self.alike.cluster_first[c], self.alike.cluster_first[c + 1]
            ):
                self.free[length] = self.alike.cells[self.alike.cluster_cells[t]]
                length += 1
            total = self.sum_over(0, length, self.alike.cluster_dag[c])
            if total < SMALLEST:
                return False
            self.log_sums[c] = skb_log(total)
            for t in range(length):
                for level in range(self.of.n_levels[self.free[t]]):
                    self.of_cells[self.alike.cluster_first[c] + t, level] = (
                        self.margins[t, level]
                    )
        for d in range(self.n_dags):
            self.weight[d] = self.sums_of_dags[d, r]
        for i in range(self.alike.n_cells):
            of_dag = &self.alike.cluster[i, 0]
            for d in range(self.n_dags):
                c = of_dag[d]
                # what is linked is summed over together, and once
                if self.alike.cluster_cells[self.alike.cluster_first[c]] == i:
                    self.weight[d] += self.log_sums[c]
        self.peak = NOTHING
        for d in range(self.n_dags):
            self.peak = max(self.peak, self.weight[d])
        for d in range(self.n_dags):
            self.weight[d] -= self.peak
        skb_exp_array(&self.weight[0], &self.weight[0], self.width)
        return True

    cdef bint predict(self, Py_ssize_t node, double *out) noexcept nogil:
        """Probabilities of a variable's levels; False if there is too much to sum over.
        """
        cdef:
            Py_ssize_t d, g, level, p, n_levels = self.of.n_levels[node]
            double total, weight
        self.alike.group(node)
        self.n_asked += 1
        for level in range(n_levels):
            out[level] = 0.0
        for g in range(self.alike.n_groups):
            d = self.alike.order[self.alike.group_first[g]]
            # Of what is observed the node itself must not count: its sums are made
            # relative to that of the level it has, or to all if it is unobserved.
            if self.alike.place[node] >= 0:
                total = self.sum_in_cluster(node, d)
            else:
                total = self.sum_beside_clusters(node, d)
                if total > 0.0 and self.codes[node] >= 0:
                    total = self.sums[self.codes[node]]
            if total < SMALLEST:
                return False
            weight = 0.0
            for p in range(self.alike.group_first[g], self.alike.group_first[g + 1]):
                weight += self.weight[self.alike.order[p]]
            weight /= total
            for level in range(n_levels):
                out[level] += weight * self.sums[level]
        total = 0.0
        for level in range(n_levels):
            total += out[level]
        for level in range(n_levels):
            out[level] /= total
        return True

    cdef double sum_in_cluster(self, Py_ssize_t node, Py_ssize_t d) noexcept nogil:
        """Sums for the levels of an unobserved cell; their total."""
        cdef:
            Py_ssize_t i = self.alike.place[node], level
            Py_ssize_t t = self.alike.cluster_first[self.alike.cluster[i, d]]
            double total = 0.0
        while self.alike.cluster_cells[t] != i:
            t += 1
        for level in range(self.of.n_levels[node]):
            self.sums[level] = self.of_cells[t, level]
            total += self.sums[level]
        return total

    cdef double sum_beside_clusters(
        self, Py_ssize_t node, Py_ssize_t d
    ) noexcept nogil:
        """Sums for the levels of an observed cell; their total, or 0."""
        cdef:
            Py_ssize_t c, e, f, t, level, at, n_levels = self.of.n_levels[node]
            Py_ssize_t k = self.of.around.number[node, d]
            double total = 0.0
        for level in range(n_levels):
            self.sums[level] = 1.0
        for e in range(
            self.of.around.family_first[k], self.of.around.family_first[k + 1]
        ):
            f = self.of.around.families[e]
            if not self.open[f]:
                at = self.base[f] - self.of.own_strides[e] * self.codes[node]
                for level in range(n_levels):
                    self.sums[level] *= self.of.table[
                        at + self.of.own_strides[e] * level
                    ]
        self.n_used += 1
        for t in range(self.alike.near_first[k], self.alike.near_end[k]):
            c = self.alike.cluster[self.alike.near[t], d]
            if self.used_by[c] == self.n_used:
                continue
            self.used_by[c] = self.n_used
            if not self.ask_cluster(node, k, t, c):
                return 0.0
            for level in range(n_levels):
                self.sums[level] *= self.of_levels[c, level]
        for level in range(n_levels):
            total += self.sums[level]
        return total

    cdef bint ask_cluster(
        self, Py_ssize_t node, Py_ssize_t k, Py_ssize_t t, Py_ssize_t c
    ) noexcept nogil:
        """What a cluster says of a variable's levels, worked out once for each.

        Parameters
        ----------
        node : int
            The variable.
        k : int
            Its surrounding.
        t : int
            The place of the first of the cells in it that are of the cluster.
        c : int
            The cluster.

        Returns
        -------
        done : bool
            False if there is too much to sum over.
        """
        cdef Py_ssize_t level, s, d = self.alike.cluster_dag[c]
        cdef bint is_alone = True
        if self.asked_by[c] == self.n_asked:
            return True
        self.asked_by[c] = self.n_asked
        for s in range(t + 1, self.alike.near_end[k]):
            if self.alike.cluster[self.alike.near[s], d] == c:
                is_alone = False
        if is_alone:
            self.pass_on(node, k, self.alike.near[t], c)
            return True
        if self.sum_over(1, self.set_free(node, c), d) < SMALLEST:
            self.asked_by[c] = 0
            return False
        for level in range(self.of.n_levels[node]):
            self.of_levels[c, level] = self.margins[0, level]
        return True

    cdef void pass_on(
        self, Py_ssize_t node, Py_ssize_t k, Py_ssize_t i, Py_ssize_t c
    ) noexcept nogil:
        """The same by what is known of the one cell that the variable sees."""
        cdef:
            Py_ssize_t cell = self.alike.cells[i], at, e, f, level, value
            Py_ssize_t t = self.alike.cluster_first[c], move, of_cell
            double seen
        while self.alike.cluster_cells[t] != i:
            t += 1
        for level in range(self.of.n_levels[node]):
            self.of_levels[c, level] = 0.0
        for value in range(self.of.n_levels[cell]):
            for level in range(self.of.n_levels[node]):
                self.branch[level] = self.of_cells[t, value]
            for e in range(
                self.of.around.family_first[k], self.of.around.family_first[k + 1]
            ):
                f = self.of.around.families[e]
                of_cell = self.stride_of(cell, f)
                if of_cell == 0:
                    continue
                at = self.base[f] + of_cell * (value + 1)
                seen = 1.0 / self.of.table[at]
                move = self.of.own_strides[e]
                at -= move * self.codes[node]
                for level in range(self.of.n_levels[node]):
                    self.branch[level] *= seen * self.of.table[at + move * level]
            for level in range(self.of.n_levels[node]):
                self.of_levels[c, level] += self.branch[level]

    cdef Py_ssize_t stride_of(self, Py_ssize_t v, Py_ssize_t f) noexcept nogil:
        """By how much a code of a variable moves the place in a table, or 0."""
        cdef Py_ssize_t k
        for k in range(self.of.member_first[f], self.of.member_first[f + 1]):
            if self.of.members[k] == v:
                return self.of.strides[k]
        return 0

    cdef Py_ssize_t set_free(self, Py_ssize_t node, Py_ssize_t c) noexcept nogil:
        """A variable, and the other cells of a cluster; how many they are."""
        cdef Py_ssize_t length = 1, t, v
        self.free[0] = node
        for t in range(self.alike.cluster_first[c], self.alike.cluster_first[c + 1]):
            v = self.alike.cells[self.alike.cluster_cells[t]]
            if v != node:
                self.free[length] = v
                length += 1
        return length

    cdef double sum_over(
        self, Py_ssize_t begin, Py_ssize_t length, Py_ssize_t d
    ) noexcept nogil:
        """Sums of products of a DAG over the values of the free variables.

        Parameters
        ----------
        begin : int
            The product is that of the families of free variables from this one on.
        length : int
            How many variables are free.
        d : int
            The DAG.

        Returns
        -------
        total : float
            The sum over all values, of which `margins` has those for each level of each
            variable; 0 if there are too many values.
        """
        cdef:
            Py_ssize_t k, f, t, at, member
            double n_values = 1.0, product
        for k in range(length):
            n_values *= self.of.n_levels[self.free[k]]
            for t in range(self.of.n_levels[self.free[k]]):
                self.margins[k, t] = 0.0
        if n_values > self.of.max_values:
            return 0.0
        self.lay_out(begin, length, d)
        t = 0
        self.values[0] = 0
        self.products[0] = 1.0
        self.branch[0] = 0.0
        while True:
            if self.values[t] == self.of.n_levels[self.free[t]]:
                if t == 0:
                    return self.branch[0]
                t -= 1
                self.margins[t, self.values[t]] += self.branch[t + 1]
                self.branch[t] += self.branch[t + 1]
                self.values[t] += 1
                continue
            product = self.products[t]
            for k in range(self.first_at[t], self.first_at[t + 1]):
                f = self.in_turn[k]
                at = self.start[f]
                for member in range(self.stride_first[f], self.stride_first[f + 1]):
                    at += self.stride[member] * self.values[self.stride_place[member]]
                product *= self.of.table[at]
            if t == length - 1:
                self.margins[t, self.values[t]] += product
                self.branch[t] += product
                self.values[t] += 1
            else:
                t += 1
                self.products[t] = product
                self.branch[t] = 0.0
                self.values[t] = 0

    cdef void lay_out(
        self, Py_ssize_t begin, Py_ssize_t length, Py_ssize_t d
    ) noexcept nogil:
        """The free variables' families, in the order in which they come in."""
        cdef:
            Py_ssize_t k, f, t, at, e, family, member, variable
            Py_ssize_t n_in_sight = 0, n_strides = 0
        for k in range(length):
            self.place[self.free[k]] = k
            self.n_at[k] = 0
        self.stamp += 1
        for k in range(begin, length):
            t = self.of.around.number[self.free[k], d]
            for e in range(
                self.of.around.family_first[t], self.of.around.family_first[t + 1]
            ):
                family = self.of.around.families[e]
                if self.seen[family] == self.stamp:
                    continue
                self.seen[family] = self.stamp
                at, f = self.base[family], 0
                self.stride_first[n_in_sight] = n_strides
                for member in range(
                    self.of.member_first[family], self.of.member_first[family + 1]
                ):
                    variable = self.of.members[member]
                    if self.place[variable] < 0:
                        continue
                    if self.codes[variable] >= -1:  # the node itself
                        at -= self.of.strides[member] * (self.codes[variable] + 1)
                    at += self.of.strides[member]
                    f = max(f, self.place[variable])
                    self.stride_place[n_strides] = self.place[variable]
                    self.stride[n_strides] = self.of.strides[member]
                    n_strides += 1
                self.start[n_in_sight] = at
                self.depth[n_in_sight] = f
                self.n_at[f] += 1
                n_in_sight += 1
        self.stride_first[n_in_sight] = n_strides
        at = 0
        for t in range(length):
            self.first_at[t] = at
            at += self.n_at[t]
            self.n_at[t] = self.first_at[t]
            self.place[self.free[t]] = -1
        self.first_at[length] = at
        for f in range(n_in_sight):
            self.in_turn[self.n_at[self.depth[f]]] = f
            self.n_at[self.depth[f]] += 1
