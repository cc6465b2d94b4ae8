"""MaxPool2d in Halide: forward a comparison per tap, backward a gather.

Lanes run along the channels; where these are one or two, along a row. Each pixel of dx sums dy over the windows that it
won: at most one where windows don't overlap, otherwise as many as taps, added in the order of reference.py. Results equal the
reference's bit for bit.
"""

from typing import Any, TypeAlias

from typednn.arrays import AnyIntArray, Array4
from typednn.engines import Array, Cpu, Kernel, empty, kernel, nan, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.max_pool2d.reference import index_dtype
from typednn.kernels.windows import Pair, output_sizes

# Taps up to here become straight code; larger windows are loops.
_UNROLLED = 25
# Work from which several threads pay: each task takes at least some microseconds.
_PARALLEL_FROM = 1 << 15


# Forward, backward, and the shape of y without the batch.
Planned: TypeAlias = tuple[Kernel, Kernel, tuple[int, int, int]]


def _scheduled(hl: Any, cpu: Cpu, y: Any, axes: tuple[Any, Any, Any, Any], size: tuple[int, int, int], batch: Any, side: int = 1) -> Any:
    """``y``, whose lanes are channels or columns, and by images in parallel; returns the axis of the lanes.

    ``side`` columns share what they are computed from.
    """
    c, x, r, n = axes
    rows, columns, channels = size
    lanes, extent = (c, channels) if channels > 2 or columns < channels else (x, columns)
    if lanes is x:
        y.reorder(x, c, r, n)
    images = max(_PARALLEL_FROM // (4 * rows * columns * channels), 1)
    several, row, column = y.specialize(batch * (rows * columns * channels) >= _PARALLEL_FROM), hl.Var("row"), hl.Var("column")
    if images == 1:
        # Large images: rows of all images in turn.
        several.fuse(r, n, row).parallel(row)
    else:
        several.parallel(n, images, hl.TailStrategy.GuardWithIf)
    for each in (several, y):
        each.vectorize(lanes, min(cpu.lanes, extent), hl.TailStrategy.ShiftInwards)
        if lanes is c and 1 < side <= min(4, columns):
            # Within the vectors of channels, so that the shared ones are loaded once.
            each.split(x, x, column, side, hl.TailStrategy.ShiftInwards if columns % side == 0 else hl.TailStrategy.GuardWithIf)
            each.reorder(column, c).unroll(column) if channels > cpu.lanes else each.unroll(column)
    return lanes


def _over_taps(
    hl: Any,
    cpu: Cpu,
    y: Any,
    each: Any,
    tap: Any,
    axes: tuple[Any, Any, Any, Any],
    size: tuple[int, int, int],
    batch: Any,
    kernel_size: Pair,
) -> Any:
    """``y``, whose vectors are computed in ``each``, which goes over the taps of a window."""
    lanes = _scheduled(hl, cpu, y, axes, size, batch)
    extent = min(cpu.lanes, size[2] if lanes is axes[0] else size[1])
    each.compute_at(y, lanes).vectorize(lanes, extent)
    update = each.update().reorder(lanes, tap.x, tap.y).vectorize(lanes, extent)
    if kernel_size[0] * kernel_size[1] <= _UNROLLED:
        update.unroll(tap.x).unroll(tap.y)
    return y


def _build_forward(hl: Any, cpu: Cpu, x: Any, kernel_size: Pair, stride: Pair, dilation: Pair, size: tuple[int, int, int]) -> Any:
    c, s, r, n = (hl.Var(name) for name in "csrn")
    y, best, lowest = hl.Func("y"), hl.Func("best"), x.type().min()
    index, tap = hl.UInt(8 * index_dtype(kernel_size).itemsize), hl.RDom([(0, kernel_size[1]), (0, kernel_size[0])])
    candidate = x[c, s * stride[1] + tap.x * dilation[1], r * stride[0] + tap.y * dilation[0], n]
    # NaN is never larger than the lowest number, so it never wins.
    candidate = hl.select(nan.is_nan(hl, candidate), lowest, candidate)
    best[c, s, r, n] = hl.Tuple([lowest, hl.cast(index, 0)])
    wins = candidate > best[c, s, r, n][0]
    best[c, s, r, n] = hl.Tuple(
        [
            hl.select(wins, candidate, best[c, s, r, n][0]),
            hl.select(wins, hl.cast(index, tap.y * kernel_size[1] + tap.x), best[c, s, r, n][1]),
        ]
    )
    y[c, s, r, n] = hl.Tuple([best[c, s, r, n][0], best[c, s, r, n][1]])
    return _over_taps(hl, cpu, y, best, tap, (c, s, r, n), size, x.dim(3).extent(), kernel_size)


def _build_backward(
    hl: Any,
    cpu: Cpu,
    next_grad: Any,
    index: Any,
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    size: tuple[int, int, int],
    windows: Pair,
) -> Any:
    c, w, h, n = (hl.Var(name) for name in "cwhn")
    dx, summed = hl.Func("dx"), hl.Func("summed")
    kind = hl.UInt(8 * index_dtype(kernel_size).itemsize)

    def gradient_if_won(r: Any, s: Any, tap: Any, inside: Any) -> Any:
        inside = inside & (r >= 0) & (r < windows[0]) & (s >= 0) & (s < windows[1])
        r, s = hl.clamp(r, 0, windows[0] - 1), hl.clamp(s, 0, windows[1] - 1)
        return hl.select(inside & (index[c, s, r, n] == hl.cast(kind, tap)), next_grad[c, s, r, n], 0)

    if dilation == (1, 1) and kernel_size[0] <= stride[0] and kernel_size[1] <= stride[1]:  # windows are disjoint
        i, j = h % stride[0], w % stride[1]
        dx[c, w, h, n] = gradient_if_won(h / stride[0], w / stride[1], i * kernel_size[1] + j, (i < kernel_size[0]) & (j < kernel_size[1]))
        _scheduled(hl, cpu, dx, (c, w, h, n), size, next_grad.dim(3).extent(), stride[1])
        return dx
    tap = hl.RDom([(0, kernel_size[1]), (0, kernel_size[0])])
    row, column = h - tap.y * dilation[0], w - tap.x * dilation[1]
    on_grid = (row % stride[0] == 0) & (column % stride[1] == 0)
    summed[c, w, h, n] += gradient_if_won(row / stride[0], column / stride[1], tap.y * kernel_size[1] + tap.x, on_grid)
    dx[c, w, h, n] = summed[c, w, h, n]
    return _over_taps(hl, cpu, dx, summed, tap, (c, w, h, n), size, next_grad.dim(3).extent(), kernel_size)


@specialised("max_pool2d", "image sizes")
def kernels(image: Pair, channels: int, kernel_size: Pair, stride: Pair, dilation: Pair, dtype: Any = FLOAT32) -> Planned:
    """What `forward` and `backward` run."""
    windows = output_sizes(image, kernel_size, stride, dilation)
    size, images = (*windows, channels), Array("batch", *image, channels)
    outputs = Array("batch", *size), Array("batch", *size, dtype=index_dtype(kernel_size).name)
    options = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
    return (
        kernel("max_pool2d.forward", _build_forward, inputs=(images,), outputs=outputs, options={**options, "size": size}, dtype=dtype),
        kernel(
            "max_pool2d.backward",
            _build_backward,
            inputs=outputs,
            outputs=(images,),
            options={**options, "size": (*image, channels), "windows": windows},
            dtype=dtype,
        ),
        size,
    )


def plan(x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair) -> Planned | None:
    """The kernels for images of this size; None where there are none."""
    return kernels[x.shape[1:3], x.shape[3], kernel_size, stride, dilation, x.dtype]


def plan_backward(
    next_grad: Array4, index: AnyIntArray, input_shape: tuple[int, ...], kernel_size: Pair, stride: Pair, dilation: Pair
) -> Planned | None:
    """As `plan`, where the index is what `forward` gives."""
    if index.dtype != index_dtype(kernel_size):
        return None
    return kernels[input_shape[1:3], input_shape[3], kernel_size, stride, dilation, next_grad.dtype]


def forward(planned: Planned, x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair) -> tuple[Array4, AnyIntArray]:
    """(y, index), both (batch, out_height, out_width, channels)."""
    run, _, size = planned
    y: Array4 = empty((len(x), *size), x.dtype)
    index: AnyIntArray = empty(y.shape, index_dtype(kernel_size))
    run.call(x, y, index)
    return y, index


def backward(planned: Planned, next_grad: Array4, index: AnyIntArray, input_shape: tuple[int, ...], *_: object) -> Array4:
    """dx, shaped ``input_shape``; ``index`` is what `forward` gave."""
    dx: Array4 = empty(input_shape, next_grad.dtype)
    planned[1].call(next_grad, index, dx)
    return dx
