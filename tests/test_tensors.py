"""The paper's tensor is NumPy's array: what section III asks of one, shown on the arrays that typednn works with."""

import math
import statistics
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.convolution import convolve2d, cross_correlate2d, dilate2d, full_padding, same_padding
from typednn.arrays import flatten, subtensor
from typednn.errors import ArgumentError, CheckError, ShapeError
from typednn.kernels import pad2d
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
    """P-T3: subtensor, squeeze, row, column and diagonal copy metadata only."""
    base = numbered((200, 300))
    tracemalloc.start()
    views = [subtensor(base, slice(2, 5), slice(1, None)), base[3], base[:, 3], base[..., None].squeeze(-1), base.T, np.diagonal(base)]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(np.shares_memory(view, base) for view in views)
    assert used < base.nbytes / 10
    assert views[0].strides == base.strides
    for view in (base[2:5], base[:3], base[4:], base[:], base[2:-1]):
        assert ReLU().forward(view).shape == view.shape


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        (slice(1, 3), [2, 3]),  # a..b
        (slice(3, None), [4, 5]),  # a..
        (slice(None, 3), [1, 2, 3]),  # ..b
        (slice(None), [1, 2, 3, 4, 5]),  # ..
        (slice(1, 3 + 1), [2, 3, 4]),  # a..=b
        (slice(None, 3 + 1), [1, 2, 3, 4]),  # ..=b
        (2, [3]),  # a single index keeps the rank
        (-1, [5]),
        (slice(-3, -1), [3, 4]),
        (slice(-2, None), [4, 5]),
        (slice(0, 5, 1), [1, 2, 3, 4, 5]),
    ],
)
def test_views_through_ranges(wanted: int | slice, held: list[int]) -> None:
    """P-T9: each way to write a range, as the paper's own suite has them; of a matrix, range by range."""
    vector = np.arange(1, 6, dtype=np.float32)
    view = subtensor(vector, wanted)
    assert view.tolist() == held
    assert np.shares_memory(view, vector)
    matrix = np.stack([vector, 10 * vector])
    assert subtensor(matrix, 1, wanted).tolist() == [[10 * number for number in held]]
    assert subtensor(matrix.T, wanted, slice(1)).tolist() == [[number] for number in held]
    assert subtensor(matrix).tolist() == matrix.tolist()


@pytest.mark.parametrize(
    "wanted",
    [
        *(5, -6, 10**30, slice(5, 6), slice(3, 6), slice(5, None), slice(-6, None), slice(None, -5), slice(None, 6)),  # outside
        *(slice(2, 2), slice(3, 2), slice(None, 0), slice(-1, -2)),  # empty
        *(slice(None, None, 2), slice(None, None, -1), slice(0, 5, 0)),
    ],
)
def test_ranges_that_are_empty_or_outside(wanted: int | slice) -> None:
    """P-T9: refused with the axis and its size; NumPy itself would cut them off."""
    for x, ranges in ((np.zeros(5), (wanted,)), (np.zeros((2, 5)), (1, wanted)), (np.zeros((5, 2)).T, (slice(None), wanted))):
        with pytest.raises(
            ArgumentError, match=rf"^subtensor: the range of axis {len(ranges) - 1} holds something and lies within its 5, "
        ):
            subtensor(x, *ranges)
    with pytest.raises(ArgumentError, match="takes at most 1 ranges, one per axis, got 2"):
        subtensor(np.zeros(5), 0, 0)
    with pytest.raises(ShapeError, match="is empty"):
        ReLU().forward(numbered((200, 3))[200:])


@given(st.integers(1, 6), st.integers(-8, 8) | st.none(), st.integers(-8, 8) | st.none())
def test_a_range_is_pythons_where_it_lies_within(size: int, start: int | None, stop: int | None) -> None:
    """P-T9: Python's own list says what a range holds, and an index says whether its ends are there."""
    numbers = list(range(size))
    ends = all(bound is None or -size <= bound <= size for bound in (start, stop))
    if ends and numbers[start:stop]:
        assert subtensor(np.array(numbers, float), slice(start, stop)).tolist() == numbers[start:stop]
    else:
        with pytest.raises(ArgumentError):
            subtensor(np.array(numbers, float), slice(start, stop))


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
    np.testing.assert_array_equal(cross_correlate2d(image, kernel, (2, 1)), by_hand)
    np.testing.assert_array_equal(convolve2d(image, kernel, (1, 1)), cross_correlate2d(image, np.flip(kernel, (0, 1)), (1, 1)))


EIGHTEEN = numbered((18,)) + 1


@pytest.mark.parametrize(
    ("axes", "shape"),
    [((0, 1), (6, 3)), ((1, 2), (2, 9)), ((), (18,)), ((1,), (2, 9)), ((0, 0), (2, 3, 3)), ((-2, -1), (2, 9)), ((0, -2), (6, 3))],
)
def test_flatten_includes_its_last_axis(axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """P-T6: the three of the paper's own suite, and counted from the end."""
    x = EIGHTEEN.reshape(2, 3, 3)
    flat = flatten(x, *axes)
    assert flat.shape == shape
    assert flat.ravel().tolist() == list(range(1, 19))
    assert np.shares_memory(flat, x)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(-5, 5), st.integers(-5, 5))
def test_flatten_by_its_index(shape: list[int], start: int, stop: int) -> None:
    """P-T6: axes in order only; of a transposed array too each number stands at its index, last axis fastest."""
    rank = len(shape)
    x = numbered(tuple(reversed(shape))).T
    first, last = (axis + rank if axis < 0 else axis for axis in (start, stop))
    if not 0 <= first <= last < rank:
        with pytest.raises(ArgumentError, match=rf"flatten: takes axes in order, of an array of rank {rank}, got {start} to {stop}; "):
            flatten(x, start, stop)
        return
    flat = flatten(x, start, stop)
    for index in np.ndindex(*shape):
        place = 0
        for axis in range(first, last + 1):
            place = place * shape[axis] + index[axis]
        assert flat[(*index[:first], place, *index[last + 1 :])] == x[index]


def test_shapes_are_changed_without_copying() -> None:
    """P-T6: reshape, expand, squeeze, stack, pad, dilate, by index."""
    x = EIGHTEEN.reshape(2, 3, 3)
    for i, j, k in np.ndindex(2, 3, 3):
        number = 9 * i + 3 * j + k + 1
        assert x[i, j, k] == EIGHTEEN[number - 1] == number
        assert np.expand_dims(x, 1)[i, 0, j, k] == np.squeeze(x[:, :, None], axis=2)[i, j, k] == number
        assert np.stack([x, -x])[1, i, j, k] == -number
        padded = pad2d.forward(x[..., None], (1, 2, 3, 4), "constant", 7.0)
        assert padded.shape == (2, 10, 6, 1)
        assert padded[i, j + 3, k + 1, 0] == number
        assert dilate2d(x[..., None], (2, 3))[i, 2 * j, 3 * k, 0] == number
    assert (padded == 7).sum() == 2 * (60 - 9) + 1, "what is no pixel is the constant, as one pixel is"
    with pytest.raises(ValueError, match="size not equal to one"):
        np.squeeze(x, axis=1)
    image = numbered((2, 3, 4, 5))
    flat = Flatten()
    assert flat.forward(image).tolist() == flatten(image, 1).tolist()
    np.testing.assert_array_equal(flat.backward(flat.forward(image)).input, image)


# One operation of ml-rs's tensor a row: what serves it here, and what it is by the index. a and b are 3 by 4, v has a number per
# column, w one per row.
def _each(rule: Callable[[int, int], float]) -> list[list[float]]:
    return [[rule(i, j) for j in range(4)] for i in range(3)]


a, b = np.array(_each(lambda i, j: 1 + (8 * i + 3 * j) % 11)), np.array(_each(lambda i, j: 1 + (7 * i + j) % 11))
v, w = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, -1.0, 4.0])
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "add": (a + b, _each(lambda i, j: a[i, j] + b[i, j])),
    "sub": (a - b, _each(lambda i, j: a[i, j] - b[i, j])),
    "mul_elem": (a * b, _each(lambda i, j: a[i, j] * b[i, j])),
    "div_elem": (a / b, _each(lambda i, j: a[i, j] / b[i, j])),
    "scale": (a * 6.0, _each(lambda i, j: 6 * a[i, j])),
    "add_value": (a + 2.0, _each(lambda i, j: a[i, j] + 2)),
    "value_sub": (3.0 - a, _each(lambda i, j: 3 - a[i, j])),
    "value_div": (3.0 / a, _each(lambda i, j: 3 / a[i, j])),
    "powf": (a**0.5, _each(lambda i, j: math.sqrt(a[i, j]))),
    "powi": (a**3, _each(lambda i, j: a[i, j] * a[i, j] * a[i, j])),
    "the operator ^": (np.power(a, 2), _each(lambda i, j: a[i, j] * a[i, j])),
    "apply": (np.vectorize(lambda number: 20.0 - number)(a), _each(lambda i, j: 20 - a[i, j])),
    "sum": (a.sum(), sum(a[i, j] for i in range(3) for j in range(4))),
    "mean": (a.mean(), sum(a[i, j] for i in range(3) for j in range(4)) / 12),
    "std": (a.std(), statistics.pstdev(a.ravel().tolist())),
    "sum_dim": (a.sum(axis=1, keepdims=True), [[sum(a[i])] for i in range(3)]),
    "row_add": (a + v, _each(lambda i, j: a[i, j] + v[j])),
    "col_add": (a + w[:, None], _each(lambda i, j: a[i, j] + w[i])),
    "row_mul": (a * v, _each(lambda i, j: a[i, j] * v[j])),
    "col_mul": (a * w[:, None], _each(lambda i, j: a[i, j] * w[i])),
    "dot": (v @ v[::-1], sum(v[j] * v[3 - j] for j in range(4))),
    "to_diag": (np.diag(w), [[w[i] if i == j else 0.0 for j in range(3)] for i in range(3)]),
    "diag": (np.diagonal(a), [a[i, i] for i in range(3)]),
    "t": (a.T, [[a[i, j] for i in range(3)] for j in range(4)]),
    "matmul": (a @ b.T, [[sum(a[i, k] * b[j, k] for k in range(4)) for j in range(3)] for i in range(3)]),
    "sum_row": (a.sum(axis=0), [sum(a[i, j] for i in range(3)) for j in range(4)]),  # length: columns
    "sum_col": (a.sum(axis=1), [sum(a[i, j] for j in range(4)) for i in range(3)]),  # length: rows
    "max_col": (a.max(axis=1), [max(row) for row in a.tolist()]),
    "max_col's index": (a.argmax(axis=1), [row.index(max(row)) for row in a.tolist()]),
    "min_col": (a.min(axis=1), [min(row) for row in a.tolist()]),
    "min_col's index": (a.argmin(axis=1), [row.index(min(row)) for row in a.tolist()]),
    "max_row": (a.max(axis=0), [max(row) for row in a.T.tolist()]),
    "max_row's index": (a.argmax(axis=0), [row.index(max(row)) for row in a.T.tolist()]),
    "min_row": (a.min(axis=0), [min(row) for row in a.T.tolist()]),
    "min_row's index": (a.argmin(axis=0), [row.index(min(row)) for row in a.T.tolist()]),
    "batch_matmul": (
        np.stack([a, b]) @ a.T,
        [[[sum(left[i, k] * a[j, k] for k in range(4)) for j in range(3)] for i in range(3)] for left in (a, b)],
    ),
    "filled": (np.full((3, 4), 7.0), _each(lambda i, j: 7)),
    "identity": (np.identity(3), [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)]),
    "random": (PCG32(42, 6).random((2, 2)), [[u32 / 2**32 for u32 in row] for row in ((1725101930, 3003856880), (2649591122, 128887272))]),
    "shuffle_batch": (
        numbered((10, 2))[PCG32(42, 6).permutation(10)],
        [[2.0 * place, 2.0 * place + 1] for place in (0, 5, 2, 3, 8, 4, 7, 6, 9, 1)],
    ),
    "with_data": (np.array(range(8), np.float32).reshape(2, 2, 2), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_of_the_implementation(operation: str) -> None:
    """P-T7: each operation of ml-rs's tensor is one of NumPy's, or the generator's."""
    served, by_index = OPERATIONS[operation]
    assert np.shape(served) == np.shape(by_index)
    np.testing.assert_allclose(served, by_index, rtol=1e-14 if np.asarray(served).dtype == np.float64 else 1e-7)


def test_a_function_with_a_memory_meets_the_elements_in_the_order_of_the_index() -> None:
    """P-T7: apply_mut, on a transposed view as well, whose memory has another order."""
    for x in (numbered((2, 3)), numbered((3, 2)).T):
        met = count()
        applied = np.array([element + next(met) for element in x.flat]).reshape(x.shape)
        assert applied.tolist() == [[x[i, j] + 3 * i + j for j in range(3)] for i in range(2)]


def test_of_equal_maxima_the_first_wins() -> None:
    """P-T7: ml-rs takes the last."""
    ties = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    assert (ties.argmax(axis=1).tolist(), ties.argmax(axis=0).tolist()) == ([1, 0], [1, 0, 0])
    assert ties.argmin(axis=1).tolist() == [0, 2]


def test_padding_sizes() -> None:
    """P-T12: ``same`` keeps the extra row at the bottom, ``full`` is the kernel's size less one."""
    assert same_padding(5, 3, 1) == (1, 1)
    assert same_padding(4, 2, 1) == (0, 1)
    assert full_padding(3) == (2, 2)
    conv = Conv2d(1, 1, 3, rng=np.random.default_rng(0))
    top, bottom = same_padding(5, 3, 1)
    padded = pad2d.forward(numbered((1, 5, 5, 1)), (top, bottom, top, bottom), "constant", 0.0)
    assert conv.forward(padded).shape == (1, 5, 5, 1)


def test_dilation_spreads_pixels() -> None:
    """P-T13, eq 26: d-1 zeros between neighbours, d(h-1)+1 rows."""
    spread = dilate2d(numbered((1, 3, 3, 1)) + 1, (3, 3))
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
