"""Parent sets in a node's table: which they are, and how one is drawn.

A parent set is an entry of the table: a subset of the candidates, as a mask, and a
column, that of an outsider or, for none, the base column. Chains over orders and
chains over partitions permit different sets of them. What they have in common is
here, in inline functions that both kernels compile.

Drawing
    First the column, in proportion to its sum over the subsets that are permitted,
    then the subset. One candidate after the other is left out or taken in. The sets
    without it are those within a smaller mask, whose sum is in the table. With
    candidates I taken in already, the sum over the sets that contain them is the
    alternating sum of the sums within the mask without J, over all J in I. That one
    of the needed candidates be in takes one term more, the sum without any of them,
    until one is. A subset that is likely, such as the one a node has at present, comes
    before all that: if it is not drawn it is taken out of the sums, one term more for
    as long as what is decided fits it. When few candidates are left, when many are in,
    or when the terms nearly cancel, the sets that remain are enumerated.
What stays true
    A set is drawn in proportion to its score among all that are permitted, however
    far below the others in the table they are.
Cost
    For K candidates, K steps with as many look-ups as there are terms, and the up to
    16 subsets of the last four. Only where the terms cancel, which is where all needed
    candidates are weak, up to 2^K sets are gone through, twice.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t

from skbidag._core._random cimport skb_bitgen, uniform
from skbidag._core._tables cimport NodeView
from skbidag._core._vector cimport skb_exp, skb_log


cdef extern from *:
    """
    /* What an alternating sum must be of its terms: log sums in the thousands have
       twelve digits, so that nine are left. */
    #define SKB_LEAST_SHARE 1e-3
    /* And what the others must be beside a set that is left out. They are drawn about
       as rarely, so that six digits do, and so rarely that it costs nothing to go
       through them all if they are less. */
    #define SKB_LEAST_BESIDE 1e-6
    /* Where an outsider's sum is less, in nats beside the sum without one, subsets
       may have been lost from it, see _subsets.pyx. */
    #define SKB_LEAST_LOG_RATIO (-64.0)
    #define skb_lowest_bit(x) ((Py_ssize_t)__builtin_ctzll(x))
    """
    const double LEAST_SHARE "SKB_LEAST_SHARE"
    const double LEAST_BESIDE "SKB_LEAST_BESIDE"
    const double LEAST_LOG_RATIO "SKB_LEAST_LOG_RATIO"
    Py_ssize_t lowest_bit "skb_lowest_bit"(uint64_t mask) noexcept nogil


cdef enum:
    FEW_BITS = 4  # candidates of which all subsets are enumerated
    MAX_TERMS = 128  # of an alternating sum
    NONE = -1  # no subset, or no column


cdef struct ParentSet:
    int64_t subset  # of the candidates
    Py_ssize_t column  # of the table: an outsider's, or the base column


cdef inline Py_ssize_t count_bits(int64_t mask) noexcept nogil:
    cdef Py_ssize_t count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


cdef inline void mark_edge(
    unsigned char *packed, Py_ssize_t row_bytes, Py_ssize_t parent, Py_ssize_t child
) noexcept nogil:
    packed[parent * row_bytes + (child >> 3)] |= <unsigned char> (128 >> (child & 7))


cdef inline void mark_edges(
    unsigned char *packed, Py_ssize_t row_bytes, const NodeView *view,
    Py_ssize_t node, ParentSet parents
) noexcept nogil:
    """Mark the edges into a node in a matrix of bits, eight columns to a byte."""
    cdef int64_t rest = parents.subset
    while rest:
        mark_edge(packed, row_bytes, view.candidates[lowest_bit(rest)], node)
        rest &= rest - 1
    if parents.column != view.base_column:
        mark_edge(packed, row_bytes, view.columns[parents.column], node)


# ------------------------------------------------------------------------- entries


cdef inline bint in_logs(const NodeView *view, const double *row) noexcept nogil:
    """Whether a row holds the logarithms of ratios, which for the base is 0."""
    return row[view.base_column] == 0.0


cdef inline double log_sum(
    const NodeView *view, Py_ssize_t column, int64_t mask
) noexcept nogil:
    """Log sum over the parent sets of a column within a mask."""
    cdef double log_sum = view.log_sums[mask]
    cdef const double *row
    if column == view.base_column or log_sum == -INFINITY:
        return log_sum
    row = view.ratios + mask * view.width
    if in_logs(view, row):
        return log_sum + row[column]
    return log_sum + skb_log(row[column]) if row[column] > 0.0 else -INFINITY


cdef inline double score_of(
    const NodeView *view, Py_ssize_t column, int64_t subset
) noexcept nogil:
    """Log score of a parent set."""
    if column == view.base_column:
        return view.base_scores[subset]
    return view.scores[subset * view.width + column]


# ----------------------------------------------------------------- drawing a column


cdef struct Lot:
    # What is left of a uniform number, in units of which all shares add up to 1 (or
    # to what it was multiplied by). Where rounding leaves something of it in the end,
    # the outcome with the largest share is the chosen one.
    double rest
    double largest
    int64_t chosen


cdef inline bint falls_on(Lot *lot, double share, int64_t outcome) noexcept nogil:
    """Give an outcome its share; whether the lot falls on it."""
    lot.rest -= share
    if share > lot.largest or lot.rest < 0:
        lot.largest = share
        lot.chosen = outcome
    return lot.rest < 0


cdef inline bint falls_on_column(
    Lot *lot, const NodeView *view, const double *row, const double *place,
    double low, double high, double scale
) noexcept nogil:
    """Give the columns with places from `low` to `high` the shares that a row says.

    These are the ratios times `scale`; where the row is in logs, so is `scale`.
    """
    cdef bint logs = in_logs(view, row)
    cdef Py_ssize_t j
    for j in range(view.width):
        if low <= place[view.columns[j]] <= high:
            if falls_on(lot, skb_exp(row[j] + scale) if logs else row[j] * scale, j):
                return True
    return False


# ----------------------------------------------------------------- drawing a subset


cdef struct Family:
    # Sets that contain what is included, any of what is undecided, and one at least
    # of what is needed, unless that is 0; but not the one that is left out.
    int64_t included
    int64_t undecided
    int64_t needed
    int64_t left_out
    # The sum of their scores, and its terms: minus that of the one left out, plus or
    # minus the sum within all that is included or undecided and not gone.
    double total
    double out
    Py_ssize_t n_terms
    int64_t gone[MAX_TERMS]
    double term[MAX_TERMS]


cdef inline int64_t draw_subset(
    const NodeView *view, Py_ssize_t column, int64_t mask,
    int64_t needed, int64_t likely, skb_bitgen *bitgen
) noexcept nogil:
    """Draw a subset of a mask in proportion to the scores of a column.

    One that has a candidate in `needed`, unless that is 0. If nothing is needed, the
    subset `likely` is looked at first, unless it is NONE.
    """
    cdef:
        Family family
        double log_unit = log_sum(view, column, mask)
        bint known = log_unit - view.log_sums[mask] >= LEAST_LOG_RATIO
    family.included = 0
    family.undecided = mask
    family.needed = needed
    family.left_out = NONE
    family.out = 0.0
    family.n_terms = 1
    family.gone[0] = 0
    family.term[0] = family.total = 1.0
    if known and needed:
        family.n_terms = 2
        family.gone[1] = needed
        family.term[1] = -skb_exp(
            log_sum(view, column, mask & ~needed) - log_unit
        )
        family.total += family.term[1]
    if known and likely != NONE:
        family.out = skb_exp(score_of(view, column, likely) - log_unit)
        if uniform(bitgen) < family.out:
            return likely
        family.left_out = likely
        family.total -= family.out
    known = known and not nearly_cancels(&family)
    while (
        known
        and count_bits(family.undecided) > FEW_BITS
        and family.n_terms < MAX_TERMS
    ):
        decide(view, column, &family, log_unit, bitgen)
        known = not nearly_cancels(&family)
    if not known:
        log_unit = add_up(view, column, &family)
        if log_unit == -INFINITY:
            return likely  # there is no other: it was rounding that left it out
    return draw_enumerated(view, column, &family, log_unit, bitgen)


cdef inline bint nearly_cancels(const Family *family) noexcept nogil:
    cdef double size = 0.0
    cdef Py_ssize_t t
    for t in range(family.n_terms):
        size += fabs(family.term[t])
    return (
        family.total + family.out < LEAST_SHARE * size
        or family.total < LEAST_BESIDE * family.out
    )


cdef inline void decide(
    const NodeView *view, Py_ssize_t column, Family *family,
    double log_unit, skb_bitgen *bitgen
) noexcept nogil:
    """Leave one candidate out or take it in; the needed ones come first."""
    cdef:
        int64_t first = family.undecided & family.needed, bit, mask
        double less[MAX_TERMS]
        double without = 0.0
        Py_ssize_t t
    if first == 0:
        first = family.undecided
    bit = first & -first
    family.undecided ^= bit
    mask = family.included | family.undecided
    for t in range(family.n_terms):
        less[t] = skb_exp(
            log_sum(view, column, mask & ~family.gone[t]) - log_unit
        )
        if family.term[t] < 0:
            less[t] = -less[t]
        without += less[t]
    if family.left_out & bit == 0:
        without -= family.out
    if uniform(bitgen) * family.total < without:
        family.total = without
        for t in range(family.n_terms):
            family.term[t] = less[t]
        if family.left_out & bit:
            leave_none_out(family)
        return
    family.total -= without
    family.included |= bit
    if family.left_out & bit == 0:
        leave_none_out(family)
    if bit & family.needed:
        # the need is met: its term and what it would become cancel
        family.needed = 0
        family.n_terms = 1
    for t in range(family.n_terms):
        family.gone[family.n_terms + t] = family.gone[t] | bit
        family.term[family.n_terms + t] = -less[t]
    family.n_terms *= 2


cdef inline void leave_none_out(Family *family) noexcept nogil:
    """What is decided does not fit the set that is left out."""
    family.left_out = NONE
    family.out = 0.0


cdef inline double add_up(
    const NodeView *view, Py_ssize_t column, Family *family
) noexcept nogil:
    """The family's sum from its scores; returns the logarithm of its unit."""
    cdef:
        int64_t subset = family.undecided
        double score, top = -INFINITY, total = 0.0
    while True:
        if belongs(family, subset):
            score = score_of(view, column, family.included | subset)
            if score > top:
                total = 1.0 + total * skb_exp(top - score)
                top = score
            elif score > -INFINITY:
                total += skb_exp(score - top)
        if subset == 0:
            break
        subset = (subset - 1) & family.undecided
    family.total = total
    return top


cdef inline int64_t draw_enumerated(
    const NodeView *view, Py_ssize_t column, const Family *family,
    double log_unit, skb_bitgen *bitgen
) noexcept nogil:
    """Draw a set of a family by going through them."""
    cdef:
        int64_t subset = family.undecided
        double score
        Lot lot = Lot(uniform(bitgen) * family.total, -1.0, subset)
    while True:
        if belongs(family, subset):
            score = score_of(view, column, family.included | subset)
            if falls_on(&lot, skb_exp(score - log_unit), subset):
                break
        if subset == 0:
            break
        subset = (subset - 1) & family.undecided
    return family.included | lot.chosen


cdef inline bint belongs(const Family *family, int64_t subset) noexcept nogil:
    """Whether a subset of what is undecided makes up a set of the family."""
    return (family.needed == 0 or subset & family.needed != 0) and (
        family.included | subset != family.left_out
    )
