"""P-E13: the values of the paper's own test suite, by layer. What concerns tensors is in test_tensors.py, the generator in
test_random.py, stacking in test_stack.py; here are its convolution, pooling, padding and upsampling fixtures.
"""

from typing import Any

import numpy as np
import pytest

from typednn.kernels import conv2d
from typednn.layers import Conv2d, MaxPool2d, Pad2d


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
            [[1, 0, 2, 0, 2, 0, 1], [0] * 7, [2, 0, 4, 0, 4, 0, 2], [0] * 7, [2, 0, 4, 0, 4, 0, 2], [0] * 7, [1, 0, 2, 0, 2, 0, 1]],
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
    assert flat(layer.forward(POOLED)) == output
    if dy is not None:
        expected = np.zeros((4, 4))
        for place, value in dx.items():
            expected[place] = value
        assert flat(layer.backward(image(dy)).input) == expected.tolist()


def test_padding_by_height_and_width() -> None:
    layer: Pad2d = Pad2d((2, 2, 1, 1))
    x = image([[1, 2], [3, 4]])
    y = layer.forward(x)
    assert flat(y) == [[0] * 6, [0, 0, 1, 2, 0, 0], [0, 0, 3, 4, 0, 0], [0] * 6]
    assert flat(layer.backward(y).input) == flat(x)


def test_upsampling() -> None:
    spread = conv2d.dilate2d(image([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), (3, 3))
    assert flat(spread)[3] == [4, 0, 0, 5, 0, 0, 6]
    assert flat(spread)[1] == [0] * 7
