"""P-L7, P-L8, P-T6, P-T12: pad2d by hand, and the paper's sizes; `test_references` compares it with numpy.pad."""

import numpy as np
import pytest

from typednn.kernels import pad2d
from typednn.tensors import full_padding, same_padding

pytestmark = pytest.mark.usefixtures("on_the_reference")


def test_fixture_one_row_two_columns():
    """P-L7: padding 1 above and below, 2 left and right, by hand."""
    x = np.array([[1.0, 2], [3, 4]])[None, :, :, None]
    y = pad2d.forward(x, (2, 2, 1, 1), "constant", 0.0)
    zeros = [0.0] * 6
    np.testing.assert_array_equal(y[0, :, :, 0], [zeros, [0, 0, 1, 2, 0, 0], [0, 0, 3, 4, 0, 0], zeros])
    next_grad = np.arange(24.0).reshape(1, 4, 6, 1)
    np.testing.assert_array_equal(pad2d.backward(next_grad, (2, 2, 1, 1), "constant")[0, :, :, 0], [[8, 9], [14, 15]])


def test_replicate_by_hand():
    """P-L8: 2x2 with one pixel around: each pixel is repeated four times."""
    x = np.array([[1.0, 2], [3, 4]])[None, :, :, None]
    y = pad2d.forward(x, (1, 1, 1, 1), "replicate", 0.0)
    np.testing.assert_array_equal(y[0, :, :, 0], [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]])
    np.testing.assert_array_equal(
        pad2d.backward(np.ones((1, 4, 4, 1)), (1, 1, 1, 1), "replicate"), np.full((1, 2, 2, 1), 4.0)
    )


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "expected"),
    [
        (5, 3, 1, (1, 1)),
        (4, 2, 1, (0, 1)),
        (28, 5, 1, (2, 2)),
        (6, 3, 2, (3, 4)),
        (3, 1, 1, (0, 0)),
        (1, 1, 3, (0, 0)),
        (1, 2, 5, (0, 1)),
    ],
)
def test_same_padding(size, kernel, stride, expected):
    """P-T12: size·(stride - 1) + kernel - stride, the extra one after; as many outputs as inputs."""
    assert same_padding(size, kernel, stride) == expected
    assert (size + sum(expected) - kernel) // stride + 1 == size


@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_full_padding(kernel):
    """P-T12: kernel - 1 on each side."""
    assert full_padding(kernel) == (kernel - 1, kernel - 1)
