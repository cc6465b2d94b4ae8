"""Frames: the C structures that a kernel reads its arguments from, Halide's ``halide_buffer_t``, and the function that fills them in."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from typednn.engines import memory
from typednn.engines.toolchain import Array, Plan
from typednn.errors import DTypeError, EngineError, ShapeError, explain

_CODES = {"i": 0, "u": 1, "b": 1, "f": 2}
_BUFFER = 7  # words of a halide_buffer_t: device, device interface, host, flags, type and rank, dimensions, padding
_HOST, _TYPE, _DIMENSIONS = 2, 4, 5
_LIMIT = 2**31  # Halide counts elements in 32 bits


class Frame:
    """Argument structures of one kernel, for the shapes of the last call that used them."""

    __slots__ = (
        "_arguments",
        "_at",
        "_bytes",
        "_dtypes",
        "_name",
        "_outputs",
        "_slots",
        "address",
        "floats",
        "integers",
        "shapes",
        "words",
    )

    def __init__(self, plan: Plan) -> None:
        self._name = plan.name
        self._arguments = (*plan.inputs, *plan.outputs)
        self._outputs = len(plan.inputs)
        self._dtypes = [np.dtype(argument.dtype) for argument in self._arguments]
        # First the pointers to the arguments, then each argument: a buffer with its dimensions, or a number.
        self._at: list[int] = []
        size = len(self._arguments)
        for argument in self._arguments:
            self._at.append(size)
            size += _BUFFER + 2 * len(argument.shape) if isinstance(argument, Array) else 1
        self.words: Any = (ctypes.c_uint64 * size)()
        self.integers: Any = (ctypes.c_int32 * (2 * size)).from_buffer(self.words)
        self.floats: Any = (ctypes.c_float * (2 * size)).from_buffer(self.words)
        self.address: int = ctypes.addressof(self.words)
        self.shapes: list[tuple[int, ...] | None] = [None] * len(self._arguments)
        for number, (argument, at, dtype) in enumerate(zip(self._arguments, self._at, self._dtypes, strict=True)):
            self.words[number] = self.address + 8 * at
            if isinstance(argument, Array):
                bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
                rank = len(argument.shape)
                self.words[at + _TYPE] = _CODES[dtype.kind] | bits << 8 | 1 << 16 | rank << 32
                self.words[at + _DIMENSIONS] = self.address + 8 * (at + _BUFFER)

    def slot(self, number: int) -> int:
        """Where argument ``number`` is filled in: a word for an array's address, half a word for a number."""
        return self._at[number] + _HOST if isinstance(self._arguments[number], Array) else 2 * self._at[number]

    def fit(self, arguments: tuple[Any, ...]) -> None:
        """Prepare for ``arguments``; raise what is wrong with them."""
        self.shapes = [None] * len(self._arguments)
        for at, argument, extents in zip(self._at, self._arguments, self.check(arguments), strict=True):
            if not isinstance(argument, Array):
                continue
            stride = 1
            for position, extent in enumerate(reversed(extents)):
                where = 2 * (at + _BUFFER) + 4 * position
                self.integers[where + 1] = extent
                self.integers[where + 2] = stride
                stride *= extent
        self.shapes = [getattr(value, "shape", None) for value in arguments]

    def check(self, arguments: tuple[Any, ...]) -> list[tuple[int, ...]]:
        """The extents that the kernel sees, argument by argument; an error says which one is not what it has to be."""
        if len(arguments) != len(self._arguments):
            raise EngineError(f"{self._name} takes {len(self._arguments)} arguments, got {len(arguments)}")
        named: dict[str, int] = {}
        result: list[tuple[int, ...]] = []
        for number, (value, argument) in enumerate(zip(arguments, self._arguments, strict=True)):
            if not isinstance(argument, Array):
                result.append(())
                continue
            output = number >= self._outputs
            where = f"{self._name}: output {number - self._outputs}" if output else f"{self._name}: argument {number}"
            self._check_kind(where, value, self._dtypes[number], output)
            extents = (value.size,) if argument.flat else value.shape
            wanted = tuple(
                named.setdefault(extent, found) if isinstance(extent, str) else extent
                for extent, found in zip(argument.shape, extents, strict=False)
            )
            if len(extents) != len(argument.shape) or extents != wanted:
                expected = f"({', '.join(map(str, argument.shape))}) with {named}" if named else str(argument.shape)
                raise ShapeError(explain(where, f"must have the shape {expected}", str(value.shape)))
            if math.prod(extents) >= _LIMIT:
                raise ShapeError(explain(where, f"must have fewer than {_LIMIT} elements", str(value.shape)))
            result.append(extents)
        return result

    @staticmethod
    def _check_kind(where: str, value: Any, dtype: np.dtype[Any], output: bool) -> None:
        if type(value) is not np.ndarray:
            raise DTypeError(explain(where, "must be a numpy.ndarray", type(value).__name__))
        if value.dtype != dtype:
            raise DTypeError(explain(where, f"must be {dtype}", str(value.dtype)))
        if not value.flags.c_contiguous or (output and not value.flags.carray):
            rule = "must be C-contiguous, aligned and writeable" if output else "must be C-contiguous"
            raise ShapeError(explain(where, rule, f"shape {value.shape}, strides {value.strides}"))


def caller_of(plan: Plan, run: Callable[[int], int], complaint: Callable[[], str]) -> Callable[..., None]:
    """A function that calls ``run`` with a frame of ``plan``'s arguments.

    It is written for these arguments, one line each, as ``dataclass`` writes an ``__init__``: a loop over them takes half as long again.
    """

    def failed(code: int) -> None:
        if code == -11:  # halide_error_code_out_of_memory
            raise MemoryError(f"{plan.name}: {complaint()}")
        raise EngineError(f"{plan.name} failed: {complaint()}")

    idle: list[Frame] = [Frame(plan)]
    slots = [idle[0].slot(number) for number in range(len(plan.inputs) + len(plan.outputs))]
    arguments = (*plan.inputs, *plan.outputs)
    names = [f"a{number}" for number in range(len(arguments))]
    tests: list[str] = []
    fills: list[str] = []
    checked: set[int] = set()
    scope: dict[str, Any] = {
        "pop": idle.pop,
        "push": idle.append,
        "run": run,
        "new": lambda: Frame(plan),
        "memory": memory.words,
        "address_of": memory.address,
        "ndarray": np.ndarray,
        "failed": failed,
    }
    for number, (name, slot, argument) in enumerate(zip(names, slots, arguments, strict=True)):
        if not isinstance(argument, Array):
            fills.append(f"frame.{'floats' if argument.dtype == 'float32' else 'integers'}[{slot}] = {name}")
            continue
        scope[f"d{number}"] = np.dtype(argument.dtype)
        layout = "carray" if number >= len(plan.inputs) else "c_contiguous"
        tests.append(
            f"{name}.__class__ is not ndarray or {name}.dtype is not d{number} or {name}.shape != s{number} or not {name}.flags.{layout}"
        )
        address = f"address_of({name})" if memory.DATA is None else f"memory[(id({name}) >> 3) + {memory.DATA}]"
        fills.append(f"words[{slot}] = {address}")
        checked.add(number)

    every = ", ".join(names)
    shapes = ", ".join(f"s{number}" if number in checked else "_" for number in range(len(names)))
    lines = [
        f"def call({every}):",
        "    try:",
        "        frame = pop()",
        "    except IndexError:",
        "        frame = new()",
        f"    {shapes}, = frame.shapes",
        f"    if {' or '.join(tests)}:",
        f"        frame.fit(({every},))",
        "    words = frame.words",
        *(f"    {fill}" for fill in fills),
        "    code = run(frame.address)",
        "    push(frame)",
        "    if code:",
        "        failed(code)",
    ]
    exec("\n".join(lines), scope)
    call: Callable[..., None] = scope["call"]
    return call
