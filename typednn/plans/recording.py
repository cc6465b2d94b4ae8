"""A forward and its backward as a list of ops, each with where its arrays lie.

A `Recorder` is told of each run of an op (`typednn.engines.observing`), and of what else a forward does each time
(`typednn.hooks.repeated`). An array that an op reads is a parameter or a buffer of the model, or what the forward or
the backward was given, or a part of what ops computed before. Anything else was computed outside of ops: then there is
no plan, and `Unplannable` says which op read it, and where.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final
from weakref import ref

import numpy as np

from typednn import hooks
from typednn.engines import observing
from typednn.engines.counters import Ran, running
from typednn.kernels.op import Op
from typednn.plans.natives import Prepared, arrays_of, bounds, has_draw, owner, prepared

if TYPE_CHECKING:
    from types import FrameType

WHOLE = "layer"  # the engine of a layer that is called as a whole
_SMALL = 1 << 20  # bytes up to which an array is kept while its forward is recorded, so that its address stays its own


class Unplannable(Exception):
    """A forward or a backward that can't be planned, and why."""


@final
@dataclass(slots=True, eq=False)
class Memory:
    """What arrays are views of: what is given (``place`` says as what), an array that is held, or what an op writes."""

    place: str = ""  # "input", "next_grad"; of others empty
    held: Any = None  # an array of the model, or a constant
    size: int = 0  # bytes


@dataclass(frozen=True, slots=True)
class View:
    """An array: where it lies in a memory."""

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


@final
@dataclass(slots=True, eq=False)
class Draw:
    """A key and a count that a layer drew; another each time."""

    drawn: tuple[int, int]


@final
@dataclass(slots=True, eq=False)
class Step:
    """An op's run, or a call of a function that is no op (``repeated``).

    ``arguments`` are views, draws' numbers of that time, and what is the same each time.
    """

    arguments: tuple[Any, ...]
    results: tuple[View | None, ...] = ()
    op: Op | None = None
    engine: str = ""
    native: Prepared | None = None
    buffers: tuple[Memory, ...] = ()  # the memories of ``native.buffers``
    draw: Draw | None = None  # what the arguments contain, or the function gives
    repeated: Callable[..., Any] | None = None
    flops: int = 0

    @property
    def writes(self) -> tuple[Memory, ...]:
        """The memories of other steps that it writes."""
        return () if self.op is None else tuple(self.arguments[place].memory for place in self.op.writes)


@dataclass(slots=True)
class _Known:
    memory: Memory
    start: int  # the address at which the memory begins
    alive: Callable[[], Any]


@final
class Recorder:
    """What one forward, and then its backward, compute."""

    def __init__(self, held: dict[int, Any], constants: bool = False) -> None:
        """``held``: the model's arrays, by their identity; ``constants``: whether what NumPy computes within ops is the
        same each time.
        """
        self.steps: list[Step] = []
        self.draws: list[Draw] = []
        self._held: dict[int, list[tuple[Memory, int]]] = {}  # by what owns them, which may be one array
        for array in held.values():
            low, high = bounds(array)
            self._held.setdefault(id(owner(array)), []).append((Memory(held=array, size=high - low), low))
        self._known: dict[int, _Known] = {}
        self._constants: bool = constants
        self._kept: list[Any] = []
        self._prepared: dict[Any, Prepared | None] = {}
        self._thread = threading.get_ident()
        self._off = False
        # Of parts that are called as a whole, by their identity, the calls; a part that computed by NumPy, and why.
        self.parts: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {}
        self.found: tuple[int, str] | None = None
        self.why: str = ""  # there is no plan; empty where there is one

    def given(self, array: Any, place: str) -> Any:
        """What the forward or the backward is given; a copy where that is a part of something that is known, as the
        output is.
        """
        if self._is_known(array):
            array = array.copy()
        low, high = bounds(array)
        self._learn(array, Memory(place, size=high - low), low)
        return array

    def _is_known(self, array: Any) -> bool:
        key = id(owner(array))
        return key in self._held or (key in self._known and self._known[key].alive() is owner(array))

    @contextmanager
    def told(self) -> Generator[None]:
        """Within this block, what this thread computes is recorded."""
        hooks.repeaters.append(self._call)
        try:
            with observing(self._ran):
                yield
        finally:
            hooks.repeaters[:] = [each for each in hooks.repeaters if each != self._call]
        if self.why:
            raise Unplannable(self.why)

    @contextmanager
    def off(self) -> Generator[None]:
        """Within this block nothing is recorded."""
        before, self._off = self._off, True
        try:
            yield
        finally:
            self._off = before

    def whole(self, op: Op, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Record a call of a layer as one of an op that always runs, by Python. ``results`` are new arrays."""
        seen = tuple(self._seen(each, op.name) for each in arguments)
        if not self.why:
            placed = self._placed(arguments, results, seen, None, ())
            self.steps.append(Step(seen, placed, op, WHOLE))

    def view(self, array: Any) -> View | None:
        """Where ``array`` lies; None if nothing is known of it."""
        low, high = bounds(array)
        has = owner(array)
        known = self._known.get(id(has))
        found = (
            [(known.memory, known.start)] if known is not None and known.alive() is has else self._held.get(id(has), [])
        )
        for memory, start in found:
            if start <= low and high <= start + memory.size:
                return View(memory, array.ctypes.data - start, array.shape, array.strides, array.dtype)
        return None

    # ------------------------------------------------------------------ what it is told

    def _learn(self, array: Any, memory: Memory, start: int) -> None:
        has = owner(array)
        self._known[id(has)] = _Known(memory, start, ref(has))
        if has.nbytes < _SMALL:
            self._kept.append(array)

    def refuse(self, why: str) -> None:
        """There is no plan; the first reason counts."""
        self.why = self.why or why

    def _seen(self, value: Any, reader: str) -> Any:
        """``value`` as an argument of a step."""
        if type(value) is np.ndarray:
            view = self.view(value)
            if view is None:
                self.refuse(f"{reader} reads an array that no op computed, as arithmetic of NumPy gives, {_place()}")
            return view
        kind: type = value.__class__
        if issubclass(kind, np.ndarray | np.generic):
            self.refuse(f"{reader} reads a {kind.__name__}, {_place()}")
        elif isinstance(value, tuple | list):
            members = cast("Sequence[Any]", value)
            if any(isinstance(each, np.ndarray | np.generic) for each in members):
                self.refuse(f"{reader} reads a {members.__class__.__name__} of arrays, {_place()}")
        return cast("Any", value)

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...], result: Any) -> None:
        if threading.get_ident() != self._thread or self.why or self._off:
            return
        step = Step(tuple(self._seen(each, function.__name__) for each in arguments), repeated=function)
        if type(result) is tuple:
            step.draw = Draw(cast("tuple[int, int]", result))
            self.draws.append(step.draw)
        self.steps.append(step)

    def _ran(self, ran: Ran) -> None:
        if threading.get_ident() != self._thread or self.why or self._off or running.ops:
            return  # also of an op within another
        arguments = tuple(self._seen(each, ran.op.name) for each in ran.arguments)
        if self.why:
            return
        draw = next((each for each in reversed(self.draws) if has_draw(ran.arguments, each.drawn)), None)
        results = () if ran.op.writes else arrays_of(ran.result)
        if not all(each is None or type(each) is np.ndarray for each in results):
            self.refuse(f"{ran.op.name} gives no arrays, {_place()}")
            return
        with self.off():
            native = self._prepare(ran, draw)
        buffers = memories(native) if native is not None else ()
        placed = self._placed(ran.arguments, results, arguments, native, buffers)
        flops = ran.op.flops(*ran.arguments)
        self.steps.append(Step(arguments, placed, ran.op, ran.engine, native, buffers, draw, flops=flops))

    def _placed(
        self,
        given: Sequence[Any],
        results: tuple[Any, ...],
        arguments: tuple[Any, ...],
        native: Prepared | None,
        buffers: tuple[Memory, ...],
    ) -> tuple[View | None, ...]:
        """Where the results lie: in arguments, in buffers of the calls, or in memories of their own."""
        owners = {id(owner(each)): view for each, view in zip(given, arguments, strict=True) if type(view) is View}
        spans: dict[int, tuple[int, int]] = {}
        for result in results:
            if result is not None:
                (low, high), key = bounds(result), id(owner(result))
                spans[key] = min(low, spans.get(key, (low, high))[0]), max(high, spans.get(key, (low, high))[1])
        own: dict[int, Memory] = {}
        placed: list[View | None] = []
        for place, result in enumerate(results):
            if result is None:
                placed.append(None)
            elif id(owner(result)) in owners:
                placed.append(self.view(result))
            elif native is not None and (at := native.results[place]) is not None:
                memory = buffers[at.number]
                self._learn(result, memory, result.ctypes.data - at.offset)
                placed.append(View(memory, at.offset, at.shape, at.strides, at.dtype))
            else:
                low, high = spans[id(owner(result))]
                memory = own.setdefault(id(owner(result)), Memory(size=high - low))
                self._learn(result, memory, low)
                placed.append(View(memory, result.ctypes.data - low, result.shape, result.strides, result.dtype))
        return tuple(placed)

    def _prepare(self, ran: Ran, draw: Draw | None) -> Prepared | None:
        """What runs of the same kind have in common is prepared once."""
        if draw is not None:
            return prepared(ran, draw.drawn, self._constants)
        owners: dict[int, Any] = {}
        key: list[Any] = [ran.op.name, ran.engine]
        for value in ran.arguments:
            if type(value) is np.ndarray:
                first = owners.setdefault(id(owner(value)), value)
                shared = [*owners].index(id(owner(value))), value.ctypes.data - first.ctypes.data
                key.append((value.shape, value.strides, value.dtype, *shared))
            else:
                key.append(value)
        try:
            known = tuple(key)
            if known in self._prepared:
                return self._prepared[known]
        except TypeError:  # an argument that can't be hashed
            return prepared(ran, None, self._constants)
        found = prepared(ran, None, self._constants)
        if found is None or not found.constants:  # which are those of other weights
            self._prepared[known] = found
        return found


def memories(native: Prepared) -> tuple[Memory, ...]:
    """Those of the buffers."""
    return tuple(Memory(held=native.constants.get(number), size=size) for number, size in enumerate(native.buffers))


def _place() -> str:
    """The line outside of typednn, or else of a layer, that computes what is recorded now."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    inner = ""
    root = str(Path(__file__).parent.parent)
    while frame is not None:
        path = frame.f_code.co_filename
        if frame.f_code.co_name in ("forward", "backward"):
            place = f"at {path}:{frame.f_lineno}"
            if not path.startswith((root, "<")):
                return place
            inner = inner or place
        frame = frame.f_back
    return inner or "in a place of no layer"
