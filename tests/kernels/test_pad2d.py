"""P-L7, P-L8, P-T6, P-T12: pad2d against numpy.pad, finite differences and the paper's sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import pad2d
from typednn.tensors import full_padding, same_padding

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)
borders = st.tuples(*[st.integers(0, 3)] * 4)
sizes = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 2))


@settings(max_examples=40, deadline=None)
@given(shape=sizes, padding=borders, value=st.floats(-5, 5), seed=seeds)
def test_forward_is_numpy_pad(normal, shape, padding, value, seed):
    """P-L7 (eq 28), P-L8: four sides of their own, PyTorch's order (left, right, top, bottom)."""
    x = normal(seed, *shape)
    left, right, top, bottom = padding
    width = ((0, 0), (top, bottom), (left, right), (0, 0))
    np.testing.assert_array_equal(pad2d.forward(x, padding, "constant", value), np.pad(x, width, constant_values=value))
    np.testing.assert_array_equal(pad2d.forward(x, padding, "replicate", value), np.pad(x, width, mode="edge"))


@settings(max_examples=40, deadline=None)
@given(shape=sizes, padding=borders, mode=st.sampled_from(["constant", "replicate"]), seed=seeds)
def test_backward_is_the_slope(normal, assert_slope, shape, padding, mode, seed):
    """P-L7 (eq 29), P-L8: what replicate repeats gets the gradient of every copy, corners included."""
    x = normal(seed, *shape)
    next_grad = normal(seed + 1, *pad2d.forward(x, padding, mode, 0.5).shape)
    assert_slope(
        pad2d.backward(next_grad, padding, mode), lambda at: pad2d.forward(at, padding, mode, 0.5), x, next_grad
    )


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
