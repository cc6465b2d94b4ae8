"""prefetch: the next results are made in background threads while the last one is used."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def prefetch(make: Callable[[Task], Result], tasks: Sequence[Task], ahead: int, workers: int = 1) -> Iterator[Result]:
    """``make(task)`` for each task in order, at most ``ahead`` of them begun and waiting, in ``workers`` threads; 0
    ahead means no thread.

    An error of ``make`` is raised where its result would have come, and no further task is begun. The threads start
    with the first result that is asked for, and have ended when the iterator is exhausted, raises, is closed or
    dropped.
    """
    if ahead == 0:
        for task in tasks:  # not by map, which would take a StopIteration of ``make`` for the end
            yield make(task)
        return
    work = _Work(make, tasks, ahead)
    threads = [
        threading.Thread(target=work.run, name="typednn prefetch", daemon=True)
        for _ in range(min(workers, ahead, len(tasks)))
    ]
    try:
        for thread in threads:
            thread.start()
        for place in range(len(tasks)):
            result = work.result(place)
            yield result
            del result  # or it would live until the next one is there
    finally:
        work.stop(len(threads))
        for thread in threads:
            # a garbage collection may run anywhere
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join()


class _Work(Generic[Task, Result]):
    """Tasks that several threads take in their order, and their results, which are read in the same order."""

    def __init__(self, make: Callable[[Task], Result], tasks: Sequence[Task], ahead: int) -> None:
        self._make = make
        self._tasks = tasks
        self._room = threading.Semaphore(ahead)
        self._done = threading.Condition()
        self._results: dict[int, tuple[Result, None] | tuple[None, BaseException]] = {}
        self._begun = 0
        self._stopped = False

    def run(self) -> None:
        """Of one thread: make results until there is no task, an error, or `stop`."""
        while True:
            self._room.acquire()
            with self._done:
                if self._stopped or self._begun == len(self._tasks):
                    return
                place = self._begun
                self._begun += 1
            made: tuple[Result, None] | tuple[None, BaseException]
            try:
                made = self._make(self._tasks[place]), None
            except BaseException as error:
                made = None, error
            with self._done:
                self._results[place] = made
                if made[1] is not None:
                    self._stopped = True  # tasks before this one are begun, and are finished
                self._done.notify()
            del made

    def result(self, place: int) -> Result:
        """The result of a task, once it is there; its error is raised."""
        with self._done:
            while place not in self._results:
                self._done.wait()
            result, error = self._results.pop(place)
        if error is not None:
            raise error
        self._room.release()
        # there is a result where there is no error
        return result  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def stop(self, threads: int) -> None:
        """No further task is begun, and no thread waits for room."""
        with self._done:
            self._stopped = True
        for _ in range(threads):
            self._room.release()
