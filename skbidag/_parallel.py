"""How work is spread: the only module that knows joblib."""

from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from functools import cached_property
from threading import Thread
from uuid import uuid4

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend

# As often as Dask itself starts a job again whose workers die
MOST_LOSSES = 3


def n_workers(n_jobs=None):
    """How many workers to use: one inside a parallel loop, which has the others.

    Parameters
    ----------
    n_jobs : int, default=None
        What the user asks for, as in scikit-learn.

    Returns
    -------
    n_workers : int
        As joblib has it, but 1 in a worker of an outer loop, such as that of
        ``GridSearchCV(n_jobs=2)``: joblib would let each worker start `n_jobs` threads.

    Examples
    --------
    >>> n_workers(2), n_workers()
    (2, 1)
    """
    backend, _ = get_active_backend()
    if isinstance(backend, ThreadingBackend) and backend.nesting_level:
        return 1
    return effective_n_jobs(n_jobs)


def in_turn():
    """Context in which what another package spreads by joblib runs here, in turn."""
    return parallel_config(backend="sequential")


def run_threads(function, items, n_jobs=None):
    """Call a function on every item, in threads, and return the results in order.

    Parameters
    ----------
    function : callable
        Called with one item. It should spend its time without the GIL.
    items : sequence
        What to call it with.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 is all processors.

    Returns
    -------
    results : list
        ``function(item)`` for each item.

    Examples
    --------
    >>> run_threads(abs, [-3, 1, -2], n_jobs=2)
    [3, 1, 2]
    """
    n_threads = min(n_workers(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    # Blocks, because handing a task to a thread costs more than most items do;
    # several per thread and interleaved, because items differ in their work.
    n_blocks = min(8 * n_threads, len(items))
    blocks = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(_run_block)(function, items[k::n_blocks]) for k in range(n_blocks)
    )
    results = [None] * len(items)
    for k, block in enumerate(blocks):
        results[k::n_blocks] = block
    return results


@contextmanager
def helped(state, n_jobs=None):
    """Let other threads help with what a block does, whenever there is something.

    To start threads takes longer than many a piece of work that they can help with.

    Parameters
    ----------
    state : object
        With methods ``expect_helpers``, of their number; ``help``, which a thread calls
        with its own number, and which returns after ``dismiss_helpers``; and
        ``forget_helpers``, for when all have returned.
    n_jobs : int, default=None
        Number of threads, this one among them.
    """
    n_helpers = n_workers(n_jobs) - 1
    if n_helpers < 1:
        yield
        return
    state.expect_helpers(n_helpers)
    threads = [
        Thread(target=state.help, args=(k,), daemon=True) for k in range(n_helpers)
    ]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        yield
    finally:
        state.dismiss_helpers()
        for thread in started:
            thread.join()
        state.forget_helpers()


def run_parallel(function, jobs, n_jobs=None):
    """Call a function with the arguments of every job, in the active backend.

    Threads unless the user chose another backend (``joblib.parallel_config``), in
    which case function and arguments are pickled. Arguments that all jobs have in
    common go to a Dask cluster once and not once for each job.

    Parameters
    ----------
    function : callable
        Called with the arguments of one job.
    jobs : sequence of tuple
        The arguments.
    n_jobs : int, default=None
        Number of workers.

    Returns
    -------
    results : list
        ``function(*job)`` for each job.
    """
    if len(jobs) < 2 or n_workers(n_jobs) == 1:
        return [function(*job) for job in jobs]
    first, *others = jobs
    shared = Shared(
        {
            place: argument
            for place, argument in enumerate(first)
            if all(job[place] is argument for job in others)
        }
    )
    own = [
        {k: argument for k, argument in enumerate(job) if k not in shared.parts}
        for job in jobs
    ]

    def run():
        with _scattered(shared):
            parallel = Parallel(n_jobs=n_jobs, prefer="threads")
            return parallel(delayed(_run_job)(function, shared, parts) for parts in own)

    return _again_if_lost(run)


def _again_if_lost(run):
    """Run jobs on a cluster, and again if it has lost what they share.

    A job whose worker dies, Dask gives to another. What jobs share it cannot make
    again: if the last worker dies that had it, the jobs are cancelled.
    """
    backend, _ = get_active_backend()
    if getattr(backend, "client", None) is None:
        return run()
    for _ in range(MOST_LOSSES):
        try:
            return run()
        except CancelledError:
            continue
    return run()


def _scattered(shared):
    """Let what jobs share go to all workers of a Dask cluster, if that is active.

    Left to itself joblib would send large arguments to one worker, and Dask, which
    takes every task for a short one, would run most jobs there.
    """
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    if client is None:
        return nullcontext()
    return parallel_config(
        backend="dask", client=client, scatter=[shared], **backend.submit_kwargs
    )


class Shared:
    """Arguments that several jobs have in common.

    Parameters
    ----------
    parts : dict
        Arguments by their place.
    """

    def __init__(self, parts):
        self.parts = parts

    @cached_property
    def n_bytes(self):
        """Size of the pickle. Arrays are not copied for it."""
        import cloudpickle  # who asks is Dask, which comes with it

        buffers = []
        pickled = cloudpickle.dumps(
            self.parts, protocol=5, buffer_callback=buffers.append
        )
        return len(pickled) + sum(buffer.raw().nbytes for buffer in buffers)

    def __sizeof__(self):
        # Dask watches its workers' memory by what objects tell of their size
        return object.__sizeof__(self) + self.n_bytes

    def __dask_tokenize__(self):
        return uuid4().hex  # a name, without a look at every byte


def _run_job(function, shared, parts):
    """Call a function with shared and own arguments, each in its place."""
    arguments = {**shared.parts, **parts}
    return function(*(arguments[place] for place in sorted(arguments)))


def _run_block(function, items):
    return [function(item) for item in items]
