# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""What compiled searches ask of a score: sets with one parent more, or one less.

This asks the score itself, any score, which takes the interpreter. Those that are
compiled have an object of their own, which does without.
"""


cdef class SetScores:
    """Scores of sets with one parent more or less, by calling the score.

    Parameters
    ----------
    score : BaseScore
        A fitted score, None for those that are compiled.
    n : int
        Number of variables.
    """

    def __cinit__(self, object score, Py_ssize_t n, *args):
        self.score = score
        self.n = n

    cdef int add_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil:
        """Scores with each other variable in turn, -inf for the node and its parents.

        There is to be room for three more, whole vectors being written.
        """
        cdef Py_ssize_t k
        cdef const double[::1] found
        with gil:
            found = self.score.addition_scores(
                node, tuple([parents[k] for k in range(size)])
            )
            for k in range(self.n):
                scores[k] = found[k]
        return 0

    cdef int remove_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil:
        """Scores without each of the parents in turn."""
        cdef Py_ssize_t k
        cdef const double[::1] found
        with gil:
            found = self.score.removal_scores(
                node, tuple([parents[k] for k in range(size)])
            )
            for k in range(size):
                scores[k] = found[k]
        return 0
