"""Loader: batches in a seeded order, made in the background, with a position that can be saved.

    loader = Loader(x, y, batch_size=32, rng=numpy.random.default_rng(0))
    for batch in loader.batches():  ...  # one epoch, or what is left of it

An epoch's order is drawn once, when it begins. ``state_dict()`` holds the epoch, the number of batches already taken,
and the generator's state before that draw. A loader of the same data that loads it gives the same batches from there
on, bit for bit. Batches prepared in the background do not count as taken. Only the rows of a batch are read, so ``x``
and ``y`` may be memory-mapped files larger than memory (`read_npy` with ``mmap=True``), and ``x`` images that are still
in their files (`open_image_folder`).
"""

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, cast, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from typednn.arguments import flag, integer
from typednn.arrays import AnyArray, Array1, IntArray1, described, is_array, is_floating, is_integer, is_number
from typednn.data.augmentation import Changes, checked_changes
from typednn.data.batches import batches_in, rows_in
from typednn.data.fingerprint import fingerprint
from typednn.data.prefetch import prefetch
from typednn.errors import ArgumentError, StateDictError, StateError, explain
from typednn.random import Rng
from typednn.random.state import generator_state, restore_generator
from typednn.screen import as_call, brief

X = TypeVar("X", bound=np.ndarray[Any, Any])
Y = TypeVar("Y", bound=np.ndarray[Any, Any])
Stored = TypeVar("Stored", bound=np.ndarray[Any, Any])
Read = TypeVar("Read", bound=np.ndarray[Any, Any], covariant=True)
Shares: TypeAlias = Callable[[int], Sequence[slice]]  # of a number of rows neighbouring parts


class Rows(Protocol[Read]):
    """What is indexed by rows as an array is, and reads them then: `typednn.data.ImageFiles`, or a
    class of your own.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any, /) -> Read: ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch(Generic[X, Y]):
    """One batch: copies of rows of ``x`` and ``y``; ``indices`` are the numbers of the rows, ``sample_weight`` what
    each counts, where that was said. ``whole`` is how many rows the batch has, where these are a share of it.
    """

    x: X
    y: Y
    indices: IntArray1
    sample_weight: Array1 | None = None
    whole: int | None = None

    def __repr__(self) -> str:
        return brief(self)


@final
class Loader(Generic[X, Y]):
    """The rows of ``x`` and ``y``, ``batch_size`` at a time, each once per epoch; the last batch of an epoch may be
    short.

    A last row that would be alone belongs to the batch before, which has one row more: batch normalisation needs two.
    ``drop_last`` leaves out the rows of an epoch that fill no batch, as PyTorch's does.

    ``rng`` orders each epoch anew, ``shuffle=False`` keeps the order of the rows and draws nothing. Up to ``prefetch``
    batches are made ahead in background threads, ``workers`` of them; 0 makes each when it is needed. Batches are the
    same, to the bit, for any number of workers. ``transform(x)`` may change a batch's ``x`` there; it must give the
    same for the same rows, or a continued run differs from one that was not interrupted. It is called by several
    threads at once where there are several workers, and in a training in parallel with the rows of each shard.

    ``weights`` (n) draws each row of an epoch with a probability in proportion to its weight, independently of the
    others, so that a row comes more than once or not at all; ``balance=True`` gives all rows of a class together the
    same weight as those of any other. An epoch has as many rows as without. ``sample_weight`` (n) changes no batch: it
    says how much each row counts in the loss (`typednn.losses.sample_weights`). ``augment`` is one change of
    `typednn.data.augmentation` or several; images are floats after it.
    """

    @overload
    def __init__(
        self,
        x: X,
        y: Y,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        prefetch: int = 2,
        transform: None = None,
        workers: int = 1,
        weights: AnyArray | Sequence[float] | None = None,
        balance: bool = False,
        sample_weight: AnyArray | Sequence[float] | None = None,
        augment: None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        x: Stored | Rows[Stored],
        y: Y,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        prefetch: int = 2,
        transform: Callable[[Stored], X],
        workers: int = 1,
        weights: AnyArray | Sequence[float] | None = None,
        balance: bool = False,
        sample_weight: AnyArray | Sequence[float] | None = None,
        augment: Changes = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        x: np.ndarray[Any, Any] | Rows[X],
        y: Y,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        prefetch: int = 2,
        transform: None = None,
        workers: int = 1,
        weights: AnyArray | Sequence[float] | None = None,
        balance: bool = False,
        sample_weight: AnyArray | Sequence[float] | None = None,
        augment: Changes = None,
    ) -> None: ...

    def __init__(
        self,
        x: Any,
        y: Any,
        *,
        batch_size: int,
        rng: Rng | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        prefetch: int = 2,
        transform: Callable[[Any], X] | None = None,
        workers: int = 1,
        weights: AnyArray | Sequence[float] | None = None,
        balance: bool = False,
        sample_weight: AnyArray | Sequence[float] | None = None,
        augment: Changes = None,
    ) -> None:
        _check_rows("x", x, lazy=True)
        _check_rows("y", y)
        if len(x) != len(y) or not len(x):
            raise ArgumentError(
                explain("Loader", "x and y must have as many rows, and at least one", f"{len(x)} and {len(y)}")
            )
        self._changes, self._mixup = checked_changes(augment, x)
        self._random = bool(self._changes) or self._mixup is not None
        unchecked: object = rng
        if (shuffle or self._random) and not isinstance(unchecked, Rng):
            got = "none" if unchecked is None else type(unchecked).__name__
            cure = "pass rng=numpy.random.default_rng(0)" + (
                "" if self._random else ", or shuffle=False for the rows' own order"
            )
            raise ArgumentError(
                explain("Loader", f"{'augmenting' if self._random else 'shuffling'} draws from a generator", got, cure),
                "rng",
            )
        self._x = x
        self._y = y
        self._shuffle = shuffle
        self._rng = rng if shuffle or self._random else None
        self._shares = (
            _shares(weights, y, shuffle) if not flag("Loader", "balance", balance) else _balanced(weights, y, shuffle)
        )
        self.sample_weight: npt.NDArray[np.float64] | None = checked_sample_weight("Loader", sample_weight, len(x))
        """What each row counts in the loss; None where all count 1."""
        if self.sample_weight is not None and self._mixup is not None:
            rule, got = "MixUp joins rows, each of which has one weight", "sample_weight and MixUp"
            raise ArgumentError(explain("Loader", rule, got, "leave one out"), "sample_weight")
        self.batch_size: int = integer("Loader", "batch_size", batch_size)
        """Rows in every batch but the last of an epoch."""
        self.drop_last: bool = flag("Loader", "drop_last", drop_last)
        """Whether the rows of an epoch that fill no batch are left out."""
        # whether a last row is a batch alone, as before it belonged to the batch before: of a state from then
        self._alone = False
        self._count(self._alone)
        self._workers = integer("Loader", "workers", workers)
        self._ahead = integer("Loader", "prefetch", prefetch, 0)
        if self._workers > 1:
            if not self._ahead:
                raise ArgumentError(
                    explain("Loader", "workers make batches ahead", "prefetch=0", "leave prefetch out"), "workers"
                )
            self._ahead = max(self._ahead, self._workers)
        self._transform = transform
        self.epoch: int = 0
        """Epochs completed."""
        self.step: int = 0
        """Batches of the current epoch already taken."""
        # of this epoch, and what its changes are drawn from
        self._order: tuple[npt.NDArray[np.int64], tuple[int, ...]] | None = None
        self._drawn_from: dict[str, Any] | None = None  # the generator before that
        self._running: int = 0  # the number of the latest call of batches(); older iterators are invalid

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._x)

    @property
    def sample(self) -> tuple[int, ...]:
        """The shape of one row of a batch's ``x``; with a ``transform``, which is called, of the first row."""
        x = self._x if self._transform is None else self._transform(np.asarray(self._x[np.arange(1)]))
        return tuple(x.shape[1:])

    def fingerprint(self) -> str:
        """What tells these rows from others (`typednn.data.fingerprint`), before the ``transform``."""
        return fingerprint(self._x, self._y, self.sample_weight)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch."""
        return self._count(self._alone)

    def _count(self, alone: bool) -> int:
        return (
            math.ceil(self.rows / self.batch_size)
            if alone
            else batches_in(self.rows, self.batch_size, drop_last=self.drop_last)
        )

    def __repr__(self) -> str:
        place = {"epoch": self.epoch, "step": self.step}
        return as_call("Loader", {"x": self._x, "y": self._y, "batch_size": self.batch_size, **place})

    def _repr_html_(self) -> str:
        """What a notebook shows: rows, batches, and the position."""
        from typednn.html import facts, shown, table

        arrays = [
            (name, " × ".join(map(str, array.shape)), array.dtype) for name, array in (("x", self._x), ("y", self._y))
        ]
        place = {
            "batch size": self.batch_size,
            "batches an epoch": f"{self.steps_per_epoch:,}",
            "shuffled": self._rng is not None,
        }
        return shown("Loader", facts(place | {"epochs done": self.epoch}), table(["", "shape", "dtype"], arrays))

    def batches(self) -> Iterator[Batch[X, Y]]:
        """The rest of the current epoch; when it is exhausted, ``epoch`` is one more and ``step`` 0.

        One iterator at a time: a new call, or `load_state_dict`, makes the previous one invalid, and ends its thread.
        """
        return self._batches(None)

    def shared_batches(self, own: Shares) -> Iterator[Batch[X, Y]]:
        """`batches`, of which each has a share of its rows only, to the same bits: ``own(rows)`` says which parts of so
        many. Others are not read, but for `MixUp`, which mixes all. ``transform`` is called with each part alone.
        """
        return self._batches(own)

    def _batches(self, own: Shares | None) -> Iterator[Batch[X, Y]]:
        if self._order is None:
            self._drawn_from = None if self._rng is None else generator_state(self._rng)
            self._order = self._draw()
        self._running += 1
        return self._rest(*self._order, self._running, own)

    def state_dict(self) -> dict[str, Any]:
        """The position, as JSON-able values."""
        return {
            "rows": self.rows,
            "batch_size": self.batch_size,
            "shuffle": self._shuffle,
            "epoch": self.epoch,
            "step": self.step,
            "drawn_from": self._drawn_from,
            "generator": None if self._rng is None else generator_state(self._rng),
            **self._settings(self._alone),
        }

    def _settings(self, alone: bool) -> dict[str, Any]:
        """What else decides the batches; nothing for a loader that only shuffles and has no last row to join to another
        batch.
        """
        last: dict[str, Any] = {"drop_last": True} if self.drop_last else {}
        if not alone and not self.drop_last and self._count(True) > self._count(False):
            last = {"last": "joined"}
        weights = {
            name: zlib.crc32(numbers.tobytes())
            for name, numbers in (("weights", self._shares), ("sample_weight", self.sample_weight))
            if numbers is not None
        }
        changes = [repr(change) for change in (*self._changes, *([] if self._mixup is None else [self._mixup]))]
        return last | weights | ({"augment": changes} if changes else {})

    def load_state_dict(self, state: Any) -> None:
        """Go on from a `state_dict`, the generator included; a `StateDictError`, and nothing changed, if it is not of
        such a loader.
        """
        current, unchecked = self.state_dict(), cast("object", state)
        alone = (
            isinstance(unchecked, dict)
            and not self.drop_last
            and "last" not in state
            and self._count(True) > self._count(False)
        )
        settings = self._settings(alone)
        current = {name: value for name, value in current.items() if name != "last"} | settings
        if not isinstance(unchecked, dict) or set(state) != set(current):
            raise StateDictError(
                explain("Loader.load_state_dict", f"needs the keys {', '.join(sorted(current))}", repr(state)[:200])
            )
        for key in ("rows", "batch_size", "shuffle", *settings):
            if type(state[key]) is not type(current[key]) or state[key] != current[key]:
                cure = "go on with the same data, batch size and shuffling"
                raise StateDictError(
                    explain("Loader.load_state_dict", f"{key} must be {current[key]}", repr(state[key])[:80], cure)
                )
        begun = state["drawn_from"] is not None if self._rng is not None else state["step"] != 0
        epoch = _position("epoch", state["epoch"], None)
        step = _position("step", state["step"], self._count(alone) if begun else 0)
        order = self._draw() if begun and self._rng is None else None
        if self._rng is not None:
            try:
                if begun:
                    restore_generator(self._rng, state["drawn_from"])
                    order = self._draw()
                restore_generator(self._rng, state["generator"])
            except StateDictError:
                restore_generator(self._rng, current["generator"])
                raise
        self._running += 1
        self._alone = alone
        self.epoch, self.step = epoch, step
        self._order, self._drawn_from = order, None if self._rng is None else state["drawn_from"]

    def _draw(self) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
        """An epoch's rows, and the numbers that its changes are drawn from."""
        order = np.arange(self.rows)
        if self._shares is not None and self._rng is not None:
            order = np.searchsorted(self._shares, np.asarray(self._rng.random((self.rows,)), np.float64), side="right")
        elif self._shuffle and self._rng is not None:
            order = self._rng.permutation(self.rows)
        if not self._random or self._rng is None:
            return order, ()
        return order, tuple(int(word * 2.0**32) for word in np.asarray(self._rng.random((4,)), np.float64).tolist())

    def _rest(
        self, order: npt.NDArray[np.int64], seed: tuple[int, ...], running: int, own: Shares | None
    ) -> Iterator[Batch[X, Y]]:
        if running == self._running:
            count = self.steps_per_epoch

            def made(place: int) -> Batch[X, Y]:
                rows = rows_in(place, count, self.rows, self.batch_size, drop_last=self.drop_last)
                return self._batch(order[rows], rows.start, seed, own)

            for batch in prefetch(made, range(self.step, count), self._ahead, self._workers):
                if running != self._running:
                    break
                self.step += 1
                yield batch
                del batch  # release this batch before waiting for the next one
        if running != self._running:
            raise StateError(
                explain(
                    "Loader.batches",
                    "one iterator at a time, the newest",
                    "one of an earlier call",
                    "take batches() once per epoch",
                )
            )
        self.epoch, self.step = self.epoch + 1, 0
        self._order, self._drawn_from = None, None
        self._running += 1

    def _batch(self, rows: npt.NDArray[np.int64], start: int, seed: tuple[int, ...], own: Shares | None) -> Batch[X, Y]:
        whole = len(rows)
        parts = [slice(0, whole)] if own is None else own(whole)
        mine = slice(parts[0].start, parts[-1].stop)
        read = mine if self._mixup is None else slice(0, whole)
        x: Any = np.asarray(self._x[rows[read]])
        y: Any = np.asarray(self._y[rows[read]])
        if self._random and not is_floating(x.dtype):
            x = x.astype(np.float32)
        if self._changes:
            places = range(start + read.start, start + read.stop)
            x = np.stack([self._changed(x[k], _generator(seed, 0, place)) for k, place in enumerate(places)])
        if self._mixup is not None:
            x, y = (each[mine] for each in self._mixup.mixed(x, y, _generator(seed, 1, start)))
        weight: Any = None if self.sample_weight is None else self.sample_weight[rows[mine]]
        return Batch(self._transformed(x, parts), y, rows[mine], weight, None if own is None else whole)

    def _transformed(self, x: Any, parts: Sequence[slice]) -> Any:
        """``transform`` of each part alone, so that its bits don't depend on which others are made with it."""
        if self._transform is None or len(parts) == 1:
            return x if self._transform is None else self._transform(x)
        first = parts[0].start
        made = [self._transform(x[part.start - first : part.stop - first]) for part in parts]
        for part, each in zip(parts, made, strict=True):
            shape = (part.stop - part.start, *made[0].shape[1:])
            if each.shape != shape:
                rule, cure = f"transform gives {shape} of the next shard", "let each row depend on itself alone"
                raise ArgumentError(explain("Loader", rule, f"shape {each.shape}", cure), "transform")
        return np.concatenate(made)

    def _changed(self, image: Any, rng: np.random.Generator) -> Any:
        for change in self._changes:
            image = change(image, rng)
        return image


def _generator(seed: tuple[int, ...], use: int, place: int) -> np.random.Generator:
    """Of one place in the epoch: what one image draws does not depend on the others, nor on the thread
    that makes it.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(use, place)))


def _shares(weights: Any, y: Any, shuffle: bool) -> npt.NDArray[np.float64] | None:
    """The shares of the rows up to each, the last of which is 1; None where all have the same weight."""
    if weights is None:
        return None
    if not shuffle:
        raise ArgumentError(
            explain("Loader", "weights draw rows at random", "shuffle=False", "leave one of them out"), "weights"
        )
    summed = np.cumsum(_one_per_row("Loader", "weights", weights, len(y)))
    if not summed[-1]:
        raise ArgumentError(explain("Loader", "one of weights must be above 0", "zeros"), "weights")
    shares: npt.NDArray[np.float64] = summed / summed[-1]
    return shares


def checked_sample_weight(where: str, weight: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """What each of ``rows`` rows counts, in float64; None where all count 1."""
    return None if weight is None else _one_per_row(where, "sample_weight", weight, rows)


def _one_per_row(where: str, name: str, weights: Any, rows: int) -> npt.NDArray[np.float64]:
    given = np.asarray(weights)
    if given.shape != (rows,) or not is_number(given.dtype) or not np.isfinite(given).all() or (given < 0).any():
        rule = f"{name} must be {rows} finite numbers, one per row, none below 0"
        raise ArgumentError(explain(where, rule, described(given) if given.shape != (rows,) else "others"), name)
    return given.astype(np.float64)


def _balanced(weights: Any, y: Any, shuffle: bool) -> npt.NDArray[np.float64] | None:
    if weights is not None:
        raise ArgumentError(explain("Loader", "takes weights or balance", "both", "leave one out"), "balance")
    if y.ndim != 1 or not is_integer(y.dtype):
        raise ArgumentError(explain("Loader", "balance needs labels (n) of classes", f"y: {described(y)}"), "balance")
    _, places, counts = np.unique(y, return_inverse=True, return_counts=True)
    return _shares(1.0 / counts[places], y, shuffle)


def reads_rows(value: Any) -> bool:
    """Whether it is no array, but read by rows as one is: see `Rows`."""
    known = all(hasattr(value.__class__, part) for part in ("shape", "dtype", "__len__", "__getitem__"))
    return known and not is_array(value) and isinstance(value.dtype, np.dtype)


def _check_rows(name: str, array: Any, *, lazy: bool = False) -> None:
    known = is_array(array) and issubclass(type(array), np.ndarray)
    if (
        not (known or (lazy and reads_rows(array)))
        or not len(array.shape)
        or not (is_number(array.dtype) or array.dtype == bool)
    ):
        rule = f"{name} must be a NumPy array of numbers with rows"
        raise ArgumentError(explain("Loader", rule, described(array), "convert it with numpy.asarray(...)"), name)


def _position(name: str, value: Any, most: int | None) -> int:
    if type(value) is not int or value < 0 or (most is not None and value > most):
        bound = "at least 0" if most is None else f"0 to {most}"
        raise StateDictError(explain("Loader.load_state_dict", f"{name} must be an integer, {bound}", repr(value)[:80]))
    return value
