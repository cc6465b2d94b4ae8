"""P-E13: the values of the paper's own test suite, all 53 tests of it: its layers, then its tensors.

Its tensor operations are those of `typednn.graph` and `typednn.tensors` here.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import graph
from typednn.graph import tensor
from typednn.kernels import conv2d
from typednn.layers import Conv2d, MaxPool2d, Pad2d
from typednn.random import PCG32
from typednn.tensors import dilate2d, equal, flatten, literal, printed, subtensor


def image(rows: Any) -> Any:
    return np.array(rows, np.float32)[None, :, :, None]


def flat(array: Any) -> Any:
    return array[0, :, :, 0].tolist()


@pytest.mark.parametrize(
    ("size", "stride", "dilation", "output", "dx", "dkernel"),
    [
        (6, 2, 1, (2, 2), [[1, 1, 2, 1, 1, 0]] * 2 + [[2, 2, 4, 2, 2, 0]] + [[1, 1, 2, 1, 1, 0]] * 2 + [[0] * 6], 4),
        (9, 1, 3, (3, 3), [[1] * 9] * 9, 9),
        (
            7,
            2,
            2,
            (2, 2),
            [
                [1, 0, 2, 0, 2, 0, 1],
                [0] * 7,
                [2, 0, 4, 0, 4, 0, 2],
                [0] * 7,
                [2, 0, 4, 0, 4, 0, 2],
                [0] * 7,
                [1, 0, 2, 0, 2, 0, 1],
            ],
            4,
        ),
    ],
    ids=["misaligned", "dilated", "stride and dilation"],
)
def test_convolution(size: int, stride: int, dilation: int, output: Any, dx: Any, dkernel: int) -> None:
    layer: Conv2d = Conv2d(1, 1, 3, stride, dilation=dilation, weight_init="ones", rng=np.random.default_rng(0))
    y = layer.forward(image(np.ones((size, size))))
    assert flat(y) == np.full(output, 9.0).tolist()
    gradient = layer.backward(np.ones_like(y))
    assert flat(gradient.input) == dx
    assert gradient.weight.ravel().tolist() == [dkernel] * 9


def test_convolution_with_same_padding() -> None:
    layer = Pad2d(1) >> Conv2d(1, 1, 3, weight_init="ones")
    y = layer.init(np.random.default_rng(0)).forward(image(np.ones((5, 5))))
    assert flat(y) == [[4, 6, 6, 6, 4], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [4, 6, 6, 6, 4]]
    assert flat(layer.forward(2 * image(np.ones((5, 5)))))[0] == [8, 12, 12, 12, 8]


POOLED = image([[1, 2, 5, 3], [3, 4, 2, 1], [3, 2, 3, 7], [6, 1, 2, 1]])


@pytest.mark.parametrize(
    ("layer", "output", "dy", "dx"),
    [
        (
            MaxPool2d(2),
            [[4, 5], [6, 7]],
            [[1, 2], [3, 4]],
            {(1, 1): 1, (0, 2): 2, (3, 0): 3, (2, 3): 4},
        ),
        (
            MaxPool2d(2, 1),
            [[4, 5, 5], [4, 4, 7], [6, 3, 7]],
            [[1] * 3] * 3,
            {(0, 2): 2, (1, 1): 3, (2, 2): 1, (2, 3): 2, (3, 0): 1},
        ),
        (MaxPool2d(2, 1, dilation=2), [[5, 7], [6, 4]], None, {}),
    ],
    ids=["aligned", "overlapping", "dilated"],
)
def test_max_pooling(layer: Any, output: Any, dy: Any, dx: dict[tuple[int, int], int]) -> None:
    """P-E13: max_pool: forward, backward, forward_overlap, backward_overlap, dilate; pooling: max_pool."""
    assert flat(layer.forward(POOLED)) == output
    if dy is not None:
        expected = np.zeros((4, 4))
        for place, value in dx.items():
            expected[place] = value
        assert flat(layer.backward(image(dy)).input) == expected.tolist()


def test_max_pooling_leaves_out_what_no_window_covers() -> None:
    """P-E13: max_pool: misalign; pooling: max_pool_misalign. The column of tens is never met, and gets no gradient."""
    wider = np.concatenate([POOLED, np.full((1, 4, 1, 1), 10, np.float32)], axis=2)
    layer = MaxPool2d(2)
    assert flat(layer.forward(wider)) == [[4, 5], [6, 7]]
    gradient = flat(layer.backward(image([[1, 2], [3, 4]])).input)
    assert gradient == [[0, 0, 2, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 4, 0], [3, 0, 0, 0, 0]]


@pytest.mark.parametrize(("pads", "wide", "high"), [((2, 2, 2, 2), 2, 2), ((2, 2, 1, 1), 2, 1)])
def test_padding(pads: tuple[int, int, int, int], wide: int, high: int) -> None:
    """P-E13: tensor/pad: pad; layers/pad: forward_backward, whose gradient is of ones inside and on one more column at
    each side.
    """
    layer: Pad2d = Pad2d(pads)
    x = np.arange(1.0, 28.0, dtype=np.float32).reshape(1, 3, 3, 3)
    y = layer.forward(x)
    assert y.shape == (1, 3 + 2 * high, 3 + 2 * wide, 3)
    assert np.array_equal(y[:, high:-high, wide:-wide], x)
    assert np.count_nonzero(y) == 27
    next_grad = np.zeros_like(y)
    next_grad[:, :, wide - 1 : 1 - wide] = 1.0
    assert np.array_equal(layer.backward(next_grad).input, np.ones_like(x))


def test_padding_by_height_and_width() -> None:
    layer: Pad2d = Pad2d((2, 2, 1, 1))
    x = image([[1, 2], [3, 4]])
    y = layer.forward(x)
    assert flat(y) == [[0] * 6, [0, 0, 1, 2, 0, 0], [0, 0, 3, 4, 0, 0], [0] * 6]
    assert flat(layer.backward(y).input) == flat(x)


def test_upsampling() -> None:
    spread = dilate2d(image([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), (3, 3))
    assert flat(spread)[3] == [4, 0, 0, 5, 0, 0, 6]
    assert flat(spread)[1] == [0] * 7


# ---------------------------------------------------------------------------------------------------- tensors


def block(first: float, *shape: int) -> Any:
    """Numbers counted from ``first``, last axis fastest."""
    return np.arange(first, first + np.prod(shape)).reshape(shape)


def filled(value: float, *shape: int) -> Any:
    return np.full(shape, value, np.float32)


COUNTED = block(1, 2, 3, 4)
FOUR = np.array([1.0, 2.0, 3.0, 4.0])
OF_THREES = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 6.0]])
CUBES = np.repeat([1.0, 2.0, 3.0], 4).reshape(3, 2, 2)

# By the file and the name that a test has there: what serves it, and the numbers that it expects.
Served = Callable[[], Any]
TENSORS: dict[str, list[tuple[Served, Any]]] = {
    "math_ops add_tensors": [(lambda: tensor(filled(1, 5, 5, 5)) + filled(9, 5, 5, 5), filled(10, 5, 5, 5))],
    "math_ops sub_tensors": [(lambda: tensor(filled(1, 5, 5, 5)) - filled(9, 5, 5, 5), filled(-8, 5, 5, 5))],
    "math_ops mul_elem_tensors": [(lambda: tensor(filled(-2, 5, 5, 5)) * filled(3, 5, 5, 5), filled(-6, 5, 5, 5))],
    "math_ops div_elem_tensors": [(lambda: tensor(filled(-9, 5, 5, 5)) / filled(3, 5, 5, 5), filled(-3, 5, 5, 5))],
    "math_ops scale_tensors": [(lambda: tensor(filled(1, 3, 10, 2)) * 6.0, filled(6, 3, 10, 2))],
    "math_ops add_value_tensors": [(lambda: tensor(filled(1, 3, 10, 2)) + 2.0, filled(3, 3, 10, 2))],
    "math_ops value_sub_tensors": [(lambda: tensor(filled(1, 3, 10, 2)) - 3.0, filled(-2, 3, 10, 2))],
    "math_ops powi_tensors": [(lambda: tensor(filled(2, 3, 10, 2)) ** 3, filled(8, 3, 10, 2))],
    "math_ops powf_tensors": [(lambda: tensor(filled(4, 3, 10, 2)) ** 0.5, filled(2, 3, 10, 2))],
    "math_ops apply_tensors": [(lambda: graph.zeros(10) * 0.0 + 20.0, [20] * 10)],
    "math_ops apply_mut_tensors": [
        (lambda: tensor(filled(1, 10)) + graph.arange(10, dtype=np.float32), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    ],
    "math_ops transpose_tensors": [
        (lambda axes=axes: graph.permute(tensor(np.multiply.outer([1, -1], np.tile(FOUR, (3, 1)))), axes), expected)
        for axes, expected in (
            ((0, 2, 1), [[[sign * n] * 3 for n in (1, 2, 3, 4)] for sign in (1, -1)]),
            ((2, 0, 1), [[[n] * 3, [-n] * 3] for n in (1, 2, 3, 4)]),
            ((2, 1, 0), [[[n, -n]] * 3 for n in (1, 2, 3, 4)]),
            ((1, 2, 0), [[[n, -n] for n in (1, 2, 3, 4)]] * 3),
            ((1, 0, 2), [[[1, 2, 3, 4], [-1, -2, -3, -4]]] * 3),
        )
    ],
    "math_ops transpose_matrix": [
        (lambda: tensor(OF_THREES).T, [[1, 3, 5], [2, 3, 6]]),
        (lambda: tensor(OF_THREES).T.T, OF_THREES),
    ],
    "math_ops dot_matrix": [
        (lambda: graph.eye(3) @ filled(3, 3, 3), filled(3, 3, 3)),
        (lambda: tensor(filled(3, 3, 3)) @ graph.eye(3), filled(3, 3, 3)),
        (lambda: tensor(filled(3, 3, 3)) @ filled(3, 3, 2), filled(27, 3, 2)),
    ],
    "macros nested_3": [
        (
            lambda: literal((2, 3, 2), [[[1, -1], [2, -2], [3, -3]], [[4, -4], [5, -5], [6, -6]]]),
            np.stack([block(1, 2, 3), -block(1, 2, 3)], axis=-1),
        ),
    ],
    "macros vec": [(lambda: literal(5, [1, 2, 3, 4, 5]), block(1, 5))],
    "macros matrix": [(lambda: literal((2, 3), [[1, 2, 3], [4, 5, 6]]), block(1, 2, 3))],
    "macros matrix_flatten": [(lambda: literal((2, 3), [1, 2, 3, 4, 5, 6]), block(1, 2, 3))],
    "macros tensor_4d": [
        (
            lambda: literal((2, 3, 5, 5), [[[[sign * row] * 5 for row in range(1, 6)]] * 3 for sign in (1, -1)]),
            np.broadcast_to(np.array([1, -1])[:, None, None, None] * np.arange(1, 6)[:, None], (2, 3, 5, 5)),
        )
    ],
    "reshape flatten": [
        (lambda: flatten(block(1, 2, 3, 3), 0, 1), block(1, 6, 3)),
        (lambda: flatten(block(1, 2, 3, 3), 1, 2), block(1, 2, 9)),
        (lambda: flatten(block(1, 2, 3, 3)), block(1, 18)),
    ],
    "reshape reshape": [(lambda: tensor(block(1, 18)).reshape(2, 3, 3)[1], [[10, 11, 12], [13, 14, 15], [16, 17, 18]])],
    "reverse reverse": [
        (lambda: graph.flip(tensor(COUNTED), 0), [COUNTED[1], COUNTED[0]]),
        (lambda: graph.flip(tensor(COUNTED), 1)[0], [[9, 10, 11, 12], [5, 6, 7, 8], [1, 2, 3, 4]]),
        (lambda: graph.flip(tensor(COUNTED), 2)[0], [[4, 3, 2, 1], [8, 7, 6, 5], [12, 11, 10, 9]]),
        (lambda: graph.flip(tensor(COUNTED), (0, 1))[0], [[21, 22, 23, 24], [17, 18, 19, 20], [13, 14, 15, 16]]),
        (lambda: graph.flip(tensor(COUNTED), (1, 0))[1], [[9, 10, 11, 12], [5, 6, 7, 8], [1, 2, 3, 4]]),
        (lambda: graph.flip(tensor(COUNTED), (2, 0))[0], [[16, 15, 14, 13], [20, 19, 18, 17], [24, 23, 22, 21]]),
        (lambda: graph.flip(tensor(COUNTED), (2, 0, 1)).reshape(24), list(range(24, 0, -1))),
    ],
    "reverse reverse_all": [(lambda: graph.flip(tensor(COUNTED), (0, 1, 2)).reshape(24), list(range(24, 0, -1)))],
    "stack stack": [
        (
            lambda: graph.stack([tensor(filled(0, 3, 3, 2)), tensor(filled(1, 3, 3, 2))]),
            [[[[part] * 2] * 3] * 3 for part in (0, 1)],
        )
    ],
    "squeeze matrix": [
        (lambda: graph.squeeze(tensor(np.array([[1, 2]])), 0), [1, 2]),
        (lambda: graph.squeeze(tensor(np.array([[1], [2]])), 1), [1, 2]),
    ],
    "squeeze tensor_3d": [
        (lambda axis=axis: graph.squeeze(graph.expand_dims(tensor(block(1, 2, 2)), axis), axis), [[1, 2], [3, 4]])
        for axis in range(3)
    ],
    "squeeze tensor_4d": [
        (lambda axis=axis: graph.squeeze(graph.expand_dims(tensor(CUBES), axis), axis), CUBES) for axis in range(4)
    ],
    "subvector subvector": [
        (lambda wanted=wanted: subtensor(block(1, 5), wanted), held)
        for wanted, held in (
            (2, [3]),
            (slice(1, 3), [2, 3]),
            (slice(3, None), [4, 5]),
            (slice(None), [1, 2, 3, 4, 5]),
            (slice(1, 3 + 1), [2, 3, 4]),
            (slice(None, 3), [1, 2, 3]),
            (slice(None, 3 + 1), [1, 2, 3, 4]),
        )
    ],
    "tensor_struct new_tensor": [(lambda: graph.zeros((1, 2, 3)), [[[0] * 3] * 2])],
    "tensor_struct new_filled": [(lambda: graph.full((1, 2, 3), 99.0), [[[99] * 3] * 2])],
    "tensor_struct new_identity": [(lambda: graph.eye(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])],
    "tensor_struct new_with_data": [(lambda: literal((2, 2, 2), range(8)), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])],
    "tensor_struct new_vec": [(lambda: graph.full(3, 99.0), [99, 99, 99])],
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor(name: str) -> None:
    """P-E13: by the index, shape included."""
    for serve, expected in TENSORS[name]:
        served = serve()
        array = served if isinstance(served, np.ndarray) else served.numpy()
        np.testing.assert_array_equal(array, expected)
        assert array.shape == np.shape(expected)


@pytest.mark.parametrize(
    ("made", "strides"),
    [
        (lambda: graph.zeros((1, 2, 3)).numpy() + 0, (6, 3, 1)),
        (lambda: literal((1, 2, 3), [99] * 6), (6, 3, 1)),
        (lambda: (graph.eye(3) * 1.0).numpy(), (3, 1)),
        (lambda: literal(3, [99] * 3), (1,)),
    ],
)
def test_strides(made: Served, strides: tuple[int, ...]) -> None:
    """P-E13: tensor_struct new_tensor, new_filled, new_identity, new_vec: strides in elements."""
    array = made()
    assert tuple(stride // array.itemsize for stride in array.strides) == strides


def test_equality() -> None:
    """P-E13: math_ops test_eq: NaN equals nothing, not even itself."""
    zeros, many, few, nothing = (filled(value, 4, 5, 6) for value in (0, 123, -3, np.nan))
    assert all(equal(x, x) for x in (zeros, many, few))
    pairs = [(zeros, many), (zeros, few), (many, few), (zeros, nothing), (nothing, nothing)]
    assert not any(equal(x, y) for x, y in pairs)


def test_uniform_numbers_fill_their_bins() -> None:
    """P-E13: pcg uniform_01, which prints the shares of ten bins: a tenth each, within five deviations."""
    bins = np.histogram(PCG32(42, 1).random((100_000,)), bins=10, range=(0, 1))[0]
    assert bins.sum() == 100_000
    assert abs(bins - 10_000).max() < 5 * np.sqrt(100_000 * 0.1 * 0.9)


def test_two_images_under_one_kernel() -> None:
    """P-E13: tensor/conv: conv, and conv: forward, through the op and through the layer."""
    images = np.stack([filled(1, 5, 5, 1), filled(2, 5, 5, 1)])
    layer = (Pad2d(1) >> Conv2d(1, 1, 3, weight_init="ones")).init(np.random.default_rng(0))
    rows = np.array([[4, 6, 6, 6, 4], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [4, 6, 6, 6, 4]])
    for y in (
        layer.forward(images),
        conv2d.forward(np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0))), filled(1, 1, 3, 3, 1), None, conv2d.Window())[
            0
        ],
    ):
        np.testing.assert_array_equal(y[..., 0], [rows, 2 * rows])


def test_printing() -> None:
    """P-E13: display print_matrix, print_vector."""
    assert printed(np.identity(3)) == "[\n  1.00 0.00 0.00 \n  0.00 1.00 0.00 \n  0.00 0.00 1.00 \n] (3x3)"
    assert printed(filled(2, 5)) == "[\n  2.00\n  2.00\n  2.00\n  2.00\n  2.00\n] (5,)"


# Where the others of the 53 are: the paper's file and test, and the test of this file that holds its values, with its
# id.
ELSEWHERE = {
    "conv forward": "test_two_images_under_one_kernel",
    "conv misalign": "test_convolution[misaligned]",
    "conv dilate": "test_convolution[dilated]",
    "conv stride_and_dilate": "test_convolution[stride and dilation]",
    "max_pool forward": "test_max_pooling[aligned]",
    "max_pool backward": "test_max_pooling[aligned]",
    "max_pool misalign": "test_max_pooling_leaves_out_what_no_window_covers",
    "max_pool forward_overlap": "test_max_pooling[overlapping]",
    "max_pool backward_overlap": "test_max_pooling[overlapping]",
    "max_pool dilate": "test_max_pooling[dilated]",
    "layers/pad forward_backward": "test_padding[pads1-2-1]",
    "pcg uniform_01": "test_uniform_numbers_fill_their_bins",
    "tensor/conv conv": "test_two_images_under_one_kernel",
    "display print_matrix": "test_printing",
    "display print_vector": "test_printing",
    "math_ops test_eq": "test_equality",
    "tensor/pad pad": "test_padding[pads0-2-2]",
    "pooling max_pool": "test_max_pooling[aligned]",
    "pooling max_pool_misalign": "test_max_pooling_leaves_out_what_no_window_covers",
    "upsample dilate": "test_upsampling",
}


def test_all_fifty_three_are_there(request: pytest.FixtureRequest) -> None:
    """P-E13: as the paper's suite counts them, and each equivalent is a test that pytest finds in this file."""
    kept = {**ELSEWHERE, **{name: f"test_tensor[{name}]" for name in TENSORS}}
    assert len(kept) == 53
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", __file__],
        cwd=request.config.rootpath,
        env={**os.environ, "PYTEST_ADDOPTS": ""},  # what is printed is read below
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line.partition("::")[2] for line in collected.stdout.splitlines()}
    assert {name: test for name, test in kept.items() if test not in found} == {}
