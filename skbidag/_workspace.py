"""Memory that tables hand on to each other.

Touching fresh memory takes as long as computing what goes there: the system maps and
clears it page by page, at 1 to 8 GB/s on a virtual machine, where memory that was in
use takes 25 GB/s and more. A search builds and drops hundreds of tables, and then the
chains' tables follow. A workspace keeps what one table gives back for the next.
"""

import math
import threading
from bisect import bisect

import numpy as np

# Doubles to a line of the cache, at which every array starts.
LINE = 8
# Doubles of a slab, 1 MB; a larger array has a slab of its own.
SLAB = 1 << 17


class Workspace:
    """Arrays of doubles in memory that is used again and again.

    The memory is a list of slabs. What is free of them is kept as spans, sorted, no
    two of which touch. Threads may share a workspace. A copy in another process starts
    empty.

    Examples
    --------
    >>> workspace = Workspace()
    >>> table = workspace.take((4, 3))
    >>> table.shape, workspace.free_bytes < 0
    ((4, 3), False)
    >>> workspace.give(table)
    """

    def __init__(self):
        self._slabs, self._last = {}, 0
        self._owners = {}  # number of the slab, by the memory that it is of
        self._spans = []  # of free memory: number of the slab, start, end
        self._lock = threading.Lock()

    def __reduce__(self):
        return Workspace, ()

    @property
    def free_bytes(self):
        """Memory that is held and not in use."""
        with self._lock:
            return 8 * sum(end - start for _, start, end in self._spans)

    def take(self, shape):
        """An array whose entries are not set, from the smallest span it fits into."""
        size = math.prod(shape)
        room = -(-size // LINE) * LINE
        with self._lock:
            fitting = [span for span in self._spans if span[2] - span[1] >= room]
            if not fitting:
                fitting = [self._new_slab(max(room, SLAB))]
            span = min(fitting, key=lambda span: span[2] - span[1])
            slab, start, end = span
            place = self._spans.index(span)
            left = [(slab, start + room, end)] if start + room < end else []
            self._spans[place : place + 1] = left
            return self._slabs[slab][start : start + size].reshape(shape)

    def _new_slab(self, size):
        """The span of a new slab. As much goes that is free, but in too small slabs."""
        wanted = size
        for span in self._spans.copy():
            slab, start, end = span
            if wanted > 0 and end - start == len(self._slabs[slab]):
                wanted -= end
                self._spans.remove(span)
                del self._owners[id(self._slabs.pop(slab).base)]
        self._last += 1
        memory = self._slabs[self._last] = _aligned(size)
        self._owners[id(memory.base)] = self._last
        self._spans.append((self._last, 0, size))
        return self._spans[-1]

    def give(self, array):
        """Give back an array that `take` gave, which nobody may use any more.

        Arrays from elsewhere are left alone.
        """
        with self._lock:
            slab = self._owners.get(id(array.base))
            if slab is None:
                return
            start = (array.ctypes.data - self._slabs[slab].ctypes.data) // 8
            end = start + -(-array.size // LINE) * LINE
            # spans are in order, and never meet: its neighbors may
            place = bisect(self._spans, (slab, start))
            after = before = place
            if after < len(self._spans) and self._spans[after][:2] == (slab, end):
                end = self._spans[after][2]
                after += 1
            if before > 0 and self._spans[before - 1][::2] == (slab, start):
                before -= 1
                start = self._spans[before][1]
            self._spans[before:after] = [(slab, start, end)]


def _aligned(size):
    """Memory for so many doubles that starts with a line of the cache."""
    memory = np.empty(size + LINE)
    first = -(memory.ctypes.data // 8) % LINE
    return memory[first : first + size]
