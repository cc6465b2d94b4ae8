"""prefetch: the next results are made in a background thread while the last one is used."""

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def prefetch(make: Callable[[Task], Result], tasks: Sequence[Task], ahead: int) -> Iterator[Result]:
    """``make(task)`` for each task in order, at most ``ahead`` of them finished and waiting; 0 means no thread.

    An error of ``make`` is raised where its result would have come. The thread starts with the first result that is asked
    for, and has ended when the iterator is exhausted, raises, is closed or dropped.
    """
    if ahead == 0:
        for task in tasks:  # not by map, which would take a StopIteration of ``make`` for the end
            yield make(task)
        return
    results: SimpleQueue[tuple[Result, None] | tuple[None, BaseException]] = SimpleQueue()
    room = threading.Semaphore(ahead)
    stopped = threading.Event()
    worker = threading.Thread(target=_work, args=(make, tasks, results, room, stopped), name="typednn prefetch", daemon=True)
    worker.start()
    try:
        for _ in tasks:
            result, error = results.get()
            if error is not None:
                raise error
            room.release()
            yield result  # type: ignore[misc]  # pyright: ignore[reportReturnType]  # there is a result where there is no error
            del result  # or it would live until the next one is there
    finally:
        stopped.set()
        room.release()
        if worker is not threading.current_thread():  # a garbage collection may run anywhere
            worker.join()


def _work(
    make: Callable[[Task], Result],
    tasks: Sequence[Task],
    results: SimpleQueue[tuple[Result, None] | tuple[None, BaseException]],
    room: threading.Semaphore,
    stopped: threading.Event,
) -> None:
    for task in tasks:
        room.acquire()
        if stopped.is_set():
            return
        try:
            results.put((make(task), None))
        except BaseException as error:
            results.put((None, error))
            return
