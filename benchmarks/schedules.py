"""The ways to schedule a convolution, measured: ``python -m benchmarks.schedules``; with ``TYPEDNN_TARGET=avx2`` those
for AVX2.

For each shape, every axis that lanes may lie along, and every number of vectors side by side in a tile, on one thread.
The least time of many runs gives GFLOP/s; ``*`` marks what `typednn.kernels.conv2d` chooses. The model of
`typednn.kernels.conv2d.geometry` comes from here: change it where another way is clearly faster in most rows.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Any, TypeAlias
from unittest import mock

os.environ.setdefault("HL_NUM_THREADS", "1")

import numpy as np

from benchmarks import machine
from typednn.engines import Cpu
from typednn.engines.halide import toolchain
from typednn.engines.halide.compiled import Kernel
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window, cpu, direct, dweight, geometry
from typednn.kernels.conv2d.geometry import Geometry

POOLED = ((2, 2), (2, 2), (1, 1))
# (name, batch, side, in_channels, out_channels, kernel, padding, pooled)
SHAPES = (
    ("LeNet5's first", 8, 28, 1, 6, 5, 2, True),
    ("LeNet5's second", 8, 14, 6, 16, 5, 0, True),
    ("3 to 64, 32x32", 1, 32, 3, 64, 3, 1, False),
    ("64 to 64, 32x32", 1, 32, 64, 64, 3, 1, False),
    ("64 to 64, pooled", 1, 32, 64, 64, 3, 1, True),
    ("64 to 128, 16x16", 1, 16, 64, 128, 3, 1, False),
    ("256 to 256, 8x8", 1, 8, 256, 256, 3, 1, False),
    ("8 to 12, 30x30", 4, 30, 8, 12, 3, 1, False),
    ("24 to 48, 20x20", 2, 20, 24, 48, 3, 1, False),
    ("1x1, 64 to 256, 14x14", 2, 14, 64, 256, 1, 0, False),
)
PARTS = ("forward", "dweight", "dx")
_FREE, _DEAR = 1e-9, 1e9  # costs
_Ways: TypeAlias = dict[str, dict[tuple[Any, str], Any]]


def _ways(part: str, geometry: Geometry) -> _Ways:
    """What to replace, by the name of the way: the cost that selects the axis of the lanes, and the vectors side by
    side in a tile.
    """
    if part == "dweight":
        lanes: _Ways = {
            axis: {(dweight, "lanes_of"): partial(_axis, axis)} for axis in ("pixels", "in_channels", "out_channels")
        }
        ways: _Ways = {"pixels": lanes.pop("pixels")}
        for (axis, selected), count in product(lanes.items(), (1, 2, 3, 4)):
            ways[f"{axis} x {count}"] = {**selected, (dweight, "tile_of_weights"): partial(_tile_of_weights, count)}
        return ways
    axes = ("pixels", "channels", *(["taps"] if part == "dx" else []))
    selection: _Ways = {
        axis: {(direct, f"cost_by_{other}"): (_free if other == axis else _dear) for other in axes} for axis in axes
    }
    tiles = {f"channels x {count}": {(direct, "tile_of_channels"): partial(_tile, count)} for count in (1, 2, 3, 4)}
    return {axis: selection[axis] for axis in axes if axis != "channels"} | {
        name: {**selection["channels"], **replaced} for name, replaced in tiles.items()
    }


def _axis(axis: str, *_: Any) -> str:
    return axis


def _free(*_: Any) -> float:
    return _FREE


def _dear(*_: Any) -> float:
    return _DEAR


def _tile(
    vectors: int, cpu: Cpu, channels: int, width: int, height: int, pool: int, groups: int
) -> tuple[int, int, int]:
    columns, rows, _ = geometry.tile(width, height, geometry.rows_of_tile(cpu, vectors), vectors, pool)
    return vectors, columns, rows


def _tile_of_weights(
    vectors: int, cpu: Cpu, channels: int, others: int, fits: Callable[[int], bool], groups: int = 1
) -> tuple[int, int]:
    return vectors, max(count for count in range(1, geometry.rows_of_tile(cpu, vectors) + 1) if fits(count))


def _kernel(part: str, sizes: Geometry, activation: Activation, batch: int) -> Kernel:
    match part:
        case "forward":
            return cpu.forward_kernel(sizes, True, activation)
        case "dweight":
            weights = sizes.out_channels * math.prod(sizes.kernel_size) * sizes.in_channels
            return cpu.dweight_kernel(sizes, activation, images=dweight.images_of(batch, weights))
        case _:
            return cpu.dx_kernel(sizes, activation)


def _compiled(kernel: Kernel, replaced: dict[tuple[Any, str], Any], arguments: Sequence[Any]) -> Callable[[], None]:
    """A run of the kernel, scheduled with the replacements."""
    with ExitStack() as stack:
        for (where, name), value in replaced.items():
            stack.enter_context(mock.patch.object(where, name, value))
        run = toolchain.compile_in_memory(kernel.plan)
    return lambda: run(*arguments)


def measure(part: str, shape: tuple[Any, ...], seconds: float) -> dict[str, float]:
    """GFLOP/s of each way; "*" is the project's own."""
    _, batch, side, channels, filters, taps, padding, pooled = shape
    window = Window(padding=(padding,) * 4, pooling=POOLED if pooled else None)
    sizes = cpu.geometry_of((side, side, channels), (filters, taps, taps, channels), window)
    kernel = _kernel(part, sizes, Activation("relu") if pooled else IDENTITY, batch)
    rng = np.random.default_rng(0)

    def array(argument: Any) -> Any:
        extents = tuple(batch if size == "batch" else size for size in argument.shape)
        return (
            rng.integers(0, 4, extents).astype("uint8")
            if argument.dtype == "uint8"
            else rng.standard_normal(extents).astype("float32")
        )

    arguments = [array(each) for each in (*kernel.plan.inputs, *kernel.plan.outputs)]
    runs = {"*": _compiled(kernel, {}, arguments)}
    runs |= {name: _compiled(kernel, replaced, arguments) for name, replaced in _ways(part, sizes).items()}
    least = dict.fromkeys(runs, float("inf"))
    end = time.perf_counter() + seconds * len(runs)
    while time.perf_counter() < end:
        for name, run in runs.items():
            for _ in range(5):
                began = time.perf_counter()
                run()
                least[name] = min(least[name], time.perf_counter() - began)
    return {name: batch * sizes.flops() / time / 1e9 for name, time in least.items()}


def main(arguments: Sequence[str]) -> int:
    """Print a line for each part and shape."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.schedules", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of runs for each way (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="some of the kernels")
    options = parser.parse_args(arguments)
    print(
        f"Schedules of convolutions, GFLOP/s on one thread: {machine.described()}, {toolchain.host().cpu.lanes} lanes"
    )
    for part, shape in product(options.parts, SHAPES):
        if part == "dx" and shape[3] == 1:
            continue
        found = measure(part, shape, options.seconds)
        best = max(found.values())
        others = ", ".join(f"{name} {rate:.0f}" for name, rate in found.items() if name != "*")
        print(
            f"{part:8} {shape[0]:22} * {found['*']:4.0f} ({found['*'] / best:4.0%} of the best)   {others}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
