"""Frames: the C structures that a kernel reads its arguments from, Halide's ``halide_buffer_t``, and the function that
fills them in.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast
from weakref import ref

import numpy as np

from typednn.engines.halide.toolchain import Array, Plan
from typednn.engines.memory.addresses import inlined
from typednn.errors import DTypeError, EngineError, ShapeError, explain
from typednn.generated import execute

_CODES = {"i": 0, "u": 1, "b": 1, "f": 2}
_NUMBERS = {"float32": "floats", "float64": "doubles", "int32": "integers"}
_BUFFER = 7  # words of a halide_buffer_t: device, device interface, host, flags, type and rank, dimensions, padding
_HOST, _TYPE, _DIMENSIONS = 2, 4, 5
_LIMIT = 2**31  # Halide counts elements in 32 bits
_SHAPES = 256  # frames that are kept


class Frame:
    """The argument structures of one kernel, for the shapes of its last `fit`."""

    def __init__(self, plan: Plan) -> None:
        self._name = plan.name
        self._arguments = (*plan.inputs, *plan.outputs)
        self._outputs = len(plan.inputs)
        self._dtypes = [np.dtype(argument.dtype) for argument in self._arguments]
        # First the pointers to the arguments, then each argument: a buffer with its dimensions, or a number.
        sizes = [
            _BUFFER + 2 * len(argument.shape) if isinstance(argument, Array) else 1 for argument in self._arguments
        ]
        *self._at, size = accumulate(sizes, initial=len(sizes))
        self.words: Any = (ctypes.c_uint64 * size)()
        self.integers: Any = (ctypes.c_int32 * (2 * size)).from_buffer(self.words)
        self.floats: Any = (ctypes.c_float * (2 * size)).from_buffer(self.words)
        self.doubles: Any = (ctypes.c_double * size).from_buffer(self.words)
        self.address: int = ctypes.addressof(self.words)
        self.shapes: list[tuple[int, ...] | None] = [None] * len(self._arguments)
        # The arrays that the parameters were filled in from. They are not kept alive, but can't be resized while they
        # live.
        self.parameters: tuple[Callable[[], Any], ...] = ()
        for number, (argument, at, dtype) in enumerate(zip(self._arguments, self._at, self._dtypes, strict=True)):
            self.words[number] = self.address + 8 * at
            if isinstance(argument, Array):
                bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
                self.words[at + _TYPE] = _CODES[dtype.kind] | bits << 8 | 1 << 16 | len(argument.shape) << 32
                self.words[at + _DIMENSIONS] = self.address + 8 * (at + _BUFFER)

    def slot(self, number: int) -> int:
        """Where argument ``number`` is filled in: a word for an array's address or a float64, half a word for another
        number.
        """
        if isinstance(self._arguments[number], Array):
            return self._at[number] + _HOST
        return self._at[number] * 8 // self._dtypes[number].itemsize

    def fit(self, arguments: tuple[Any, ...]) -> None:
        """Prepare for ``arguments``; raise an error if they don't fit."""
        self.shapes = [None] * len(self._arguments)
        self.lay_out(self.check(arguments))
        self.shapes = [getattr(value, "shape", None) for value in arguments]

    def lay_out(self, extents_of: Sequence[tuple[int, ...]]) -> None:
        """Prepare for arguments of these extents, which `check` gives."""
        for at, extents in zip(self._at, extents_of, strict=True):
            stride = 1
            for position, extent in enumerate(reversed(extents)):
                where = 2 * (at + _BUFFER) + 4 * position
                self.integers[where + 1 : where + 3] = extent, stride
                stride *= extent

    def numbers(self, number: int) -> Any:
        """Where argument ``number``, which is no array, is filled in, at its `slot`."""
        return getattr(self, _NUMBERS[self._dtypes[number].name])

    def check(self, arguments: tuple[Any, ...]) -> list[tuple[int, ...]]:
        """The extents that the kernel sees, argument by argument; an error names the first argument that is wrong."""
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
            expected_extents = tuple(
                named.setdefault(extent, size) if isinstance(extent, str) else extent
                for extent, size in zip(argument.shape, extents, strict=False)
            )
            if len(extents) != len(argument.shape) or extents != expected_extents:
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


def failure(name: str, code: int, complaint: str) -> Exception:
    """The error for a call of the kernel ``name`` that gave ``code``, not 0."""
    if code == -11:  # halide_error_code_out_of_memory
        return MemoryError(f"{name}: {complaint}")
    return EngineError(f"{name} failed: {complaint}")


def caller_of(plan: Plan, run: Callable[[int], int], complaint: Callable[[], str]) -> Callable[..., None]:
    """A function that calls ``run`` with a frame of ``plan``'s arguments.

    Idle frames are kept by the shapes of the arrays with an extent that each call sets (``x`` of a layer, not its
    parameters), so arrays of several shapes may alternate. The other shapes are compared. The function's source is
    generated, one line for each argument, as ``dataclass`` generates an ``__init__``: a loop over the arguments would
    take 1.5 times as long.
    """

    def failed(code: int) -> None:
        raise failure(plan.name, code, complaint())

    def new(*arguments: Any) -> Frame:
        frame = Frame(plan)
        frame.fit(arguments)
        frame.parameters = (lambda: None,) * len(parameters)
        if len(frames) >= _SHAPES:
            frames.clear()
        return frame

    frames: dict[Any, list[Frame]] = {}
    scope: dict[str, Any] = {
        "frames": frames,
        "run": run,
        "new": new,
        "ndarray": np.ndarray,
        "failed": failed,
        "ref": ref,
    }
    blank, inputs = Frame(plan), len(plan.inputs)
    # The names of all arguments. An output that is written over an input has the input's name.
    outputs = (*plan.written, *range(inputs + len(plan.written), inputs + len(plan.outputs)))
    names = [f"a{number}" for number in (*range(inputs), *outputs)]
    shapes = ["_"] * len(names)
    extents: set[str] = set()
    leading: list[str] = []
    tests: list[str] = []
    fills: list[str] = []
    parameters: dict[str, tuple[str, str]] = {}
    for number, (name, argument) in enumerate(zip(names, (*plan.inputs, *plan.outputs), strict=True)):
        if not isinstance(argument, Array):
            fills.append(f"frame.{_NUMBERS[argument.dtype]}[{blank.slot(number)}] = {name}")
            continue
        if names.index(name) < number:
            continue
        scope[f"d{number}"] = np.dtype(argument.dtype)
        test = f"{name}.__class__ is not ndarray or {name}.dtype is not d{number}"
        own = {extent for extent in argument.shape if isinstance(extent, str)} - extents
        if own:
            extents |= own
            leading.append(f"{name}.shape")
        else:
            shapes[number] = f"s{number}"
            test += f" or {name}.shape != s{number}"
        reads = number < inputs and number not in plan.written
        test += f" or not {name}.flags.{'c_contiguous' if reads else 'carray'}"
        data, used = inlined(name)
        scope |= used
        places = [f"words[{blank.slot(place)}] = " for place, other in enumerate(names) if other == name]
        if argument.parameter and reads and not own:
            parameters[name] = test, f"{''.join(places)}{data}"
        else:
            tests.append(test)
            fills.append(f"{''.join(places)}{data}")

    where = leading[0] if len(leading) == 1 else f"({', '.join(leading)})"
    execute(_source(names, where, shapes, tests, fills, parameters), f"call of {plan.name}", scope)
    return cast("Callable[..., None]", scope["call"])


def _source(
    names: Sequence[str],
    where: str,
    shapes: Sequence[str],
    tests: Sequence[str],
    fills: Sequence[str],
    parameters: Mapping[str, tuple[str, str]],
) -> str:
    """The function: it takes an idle frame for the shapes ``where``, compares the other ``shapes`` and what ``tests``
    are about, fills in the addresses and runs. ``parameters`` are tested and filled in when they are other arrays.
    """
    changed = [
        f"    {', '.join(f'r{name}' for name in parameters)}, = frame.parameters",
        f"    if {' or '.join(f'{name} is None or r{name}() is not {name}' for name in parameters)}:",
        f"        if {' or '.join(test for test, _ in parameters.values())}:",
        f"            frame.fit(({', '.join(names)}))",
        *(f"        {fill}" for _, fill in parameters.values()),
        f"        frame.parameters = {', '.join(f'ref({name})' for name in parameters)},",
    ]
    return "\n".join(
        [
            f"def call({', '.join(dict.fromkeys(names))}):",
            "    try:",
            f"        idle = frames[{where}]",
            "        frame = idle.pop()",
            "    except (KeyError, IndexError, AttributeError, TypeError):",
            f"        frame = new({', '.join(names)})",
            f"        idle = frames.setdefault({where}, [])",
            f"    {', '.join(shapes)}, = frame.shapes",
            f"    if {' or '.join(tests)}:",
            f"        frame.fit(({', '.join(names)}))",
            "    words = frame.words",
            *(f"    {fill}" for fill in fills),
            *(changed if parameters else []),
            "    code = run(frame.address)",
            "    idle.append(frame)",
            "    if code:",
            "        failed(code)",
        ]
    )
