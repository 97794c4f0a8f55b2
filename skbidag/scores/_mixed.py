"""The compiled walks over mixed data, one for each thread that fills tables."""

from skbidag._core._mixed import MixedWalk


class MixedWalks:
    """As many walks over the same data as there are threads that fill tables.

    A thread takes a walk that nobody uses, or a new one, and leaves it for others. A
    copy, in another process for instance, starts without walks.

    Parameters
    ----------
    *data
        What a :class:`~skbidag._core._mixed.MixedWalk` is made of.
    """

    def __init__(self, *data):
        self._data = data
        self._idle = []

    def __reduce__(self):
        return MixedWalks, self._data

    def fill_table(self, *arguments, **options):
        """Fill a table as :meth:`MixedWalk.fill_table` does."""
        try:
            walk = self._idle.pop()
        except IndexError:
            walk = MixedWalk(*self._data)
        try:
            walk.fill_table(*arguments, **options)
        finally:
            self._idle.append(walk)
