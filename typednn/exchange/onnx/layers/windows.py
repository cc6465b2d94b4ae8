"""Layers of windows that slide over images, and of other sizes of images, in ONNX."""

# Rows are functions of what they write and read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from typednn import layers
from typednn.arrays import is_floating
from typednn.exchange.onnx.layers.row import Row
from typednn.exchange.onnx.network_operators import sliding
from typednn.exchange.onnx.values import Value, Values
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import Traced

# ONNX's attributes of a window, and the layers' names of the same settings.
_SETTINGS: Final[Mapping[str, str]] = {
    "kernel_shape": "kernel_size", "strides": "stride", "dilations": "dilation", "output_padding": "output_padding",
}  # fmt: skip


def _listed(layer: Any, *attributes: str) -> dict[str, list[int]]:
    """Attributes of a window, with the padding before all axes and after them."""
    sizes = {name: np.atleast_1d(getattr(layer, _SETTINGS[name])).tolist() for name in attributes}
    before, after = layer.padding, layer.padding
    if isinstance(layer, layers.Conv2d):
        left, right, top, bottom = layer.padding
        before, after = (top, left), (bottom, right)
    elif isinstance(layer, layers.Conv1d):
        before, after = layer.padding[:1], layer.padding[1:]
    return {**sizes, "pads": [*before, *after]}


def _short(sizes: Sequence[int]) -> Any:
    """One number where all are equal."""
    return sizes[0] if len(set(sizes)) == 1 else tuple(sizes)


def _even(file: Values, pads: Sequence[tuple[int, int]]) -> Any:
    """The padding of each axis, where both sides have the same."""
    file.require(all(before == after for before, after in pads))
    return _short([before for before, _ in pads])


# ------------------------------------------------------------------ products


def _convolution(operator: str, *attributes: str) -> Row:
    def write(file: Writer, layer: Any, x: Traced) -> Out:
        biases = file.constants_of(layer.bias)
        weight = file.constant(layer.weight, lambda array: np.moveaxis(array, -1, 1), "channels first")
        given = _listed(layer, "strides", "dilations", *attributes)
        return Out(file.node(operator, file.read(x, True), weight, *biases, group=layer.groups, **given), True)

    return Row(write, {operator: _read_conv}, window=True)


# By operator, and the axes of its weight.
_CONVOLUTIONS: Final[Mapping[tuple[str, int], Any]] = {
    ("Conv", 3): layers.Conv1d, ("Conv", 4): layers.Conv2d, ("ConvTranspose", 4): layers.ConvTranspose2d,
}  # fmt: skip


def _read_conv(file: Values, name: str, weight: str, bias: str | None = None) -> Value:
    x, array, groups = file.image(name), file.constant(weight), file.option("group", 1)
    operator, _ = file.call.operation.kind, file.option("kernel_shape")
    make = _CONVOLUTIONS[operator, array.ndim]
    strides, dilations, pads = sliding(file.call, x.shape[:-1], array.shape[2:])
    channels, more = (array.shape[1] * groups, array.shape[0]), {}
    if operator == "ConvTranspose":
        file.require(not str(file.option("auto_pad")).startswith("SAME"))
        channels, more = channels[::-1], {"output_padding": _short(file.option("output_padding", [0, 0]))}
    elif array.ndim == 4 and any(before != after for before, after in pads):
        (top, bottom), (left, right) = pads
        x, pads = file.layer(x, layers.Pad2d((left, right, top, bottom))), [(0, 0), (0, 0)]
    window = {"kernel_size": _short(array.shape[2:]), "stride": _short(strides), "dilation": _short(dilations)}
    window |= {"padding": _even(file, pads), "groups": groups, **more}
    return file.affine(
        x, lambda biased: make(*channels, bias=biased, **window), weight, np.moveaxis(array, 1, -1), file.maybe(bias)
    )


# ------------------------------------------------------------------ pools


def _pool(make: Any, operator: str, *attributes: str) -> Row:
    counts = operator == "AveragePool"  # the zeros around, or not

    def write(file: Writer, layer: Any, x: Traced) -> Out:
        given: dict[str, Any] = _listed(layer, "kernel_shape", "strides", *attributes)
        if counts:
            given["count_include_pad"] = int(layer.count_include_pad)
        return Out(file.node(operator, file.read(x, True), **given), True)

    def read(file: Values, name: str) -> Value:
        x, window = file.image(name), file.option("kernel_shape")
        strides, dilations, pads = sliding(file.call, x.shape[:-1], window)
        file.require(x.rank == 4 and (not counts or set(dilations) == {1}))
        more = (
            {"count_include_pad": bool(file.option("count_include_pad", 0))}
            if counts
            else {"dilation": _short(dilations)}
        )
        return file.layer(x, make(_short(window), _short(strides), _even(file, pads), **more))

    return Row(write, {operator: read})


def _write_global(file: Writer, layer: Any, x: Traced) -> Out:
    name, first = file.at_hand(x)
    return Out(file.node("ReduceMean", name, axes=[2, 3] if first else [1, 2], keepdims=0))


def _read_mean(file: Values, name: str, given: str | None = None) -> Value:
    x, axes, _ = file.value(name), file.integers(given, "axes"), file.option("noop_with_empty_axes")
    file.require(x.rank == 4 and sorted(x.order[axis % 4] for axis in axes) == [1, 2])
    return file.layer(x, layers.AdaptiveAvgPool2d(1) if file.option("keepdims", 1) else layers.GlobalAvgPool2d())


def _write_adaptive(file: Writer, layer: Any, x: Traced) -> Out:
    """Means of windows that may overlap are products with two matrices."""
    rows, columns = (
        _means(size, windows, x.dtype) for size, windows in zip(x.shape[1:3], layer.output_size, strict=True)
    )
    down = file.node("MatMul", file.constant(rows), file.read(x, True))
    return Out(file.node("MatMul", down, file.constant(columns.T)), True)


def _means(size: int, windows: int, dtype: Any) -> Any:
    """What makes the means of windows of ``size`` numbers: a row for each."""
    matrix = np.zeros((windows, size), dtype)
    for window in range(windows):
        start, stop = window * size // windows, -(-(window + 1) * size // windows)
        matrix[window, start:stop] = 1 / (stop - start)
    return matrix


def _read_global(file: Values, name: str) -> Value:
    x = file.image(name)
    file.require(x.rank == 4)
    return file.layer(x, layers.AdaptiveAvgPool2d(1))


# ------------------------------------------------------------------ other sizes


def _write_upsample(file: Writer, layer: Any, x: Traced) -> Out:
    scales = file.constant(np.array([1, 1, *layer.scale_factor], np.float32))
    modes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if layer.mode == "bilinear":
        where = "align_corners" if layer.align_corners else "half_pixel"
        modes = {"mode": "linear", "coordinate_transformation_mode": where}
    return Out(file.node("Resize", file.read(x, True), "", scales, **modes), True)


def _read_resize(file: Values, name: str, *given: str | None) -> Value:
    x = file.image(name)
    old = file.context.opset < 11 or file.call.operation.kind == "Upsample"
    mode, scales = file.option("mode", "nearest"), file.option("scales")
    at = file.option("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    rounding = file.option("nearest_mode", "floor" if old else "round_prefer_floor")
    file.call.read |= {"cubic_coeff_a", "extrapolation_value"}
    factors = np.array(scales) if scales else file.constant(given[0 if old else 1])
    bilinear = mode == "linear" and at in ("half_pixel", "pytorch_half_pixel", "align_corners")
    file.require(x.rank == 4 and is_floating(factors.dtype) and factors.shape == (4,) and len(given) <= 2)
    file.require(bool((factors[:2] == 1).all() and (factors % 1 == 0).all()))
    file.require(bilinear or (mode, at, rounding) == ("nearest", "asymmetric", "floor"))
    sizes = _short([int(factor) for factor in factors[2:]])
    return file.layer(x, layers.Upsample(sizes, "bilinear" if bilinear else "nearest", at == "align_corners"))


def _write_pad(file: Writer, layer: Any, x: Traced) -> Out:
    left, right, top, bottom = layer.padding
    widths = file.integers(0, 0, top, left, 0, 0, bottom, right)
    value, mode = ([], "edge") if layer.mode == "replicate" else ([file.number(layer.value, x)], "constant")
    return Out(file.node("Pad", file.read(x, True), widths, *value, mode=mode), True)


def _read_pad(
    file: Values, name: str, pads: str | None = None, value: str | None = None, axes: str | None = None
) -> Value:
    x, widths, mode = file.value(name), file.integers(pads, "pads"), file.option("mode", "constant")
    number = file.option("value", 0.0) if value is None else float(file.constant(value).reshape(-1)[0])
    chosen = [x.order[axis % x.rank] for axis in (range(x.rank) if axes is None else file.integers(axes, "axes"))]
    before, after = (dict(zip(chosen, side.tolist(), strict=True)) for side in np.split(np.array(widths), 2))
    file.require(x.rank == 4 and mode in ("constant", "edge"))
    file.require(not any(side.get(axis) for side in (before, after) for axis in (0, 3)))
    left, right, top, bottom = (side.get(axis, 0) for axis in (2, 1) for side in (before, after))
    around = (left, right, top, bottom)
    return file.layer(x, layers.Pad2d(around, "replicate") if mode == "edge" else layers.Pad2d(around, value=number))


ROWS: Final[Mapping[type, Row]] = {
    layers.AdaptiveAvgPool2d: Row(_write_adaptive, {"GlobalAveragePool": _read_global}),
    layers.AvgPool2d: _pool(layers.AvgPool2d, "AveragePool"),
    layers.Conv1d: _convolution("Conv"),
    layers.Conv2d: _convolution("Conv"),
    layers.ConvTranspose2d: _convolution("ConvTranspose", "output_padding"),
    layers.GlobalAvgPool2d: Row(_write_global, {"ReduceMean": _read_mean}),
    layers.MaxPool2d: _pool(layers.MaxPool2d, "MaxPool", "dilations"),
    layers.Pad2d: Row(_write_pad, {"Pad": _read_pad}),
    layers.Upsample: Row(_write_upsample, {"Resize": _read_resize, "Upsample": _read_resize}),
}
