"""A forward as a list of calls of kernels, each with where its arguments lie.

`record` lets `typednn.plans` record the forward of a copy of the model twice, in eval, on the kernels alone and on two
inputs, and rewrite its steps. An array that a kernel reads is the input or a part of it, a part of what kernels wrote
before, or a constant: one of the model's arrays, or what an op makes of these by NumPy before it calls a kernel. Where
something else computes, or a constant differs between the two inputs, an `ArgumentError` names the layer.

The calls are those of these two inputs: whoever uses them compares their result with the model's on others.
"""

from __future__ import annotations

import copy
import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, NoReturn, final

import numpy as np

from typednn.engines import using
from typednn.engines.halide.toolchain import Array, Plan
from typednn.engines.memory.pool import ALIGNMENT
from typednn.errors import ArgumentError, explain
from typednn.module.module import Module
from typednn.plans import rewriting
from typednn.plans.arena import Lasting, arena_of
from typednn.plans.natives import At, bounds
from typednn.plans.plan import only_views
from typednn.plans.recording import Memory, Recorder, Step, Unplannable, View

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


def record(model: Module, inputs: Sequence[np.ndarray[Any, Any]]) -> Program:
    """The forward of ``model``, for arrays of the shape and dtype of the two ``inputs``."""
    with using("kernels"):
        first, second = (_Recording(model, x) for x in inputs)
        first.compare(second)
        rewriting.rewritten(first.steps)
    return first.program()


@final
class _Recording:
    """The steps of one forward, and the layer of each."""

    def __init__(self, model: Module, x: np.ndarray[Any, Any]) -> None:
        self._model: str = model.label()
        self._layers: dict[int, str] = {}  # by the identity of the recorded steps
        self._unplannable: str = ""  # the layer in which the recorder gave up
        other: Any = copy.copy(model)  # on the same arrays
        held: dict[int, Any] = {}
        for path, layer in other.named_modules():
            own = [cell.array for cell in layer.__typednn_storage__.cells.values()]
            held |= {id(each): each for each in own if type(each) is np.ndarray}
            if path and not layer.foreign:
                name = f'{layer.label()}, layer "{path}"'
                vars(layer)["forward"] = partial(self._called, name, layer.__class__.forward, layer)
        other.eval()
        self._recorder: Recorder = Recorder(held, constants=True)
        other.forward(x)  # so that there are all kernels
        x = self._recorder.given(x, "input")
        try:
            with self._recorder.told():
                y = other.forward(x)
        except Unplannable as error:
            self.refuse(f"arithmetic outside of kernels: {error}", self._unplannable)
        self._input: Buffer = Buffer(Place.INPUT, 0, x.shape, x.dtype)
        self.steps: rewriting.Program = rewriting.Program(self._recorder.steps, [], [self._output(y)], constants=True)
        self.steps.prune()
        for step in self.steps.forward:
            self._check(step)

    def _called(self, name: str, function: Callable[..., Any], layer: Any, *inputs: Any) -> Any:
        """What stands in for ``layer.forward`` in the copy."""
        before = len(self._recorder.steps)
        try:
            return function(layer, *inputs)
        finally:
            for step in self._recorder.steps[before:]:
                self._layers.setdefault(id(step), name)  # that of the innermost layer
            if self._recorder.why:
                self._unplannable = self._unplannable or name

    def _output(self, y: Any) -> View:
        """Where the result lies."""
        if type(y) is not np.ndarray:
            self.refuse(f"an output that is a {type(y).__name__}")
        view = self._recorder.view(y)
        if view is None or not y.flags.c_contiguous:
            self.refuse("an output that no kernel wrote")
        if view.memory.held is not None or view.memory.place:
            for step in reversed(self._recorder.steps):
                if step.op is not None and view in step.results:
                    self.refuse(f"{step.op.name} by NumPy", self._layers.get(id(step), ""))
            self.refuse("an output that no kernel wrote")
        return view

    def _check(self, step: Step) -> None:
        """Refuse what is no call of a kernel."""
        if step.op is None or only_views(step):
            return
        layer = self._layers.get(id(step), "")
        if step.native is None:
            by = "by NumPy" if step.engine == "reference" else "partly by NumPy"
            self.refuse(f"{step.op.name} {by}", layer)
        if step.draw is not None:
            self.refuse(f"{step.op.name} of random numbers", layer)
        if any(native.kernel is None for native in step.native.calls):
            self.refuse(f"{step.op.name} by OpenBLAS", layer)
        if any(memory.held is not None or memory.place for memory in step.writes):
            self.refuse(f"{step.op.name}, which writes into the model or its input", layer)

    def compare(self, other: _Recording) -> None:
        """Refuse what is not the same for two inputs."""
        for mine, its in zip(self.steps.forward, other.steps.forward, strict=False):
            if mine.op is not None and mine.op is its.op and _constants(mine) != _constants(its):
                self.refuse(f"{mine.op.name} partly by NumPy", self._layers.get(id(mine), ""))
        if self.program() != other.program():
            self.refuse("calls of kernels that depend on the numbers of the input")

    def refuse(self, what: str, layer: str = "") -> NoReturn:
        """The error for what is no call of a kernel."""
        raise ArgumentError(
            explain(
                f"{WHERE}: {layer or self._model}",
                "must be computed by compiled kernels alone",
                what,
                "export this model to ONNX, or use layers that run on kernels: `typednn docs exchange` lists them",
            ),
            "model",
        )

    # ------------------------------------------------------------------ where everything lies

    def program(self) -> Program:
        """The calls of the steps as they are now."""
        weights = bytearray()
        constants: dict[int, int] = {}  # offsets, by the identity of their memories
        lasting: dict[int, Lasting] = {}
        calls = [call for step in self.steps.forward for call in _calls(step)]
        (output,) = self.steps.wanted
        for number, (_, arguments) in enumerate(calls):
            for memory in [each.memory for each in arguments if isinstance(each, View)]:
                place, key = _place(memory), id(memory)
                if place is Place.ARENA:
                    lasting.setdefault(key, Lasting(memory.size, number, number)).last = number
                elif place is Place.WEIGHTS and key not in constants:
                    constants[key] = len(weights)
                    weights += ctypes.string_at(bounds(memory.held)[0], memory.size)
                    weights += bytes(-len(weights) % ALIGNMENT)
        lasting[id(output.memory)].last = len(calls)
        offsets, arena = arena_of([*lasting.values()])
        starts = constants | dict(zip(lasting, offsets, strict=True))

        def buffer(view: View) -> Buffer:
            offset = starts.get(id(view.memory), 0) + view.offset
            return Buffer(_place(view.memory), offset, view.shape, view.dtype)

        made = tuple(
            Call(plan, tuple(buffer(each) if isinstance(each, View) else each for each in arguments))
            for plan, arguments in calls
        )
        return Program(made, self._input, buffer(output), arena, bytes(weights))


def _place(memory: Memory) -> Place:
    return Place.WEIGHTS if memory.held is not None else Place.INPUT if memory.place else Place.ARENA


def _constants(step: Step) -> list[bytes]:
    return [] if step.native is None else [each.tobytes() for each in step.native.constants.values()]


def _calls(step: Step) -> list[tuple[Plan, list[View | int]]]:
    """The kernels that a step calls, each with its arguments: arrays as the kernel sees them, and of numbers their
    bits.
    """
    found: list[tuple[Plan, list[View | int]]] = []
    for native in () if step.native is None else step.native.calls:
        assert native.kernel is not None  # others are refused
        plan = native.kernel.plan
        arguments: list[View | int] = []
        for value, own in zip(native.arguments, (*plan.inputs, *plan.outputs), strict=True):
            if not isinstance(value, At):
                arguments.append(int.from_bytes(np.array(value, own.dtype).tobytes(), "little"))
                continue
            extents = (math.prod(value.shape),) if isinstance(own, Array) and own.flat else value.shape
            whole = step.arguments[value.number] if value.argument else None
            memory = step.buffers[value.number] if whole is None else whole.memory
            offset = value.offset if whole is None else whole.offset + value.offset
            arguments.append(View(memory, offset, extents, value.strides, value.dtype))
        found.append((plan, arguments))
    return found
