"""Meetings: the shards of a rank side by side, as far as the next batch normalisation, which needs numbers of all.

Each shard is computed in a thread of its own, so that it can wait in the middle of its forward or backward. One runs at
a time, in order: kernels have all of the rank's threads, and each result is that of the shard alone. When the last one
has come to the layer, the ranks exchange their numbers, a row for each shard, and all go on. Every rank has the rows in
the order of the shards, so their sums have the same bits on any number of ranks.

Memory: what the forwards of all of a rank's shards keep, at once. Messages: 16 bytes per channel, shard and meeting;
each layer meets once in forward and once in backward.
Source: the statistics of all processes, as in torch.nn.SyncBatchNorm.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.engines.halide.rehearsal import expected, expecting
from typednn.errors import ArgumentError, StateError, explain
from typednn.module.module import Module
from typednn.module.running_statistics import Normalising, meeting_with
from typednn.parallel.in_flight import ShardState
from typednn.parallel.ranks import Ranks


class _Over(BaseException):
    """Ends a shard that waits for others."""


@final
class Part:
    """The shard number ``shard``: what ``compute`` gives of it, with meetings on the way.

    One that does not count, of a rank without rows, only takes part.
    """

    def __init__(self, shard: int, counts: bool, compute: Callable[[], Any]) -> None:
        self.shard = shard
        self.counts = counts
        self.divisor: float = 1.0
        self.layer: Normalising | None = None
        """Where it waits."""
        self.numbers: Any = None  # that it gives there
        self.left: Any = None  # what its forward has left by then
        self.result: Any = None
        self._compute = compute
        self._said: SimpleQueue[BaseException | None] = SimpleQueue()
        self._told: SimpleQueue[Any] = SimpleQueue()
        self._rehearsal = expected()
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)

    def go_on(self, rows: npt.NDArray[np.float64] | None) -> None:
        """Compute with the ``rows`` of all, as far as the next meeting or the end; raises what the shard raises."""
        self.layer = None
        if rows is None:
            self._thread.start()
        else:
            self._told.put(rows)
        error = self._said.get()
        if error is not None:
            raise error

    def end(self) -> None:
        """Wait until it has ended, at its next meeting at the latest."""
        if self._thread.is_alive():
            self._told.put(None)
            self._thread.join()

    def __call__(self, layer: Normalising, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        self.layer, self.numbers = layer, numbers
        self._said.put(None)
        rows: npt.NDArray[np.float64] | None = self._told.get()
        if rows is None:
            raise _Over
        return rows

    def _run(self) -> None:
        try:
            with meeting_with(self), nullcontext() if self._rehearsal is None else expecting(*self._rehearsal):
                self.result = self._compute()
            self._said.put(None)
        except BaseException as error:  # told in the thread that waits
            self._said.put(error)


@final
class Meetings:
    """The layers of ``model`` that normalise by a batch, where the shards ``own`` meet those of other ``ranks``."""

    def __init__(self, model: Module, ranks: Ranks, own: range) -> None:
        nodes = [node for _, node in model.named_modules()]
        self.places: dict[int, int] = {
            id(node): place for place, node in enumerate(nodes) if isinstance(node, Normalising) and node.training
        }
        """By the layer's id; empty where nothing is to meet."""
        self._ranks = ranks
        self._own = own
        kind = next((type(node).__name__ for node in nodes if node.foreign), None)
        if self.places and kind is not None:
            rule, cure = "sync_batchnorm is of typednn's layers", "leave sync_batchnorm out"
            raise ArgumentError(explain("fit", rule, kind, cure), "parallel")

    def computed(self, parts: Sequence[Part], state: ShardState) -> Iterator[Any]:
        """The results of ``parts``, each as soon as it is there, in order; then ``state`` is what it has left."""
        rows: Any = None
        try:
            while True:
                for part in parts:
                    if part.left is None:
                        state.begin(part.shard)
                    else:
                        left, part.left = part.left, None
                        state.put_back(left)
                    part.go_on(rows)
                    if part.layer is None:
                        result, part.result = part.result, None
                        yield result
                    else:
                        part.left = state.left()
                if all(part.layer is None for part in parts):
                    return
                rows = self._exchanged(parts)
        finally:
            for part in parts:
                part.end()

    def _exchanged(self, parts: Sequence[Part]) -> npt.NDArray[np.float64]:
        """The numbers of all shards, a row for each; behind them on the way, the place of the layer."""
        if len({id(part.layer) for part in parts}) > 1:
            raise _apart()
        place = self.places.get(id(parts[0].layer), -1)
        rows = np.zeros((len(self._own), len(parts[0].numbers) + 1))
        for part in parts:
            if part.counts:
                rows[part.shard - self._own.start] = *part.numbers, place
        every = self._ranks.gathered(rows)
        numbers, places = every[:, :-1], every[:, -1]
        if len({*places[numbers[:, -1] > 0].tolist()}) > 1:  # of those with a count
            raise _apart()
        return numbers


def _apart() -> StateError:
    rule = "with sync_batchnorm each shard meets the others at the same layers, in the same order"
    return StateError(explain("fit", rule, "shards at two layers", "leave sync_batchnorm out"))
