# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Score tables of categorical data: a walk over the subsets of the candidates.

A score here is a sum over the observed cells (parent configuration, child level) and
the observed configurations of what their counts are worth (`_worth.pyx`), minus a cost
per possible configuration.

The subsets of the candidates are walked depth-first, adding one parent at a time.
A subset is kept as the rows in an order in which each of its configurations is a
run (a group), and within a group each level of the child is a run (a segment).
Adding a parent is a stable counting sort of each group. A group of one row stays one
and does not see which outsider is added, so such rows leave the walk. The scores of
the subset plus each outsider are counted group by group (`_outsiders.pyx`).

The state is the rows' order at each depth of the walk. Its memory, that of the tally
and the look-up tables stay with the walk from call to call: a search asks for thousands
of tables of one row, on which five times as long would go into memory and look-up
tables as into counting. What stays true: what a call gives does not depend on the calls
before, and the subsets of a set come before the set. One thread walks at a time.

Cost of a subset: O(N) to split, and what the outsiders take.

Where only the maxima over subsets are asked for, most of the walk can be left out. The
first value of the child in a cell has at most the probability 1/r by BDe, with r levels
of the child, and all others at most 1; and whatever parents join a set, its observed
cells only become more. So no superset of a set with c cells scores above −c ln r (de
Campos & Ji 2011, with cells in the place of configurations), nor by BIC above minus the
cost of the set itself. Once a subset does better than that, the set's supersets cannot
matter.

The same walk scores some subsets alone (`fill_rows`), or all that are small, with the
outsiders as last members, and keeps nothing but the best set (`best_set`).
"""

from cython cimport final
from libc.math cimport INFINITY, log
from libc.string cimport memcpy, memset

from skbidag._core._outsiders cimport Groups, Outsiders, Tally
from skbidag._core._worth cimport Worth, f_value, g_value

import numpy as np


@final
cdef class DiscreteWalk:
    """The walk over the parent sets of categorical data, and the memory it takes.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_features, n_rows), C-contiguous
        The data as codes from 0, one row of the array per variable.
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts, positive.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    """

    cdef:
        # The data.
        int n_rows
        const int[:, ::1] codes
        const double[::1] weights
        bint unit                       # every weight is one
        bint fractions                  # some weight is less than one
        const int[::1] n_levels
        const Py_ssize_t[::1] together  # one configuration for all rows
        Worth worth
        Tally tally
        # What a call asks for.
        const int* child
        int n_candidates
        const int[::1] candidates
        Outsiders outsiders
        const double[::1] log_odds
        double cost
        int base_column
        double[:, :] out
        # Numbers of configurations: which one a subset has, and the table of each, with
        # an outsider of each class or (0) with none.
        double[::1] n_configurations
        int[::1] number_of
        int[::1] row_of            # of a subset; -1 for none, -2 on the way to one
        int[:, ::1] table
        # The row groups of the subset at each depth.
        int[:, ::1] order
        int[:, ::1] group_start
        int[::1] n_groups
        int[::1] n_active          # rows before this are in groups, the others single
        # Segments and weights of the subset at hand.
        int[::1] first_segment
        int[::1] segment_end
        double[::1] segment_weight
        double[::1] group_weight
        double largest_segment
        double largest_group
        double[::1] singles        # what these are worth with an outsider of each class
        # Where rows go when groups are split.
        int[::1] slot
        int[::1] aside
        # Whether entries that a subset beats may be left out; then for each subset the
        # best score within it, and whether its supersets cannot do better.
        bint best_only
        double[::1] best
        const double[::1] floor    # of that, or None
        unsigned char[::1] dead
        double log_child_levels
        double odds_to_gain        # from any further parents, at most
        # The search for the best small set: the number of configurations with one more
        # candidate, the set at hand, and the best one so far.
        int[:, ::1] next_number
        unsigned char[::1] chosen
        int[::1] path
        int[::1] best_chosen
        double best_found

    def __init__(self, codes, weights, n_levels):
        self.n_rows = codes.shape[1]
        self.codes = codes
        self.weights = weights
        self.unit = (weights == 1.0).all()
        self.fractions = weights.min() < 1.0
        self.n_levels = np.array(n_levels, dtype=np.intc)
        self.worth = Worth(weights)
        self.tally = Tally(codes, weights, n_levels, self.worth)
        self.order = np.empty((0, self.n_rows), dtype=np.intc)
        self.together = np.zeros(self.n_rows, dtype=np.intp)
        self.first_segment = np.empty(self.n_rows + 1, dtype=np.intc)
        self.segment_end = np.empty(self.n_rows, dtype=np.intc)
        self.segment_weight = np.empty(self.n_rows)
        self.group_weight = np.empty(self.n_rows)
        self.slot = np.empty(max(self.n_rows, n_levels.max()), dtype=np.intc)
        self.aside = np.empty(3 * self.n_rows, dtype=np.intc)
        self.best = np.empty(0)
        self.singles = np.empty(0)

    def fill_table(
        self, int node, candidates, Outsiders outsiders, int base_column, log_odds,
        double pseudo_count, double cost, double[:, :] out, *, fixed=None,
        bint best_only=False, floor=None
    ):
        """Write the score of every subset of `candidates` into a table.

        Parameters
        ----------
        node : int
            The child.
        candidates : ndarray of int
            The parents of which all subsets are scored.
        outsiders : Outsiders
            Variables of which single ones are added to the subsets.
        base_column : int
            The column of `out` for the subsets as they are.
        log_odds : ndarray of float64 of shape (n_features,)
            Added for each parent.
        pseudo_count : float
            Equivalent sample size of BDe; zero is BIC.
        cost : float
            Subtracted for each configuration of the parents.
        out : ndarray of float64 of shape (2**n_candidates, n_columns)
            The table.
        fixed : tuple of (ndarray of intp, float, float), default=None
            Parents that every set has beside the subset: the number of each row's
            configuration of them, less than n_rows, how many configurations are
            possible, and their log odds.
        best_only : bool, default=False
            Whether entries may be left as they are where a subset in the base column
            scores higher.
        floor : ndarray of float64 of shape (2**n_candidates,), default=None
            Scores in the place of which entries may be left, too.
        """
        self.n_candidates = len(candidates)
        if out.shape[0] != 1 << self.n_candidates:
            raise ValueError(
                f"out must have {1 << self.n_candidates} rows, got {out.shape[0]}."
            )
        cdef const Py_ssize_t[::1] configuration = self.together
        cdef double n_configurations = 1.0
        cdef double log_prior = 0.0
        if fixed is not None:
            configuration, n_configurations, log_prior = fixed
        candidates = np.ascontiguousarray(candidates, dtype=np.intc)
        log_odds = np.ascontiguousarray(log_odds)
        if self.n_levels[node] == 1:
            _fill_constant(
                candidates, outsiders, base_column, log_odds, log_prior,
                np.asarray(out)
            )
            return
        self.ask(candidates, outsiders, log_odds, cost, base_column, out)
        self.find_tables(node, n_configurations, pseudo_count)
        self.begin(node, self.n_candidates, configuration)
        # A fraction of an observation may have a probability above 1/r.
        self.best_only = best_only and not (self.worth.bayes and self.fractions)
        if self.best_only:
            self.set_bounds(node, log_odds[candidates], log_odds[outsiders.variables])
            self.floor = floor
        with nogil:
            self.visit(0, 0, self.n_candidates, log_prior)
        self.out = None

    def fill_rows(
        self, int node, candidates, Outsiders outsiders, int base_column, log_odds,
        double pseudo_count, double cost, masks, double[:, :] out, *, fixed=None
    ):
        """Write the scores of some subsets of `candidates`, as rows of a table.

        Parameters
        ----------
        node, candidates, outsiders, base_column, log_odds, pseudo_count, cost, fixed
            As for `fill_table`; the child has two levels at least.
        masks : ndarray of int
            The subsets.
        out : ndarray of float64 of shape (n_masks, n_columns)
            A row for each of them.
        """
        cdef Py_ssize_t mask
        cdef const Py_ssize_t[::1] configuration = self.together
        cdef double n_configurations = 1.0
        cdef double log_prior = 0.0
        if fixed is not None:
            configuration, n_configurations, log_prior = fixed
        self.ask(candidates, outsiders, log_odds, cost, base_column, out)
        # The walk comes to a subset by way of those without its lowest candidates.
        row_of = np.full(1 << self.n_candidates, -1, dtype=np.intc)
        for mask in masks:
            while mask:
                mask &= mask - 1
                row_of[mask] = -2
        row_of[masks] = np.arange(len(masks))
        self.row_of = row_of
        self.find_tables(node, n_configurations, pseudo_count)
        self.begin(node, self.n_candidates, configuration)
        with nogil:
            self.visit_some(0, 0, self.n_candidates, log_prior)
        self.out = None

    cdef void visit_some(
        self, int depth, Py_ssize_t mask, int lowest, double log_prior
    ) noexcept nogil:
        """Score the subset at `depth` if it is asked for, then go on as `visit` does.
        """
        cdef int k, candidate
        cdef Py_ssize_t larger
        if self.row_of[mask] >= 0:
            self.score_subset(
                depth, self.row_of[mask], self.number_of[mask], log_prior
            )
        for k in range(lowest):
            larger = mask | (<Py_ssize_t>1 << k)
            if self.row_of[larger] == -1:
                continue
            candidate = self.candidates[k]
            self.split(depth, &self.codes[candidate, 0], self.n_levels[candidate])
            self.visit_some(depth + 1, larger, k, log_prior + self.log_odds[candidate])

    def best_set(
        self, int node, candidates, Outsiders outsiders, log_odds,
        double pseudo_count, double cost, int size
    ):
        """Find the best parent set of at most `size` of the outsiders, one at least.

        All of them are gone through: subsets of the candidates with one member less,
        and each outsider in addition.

        Parameters
        ----------
        node : int
            The child, with two levels at least.
        candidates : ndarray of int
            The parents to choose from.
        outsiders : Outsiders
            The same, in columns of their own numbers.
        log_odds, pseudo_count, cost
            As for `fill_table`.
        size : int
            The largest number of parents, at least one.

        Returns
        -------
        parents : list of int
            The best set.
        log_score : float
            Its score.
        """
        cdef double[:, :] row = np.empty((1, len(self.n_levels) + 1))
        self.ask(candidates, outsiders, log_odds, cost, row.shape[1] - 1, row)
        self.chosen = np.zeros(len(self.n_levels), dtype=np.uint8)
        self.best_chosen = np.full(size, -1, dtype=np.intc)
        self.best_found = -INFINITY
        self.find_tables_of_small_sets(node, pseudo_count, size - 1)
        self.begin(node, size, self.together)
        with nogil:
            self.scan(0, size - 1, self.n_candidates, 0, 0.0)
        self.out = None
        return sorted(j for j in self.best_chosen if j >= 0), self.best_found

    cdef void scan(
        self, int depth, int deepest, int lowest, int number, double log_prior
    ) noexcept nogil:
        """Look at the subset at `depth`, then at those that add candidates below."""
        cdef int j, k, candidate
        self.score_subset(depth, 0, number, log_prior)
        for j in range(self.outsiders.columns.shape[0]):
            candidate = self.outsiders.columns[j]
            if self.out[0, candidate] > self.best_found and not self.chosen[candidate]:
                self.best_found = self.out[0, candidate]
                for k in range(depth):
                    self.best_chosen[k] = self.path[k]
                self.best_chosen[depth] = candidate
                for k in range(depth + 1, self.best_chosen.shape[0]):
                    self.best_chosen[k] = -1
        if depth == deepest:
            return
        for k in range(lowest):
            candidate = self.candidates[k]
            self.split(depth, &self.codes[candidate, 0], self.n_levels[candidate])
            self.path[depth] = candidate
            self.chosen[candidate] = True
            self.scan(
                depth + 1, deepest, k, self.next_number[number, k],
                log_prior + self.log_odds[candidate]
            )
            self.chosen[candidate] = False

    cdef object ask(
        self, candidates, Outsiders outsiders, log_odds, double cost, int base_column,
        double[:, :] out
    ):
        """Note what a call asks for; see `fill_table`."""
        self.n_candidates = len(candidates)
        self.candidates = np.ascontiguousarray(candidates, dtype=np.intc)
        self.outsiders = outsiders
        self.log_odds = np.ascontiguousarray(log_odds)
        self.cost = cost
        self.base_column = base_column
        self.out = out
        self.best_only = False

    cdef object begin(
        self, int node, int depths, const Py_ssize_t[::1] configuration
    ):
        """Make ready for a walk, which begins with the groups of a configuration."""
        self.child = &self.codes[node, 0]
        self.tally.prepare(self.outsiders)
        if self.singles.shape[0] < self.outsiders.n_classes:
            self.singles = np.empty(self.outsiders.n_classes)
        self.prepare_depths(depths + 1)
        self.sort_by_child(self.n_levels[node])
        self.sort_by_configuration(configuration)

    cdef object find_tables_of_small_sets(
        self, int node, double pseudo_count, int size
    ):
        """Find the look-up tables for sets of so many candidates at most."""
        numbers = {1.0: 0}
        levels = [float(self.n_levels[candidate]) for candidate in self.candidates]
        next_number = []
        for _ in range(size):
            for q in [*numbers][len(next_number):]:
                next_number.append(
                    [numbers.setdefault(q * times, len(numbers)) for times in levels]
                )
        self.next_number = np.array(
            next_number or [[0] * len(levels)], dtype=np.intc
        ).reshape(-1, len(levels))
        self.look_up(node, pseudo_count, numbers)

    cdef object find_tables(
        self, int node, double n_configurations, double pseudo_count
    ):
        """Find the look-up tables of each number of configurations that occurs."""
        # A candidate multiplies the numbers there are; many products are the same.
        numbers = {n_configurations: 0}
        number_of = np.zeros(1, dtype=np.intc)
        cdef int k
        for k in range(self.n_candidates):
            levels = self.n_levels[self.candidates[k]]
            times = [numbers.setdefault(q * levels, len(numbers)) for q in [*numbers]]
            number_of = np.append(number_of, np.array(times, np.intc)[number_of])
        self.number_of = number_of
        self.look_up(node, pseudo_count, numbers)

    cdef object look_up(self, int node, double pseudo_count, dict numbers):
        """Find the look-up tables of these numbers of configurations."""
        self.n_configurations = np.array([*numbers])
        further = [1, *self.outsiders.class_levels]
        tables = self.worth.tables_of(
            pseudo_count,
            [q * levels for q in numbers for levels in further],
            self.n_levels[node],
        )
        self.table = np.array(tables, dtype=np.intc).reshape(len(numbers), -1)

    cdef object prepare_depths(self, int depths):
        """Have room for the row groups of all subsets on the way to the largest."""
        if self.order.shape[0] < depths:
            self.order = np.empty((depths, self.n_rows), dtype=np.intc)
            self.group_start = np.empty((depths, self.n_rows + 1), dtype=np.intc)
            self.n_groups, self.n_active = np.empty((2, depths), dtype=np.intc)
            self.path = np.empty(depths, dtype=np.intc)

    cdef void sort_by_child(self, int n_levels) noexcept nogil:
        """Put the rows aside, sorted by the child."""
        cdef int* slot = &self.slot[0]
        cdef int place = 0
        cdef int row, level, size
        memset(slot, 0, n_levels * sizeof(int))
        for row in range(self.n_rows):
            slot[self.child[row]] += 1
        for level in range(n_levels):
            size = slot[level]
            slot[level] = place
            place += size
        for row in range(self.n_rows):
            self.aside[slot[self.child[row]]] = row
            slot[self.child[row]] += 1

    cdef void sort_by_configuration(
        self, const Py_ssize_t[::1] configuration
    ) noexcept nogil:
        """Sort the rows put aside into the groups that the walk begins with.

        Rows that are alone in their configuration go to the end.
        """
        cdef int* slot = &self.slot[0]
        cdef int front = 0
        cdef int back = self.n_rows
        cdef int n_groups = 0
        cdef int row, place, number, size
        memset(slot, 0, self.n_rows * sizeof(int))
        for row in range(self.n_rows):
            slot[configuration[row]] += 1
        for number in range(self.n_rows):
            back -= slot[number] == 1
        self.n_active[0] = back
        for number in range(self.n_rows):
            size = slot[number]
            if size == 1:
                slot[number] = back
                back += 1
            elif size > 1:
                self.group_start[0, n_groups] = front
                n_groups += 1
                slot[number] = front
                front += size
        self.group_start[0, n_groups] = front
        self.n_groups[0] = n_groups
        for place in range(self.n_rows):
            row = self.aside[place]
            self.order[0, slot[configuration[row]]] = row
            slot[configuration[row]] += 1

    cdef object set_bounds(self, int node, candidate_odds, outsider_odds):
        """Prepare to leave out what cannot be the best."""
        cdef Py_ssize_t n_subsets = self.out.shape[0]
        if self.best.shape[0] < n_subsets:
            self.best = np.empty(n_subsets)
            self.dead = np.empty(n_subsets, dtype=np.uint8)
        memset(&self.dead[0], 0, n_subsets)
        self.log_child_levels = log(<double>self.n_levels[node])
        self.odds_to_gain = (
            np.maximum(candidate_odds, 0.0).sum() + np.max(outsider_odds, initial=0.0)
        )

    cdef void visit(
        self, int depth, Py_ssize_t mask, int lowest, double log_prior
    ) noexcept nogil:
        """Score the subset at `depth`, then those that add candidates below `lowest`.
        """
        cdef int k, candidate
        cdef Py_ssize_t larger
        self.score_subset(depth, mask, self.number_of[mask], log_prior)
        for k in range(lowest):
            larger = mask | (<Py_ssize_t>1 << k)
            if self.best_only and self.cannot_matter(larger):
                continue
            candidate = self.candidates[k]
            self.split(depth, &self.codes[candidate, 0], self.n_levels[candidate])
            self.visit(depth + 1, larger, k, log_prior + self.log_odds[candidate])

    cdef bint cannot_matter(self, Py_ssize_t mask) noexcept nogil:
        """Tell whether a subset of `mask`, one candidate less, does better than all.

        Sets that are skipped need no mark: whoever contains one either contains a
        marked set with one candidate less, or is reached only through a marked set.
        """
        cdef int k
        for k in range(self.n_candidates):
            if mask >> k & 1 and self.dead[mask ^ (<Py_ssize_t>1 << k)]:
                self.dead[mask] = True
                return True
        return False

    cdef void split(self, int depth, const int* x, int levels) noexcept nogil:
        """Split the groups at `depth` by the column x into those at depth + 1."""
        cdef const int* order = &self.order[depth, 0]
        cdef const int* start = &self.group_start[depth, 0]
        cdef int* new_order = &self.order[depth + 1, 0]
        cdef int* new_start = &self.group_start[depth + 1, 0]
        cdef int front = 0
        cdef int back = self.n_active[depth]
        cdef int n_new = 0
        cdef int group
        if not self.unit:  # their weights are looked up
            memcpy(new_order + back, order + back, (self.n_rows - back) * sizeof(int))
        for group in range(self.n_groups[depth]):
            if levels == 2:
                n_new = self.split_in_two(
                    order + start[group], start[group + 1] - start[group], x,
                    new_order, new_start, n_new, &front, &back
                )
            elif levels <= 4:
                n_new = self.split_in_four(
                    order + start[group], start[group + 1] - start[group], x,
                    new_order, new_start, n_new, &front, &back
                )
            else:
                n_new = self.split_group(
                    order + start[group], start[group + 1] - start[group], x, levels,
                    new_order, new_start, n_new, &front, &back
                )
        new_start[n_new] = front
        self.n_groups[depth + 1] = n_new
        self.n_active[depth + 1] = front

    cdef int split_in_two(
        self, const int* rows, int n_rows, const int* x, int* new_order,
        int* new_start, int n_new, int* front, int* back
    ) noexcept nogil:
        """Split a group by a binary column; give the number of new groups so far.

        One pass without branches: rows with a 0 go where they belong, if there are
        several, and the others are put aside.
        """
        cdef int* zeros = new_order + front[0]
        cdef int* ones = &self.aside[0]
        cdef int n_zeros = 0
        cdef int n_ones = 0
        cdef int place, row
        for place in range(n_rows):
            row = rows[place]
            zeros[n_zeros] = row
            ones[n_ones] = row
            n_ones += x[row]
            n_zeros += 1 - x[row]
        if n_zeros == 1:
            back[0] -= 1
            new_order[back[0]] = zeros[0]
        elif n_zeros > 1:
            new_start[n_new] = front[0]
            n_new += 1
            front[0] += n_zeros
        return put_group(new_order, new_start, n_new, ones, n_ones, front, back)

    cdef int split_in_four(
        self, const int* rows, int n_rows, const int* x, int* new_order,
        int* new_start, int n_new, int* front, int* back
    ) noexcept nogil:
        """Split a group by a column of three or four levels, as `split_in_two` does."""
        cdef int* zeros = new_order + front[0]
        cdef int* ones = &self.aside[0]
        cdef int* twos = ones + self.n_rows
        cdef int* threes = twos + self.n_rows
        cdef int n_zeros = 0
        cdef int n_ones = 0
        cdef int n_twos = 0
        cdef int n_threes = 0
        cdef int place, row, level
        for place in range(n_rows):
            row = rows[place]
            level = x[row]
            zeros[n_zeros] = row
            ones[n_ones] = row
            twos[n_twos] = row
            threes[n_threes] = row
            n_zeros += level == 0
            n_ones += level == 1
            n_twos += level == 2
            n_threes += level == 3
        if n_zeros == 1:
            back[0] -= 1
            new_order[back[0]] = zeros[0]
        elif n_zeros > 1:
            new_start[n_new] = front[0]
            n_new += 1
            front[0] += n_zeros
        n_new = put_group(new_order, new_start, n_new, ones, n_ones, front, back)
        n_new = put_group(new_order, new_start, n_new, twos, n_twos, front, back)
        return put_group(new_order, new_start, n_new, threes, n_threes, front, back)

    cdef int split_group(
        self, const int* rows, int n_rows, const int* x, int levels, int* new_order,
        int* new_start, int n_new, int* front, int* back
    ) noexcept nogil:
        """Split a group by a column; give the number of new groups so far."""
        cdef int* slot = &self.slot[0]
        cdef int place, level, size
        memset(slot, 0, levels * sizeof(int))
        for place in range(n_rows):
            slot[x[rows[place]]] += 1
        for level in range(levels):
            size = slot[level]
            if size == 1:
                back[0] -= 1
                slot[level] = back[0]
            elif size > 1:
                new_start[n_new] = front[0]
                n_new += 1
                slot[level] = front[0]
                front[0] += size
        for place in range(n_rows):
            level = x[rows[place]]
            new_order[slot[level]] = rows[place]
            slot[level] += 1
        return n_new

    cdef void score_subset(
        self, int depth, Py_ssize_t mask, int number, double log_prior
    ) noexcept nogil:
        """Write the row of a table that belongs to the subset at `depth`.

        `number` is that of its configurations.
        """
        cdef int t = self.table[number, 0]
        cdef int n_groups = self.n_groups[depth]
        cdef int n_segments = self.find_segments(depth)
        cdef int place
        cdef double score
        if self.worth.integral:
            self.worth.extend(t, self.largest_segment, self.largest_group)
        score = self.score_singles(depth, t)
        for place in range(n_segments):
            score += f_value(self.worth, t, self.segment_weight[place])
        for place in range(n_groups):
            score += g_value(self.worth, t, self.group_weight[place])
        score += log_prior - self.cost * self.n_configurations[number]
        self.out[mask, self.base_column] = score
        if self.best_only and self.cannot_be_bettered(
            mask, score, log_prior, n_segments + self.n_rows - self.n_active[depth]
        ):
            return
        if self.outsiders.n_classes > 0:
            self.score_outsiders(depth, mask, number, score, log_prior)

    cdef int find_segments(self, int depth) noexcept nogil:
        """Find where the child's levels begin and end, and what they weigh."""
        cdef const int* order = &self.order[depth, 0]
        cdef const int* start = &self.group_start[depth, 0]
        cdef int n_segments = 0
        cdef int group, begin, end, place
        cdef double weight
        cdef double largest_segment = 1.0
        cdef double largest_group = 1.0
        for group in range(self.n_groups[depth]):
            self.first_segment[group] = n_segments
            self.group_weight[group] = 0.0
            begin = start[group]
            while begin < start[group + 1]:
                end = end_of_segment(self.child, order, begin, start[group + 1])
                weight = end - begin
                if not self.unit:
                    weight = 0.0
                    for place in range(begin, end):
                        weight += self.weights[order[place]]
                self.segment_end[n_segments] = end
                self.segment_weight[n_segments] = weight
                self.group_weight[group] += weight
                largest_segment = max(largest_segment, weight)
                n_segments += 1
                begin = end
            largest_group = max(largest_group, self.group_weight[group])
        self.first_segment[self.n_groups[depth]] = n_segments
        if not self.unit:
            for place in range(self.n_active[depth], self.n_rows):
                largest_segment = max(largest_segment, self.weights[order[place]])
            largest_group = max(largest_group, largest_segment)
        self.largest_segment = largest_segment
        self.largest_group = largest_group
        return n_segments

    cdef double score_singles(self, int depth, int t) noexcept nogil:
        """Give the part of the rows that are alone in their configuration."""
        cdef int n_singles = self.n_rows - self.n_active[depth]
        cdef int place
        cdef double n
        cdef double score = 0.0
        if n_singles == 0:
            return 0.0
        if self.unit:
            return n_singles * (
                f_value(self.worth, t, 1.0) + g_value(self.worth, t, 1.0)
            )
        for place in range(self.n_active[depth], self.n_rows):
            n = self.weights[self.order[depth, place]]
            score += f_value(self.worth, t, n) + g_value(self.worth, t, n)
        return score

    cdef bint cannot_be_bettered(
        self, Py_ssize_t mask, double score, double log_prior, int n_cells
    ) noexcept nogil:
        """Note the best score within a subset; tell whether no superset can beat it."""
        cdef double best = score
        cdef double limit
        cdef int k
        if self.floor is not None:
            best = max(best, self.floor[mask])
        for k in range(self.n_candidates):
            if mask >> k & 1:
                best = max(best, self.best[mask ^ (<Py_ssize_t>1 << k)])
        self.best[mask] = best
        if self.worth.bayes:
            limit = -self.log_child_levels * n_cells
        else:
            limit = -self.cost * self.n_configurations[self.number_of[mask]]
        # Rounding must not make a difference.
        self.dead[mask] = limit + log_prior + self.odds_to_gain < best - 1e-6
        return self.dead[mask]

    cdef void score_outsiders(
        self, int depth, Py_ssize_t mask, int number, double base, double log_prior
    ) noexcept nogil:
        """Write the scores of the subset at `depth` plus each outsider.

        `base` is the score of the subset itself.
        """
        cdef int c, j, t
        cdef double fixed, score
        cdef Groups groups
        groups.rows = &self.order[depth, 0]
        groups.n_groups = self.n_groups[depth]
        groups.start = &self.group_start[depth, 0]
        groups.first_segment = &self.first_segment[0]
        groups.segment_end = &self.segment_end[0]
        for c in range(self.outsiders.n_classes):
            t = self.table[number, c + 1]
            if self.worth.integral:
                self.worth.extend(t, self.largest_segment, self.largest_group)
            self.singles[c] = self.score_singles(depth, t)
        self.tally.score_outsiders(
            &groups, &self.table[number, 1], &self.singles[0]
        )
        for c in range(self.outsiders.n_classes):
            fixed = log_prior - (
                self.cost * self.n_configurations[number] * self.outsiders.levels[c]
            )
            for j in range(
                self.outsiders.class_start[c], self.outsiders.class_start[c + 1]
            ):
                score = self.tally.scores[j] + fixed
                if self.outsiders.levels[c] == 1:  # a constant tells nothing apart
                    score = base
                self.out[mask, self.outsiders.places[j]] = (
                    score + self.log_odds[self.outsiders.columns[j]]
                )


cdef inline int put_group(
    int* order, int* starts, int n_groups, const int* rows, int size, int* front,
    int* back
) noexcept nogil:
    """Put rows where the next group goes, or a single one to the end of the order."""
    if size == 1:
        back[0] -= 1
        order[back[0]] = rows[0]
    elif size > 1:
        starts[n_groups] = front[0]
        n_groups += 1
        memcpy(order + front[0], rows, size * sizeof(int))
        front[0] += size
    return n_groups


cdef inline int end_of_segment(
    const int* child, const int* order, int begin, int stop
) noexcept nogil:
    """Give the end of the rows from `begin` on with the same level of the child.

    The child's levels ascend. Strides double as long as the level stays the same, and
    then are halved: a large group is not gone through row by row.
    """
    cdef int level = child[order[begin]]
    cdef int stride = 1
    cdef int place = begin
    while place + stride < stop and child[order[place + stride]] == level:
        place += stride
        stride *= 2
    while stride > 1:
        stride //= 2
        if place + stride < stop and child[order[place + stride]] == level:
            place += stride
    return place + 1


def _fill_constant(
    candidates, Outsiders outsiders, base_column, log_odds, fixed_odds, out
):
    """Fill the table of a child with one level.

    There is nothing to explain: the likelihood is 1, without rounding that would make
    some parents look better than none.
    """
    log_prior = np.array([fixed_odds])
    for candidate in candidates:
        log_prior = np.append(log_prior, log_prior + log_odds[candidate])
    out[:, base_column] = log_prior
    out[:, np.asarray(outsiders.places)] = (
        log_prior[:, None] + log_odds[np.asarray(outsiders.variables)]
    )
