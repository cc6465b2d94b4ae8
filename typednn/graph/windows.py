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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast, final

import numpy as np

from typednn.arguments import integer
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.graph import GRAPH, Shape, product
from typednn.graph.operations import Binary, Reduce
from typednn.graph.tensor import AnyTensor, binary, broadcast_to, constant, pad, permute, reduce, reshape
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


class _Movement:
    """Reshapes, cuts and repeats of one shape, noted, so that they can be run, and turned round: the transposed linear
    map.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape: Shape = shape
        self.steps: list[tuple[Callable[[AnyTensor], AnyTensor], Callable[[AnyTensor], AnyTensor]]] = []

    def _step(
        self, shape: Shape, forth: Callable[[AnyTensor], AnyTensor], back: Callable[[AnyTensor], AnyTensor]
    ) -> None:
        if shape != self.shape:
            self.steps.append((forth, back))
            self.shape = shape

    def reshape(self, shape: Shape) -> None:
        old = self.shape
        self._step(shape, lambda x: reshape(x, shape), lambda y: reshape(y, old))

    def resize(self, axis: int, before: int, after: int) -> None:
        """Zeros before and after an axis; negative numbers cut off."""
        widths = [(before, after) if place == axis else (0, 0) for place in range(len(self.shape))]
        turned = [(-first, -last) for first, last in widths]
        shape = tuple(size + first + last for size, (first, last) in zip(self.shape, widths, strict=True))
        if before or after:
            self.steps.append((lambda x: pad(x, widths), lambda y: pad(y, turned)))
            self.shape = shape

    def repeat(self, axis: int, times: int) -> None:
        """The axis ``times`` times, one after another."""
        old, split = self.shape, (*self.shape[:axis], 1, *self.shape[axis:])
        wide = (*self.shape[:axis], times, *self.shape[axis:])
        self.reshape(split)
        self._step(wide, lambda x: broadcast_to(x, wide), lambda y: reshape(reduce(Reduce.SUM, y, axis), split))
        self.reshape((*old[:axis], times * old[axis], *old[axis + 1 :]))

    def permute(self, order: Shape) -> None:
        inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
        if order != tuple(range(len(order))):
            self.steps.append((lambda x: permute(x, order), lambda y: permute(y, inverse)))
            self.shape = tuple(self.shape[axis] for axis in order)

    def first_of_each(self, axis: int, count: int, step: int) -> None:
        """``count`` numbers of an axis, every ``step``-th."""
        self.resize(axis, 0, count * step - self.shape[axis])
        if step > 1:
            self.reshape((*self.shape[:axis], count, step, *self.shape[axis + 1 :]))
            self.resize(axis + 1, 0, 1 - step)
            self.reshape((*self.shape[: axis + 1], *self.shape[axis + 2 :]))

    def split(self, axis: int, window: int, stride: int, dilation: int, windows: int) -> bool:
        """An axis as two: windows and their places, or places and windows; whether windows come first."""
        size, extent = self.shape[axis], dilation * (window - 1) + 1
        if extent <= stride:  # windows that don't overlap
            self.resize(axis, 0, windows * stride - size)
            self.reshape((*self.shape[:axis], windows, stride, *self.shape[axis + 1 :]))
            self.first_of_each(axis + 1, window, dilation)
            return True
        self.repeat(axis, math.ceil(window * (size + dilation) / size))
        self.resize(axis, 0, window * (size + dilation) - self.shape[axis])
        self.reshape((*self.shape[:axis], window, size + dilation, *self.shape[axis + 1 :]))
        self.first_of_each(axis + 1, windows, stride)
        return False

    def forth(self, x: AnyTensor) -> AnyTensor:
        for forth, _ in self.steps:
            x = forth(x)
        return x

    def back(self, y: AnyTensor) -> AnyTensor:
        for _, back in reversed(self.steps):
            y = back(y)
        return y


def _movement(shape: Shape, sliding: Sliding) -> _Movement:
    """From (batch, *sizes, channels) to (batch, *counts, *window, channels)."""
    movement, axes = _Movement(shape), len(sliding.window)
    counts = sliding.counts(shape[1:-1])
    for axis, zeros in enumerate(sliding.padding):
        movement.resize(axis + 1, *zeros)
    firsts = dict[int, bool]()
    for axis in reversed(range(axes)):
        firsts[axis] = movement.split(
            axis + 1, sliding.window[axis], sliding.stride[axis], sliding.dilation[axis], counts[axis]
        )
    counted = tuple(1 + 2 * axis + (not firsts[axis]) for axis in range(axes))
    placed = tuple(1 + 2 * axis + firsts[axis] for axis in range(axes))
    movement.permute((0, *counted, *placed, 1 + 2 * axes))
    return movement


def im2col(x: AnyTensor, window: Sizes, stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1) -> AnyTensor:
    """All windows: (batch, *counts, *window, channels) of x (batch, *sizes, channels). NumPy's sliding_window_view,
    with its options.
    """
    sliding = _sliding("im2col", x.ndim - 2, window, stride, dilation, padding)
    _check("im2col", x, x.ndim - 2, sliding)
    return _movement(x.shape, sliding).forth(x)


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
    return _movement(shape, sliding).back(columns)


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
    biases = () if bias is None else (bias,)
    if takes_whole(x, weight, *biases):
        y = Conv2d(_window(sliding)).of(_as_images(x), _as_images(weight), *biases)
        return reshape(y, (rows, *counts, out))
    each = x.shape[-1] // groups
    columns = _movement(x.shape, sliding).forth(x)
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
    biases = () if bias is None else (bias,)
    if takes_whole(x, weight, *biases):
        image = (*sizes, out) if axes == 2 else (1, *sizes, out)
        y = ConvTranspose2d(_window(sliding), image).of(_as_images(x), _as_images(weight), *biases)
        return reshape(y, (x.shape[0], *sizes, out))
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
    y = pad(
        _movement((x.shape[0], *sizes, out), sliding).back(columns), [(0, 0), *((0, extra) for extra in beyond), (0, 0)]
    )
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
        y = MaxPool2d(*_as_rectangles(sliding)).of(_as_images(x))
        return reshape(y, (x.shape[0], *sliding.counts(x.shape[1:-1]), x.shape[-1]))
    if any(map(any, sliding.padding)):
        widths = [(0, 0), *sliding.padding, (0, 0)]
        outside = ~pad(constant(True, np.bool_, x.shape), widths)
        x = pad(x, widths) + binary(Binary.MASKED, outside, constant(-math.inf, x.dtype))
        sliding = sliding._replace(padding=((0, 0),) * axes)
    return _movement(x.shape, sliding).forth(x).max(axis=tuple(range(1 + axes, 1 + 2 * axes)))


def avg_pool(
    x: AnyTensor, window: Sizes, stride: Sizes | None = None, padding: Padding = 0, count_include_pad: bool = True
) -> AnyTensor:
    """The mean of each window, channel by channel. The padding's zeros count, unless ``count_include_pad`` is False."""
    axes = x.ndim - 2
    sliding = _sliding("avg_pool", axes, window, window if stride is None else stride, 1, padding)
    _check_pool("avg_pool", x, sliding)
    if takes_whole(x) and axes in (1, 2) and _same_on_both_sides(sliding):
        size, step, _, zeros = _as_rectangles(sliding)
        y = AvgPool2d(size, step, zeros, count_include_pad).of(_as_images(x))
        return reshape(y, (x.shape[0], *sliding.counts(x.shape[1:-1]), x.shape[-1]))
    places = tuple(range(1 + axes, 1 + 2 * axes))
    total = _movement(x.shape, sliding).forth(x).sum(axis=places)
    if count_include_pad or not any(map(any, sliding.padding)):
        return total / float(product(sliding.window))
    shape = (1, *x.shape[1:-1], 1)
    return total / _movement(shape, sliding).forth(constant(1, x.dtype, shape)).sum(axis=places)


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


def _as_images(x: AnyTensor) -> AnyTensor:
    """A sequence as an image of height 1, likewise a weight."""
    return x if x.ndim == 4 else reshape(x, (x.shape[0], 1, *x.shape[1:]))


def _as_rectangles(sliding: Sliding) -> Any:
    """Window, stride, dilation and zeros as (height, width)."""
    high = len(sliding.window) == 1
    zeros = tuple(before for before, _ in sliding.padding)
    return tuple(
        (first, *each) if high else each
        for first, each in ((1, sliding.window), (1, sliding.stride), (1, sliding.dilation), (0, zeros))
    )


def _window(sliding: Sliding) -> conv_op.Window:
    _, stride, dilation, _ = _as_rectangles(sliding)
    (top, bottom), (left, right) = sliding.padding if len(sliding.padding) == 2 else ((0, 0), *sliding.padding)
    return conv_op.Window(stride, dilation, (left, right, top, bottom))


@final
@dataclass(frozen=True)
class Conv2d(Whole):
    """The op `typednn.kernels.conv2d`: x (batch, height, width, in), weight (out, *window, in/groups), bias (out) or
    none.
    """

    window: conv_op.Window

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        x, weight, *_ = inputs
        size, kernel = (x.shape[1], x.shape[2]), (weight.shape[1], weight.shape[2])
        return (x.shape[0], *self.window.convolved(size, kernel), weight.shape[0]), x.dtype

    def run(self, *arrays: Any) -> Any:
        x, weight, *bias = arrays
        return conv_op.forward(x, weight, bias[0] if bias else None, self.window)[0]

    def derive(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> Sequence[Any]:
        x, weight, *bias = arrays
        return conv_op.backward(
            next_grad, x, weight, self.window, wants_input=wanted[0], wants_bias=bool(bias) and wanted[2]
        )


@final
@dataclass(frozen=True)
class ConvTranspose2d(Whole):
    """The op `typednn.kernels.conv_transpose2d`: x (batch, height, width, in), weight (in, *window, out/groups), bias
    (out) or none.
    """

    window: conv_op.Window
    image: Shape  # height, width and channels of y

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return (inputs[0].shape[0], *self.image), inputs[0].dtype

    def run(self, *arrays: Any) -> Any:
        x, weight, *bias = arrays
        return transpose_op.forward(x, weight, bias[0] if bias else None, self.window, (x.shape[0], *self.image))

    def derive(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> Sequence[Any]:
        x, weight, *_ = arrays
        return transpose_op.backward(next_grad, x, weight, self.window)


@final
@dataclass(frozen=True)
class MaxPool2d(Whole):
    """The op `typednn.kernels.max_pool2d`, which keeps each window's winner. Of equal numbers the first wins."""

    window: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]
    keeps = True

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        (x,) = inputs
        zeros = tuple((each, each) for each in self.padding)
        counts = Sliding(self.window, self.stride, self.dilation, zeros).counts(x.shape[1:-1])
        return (x.shape[0], *counts, x.shape[-1]), x.dtype

    def run(self, *arrays: Any) -> Any:
        return max_pool_op.forward(arrays[0], self.window, self.stride, self.dilation, self.padding)

    def derive(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> Sequence[Any]:
        x, (_, winners) = arrays
        return (
            max_pool_op.backward(next_grad, winners, x.shape, self.window, self.stride, self.dilation, self.padding),
        )


@final
@dataclass(frozen=True)
class AvgPool2d(Whole):
    """The op `typednn.kernels.avg_pool2d`."""

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    count_include_pad: bool

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        (x,) = inputs
        zeros = tuple((each, each) for each in self.padding)
        counts = Sliding(self.window, self.stride, (1, 1), zeros).counts(x.shape[1:-1])
        return (x.shape[0], *counts, x.shape[-1]), x.dtype

    def run(self, *arrays: Any) -> Any:
        return avg_pool_op.forward(arrays[0], self.window, self.stride, self.padding, self.count_include_pad)

    def derive(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> Sequence[Any]:
        window = self.window, self.stride, self.padding, self.count_include_pad
        return (avg_pool_op.backward(next_grad, arrays[0].shape, *window),)
