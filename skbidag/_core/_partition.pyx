# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Partition MCMC (Kuipers & Moffa 2017; Kuipers, Suter & Moffa 2022, section 4).

State
    An ordered partition of the nodes into blocks, left to right. The parents of a
    node stand in blocks to the right of its own, at least one of them in the very next
    block; the last block holds the roots. Nodes in the background are in no block: they
    stand right of all, and a node whose parents are all there is a root. So each DAG
    has one partition (peel off the nodes without parents, block by block), and sampling
    partitions by the summed scores of their DAGs gives each DAG its own weight, once.
    With each node: its log score, the sum over the parent sets that its block permits.
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
    Every node's score is the look-up for the present partition, in full and without
    memory, so it does not drift; the running total is added up anew after every 1024
    steps. A chain never stands on a partition without a DAG (score -inf).
Cost
    A look-up reads two rows of the tables, see `_restricted.pyx`. A swap looks up the
    nodes from the block before the left one to the right one; a split or join those
    of two blocks; a relocation three times all; a reversal draws the parents of all
    nodes and looks up four, see `_reversal.pyx`.

How parents are drawn given the partition says `_parents.pxd`.
"""

cimport cython
from libc.math cimport INFINITY, fabs, floor, ldexp
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from skbidag._core._parents cimport ParentSet, mark_edges
from skbidag._core._random cimport below, bitgen_of, skb_bitgen, uniform
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._reversal cimport EdgeReversal
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_exp, skb_log


cdef enum:
    SWAP, ADJACENT_SWAP, SPLIT_JOIN, RELOCATION, REVERSAL

cdef enum:
    NO_PARENT, THE_NEEDED, ONE_OF_THE_NEEDED, PERMITTED  # see `way_of`

cdef double LOG_2 = 0.69314718055994530942


@cython.final
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
        RestrictedSums sums
        EdgeReversal reversal
        object bit_generator
        skb_bitgen *bitgen
        Py_ssize_t n
        Py_ssize_t n_main
        double swap_below
        double adjacent_below
        double split_below
        double relocation_below
        # state: the nodes by blocks; where each of the blocks starts, then n; the
        # place of each node in `order`; and its block, with -1 in the padding, and
        # infinity in the background, of which `order` has no nodes
        Py_ssize_t n_blocks
        Py_ssize_t[::1] order
        Py_ssize_t[::1] start
        Py_ssize_t[::1] position
        double[::1] block
        double[::1] score
        double current
        # the best partition seen
        double[::1] best_block
        readonly double best_log_score
        # what a proposal would change, by node
        double[::1] new_score
        # relocation: the others' scores by node, the sums of their blocks, the
        # score of the node itself right before each block, and the slots
        double[:, ::1] relative_score
        double[:, ::1] block_score
        double[::1] own_score
        double[::1] slot_total
        double[::1] weight
        int64_t[::1] proposed
        int64_t[::1] accepted

    def __init__(
        self, TableViews views, bit_generator, partition, move_probabilities
    ):
        cdef Py_ssize_t n = views.n_nodes, i
        self.views = views
        self.sums = RestrictedSums(views)
        self.reversal = EdgeReversal(views, self.sums)
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.n = n
        self.n_main = views.n_main
        self.swap_below = move_probabilities[SWAP]
        self.adjacent_below = self.swap_below + move_probabilities[ADJACENT_SWAP]
        self.split_below = self.adjacent_below + move_probabilities[SPLIT_JOIN]
        self.relocation_below = self.split_below + move_probabilities[RELOCATION]
        self.order = np.zeros(n, dtype=np.intp)
        self.start = np.zeros(n + 2, dtype=np.intp)
        self.position = np.zeros(n, dtype=np.intp)
        self.block = np.full(views.n_places, -1.0)
        for i in range(n):
            if views.in_background[i]:
                self.block[i] = INFINITY
        self.score = np.zeros(n)
        self.best_block = np.zeros(n)
        self.new_score = np.zeros(n)
        self.relative_score = np.zeros((4, n))
        self.block_score = np.zeros((4, n + 1))
        self.own_score = np.zeros(n + 1)
        self.slot_total = np.zeros(2 * n + 1)
        self.weight = np.zeros(2 * n + 1)
        self.proposed = np.zeros(5, dtype=np.int64)
        self.accepted = np.zeros(5, dtype=np.int64)
        self.best_log_score = -INFINITY
        self.set_partition(partition)

    # ------------------------------------------------------------------ state

    def set_partition(self, partition):
        """Move to a partition, given by the number of each node's block.

        What is said of nodes in the background is not looked at.
        """
        cdef Py_ssize_t i
        partition = np.asarray(partition, dtype=np.intp)
        main = np.array([self.views.main[i] for i in range(self.n_main)])
        sizes = np.bincount(partition[main]) if len(partition) == self.n else [0]
        if 0 in sizes:
            raise ValueError("partition must number the blocks 0, 1, ..., none empty")
        by_block = np.argsort(partition[main], kind="stable")
        self.set_blocks(main[by_block], np.cumsum(sizes))

    def set_blocks(self, order, ends):
        """Move to a partition, given by the nodes in order and the blocks' ends."""
        cdef Py_ssize_t b
        np.asarray(self.order)[:self.n_main] = order
        self.n_blocks = len(ends)
        self.start[0] = 0
        for b in range(self.n_blocks):
            self.start[b + 1] = ends[b]
        with nogil:
            self.number_blocks(0)
            self.look_up_all()

    @property
    def partition(self):
        """The number of each node's block, from the left; -1 in the background."""
        return whole_numbers(self.block[:self.n])

    @property
    def background(self):
        """Which nodes are in the background, and in no block."""
        return self.views.background

    @property
    def best_partition(self):
        """The best partition seen."""
        return whole_numbers(self.best_block)

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
        """Numbers of look-ups: all, beyond differences, of new rows, of columns."""
        return np.array([self.sums.counts[k] for k in range(4)])

    def __getstate__(self):
        return {
            "order": np.array(self.order[:self.n_main]),
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
        """Keep the present partition if none was better, the first of equals."""
        if self.current > self.best_log_score + 1e-12 * (1.0 + fabs(self.current)):
            self.best_log_score = self.current
            self.best_block[:] = self.block[:self.n]

    # --------------------------------------------------------------- look-ups

    cdef inline double next_block(self, Py_ssize_t b) noexcept nogil:
        """Number of the block that the members of block b need a parent in.

        Infinity stands for none: they are roots.
        """
        return b + 1 if b < self.n_blocks - 1 else INFINITY

    cdef double look_up_block(self, Py_ssize_t b, double near) noexcept nogil:
        """New scores of a block's nodes; returns the change of their sum."""
        return self.look_up_range(self.start[b], self.start[b + 1], near)

    cdef double look_up_range(
        self, Py_ssize_t first, Py_ssize_t end, double near
    ) noexcept nogil:
        """New scores of the nodes at some positions; the change of their sum."""
        cdef Py_ssize_t p, node
        cdef double change = 0.0
        if first == end:
            return change
        if not self.sums.look_up(
            &self.order[first], end - first, &self.block[0], near, &self.new_score[0]
        ):
            return -INFINITY  # whatever the others are: never accepted
        for p in range(first, end):
            node = self.order[p]
            change += self.new_score[node] - self.score[node]
        return change

    cdef double look_up_one(self, Py_ssize_t node, double near) noexcept nogil:
        """New score of a node."""
        self.sums.look_up(&node, 1, &self.block[0], near, &self.new_score[0])
        return self.new_score[node]

    cdef void look_up_all(self) noexcept nogil:
        """The scores of a partition that is new as a whole."""
        cdef Py_ssize_t b, p
        for b in range(self.n_blocks):
            for p in range(self.start[b], self.start[b + 1]):
                # one by one, as a block is not looked up beyond a node without sets
                self.sums.look_up(
                    &self.order[p], 1, &self.block[0], self.next_block(b),
                    &self.score[0],
                )
        self.refresh()
        self.inspect()

    cdef void keep_range(self, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t p
        for p in range(first, end):
            self.score[self.order[p]] = self.new_score[self.order[p]]

    cdef inline bint accepts(self, double log_ratio) noexcept nogil:
        # One number however the ratio comes out: score equivalence makes many
        # ratios one to rounding, and the last bits of the data must not shift the
        # stream.
        cdef double u = uniform(self.bitgen)
        return log_ratio >= 0 or u < skb_exp(log_ratio)

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
        return change + (
            self.look_up_one(left, self.next_block(b)) - self.score[left]
        )

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
            i = self.views.main[below(self.bitgen, self.n_main)]
            j = self.views.main[below(self.bitgen, self.n_main)]
        return self.try_swap(i, j)

    cdef bint swap_adjacent(self) noexcept nogil:
        """Two nodes of adjacent blocks, each such pair as probable as another."""
        cdef Py_ssize_t b = 0, pairs, chosen
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
        for p in range(self.position[node], self.n_main - 1):
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
        for p in range(self.n_main - 1, to, -1):
            self.order[p] = self.order[p - 1]
        self.order[to] = node
        for c in range(b + 1, self.n_blocks + 1):
            self.start[c] += 1
        self.number_blocks(b)

    cdef inline int way_of(
        self, Py_ssize_t c, Py_ssize_t slot
    ) noexcept nogil:
        """In which of four ways a node in a slot concerns the nodes of block c.

        It is in c or to the left, and no parent; alone between c and c + 1, and the
        one needed parent; in c + 1, one of the needed; or further right, one of the
        permitted.
        """
        cdef Py_ssize_t b = slot // 2
        if c >= b:
            return NO_PARENT
        if c < b - 1:
            return PERMITTED
        return ONE_OF_THE_NEEDED if slot % 2 else THE_NEEDED

    cdef double look_up_way(
        self, Py_ssize_t node, Py_ssize_t c, int way
    ) noexcept nogil:
        """Scores of block c with `node`, taken out, elsewhere; returns their sum."""
        cdef:
            Py_ssize_t p
            double near = self.next_block(c), total = 0.0
            double *scores = &self.relative_score[way, 0]
        if way == NO_PARENT:
            self.block[node] = -1.0
        elif way == THE_NEEDED:
            self.block[node] = near = c + 0.5
        elif way == ONE_OF_THE_NEEDED:
            self.block[node] = c + 1
        else:
            self.block[node] = self.n
        if not self.sums.look_up(
            &self.order[self.start[c]], self.size(c), &self.block[0], near, scores
        ):
            return -INFINITY
        for p in range(self.start[c], self.start[c + 1]):
            total += scores[self.order[p]]
        return total

    cdef void propose_relocation(
        self, Py_ssize_t node, Py_ssize_t from_
    ) noexcept nogil:
        """Log scores of the partition with `node`, taken out, in each slot.

        Its own parents are the same whether it goes into a block or into the gap
        behind.
        """
        cdef Py_ssize_t m = self.n_blocks, c, p, other
        cdef int way, now
        for c in range(m):
            now = self.way_of(c, from_)
            for way in range(4):
                self.block_score[way, c] = 0.0
                if way == now:
                    for p in range(self.start[c], self.start[c + 1]):
                        other = self.order[p]
                        self.relative_score[way, other] = self.score[other]
                        self.block_score[way, c] += self.score[other]
                elif c < m - 1 or way <= THE_NEEDED:
                    # beside the gap there is nothing right of the last block
                    self.block_score[way, c] = self.look_up_way(node, c, way)
        self.block[node] = -1.0
        for c in range(m + 1):
            self.own_score[c] = self.look_up_one(node, c if c < m else INFINITY)
        self.add_up_slots()

    cdef void add_up_slots(self) noexcept nogil:
        """The log score of each slot, from those of the blocks and of the node.

        From the left, the blocks that may have the node as a parent, the last of them
        in a way of its own; from the right, those that may not.
        """
        cdef Py_ssize_t m = self.n_blocks, c
        cdef double total = 0.0
        for c in range(m + 1):
            self.slot_total[2 * c] = self.own_score[c] + total
            if c < m:
                self.slot_total[2 * c + 1] = self.own_score[c + 1] + total
            if c > 0:
                self.slot_total[2 * c] += self.block_score[THE_NEEDED, c - 1]
                if c < m:
                    self.slot_total[2 * c + 1] += (
                        self.block_score[ONE_OF_THE_NEEDED, c - 1]
                    )
                total += self.block_score[PERMITTED, c - 1]
        total = 0.0
        for c in range(m - 1, -1, -1):
            total += self.block_score[NO_PARENT, c]
            self.slot_total[2 * c + 1] += total
            self.slot_total[2 * c] += total

    cdef void apply_relocation(
        self, Py_ssize_t node, Py_ssize_t slot
    ) noexcept nogil:
        cdef Py_ssize_t c, p
        cdef int way
        for c in range(self.n_blocks):
            way = self.way_of(c, slot)
            for p in range(self.start[c], self.start[c + 1]):
                self.score[self.order[p]] = self.relative_score[way, self.order[p]]
        self.score[node] = self.own_score[slot // 2 + slot % 2]
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
            changed = self.relocate(
                self.views.main[below(self.bitgen, self.n_main)]
            )
        else:
            move = REVERSAL
            changed = self.reverse_edge()
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t t
        if self.n_main < 2:
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
        cdef Py_ssize_t i
        cdef const NodeView *view
        cdef ParentSet parents
        cdef double total = 0.0
        with nogil:
            memset(&packed[0, 0], 0, packed.shape[0] * packed.shape[1])
            self.draw_all_parents()
            for i in range(self.n):
                view = &self.views.nodes[i]
                parents = self.reversal.dag[i]
                total += view.scores[parents.subset * view.width + parents.column]
                mark_edges(&packed[0, 0], packed.shape[1], view, i, parents)
        return total

    cdef void draw_all_parents(self) noexcept nogil:
        """Draw a DAG given the partition."""
        cdef Py_ssize_t b
        for b in range(self.n_blocks):
            self.sums.draw(
                &self.order[self.start[b]], self.size(b), &self.block[0],
                self.next_block(b), &self.score[0], self.reversal.dag, self.bitgen,
            )

    # ---------------------------------------------------------------- reversal

    cdef bint reverse_edge(self) noexcept nogil:
        """Draw a DAG, turn one of its edges around, and go to its partition."""
        if self.n_blocks == 1:
            return False
        self.draw_all_parents()
        if not self.accepts(
            self.reversal.propose(&self.order[0], &self.position[0], self.bitgen)
        ):
            return False
        self.move_to_dag()
        return True

    cdef void move_to_dag(self) noexcept nogil:
        """Move to the partition of the DAG."""
        cdef Py_ssize_t p, b, end = 0
        cdef Py_ssize_t deepest = self.reversal.find_depths(&self.order[0])
        # positions are told anew in the end: they keep the present order meanwhile
        self.position[:] = self.order
        self.n_blocks = deepest + 1
        for b in range(self.n_blocks):
            self.start[b] = end
            for p in range(self.n_main):
                if self.reversal.depth[self.position[p]] == deepest - b:
                    self.order[end] = self.position[p]
                    end += 1
        self.start[self.n_blocks] = end
        self.number_blocks(0)
        self.look_up_all()


cdef inline double ways(Py_ssize_t size, Py_ssize_t unit) noexcept nogil:
    """Ways to split a block into an ordered pair, in units of 2^unit."""
    return ldexp(1.0, <int> (size - unit)) - ldexp(2.0, <int> -unit)


def whole_numbers(block):
    """Numbers of blocks; -1 for those in the background, which are in none."""
    block = np.asarray(block)
    return np.where(np.isfinite(block), block, -1).astype(np.intp)
