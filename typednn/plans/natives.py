"""An op's run as calls of compiled code: kernels and products of BLAS, each with where its arrays lie.

`prepared` runs an op's engine once more and is told of each call. It then makes the same calls on memory full of NaN,
and compares the results bit by bit: an engine that also computes by NumPy gives others, and is called as a whole. Who
knows that the model stays as it is, and what NumPy makes of it, may have that kept as constants.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard, cast, final

import numpy as np

from typednn.engines import blas, empty
from typednn.engines.counters import Ran
from typednn.engines.halide.compiled import Kernel, noting
from typednn.engines.halide.frames import Frame
from typednn.engines.halide.toolchain import Array
from typednn.engines.memory import pool
from typednn.engines.memory.pool import ALIGNMENT
from typednn.kernels.dropout.cpu import signed
from typednn.kernels.dropout.reference import words
from typednn.kernels.op import Engine, Op

_BYTES = np.dtype(np.uint8)
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by the bytes of a number
_LARGE = 1 << 26  # bytes
_POISON = 0xFF  # in each byte: NaN, and -1
_DRAW = 0x1D872B41_5A3C96E7, 0x6E1F04D9_2B7A835C  # a key and a count of masks, of four different words


@dataclass(frozen=True, slots=True)
class At:
    """Where an array of a call lies: ``offset`` bytes into an argument of the op, or into a buffer of its run."""

    argument: bool
    number: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def of(self, memory: np.ndarray[Any, Any]) -> Any:
        """The array, in ``memory`` of bytes that begins where the buffer does."""
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)


@dataclass(frozen=True, slots=True)
class Word:
    """A number of a call that is one of the four words of a draw: two of its key, two of its count."""

    number: int


@dataclass(frozen=True, slots=True)
class Native:
    """One call: a kernel with its arguments, or a routine of BLAS."""

    kernel: Kernel | None
    routine: Callable[..., Any] | None
    arguments: tuple[At | Word | Any, ...]


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """The calls of an op's run. ``buffers``: the bytes of each piece of memory that they write; ``results``: where the
    op's results lie, None for one that is None; ``constants``: what lies in buffers that they only read, by number.
    """

    calls: tuple[Native, ...]
    buffers: tuple[int, ...]
    results: tuple[At | None, ...]
    constants: Mapping[int, Any]


# What fills in an address: called with what it is the address of, and the container, the place in it, the offset.
Fill = Callable[[At, Any, int, int], object]
# The same for a word of a draw.
FillWord = Callable[[int, Any, int], object]


@dataclass(frozen=True, slots=True)
class Bound:
    """A call that can be made again and again: ``function(argument)``, which gives 0 or None."""

    function: Callable[[Any], Any]
    argument: Any
    name: str
    frame: Frame | None = None  # what ``argument`` is the address of


def bound(native: Native, fill: Fill, fill_word: FillWord) -> Bound:
    """The call ``native``, once all its addresses are filled in."""
    if native.kernel is None:
        arguments = list(native.arguments)
        for place, argument in enumerate(arguments):
            if isinstance(argument, At):
                fill(argument, arguments, place, argument.offset)
        routine: Any = native.routine
        return Bound(lambda given: routine(*given), arguments, "product")
    plan, run = native.kernel.plan, native.kernel.function
    assert run is not None  # `prepared` takes no other
    frame = Frame(plan)
    declared = (*plan.inputs, *plan.outputs)
    frame.lay_out(
        [
            ((math.prod(value.shape),) if own.flat else value.shape)
            if isinstance(own, Array) and isinstance(value, At)
            else ()
            for value, own in zip(native.arguments, declared, strict=True)
        ]
    )
    for place, argument in enumerate(native.arguments):
        if isinstance(argument, At):
            fill(argument, frame.words, frame.slot(place), argument.offset)
        elif isinstance(argument, Word):
            fill_word(argument.number, frame.numbers(place), frame.slot(place))
        else:
            frame.numbers(place)[frame.slot(place)] = argument
    return Bound(run, frame.address, plan.name, frame)


def owner(array: Any) -> np.ndarray[Any, Any]:
    """The array that has the memory of ``array``, itself or one that it is a view of."""
    has: np.ndarray[Any, Any] = array
    while type(has.base) is np.ndarray:
        has = has.base
    return has


def bounds(array: Any) -> tuple[int, int]:
    """The first byte of an array's numbers, and the one behind the last."""
    low = high = array.ctypes.data
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride > 0:
            high += (size - 1) * stride
        else:
            low += (size - 1) * stride
    return low, high + array.itemsize


def arrays_of(result: Any) -> tuple[Any, ...]:
    """An op's results, one by one."""
    return (*cast("Sequence[Any]", result),) if isinstance(result, tuple | list) else (result,)


def drawn_words(draw: tuple[int, int]) -> tuple[int, ...]:
    """The four words of a draw, as integers with a sign."""
    return tuple(signed(word) for word in (*words(draw[0]), *words(draw[1])))


def with_draw(arguments: Sequence[Any], draw: tuple[int, int], other: tuple[int, int]) -> list[Any]:
    """The arguments of an op with another draw, which stands in them as a key and a count, or in a tuple of them."""
    changed = list(arguments)
    for place, value in enumerate(changed):
        if _is_tuple(value) and has_draw(value, draw):
            changed[place] = tuple(with_draw(value, draw, other))
        elif type(value) is int and value == draw[0] and changed[place + 1 : place + 2] == [draw[1]]:
            changed[place : place + 2] = other
    return changed


def has_draw(arguments: Sequence[Any], draw: tuple[int, int]) -> bool:
    """Whether the draw stands in them."""
    return any(
        (_is_tuple(value) and has_draw(value, draw))
        or (type(value) is int and value == draw[0] and tuple(arguments[place + 1 : place + 2]) == draw[1:])
        for place, value in enumerate(arguments)
    )


def _is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    return type(value) is tuple


# ------------------------------------------------------------------ preparing


def prepared(ran: Ran, draw: tuple[int, int] | None, constants: bool = False) -> Prepared | None:
    """The calls of this run; None where it is not compiled code alone, apart from ``constants``, if these are taken."""
    engine = next((each for each in ran.op.engines if each.name == ran.engine), None)
    if engine is None and ran.op.engines:
        return None  # NumPy's
    arguments = _copies(ran.op, ran.arguments)
    if arguments is None:
        return None
    run = _Run(ran.op, engine, arguments)
    calls = run.calls
    if calls is None or (not ran.op.writes and any(map(_writes_argument, calls))):
        return None
    if draw is not None:
        other = _Run(ran.op, engine, with_draw(arguments, draw, _DRAW))
        calls = _with_words(calls, other.calls, draw)
        if calls is None:
            return None
    found = Prepared(calls, run.buffers(), run.results, run.constants() if constants else {})
    expected = [arguments[place] for place in ran.op.writes] if ran.op.writes else arrays_of(ran.result)
    del run, arguments  # another result of this run would be much memory
    fresh = _copies(ran.op, ran.arguments)
    agrees = fresh is not None and _agrees(found, ran.op, fresh, expected, draw)
    if sum(found.buffers) >= _LARGE:
        pool.clear()  # of what is not needed again in this step
    return found if agrees else None


def _written(native: Native) -> list[At]:
    """The arrays that a call writes."""
    written = native.arguments[-2:-1] if native.kernel is None else native.arguments[len(native.kernel.plan.inputs) :]
    return [each for each in written if isinstance(each, At)]


def _writes_argument(native: Native) -> bool:
    return any(each.argument for each in _written(native))


def _copies(op: Op, arguments: Sequence[Any]) -> list[Any] | None:
    """The arguments; of an op that writes some, copies of its arrays."""
    if not op.writes:
        return list(arguments)
    if any(type(each) is np.ndarray and not each.flags.c_contiguous for each in arguments):
        return None
    return [each.copy() if type(each) is np.ndarray else each for each in arguments]


class _Run:
    """One run of an engine, told call by call."""

    def __init__(self, op: Op, engine: Engine | None, arguments: Sequence[Any]) -> None:
        self.arguments: Sequence[Any] = arguments
        self.writes: tuple[int, ...] = op.writes
        self.owners: dict[int, int] = {}  # of buffers, by the identity of what owns them
        self.extents: list[tuple[int, int]] = []  # of buffers
        self._noted: list[tuple[Kernel | None, Callable[..., Any] | None, tuple[Any, ...]]] = []
        with self._told():
            planned = [] if engine is None or engine.plan is None else [engine.plan(*arguments)]
            run = op.run_reference if engine is None else engine.run
            self.result: tuple[Any, ...] = arrays_of(run(*planned, *arguments))
        self.calls: tuple[Native, ...] | None = None
        for _, _, noted in self._noted:
            for value in noted:
                self._meet(value)
        known = {*self.owners} | {id(owner(each)) for each in arguments if type(each) is np.ndarray}
        whole = all(
            each is None or (type(each) is np.ndarray and id(owner(each)) in known) for each in self.result
        ) and all(kernel is None or kernel.function is not None for kernel, _, _ in self._noted)
        if not whole:
            return
        for each in self.result:
            self._meet(each)
        self.results: tuple[At | None, ...] = tuple(None if each is None else self._at(each) for each in self.result)
        self.calls = tuple(
            Native(kernel, routine, tuple(self._at(value) if type(value) is np.ndarray else value for value in noted))
            for kernel, routine, noted in self._noted
        )

    @contextmanager
    def _told(self) -> Generator[None]:
        here = threading.get_ident()

        def of_kernel(kernel: Kernel, arguments: tuple[Any, ...]) -> None:
            if threading.get_ident() == here:
                self._noted.append((kernel, None, arguments))

        def of_routine(routine: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
            if threading.get_ident() == here:
                self._noted.append((None, routine, arguments))

        blas.noted.append(of_routine)
        try:
            with noting(of_kernel):
                yield
        finally:
            blas.noted[:] = [each for each in blas.noted if each is not of_routine]

    def _argument(self, array: Any) -> int | None:
        """The argument that ``array`` is a part of."""
        low, high = bounds(array)
        for number, own in enumerate(self.arguments):
            if type(own) is np.ndarray and owner(own) is owner(array):
                first, last = bounds(own)
                if first <= low and high <= last:
                    return number
        return None

    def _meet(self, value: Any) -> None:
        if type(value) is not np.ndarray or self._argument(value) is not None:
            return
        low, high = bounds(value)
        number = self.owners.setdefault(id(owner(value)), len(self.extents))
        if number == len(self.extents):
            self.extents.append((low, high))
        else:
            first, last = self.extents[number]
            self.extents[number] = min(low, first), max(high, last)

    def _at(self, array: Any) -> At:
        number = self._argument(array)
        if number is not None:
            start = self.arguments[number].ctypes.data
        else:
            start = self.extents[self.owners[id(owner(array))]][0]
        which = self.owners[id(owner(array))] if number is None else number
        return At(number is not None, which, array.ctypes.data - start, array.shape, array.strides, array.dtype)

    def buffers(self) -> tuple[int, ...]:
        """The bytes of each."""
        return tuple(high - low for low, high in self.extents)

    def constants(self) -> dict[int, Any]:
        """What lies in those that no call writes."""
        written = {each.number for native in self.calls or () for each in _written(native) if not each.argument}
        return {
            number: np.frombuffer(ctypes.string_at(low, high - low), _BYTES)
            for number, (low, high) in enumerate(self.extents)
            if number not in written
        }


def _with_words(
    calls: tuple[Native, ...], other: tuple[Native, ...] | None, draw: tuple[int, int]
) -> tuple[Native, ...] | None:
    """The calls with words in place of the numbers that follow the draw; None where others than words do."""
    if other is None or len(calls) != len(other):
        return None
    theirs, ours = drawn_words(_DRAW), drawn_words(draw)
    found: list[Native] = []
    for mine, its in zip(calls, other, strict=True):
        arguments: list[Any] = []
        for own, changed in zip(mine.arguments, its.arguments, strict=True):
            word = theirs.index(changed) if type(changed) is int and changed in theirs else None
            if own != (changed if word is None else ours[word]):
                return None
            arguments.append(own if word is None else Word(word))
        found.append(Native(mine.kernel, mine.routine, tuple(arguments)))
    return tuple(found)


def memory(size: int) -> np.ndarray[Any, Any]:
    """So many bytes, aligned."""
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]


def _agrees(
    found: Prepared, op: Op, arguments: Sequence[Any], expected: Sequence[Any], draw: tuple[int, int] | None
) -> bool:
    """Whether the calls give the ``expected`` results, or what the op writes, bit by bit."""
    buffers = [empty((size,), _BYTES) for size in found.buffers]
    for number, each in enumerate(buffers):
        each[...] = found.constants.get(number, _POISON)

    def fill(at: At, container: Any, place: int, offset: int) -> None:
        container[place] = (arguments if at.argument else buffers)[at.number].ctypes.data + offset

    def fill_word(number: int, container: Any, place: int) -> None:
        assert draw is not None
        container[place] = drawn_words(draw)[number]

    for native in found.calls:
        call = bound(native, fill, fill_word)
        if call.function(call.argument):
            return False
    if op.writes:
        got = [arguments[place] for place in op.writes]
    else:
        got = [
            None if at is None else at.of(buffers[at.number]) if not at.argument else then
            for at, then in zip(found.results, expected, strict=True)
        ]
    return all(
        each is None or np.array_equal(each.view(_BITS[each.itemsize]), then.view(_BITS[each.itemsize]))
        for each, then in zip(got, expected, strict=True)
    )
