"""GlobalAvgPool2d in Halide: lanes along the channels, images in parallel; sums in the reference's
order and precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from typednn.arrays import Array2, Array4
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.windows import Pair

# Work from which several threads pay: each task takes at least some microseconds.
_PARALLEL_FROM = 1 << 15


def _build(cpu: Cpu, x: hl.ImageParam, image: Pair, channels: int) -> hl.Func:
    c, h, n = hl.Var("c"), hl.Var("h"), hl.Var("n")
    y, row, total = hl.Func("y"), hl.Func("row"), hl.Func("total")
    across, down = hl.RDom([(0, image[1])]), hl.RDom([(0, image[0])])
    row[c, h, n] = hl.cast(x.type(), 0)
    row[c, h, n] += x[c, across.x, h, n]
    total[c, n] = hl.cast(hl.Float(64), 0)
    total[c, n] += hl.cast(hl.Float(64), row[c, down.x, n])
    y[c, n] = hl.cast(x.type(), total[c, n] * hl.f64(1.0 / (image[0] * image[1])))
    lanes, numbers = min(cpu.lanes, channels), image[0] * image[1] * channels
    several = y.specialize(x.dim(3).extent() * numbers >= _PARALLEL_FROM)
    several.parallel(n, max(_PARALLEL_FROM // (4 * numbers), 1), hl.TailStrategy.GuardWithIf)
    for each in (several, y):
        each.vectorize(c, lanes, hl.TailStrategy.ShiftInwards)
    total.compute_at(y, c).vectorize(c, lanes).update().reorder(c, down.x).vectorize(c, lanes)
    row.compute_at(total, down.x).vectorize(c, lanes).update().reorder(c, across.x).vectorize(c, lanes)
    return y


@specialised("global_avg_pool2d", "image sizes")
def kernels(image: Pair, channels: int, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    """What `forward` runs."""
    images, means = Array("batch", *image, channels), Array("batch", channels)
    options = {"image": image, "channels": channels}
    return kernel("global_avg_pool2d.forward", _build, inputs=(images,), outputs=(means,), options=options, dtype=dtype)


def plan(x: Array4) -> Kernel | None:
    """The kernel for images of this size; None where there is none."""
    return kernels[x.shape[1:3], x.shape[3], x.dtype]


def forward(planned: Kernel, x: Array4) -> Array2:
    """(batch, channels)."""
    y: Array2 = empty((len(x), x.shape[3]), x.dtype)
    planned.call(x, y)
    return y
