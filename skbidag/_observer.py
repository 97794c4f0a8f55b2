"""What is seen of running chains: scikit-learn callbacks and verbose lines."""

import threading
import time

# Progress is reported in hundredths of a chain.
REPORTS = 100


def unobserved(chain, done, total):
    """Stand in for an observer in another process: nothing to see, go on."""
    return False


class ChainObserver:
    """Passes the progress of chains on to callbacks and to the terminal.

    Called by the running chains with (chain, steps done, steps in all); true if a
    callback asks that chain to stop. In the callbacks' tree of tasks, ``fit`` has
    one subtask per chain and round, and that has one per hundredth of its steps.

    Parameters
    ----------
    estimator : BaseStructure
        The estimator that is fitted.
    root : CallbackContext
        The task ``fit``.
    """

    def __init__(self, estimator, root):
        self.estimator = estimator
        self.root = root
        self.n_rounds = 0
        self.lock = threading.Lock()
        self.verbose = int(estimator.verbose)
        self.last_line = time.perf_counter()

    def open_round(self):
        """Open one subtask per chain."""
        n_chains = self.estimator.n_chains
        self.started = time.perf_counter()
        self.reported = [0] * n_chains
        self.steps = [0] * n_chains
        self.contexts = []
        for chain in range(n_chains):
            context = self.root.subcontext(
                task_name="chain",
                task_id=self.n_rounds * n_chains + chain,
                max_subtasks=REPORTS,
                sequential_subtasks=True,
            )
            context.call_on_fit_task_begin(estimator=self.estimator)
            self.contexts.append(context)
        self.n_rounds += 1

    def close_round(self):
        """End the chains' subtasks."""
        for context in self.contexts:
            context.call_on_fit_task_end(estimator=self.estimator)

    def __call__(self, chain, done, total):
        with self.lock:
            stop = False
            reached = REPORTS * done // total
            while self.contexts and self.reported[chain] < reached and not stop:
                step = self.contexts[chain].subcontext(task_name="steps")
                step.call_on_fit_task_begin(estimator=self.estimator)
                stop = step.call_on_fit_task_end(estimator=self.estimator)
                self.reported[chain] += 1
            if self.verbose:
                self._print(chain, done, total)
            return stop

    def _print(self, chain, done, total):
        self.steps[chain] = done
        now = time.perf_counter()
        # a line a second, and at the end of each chain; more with more verbosity
        if done < total and now - self.last_line < 1.0 / self.verbose:
            return
        self.last_line = now
        # of all chains together, whether they run one after the other or at once
        speed = sum(self.steps) / max(now - self.started, 1e-9)
        left = (total * len(self.steps) - sum(self.steps)) / speed
        print(
            f"[{type(self.estimator).__name__}] chain {chain + 1}: "
            f"{done:,} of {total:,} steps, all chains {speed:,.0f} steps/s, "
            f"{left:.1f} s left"
        )

    def __reduce__(self):
        # in another process there is nobody to report to
        return _unobserved_again, ()


def _unobserved_again():
    return unobserved
