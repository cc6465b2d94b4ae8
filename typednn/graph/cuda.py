"""CUDA C for a `typednn.graph.grouping.Description`: one kernel of the GPU's engine (`typednn.engines.cuda`), compiled
by CuPy when needed.

=========  =============================================================================================================
kind       who computes what
=========  =============================================================================================================
flat       a thread each number
rows       a block of threads each row: a thread takes every THREADS-th column, a tree in shared memory joins what
           threads reduced
columns    a thread each result, one row after the other
=========  =============================================================================================================

No atomics: results have the same bits every time. Sums are in the kernel's dtype. A value that several results need is
computed once in a loop over columns, and again in the next loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from typednn.engines.cuda import CudaKernel
from typednn.graph.coordinates import NO_AXIS, UNBOUNDED
from typednn.graph.description import Description, Node, dtype_of, operands
from typednn.graph.operations import POWERS, Binary, Reduce, Unary

_TYPES: Final = {"float32": "float", "float64": "double", "bool": "bool", "int32": "int", "int64": "long long"}

_INDENT: Final = "    "
_CLAMPED: Final = "\n__device__ int clamped(int at, int size) { return at < 0 ? 0 : at < size ? at : size - 1; }\n"


class CudaGroup:
    """The kernel of a description: called with its arrays, its scalars and its results, as the one of Halide is."""

    def __init__(self, how: Description) -> None:
        self.how: Description = how
        self.kernel: CudaKernel = CudaKernel(f"graph_{how.kind}", source(how))

    def call(self, *arguments: Any) -> None:
        """Write the results, which are the last of ``arguments``."""
        how = self.how
        given = len(how.arrays)
        scalars = [np.dtype(dtype).type(value) for dtype, value in zip(how.scalars, arguments[given:], strict=False)]
        extents = [int(value) for value in scalars[: how.rank]]
        results = arguments[given + len(how.scalars) :]
        sizes = [np.int32(arguments[array].shape[place]) for (array, place), _ in _own_sizes(how)]
        arrays = (*results, *arguments[:given], *scalars, *sizes)
        if how.kind == "rows":
            rows = int(np.prod(extents[:-1], dtype=np.int64))
            self.kernel.rows(rows, extents[-1], *arrays)
            return
        kept = extents if how.kind == "flat" else [*extents[:-2], extents[-1]]
        self.kernel.each(int(np.prod(kept, dtype=np.int64)), *arrays)


@cache
def cuda_kernel_of(description: Description) -> CudaGroup:
    """The kernel that computes ``description`` on a GPU."""
    return CudaGroup(description)


def _own_sizes(how: Description) -> list[tuple[tuple[int, int], str]]:
    """The sizes of arrays that are no axis of the space, by array and place, with their names."""
    sizes = [((array, place), name) for array, (_, names) in enumerate(how.arrays) for place, name in enumerate(names)]
    return [(at, name) for at, name in sizes if not name.startswith("axis")]


def source(how: Description) -> str:
    """The text of the kernel."""
    parameters = [f"{_TYPES[dtype]}* __restrict__ y{place}" for place, (_, dtype, _) in enumerate(how.outputs)]
    parameters += [f"const {_TYPES[dtype]}* __restrict__ x{place}" for place, (dtype, _) in enumerate(how.arrays)]
    parameters += [f"{_TYPES[dtype]} s{place}" for place, dtype in enumerate(how.scalars)]
    parameters += [f"int {name}" for _, name in _own_sizes(how)]
    parameters += ["int rows", "int columns"] if how.kind == "rows" else ["int size"]
    body = {"flat": _flat, "rows": _rows, "columns": _columns}[how.kind](how)
    head = f'extern "C" __global__ void graph_{how.kind}(\n{_INDENT}{", ".join(parameters)}\n) {{'
    return "\n".join([_CLAMPED, head, *(_INDENT + line for line in body), "}", ""])


def _flat(how: Description) -> list[str]:
    axes = range(how.rank)
    inner = [*_axes("i", axes), *_values(how, [node for node, _, _ in how.outputs], set())]
    return ["FOR_EACH(i, size) {", *(_INDENT + line for line in [*inner, *_results(how, range(len(how.outputs)))]), "}"]


def _columns(how: Description) -> list[str]:
    kept, over = [*range(how.rank - 2), how.rank - 1], how.rank - 2
    lines = _axes("i", kept)
    members = [how.nodes[node] for node, _, _ in how.outputs]
    for (node, dtype, _), member in zip(how.outputs, members, strict=True):
        lines.append(f"{_TYPES[dtype]} v{node} = {_start(member[1])};")
    inner = _values(how, [member[3] for member in members], {node for node, _, _ in how.outputs})
    inner += [
        f"v{node} = {Reduce(member[1]).row.cuda.format(f'v{node}', f'v{member[3]}')};"
        for (node, _, _), member in zip(how.outputs, members, strict=True)
    ]
    lines += [f"for (int a{over} = 0; a{over} < s{over}; a{over}++) {{", *(_INDENT + line for line in inner), "}"]
    return ["FOR_EACH(i, size) {", *(_INDENT + line for line in [*lines, *_results(how, range(len(how.outputs)))]), "}"]


def _rows(how: Description) -> list[str]:
    last = how.rank - 1
    reductions = [number for number, node in enumerate(how.nodes) if node[0] == "reduce"]
    lines = _axes("row", range(last))
    done: set[int] = set()
    loop = f"for (int a{last} = threadIdx.x; a{last} < columns; a{last} += THREADS) {{"
    for number in reductions:
        _, operation, dtype, of = how.nodes[number]
        kind = _TYPES[dtype]
        inner = [*_values(how, [of], done), f"r{number} = {Reduce(operation).row.cuda.format(f'r{number}', f'v{of}')};"]
        lines += [f"{kind} r{number} = {_start(operation)};", loop, *(_INDENT + line for line in inner), "}"]
        joined = Reduce(operation).row.cuda.format(
            f"shared{number}[threadIdx.x]", f"shared{number}[threadIdx.x + half]"
        )
        lines += [
            f"__shared__ {kind} shared{number}[THREADS];",
            f"shared{number}[threadIdx.x] = r{number};",
            "__syncthreads();",
            "for (int half = THREADS / 2; half > 0; half /= 2) {",
            f"{_INDENT}if (threadIdx.x < half) shared{number}[threadIdx.x] = {joined};",
            f"{_INDENT}__syncthreads();",
            "}",
            f"{kind} v{number} = shared{number}[0];",
            "__syncthreads();",
        ]
        done.add(number)
    wide = [place for place, (_, _, names) in enumerate(how.outputs) if f"axis{last}" in names]
    narrow = [place for place in range(len(how.outputs)) if place not in wide]
    if wide:
        inner = [*_values(how, [how.outputs[place][0] for place in wide], done), *_results(how, wide)]
        lines += [loop, *(_INDENT + line for line in inner), "}"]
    if narrow:
        inner = [*_values(how, [how.outputs[place][0] for place in narrow], done), *_results(how, narrow)]
        lines += ["if (threadIdx.x == 0) {", *(_INDENT + line for line in inner), "}"]
    return ["for (int row = blockIdx.x; row < rows; row += gridDim.x) {", *(_INDENT + line for line in lines), "}"]


def _start(operation: int) -> str:
    """What a reduction begins with."""
    start = Reduce(operation).row.start
    return f"{start:g}" if math.isfinite(start) else "1.0 / 0.0" if start > 0 else "-(1.0 / 0.0)"


def _axes(index: str, axes: Sequence[int]) -> list[str]:
    """The place on each of ``axes`` of number ``index``, the last axis fastest."""
    lines: list[str] = [f"int rest = {index};"] if len(axes) > 1 else []
    if len(axes) == 1:
        return [f"int a{axes[0]} = {index};"]
    for axis in reversed(axes[1:]):
        lines += [f"int a{axis} = rest % s{axis};", f"rest /= s{axis};"]
    return [*lines, f"int a{axes[0]} = rest;"] if axes else lines


def _needed(how: Description, wanted: Iterable[int], done: set[int]) -> list[int]:
    """Nodes that ``wanted`` are computed from, and these, operands first; without those that are ``done``, and what
    only those need.
    """
    found: set[int] = set()
    waiting = list(wanted)
    while waiting:
        number = waiting.pop()
        if number not in done and number not in found:
            found.add(number)
            waiting += operands(how.nodes[number])
    return sorted(found)


def _values(how: Description, wanted: Iterable[int], done: set[int]) -> list[str]:
    """A line for each value."""
    return [
        f"{_TYPES[dtype_of(how, number)]} v{number} = {_expression(how, number)};"
        for number in _needed(how, wanted, done)
    ]


def _expression(how: Description, number: int) -> str:
    node = how.nodes[number]
    kind = node[0]
    given = [f"v{each}" for each in operands(node)]
    if kind == "read":
        return f"x{node[1]}[{_index(how, node)}]"
    if kind == "number":
        return f"s{node[2]}"
    if kind in ("true", "false"):
        return str(kind)
    if kind == "inside":
        tests = " && ".join(f"{_place(each)} >= 0 && {_place(each)} < s{each[2]}" for each in node[1])
        return f"({tests}) ? {given[0]} : 0"
    if kind == "power":
        return POWERS[node[1]][1].format(*given)
    if kind == "cast":
        return f"{given[0]} != 0" if node[1] == "bool" else f"({_TYPES[node[1]]}){given[0]}"
    written = (Unary if kind == "unary" else Binary)(node[1]).row.cuda
    return str(written).format(*given)


def _place(coordinate: tuple[int, int, int]) -> str:
    axis, offset, _ = coordinate
    if axis == NO_AXIS:
        return f"s{offset}"
    return f"a{axis}" if offset == NO_AXIS else f"(a{axis} + s{offset})"


def _index(how: Description, node: Node) -> str:
    """Where an array is read: what may lie outside is moved to its edge."""
    array: int = node[1]
    names = how.arrays[array][1]
    places = [_place(each) if each[2] == UNBOUNDED else f"clamped({_place(each)}, s{each[2]})" for each in node[2]]
    return _linear(places, [f"s{name.removeprefix('axis')}" if name.startswith("axis") else name for name in names])


def _linear(places: Sequence[str], sizes: Sequence[str]) -> str:
    index = places[0] if places else "0"
    for place, size in zip(places[1:], sizes[1:], strict=True):
        index = f"({index}) * {size} + {place}"
    return index


def _results(how: Description, outputs: Iterable[int]) -> list[str]:
    lines: list[str] = []
    for place in outputs:
        node, _, names = how.outputs[place]
        axes = [int(name.removeprefix("axis")) for name in names]
        lines.append(f"y{place}[{_linear([f'a{axis}' for axis in axes], [f's{axis}' for axis in axes])}] = v{node};")
    return lines
