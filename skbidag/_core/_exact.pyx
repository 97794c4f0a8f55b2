# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Dynamic programming over the subsets of few variables.

Z_i(A) is the sum of a node's weights over all parent sets within A, the others that
stand before it. Everything here is a function of these sums, which come as one array
of logarithms per node, ``log_sums[i][A]``, with A a mask over the *other* nodes: bit k
is node k, or k + 1 from node i on.

Over orders (Koivisto & Sood 2004, Koivisto 2006), a set's weight is a sum over the
node that comes last in it, which takes n 2^n steps, and so does that of what follows:

    f(U) = sum over i in U of f(U∖i) Z_i(U∖i)
    b(U) = sum over i not in U of Z_i(U) b(U∪i)

The probability that i's predecessors are A is f(A) Z_i(A) b(A∪i) / f(V), V being all
nodes. With maxima in place of sums, f leads to the best order (Silander & Myllymäki
2006).

Over DAGs, each counted once, inclusion and exclusion over sinks (Tian & He 2009) takes
3^n steps, but its terms cancel: where scores differ by hundreds, nothing is left of
what is sought. So the sums run over layers instead (Kuipers & Moffa 2017). Every DAG
has one layering: the roots, those whose parents are all roots, and so on; a node has a
parent in the layer before its own. The DAGs on U whose last layer is T weigh, with
R = U∖T,

    F(U, T) = sum over T' ⊆ R of F(R, T') prod over i in T of (Z_i(R) − Z_i(R∖T')).

For each of the 3^n pairs (R, T') the products over all T are made one node at a time:
4^n steps in all, each a multiplication, and no term is negative.

They are made on plain numbers. F(U, T) is stored over f(U), and a node's factor over
Z_i(R), which gives a share between 0 and 1. Each DAG has at least one order and at most
n! of them, so sum over T of F(U, T) / f(U) is between 1/n! and 1 for every U, however
far scores are apart. And what underflows cannot be felt: whatever comes after (U, T)
could come after any other last layer of U as well, and more.

Derivatives say how probable edges are. Backwards through the same loops, with

    B(R, T') = sum over T of B(R∪T, T) prod over i in T of (Z_i(R) − Z_i(R∖T')),

each pair (R, T') gives the polynomial in a node's shares its derivatives. Those with
respect to Z_i(A), times Z_i(A) over the sum of all DAGs, are the *weights* of A: sums
over them of any linear function of Z_i are expectations. Over orders they are the
probabilities of A as predecessors. Over DAGs they may be negative, with rounding errors
that are small beside 1.

States (U, T) are numbered in base 3: digit i is 0 if i is not in U, 1 if it is in U
alone, and 2 if it is in T. With t(S) the sum of 3^i over S, that is t(U) + t(T).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t

import numpy as np

from skbidag._core._vector cimport (
    skb_exp,
    skb_flush_tiny,
    skb_log,
    skb_restore_tiny,
)


cdef extern from *:
    """
    /* high[j] = q low[j] */
    SKB_CLONES void skb_times(double *high, const double *low, double q,
            Py_ssize_t size)
    {
        if (size < 4) {
            for (Py_ssize_t j = 0; j < size; j++) high[j] = q * low[j];
            return;
        }
        for (Py_ssize_t j = 0; j < size; j += 4)
            SKB_STORE(high + j, SKB_LOAD(low + j) * q);
    }

    /* total[j] += weight x[j] */
    SKB_CLONES void skb_add_times(double *total, const double *x, double weight,
            Py_ssize_t size)
    {
        if (size < 4) {
            for (Py_ssize_t j = 0; j < size; j++) total[j] += weight * x[j];
            return;
        }
        for (Py_ssize_t j = 0; j < size; j += 4)
            SKB_STORE(total + j, SKB_LOAD(total + j) + SKB_LOAD(x + j) * weight);
    }

    /* out[j] = low[j] + q high[j]; returns the sum of product[j] high[j] */
    SKB_CLONES double skb_fold(double *out, const double *low, const double *high,
            const double *product, double q, Py_ssize_t size)
    {
        if (size < 4) {
            double sum = 0.0;
            for (Py_ssize_t j = 0; j < size; j++) {
                sum += product[j] * high[j];
                out[j] = low[j] + q * high[j];
            }
            return sum;
        }
        skb_vec sums = SKB_ALL(0.0);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec h = SKB_LOAD(high + j);
            sums += SKB_LOAD(product + j) * h;
            SKB_STORE(out + j, SKB_LOAD(low + j) + h * q);
        }
        return SKB_ADD4(sums);
    }
    """
    void skb_times(
        double *high, const double *low, double q, Py_ssize_t size) noexcept nogil
    void skb_add_times(
        double *total, const double *x, double weight, Py_ssize_t size) noexcept nogil
    double skb_fold(
        double *out, const double *low, const double *high, const double *product,
        double q, Py_ssize_t size) noexcept nogil


cdef enum:
    MOST_NODES = 30
    BETWEEN_SIGNALS = 512  # sets R, then a look whether somebody pressed Ctrl-C


cdef inline Py_ssize_t without_bit(Py_ssize_t mask, Py_ssize_t node) noexcept nogil:
    """A mask over all nodes, in which `node` is not, as one over the others."""
    cdef Py_ssize_t low = (<Py_ssize_t> 1 << node) - 1
    return (mask & low) | ((mask >> 1) & ~low)


cdef class Sums:
    """The sums Z_i(A) of all nodes, where loops can read them.

    Parameters
    ----------
    log_sums : list of ndarray of shape (2^(n - 1),)
        Their logarithms, -inf where node i may not stand after A alone.
    """

    cdef:
        readonly Py_ssize_t n_nodes
        list arrays
        const double *of_node[MOST_NODES]

    def __init__(self, log_sums):
        cdef const double[::1] view
        n = len(log_sums)
        if not 1 <= n <= MOST_NODES:
            raise ValueError(f"from 1 to {MOST_NODES} nodes, got {n}")
        if any(array.shape != (1 << (n - 1),) for array in log_sums):
            raise ValueError("a sum for each set of the other nodes is needed")
        self.n_nodes = n
        self.arrays = list(log_sums)
        for i in range(n):
            view = self.arrays[i]
            self.of_node[i] = &view[0]

    cdef inline double at(self, Py_ssize_t node, Py_ssize_t mask) noexcept nogil:
        """The log of Z_node(mask), a mask over all nodes."""
        return self.of_node[node][without_bit(mask, node)]


# Orders -----------------------------------------------------------------------


def order_sums(Sums sums):
    """Log weights of all orders of each set.

    Parameters
    ----------
    sums : Sums

    Returns
    -------
    before : ndarray of shape (2^n,)
        The logarithm of f(U) for each mask U.
    """
    cdef:
        Py_ssize_t n = sums.n_nodes
        Py_ssize_t n_sets = <Py_ssize_t> 1 << n
        Py_ssize_t mask, node, rest
        double[::1] before = np.empty(n_sets)
        double terms[MOST_NODES]
        int n_terms
    with nogil:
        before[0] = 0.0
        for mask in range(1, n_sets):
            n_terms = 0
            for node in range(n):
                if mask >> node & 1:
                    rest = mask ^ (<Py_ssize_t> 1 << node)
                    terms[n_terms] = before[rest] + sums.at(node, rest)
                    n_terms += 1
            before[mask] = log_sum(terms, n_terms)
    return np.asarray(before)


cdef double log_sum(const double *terms, int size) noexcept nogil:
    """Log of the sum of exponentials."""
    cdef:
        double top = -INFINITY
        double total = 0.0
        int k
    for k in range(size):
        top = max(top, terms[k])
    if top == -INFINITY:
        return top
    for k in range(size):
        total += skb_exp(terms[k] - top)
    return top + skb_log(total)


def order_weights(Sums sums, const double[::1] before):
    """Probabilities that a node's predecessors are A, over orders.

    Parameters
    ----------
    sums : Sums
    before : ndarray of shape (2^n,)
        Of `order_sums`.

    Returns
    -------
    weights : ndarray of shape (n, 2^(n - 1))
        Entry [i, A]; A is a mask over the others.
    """
    cdef:
        Py_ssize_t n = sums.n_nodes
        Py_ssize_t n_sets = <Py_ssize_t> 1 << n
        Py_ssize_t mask, node
        double total = before[n_sets - 1]
        double[::1] after = np.empty(n_sets)
        double[:, ::1] weights = np.zeros((n, n_sets // 2))
        double terms[MOST_NODES]
        int n_terms
    with nogil:
        after[n_sets - 1] = 0.0
        for mask in range(n_sets - 2, -1, -1):
            n_terms = 0
            for node in range(n):
                if not mask >> node & 1:
                    terms[n_terms] = (
                        sums.at(node, mask) + after[mask | (<Py_ssize_t> 1 << node)]
                    )
                    weights[node, without_bit(mask, node)] = skb_exp(
                        before[mask] + terms[n_terms] - total
                    )
                    n_terms += 1
            after[mask] = log_sum(terms, n_terms)
    return np.asarray(weights)


def best_order(Sums maxima):
    """The order of the best DAG, from maxima over parent sets in place of sums.

    Parameters
    ----------
    maxima : Sums
        ``maxima[i][A]`` is the best log score of node i with parents within A.

    Returns
    -------
    order : ndarray of shape (n,)
        Parents stand to the right of their children.
    """
    cdef:
        Py_ssize_t n = maxima.n_nodes
        Py_ssize_t n_sets = <Py_ssize_t> 1 << n
        Py_ssize_t mask, node, rest, place
        double value
        double[::1] best = np.empty(n_sets)
        Py_ssize_t[::1] order = np.empty(n, dtype=np.intp)
    with nogil:
        best[0] = 0.0
        for mask in range(1, n_sets):
            value = -INFINITY
            for node in range(n):
                if mask >> node & 1:
                    rest = mask ^ (<Py_ssize_t> 1 << node)
                    value = max(value, best[rest] + maxima.at(node, rest))
            best[mask] = value
        mask = n_sets - 1
        for place in range(n):
            for node in range(n):
                if mask >> node & 1:
                    rest = mask ^ (<Py_ssize_t> 1 << node)
                    # the same sum as above, and so the same bits
                    if best[rest] + maxima.at(node, rest) == best[mask]:
                        order[place] = node
                        mask = rest
                        break
    return np.asarray(order)


def draw_orders(Sums sums, const double[::1] before, const double[:, ::1] uniforms):
    """Draw orders in proportion to their weights.

    Parameters
    ----------
    sums : Sums
    before : ndarray of shape (2^n,)
        Of `order_sums`.
    uniforms : ndarray of shape (n_draws, n)
        Numbers from 0 to 1.

    Returns
    -------
    predecessors : ndarray of uint32, shape (n_draws, n)
        Of each node, as a mask over all nodes.
    """
    cdef:
        Py_ssize_t n = sums.n_nodes
        Py_ssize_t n_draws = uniforms.shape[0]
        Py_ssize_t everything = (<Py_ssize_t> 1 << n) - 1
        Py_ssize_t draw, mask, node, rest, chosen, k
        double left, share
        uint32_t[:, ::1] predecessors = np.empty((n_draws, n), dtype=np.uint32)
    with nogil:
        for draw in range(n_draws):
            mask = everything
            for k in range(n):
                left = uniforms[draw, k]
                chosen = -1
                for node in range(n):
                    if mask >> node & 1:
                        rest = mask ^ (<Py_ssize_t> 1 << node)
                        share = skb_exp(
                            before[rest] + sums.at(node, rest) - before[mask]
                        )
                        if share > 0.0:
                            chosen = node
                            left -= share
                            if left < 0.0:
                                break
                mask ^= <Py_ssize_t> 1 << chosen
                predecessors[draw, chosen] = <uint32_t> mask
    return np.asarray(predecessors)


# DAGs -------------------------------------------------------------------------


cdef class Layers:
    """Room for the loops over pairs (R, T'), and what they need of R.

    Parameters
    ----------
    sums : Sums
    before : ndarray of shape (2^n,)
        Of `order_sums`.
    """

    cdef:
        Sums sums
        const double[::1] before
        Py_ssize_t n_nodes
        # t(S) of each set
        Py_ssize_t[::1] number
        # of R: the nodes that are not in it, their Z_i(R), the sets T of them as masks
        # and the logs of their products of Z_i(R)
        Py_ssize_t n_outside
        Py_ssize_t outside[MOST_NODES]
        double whole[MOST_NODES]
        Py_ssize_t[::1] sets
        double[::1] log_products
        # of (R, T'): a node's share, and their products for each T
        double shares[MOST_NODES]
        double[::1] products

    def __init__(self, Sums sums, const double[::1] before):
        n = sums.n_nodes
        self.sums = sums
        self.before = before
        self.n_nodes = n
        number, power = np.zeros(1, dtype=np.intp), 1
        for _ in range(n):
            number, power = np.append(number, number + power), 3 * power
        self.number = number
        self.sets = np.empty(1 << n, dtype=np.intp)
        self.log_products = np.empty(1 << n)
        self.products = np.empty(1 << n)

    cdef bint enter(self, Py_ssize_t below) noexcept nogil:
        """Make R the set `below`; False if no DAG has these as its first layers."""
        cdef Py_ssize_t node, t, size = 1
        if self.before[below] == -INFINITY:
            return False
        self.n_outside = 0
        self.sets[0] = 0
        self.log_products[0] = self.before[below]
        for node in range(self.n_nodes):
            if below >> node & 1:
                continue
            self.outside[self.n_outside] = node
            self.whole[self.n_outside] = self.sums.at(node, below)
            for t in range(size):
                self.sets[size + t] = self.sets[t] | (<Py_ssize_t> 1 << node)
                self.log_products[size + t] = (
                    self.log_products[t] + self.whole[self.n_outside]
                )
            self.n_outside += 1
            size *= 2
        return True

    cdef inline double factor(self, Py_ssize_t below, Py_ssize_t t) noexcept nogil:
        """f(R) times the product of Z_i(R) over the t-th set T, over f(R∪T)."""
        if self.log_products[t] == -INFINITY:
            return 0.0
        return skb_exp(
            self.log_products[t] - self.before[below | self.sets[t]]
        )

    cdef inline double share(
        self, Py_ssize_t k, Py_ssize_t below, Py_ssize_t last
    ) noexcept nogil:
        """1 - Z_i(R∖T') / Z_i(R) of the k-th node outside R; 1 if there is no layer."""
        if self.whole[k] == -INFINITY:
            return 0.0
        if below == 0:
            return 1.0
        return -minus_one(
            self.sums.at(self.outside[k], below ^ last) - self.whole[k]
        )

    cdef void multiply(self, Py_ssize_t below, Py_ssize_t last) noexcept nogil:
        """The shares of (R, T'), and their products over each T."""
        cdef Py_ssize_t k, size = 1
        self.products[0] = 1.0
        for k in range(self.n_outside):
            self.shares[k] = self.share(k, below, last)
            skb_times(&self.products[size], &self.products[0], self.shares[k], size)
            size *= 2


cdef inline double minus_one(double x) noexcept nogil:
    """e^x - 1 for x <= 0, to the last digits where x is small."""
    if x > -1e-2:
        return x * (
            1.0 + x / 2 * (1.0 + x / 3 * (1.0 + x / 4 * (1.0 + x / 5 * (
                1.0 + x / 6 * (1.0 + x / 7)
            ))))
        )
    return skb_exp(x) - 1.0


def layer_sums(Layers layers):
    """Weights of the DAGs on each set, by their last layer.

    Parameters
    ----------
    layers : Layers

    Returns
    -------
    ending : ndarray of shape (3^n,)
        F(U, T) / f(U) for each state.
    """
    cdef:
        Py_ssize_t n = layers.n_nodes
        Py_ssize_t everything = (<Py_ssize_t> 1 << n) - 1
        Py_ssize_t below
        # the last number is that of all nodes as one layer
        double[::1] ending = np.zeros(2 * layers.number[everything] + 1)
        double[::1] totals = np.empty(1 << n)
        unsigned float_mode
    float_mode = skb_flush_tiny()
    try:
        ending[0] = 1.0
        for below in range(everything):
            if below % BETWEEN_SIGNALS == 0:
                PyErr_CheckSignals()
            with nogil:
                pass_on(layers, below, &ending[0], &totals[0])
    finally:
        skb_restore_tiny(float_mode)
    return np.asarray(ending)


cdef void pass_on(
    Layers layers, Py_ssize_t below, double *ending, double *totals
) noexcept nogil:
    """Add what the DAGs on R pass on to those with one layer more."""
    cdef:
        Py_ssize_t last, t, n_next
        double weight
    if not layers.enter(below):
        return
    n_next = <Py_ssize_t> 1 << layers.n_outside
    for t in range(n_next):
        totals[t] = 0.0
    last = below
    while True:  # over the layers T' within R, or the empty one of none
        weight = ending[layers.number[below] + layers.number[last]]
        if weight > 0.0:
            layers.multiply(below, last)
            skb_add_times(totals, &layers.products[0], weight, n_next)
        last = (last - 1) & below
        if last == 0 or below == 0:
            break
    for t in range(1, n_next):
        ending[layers.number[below] + 2 * layers.number[layers.sets[t]]] = (
            totals[t] * layers.factor(below, t)
        )


def layer_weights(Layers layers, double[::1] ending):
    """Weights of the sets A of a node's others, over DAGs.

    Parameters
    ----------
    layers : Layers
    ending : ndarray of shape (3^n,)
        Of `layer_sums`. It is written over.

    Returns
    -------
    weights : ndarray of shape (n, 2^(n - 1))
        Entry [i, A]; A is a mask over the others. They add up to 1 for each node, and
        some are negative.
    """
    cdef:
        Py_ssize_t n = layers.n_nodes
        Py_ssize_t everything = (<Py_ssize_t> 1 << n) - 1
        Py_ssize_t below, last, state
        double[:, ::1] weights = np.zeros((n, everything // 2 + 1))
        double[::1] following = np.empty(everything + 1)  # of R, for each T
        double[::1] folded = np.empty(everything + 1)
        double total = 0.0
        unsigned float_mode
    last = everything
    while last:
        state = layers.number[everything] + layers.number[last]
        total += ending[state]
        ending[state] = 1.0
        last = (last - 1) & everything
    float_mode = skb_flush_tiny()
    try:
        for below in range(everything - 1, -1, -1):
            if below % BETWEEN_SIGNALS == 0:
                PyErr_CheckSignals()
            with nogil:
                hand_back(
                    layers, below, total, &ending[0], &following[0], &folded[0], weights
                )
    finally:
        skb_restore_tiny(float_mode)
    return np.asarray(weights)


cdef void hand_back(
    Layers layers, Py_ssize_t below, double total, double *ending, double *following,
    double *folded, double[:, ::1] weights
) noexcept nogil:
    """What follows the DAGs on R, and the weights of R and of R without T'."""
    cdef:
        Py_ssize_t last, t, n_next, state, node, k
        double derivatives[MOST_NODES]
        double here, part
    if not layers.enter(below):
        return
    n_next = <Py_ssize_t> 1 << layers.n_outside
    following[0] = 0.0
    for t in range(1, n_next):
        following[t] = layers.factor(below, t) * ending[
            layers.number[below] + 2 * layers.number[layers.sets[t]]
        ]
    last = below
    while True:
        state = layers.number[below] + layers.number[last]
        here = ending[state]
        if here > 0.0:
            layers.multiply(below, last)
            ending[state] = differentiate(layers, following, folded, derivatives)
            for k in range(layers.n_outside):
                node = layers.outside[k]
                part = here * derivatives[k] / total
                weights[node, without_bit(below, node)] += part
                if below:
                    weights[node, without_bit(below ^ last, node)] -= (
                        part * (1.0 - layers.shares[k])
                    )
        last = (last - 1) & below
        if last == 0 or below == 0:
            break


cdef double differentiate(
    Layers layers, const double *following, double *folded, double *derivatives
) noexcept nogil:
    """The sum over T of following[T] times its product of shares, and derivatives.

    One node after the other is put in, the last one first; what is multiplied with the
    product of those before it is its derivative.
    """
    cdef:
        Py_ssize_t k = layers.n_outside - 1
        Py_ssize_t size = <Py_ssize_t> 1 << k
    derivatives[k] = skb_fold(
        folded, following, following + size, &layers.products[0], layers.shares[k], size
    )
    while k > 0:
        k -= 1
        size //= 2
        derivatives[k] = skb_fold(
            folded, folded, folded + size, &layers.products[0], layers.shares[k], size
        )
    return folded[0]


def draw_layers(
    Layers layers, const double[::1] ending, const double[:, ::1] uniforms
):
    """Draw layerings in proportion to the weights of their DAGs.

    Parameters
    ----------
    layers : Layers
    ending : ndarray of shape (3^n,)
        Of `layer_sums`.
    uniforms : ndarray of shape (n_draws, n)
        Numbers from 0 to 1.

    Returns
    -------
    predecessors, needed : ndarray of uint32, shape (n_draws, n)
        Of each node, as masks over all nodes: where its parents are, and where one of
        them is, nowhere for roots.
    """
    cdef:
        Py_ssize_t n = layers.n_nodes
        Py_ssize_t everything = (<Py_ssize_t> 1 << n) - 1
        Py_ssize_t n_draws = uniforms.shape[0]
        Py_ssize_t draw, k, below, current, last, node
        uint32_t[:, ::1] predecessors = np.zeros((n_draws, n), dtype=np.uint32)
        uint32_t[:, ::1] needed = np.zeros((n_draws, n), dtype=np.uint32)
        bint first
    with nogil:
        for draw in range(n_draws):
            below = everything
            current = 0
            k = 0
            while below:
                first = below == everything
                if not first:
                    layers.enter(below)
                last = draw_last_layer(
                    layers, ending, below, 0 if first else current, uniforms[draw, k]
                )
                for node in range(n):
                    if not first and current >> node & 1:
                        predecessors[draw, node] = <uint32_t> below
                        needed[draw, node] = <uint32_t> last
                current = last
                below ^= last
                k += 1
    return np.asarray(predecessors), np.asarray(needed)


cdef Py_ssize_t draw_last_layer(
    Layers layers, const double[::1] ending, Py_ssize_t below, Py_ssize_t current,
    double uniform
) noexcept nogil:
    """The last layer of R, given that the layer `current` follows."""
    cdef:
        Py_ssize_t last, chosen = below
        double total = 0.0
        double left = 0.0
        double weight
        int turn
    for turn in range(2):  # add up, then stop where the uniform number says
        left = uniform * total
        last = below
        while last:
            weight = ending[layers.number[below] + layers.number[last]]
            if weight > 0.0 and current:
                weight *= share_of_layer(layers, below, last, current)
            if weight > 0.0:
                if turn == 0:
                    total += weight
                else:
                    chosen = last
                    left -= weight
                    if left < 0.0:
                        return chosen
            last = (last - 1) & below
    return chosen


cdef double share_of_layer(
    Layers layers, Py_ssize_t below, Py_ssize_t last, Py_ssize_t current
) noexcept nogil:
    """The product of the shares of the nodes of one layer."""
    cdef:
        Py_ssize_t k
        double product = 1.0
    for k in range(layers.n_outside):
        if current >> layers.outside[k] & 1:
            product *= layers.share(k, below, last)
    return product


# One node ---------------------------------------------------------------------


def parent_probabilities(
    const double[::1] log_sums, const Py_ssize_t[::1] rows, const double[::1] weights,
    Py_ssize_t n_candidates
):
    """Probabilities of a node's parents.

    Parameters
    ----------
    log_sums : ndarray of shape (2^K,)
        Sums over the subsets of each set of its K candidates.
    rows : ndarray of shape (n_sets,)
        Sets of candidates.
    weights : ndarray of shape (n_sets,)
        How much each counts.
    n_candidates : int
        K.

    Returns
    -------
    probabilities : ndarray of shape (K,)
        The weighted mean of the share that sets with the candidate have.
    """
    cdef:
        Py_ssize_t n_sets = rows.shape[0]
        Py_ssize_t s, row, k, without
        double[::1] probabilities = np.zeros(n_candidates)
        double whole
    with nogil:
        for s in range(n_sets):
            row = rows[s]
            whole = log_sums[row]
            if weights[s] == 0.0 or whole == -INFINITY:
                continue
            for k in range(n_candidates):
                without = row & ~(<Py_ssize_t> 1 << k)
                if without != row:
                    probabilities[k] -= weights[s] * minus_one(
                        log_sums[without] - whole
                    )
    return np.asarray(probabilities)


def draw_parents(
    const double[::1] scores, const double[::1] log_sums,
    const Py_ssize_t[::1] permitted, const Py_ssize_t[::1] needed,
    const double[::1] uniforms
):
    """Draw parent sets of a node in proportion to their weights.

    Parameters
    ----------
    scores : ndarray of shape (2^K,)
        Log weight of each set of candidates.
    log_sums : ndarray of shape (2^K,)
        Sums over the subsets of each.
    permitted : ndarray of shape (n_draws,)
        Candidates that may be parents, a mask.
    needed : ndarray of shape (n_draws,)
        Candidates of which one must be; none if 0.
    uniforms : ndarray of shape (n_draws,)
        Numbers from 0 to 1.

    Returns
    -------
    parents : ndarray of shape (n_draws,)
        The sets drawn.
    """
    cdef:
        Py_ssize_t n_draws = uniforms.shape[0]
        Py_ssize_t draw, parents
        Py_ssize_t[::1] drawn = np.empty(n_draws, dtype=np.intp)
        double total, left, weight
        bint adding
    with nogil:
        for draw in range(n_draws):
            total = 1.0
            left = uniforms[draw]
            # where one is needed, add up what there is of such sets first
            adding = needed[draw] != 0
            if adding:
                total = 0.0
            parents = 0
            while True:
                if needed[draw] == 0 or parents & needed[draw]:
                    weight = skb_exp(scores[parents] - log_sums[permitted[draw]])
                    if adding:
                        total += weight
                    elif weight > 0.0:
                        drawn[draw] = parents
                        left -= weight
                        if left < 0.0:
                            break
                # the next set within the permitted ones, from none to all
                parents = (parents - permitted[draw]) & permitted[draw]
                if parents == 0:
                    if not adding:
                        break
                    adding = False
                    left = uniforms[draw] * total
    return np.asarray(drawn)
