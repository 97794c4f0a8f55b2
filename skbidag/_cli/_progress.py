"""A bar on the terminal while chains run."""

import shutil
import time

from skbidag._observer import REPORTS

# Redrawn at most so often, in seconds.
INTERVAL = 0.1
WIDTH = 30


class TerminalProgress:
    """A callback of scikit-learn's kind that draws a bar.

    Parameters
    ----------
    stream : text file
        The terminal.
    """

    def __init__(self, stream):
        self.stream = stream
        self.done = self.total = 0
        self.began = self.drawn = 0.0

    def setup(self, estimator, context):
        """Say that the search has begun, of which there is no bar."""
        self.done = self.total = 0
        self._write("Searching ...")

    def teardown(self, estimator, context):
        """Leave an empty line behind."""
        self._write("")

    def on_fit_task_begin(self, estimator, context, **ignored):
        """Count the chains as they are opened."""
        if context.task_name == "chain":
            self.total += REPORTS
            self.began = time.perf_counter()

    def on_fit_task_end(self, estimator, context, **ignored):
        """Advance by a hundredth of a chain."""
        if context.task_name == "steps":
            self.done += 1
            self._draw()
        return False

    def _draw(self):
        now = time.perf_counter()
        if now - self.drawn < INTERVAL and self.done < self.total:
            return
        self.drawn = now
        left = (now - self.began) * (self.total - self.done) / self.done
        full = WIDTH * self.done // self.total
        self._write(
            f"Sampling [{'#' * full}{'.' * (WIDTH - full)}] "
            f"{100 * self.done // self.total} %, {left:.0f} s left"
        )

    def _write(self, text):
        columns = shutil.get_terminal_size().columns
        # back to the start of the line, and clear it
        self.stream.write(f"\r\x1b[K{text[: columns - 1]}")
        self.stream.flush()
