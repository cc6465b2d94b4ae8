"""The paper's tensor is NumPy's array: what section III asks of one, shown on the arrays that typednn makes, takes and
views.
"""

import itertools
import math
import statistics
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import graph
from typednn.arrays import described
from typednn.errors import ArgumentError, CheckError, DeviceError, DTypeError, MissingExtra, ShapeError
from typednn.graph import tensor
from typednn.kernels import pad2d
from typednn.layers import Conv2d, Flatten, Linear, Pad2d, ReLU
from typednn.random import PCG32
from typednn.tensors import (
    convolve2d,
    cross_correlate2d,
    dilate2d,
    equal,
    flatten,
    full_padding,
    literal,
    printed,
    same_padding,
    subtensor,
)

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


def row_major(shape: tuple[int, ...]) -> list[int]:
    """Eq 3: the strides of a shape, in elements."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def lies_at(array: Any, memory: Any, offset: int, strides: list[int]) -> bool:
    """Eq 4: each number of ``array`` is the one at offset + Σ stride·index of ``memory``, which is flat."""
    places = itertools.product(*map(range, array.shape))
    return all(
        array[index] == memory[offset + sum(s * i for s, i in zip(strides, index, strict=True))] for index in places
    )


def in_elements(array: Any) -> list[int]:
    """The strides that count: of an axis of one index any number does."""
    return [stride // array.itemsize for stride, size in zip(array.strides, array.shape, strict=True) if size > 1]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_row_major_strides(rows: int, columns: int, height: int, width: int) -> None:
    """P-T2, eqs 3 and 4: what typednn makes is row-major: parameters, outputs, literals, and arrays of the graph, also
    of turned input.
    """
    generator = np.random.default_rng(0)
    linear, convolution = Linear(columns, rows, rng=generator), Conv2d(rows, columns, (height, width), rng=generator)
    image = generator.standard_normal((rows, columns, width + 1, height + 1), dtype=np.float32).transpose(1, 3, 2, 0)
    turned: Any = generator.standard_normal((columns, rows, width))
    made = [
        *linear.named_parameters().values(),
        *convolution.named_parameters().values(),
        linear.forward(generator.standard_normal((5, columns), dtype=np.float32)),
        convolution.forward(image),
        literal((rows, 2), list(range(2 * rows))),
        (tensor(turned).permute(2, 0, 1) * 2.0).numpy(),
        graph.stack([tensor(turned), tensor(turned)], 1).numpy(),
    ]
    for array in made:
        strides = row_major(array.shape)
        assert in_elements(array) == [stride for stride, size in zip(strides, array.shape, strict=True) if size > 1]
        assert lies_at(array, array.ravel(), 0, strides)
    assert [stride // 4 for stride in literal((1, 2, 3), range(6)).strides] == [6, 3, 1]


@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_view_has_an_offset(data: Any, shape: list[int]) -> None:
    """P-T2, P-T3: a subtensor keeps strides and memory, and begins at Σ stride·start."""
    base = numbered(tuple(shape))
    starts = [data.draw(st.integers(0, size - 1)) for size in shape]
    stops = [data.draw(st.integers(start + 1, size)) for start, size in zip(starts, shape, strict=True)]
    view = subtensor(base, *map(slice, starts, stops))
    strides = row_major(base.shape)
    assert np.shares_memory(view, base)
    assert view.strides == base.strides
    assert view.shape == tuple(stop - start for start, stop in zip(starts, stops, strict=True))
    assert lies_at(view, base.ravel(), sum(s * i for s, i in zip(strides, starts, strict=True)), strides)


def test_views_share_memory() -> None:
    """P-T3: subtensor, squeeze, row, column and diagonal copy metadata only."""
    base = numbered((200, 300))
    tracemalloc.start()
    views = [
        subtensor(base, slice(2, 5), slice(1, None)),
        base[3],
        base[:, 3],
        base[..., None].squeeze(-1),
        base.T,
        np.diagonal(base),
    ]
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
        # outside
        *(5, -6, 10**30, slice(5, 6), slice(3, 6), slice(5, None), slice(-6, None), slice(None, -5), slice(None, 6)),
        *(slice(2, 2), slice(3, 2), slice(None, 0), slice(-1, -2)),  # empty
        *(slice(None, None, 2), slice(None, None, -1), slice(0, 5, 0)),
    ],
)
def test_ranges_that_are_empty_or_outside(wanted: int | slice) -> None:
    """P-T9: refused with the axis and its size; NumPy itself would cut them off."""
    for x, ranges in (
        (np.zeros(5), (wanted,)),
        (np.zeros((2, 5)), (1, wanted)),
        (np.zeros((5, 2)).T, (slice(None), wanted)),
    ):
        with pytest.raises(
            ArgumentError,
            match=rf"^subtensor: the range of axis {len(ranges) - 1} holds something and lies within its 5, ",
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
    """P-T5, eqs 5 to 10 with the repairs of eqs 5 and 9: product, sum, scale, transpose, reverse,
    correlate, convolve.
    """
    a, b = numbered((2, 3)), numbered((3, 4))
    x, y, cube = tensor(a), tensor(b), numbered((2, 3, 4))
    product = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    assert (x @ y).numpy().tolist() == product
    linear: Linear = Linear(3, 4, bias=False)
    linear.init(np.random.default_rng(0)).load_state_dict({"weight": b.T})
    assert linear.forward(a).tolist() == product
    assert (
        (x + x).numpy().tolist()
        == (x * 2.0).numpy().tolist()
        == [[a[i, j] + a[i, j] for j in range(3)] for i in range(2)]
    )
    turned = graph.permute(tensor(cube), (2, 0, 1)).numpy()
    reversed_rows, reversed_all = graph.flip(tensor(cube), 0).numpy(), graph.flip(tensor(cube), (0, 1, 2)).numpy()
    for i, j, k in np.ndindex(2, 3, 4):
        assert turned[k, i, j] == cube[i, j, k]
        assert reversed_rows[i, j, k] == cube[2 - i - 1, j, k]
        assert reversed_all[i, j, k] == cube[2 - i - 1, 3 - j - 1, 4 - k - 1]
    image, kernel = numbered((5, 4)), numbered((2, 3))
    by_hand = np.array(
        [
            [sum(image[2 * m + i, n + j] * kernel[i, j] for i in range(2) for j in range(3)) for n in range(2)]
            for m in range(2)
        ]
    )
    np.testing.assert_array_equal(cross_correlate2d(image, kernel, (2, 1)), by_hand)
    np.testing.assert_array_equal(
        convolve2d(image, kernel, (1, 1)), cross_correlate2d(image, np.flip(kernel, (0, 1)), (1, 1))
    )


EIGHTEEN = numbered((18,)) + 1


@pytest.mark.parametrize(
    ("axes", "shape"),
    [
        ((0, 1), (6, 3)),
        ((1, 2), (2, 9)),
        ((), (18,)),
        ((1,), (2, 9)),
        ((0, 0), (2, 3, 3)),
        ((-2, -1), (2, 9)),
        ((0, -2), (6, 3)),
    ],
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
        with pytest.raises(
            ArgumentError, match=rf"flatten: takes axes in order, of an array of rank {rank}, got {start} to {stop}; "
        ):
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


# One operation of ml-rs's tensor a row: the function of the graph that serves it, and what it is by the index. a and b
# are 3 by 4, v has a number per column, w one per row; x, y, p and q are the tensors of these.
def _each(rule: Callable[[int, int], float]) -> list[list[float]]:
    return [[rule(i, j) for j in range(4)] for i in range(3)]


a, b = np.array(_each(lambda i, j: 1.0 + (8 * i + 3 * j) % 11)), np.array(_each(lambda i, j: 1.0 + (7 * i + j) % 11))
v, w = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, -1.0, 4.0])
x, y, p, q = (tensor(array) for array in (a, b, v, w))
OPERATIONS: dict[str, tuple[Callable[[], Any], Any]] = {
    "add": (lambda: x + y, _each(lambda i, j: a[i, j] + b[i, j])),
    "sub": (lambda: x - y, _each(lambda i, j: a[i, j] - b[i, j])),
    "mul_elem": (lambda: x * y, _each(lambda i, j: a[i, j] * b[i, j])),
    "div_elem": (lambda: x / y, _each(lambda i, j: a[i, j] / b[i, j])),
    "scale": (lambda: x * 6.0, _each(lambda i, j: 6 * a[i, j])),
    "add_value": (lambda: x + 2.0, _each(lambda i, j: a[i, j] + 2)),
    "value_sub": (lambda: 3.0 - x, _each(lambda i, j: 3 - a[i, j])),
    "value_div": (lambda: 3.0 / x, _each(lambda i, j: 3 / a[i, j])),
    "powf": (lambda: x**0.5, _each(lambda i, j: math.sqrt(a[i, j]))),
    "powi": (lambda: x**3, _each(lambda i, j: a[i, j] * a[i, j] * a[i, j])),
    "the operator ^": (lambda: graph.power(x, 2.0), _each(lambda i, j: a[i, j] * a[i, j])),
    "apply": (lambda: 20.0 - x, _each(lambda i, j: 20 - a[i, j])),
    "apply_mut": (lambda: x + graph.arange(12).reshape(3, 4).cast(np.float64), _each(lambda i, j: a[i, j] + 4 * i + j)),
    "sum": (lambda: x.sum(), sum(a[i, j] for i in range(3) for j in range(4))),
    "mean": (lambda: x.mean(), sum(a[i, j] for i in range(3) for j in range(4)) / 12),
    "std": (lambda: graph.std(x, correction=0), statistics.pstdev(a.ravel().tolist())),
    "std, unbiased": (lambda: graph.std(x), statistics.stdev(a.ravel().tolist())),
    "sum_dim": (lambda: x.sum(1, keepdims=True), [[sum(a[i])] for i in range(3)]),
    "row_add": (lambda: x + p, _each(lambda i, j: a[i, j] + v[j])),
    "col_add": (lambda: x + q.reshape(3, 1), _each(lambda i, j: a[i, j] + w[i])),
    "row_mul": (lambda: x * p, _each(lambda i, j: a[i, j] * v[j])),
    "col_mul": (lambda: x * q.reshape(3, 1), _each(lambda i, j: a[i, j] * w[i])),
    "dot": (lambda: p @ graph.flip(p, 0), sum(v[j] * v[3 - j] for j in range(4))),
    "to_diag": (
        lambda: graph.eye(3, dtype=np.float64) * q,
        [[w[i] if i == j else 0.0 for j in range(3)] for i in range(3)],
    ),
    "diag": (lambda: graph.diagonal(x), [a[i, i] for i in range(3)]),
    "t": (lambda: x.T, [[a[i, j] for i in range(3)] for j in range(4)]),
    "matmul": (lambda: x @ y.T, [[sum(a[i, k] * b[j, k] for k in range(4)) for j in range(3)] for i in range(3)]),
    "sum_row": (lambda: x.sum(0), [sum(a[i, j] for i in range(3)) for j in range(4)]),  # length: columns
    "sum_col": (lambda: x.sum(1), [sum(a[i, j] for j in range(4)) for i in range(3)]),  # length: rows
    "max_col": (lambda: x.max(1), [max(row) for row in a.tolist()]),
    "max_col's index": (lambda: graph.argmax(x, 1), [row.index(max(row)) for row in a.tolist()]),
    "min_col": (lambda: x.min(1), [min(row) for row in a.tolist()]),
    "min_col's index": (lambda: graph.argmin(x, 1), [row.index(min(row)) for row in a.tolist()]),
    "max_row": (lambda: x.max(0), [max(row) for row in a.T.tolist()]),
    "max_row's index": (lambda: graph.argmax(x, 0), [row.index(max(row)) for row in a.T.tolist()]),
    "min_row": (lambda: x.min(0), [min(row) for row in a.T.tolist()]),
    "min_row's index": (lambda: graph.argmin(x, 0), [row.index(min(row)) for row in a.T.tolist()]),
    "batch_matmul": (
        lambda: graph.stack([x, y]) @ x.T,
        [[[sum(left[i, k] * a[j, k] for k in range(4)) for j in range(3)] for i in range(3)] for left in (a, b)],
    ),
    "filled": (lambda: graph.full((3, 4), 7.0, np.float64), _each(lambda i, j: 7)),
    "identity": (
        lambda: graph.eye(3, dtype=np.float64),
        [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)],
    ),
    "random": (
        lambda: graph.rand(PCG32(42, 6), (2, 2), np.float64),
        [[u32 / 2**32 for u32 in row] for row in ((1725101930, 3003856880), (2649591122, 128887272))],
    ),
    "shuffle_batch": (
        lambda: graph.take(tensor(block(0, 10, 2)), tensor(PCG32(42, 6).permutation(10)), 0),
        [[2.0 * place, 2.0 * place + 1] for place in (0, 5, 2, 3, 8, 4, 7, 6, 9, 1)],
    ),
    "with_data": (lambda: tensor(literal((2, 2, 2), range(8), np.float64)), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
}


def block(first: float, *shape: int) -> Any:
    """Numbers counted from ``first``, last axis fastest."""
    return np.arange(first, first + math.prod(shape)).reshape(shape)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_of_the_implementation(operation: str) -> None:
    """P-T7: each operation of ml-rs's tensor is one of the graph's, or the generator's; here by the index."""
    serve, by_index = OPERATIONS[operation]
    served = serve().numpy()
    assert served.shape == np.shape(by_index)
    np.testing.assert_allclose(served, by_index, rtol=1e-14)


def test_of_equal_maxima_the_first_wins() -> None:
    """P-T7: ml-rs takes the last."""
    ties = tensor(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]))
    assert [graph.argmax(ties, axis).numpy().tolist() for axis in (1, 0)] == [[1, 0], [1, 0, 0]]
    assert graph.argmin(ties, 1).numpy().tolist() == [0, 2]
    assert graph.argmax(tensor(np.ones((2, 3)))).item() == 0


def test_equality_within_a_tolerance() -> None:
    """P-T8: shapes must match; NaN and infinity equal nothing, themselves included."""
    zeros, many, few, nothing, endless = (
        np.full((4, 5, 6), value, np.float32) for value in (0, 123, -3, np.nan, np.inf)
    )
    assert all(equal(array, array.copy()) for array in (zeros, many, few))
    pairs = [
        (zeros, many),
        (zeros, few),
        (many, few),
        (zeros, nothing),
        (nothing, nothing),
        (endless, endless),
        (endless, -endless),
    ]
    assert not any(equal(first, second) or equal(second, first) for first, second in pairs)
    one_off = zeros.copy()
    one_off[3, 4, 5] = 2e-6
    assert not equal(zeros, one_off)
    assert equal(zeros, one_off, 3e-6)
    assert equal(np.array([1.0]), np.array([1.0 + 0.9e-6]))
    assert not equal(np.array([1.0]), np.array([1.0 - 1.1e-6]))
    assert not equal(np.zeros((2, 1)), np.zeros((1, 2)))
    assert not equal(np.zeros(3), np.zeros((1, 3)))
    assert not equal(np.array([0], np.uint8), np.array([255], np.uint8), 2)
    assert equal(np.array([1, 2], np.uint8), np.array([1.0, 2.0], np.float16))
    assert not equal(np.array([-1.7e308]), np.array([1.7e308]))
    with pytest.raises(DeviceError, match=r"got builtins\.list"):
        equal(zeros, [0.0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match=r"equal: tolerance must be a finite number with 0 <= tolerance"):
        equal(zeros, zeros, -1.0)


def test_printing() -> None:
    """P-T10, P-E13: print_matrix and print_vector as the paper's suite has them; other ranks, decimals, an indent."""
    assert printed(np.identity(3)) == "[\n  1.00 0.00 0.00 \n  0.00 1.00 0.00 \n  0.00 0.00 1.00 \n] (3x3)"
    assert printed(np.full(5, 2.0)) == "[\n  2.00\n  2.00\n  2.00\n  2.00\n  2.00\n] (5,)"
    assert printed(block(0, 1, 2, 2)) == "[\n  [0.00 1.00 ][2.00 3.00 ]\n] (1x2x2)"
    assert printed(block(0, 1, 1, 1, 2), 0) == "[\n  [[0 1 ]]\n] (1x1x1x2)"
    assert (
        printed(np.array([[1 / 3, -2 / 3]], np.float32), precision=4, indent=2) == "[\n    0.3333 -0.6667 \n  ] (1x2)"
    )
    assert printed(np.array([np.nan, np.inf, 7])) == "[\n  nan\n  inf\n  7.00\n] (3,)"
    with pytest.raises(ArgumentError, match="printed: precision must be an integer of at least 0, got -1"):
        printed(np.zeros(2), -1)
    with pytest.raises(ShapeError, match="printed: takes arrays of one axis or more, got a single number"):
        printed(np.array(1.0))


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ((2, 3), [1, 2, 3, 4, 5, 6]),
        ((2, 3), [[1, 2, 3], [4, 5, 6]]),
        ([2, 3], ((1, 2, 3), (4, 5, 6))),
        ((6,), range(1, 7)),
        (6, [1, 2, 3, 4, 5, 6]),
        ((1, 2, 3), [[[1, 2, 3], [4, 5, 6]]]),
        ((1, 1, 2, 3), [1, 2, 3, 4, 5, 6]),
    ],
)
def test_literals(shape: Any, values: Any) -> None:
    """P-T11: nested or flat, last axis fastest, an array of its own."""
    array = literal(shape, values)
    assert array.shape == (tuple(shape) if shape != 6 else (6,))
    assert array.dtype == np.float32
    assert array.ravel().tolist() == [1, 2, 3, 4, 5, 6]
    assert literal(shape, values, np.int64).dtype == np.int64
    again = literal(shape, array)
    assert not np.shares_memory(again, array)


@pytest.mark.parametrize(
    ("shape", "values", "error", "message"),
    [
        (
            (2, 3),
            [1, 2, 3, 4, 5],
            ShapeError,
            r"literal: the number of elements matches the shape \(2, 3\), which holds 6, got 5 elements",
        ),
        (
            (2, 3),
            [[1, 2], [3, 4], [5, 6]],
            ShapeError,
            r"literal: values are nested as the shape \(2, 3\) says, or flat, got shape \(3, 2\)",
        ),
        (
            (2, 2),
            [[1, 2], [3]],
            ArgumentError,
            "literal: values are numbers, in nested lists whose rows are of equal length",
        ),
        ((2,), ["one", "two"], ArgumentError, "literal: values are numbers"),
        ((2,), ["1.5", 2], ArgumentError, "literal: values are numbers"),
        ((2,), [1.5, None], ArgumentError, "literal: values are numbers, .*, got values that make no array of float32"),
        ((2,), np.array(["1.5", "2"]), ArgumentError, "literal: values are numbers"),
        ((2,), [1, 2j], ArgumentError, "literal: values are numbers"),
        ((2, 0), [], ArgumentError, "literal: shape must be an integer of at least 1, got 0"),
        ((2.0,), [1, 2], ArgumentError, "literal: shape must be an integer of at least 1, got 2.0"),
    ],
)
def test_literals_that_are_refused(shape: Any, values: Any, error: type[Exception], message: str) -> None:
    """P-T11: the error says what the shape holds."""
    with pytest.raises(error, match=message):
        literal(shape, values)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1.7], np.int64),
        ([300], np.uint8),
        ([-1], np.uint8),
        ([1 << 70], np.int64),
        ([np.nan], np.int64),
        (np.array([300]), np.uint8),
    ],
)
def test_literals_of_integers_are_whole_and_fit(values: Any, dtype: Any) -> None:
    """P-T11: nothing is cut off; what an integer can hold is taken, also where it is written as a float."""
    with pytest.raises(
        ArgumentError, match=f"literal: values are numbers, .*, got values that make no array of {np.dtype(dtype)}"
    ):
        literal((1,), values, dtype)
    assert literal((2,), [2.0, 255], dtype).tolist() == [2, 255]
    assert literal((1,), [1 << 70]).tolist() == [2.0**70]
    assert np.isnan(literal((2,), [np.nan, 1.0])[0])


def test_matrices_that_cannot_be_correlated() -> None:
    """P-T5: what is refused, and that the arguments stay as they were."""
    image, kernel = numbered((3, 4)), numbered((2, 2))
    for call in (cross_correlate2d, convolve2d):
        where = call.__name__
        with pytest.raises(ShapeError, match=rf"{where}: kernel is a matrix that is not empty, got shape \(2,\)"):
            call(image, kernel[0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(ShapeError, match=rf"{where}: image is a matrix that is not empty, got shape \(0, 4\)"):
            call(image[:0], kernel)
        with pytest.raises(
            ShapeError, match=rf"{where}: the kernel is no larger than the image, got \(3, 4\) on \(2, 2\)"
        ):
            call(kernel, image)
        with pytest.raises(
            DTypeError, match=f"{where}: image and kernel are floats of one dtype, got float32 and float64"
        ):
            call(image, kernel.astype(np.float64))
        with pytest.raises(DTypeError, match=f"{where}: image and kernel are floats of one dtype, got int64 and int64"):
            call(image.astype(np.int64), kernel.astype(np.int64))
        with pytest.raises(ArgumentError, match=f"{where}: stride must be an integer of at least 1, got 0"):
            call(image, kernel, 0)
        with pytest.raises(DeviceError, match=r"got builtins\.list"):
            call([[1.0]], kernel)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match=r"dilate2d: x is \(batch, height, width, channels\), got shape \(3, 4\)"):
        dilate2d(image, 2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="dilate2d: factor must be an integer of at least 1, got 0"):
        dilate2d(image[None, :, :, None], 0)
    assert image.tolist() == numbered((3, 4)).tolist()


def test_padding_sizes() -> None:
    """P-T12: ``same`` keeps the extra row at the bottom, ``full`` is the kernel's size less one; each
    axis has its own.
    """
    for wrong in ((0, 3, 1), (5, 0, 1), (5, 3, 0), (5.0, 3, 1)):
        with pytest.raises(ArgumentError, match=r"same_padding: .* must be an integer of at least 1"):
            same_padding(*wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="full_padding: kernel must be an integer of at least 1, got 0"):
        full_padding(0)
    left, right, top, bottom = *same_padding(4, 2), *same_padding(5, 4)
    uneven = Pad2d((left, right, top, bottom)) >> Conv2d(1, 1, (4, 2), rng=np.random.default_rng(0))
    assert (left, right, top, bottom) == (0, 1, 1, 2)
    assert uneven.forward(numbered((1, 5, 4, 1))).shape == (1, 5, 4, 1)
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


def test_what_a_tensor_library_offers() -> None:
    """G-T1: creating, filling, drawing, ranges, copies, views of the same number of elements, shapes as text, files,
    devices.
    """
    assert graph.zeros((2, 3)).numpy().tolist() == [[0, 0, 0]] * 2
    assert graph.ones((2, 3)).numpy().tolist() == [[1, 1, 1]] * 2
    assert graph.full((2,), 2.5).numpy().tolist() == [2.5, 2.5]
    assert graph.arange(1, 8, 3).reshape(1, 3).numpy().tolist() == [[1, 4, 7]]
    drawn = graph.randn(np.random.default_rng(0), (100, 100)).numpy()
    assert abs(drawn.mean()) < 0.05
    assert abs(drawn.std() - 1) < 0.05
    spread = graph.uniform(np.random.default_rng(0), -2.0, 3.0, (100, 100)).numpy()
    assert -2 <= spread.min() < -1.9
    assert 2.9 < spread.max() <= 3
    assert drawn.dtype == spread.dtype == np.float32
    x = tensor(block(0, 2, 3))
    assert x.reshape(3, 2).numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ShapeError, match="reshape"):
        x.reshape(4, 2)
    assert repr(tensor(np.zeros((2, 3), np.float32))).startswith("Tensor")
    assert described(np.zeros((2, 3), np.float32)) == "float32 of shape (2, 3)"
    assert graph.zeros((1,) * 8).ndim == 8
    linear: Linear = Linear(3, 2, rng=np.random.default_rng(0))
    assert linear.to("cpu").forward(numbered((1, 3))).shape == (1, 2)
    with pytest.raises(MissingExtra, match="cupy"):
        linear.to("cuda")
