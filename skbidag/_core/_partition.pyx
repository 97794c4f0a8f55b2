# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Partition MCMC (Kuipers & Moffa 2017; Kuipers, Suter & Moffa 2022, section 4).

State
    An ordered partition of the nodes into blocks, left to right. The parents of a
    node stand in blocks to the right of its own, at least one of them in the very
    next block; the last block holds the roots. So each DAG has one partition (peel
    off the nodes without parents, block by block), and sampling partitions by the
    summed scores of their DAGs gives each DAG its own weight, once. With each node:
    its log score, the sum over the parent sets that its block permits.
Moves
    *swap*: exchange two nodes of different blocks. *adjacent swap*: of two adjacent
    blocks. Both leave the sizes of the blocks alone and so are symmetric.
    *split or join*: one of the (m - 1) + sum of (2^size - 2) partitions that come
    from joining two adjacent blocks, or from splitting one into an ordered pair,
    each as probable as the other; accepted with the ratio of the scores times that
    of the numbers of such partitions. *relocation*: take a node out and put it
    into one of the blocks or, as a block of its own, into one of the gaps, drawn in
    proportion to the scores: a Gibbs move, always accepted.
    *reversal* (Grzegorczyk & Husmeier 2008): draw a DAG given the partition, an edge
    of it, and new parents for both its ends with the edge turned around; what comes
    next is the partition of that DAG. Strongly dependent variables can swap their
    places only with all that hangs on them, which the other moves do not do.
    A proposal that cannot be made is a step that stays.
What stays true
    Every node's score is the lookup for the present partition, see `_order.pyx`. A
    chain never stands on a partition without a DAG (score -inf).
Cost
    The sum over the parent sets that meet the next block is the sum over all in the
    permitted blocks minus the sum over those without the next block: two rows of
    the tables that orders use. Outsiders in the next block meet the need whatever
    the candidates are, and are not subtracted but added. Where the needed parents
    are weak, the difference loses digits. Then the row of the sets that contain a
    needed candidate is summed from the scores, all terms being positive, and
    remembered: a chain comes back to few of the 3^K pairs of permitted and needed
    candidates. (A table of the sums over the sets with each candidate, in K
    2^(K - 1) rows, could give all of them, but takes K/2 times the memory and time
    to build, and more rows to read: it made chains half as fast.)

    A swap looks up the nodes from the block before the left one to the right one; a
    split or join those of two blocks; a relocation three times all; a reversal draws
    the parents of all nodes.
"""

from libc.math cimport INFINITY, fabs, floor, ldexp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

import numpy as np

from skbidag._core._random cimport below, bitgen_of, skb_bitgen, uniform
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport (
    skb_add_exp,
    skb_exp,
    skb_exp_sums_at,
    skb_log,
    skb_log_add_exp,
    skb_log_or_nothing,
    skb_log_sum_exp_from,
    skb_max_from,
    skb_maximum,
    skb_prefetch,
    skb_ratios,
    skb_sum_from,
    skb_sums_at,
)


cdef extern from *:
    """
    #define skb_lowest_bit(x) ((Py_ssize_t)__builtin_ctzll(x))
    """
    Py_ssize_t skb_lowest_bit(uint64_t x) noexcept nogil


cdef enum:
    SWAP, ADJACENT_SWAP, SPLIT_JOIN, RELOCATION, REVERSAL

# A share of an outsider's sums may be lost 100 nats below the base sum (see
# `_subsets.pyx`), or about 1e-40 for all subsets and outsiders together. Where a
# node's score is not far above that, outsiders are summed anew from the scores.
cdef double LEAST_SHARE = 1e-28
# The logarithms of sums are rounded to 1.1e-16 of themselves, and so is, beside the
# larger sum, a difference. Where it is smaller than this times the logarithm (or than
# LEAST_DIFFERENCE) beside that sum, its own logarithm could miss 1e-10.
cdef double DIFFERENCE_PER_LOG = 4e-6
cdef double LEAST_DIFFERENCE = 1e-3
cdef double LOG_SAFE_SHARE = -3.0
cdef double LARGEST_LOG_RATIO = 600.0
# Bytes of the rows that a chain remembers.
cdef Py_ssize_t MEMORY = 1 << 22
cdef double LOG_2 = 0.69314718055994530942


cdef class PartitionChain:
    """One chain over ordered partitions.

    Parameters
    ----------
    views : TableViews
        The tables, with sums.
    bit_generator : numpy.random.BitGenerator
        The chain's own stream of random numbers.
    partition : array of shape (n,)
        Where to start: the number of each node's block, from the left, 0 to m - 1.
    move_probabilities : array of shape (5,)
        How often to swap, swap in adjacent blocks, split or join, relocate, and
        reverse an edge.
    """

    cdef:
        TableViews views
        object bit_generator
        skb_bitgen *bitgen
        Py_ssize_t n
        Py_ssize_t width
        double swap_below
        double adjacent_below
        double split_below
        double relocation_below
        # state: the nodes by blocks; where each of the blocks starts, then n; the
        # place of each node in `order`; and its block, with -1 in the padding.
        # Lookups go by `place`: `block` or, to reverse an edge, `free`
        Py_ssize_t n_blocks
        Py_ssize_t[::1] order
        Py_ssize_t[::1] start
        Py_ssize_t[::1] position
        double[::1] block
        double *place
        double[::1] score
        double current
        # the best partition seen
        double[::1] best_block
        readonly double best_log_score
        # what a proposal would change, by node
        int64_t[::1] allowed
        int64_t[::1] needed
        double[::1] new_score
        # relocation: the others' scores by node, the sums of their blocks, the
        # score of the node itself right before each block, and the slots
        double[:, ::1] relative_score
        double[:, ::1] block_score
        double[::1] own_score
        double[::1] slot_total
        double[::1] weight
        # a DAG: the parents of each node as a subset and a column; reversal: who
        # descends from either end, who may be a parent, and the depths of nodes
        int64_t[::1] dag_subset
        Py_ssize_t[::1] dag_column
        signed char[:, ::1] descends
        double[::1] free
        Py_ssize_t[::1] depth
        int64_t[::1] proposed
        int64_t[::1] accepted
        # remembered rows: whose they are, their log sums, their ratios
        Py_ssize_t n_slots
        int64_t[::1] slot_node
        int64_t[::1] slot_key
        double[::1] slot_log_sum
        double[:, ::1] slot_ratios
        double[::1] top
        # how often scores were looked up, by a difference that was not safe, in a
        # row that was not remembered, and for outsiders that are summed by themselves
        int64_t[::1] counts

    def __init__(
        self, TableViews views, bit_generator, partition, move_probabilities
    ):
        cdef Py_ssize_t n = views.n_nodes
        self.views = views
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.n = n
        self.width = views.width
        self.swap_below = move_probabilities[SWAP]
        self.adjacent_below = self.swap_below + move_probabilities[ADJACENT_SWAP]
        self.split_below = self.adjacent_below + move_probabilities[SPLIT_JOIN]
        self.relocation_below = self.split_below + move_probabilities[RELOCATION]
        self.order = np.zeros(n, dtype=np.intp)
        self.start = np.zeros(n + 2, dtype=np.intp)
        self.position = np.zeros(n, dtype=np.intp)
        self.block = np.full(max(self.width, n), -1.0)
        self.place = &self.block[0]
        self.score = np.zeros(n)
        self.best_block = np.zeros(n)
        self.allowed = np.zeros(n, dtype=np.int64)
        self.needed = np.zeros(n, dtype=np.int64)
        self.new_score = np.zeros(n)
        self.relative_score = np.zeros((4, n))
        self.block_score = np.zeros((4, n + 1))
        self.own_score = np.zeros(n + 1)
        self.slot_total = np.zeros(2 * n + 1)
        self.weight = np.zeros(2 * n + 1)
        self.dag_subset = np.zeros(n, dtype=np.int64)
        self.dag_column = np.zeros(n, dtype=np.intp)
        self.descends = np.zeros((2, n), dtype=np.int8)
        self.free = np.full(max(self.width, n), -1.0)
        self.depth = np.zeros(n, dtype=np.intp)
        self.proposed = np.zeros(5, dtype=np.int64)
        self.accepted = np.zeros(5, dtype=np.int64)
        self.n_slots = 256
        while self.n_slots * self.width * 16 <= MEMORY:
            self.n_slots *= 2
        self.slot_node = np.full(self.n_slots, -1, dtype=np.int64)
        self.slot_key = np.zeros(self.n_slots, dtype=np.int64)
        self.slot_log_sum = np.zeros(self.n_slots)
        self.slot_ratios = np.zeros((self.n_slots, self.width))
        self.top = np.zeros(self.width)
        self.counts = np.zeros(4, dtype=np.int64)
        self.best_log_score = -INFINITY
        self.set_partition(partition)

    # ------------------------------------------------------------------ state

    def set_partition(self, partition):
        """Move to a partition, given by the number of each node's block."""
        partition = np.asarray(partition, dtype=np.intp)
        sizes = np.bincount(partition) if len(partition) == self.n else [0]
        if 0 in sizes:
            raise ValueError("partition must number the blocks 0, 1, ..., none empty")
        self.set_blocks(np.argsort(partition, kind="stable"), np.cumsum(sizes))

    def set_blocks(self, order, ends):
        """Move to a partition, given by the nodes in order and the blocks' ends."""
        cdef Py_ssize_t b, p, node
        np.asarray(self.order)[:] = order
        self.n_blocks = len(ends)
        self.start[0] = 0
        for b in range(self.n_blocks):
            self.start[b + 1] = ends[b]
        with nogil:
            self.number_blocks(0)
            for b in range(self.n_blocks):
                for p in range(self.start[b], self.start[b + 1]):
                    node = self.order[p]
                    self.score[node] = self.look_up_one(node, self.next_block(b))
            self.refresh()
            self.inspect()

    @property
    def partition(self):
        """The number of each node's block, from the left."""
        return np.asarray(self.block)[:self.n].astype(np.intp)

    @property
    def best_partition(self):
        """The best partition seen."""
        return np.asarray(self.best_block).astype(np.intp)

    @property
    def node_scores(self):
        """The log score of each node."""
        return np.array(self.score)

    @property
    def log_score(self):
        """The log score of the present partition."""
        self.refresh()
        return self.current

    @property
    def proposed_moves(self):
        """Number of moves of each kind proposed."""
        return np.array(self.proposed)

    @property
    def accepted_moves(self):
        """Number of moves of each kind that changed the partition."""
        return np.array(self.accepted)

    @property
    def lookup_counts(self):
        """Numbers of lookups: all, beyond differences, of new rows, of columns."""
        return np.array(self.counts)

    def __getstate__(self):
        return {
            "order": np.array(self.order),
            "ends": np.array(self.start[1:self.n_blocks + 1]),
            "best_partition": self.best_partition,
            "best_log_score": self.best_log_score,
            "proposed": self.proposed_moves, "accepted": self.accepted_moves,
            "bit_generator": self.bit_generator.state,
        }

    def restore(self, state):
        """Go on from a state that ``__getstate__`` gave."""
        self.set_blocks(state["order"], state["ends"])
        np.asarray(self.best_block)[:] = state["best_partition"]
        self.best_log_score = state["best_log_score"]
        np.asarray(self.proposed)[:] = state["proposed"]
        np.asarray(self.accepted)[:] = state["accepted"]
        self.bit_generator.state = state["bit_generator"]

    cdef void number_blocks(self, Py_ssize_t first) noexcept nogil:
        """Tell the nodes from block `first` on their blocks and positions."""
        cdef Py_ssize_t b, p
        for b in range(first, self.n_blocks):
            for p in range(self.start[b], self.start[b + 1]):
                self.block[self.order[p]] = b
                self.position[self.order[p]] = p

    cdef void refresh(self) noexcept nogil:
        """Add up the partition's score anew."""
        cdef Py_ssize_t i
        self.current = 0.0
        for i in range(self.n):
            self.current += self.score[i]

    cdef inline void inspect(self) noexcept nogil:
        """Keep the present partition if none was better."""
        if self.current > self.best_log_score:
            self.best_log_score = self.current
            self.best_block[:] = self.block[:self.n]

    # ---------------------------------------------------------------- lookups

    cdef inline double next_block(self, Py_ssize_t b) noexcept nogil:
        """Number of the block that the members of block b need a parent in.

        Infinity stands for none: they are roots.
        """
        return b + 1 if b < self.n_blocks - 1 else INFINITY

    cdef inline void find_masks(self, Py_ssize_t node, double near) noexcept nogil:
        """Note which candidates lie in block `near`, and to the right of it, too.

        The rows they lead to are asked for: most are not in the cache, and take
        longer to come than to add up.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t k
            int64_t allowed = 0, needed = 0
            double at
        for k in range(view.n_candidates):
            at = self.place[view.candidates[k]]
            allowed |= <int64_t> (at >= near) << k
            needed |= <int64_t> (at == near) << k
        self.allowed[node] = allowed
        self.needed[node] = needed
        skb_prefetch(view.log_sums + allowed, 1)
        if self.width > 1:
            skb_prefetch(view.ratios + allowed * self.width, self.width)
        if needed:
            skb_prefetch(view.log_sums + (allowed & ~needed), 1)
            if self.width > 1:
                skb_prefetch(
                    view.ratios + (allowed & ~needed) * self.width, self.width
                )

    cdef double look_up_one(self, Py_ssize_t node, double near) noexcept nogil:
        """Score of a node, see :meth:`look_up`."""
        if near < INFINITY:
            self.find_masks(node, near)
        return self.look_up(node, near)

    cdef double look_up(self, Py_ssize_t node, double near) noexcept nogil:
        """Score of a node with a parent in block `near`, others to the right of it.

        The numbers in `place` may be those of a proposal, with halves among them.
        The masks must have been found.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node], needed = self.needed[node], rest
            double base, unit, total, least, least_near, scale
            double near_sum, unused, without
        if near == INFINITY:
            return view.scores[view.base_column]
        self.counts[0] += 1
        base = view.log_sums[allowed]
        if base == -INFINITY:
            return base
        unit = self.row_sums(view, allowed, near, &near_sum, &total)
        base += unit
        least_near = LEAST_SHARE if unit == 0.0 else max(
            1e-280, LEAST_SHARE * skb_exp(-unit)
        )
        if needed == 0:
            total = near_sum
            least = least_near
        else:
            least = total * (LEAST_DIFFERENCE + DIFFERENCE_PER_LOG * fabs(base))
            rest = allowed & ~needed
            if view.log_sums[rest] > -INFINITY:
                scale = view.log_sums[rest] - base
                scale += self.row_sums(view, rest, near, &unused, &without)
                total -= skb_exp(scale) * without
            total += near_sum
        if total < least:
            return self.look_up_exactly(
                node, near, allowed, needed,
                base + skb_log(near_sum) if near_sum >= least_near else -INFINITY,
            )
        return base + skb_log(total)

    cdef inline double row_sums(
        self, const NodeView *view, int64_t mask, double near, double *near_sum,
        double *far_sum
    ) noexcept nogil:
        """Sums of a row: the outsiders in block `near`; the rest that is permitted.

        That is the base column and the outsiders further right. Returns the
        logarithm of the unit of both, beside the row's log sum.
        """
        cdef Py_ssize_t width = self.width
        cdef const double *row = view.ratios + mask * width
        cdef double unit
        if width == 1:
            near_sum[0] = 0.0
            far_sum[0] = 1.0
            return 0.0
        if row[view.base_column] == 1.0:
            near_sum[0] = skb_sums_at(row, self.place, near, far_sum, width)
            far_sum[0] += 1.0
            return 0.0
        unit = max(0.0, skb_max_from(row, self.place, near, width))
        near_sum[0] = skb_exp_sums_at(row, self.place, near, unit, far_sum, width)
        far_sum[0] += skb_exp(-unit)
        return unit

    cdef double look_up_exactly(
        self, Py_ssize_t node, double near, int64_t allowed, int64_t needed,
        double total
    ) noexcept nogil:
        """As :meth:`look_up`, from positive terms, for any range of scores.

        `total` is the log sum over the sets with an outsider in block `near`, or
        -inf if it is too small to be known.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t slot
            double log_sum
        self.counts[1] += 1
        if total == -INFINITY:
            total = self.sum_next_outsiders(node, near, allowed)
        if needed == 0:
            return total
        slot = self.needed_row(node, allowed, needed)
        log_sum = self.slot_log_sum[slot]
        if log_sum == -INFINITY:
            return total
        if self.width > 1:
            if self.slot_ratios[slot, view.base_column] == 1.0:
                log_sum += skb_log(1.0 + skb_sum_from(
                    &self.slot_ratios[slot, 0], self.place, near + 0.25,
                    self.width,
                ))
            else:
                log_sum += skb_log_add_exp(0.0, skb_log_sum_exp_from(
                    &self.slot_ratios[slot, 0], self.place, near + 0.25,
                    self.width,
                ))
        return skb_log_add_exp(total, log_sum)

    cdef Py_ssize_t needed_row(
        self, Py_ssize_t node, int64_t allowed, int64_t needed
    ) noexcept nogil:
        """Slot of the sums over the subsets of `allowed` that meet `needed`.

        As in the tables, the log sum of the base column and the ratios to it, or
        their logarithms where one is too large.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t width = self.width, slot, j
            int64_t key = allowed << 32 | needed, subset
            uint64_t mixed = (<uint64_t> key ^ <uint64_t> node << 20)
            double *ratios
        mixed = (mixed ^ mixed >> 31) * <uint64_t> 0x9e3779b97f4a7c15
        slot = <Py_ssize_t> (mixed >> 33) & (self.n_slots - 1)
        if self.slot_node[slot] == node and self.slot_key[slot] == key:
            return slot
        self.counts[2] += 1
        self.slot_node[slot] = node
        self.slot_key[slot] = key
        ratios = &self.slot_ratios[slot, 0]
        for j in range(width):
            self.top[j] = -INFINITY
            ratios[j] = 0.0
        subset = allowed
        while subset:
            if subset & needed:
                if width == 1:
                    self.top[0] = max(self.top[0], view.scores[subset])
                else:
                    skb_maximum(&self.top[0], view.scores + subset * width, width)
            subset = (subset - 1) & allowed
        if self.top[view.base_column] == -INFINITY:
            self.slot_log_sum[slot] = -INFINITY
            return slot
        for j in range(width):
            if self.top[j] == -INFINITY:
                self.top[j] = 0.0  # nothing, but inf - inf is no number
        subset = allowed
        while subset:
            if subset & needed:
                if width == 1:
                    ratios[0] += skb_exp(view.scores[subset] - self.top[0])
                else:
                    skb_add_exp(
                        ratios, view.scores + subset * width, &self.top[0], width
                    )
            subset = (subset - 1) & allowed
        if width == 1:
            self.slot_log_sum[slot] = self.top[0] + skb_log(ratios[0])
            ratios[0] = 1.0
            return slot
        skb_log_or_nothing(ratios, width)
        for j in range(width):
            self.top[j] += ratios[j]
        self.slot_log_sum[slot] = self.top[view.base_column]
        if skb_ratios(
            ratios, &self.top[0], self.slot_log_sum[slot], width
        ) > LARGEST_LOG_RATIO:
            for j in range(width):
                ratios[j] = self.top[j] - self.slot_log_sum[slot]
        return slot

    cdef double sum_next_outsiders(
        self, Py_ssize_t node, double near, int64_t allowed
    ) noexcept nogil:
        """Log sum over the sets with an outsider in block `near`, from the scores."""
        cdef:
            Py_ssize_t j
            double total = -INFINITY
        if self.width > 1:
            for j in range(self.n):
                if self.place[j] == near and self.views.bits[node * self.n + j] < 0:
                    total = skb_log_add_exp(total, self.sum_column(node, j, allowed, 0))
        return total

    cdef double sum_column(
        self, Py_ssize_t node, Py_ssize_t column, int64_t mask, int64_t needed
    ) noexcept nogil:
        """Log sum over the subsets of a mask in one column, from the scores.

        Over those that meet `needed`, unless that is 0.
        """
        cdef:
            const double *scores = self.views.nodes[node].scores + column
            int64_t subset = mask
            double score, top = -INFINITY, total = 0.0
        self.counts[3] += 1
        while True:
            score = -INFINITY
            if needed == 0 or subset & needed:
                score = scores[subset * self.width]
            if score > top:
                total = 1.0 + total * skb_exp(top - score)
                top = score
            elif score > -INFINITY:
                total += skb_exp(score - top)
            if subset == 0:
                break
            subset = (subset - 1) & mask
        return top + skb_log(total) if top > -INFINITY else top

    cdef double look_up_block(self, Py_ssize_t b, double near) noexcept nogil:
        """New scores of a block's nodes; returns the change of their sum."""
        return self.look_up_range(self.start[b], self.start[b + 1], near)

    cdef double look_up_range(
        self, Py_ssize_t first, Py_ssize_t end, double near
    ) noexcept nogil:
        """New scores of the nodes at some positions; the change of their sum."""
        cdef Py_ssize_t p, node
        cdef double change = 0.0
        if near < INFINITY:
            for p in range(first, end):
                self.find_masks(self.order[p], near)
        for p in range(first, end):
            node = self.order[p]
            self.new_score[node] = self.look_up(node, near)
            change += self.new_score[node] - self.score[node]
            if change == -INFINITY:
                break  # whatever the others are: never accepted
        return change

    cdef void keep_range(self, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t p
        for p in range(first, end):
            self.score[self.order[p]] = self.new_score[self.order[p]]

    cdef inline bint accepts(self, double log_ratio) noexcept nogil:
        if log_ratio >= 0:
            return True
        return uniform(self.bitgen) < skb_exp(log_ratio)

    # ------------------------------------------------------------------ swaps

    cdef void exchange(self, Py_ssize_t left, Py_ssize_t right) noexcept nogil:
        """Exchange two nodes in the partition; the scores stay."""
        cdef Py_ssize_t p = self.position[left], q = self.position[right]
        cdef double b = self.block[left]
        self.block[left] = self.block[right]
        self.block[right] = b
        self.order[p] = right
        self.order[q] = left
        self.position[left] = q
        self.position[right] = p

    cdef double propose_swap(
        self, Py_ssize_t left, Py_ssize_t right
    ) noexcept nogil:
        """Exchange a node with one further right; returns the change in log score.

        Blocks from the one before `left` to the one before `right` see another
        node; in the last block only the newcomer does.
        """
        cdef:
            Py_ssize_t a = <Py_ssize_t> self.block[left]
            Py_ssize_t b = <Py_ssize_t> self.block[right], c
            double change = 0.0
        self.exchange(left, right)
        for c in range(max(a - 1, 0), b):
            change += self.look_up_block(c, c + 1)
            if change == -INFINITY:
                return change
        self.new_score[left] = self.look_up_one(left, self.next_block(b))
        return change + (self.new_score[left] - self.score[left])

    cdef bint try_swap(self, Py_ssize_t left, Py_ssize_t right) noexcept nogil:
        cdef Py_ssize_t a, b
        cdef double change
        if self.block[left] > self.block[right]:
            left, right = right, left
        a = <Py_ssize_t> self.block[left]
        b = <Py_ssize_t> self.block[right]
        change = self.propose_swap(left, right)
        if not self.accepts(change):
            self.exchange(right, left)
            return False
        self.keep_range(self.start[max(a - 1, 0)], self.start[b])
        self.score[left] = self.new_score[left]
        self.current += change
        self.inspect()
        return True

    cdef bint swap_any(self) noexcept nogil:
        """Two nodes of different blocks, each such pair as probable as another."""
        cdef Py_ssize_t i = 0, j = 0
        if self.n_blocks == 1:
            return False
        while self.block[i] == self.block[j]:
            i = below(self.bitgen, self.n)
            j = below(self.bitgen, self.n)
        return self.try_swap(i, j)

    cdef bint swap_adjacent(self) noexcept nogil:
        """Two nodes of adjacent blocks, each such pair as probable as another."""
        cdef Py_ssize_t b, pairs, chosen
        if self.n_blocks == 1:
            return False
        pairs = 0
        for b in range(self.n_blocks - 1):
            pairs += self.size(b) * self.size(b + 1)
        chosen = below(self.bitgen, pairs)
        for b in range(self.n_blocks - 1):
            pairs = self.size(b) * self.size(b + 1)
            if chosen < pairs:
                break
            chosen -= pairs
        return self.try_swap(
            self.order[self.start[b] + chosen % self.size(b)],
            self.order[self.start[b + 1] + chosen // self.size(b)],
        )

    cdef inline Py_ssize_t size(self, Py_ssize_t b) noexcept nogil:
        return self.start[b + 1] - self.start[b]

    # ----------------------------------------------------------- split or join

    cdef double log_neighbors(
        self, Py_ssize_t b, Py_ssize_t n_left, Py_ssize_t n_joined
    ) noexcept nogil:
        """Log number of partitions that a split or join leads to.

        Of the partition in which block b is split, with `n_left` nodes to the left,
        or in which b and the next `n_joined` are one block; of the present one if
        both are 0.
        """
        cdef:
            Py_ssize_t largest = 1, m = self.n_blocks - n_joined + (n_left > 0)
            Py_ssize_t c, size
            double total
        for c in range(self.n_blocks):
            largest = max(largest, self.size(c))
        if n_joined:
            largest = max(largest, self.start[b + 1 + n_joined] - self.start[b])
        # in units of 2^largest, which may be too large a number
        total = ldexp(<double> (m - 1), <int> -largest)
        c = 0
        while c < self.n_blocks:
            size = self.size(c)
            if c == b and n_left:
                total += ways(n_left, largest)
                size -= n_left
            elif c == b and n_joined:
                size = self.start[b + 1 + n_joined] - self.start[b]
                c += n_joined
            total += ways(size, largest)
            c += 1
        return largest * LOG_2 + skb_log(total)

    cdef bint split_or_join(self) noexcept nogil:
        """A random neighbor, each as probable as another."""
        cdef:
            Py_ssize_t m = self.n_blocks, b, c, p, q, n_left, largest = 1
            double unit, total, chosen
        for b in range(m):
            largest = max(largest, self.size(b))
        unit = ldexp(1.0, <int> -largest)
        total = (m - 1) * unit
        for b in range(m):
            total += ways(self.size(b), largest)
        chosen = uniform(self.bitgen) * total
        if chosen < (m - 1) * unit:
            return self.try_join(<Py_ssize_t> floor(chosen / unit))
        chosen -= (m - 1) * unit
        b = -1
        for c in range(m):
            if self.size(c) > 1:
                b = c  # the last one, where rounding leaves some of `chosen`
                chosen -= ways(self.size(c), largest)
                if chosen < 0:
                    break
        while True:
            # each node to the left or the right: every pair of sets, as long as
            # neither is empty
            q = self.start[b]
            for p in range(self.start[b], self.start[b + 1]):
                if self.bitgen.next_uint32(self.bitgen.state) >> 31:
                    self.exchange_within(p, q)
                    q += 1
            n_left = q - self.start[b]
            if 0 < n_left < self.size(b):
                return self.try_split(b, n_left)

    cdef inline void exchange_within(self, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
        """Exchange the nodes at two positions in one block."""
        cdef Py_ssize_t node = self.order[p]
        self.order[p] = self.order[q]
        self.order[q] = node
        self.position[self.order[p]] = p
        self.position[node] = q

    cdef double propose_split(self, Py_ssize_t b, Py_ssize_t n_left) noexcept nogil:
        """Part the first nodes of block b from the rest; the change in log score.

        The rest, to the right, keep their parent sets; they are in block b + 1/2
        until :meth:`number_blocks`.
        """
        cdef Py_ssize_t p, middle = self.start[b] + n_left
        cdef double change = 0.0
        for p in range(middle, self.start[b + 1]):
            self.block[self.order[p]] = b + 0.5
        if b > 0:
            change = self.look_up_block(b - 1, b)
            if change == -INFINITY:
                return change
        return change + self.look_up_range(self.start[b], middle, b + 0.5)

    cdef bint try_split(self, Py_ssize_t b, Py_ssize_t n_left) noexcept nogil:
        cdef Py_ssize_t c, p, middle = self.start[b] + n_left
        cdef double change = self.propose_split(b, n_left)
        if not self.accepts(
            change + (self.log_neighbors(b, 0, 0) - self.log_neighbors(b, n_left, 0))
        ):
            for p in range(middle, self.start[b + 1]):
                self.block[self.order[p]] = b
            return False
        self.keep_range(self.start[max(b - 1, 0)], middle)
        for c in range(self.n_blocks, b, -1):
            self.start[c + 1] = self.start[c]
        self.start[b + 1] = middle
        self.n_blocks += 1
        self.number_blocks(b + 1)
        self.current += change
        self.inspect()
        return True

    cdef double propose_join(self, Py_ssize_t b) noexcept nogil:
        """Put the nodes of block b into the next; the change in log score."""
        cdef Py_ssize_t p
        cdef double change = 0.0
        for p in range(self.start[b], self.start[b + 1]):
            self.block[self.order[p]] = b + 1
        if b > 0:
            change = self.look_up_block(b - 1, b + 1)
            if change == -INFINITY:
                return change
        return change + self.look_up_block(b, self.next_block(b + 1))

    cdef bint try_join(self, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t c, p
        cdef double change = self.propose_join(b)
        if not self.accepts(
            change + (self.log_neighbors(b, 0, 0) - self.log_neighbors(b, 0, 1))
        ):
            for p in range(self.start[b], self.start[b + 1]):
                self.block[self.order[p]] = b
            return False
        self.keep_range(self.start[max(b - 1, 0)], self.start[b + 1])
        self.n_blocks -= 1
        for c in range(b + 1, self.n_blocks + 1):
            self.start[c] = self.start[c + 1]
        self.number_blocks(b)
        self.current += change
        self.inspect()
        return True

    # -------------------------------------------------------------- relocation

    cdef Py_ssize_t take_out(self, Py_ssize_t node) noexcept nogil:
        """Take a node out of the partition, and its block if it was alone.

        Returns the slot where it was: 2 b + 1 is block b of those that are left,
        2 b the gap before it.
        """
        cdef:
            Py_ssize_t b = <Py_ssize_t> self.block[node], c, p
            bint alone = self.size(b) == 1
        for p in range(self.position[node], self.n - 1):
            self.order[p] = self.order[p + 1]
            self.position[self.order[p]] = p
        for c in range(b + 1, self.n_blocks + 1):
            self.start[c] -= 1
        self.block[node] = -1.0
        if alone:
            for c in range(b, self.n_blocks):
                self.start[c] = self.start[c + 1]
            self.n_blocks -= 1
            self.number_blocks(b)
        return 2 * b + (not alone)

    cdef void put_in(self, Py_ssize_t node, Py_ssize_t slot) noexcept nogil:
        """Put a node that was taken out into a slot."""
        cdef Py_ssize_t b = slot // 2, c, p, to
        if slot % 2 == 0:
            for c in range(self.n_blocks, b - 1, -1):
                self.start[c + 1] = self.start[c]
            self.n_blocks += 1
        to = self.start[b + 1]
        for p in range(self.n - 1, to, -1):
            self.order[p] = self.order[p - 1]
        self.order[to] = node
        for c in range(b + 1, self.n_blocks + 1):
            self.start[c] += 1
        self.number_blocks(b)

    cdef void propose_relocation(
        self, Py_ssize_t node, Py_ssize_t from_
    ) noexcept nogil:
        """Log scores of the partition with `node`, taken out, in each slot.

        Where it goes concerns a node of block c in one of four ways: [0] `node` is
        in c or to the left, and no parent; [1] it is alone between c and c + 1, and
        the one needed parent; [2] it is in c + 1, one of the needed; [3] it is
        further right, one of the permitted. Its own parents are the same whether it
        goes into a block or into the gap behind.
        """
        cdef:
            Py_ssize_t m = self.n_blocks, b = from_ // 2, c, p, other, now
            double near, total
            int way
        for c in range(m):
            # which of the four ways is now, and so known
            if c >= b:
                now = 0
            elif c < b - 1:
                now = 3
            else:
                now = 2 if from_ % 2 else 1
            for way in range(4):
                self.block_score[way, c] = 0.0
                if way >= 2 and c == m - 1:
                    continue  # there is nothing further right
                if way == 0:
                    self.block[node] = -1.0
                elif way == 1:
                    self.block[node] = c + 0.5
                elif way == 2:
                    self.block[node] = c + 1
                else:
                    self.block[node] = self.n
                near = c + 0.5 if way == 1 else self.next_block(c)
                if way != now and near < INFINITY:
                    for p in range(self.start[c], self.start[c + 1]):
                        self.find_masks(self.order[p], near)
                for p in range(self.start[c], self.start[c + 1]):
                    other = self.order[p]
                    if way == now:
                        self.relative_score[way, other] = self.score[other]
                    else:
                        self.relative_score[way, other] = self.look_up(other, near)
                    self.block_score[way, c] += self.relative_score[way, other]
        self.block[node] = -1.0
        for c in range(m + 1):
            self.own_score[c] = self.look_up_one(node, c if c < m else INFINITY)
        # From the left, those that may have it as a parent, the last block among
        # them in a way of its own; from the right, those that may not.
        total = 0.0
        for c in range(m + 1):
            self.slot_total[2 * c] = self.own_score[c] + total
            if c < m:
                self.slot_total[2 * c + 1] = self.own_score[c + 1] + total
            if c > 0:
                self.slot_total[2 * c] += self.block_score[1, c - 1]
                if c < m:
                    self.slot_total[2 * c + 1] += self.block_score[2, c - 1]
                total += self.block_score[3, c - 1]
        total = 0.0
        for c in range(m - 1, -1, -1):
            total += self.block_score[0, c]
            self.slot_total[2 * c + 1] += total
            self.slot_total[2 * c] += total

    cdef void apply_relocation(
        self, Py_ssize_t node, Py_ssize_t slot
    ) noexcept nogil:
        cdef Py_ssize_t b = slot // 2, c, p
        cdef int way
        for c in range(self.n_blocks):
            if c >= b:
                way = 0
            elif c < b - 1:
                way = 3
            else:
                way = 2 if slot % 2 else 1
            for p in range(self.start[c], self.start[c + 1]):
                self.score[self.order[p]] = self.relative_score[way, self.order[p]]
        self.score[node] = self.own_score[b + slot % 2]
        self.current = self.slot_total[slot]
        self.put_in(node, slot)

    cdef bint relocate(self, Py_ssize_t node) noexcept nogil:
        cdef:
            Py_ssize_t from_ = self.take_out(node), s, slot
            Py_ssize_t n_slots = 2 * self.n_blocks + 1
            double top = -INFINITY, total = 0.0, u
        self.propose_relocation(node, from_)
        for s in range(n_slots):
            top = max(top, self.slot_total[s])
        for s in range(n_slots):
            self.weight[s] = skb_exp(self.slot_total[s] - top)
            total += self.weight[s]
        u = uniform(self.bitgen) * total
        slot = from_
        for s in range(n_slots):
            u -= self.weight[s]
            if u < 0:
                slot = s
                break
        self.apply_relocation(node, slot)
        self.inspect()
        return slot != from_

    # ----------------------------------------------------------------- running

    cdef void step(self) noexcept nogil:
        cdef double u = uniform(self.bitgen)
        cdef int move
        cdef bint changed
        if u < self.swap_below:
            move = SWAP
            changed = self.swap_any()
        elif u < self.adjacent_below:
            move = ADJACENT_SWAP
            changed = self.swap_adjacent()
        elif u < self.split_below:
            move = SPLIT_JOIN
            changed = self.split_or_join()
        elif u < self.relocation_below:
            move = RELOCATION
            changed = self.relocate(below(self.bitgen, self.n))
        else:
            move = REVERSAL
            changed = self.reverse_edge()
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t t
        if self.n < 2:
            return  # one partition only: every step stays on it
        with nogil:
            self.refresh()
            for t in range(n_steps):
                self.step()
                if t & 1023 == 1023:
                    self.refresh()

    # -------------------------------------------------- one move, for the tests

    def swap_change(self, Py_ssize_t i, Py_ssize_t j):
        """Change in log score if two nodes of different blocks were exchanged."""
        cdef double change
        if self.block[i] > self.block[j]:
            i, j = j, i
        change = self.propose_swap(i, j)
        self.exchange(j, i)
        return change

    def split_change(self, left):
        """Change in log score, and in the log number of neighbors, of a split.

        The nodes `left`, of one block, would be parted from the rest of it.
        """
        cdef Py_ssize_t b = <Py_ssize_t> self.block[left[0]], i
        cdef double change, neighbors
        for i in range(len(left)):
            self.exchange_within(self.position[left[i]], self.start[b] + i)
        change = self.propose_split(b, len(left))
        neighbors = self.log_neighbors(b, len(left), 0) - self.log_neighbors(b, 0, 0)
        self.number_blocks(b)
        return change, neighbors

    def join_change(self, Py_ssize_t b):
        """Change in log score, and in the log number of neighbors, of a join."""
        cdef double change = self.propose_join(b)
        cdef double neighbors
        neighbors = self.log_neighbors(b, 0, 1) - self.log_neighbors(b, 0, 0)
        self.number_blocks(b)
        return change, neighbors

    @property
    def log_n_neighbors(self):
        """Log number of partitions that a split or join leads to."""
        return self.log_neighbors(0, 0, 0)

    def relocation_scores(self, Py_ssize_t node):
        """Log scores with `node` put into each slot.

        With the others in m blocks, slot 2 b + 1 is block b, slot 2 b the gap
        before it, and slot 2 m that behind the last.
        """
        cdef Py_ssize_t from_ = self.take_out(node)
        self.propose_relocation(node, from_)
        totals = np.array(self.slot_total[:2 * self.n_blocks + 1])
        self.put_in(node, from_)
        return totals

    # ------------------------------------------------------------ drawing a DAG

    def draw_dag(self, unsigned char[:, ::1] packed):
        """Draw a DAG from the posterior given the partition.

        Parameters
        ----------
        packed : (n, ceil(n / 8)) array of bytes
            Gets the adjacency matrix, A[i, j] = 1 for i -> j, with eight columns to
            a byte as in ``numpy.packbits``.

        Returns
        -------
        log_score : float
            The log score of the DAG.
        """
        cdef Py_ssize_t i, k
        cdef const NodeView *view
        cdef double total = 0.0
        with nogil:
            memset(&packed[0, 0], 0, packed.shape[0] * packed.shape[1])
            self.draw_all_parents()
            for i in range(self.n):
                view = &self.views.nodes[i]
                total += view.scores[
                    self.dag_subset[i] * self.width + self.dag_column[i]
                ]
                for k in range(view.n_candidates):
                    if self.dag_subset[i] >> k & 1:
                        mark_edge(packed, view.candidates[k], i)
                if self.dag_column[i] != view.base_column:
                    mark_edge(packed, self.dag_column[i], i)
        return total

    cdef void draw_parents(
        self, Py_ssize_t node, double near, double log_total
    ) noexcept nogil:
        """Draw a parent set: its column, then its subset.

        From those that :meth:`look_up` sums to `log_total`; the masks must have
        been found. Where rounding leaves something of the uniform number, the most
        probable choice is taken.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t width = self.width, column = view.base_column, j, slot
            int64_t allowed = self.allowed[node], needed = self.needed[node], rest
            const double *row
            const double *without
            double base, part, scale, share, u, log_sum = 0.0, top = -1.0
            bint exact, by_difference, by_outsider = False
        self.dag_subset[node] = 0
        self.dag_column[node] = column
        if near == INFINITY:
            return
        u = uniform(self.bitgen)
        base = view.log_sums[allowed]
        row = view.ratios + allowed * width
        if width > 1:
            # an outsider in the next block, with any subset
            exact = log_total - base < skb_log(LEAST_SHARE) + 1.0
            for j in range(self.n):
                if self.place[j] != near or self.views.bits[node * self.n + j] >= 0:
                    continue
                if exact:
                    part = self.sum_column(node, j, allowed, 0)
                else:
                    part = base + log_entry(view, row, j)
                share = skb_exp(part - log_total)
                u -= share
                if share > top or u < 0:
                    top, column, log_sum, by_outsider = share, j, part, True
                    if u < 0:
                        break
        if u >= 0 and needed:
            # none, or an outsider further right, with a subset that meets the need:
            # by differences, too, unless what the node has is a small part of them
            rest = allowed & ~needed
            without = row
            scale = 0.0
            if view.log_sums[rest] > -INFINITY:
                without = view.ratios + rest * width
                scale = skb_exp(view.log_sums[rest] - base)
            by_difference = (
                row[view.base_column] == 1.0
                and without[view.base_column] == 1.0
                and log_total - base > LOG_SAFE_SHARE
            )
            if not by_difference:
                slot = self.needed_row(node, allowed, needed)
                base = self.slot_log_sum[slot]
                row = &self.slot_ratios[slot, 0]
            for j in range(-1, self.n if width > 1 and base > -INFINITY else 0):
                if j >= 0 and (
                    self.place[j] <= near or self.views.bits[node * self.n + j] >= 0
                ):
                    continue
                if base == -INFINITY:
                    break
                slot = view.base_column if j < 0 else j
                if by_difference:
                    share = row[slot] - scale * without[slot]
                    part = base + skb_log(share) if share > 0.0 else -INFINITY
                else:
                    part = base + log_entry(view, row, slot)
                share = skb_exp(part - log_total)
                u -= share
                if share > top or u < 0:
                    top, column, log_sum, by_outsider = share, slot, part, False
                    if u < 0:
                        break
            if by_difference and not by_outsider:
                share = row[column] - scale * without[column]
                if share < LEAST_DIFFERENCE * row[column]:
                    log_sum = self.sum_column(node, column, allowed, needed)
        self.dag_column[node] = column
        self.dag_subset[node] = self.draw_subset(
            view, column, allowed, 0 if by_outsider else needed, log_sum
        )

    cdef void draw_all_parents(self) noexcept nogil:
        """Draw a DAG given the partition."""
        cdef Py_ssize_t b, p
        cdef double near
        for b in range(self.n_blocks):
            near = self.next_block(b)
            if near < INFINITY:
                for p in range(self.start[b], self.start[b + 1]):
                    self.find_masks(self.order[p], near)
            for p in range(self.start[b], self.start[b + 1]):
                self.draw_parents(self.order[p], near, self.score[self.order[p]])

    cdef int64_t draw_subset(
        self, const NodeView *view, Py_ssize_t column, int64_t allowed,
        int64_t needed, double log_sum
    ) noexcept nogil:
        """Draw a subset of `allowed`, one that meets `needed` unless that is 0.

        `log_sum` is the log sum of their scores in the column.
        """
        cdef int64_t subset = allowed, chosen = allowed
        cdef double u = uniform(self.bitgen), top = -INFINITY, score
        while True:
            if needed == 0 or subset & needed:
                score = view.scores[subset * self.width + column]
                u -= skb_exp(score - log_sum)
                if score > top or u < 0:
                    top = score
                    chosen = subset
                    if u < 0:
                        break
            if subset == 0:
                break
            subset = (subset - 1) & allowed
        return chosen

    # ---------------------------------------------------------------- reversal

    cdef inline bint has_parent(
        self, Py_ssize_t node, const signed char *among
    ) noexcept nogil:
        """Whether the DAG gives a node a parent among those marked."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t rest = self.dag_subset[node]
        while rest:
            if among[view.candidates[skb_lowest_bit(rest)]]:
                return True
            rest &= rest - 1
        return (
            self.dag_column[node] != view.base_column
            and among[self.dag_column[node]]
        )

    cdef inline Py_ssize_t n_parents(self, Py_ssize_t node) noexcept nogil:
        cdef int64_t rest = self.dag_subset[node]
        cdef Py_ssize_t count = (
            self.dag_column[node] != self.views.nodes[node].base_column
        )
        while rest:
            rest &= rest - 1
            count += 1
        return count

    cdef Py_ssize_t parent_of(self, Py_ssize_t node, Py_ssize_t index) noexcept nogil:
        """One of a node's parents in the DAG."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t rest = self.dag_subset[node]
        while rest:
            if index == 0:
                return view.candidates[skb_lowest_bit(rest)]
            rest &= rest - 1
            index -= 1
        return self.dag_column[node]

    cdef void find_descendants(
        self, Py_ssize_t node, Py_ssize_t other, signed char *marks
    ) noexcept nogil:
        """Mark a node and its descendants in the DAG, `other` having no parents."""
        cdef Py_ssize_t p, child
        memset(marks, 0, self.n)
        marks[node] = 1
        for p in range(self.start[<Py_ssize_t> self.block[node]] - 1, -1, -1):
            child = self.order[p]
            if child != other:
                marks[child] = self.has_parent(child, marks)

    cdef double sum_with(
        self, Py_ssize_t node, Py_ssize_t parent, const signed char *barred, bint draw
    ) noexcept nogil:
        """Log sum over the parent sets with one parent, none barred; draw one, too.

        That is a lookup with the parent in the next block and all others behind.
        """
        cdef Py_ssize_t k
        cdef double total
        for k in range(self.n):
            self.free[k] = -1.0 if barred[k] else 2.0
        self.free[parent] = 1.0
        self.place = &self.free[0]
        self.find_masks(node, 1.0)
        total = self.look_up(node, 1.0)
        if draw and total > -INFINITY:
            self.draw_parents(node, 1.0, total)
        self.place = &self.block[0]
        return total

    cdef double sum_without(
        self, Py_ssize_t node, const signed char *barred,
        const signed char *barred_too, bint draw
    ) noexcept nogil:
        """Log sum over the parent sets in which none is barred; draw one, too."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t j, column = view.base_column
            int64_t allowed = 0
            const double *row
            double log_sum, total = 0.0, share, u, top
        for j in range(self.n):
            self.free[j] = -1.0 if barred[j] or barred_too[j] else 2.0
        for j in range(view.n_candidates):
            allowed |= <int64_t> (self.free[view.candidates[j]] > 0.0) << j
        log_sum = view.log_sums[allowed]
        if log_sum == -INFINITY:
            return log_sum
        row = view.ratios + allowed * self.width
        if self.width > 1:
            if row[view.base_column] == 1.0:
                total = skb_log(
                    1.0 + skb_sum_from(row, &self.free[0], 1.0, self.width)
                )
            else:
                total = skb_log_add_exp(
                    0.0, skb_log_sum_exp_from(row, &self.free[0], 1.0, self.width)
                )
        if not draw:
            return log_sum + total
        top = skb_exp(-total)
        u = uniform(self.bitgen) - top
        for j in range(self.n if self.width > 1 else 0):
            if u < 0:
                break
            if self.free[j] > 0.0 and self.views.bits[node * self.n + j] < 0:
                share = skb_exp(log_entry(view, row, j) - total)
                u -= share
                if u < 0 or share > top:
                    top, column = share, j
        total += log_sum
        if column != view.base_column:
            log_sum += log_entry(view, row, column)
        self.dag_column[node] = column
        self.dag_subset[node] = self.draw_subset(view, column, allowed, 0, log_sum)
        return total

    cdef bint reverse_edge(self) noexcept nogil:
        """Turn an edge of a DAG around, both its ends getting new parents.

        Both ends lose their parents; the former parent draws new ones with the
        former child among them, then that draws its own, without making a cycle. The
        way back begins with the same graph without their parents, which is why sums
        over what could have been drawn are all that acceptance takes.
        """
        cdef:
            Py_ssize_t n_edges = 0, new_edges, i, j, chosen
            signed char *of_i = &self.descends[0, 0]
            signed char *of_j = &self.descends[1, 0]
            double log_ratio
        if self.n_blocks == 1:
            return False
        self.draw_all_parents()
        for j in range(self.n):
            n_edges += self.n_parents(j)
        chosen = below(self.bitgen, n_edges)
        j = 0
        while chosen >= self.n_parents(j):
            chosen -= self.n_parents(j)
            j += 1
        i = self.parent_of(j, chosen)
        new_edges = n_edges - self.n_parents(i) - self.n_parents(j)
        self.find_descendants(i, j, of_i)
        self.find_descendants(j, i, of_j)
        # the way back: j with i, then i; the way there: i with j, then j
        log_ratio = -self.sum_with(j, i, of_j, False)
        log_ratio -= self.sum_without(i, of_i, of_j, False)
        log_ratio += self.sum_with(i, j, of_i, True)
        if log_ratio == -INFINITY:
            return False
        log_ratio += self.sum_without(j, of_i, of_j, True)
        if log_ratio == -INFINITY:
            return False
        new_edges += self.n_parents(i) + self.n_parents(j)
        if not self.accepts(
            log_ratio + skb_log(<double> n_edges) - skb_log(<double> new_edges)
        ):
            return False
        self.move_to_dag()
        return True

    cdef void move_to_dag(self) noexcept nogil:
        """Move to the partition of the DAG."""
        cdef Py_ssize_t p, b, node, rest, deepest = 0
        cdef const NodeView *view
        cdef int64_t parents
        cdef bint changed = True
        for node in range(self.n):
            self.depth[node] = 0
        while changed:
            changed = False
            for p in range(self.n - 1, -1, -1):
                node = self.order[p]
                view = &self.views.nodes[node]
                b = 0
                parents = self.dag_subset[node]
                while parents:
                    rest = view.candidates[skb_lowest_bit(parents)]
                    b = max(b, self.depth[rest] + 1)
                    parents &= parents - 1
                if self.dag_column[node] != view.base_column:
                    b = max(b, self.depth[self.dag_column[node]] + 1)
                if b != self.depth[node]:
                    self.depth[node] = b
                    deepest = max(deepest, b)
                    changed = True
        self.n_blocks = deepest + 1
        # new_score is free: it keeps the present order meanwhile
        for p in range(self.n):
            self.new_score[p] = self.order[p]
        rest = 0
        for b in range(self.n_blocks):
            self.start[b] = rest
            for p in range(self.n):
                node = <Py_ssize_t> self.new_score[p]
                if self.depth[node] == deepest - b:
                    self.order[rest] = node
                    rest += 1
        self.start[self.n_blocks] = rest
        self.number_blocks(0)
        for b in range(self.n_blocks):
            self.look_up_block(b, self.next_block(b))
            self.keep_range(self.start[b], self.start[b + 1])
        self.refresh()
        self.inspect()


cdef inline double ways(Py_ssize_t size, Py_ssize_t unit) noexcept nogil:
    """Ways to split a block into an ordered pair, in units of 2^unit."""
    return ldexp(1.0, <int> (size - unit)) - ldexp(2.0, <int> -unit)


cdef inline double log_entry(
    const NodeView *view, const double *row, Py_ssize_t column
) noexcept nogil:
    """Log ratio in a row that may hold ratios or their logarithms."""
    if row[view.base_column] == 0.0:
        return row[column]
    return skb_log(row[column]) if row[column] > 0.0 else -INFINITY


cdef inline void mark_edge(
    unsigned char[:, ::1] packed, Py_ssize_t parent, Py_ssize_t child
) noexcept nogil:
    packed[parent, child >> 3] |= <unsigned char> (128 >> (child & 7))
