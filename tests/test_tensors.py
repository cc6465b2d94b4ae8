"""The paper's tensor is NumPy's array: what section III asks of one, shown on the arrays that typednn works with."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import ArgumentError, CheckError, ShapeError
from typednn.kernels import conv2d, pad2d
from typednn.layers import Conv2d, Flatten, Linear, ReLU
from typednn.random import PCG32

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@given(shapes)
def test_rank_and_element_access(shape: tuple[int, ...]) -> None:
    """P-T1: n positive sizes, an element by n indices; the rank is part of a layer's type."""
    tensor = numbered(shape)
    assert tensor.ndim == len(shape)
    assert tensor[tuple(size - 1 for size in shape)] == tensor.size - 1
    linear = Linear(3, 2, rng=np.random.default_rng(0))
    if len(shape) != 2 or shape[1] != 3:
        with pytest.raises(ShapeError):
            linear.forward(tensor)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="is empty"):
        ReLU().forward(np.zeros((2, 0), np.float32))


@given(shapes)
def test_row_major_strides(shape: tuple[int, ...]) -> None:
    """P-T2, eqs 3 and 4: the last axis is fastest; flat = offset + Σ stride·index."""
    tensor = numbered(shape)
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    assert [stride // tensor.itemsize for stride in np.ascontiguousarray(tensor).strides if stride] == [
        stride for size, stride in zip(shape, strides, strict=True) if stride
    ]
    for index in np.ndindex(shape):
        assert tensor[index] == sum(stride * place for stride, place in zip(strides, index, strict=True))
    assert [stride // 4 for stride in np.zeros((1, 2, 3), np.float32).strides] == [6, 3, 1]


def test_views_share_memory() -> None:
    """P-T3, P-T9: subtensor, squeeze, row, column and diagonal copy metadata only; a range out of bounds is an error or empty."""
    base = numbered((200, 300))
    tracemalloc.start()
    views = [base[:], base[2:5, 1:], base[3], base[:, 3], base[..., None].squeeze(-1), base.T, base[::2], np.diagonal(base)]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(np.shares_memory(view, base) for view in views)
    assert used < base.nbytes / 10
    assert views[1].strides == base.strides
    with pytest.raises(IndexError):
        base[200]
    with pytest.raises(ShapeError, match="is empty"):
        ReLU().forward(base[200:])
    for view in (base[2:5], base[:3], base[4:], base[:], base[2:-1]):
        assert ReLU().forward(view).shape == view.shape


def test_kept_inputs_are_views_and_never_written() -> None:
    """P-T4: sharing is safe because nobody writes; a read-only base is enough for a whole step."""
    base = numbered((6, 3))
    base.flags.writeable = False
    linear = Linear(3, 2, rng=np.random.default_rng(0))
    y = linear.forward(base[1:4])
    gradient = linear.backward(y)
    assert gradient.input.shape == (3, 3)


def test_linear_algebra() -> None:
    """P-T5, eqs 5 to 10 with the repairs of eqs 5 and 9: product, sum, scale, transpose, reverse, correlate, convolve."""
    a, b = numbered((2, 3)), numbered((3, 4))
    product = np.array([[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)])
    np.testing.assert_array_equal(a @ b, product)
    np.testing.assert_array_equal(a + a, 2 * a)
    np.testing.assert_array_equal(np.transpose(numbered((2, 3, 4)), (2, 0, 1))[1, 0, 2], numbered((2, 3, 4))[0, 2, 1])
    reversed_rows = np.flip(a, axis=0)
    assert all(reversed_rows[i, j] == a[2 - i - 1, j] for i in range(2) for j in range(3))
    image, kernel = numbered((5, 4)), numbered((2, 3))
    by_hand = np.array(
        [[sum(image[2 * m + i, n + j] * kernel[i, j] for i in range(2) for j in range(3)) for n in range(2)] for m in range(2)]
    )
    np.testing.assert_array_equal(conv2d.cross_correlate2d(image, kernel, (2, 1)), by_hand)
    np.testing.assert_array_equal(
        conv2d.convolve2d(image, kernel, (1, 1)), conv2d.cross_correlate2d(image, np.flip(kernel, (0, 1)), (1, 1))
    )


def test_shapes_are_changed_without_copying() -> None:
    """P-T6: reshape, flatten, expand, squeeze, stack; flatten's last axis is included."""
    tensor = numbered((2, 3, 3))
    assert tensor.reshape(6, 3).shape == (6, 3)
    assert tensor.reshape(2, 9).shape == (2, 9)
    assert tensor.reshape(-1).shape == (18,)
    assert np.shares_memory(tensor.reshape(-1), tensor)
    assert np.expand_dims(tensor, 1).shape == (2, 1, 3, 3)
    assert np.stack([tensor, tensor]).shape == (2, 2, 3, 3)
    image = numbered((2, 3, 4, 5))
    flat = Flatten()
    assert flat.forward(image).shape == (2, 60)
    np.testing.assert_array_equal(flat.backward(flat.forward(image)).input, image)


def test_operations_of_the_implementation() -> None:
    """P-T7: each operation of ml-rs's tensor is one of NumPy's; of equal maxima the first wins."""
    a, b = numbered((2, 3)) + 1, numbered((2, 3)) + 2
    np.testing.assert_array_equal(a - b, -np.ones((2, 3)))
    np.testing.assert_array_equal((a * b)[0], [2, 6, 12])
    np.testing.assert_array_equal((b / a)[0], np.float32([2, 1.5, 4 / 3]))
    np.testing.assert_array_equal(a * 2 + 1 - 1, 2 * a)
    np.testing.assert_array_equal(1 - a, -(a - 1))
    np.testing.assert_allclose(6 / a, 6 * a**-1.0, rtol=1e-6)
    np.testing.assert_array_equal(a**2, a * a)
    assert (a.sum(), a.mean()) == (21, 3.5)
    np.testing.assert_array_equal(a.sum(axis=0), [5, 7, 9])  # length: columns
    np.testing.assert_array_equal(a.sum(axis=1), [6, 15])  # length: rows
    np.testing.assert_array_equal(a + np.array([1, 2, 3]), a + np.array([[1, 2, 3], [1, 2, 3]]))
    np.testing.assert_array_equal(a * np.array([[2], [3]]), [[2, 4, 6], [12, 15, 18]])
    assert np.dot(a[0], b[0]) == 20
    np.testing.assert_array_equal(np.diag(np.diag(numbered((3, 3)))), np.eye(3) * [0, 4, 8])
    np.testing.assert_array_equal(a.T[2], [3, 6])
    assert numbered((2, 2)).std() == pytest.approx(1.118034)  # over n, in double where it matters
    ties = np.array([[1.0, 3.0, 3.0]])
    assert (ties.max(axis=1)[0], ties.argmax(axis=1)[0]) == (3.0, 1)
    np.testing.assert_array_equal(numbered((2, 3, 4)) @ np.ones((4, 1), np.float32), numbered((2, 3, 4)).sum(-1, keepdims=True))
    assert np.full((2, 2), 7).sum() == 28
    assert np.identity(3).trace() == 3
    np.testing.assert_array_equal(a[PCG32(42, 6).permutation(2)].sum(), a.sum())
    order: list[float] = []
    np.vectorize(lambda value: order.append(float(value)) or value, otypes=[float])(a)
    assert order == sorted(order)


def test_padding_sizes() -> None:
    """P-T12: ``same`` keeps the extra row at the bottom, ``full`` is the kernel's size less one."""
    assert pad2d.same_padding(5, 3, 1) == (1, 1)
    assert pad2d.same_padding(4, 2, 1) == (0, 1)
    assert pad2d.full_padding(3) == (2, 2)
    conv = Conv2d(1, 1, 3, rng=np.random.default_rng(0))
    top, bottom = pad2d.same_padding(5, 3, 1)
    padded = pad2d.forward(numbered((1, 5, 5, 1)), (top, bottom, top, bottom), "constant", 0.0)
    assert conv.forward(padded).shape == (1, 5, 5, 1)


def test_dilation_spreads_pixels() -> None:
    """P-T13, eq 26: d-1 zeros between neighbours, d(h-1)+1 rows."""
    spread = conv2d.dilate2d(numbered((1, 3, 3, 1)) + 1, (3, 3))
    assert spread.shape == (1, 7, 7, 1)
    np.testing.assert_array_equal(spread[0, ::3, ::3, 0], numbered((3, 3)) + 1)
    assert spread.sum() == 45


def test_images_and_kernels_are_channels_last() -> None:
    """P-T14: images (batch, height, width, channels), kernels (out, height, width, in)."""
    conv = Conv2d(3, 5, (2, 4))
    assert conv.parameter_shapes() == {"weight": (5, 2, 4, 3)}
    with pytest.raises(CheckError, match="axis 3 is 7, not 3"):
        conv.init(np.random.default_rng(0)).forward(numbered((1, 3, 8, 7)))


def test_bad_shapes_are_told() -> None:
    with pytest.raises(ArgumentError):
        Linear(-1, 2)
