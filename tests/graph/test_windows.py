"""Windows, convolutions and pools, against NumPy's windows and against sums written out; gradients by central
differences.
"""

import itertools
import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph.kinds import Kind
from typednn.graph.nodes import tensor
from typednn.graph.whole import decomposed
from typednn.graph.windows import (
    avg_pool,
    col2im,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    im2col,
    max_pool,
)

pytestmark = pytest.mark.usefixtures("on_the_reference")
both = pytest.mark.parametrize("mode", [nullcontext, decomposed], ids=["whole", "decomposed"])


@st.composite
def sliding(draw: st.DrawFn, axes: int, dilated: bool = True) -> dict[str, Any]:
    """Options of windows, and an x that one fits into at least: sizes of 1, strides that leave a rest, zeros on one
    side.
    """

    def several(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(axes))

    window, stride, dilation = several(1, 3), several(1, 4), several(1, 3) if dilated else (1,) * axes
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(axes))
    extents = [step * (size - 1) + 1 for size, step in zip(window, dilation, strict=True)]
    sizes = [
        max(1, extent - sum(zeros)) + draw(st.integers(0, 4)) for extent, zeros in zip(extents, padding, strict=True)
    ]
    x = np.random.default_rng(draw(st.integers(0, 99))).normal(
        size=(draw(st.integers(1, 2)), *sizes, draw(st.integers(1, 3)))
    )
    return {"x": x, "window": window, "stride": stride, "padding": padding, "dilation": dilation}


def windows_of(x: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """(batch, *counts, *window, channels), by NumPy."""
    axes = len(window)
    x = np.pad(x, ((0, 0), *padding, (0, 0)))
    extents = [step * (size - 1) + 1 for size, step in zip(window, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, extents, tuple(range(1, 1 + axes)))
    view = np.moveaxis(view, 1 + axes, -1)  # channels last
    cut = (slice(None), *(slice(None, None, step) for step in stride), *(slice(None, None, step) for step in dilation))
    return view[cut]


@pytest.mark.parametrize("axes", [1, 2, 3])
@given(data=st.data())
def test_windows_are_numpys(axes: int, data: st.DataObject) -> None:
    """Z-T5: im2col of any window, stride, dilation and padding."""
    options = data.draw(sliding(axes))
    x = options.pop("x")
    np.testing.assert_array_equal(values(lambda x: im2col(x, **options), x), windows_of(x, **options))


@pytest.mark.parametrize("axes", [1, 2])
@given(data=st.data())
def test_col2im_is_the_transpose(axes: int, data: st.DataObject) -> None:
    """Z-T5: <im2col x, y> = <x, col2im y>, and col2im adds each number where it came from."""
    options = data.draw(sliding(axes))
    x = options.pop("x")
    columns = windows_of(x, **options)
    y = np.random.default_rng(1).normal(size=columns.shape)
    del options["window"]
    back = values(lambda y: col2im(y, x.shape[1:-1], **options), y)
    np.testing.assert_allclose(np.sum(columns * y), np.sum(x * back), rtol=1e-12, atol=1e-12)
    options["window"] = columns.shape[1 + axes : -1]
    places = windows_of(np.arange(1, x.size + 1).reshape(x.shape), **options)
    expected = np.bincount(places.ravel(), y.ravel(), x.size + 1)[1:].reshape(x.shape)  # place 0 is the padding
    np.testing.assert_allclose(back, expected, rtol=1e-12, atol=1e-12)


@given(data=st.data())
def test_windows_have_derivatives(data: st.DataObject) -> None:
    options = data.draw(sliding(2))
    x = options.pop("x")
    check_gradients(lambda x: im2col(x, **options), x)


def convolved(x: Any, weight: Any, bias: Any, groups: int, **options: Any) -> Any:
    """By the formula of Conv2d, for any number of axes."""
    axes = x.ndim - 2
    columns = windows_of(x, window=weight.shape[1:-1], **options)
    each, out = x.shape[-1] // groups, weight.shape[0] // groups
    summed = range(1 + axes, 2 + 2 * axes), range(1, 2 + axes)
    parts = [
        np.tensordot(columns[..., g * each : (g + 1) * each], weight[g * out : (g + 1) * out], summed)
        for g in range(groups)
    ]
    y = np.concatenate(parts, axis=-1)
    return y + (0 if bias is None else bias)


def draw_conv(data: st.DataObject, axes: int) -> tuple[list[Any], dict[str, Any]]:
    options = data.draw(sliding(axes))
    x, window = options.pop("x"), options.pop("window")
    rng, groups = np.random.default_rng(2), data.draw(st.integers(1, 2))
    x = np.concatenate([x] * groups, axis=-1) * rng.normal(size=x.shape[-1] * groups)
    out = groups * data.draw(st.integers(1, 2))
    arrays = [x, rng.normal(size=(out, *window, x.shape[-1] // groups))]
    if data.draw(st.booleans()):
        arrays.append(rng.normal(size=out))
    return arrays, options | {"groups": groups}


@both
@pytest.mark.parametrize(("axes", "conv"), [(1, conv1d), (2, conv2d)])
@given(data=st.data())
def test_convolutions(axes: int, conv: Any, mode: Any, data: st.DataObject) -> None:
    """Z-F1: one and two axes, with and without bias, against the sum over windows; derivatives by x,
    weight and bias.
    """
    arrays, options = draw_conv(data, axes)
    with mode():
        found = values(lambda *tensors: conv(*tensors, **options), *arrays)
        np.testing.assert_allclose(
            found, convolved(*arrays, *[None] * (3 - len(arrays)), **options), rtol=1e-10, atol=1e-10
        )
        check_gradients(lambda *tensors: conv(*tensors, **options), *arrays)


def spread(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, output_padding: Any, groups: int
) -> Any:
    """By the formula of ConvTranspose2d: each pixel adds a window to a larger image."""
    axes, window = x.ndim - 2, weight.shape[1:-1]
    out, reads = weight.shape[-1], x.shape[-1] // groups
    full = [
        (size - 1) * step + hole * (taps - 1) + 1 + more
        for size, step, hole, taps, more in zip(x.shape[1:-1], stride, dilation, window, output_padding, strict=True)
    ]
    y = np.zeros((x.shape[0], *full, out * groups))
    for place in np.ndindex(*x.shape[1:-1], *window):
        at = [
            i * step + k * hole for i, step, k, hole in zip(place[:axes], stride, place[axes:], dilation, strict=True)
        ]
        for channel in range(x.shape[-1]):
            g = channel // reads
            y[(slice(None), *at, slice(g * out, (g + 1) * out))] += np.outer(
                x[(slice(None), *place[:axes], channel)], weight[(channel, *place[axes:])]
            )
    cut = [slice(before, size - after) for (before, after), size in zip(padding, full, strict=True)]
    return y[(slice(None), *cut)] + (0 if bias is None else bias)


@both
@pytest.mark.parametrize(("axes", "conv"), [(1, conv_transpose1d), (2, conv_transpose2d)])
@given(data=st.data())
def test_transposed_convolutions(axes: int, conv: Any, mode: Any, data: st.DataObject) -> None:
    """Z-F1: deconvolutions, with and without bias, by adding windows; derivatives by x, weight and bias."""
    draw = data.draw
    groups, rng = draw(st.integers(1, 2)), np.random.default_rng(3)
    window, stride, dilation = (tuple(draw(st.integers(1, 3)) for _ in range(axes)) for _ in range(3))
    padding = tuple((draw(st.integers(0, each - 1)), draw(st.integers(0, each // 2))) for each in window)
    more = tuple(draw(st.integers(0, max(steps) - 1)) for steps in zip(stride, dilation, strict=True))
    sizes = [
        draw(st.integers(1, 3)) + (sum(zeros) >= hole * (taps - 1) + 1 + extra)
        for zeros, hole, taps, extra in zip(padding, dilation, window, more, strict=True)
    ]
    channels, out = groups * draw(st.integers(1, 2)), draw(st.integers(1, 2))
    arrays = [rng.normal(size=(2, *sizes, channels)), rng.normal(size=(channels, *window, out))]
    if draw(st.booleans()):
        arrays.append(rng.normal(size=out * groups))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": more, "groups": groups}
    with mode():
        found = values(lambda *tensors: conv(*tensors, **options), *arrays)
        np.testing.assert_allclose(
            found, spread(*arrays, *[None] * (3 - len(arrays)), **options), rtol=1e-10, atol=1e-10
        )
        check_gradients(lambda *tensors: conv(*tensors, **options), *arrays)


def draw_pool(data: st.DataObject, axes: int, dilated: bool) -> tuple[Any, dict[str, Any]]:
    """Zeros on both sides as a rule, at most half a window; an x as large as a window at least, so that none lies in
    the border alone.
    """
    options = data.draw(sliding(axes, dilated))
    x = options.pop("x")
    extents = [step * (size - 1) + 1 for size, step in zip(options["window"], options["dilation"], strict=True)]
    x = np.random.default_rng(4).normal(
        size=(x.shape[0], *(max(a, b) for a, b in zip(x.shape[1:-1], extents, strict=True)), x.shape[-1])
    )
    zeros = [
        tuple(min(each, extent // 2) for each in pair) for pair, extent in zip(options["padding"], extents, strict=True)
    ]
    options["padding"] = tuple((before, before) for before, _ in zeros) if data.draw(st.booleans()) else tuple(zeros)
    return x, options


@both
@pytest.mark.parametrize("axes", [1, 2])
@given(data=st.data())
def test_max_pools(axes: int, mode: Any, data: st.DataObject) -> None:
    """Z-F1, Z-T5: the largest of each window, the padding never among them; the derivative goes to it."""
    x, options = draw_pool(data, axes, True)
    with_inf = options | {"padding": ((0, 0),) * axes}
    expected = windows_of(np.pad(x, ((0, 0), *options["padding"], (0, 0)), constant_values=-math.inf), **with_inf)
    with mode():
        found = values(lambda x: max_pool(x, **options), x)
        np.testing.assert_array_equal(found, expected.max(axis=tuple(range(1 + axes, 1 + 2 * axes))))
        check_gradients(lambda x: max_pool(x, **options), x)


@both
@pytest.mark.parametrize("axes", [1, 2])
@given(data=st.data(), count_include_pad=st.booleans())
def test_avg_pools(axes: int, mode: Any, data: st.DataObject, count_include_pad: bool) -> None:
    """Z-F1, Z-T5: the mean of each window, with and without the padding."""
    x, options = draw_pool(data, axes, False)
    places = tuple(range(1 + axes, 1 + 2 * axes))
    counted = windows_of(np.ones_like(x), **options).sum(axis=places)
    total = windows_of(x, **options).sum(axis=places)
    del options["dilation"]
    with mode():
        found = values(lambda x: avg_pool(x, **options, count_include_pad=count_include_pad), x)
        np.testing.assert_allclose(
            found, total / (math.prod(options["window"]) if count_include_pad else counted), rtol=1e-12, atol=1e-12
        )
        check_gradients(lambda x: avg_pool(x, **options, count_include_pad=count_include_pad), x)


def test_pools_step_by_their_window_unless_told() -> None:
    x = np.arange(12.0).reshape(1, 6, 2)
    np.testing.assert_array_equal(values(lambda x: max_pool(x, 2), x)[0, :, 0], [2, 6, 10])
    np.testing.assert_array_equal(values(lambda x: avg_pool(x, 3), x)[0, :, 1], [3, 9])


def test_made_of_the_twelve_kinds_alone() -> None:
    """X-D7: convolution and pooling hold no custom node where they are decomposed, and one where they are whole."""
    x, weight = tensor(np.ones((1, 5, 5, 2))), tensor(np.ones((3, 2, 2, 2)))
    made = [
        lambda: conv2d(x, weight, stride=2, padding=1),
        lambda: conv_transpose2d(x, tensor(np.ones((2, 2, 2, 3)))),
        lambda: max_pool(x, 2, padding=1),
        lambda: avg_pool(x, 2),
        lambda: conv1d(x[0], weight[:, 0]),
    ]
    for make in made:
        assert Kind.CUSTOM in kinds_of(make())
        with decomposed():
            assert Kind.CUSTOM not in kinds_of(make())


def test_windows_are_few_nodes() -> None:
    x = tensor(np.ones((1, 8, 8, 3)))
    assert len(kinds_of(im2col(x, 2, 2))) <= 3  # windows side by side: two reshapes, one permutation
    assert len(kinds_of(im2col(x, 3))) <= 13


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, w: conv2d(x, w, padding=-1), ArgumentError, "padding"),
        (lambda x, w: conv2d(x, w, stride=(1, 1, 1)), ArgumentError, "stride"),
        (lambda x, w: conv2d(x, w, dilation=9), ShapeError, "windows fit into x"),
        (lambda x, w: conv2d(x[0], w), ShapeError, "weight"),
        (lambda x, w: conv2d(x, w, groups=2), ShapeError, "groups"),
        (lambda x, w: conv2d(x, w, tensor(np.ones(2))), ShapeError, "bias"),
        (lambda x, w: conv_transpose2d(x, w), ShapeError, "in, \\*window"),
        (
            lambda x, w: conv_transpose2d(x, tensor(np.ones((2, 2, 2, 3))), output_padding=1),
            ShapeError,
            "output_padding",
        ),
        (lambda x, w: max_pool(x, 0), ArgumentError, "window"),
        (lambda x, w: max_pool(x, 2, padding=2), ArgumentError, "padding"),
        (lambda x, w: avg_pool(x.cast(np.int64), 2), DTypeError, "floats"),
        (lambda x, w: im2col(x, 9), ShapeError, "windows fit into x"),
        (lambda x, w: col2im(x, (3, 3)), ShapeError, "columns are"),
        (lambda x, w: conv2d(x, w.cast(np.float32)), DTypeError, "one dtype"),
    ],
)
@both
def test_refusals(call: Any, error: Any, text: str, mode: Any) -> None:
    x, weight = tensor(np.ones((1, 5, 5, 2))), tensor(np.ones((3, 2, 2, 2)))
    with mode(), pytest.raises(error, match=text):
        call(x, weight)


def test_a_compiled_kernel_computes_them() -> None:
    """X-A10: in float32 the op's own kernels run, forward and backward, and agree with the twelve kinds."""
    from typednn.engines import counting, using
    from typednn.graph.nodes import realize
    from typednn.graph.tape import Tape

    rng = np.random.default_rng(0)
    x, weight = (tensor(rng.normal(size=shape).astype(np.float32)) for shape in ((4, 12, 12, 8), (16, 3, 3, 8)))
    results = []
    for mode in (nullcontext, decomposed):
        with using("fast"), counting() as counts, mode(), Tape() as tape:
            y = conv2d(x, weight, padding=1)
            gradients = tape.gradient((y * y).sum(), [x, weight], zeros=True)
            realize(y, *gradients)
        results.append([each.numpy() for each in (y, *gradients)])
        ran = {op: engine for op, engine in counts if engine != "reference"}
        assert ({"conv2d.forward", "conv2d.backward"} <= ran.keys()) == (mode is nullcontext)
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole, parts, rtol=1e-4, atol=1e-3)


def test_all_options_at_once() -> None:
    """A grid of small cases, each against the formula: windows that overlap, touch, and leave gaps."""
    rng = np.random.default_rng(5)
    for window, stride, dilation in itertools.product((1, 2, 3), (1, 2, 5), (1, 2)):
        x, weight = rng.normal(size=(1, 7, 1)), rng.normal(size=(1, window, 1))
        options = {"stride": (stride,), "padding": ((1, 0),), "dilation": (dilation,), "groups": 1}
        with decomposed():
            found = values(lambda x, w, options=options: conv1d(x, w, **options), x, weight)
        np.testing.assert_allclose(found, convolved(x, weight, None, **options), rtol=1e-12, atol=1e-12)
