"""How work is spread: the only module that knows joblib."""

from joblib import Parallel, delayed, effective_n_jobs


def run_threads(function, items, n_jobs=None):
    """Call `function` on every item, in threads; the results in the items' order.

    The functions given here run compiled code without the GIL on arrays that they
    share, so threads are the right workers whatever joblib backend is active.
    """
    items = list(items)
    if len(items) < 2 or effective_n_jobs(n_jobs) == 1:
        return [function(item) for item in items]
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
    return parallel(delayed(function)(item) for item in items)


def run_parallel(function, jobs, n_jobs=None):
    """Call `function` with the arguments of every job, in the active backend.

    Threads unless the user chose another backend (``joblib.parallel_config``), in
    which case function and arguments are pickled.
    """
    if len(jobs) < 2 or effective_n_jobs(n_jobs) == 1:
        return [function(*job) for job in jobs]
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    return parallel(delayed(function)(*job) for job in jobs)
