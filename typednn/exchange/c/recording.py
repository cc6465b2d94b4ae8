"""A forward as a list of calls of kernels, each with where its arguments lie.

`record` runs the forward of a copy of the model twice, in eval, on the kernels alone and on two inputs, and is told of
each call (`typednn.engines.halide.compiled.noting`). An array that a kernel reads is the input or a part of it, a part
of what kernels wrote before, or else a constant. What is called a constant and differs between the two inputs was
computed outside of kernels: an `ArgumentError` names the layer.

The calls are those of these two inputs: whoever uses them compares their result with the model's on others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any, NoReturn, final

import numpy as np

from typednn.engines import observing, using
from typednn.engines.counters import Ran
from typednn.engines.halide.compiled import Kernel, noting
from typednn.engines.halide.frames import Frame
from typednn.engines.halide.toolchain import Array, Plan
from typednn.errors import ArgumentError, explain
from typednn.module.module import Module
from typednn.plans.arena import arena_of
from typednn.plans.natives import owner

ALIGNMENT = 64  # bytes
WHERE = "export_c"


class Place(IntEnum):
    """What an array of a call is a part of."""

    INPUT = 0
    WEIGHTS = 1  # constants, one after another
    ARENA = 2  # what kernels write


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a call: ``offset`` bytes into its place, C-contiguous, its extents in NumPy's order."""

    place: Place
    offset: int
    extents: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel and its arguments, in the order of its plan: arrays, and of numbers their bits."""

    plan: Plan
    arguments: tuple[Buffer | int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A forward for one shape of its input: the calls in order; ``output`` is a part of the arena."""

    calls: tuple[Call, ...]
    input: Buffer
    output: Buffer
    arena: int  # bytes
    weights: bytes


@dataclass(slots=True)
class Written:
    """Memory that kernels write: the intervals written, and the first and last call that use it."""

    first: int
    last: int
    intervals: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def add(self, start: int, stop: int) -> None:
        merged: list[tuple[int, int]] = []
        for low, high in sorted([*self.intervals, (start, stop)]):
            if merged and low <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(high, merged[-1][1])
            else:
                merged.append((low, high))
        self.intervals = merged

    def has(self, start: int, stop: int) -> bool:
        return any(low <= start and stop <= high for low, high in self.intervals)

    @property
    def low(self) -> int:
        return self.intervals[0][0]

    @property
    def size(self) -> int:
        return self.intervals[-1][1] - self.low


@dataclass(slots=True)
class _Constant:
    array: np.ndarray[Any, Any]
    layer: str
    what: str


@final
class _Recorder:
    """One forward, call by call. It holds every array that it sees, so that no address is used twice."""

    def __init__(self, model: Module, x: np.ndarray[Any, Any]) -> None:
        self.x: np.ndarray[Any, Any] = x
        # of each call: the plan, and of each argument its extents, dtype and address, or of a number its bits
        self.calls: list[tuple[Plan, list[tuple[Place, tuple[int, ...], np.dtype[Any], int] | int]]] = []
        self.written: dict[int, Written] = {}  # by the identity of the array that owns the memory
        self.constants: dict[tuple[int, int], _Constant] = {}  # by address and bytes
        self.layers: list[str] = [model.label()]  # those that are being called
        self._numpys: dict[int, tuple[str, str]] = {}  # by the owner of a result: the op that NumPy computed, and where
        self._held: list[Any] = [x]

    def note(self, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        """A kernel is about to be called."""
        plan, number = kernel.plan, len(self.calls)
        noted: list[tuple[Place, tuple[int, ...], np.dtype[Any], int] | int] = []
        extents = Frame(plan).check(arguments)
        declared = (*plan.inputs, *plan.outputs)
        for place, (value, argument, shape) in enumerate(zip(arguments, declared, extents, strict=True)):
            if isinstance(argument, Array):
                wrote = place >= len(plan.inputs)
                noted.append((self._place(value, number, wrote), shape, value.dtype, value.ctypes.data))
            else:
                noted.append(_bits(value, argument.dtype))
        self.calls.append((plan, noted))

    def _place(self, array: np.ndarray[Any, Any], call: int, wrote: bool) -> Place:
        has = owner(array)
        self._held.append(array)
        start, stop = array.ctypes.data, array.ctypes.data + array.nbytes
        if has is self.x:
            return Place.INPUT
        if wrote:
            self.written.setdefault(id(has), Written(call, call)).add(start, stop)
        elif id(has) not in self.written:
            what, layer = self._numpys.get(id(has), ("arithmetic outside of kernels", self.layers[-1]))
            self.constants.setdefault((start, array.nbytes), _Constant(array, layer, what))
            return Place.WEIGHTS
        elif not self.written[id(has)].has(start, stop):
            self.refuse("an array of which NumPy wrote a part")
        self.written[id(has)].last = call
        return Place.ARENA

    def observe(self, ran: Ran) -> None:
        """An op was computed."""
        given: Any = ran.result
        results: list[Any] = [*given] if type(given) is tuple else [given]
        for result in results:
            if type(result) is np.ndarray:
                self._held.append(result)
                if ran.engine == "reference":
                    self._numpys.setdefault(id(owner(result)), (f"{ran.op.name} by NumPy", self.layers[-1]))

    def output(self, y: Any) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
        """Where the result lies: its address, shape and dtype."""
        if type(y) is not np.ndarray:
            self.refuse(f"an output that is a {type(y).__name__}")
        written = self.written.get(id(owner(y)))
        if written is None or not y.flags.c_contiguous or not written.has(y.ctypes.data, y.ctypes.data + y.nbytes):
            what, layer = self._numpys.get(id(owner(y)), ("an output that no kernel wrote", self.layers[-1]))
            self.refuse(what, layer)
        written.last = len(self.calls)
        return y.ctypes.data, y.shape, y.dtype

    def refuse(self, what: str, layer: str = "") -> NoReturn:
        """The error for what is no call of a kernel."""
        raise ArgumentError(
            explain(
                f"{WHERE}: {layer or self.layers[-1]}",
                "must be computed by compiled kernels alone",
                what,
                "export this model to ONNX, or use layers that run on kernels: `typednn docs exchange` lists them",
            ),
            "model",
        )


def _bits(value: Any, dtype: str) -> int:
    number = np.array(value, dtype)
    return int.from_bytes(number.tobytes(), "little")


def record(model: Module, inputs: Sequence[np.ndarray[Any, Any]]) -> Program:
    """The forward of ``model``, for arrays of the shape and dtype of the two ``inputs``."""
    first, second = (_recorded(model, x) for x in inputs)
    (one, y), (other, _) = first, second
    places = [list(each.constants) for each in (one, other)]
    if [_likeness(each) for each in one.calls] != [_likeness(each) for each in other.calls] or len(places[0]) != len(
        places[1]
    ):
        one.refuse("calls of kernels that depend on the numbers of the input", model.label())
    for mine, its in zip(one.constants.values(), other.constants.values(), strict=True):
        if mine.array is not its.array and mine.array.tobytes() != its.array.tobytes():
            one.refuse(mine.what, mine.layer)
    return _program(one, y)


def _recorded(model: Module, x: np.ndarray[Any, Any]) -> tuple[_Recorder, tuple[int, tuple[int, ...], np.dtype[Any]]]:
    """The calls for ``x``, which must own its memory, and where the result lies."""
    recorder = _Recorder(model, x)
    other: Any = copy.copy(model)  # on the same arrays
    for path, layer in other.named_modules():
        if path and not layer.foreign:
            name = f'{layer.label()}, layer "{path}"'
            vars(layer)["forward"] = partial(_called, recorder.layers, name, layer.__class__.forward, layer)
    other.eval()
    with using("kernels"):
        other.forward(x)  # so that there are all kernels
        with noting(recorder.note), observing(recorder.observe):
            y = other.forward(x)
    return recorder, recorder.output(y)


def _called(layers: list[str], name: str, function: Callable[..., Any], layer: Any, *inputs: Any) -> Any:
    """What stands in for ``layer.forward`` in the copy."""
    layers.append(name)
    try:
        return function(layer, *inputs)
    finally:
        layers.pop()


def _likeness(call: tuple[Plan, list[Any]]) -> tuple[Any, ...]:
    """What a call has in common with that of another input: all but addresses."""
    plan, arguments = call
    return plan, *(each if isinstance(each, int) else each[:3] for each in arguments)


# ------------------------------------------------------------------ where everything lies


def _program(recorder: _Recorder, result: tuple[int, tuple[int, ...], np.dtype[Any]]) -> Program:
    weights = bytearray()
    constants: dict[tuple[int, int], int] = {}
    for key, constant in recorder.constants.items():
        constants[key] = len(weights)
        weights += constant.array.tobytes()
        weights += bytes(-len(weights) % ALIGNMENT)
    offsets, arena = arena_of([*recorder.written.values()])
    starts = sorted(
        (each.low, each.size, offset) for each, offset in zip(recorder.written.values(), offsets, strict=True)
    )

    def buffer(place: Place, extents: tuple[int, ...], dtype: np.dtype[Any], address: int) -> Buffer:
        if place is Place.INPUT:
            offset = address - recorder.x.ctypes.data
        elif place is Place.WEIGHTS:
            offset = constants[address, int(np.prod(extents)) * dtype.itemsize]
        else:
            low, _, start = next(each for each in starts if each[0] <= address < each[0] + each[1])
            offset = start + address - low
        return Buffer(place, offset, extents, dtype)

    calls = tuple(
        Call(plan, tuple(each if isinstance(each, int) else buffer(*each) for each in arguments))
        for plan, arguments in recorder.calls
    )
    address, shape, dtype = result
    x = recorder.x
    return Program(
        calls,
        Buffer(Place.INPUT, 0, x.shape, x.dtype),
        buffer(Place.ARENA, shape, dtype, address),
        arena,
        bytes(weights),
    )
