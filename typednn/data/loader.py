"""Loader: batches in a seeded order, made in the background, with a position that can be saved.

    loader = Loader(x, y, batch_size=32, rng=numpy.random.default_rng(0))
    for batch in loader.batches():  ...  # one epoch, or what is left of it

An epoch's order is drawn once, when it begins. ``state_dict()`` holds the epoch, the number of batches already taken, and the
generator's state before that draw. A loader of the same data that loads it gives the same batches from there on, bit for
bit. Batches prepared in the background do not count as taken. Only the rows of a batch are read, so ``x`` and ``y`` may be
memory-mapped files larger than memory (`read_npy` with ``mmap=True``).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, cast, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.arrays import IntArray1, described, is_number
from typednn.data.generator_state import generator_state, restore_generator
from typednn.data.prefetch import prefetch
from typednn.errors import ArgumentError, StateDictError, StateError, explain
from typednn.random import Rng

X = TypeVar("X", bound=np.ndarray[Any, Any])
Y = TypeVar("Y", bound=np.ndarray[Any, Any])
Stored = TypeVar("Stored", bound=np.ndarray[Any, Any])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch(Generic[X, Y]):
    """One batch: copies of rows of ``x`` and ``y``; ``indices`` are the numbers of the rows."""

    x: X
    y: Y
    indices: IntArray1


@final
class Loader(Generic[X, Y]):
    """The rows of ``x`` and ``y``, ``batch_size`` at a time, each once per epoch; the last batch of an epoch may be short.

    ``rng`` orders each epoch anew, ``shuffle=False`` keeps the order of the rows and draws nothing. Up to ``prefetch`` batches
    are made ahead in a background thread; 0 makes each when it is needed. ``transform(x)`` may change a batch's ``x``
    there; it must give the same for the same rows, or a continued run differs from one that was not interrupted.
    """

    @overload
    def __init__(
        self, x: X, y: Y, *, batch_size: int, rng: Rng | None = None, shuffle: bool = True, prefetch: int = 2, transform: None = None
    ) -> None: ...

    @overload
    def __init__(
        self,
        x: Stored,
        y: Y,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        prefetch: int = 2,
        transform: Callable[[Stored], X],
    ) -> None: ...

    def __init__(
        self,
        x: Any,
        y: Y,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        prefetch: int = 2,
        transform: Callable[[Any], X] | None = None,
    ) -> None:
        _check_rows("x", x)
        _check_rows("y", y)
        if len(x) != len(y) or not len(x):
            raise ArgumentError(explain("Loader", "x and y must have as many rows, and at least one", f"{len(x)} and {len(y)}"))
        unchecked: object = rng
        if shuffle and not isinstance(unchecked, Rng):
            got = "none" if unchecked is None else type(unchecked).__name__
            cure = "pass rng=numpy.random.default_rng(0), or shuffle=False for the rows' own order"
            raise ArgumentError(explain("Loader", "shuffling draws from a generator", got, cure), "rng")
        self._x = x
        self._y = y
        self._rng = rng if shuffle else None
        self.batch_size: int = integer("Loader", "batch_size", batch_size)
        """Rows in every batch but the last of an epoch."""
        self._ahead = integer("Loader", "prefetch", prefetch, 0)
        self._transform = transform
        self.epoch: int = 0
        """Epochs completed."""
        self.step: int = 0
        """Batches of the current epoch already taken."""
        self._order: npt.NDArray[np.int64] | None = None  # of this epoch, drawn when it begins
        self._drawn_from: dict[str, Any] | None = None  # the generator before that
        self._running: int = 0  # the number of the latest call of batches(); older iterators are invalid

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._x)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch."""
        return math.ceil(self.rows / self.batch_size)

    def _repr_html_(self) -> str:
        """What a notebook shows: rows, batches, and the position."""
        from typednn.html import facts, shown, table

        arrays = [(name, " × ".join(map(str, array.shape)), array.dtype) for name, array in (("x", self._x), ("y", self._y))]
        place = {"batch size": self.batch_size, "batches an epoch": f"{self.steps_per_epoch:,}", "shuffled": self._rng is not None}
        return shown("Loader", facts(place | {"epochs done": self.epoch}), table(["", "shape", "dtype"], arrays))

    def batches(self) -> Iterator[Batch[X, Y]]:
        """The rest of the current epoch; when it is exhausted, ``epoch`` is one more and ``step`` 0.

        One iterator at a time: a new call, or `load_state_dict`, makes the previous one invalid, and ends its thread.
        """
        if self._order is None:
            self._drawn_from = None if self._rng is None else generator_state(self._rng)
            self._order = np.arange(self.rows) if self._rng is None else self._rng.permutation(self.rows)
        self._running += 1
        return self._rest(self._order, self._running)

    def state_dict(self) -> dict[str, Any]:
        """The position, as JSON-able values."""
        return {
            "rows": self.rows,
            "batch_size": self.batch_size,
            "shuffle": self._rng is not None,
            "epoch": self.epoch,
            "step": self.step,
            "drawn_from": self._drawn_from,
            "generator": None if self._rng is None else generator_state(self._rng),
        }

    def load_state_dict(self, state: Any) -> None:
        """Go on from a `state_dict`, the generator included; a `StateDictError`, and nothing changed, if it is not of such a loader."""
        current, unchecked = self.state_dict(), cast("object", state)
        if not isinstance(unchecked, dict) or set(state) != set(current):
            raise StateDictError(explain("Loader.load_state_dict", f"needs the keys {', '.join(sorted(current))}", repr(state)[:200]))
        for key in ("rows", "batch_size", "shuffle"):
            if type(state[key]) is not type(current[key]) or state[key] != current[key]:
                cure = "go on with the same data, batch size and shuffling"
                raise StateDictError(explain("Loader.load_state_dict", f"{key} must be {current[key]}", repr(state[key])[:80], cure))
        begun = state["drawn_from"] is not None if self._rng is not None else state["step"] != 0
        epoch = _position("epoch", state["epoch"], None)
        step = _position("step", state["step"], self.steps_per_epoch if begun else 0)
        order = np.arange(self.rows) if begun else None
        if self._rng is not None:
            try:
                if begun:
                    restore_generator(self._rng, state["drawn_from"])
                    order = self._rng.permutation(self.rows)
                restore_generator(self._rng, state["generator"])
            except StateDictError:
                restore_generator(self._rng, current["generator"])
                raise
        self._running += 1
        self.epoch, self.step = epoch, step
        self._order, self._drawn_from = order, None if self._rng is None else state["drawn_from"]

    def _rest(self, order: npt.NDArray[np.int64], running: int) -> Iterator[Batch[X, Y]]:
        if running == self._running:
            size = self.batch_size
            chunks = [order[start : start + size] for start in range(self.step * size, self.rows, size)]
            for batch in prefetch(self._batch, chunks, self._ahead):
                if running != self._running:
                    break
                self.step += 1
                yield batch
                del batch  # release this batch before waiting for the next one
        if running != self._running:
            raise StateError(
                explain("Loader.batches", "one iterator at a time, the newest", "one of an earlier call", "take batches() once per epoch")
            )
        self.epoch, self.step = self.epoch + 1, 0
        self._order, self._drawn_from = None, None
        self._running += 1

    def _batch(self, rows: npt.NDArray[np.int64]) -> Batch[X, Y]:
        x: Any = np.asarray(self._x[rows])
        y: Any = np.asarray(self._y[rows])
        return Batch(x if self._transform is None else self._transform(x), y, rows)


def _check_rows(name: str, array: Any) -> None:
    if not issubclass(type(array), np.ndarray) or array.ndim == 0 or not (is_number(array.dtype) or array.dtype == bool):
        rule = f"{name} must be a NumPy array of numbers with rows"
        raise ArgumentError(explain("Loader", rule, described(array), "convert it with numpy.asarray(...)"), name)


def _position(name: str, value: Any, most: int | None) -> int:
    if type(value) is not int or value < 0 or (most is not None and value > most):
        bound = "at least 0" if most is None else f"0 to {most}"
        raise StateDictError(explain("Loader.load_state_dict", f"{name} must be an integer, {bound}", repr(value)[:80]))
    return value
