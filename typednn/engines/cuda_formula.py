"""CUDA kernels from formulas on arrays: a formula is called once with symbols in place of arrays, and each operation
becomes a line.

``lambda xp, dy, y: dy * (1 - y * y)`` as a `CudaFormula` is one kernel: a thread for each number, one pass over memory.
Array code on a GPU is a kernel and a pass for each operation instead. A formula uses operators, `abs`, and the
functions of `FUNCTIONS`; there is no kernel of one that uses more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from typednn.arrays import is_array, namespace
from typednn.engines.cuda import THREADS, CudaKernel
from typednn.engines.symbols import COMPARISONS, OPERATORS, Language, Symbol

# In CUDA C. NaN counts as in NumPy: it is the larger and the smaller of two numbers, and its sign.
FUNCTIONS: Final = {
    "abs": "fabs({0})",
    "clip": "{0} < {1} ? {1} : {0} > {2} ? {2} : {0}",
    "exp": "exp({0})",
    "expm1": "expm1({0})",
    "isinf": "fabs({0}) == (REAL)(1.0 / 0.0)",
    "log": "log({0})",
    "log1p": "log1p({0})",
    "maximum": "({0} != {0} || {0} > {1} ? {0} : {1})",
    "minimum": "({0} != {0} || {0} < {1} ? {0} : {1})",
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}",
    "sqrt": "sqrt({0})",
    "square": "{0} * {0}",
    "tanh": "tanh({0})",
    "where": "{0} ? {1} : {2}",
}
_OF_BOOLS: Final = {"isinf", "and", "or", *COMPARISONS}


@final
class Trace(Language):
    """What a formula computes, value by value."""

    def __init__(self) -> None:
        operators = {name: f"{{0}} {sign} {{1}}" for name, sign in (OPERATORS | COMPARISONS).items()}
        super().__init__("CUDA C", {**FUNCTIONS, "neg": "-{0}", **operators})
        self._values: dict[str, tuple[str, list[str]]] = {}  # the line of each, and what it is computed from

    def apply(self, function: str, *arguments: Any) -> Symbol:
        """One more line."""
        name, given = f"v{len(self._values)}", list(map(_written, arguments))
        kind = "bool" if function in _OF_BOOLS else "REAL"
        self._values[name] = f"{kind} {name} = {self.functions[function].format(*given)};", given
        return Symbol(self, name)

    def of(self, formula: Callable[..., Any], names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Trace ``formula`` of symbols of these names: the lines that its results need, and what these are called."""
        found = formula(self, *(Symbol(self, name) for name in names))
        results: list[Any] = [*found] if isinstance(found, tuple) else [found]
        called = list(map(_written, results))
        needed, waiting = set[str](), [*called]
        while waiting:
            name = waiting.pop()
            if name in self._values and name not in needed:
                needed.add(name)
                waiting += self._values[name][1]
        return [line for name, (line, _) in self._values.items() if name in needed], called


def _written(value: Any) -> str:
    """A symbol, or a number, in CUDA C."""
    if isinstance(value, Symbol):
        return str(value.value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float):
        raise TypeError(f"no CUDA C for {value!r}")
    if math.isfinite(value):
        return f"(REAL){float(value)!r}"
    return "(REAL)(0.0 / 0.0)" if value != value else f"(REAL)({'-' if value < 0 else ''}1.0 / 0.0)"


@final
class CudaFormula:
    """The kernel of ``formula(xp, *arrays, *columns, *numbers)``, with results shaped as the first array.

    ``arrays`` have one shape; ``columns`` lie along its last axis; ``numbers`` are Python's, or arrays of rank 0 on the
    GPU. ``writes`` are the places of the arrays that the results are written over; else they are new arrays.
    """

    def __init__(
        self,
        name: str,
        formula: Callable[..., Any],
        arrays: int,
        *,
        columns: int = 0,
        numbers: int = 0,
        results: int = 1,
        writes: Sequence[int] = (),
    ) -> None:
        self.name: str = name.replace(".", "_")
        self.formula: Callable[..., Any] = formula
        self.arrays: int = arrays + columns
        self.columns: int = columns
        self.numbers: int = numbers
        self.results: int = 0 if writes else results
        self.writes: tuple[int, ...] = tuple(writes)
        self._kernels: dict[tuple[bool, ...], CudaKernel] = {}

    @cached_property
    def traceable(self) -> bool:
        """Whether there is a kernel."""
        return Trace().has(self.formula, self.arrays + self.numbers)

    def covers(self, *arguments: Any) -> bool:
        """Whether there is a kernel, and it takes these numbers."""
        first, numbers = arguments[0], arguments[self.arrays :]
        kind, dtype = first.__class__, first.dtype
        taken = (
            isinstance(each, int | float) or (each.__class__ is kind and (each.ndim, each.dtype) == (0, dtype))
            for each in numbers
        )
        return all(taken) and self.traceable

    def run(self, *arguments: Any) -> Any:
        """The result, or a tuple of them; nothing where arrays are written."""
        first, numbers = arguments[0], arguments[self.arrays :]
        held = tuple(map(is_array, numbers))
        kernel = self._kernels.get(held) or self._kernels.setdefault(
            held, CudaKernel(self.named(held), self.source(held))
        )
        results = [namespace(first).empty(first.shape, dtype=first.dtype) for _ in range(self.results)]
        given = [each if of_gpu else float(each) for each, of_gpu in zip(numbers, held, strict=True)]
        sizes = first.shape[-1:] if self.columns else ()
        kernel.each(first.size, *arguments[: self.arrays], *given, *results, *sizes)
        return results[0] if self.results == 1 else tuple(results) or None

    def named(self, held: tuple[bool, ...]) -> str:
        """What the kernel is called."""
        return self.name + "_held" * any(held)

    def source(self, held: tuple[bool, ...]) -> str:
        """The kernel's text; ``held`` says which numbers are arrays of rank 0."""
        full = self.arrays - self.columns
        arrays, numbers = [f"x{place}" for place in range(self.arrays)], [f"n{place}" for place in range(self.numbers)]
        read = [f"{name}[i]" if place < full else f"{name}[i % columns]" for place, name in enumerate(arrays)]
        computed, found = Trace().of(self.formula, [*read, *numbers])
        parameters = [
            f"{'' if place in self.writes else 'const '}REAL* __restrict__ {name}" for place, name in enumerate(arrays)
        ]
        parameters += [
            f"const REAL* held_{name}" if of_gpu else f"REAL {name}" for name, of_gpu in zip(numbers, held, strict=True)
        ]
        parameters += [f"REAL* __restrict__ y{place}" for place in range(self.results)]
        parameters += ["int columns", "int size"] if self.columns else ["int size"]
        once = [f"    REAL {name} = *held_{name};" for name, of_gpu in zip(numbers, held, strict=True) if of_gpu]
        into = [f"x{place}" for place in self.writes] or [f"y{place}" for place in range(self.results)]
        lines = [*computed, *(f"{target}[i] = {name};" for target, name in zip(into, found, strict=True))]
        head = f'extern "C" __global__ void {self.named(held)}({", ".join(parameters)}) {{'
        return "\n".join(
            [head, *once, "    FOR_EACH(i, size) {", *(f"        {line}" for line in lines), "    }", "}", ""]
        )


_PIECE: Final = 1024  # rows, about, that one block adds up
_PIECES: Final = 256  # at most

_SUMS: Final = """
extern "C" __global__ void NAME(
    PARAMETERS, OUT* __restrict__ sums, int tiles, int piece_rows, int pieces, int rows, int columns
) {
    __shared__ double shared[THREADS];
    int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
    for (int block = blockIdx.x; block < tiles * pieces; block += gridDim.x) {
        int c = block % tiles * ACROSS + across, piece = block / tiles;
        int last = rows < (piece + 1) * piece_rows ? rows : (piece + 1) * piece_rows;
        double sum[RESULTS] = {0};
        for (int row = piece * piece_rows + down; c < columns && row < last; row += THREADS / ACROSS) {
            int i = row * columns + c;
            LINES
        }
        for (int result = 0; result < RESULTS; result++) {
            shared[threadIdx.x] = sum[result];
            __syncthreads();
            for (int half = THREADS / ACROSS / 2; half > 0; half /= 2) {
                if (down < half) shared[threadIdx.x] += shared[threadIdx.x + half * ACROSS];
                __syncthreads();
            }
            if (down == 0 && c < columns) sums[(result * pieces + piece) * columns + c] = (OUT)shared[threadIdx.x];
            __syncthreads();
        }
    }
}

extern "C" __global__ void NAME_joined(
    REAL* __restrict__ y, const double* __restrict__ sums, int pieces, int columns, int size
) {
    FOR_EACH(at, size) {
        double sum = 0;
        for (int piece = 0; piece < pieces; piece++)
            sum += sums[(at / columns * pieces + piece) * columns + at % columns];
        y[at] = (REAL)sum;
    }
}
"""


@final
class CudaColumnSums:
    """Sums over all rows of ``formula(xp, *arrays)``, for each column, in double precision; a formula may give several
    numbers.
    """

    def __init__(self, name: str, formula: Callable[..., Any], arrays: int, results: int = 1) -> None:
        names = [f"x{place}" for place in range(arrays)]
        computed, found = Trace().of(formula, [f"{each}[i]" for each in names])
        lines = [*computed, *(f"sum[{place}] += {each};" for place, each in enumerate(found))]
        code = (
            _SUMS.replace("NAME", name).replace("RESULTS", str(results)).replace("LINES", "\n            ".join(lines))
        )
        code = code.replace("PARAMETERS", ", ".join(f"const REAL* __restrict__ {each}" for each in names))
        self.results: int = results
        self._sums: CudaKernel = CudaKernel(name, code)
        self._joined: CudaKernel = CudaKernel(f"{name}_joined", code)

    def run(self, *arrays: Any) -> Any:
        """(results, columns), or (columns) where there is one; the columns are the arrays' last axis."""
        first = arrays[0]
        columns = first.shape[-1]
        rows = first.size // columns
        across = min(8, 1 << (columns - 1).bit_length())
        tiles, pieces = -(-columns // across), min(max(1, rows // _PIECE), _PIECES)
        empty, shape = namespace(first).empty, (self.results, columns)
        y: Any = empty(shape, dtype=first.dtype)
        parts: Any = y if pieces == 1 else empty((self.results, pieces, columns), dtype=np.float64)
        constants: dict[str, int | str] = {
            "ACROSS": across,
            "THREADS": THREADS,
            "OUT": "REAL" if pieces == 1 else "double",
        }
        self._sums.run(
            tiles * pieces, THREADS, *arrays, parts, tiles, -(-rows // pieces), pieces, rows, columns, **constants
        )
        if pieces > 1:
            self._joined.each(y.size, y, parts, pieces, columns, **constants)
        return y if self.results > 1 else y[0]
