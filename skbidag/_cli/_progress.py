"""What is seen of a fit while it runs: a bar on a terminal, or lines.

A thread looks at the clock, for a search reports nothing before it is done. The chains'
reports are counted as they come.
"""

import shutil
import threading
import time

from skbidag._observer import REPORTS

# Redrawn on a terminal, and a line written elsewhere, once in so many seconds.
INTERVAL = 0.1
LINE_INTERVAL = 10.0
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
        self.interval = INTERVAL
        self.done = self.total = 0
        self.began = 0.0
        self.ended = threading.Event()

    def setup(self, estimator, context):
        """Start to look at the clock."""
        self.done = self.total = 0
        self.began = time.perf_counter()
        self.ended = threading.Event()
        self._write(self._text())
        self.clock = threading.Thread(target=self._watch, daemon=True)
        self.clock.start()

    def teardown(self, estimator, context):
        """Show the end, and leave an empty line behind."""
        self.ended.set()
        self.clock.join()
        self._write(self._text())
        self._close()

    def on_fit_task_begin(self, estimator, context, **ignored):
        """Count the chains as they are opened."""
        if context.task_name == "chain":
            if not self.total:
                self.began = time.perf_counter()
            self.total += REPORTS

    def on_fit_task_end(self, estimator, context, **ignored):
        """Advance by a hundredth of a chain."""
        self.done += context.task_name == "steps"
        return False

    def _watch(self):
        while not self.ended.wait(self.interval):
            self._write(self._text())

    def _text(self):
        passed = time.perf_counter() - self.began
        if not self.done:
            return f"{'Sampling' if self.total else 'Searching'} ... {passed:.0f} s"
        left = passed * (self.total - self.done) / self.done
        return f"{self._bar()}{100 * self.done // self.total} %, {left:.0f} s left"

    def _bar(self):
        full = WIDTH * self.done // self.total
        return f"Sampling [{'#' * full}{'.' * (WIDTH - full)}] "

    def _write(self, text):
        columns = shutil.get_terminal_size().columns
        # back to the start of the line, and clear it
        self.stream.write(f"\r\x1b[K{text[: columns - 1]}")
        self.stream.flush()

    def _close(self):
        self._write("")


class LineProgress(TerminalProgress):
    """The same in lines, for a file or a pipe.

    Parameters
    ----------
    stream : text file
        Where the lines go.
    """

    def __init__(self, stream):
        super().__init__(stream)
        self.interval = LINE_INTERVAL

    def _bar(self):
        return "Sampling, "

    def _write(self, text):
        self.stream.write(f"skbidag: {text}\n")
        self.stream.flush()

    def _close(self):
        """Nothing to clear."""
