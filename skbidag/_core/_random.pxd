"""Random numbers from a numpy BitGenerator, through its C interface.

The struct is part of numpy's stable interface (numpy/random/bitgen.h); it is
written out here so that the build needs no numpy headers.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t, uint64_t


cdef extern from *:
    """
    typedef struct skb_bitgen {
        void *state;
        uint64_t (*next_uint64)(void *state);
        uint32_t (*next_uint32)(void *state);
        double (*next_double)(void *state);
        uint64_t (*next_raw)(void *state);
    } skb_bitgen;
    """
    ctypedef struct skb_bitgen:
        void *state
        uint64_t (*next_uint64)(void *state) noexcept nogil
        uint32_t (*next_uint32)(void *state) noexcept nogil
        double (*next_double)(void *state) noexcept nogil
        uint64_t (*next_raw)(void *state) noexcept nogil


cdef inline skb_bitgen *bitgen_of(object bit_generator) except NULL:
    return <skb_bitgen *> PyCapsule_GetPointer(
        bit_generator.capsule, "BitGenerator"
    )


cdef inline double uniform(skb_bitgen *bitgen) noexcept nogil:
    """A number in [0, 1)."""
    return bitgen.next_double(bitgen.state)


cdef inline Py_ssize_t below(skb_bitgen *bitgen, Py_ssize_t bound) noexcept nogil:
    """An integer in 0 .. bound - 1, without bias (Lemire's method)."""
    cdef uint64_t product = <uint64_t> bitgen.next_uint32(bitgen.state) * bound
    cdef uint32_t threshold
    if <uint32_t> product < <uint32_t> bound:
        threshold = (-<uint32_t> bound) % <uint32_t> bound
        while <uint32_t> product < threshold:
            product = <uint64_t> bitgen.next_uint32(bitgen.state) * bound
    return <Py_ssize_t> (product >> 32)
