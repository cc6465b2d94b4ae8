"""Batches: requests that come while others are computed are computed together, as soon as these are done.

Nobody waits for a batch to fill: what is alone is computed at once. (Waiting 2 ms for company made one client's answers
take four times as long, and was no faster with sixteen clients of a small model: docs/serving.md.)
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, final

import anyio.to_thread

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


@final
class Batches(Generic[Asked, Answered]):
    """``compute`` gives an answer or an error for each of up to ``most`` requests, one batch at a time, in a thread."""

    def __init__(self, compute: Callable[[Sequence[Asked]], Sequence[Answered | Exception]], most: int) -> None:
        self._compute = compute
        self._most = most
        self._waiting: list[tuple[Asked, asyncio.Future[Answered]]] = []
        self._task: asyncio.Task[None] | None = None

    async def answer(self, asked: Asked) -> Answered:
        """The answer to one request; its error is raised."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        """Compute what waits until nothing does."""
        while self._waiting:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            answers: Sequence[Answered | Exception]
            try:
                answers = await anyio.to_thread.run_sync(self._compute, [asked for asked, _ in batch])
            except Exception as error:  # of all: each is told, and the next batch may do better
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # the client has gone
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
