"""A loop whose images all have different sizes: ``python -m benchmarks.sizes``.

A step is forward and backward of padding, a convolution with ReLU and pooling, and another convolution. First it sees
few sizes, which get kernels; then ``--sizes`` different ones. Printed are the milliseconds of a step on a size with
kernels, on a size never seen, and on the same size again; and what the process holds after a tenth of the sizes and
after all.

The exit code is 1 if a size never seen costs more than a millisecond over the same size again, or if memory maps or
kernels grow.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine

LIMIT = 1.0  # milliseconds
LEAST = 5  # pixels


class Loop:
    """The layers, and the time that a step takes."""

    def __init__(self, batch: int) -> None:
        from typednn.layers import Conv2d, MaxPool2d, Pad2d, ReLU

        rng = np.random.default_rng(0)
        self.batch = batch
        self.layers: list[Any] = [Pad2d(1), Conv2d(1, 4, 3, rng=rng), ReLU(), MaxPool2d(2), Conv2d(4, 4, 2, rng=rng)]

    def step(self, height: int, width: int) -> float:
        """Seconds of a step on images of this size."""
        x: Any = np.ones((self.batch, height, width, 1), np.float32)
        start = perf_counter()
        for layer in self.layers:
            x = layer.forward(x)
        for layer in reversed(self.layers):
            x = layer.backward(x).input
        return perf_counter() - start


def held() -> tuple[int, float, int]:
    """Memory maps, resident megabytes, and kernels."""
    from typednn.engines.halide import compiled

    maps, pages = Path("/proc/self/maps"), Path("/proc/self/statm")
    if not maps.is_file():
        return 0, 0.0, compiled.count()
    size = int(pages.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    return len(maps.read_text(encoding="utf-8").splitlines()), size, compiled.count()


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if every limit holds."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sizes", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args(arguments)
    from typednn.engines import sizes

    print(machine.described())
    noise, loop = machine.Noise.now(), Loop(options.batch)
    side = int(np.ceil(np.sqrt(options.sizes + sizes.FEW)))
    extents = [
        divmod(int(number), side)
        for number in np.random.default_rng(0).permutation(side**2)[: options.sizes + sizes.FEW]
    ]
    known = [(LEAST + height, LEAST + width) for height, width in extents[: sizes.FEW]]
    others = [(LEAST + height, LEAST + width) for height, width in extents[sizes.FEW :]]
    for extent in known:
        loop.step(*extent)
    new, again, seen = [], [], []
    early = held()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number, extent in enumerate(others):
            new.append(loop.step(*extent) * 1e3)
            again.append(loop.step(*extent) * 1e3)
            seen.append(loop.step(*known[number % len(known)]) * 1e3)
            if number == len(others) // 10:
                early = held()
    late = held()
    more = median(one - other for one, other in zip(new, again, strict=True))
    print(*[f"warned: {warning.message}" for warning in said], sep="\n")
    print(
        f"{len(others)} sizes, batch {options.batch}: a size with kernels {median(seen):.3f} ms, never seen "
        f"{median(new):.3f}",
        end=", ",
    )
    print(f"the same again {median(again):.3f}; never seen costs {more:.3f} ms more (limit {LIMIT})")
    print(
        "after a tenth, and all: "
        + "; ".join(
            f"{name} {a:.0f} {b:.0f}" for name, a, b in zip(("maps", "MB", "kernels"), early, late, strict=True)
        )
    )
    print(noise.until_now())
    flat = late[0] <= early[0] + 20 and late[2] == early[2]
    return 0 if flat and more <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
