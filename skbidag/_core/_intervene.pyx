# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows of a categorical network under interventions.

A world is the network with one variable set to a level; the last world has none set.
All worlds use the same uniform numbers, so that a world differs from the last one only
downstream of its variable, and only there it is simulated.
"""


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
