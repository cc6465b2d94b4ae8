"""Sliding windows, in one dimension and in more: im2col and its transpose, convolutions and pools.

x (batch, *sizes, channels): channels last. Of each axis in between there are (size + before + after - extent)//stride +
1 windows, where extent = dilation·(window - 1) + 1. ``stride`` and ``dilation`` are one integer or one for each axis,
and so is ``padding``, whose zeros stand on both sides; it may also be a pair (before, after) for each axis.

A window of one axis is read by repeating the axis and giving each repeat one place more: reshapes and cuts alone,
whatever the sizes. Convolutions and pools of floats are one node, the ops of `typednn.kernels`, unless
`typednn.graph.whole.decomposed` asks for the twelve kinds. Then a product reads windows a block at a time
(`typednn.graph.views`); a pool's take as many times the memory of x as they have places. Source: the formulas are those
of `typednn.layers`; windows by repeating: tinygrad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from typednn.arguments import integer
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.derivatives import transposed
from typednn.graph.graph import GRAPH, Shape, product
from typednn.graph.movement import tile
from typednn.graph.nodes import binary, constant, every, pad, padded, permute, reshape
from typednn.graph.operations import Binary
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.graph.whole import Whole, takes_whole
from typednn.kernels import avg_pool2d as avg_pool_op
from typednn.kernels import conv2d as conv_op
from typednn.kernels import conv_transpose2d as transpose_op
from typednn.kernels import max_pool2d as max_pool_op

Sizes: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]]


class Sliding(NamedTuple):
    """Windows, checked: of each axis their size, stride, dilation, and zeros before and after it."""

    window: Shape
    stride: Shape
    dilation: Shape
    padding: tuple[tuple[int, int], ...]

    @property
    def extents(self) -> Shape:
        """From a window's first place to its last."""
        return tuple(step * (size - 1) + 1 for size, step in zip(self.window, self.dilation, strict=True))

    def counts(self, sizes: Shape) -> Shape:
        """How many windows there are along each axis of these sizes."""
        each = zip(sizes, self.padding, self.extents, self.stride, strict=True)
        return tuple((size + sum(zeros) - extent) // stride + 1 for size, zeros, extent, stride in each)


def _sliding(where: str, axes: int, window: Sizes, stride: Sizes, dilation: Sizes, padding: Padding) -> Sliding:
    def several(name: str, value: Any, least: int = 1) -> Shape:
        given: list[Any] = list(value) if _is_list(value) else [value] * axes
        if len(given) != axes:
            raise ArgumentError(explain(where, f"{name} is one integer, or {axes}", repr(value)), name)
        return tuple(integer(where, name, each, least) for each in given)

    pairs: Any = padding
    zeros: tuple[tuple[int, int], ...]
    if _is_list(pairs) and len(pairs) == axes and all(_is_list(each) and len(each) == 2 for each in pairs):
        zeros = tuple(
            (integer(where, "padding", before, 0), integer(where, "padding", after, 0)) for before, after in pairs
        )
    else:
        zeros = tuple((each, each) for each in several("padding", padding, 0))
    return Sliding(several("window", window), several("stride", stride), several("dilation", dilation), zeros)


def _is_list(value: Any) -> bool:
    return isinstance(cast("object", value), list | tuple)


def _check(where: str, x: AnyTensor, axes: int, sliding: Sliding) -> None:
    """Refuse an x of another rank, or one that no window fits into."""
    if x.ndim != axes + 2:
        got = f"{x.shape}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain(where, f"x is (batch, {', '.join(['size'] * axes)}, channels)", got))
    if min(sliding.counts(x.shape[1:-1])) < 1:
        got = f"{x.shape[1:-1]} and windows of {sliding.extents}, padding {sliding.padding}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain(where, "windows fit into x", got, "pad it, or take smaller windows"))


# ------------------------------------------------------------------ im2col and col2im


def _windows(x: AnyTensor, sliding: Sliding) -> AnyTensor:
    """(batch, *counts, *window, channels) of x (batch, *sizes, channels)."""
    axes, counts, are_first = len(sliding.window), sliding.counts(x.shape[1:-1]), dict[int, bool]()
    for axis, zeros in enumerate(sliding.padding):
        x = padded(x, axis + 1, *zeros)
    for axis in reversed(range(axes)):
        settings = sliding.window[axis], sliding.stride[axis], sliding.dilation[axis], counts[axis]
        x, are_first[axis] = _split(x, axis + 1, *settings)
    counted = tuple(1 + 2 * axis + (not are_first[axis]) for axis in range(axes))
    placed = tuple(1 + 2 * axis + are_first[axis] for axis in range(axes))
    return permute(x, (0, *counted, *placed, 1 + 2 * axes))


def _split(x: AnyTensor, axis: int, window: int, stride: int, dilation: int, windows: int) -> tuple[AnyTensor, bool]:
    """An axis as two: windows and their places, or places and windows; whether windows come first."""
    size, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
    if dilation * (window - 1) + 1 <= stride:  # windows that don't overlap
        x = reshape(padded(x, axis, 0, windows * stride - size), (*before, windows, stride, *after))
        return every(x, axis + 1, 0, window, dilation), True
    x = tile(x, (*[1] * axis, math.ceil(window * (size + dilation) / size), *[1] * len(after)))
    x = padded(x, axis, 0, window * (size + dilation) - x.shape[axis])
    return every(reshape(x, (*before, window, size + dilation, *after)), axis + 1, 0, windows, stride), False


def _added(columns: AnyTensor, shape: Shape, sliding: Sliding) -> AnyTensor:
    """The transpose of `_windows` of an x of ``shape``, which is made of movements: their derivatives, backwards."""
    x = constant(0, columns.dtype, shape)
    return transposed(x, _windows(x, sliding), columns)


def im2col(x: AnyTensor, window: Sizes, stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1) -> AnyTensor:
    """All windows: (batch, *counts, *window, channels) of x (batch, *sizes, channels). NumPy's sliding_window_view,
    with its options.
    """
    sliding = _sliding("im2col", x.ndim - 2, window, stride, dilation, padding)
    _check("im2col", x, x.ndim - 2, sliding)
    return _windows(x, sliding)


def col2im(
    columns: AnyTensor, sizes: Sequence[int], stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1
) -> AnyTensor:
    """The transpose of `im2col`: (batch, *sizes, channels), each place the sum of ``columns`` over the windows that it
    lies in.
    """
    axes = (columns.ndim - 2) // 2
    sliding = _sliding("col2im", axes, columns.shape[1 + axes : -1], stride, dilation, padding)
    shape = (columns.shape[0], *sizes, columns.shape[-1])
    if (
        columns.ndim != 2 + 2 * axes
        or len(shape) != 2 + axes
        or sliding.counts(tuple(sizes)) != columns.shape[1 : 1 + axes]
    ):
        rule = f"columns are (batch, *counts, *window, channels), with as many windows as {tuple(sizes)} has"
        raise ShapeError(explain("col2im", rule, f"{columns.shape}: {GRAPH.expression(columns.id)}"))
    return _added(columns, shape, sliding)


# ------------------------------------------------------------------ convolutions


def conv1d(
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> AnyTensor:
    """Cross-correlation: x (batch, time, in), weight (out, window, in/groups), bias (out); y (batch, windows, out)."""
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> AnyTensor:
    """Cross-correlation: x (batch, height, width, in), weight (out, *window, in/groups), bias (out); y (batch,
    *windows, out).
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> AnyTensor:
    """`conv1d`'s derivative by its input: x (batch, time, in), weight (in, window, out/groups), bias (out). Also called
    deconvolution.
    """
    return _transposed("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> AnyTensor:
    """`conv2d`'s derivative by its input: x (batch, height, width, in), weight (in, *window,
    out/groups), bias (out).
    """
    return _transposed("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def _check_weight(
    where: str, axes: int, x: AnyTensor, weight: AnyTensor, bias: AnyTensor | None, groups: int, reads: int, out: int
) -> None:
    """``reads``: the channels of x that the weight speaks of; ``out``: those of y."""
    integer(where, "groups", groups)
    fits = (
        weight.ndim == axes + 2
        and x.ndim == axes + 2
        and x.shape[-1] == reads
        and x.shape[-1] % groups == 0
        and out % groups == 0
    )
    if not fits or (bias is not None and bias.shape != (out,)):
        got = f"x {x.shape}, weight {weight.shape}, groups {groups}" + ("" if bias is None else f", bias {bias.shape}")
        shape = "(in, *window, out/groups)" if "transpose" in where else "(out, *window, in/groups)"
        rule = (
            f"x is (batch, {axes} size{'s' * (axes > 1)}, in), weight {shape}, bias (out), and groups divide in and out"
        )
        raise ShapeError(explain(where, rule, f"{got}: {GRAPH.expression(x.id)}"))


def _conv(
    where: str,
    axes: int,
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: int,
) -> AnyTensor:
    _check_weight(where, axes, x, weight, bias, groups, weight.shape[-1] * groups, weight.shape[0])
    sliding = _sliding(where, axes, weight.shape[1:-1], stride, dilation, padding)
    _check(where, x, axes, sliding)
    counts, out, rows = sliding.counts(x.shape[1:-1]), weight.shape[0], x.shape[0]
    if takes_whole(x):
        shape = rows, *counts, out
        return _whole(conv_op.forward, shape, x=x, weight=weight, bias=bias, window=_window(sliding))
    each = x.shape[-1] // groups
    columns = _windows(x, sliding)
    columns = reshape(columns, (rows * product(counts), product(sliding.window), groups, each))
    columns = reshape(
        permute(columns, (0, 2, 1, 3)), (rows * product(counts), groups, 1, product(sliding.window) * each)
    )
    banks = reshape(weight, (1, groups, out // groups, product(sliding.window) * each))
    y = reshape((columns * banks).sum(axis=-1), (rows, *counts, out))
    return y if bias is None else y + bias


def _transposed(
    where: str,
    axes: int,
    x: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None,
    stride: Sizes,
    padding: Padding,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> AnyTensor:
    out = weight.shape[-1] * groups
    _check_weight(where, axes, x, weight, bias, groups, weight.shape[0], out)
    sliding = _sliding(where, axes, weight.shape[1:-1], stride, dilation, padding)
    more = _sliding(where, axes, 1, 1, 1, output_padding).padding
    each = zip(x.shape[1:-1], sliding.stride, sliding.padding, sliding.extents, more, strict=True)
    sizes = tuple((size - 1) * step - sum(zeros) + extent + extra for size, step, zeros, extent, (extra, _) in each)
    fits = all(extra < max(steps) for (extra, _), *steps in zip(more, sliding.stride, sliding.dilation, strict=True))
    if min(sizes) < 1 or not fits:
        got = f"{sizes} of {x.shape[1:-1]}, output_padding {output_padding}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain(where, "y has a size, and output_padding is less than stride or dilation", got))
    if takes_whole(x):
        shape = x.shape[0], *sizes, out
        return _whole(transpose_op.forward, shape, x=x, weight=weight, bias=bias, window=_window(sliding))
    pixels, reads, places = product(x.shape[:-1]), weight.shape[0] // groups, product(sliding.window)
    banks = reshape(weight, (groups, reads, places * weight.shape[-1]))
    banks = reshape(permute(banks, (0, 2, 1)), (1, groups, places * weight.shape[-1], reads))
    columns = (reshape(x, (pixels, groups, 1, reads)) * banks).sum(axis=-1)
    columns = permute(reshape(columns, (pixels, groups, places, weight.shape[-1])), (0, 2, 1, 3))
    columns = reshape(columns, (*x.shape[:-1], *sliding.window, out))
    beyond = (0,) * axes
    # conv would make more windows than x has: the last rows are no window's, or less is cut off
    if sliding.counts(sizes) != x.shape[1:-1]:
        beyond = tuple(max(extra - after, 0) for (extra, _), (_, after) in zip(more, sliding.padding, strict=True))
        sizes = tuple(size - extra for size, extra in zip(sizes, beyond, strict=True))
        ends = zip(more, sliding.padding, strict=True)
        sliding = sliding._replace(
            padding=tuple((before, max(after - extra, 0)) for (extra, _), (before, after) in ends)
        )
    y = pad(_added(columns, (x.shape[0], *sizes, out), sliding), [(0, 0), *((0, extra) for extra in beyond), (0, 0)])
    return y if bias is None else y + bias


# ------------------------------------------------------------------ pools


def max_pool(
    x: AnyTensor, window: Sizes, stride: Sizes | None = None, padding: Padding = 0, dilation: Sizes = 1
) -> AnyTensor:
    """The largest number of each window, channel by channel; the padding counts as -inf. ``stride`` is the window
    unless given.
    """
    axes = x.ndim - 2
    sliding = _sliding("max_pool", axes, window, window if stride is None else stride, dilation, padding)
    _check_pool("max_pool", x, sliding)
    if takes_whole(x) and axes in (1, 2) and _same_on_both_sides(sliding):
        return _pooled(max_pool_op.forward, x, sliding)
    if any(map(any, sliding.padding)):
        widths = [(0, 0), *sliding.padding, (0, 0)]
        outside = ~pad(constant(True, np.bool_, x.shape), widths)
        x = pad(x, widths) + binary(Binary.MASKED, outside, constant(-math.inf, x.dtype))
        sliding = sliding._replace(padding=((0, 0),) * axes)
    return _windows(x, sliding).max(axis=tuple(range(1 + axes, 1 + 2 * axes)))


def avg_pool(
    x: AnyTensor, window: Sizes, stride: Sizes | None = None, padding: Padding = 0, count_include_pad: bool = True
) -> AnyTensor:
    """The mean of each window, channel by channel. The padding's zeros count, unless ``count_include_pad`` is False."""
    axes = x.ndim - 2
    sliding = _sliding("avg_pool", axes, window, window if stride is None else stride, 1, padding)
    _check_pool("avg_pool", x, sliding)
    if takes_whole(x) and axes in (1, 2) and _same_on_both_sides(sliding):
        return _pooled(avg_pool_op.forward, x, sliding, count_include_pad=count_include_pad)
    places = tuple(range(1 + axes, 1 + 2 * axes))
    total = _windows(x, sliding).sum(axis=places)
    if count_include_pad or not any(map(any, sliding.padding)):
        return total / float(product(sliding.window))
    shape = (1, *x.shape[1:-1], 1)
    return total / _windows(constant(1, x.dtype, shape), sliding).sum(axis=places)


def _check_pool(where: str, x: AnyTensor, sliding: Sliding) -> None:
    _check(where, x, len(sliding.window), sliding)
    if any(max(zeros) > extent // 2 for zeros, extent in zip(sliding.padding, sliding.extents, strict=True)):
        rule = f"padding is at most half the window, {sliding.extents}, or a window would lie in the border alone"
        raise ArgumentError(explain(where, rule, str(sliding.padding)), "padding")
    if not is_floating(x.dtype):
        raise DTypeError(explain(where, "pools floats", f"{x.dtype}: {GRAPH.expression(x.id)}", "cast it"))


def _same_on_both_sides(sliding: Sliding) -> bool:
    return all(before == after for before, after in sliding.padding)


# ------------------------------------------------------------------ whole ops


def _whole(forward: Any, shape: Shape, **arguments: Any) -> AnyTensor:
    """An op of images. A sequence is one of height 1, and so are its weight and the result."""

    def as_image(sizes: Shape) -> Shape:
        return (sizes[0], 1, *sizes[1:]) if len(sizes) == 3 else sizes

    tensors: dict[str, AnyTensor] = {name: each for name, each in arguments.items() if isinstance(each, Tensor)}
    images = {name: reshape(each, as_image(each.shape)) for name, each in tensors.items()}
    return reshape(Whole.of(forward, as_image(shape), **{**arguments, **images}), shape)


def _pooled(forward: Any, x: AnyTensor, sliding: Sliding, **settings: Any) -> AnyTensor:
    """A pool, whose zeros are as many on both sides."""
    high = _as_images(sliding)
    return _whole(
        forward,
        (x.shape[0], *sliding.counts(x.shape[1:-1]), x.shape[-1]),
        x=x,
        kernel_size=high.window,
        stride=high.stride,
        dilation=high.dilation,
        padding=tuple(before for before, _ in high.padding),
        **settings,
    )


def _as_images(sliding: Sliding) -> Sliding:
    """Windows of (height, width), also of a sequence."""
    if len(sliding.window) == 2:
        return sliding
    window, stride, dilation = ((1, *each) for each in sliding[:3])
    return Sliding(window, stride, dilation, ((0, 0), *sliding.padding))


def _window(sliding: Sliding) -> conv_op.Window:
    _, (down, right), dilation, zeros = _as_images(sliding)
    return conv_op.Window((down, right), (dilation[0], dilation[1]), (*zeros[1], *zeros[0]))
