"""prefetch: the next results are made in a background thread while the last one is used."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_THREAD = "typednn prefetch"


def prefetch(make: Callable[[Task], Result], tasks: Sequence[Task], ahead: int) -> Iterator[Result]:
    """``make(task)`` for each task in order, at most ``ahead`` of them finished and waiting; 0 means no thread.

    An error of ``make`` is raised where its result would have come. The thread starts with the first result that is asked
    for, and has ended when the iterator is exhausted, raises, is closed or dropped.
    """
    if ahead == 0:
        yield from map(make, tasks)
        return
    remaining = iter(tasks)
    worker = ThreadPoolExecutor(1, _THREAD)
    try:
        results: deque[Future[Result]] = deque(worker.submit(make, task) for task in islice(remaining, ahead))
        while results:
            result = results.popleft().result()
            results.extend(worker.submit(make, task) for task in islice(remaining, 1))
            yield result
            del result  # release it before waiting for the next result
    finally:
        # The garbage collector may close the generator in any thread, and a worker can't wait for itself.
        worker.shutdown(wait=not threading.current_thread().name.startswith(_THREAD), cancel_futures=True)
