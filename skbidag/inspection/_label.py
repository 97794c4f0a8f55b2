"""Text that keeps its size in the axes' units. Imported only when it is drawn."""

from matplotlib.text import Text


class Label(Text):
    """Centered text whose font size is one unit of the data, whatever the axes' size.

    Axes shrink and grow after something is drawn into them: when a window is resized,
    or when a layout makes room for what is next to them.
    """

    def _fit(self):
        transform = self.axes.transData
        (_, low), (_, high) = transform.transform([(0, 0), (0, 1)])
        size = max((high - low) * 72 / self.figure.dpi, 0.1)
        # only if it changes: to set it is to ask for being drawn again
        if abs(size - self.get_fontsize()) > 1e-3 * size:
            self.set_fontsize(size)

    def draw(self, renderer):
        """Draw the text as large as it is to be by now."""
        self._fit()
        super().draw(renderer)

    def get_window_extent(self, *args, **kwargs):
        """Extent of the text as large as it is to be by now."""
        self._fit()
        return super().get_window_extent(*args, **kwargs)
