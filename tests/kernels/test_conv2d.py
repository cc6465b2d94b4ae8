"""P-L3, P-L4, P-L5, P-T5, P-T13, P-T14: conv2d against loops, finite differences and the paper's fixtures."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal

from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window
from typednn.tensors import convolve2d, cross_correlate2d, dilate2d

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)


@st.composite
def geometries(draw):
    """(height, width), kernel, stride, dilation; up to 3 pixels more than the kernel needs, so that strides leave a
    remainder.
    """
    kernel, stride, dilation, spare = (
        draw(st.tuples(st.integers(low, 3), st.integers(low, 3))) for low in (1, 1, 1, 0)
    )
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    return size, kernel, stride, dilation


def loops(x, weight, bias, stride, dilation):
    """Eq 25, one multiplication at a time."""
    batch, height, width, in_channels = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    out_height = (height - dilation[0] * (kernel_height - 1) - 1) // stride[0] + 1
    out_width = (width - dilation[1] * (kernel_width - 1) - 1) // stride[1] + 1
    y = np.zeros((batch, out_height, out_width, out_channels))
    for b, r, c, o in np.ndindex(y.shape):
        y[b, r, c, o] = 0 if bias is None else bias[o]
        for i, j, k in np.ndindex(kernel_height, kernel_width, in_channels):
            y[b, r, c, o] += (
                x[b, r * stride[0] + i * dilation[0], c * stride[1] + j * dilation[1], k] * weight[o, i, j, k]
            )
    return y


def forward(x, weight, bias, stride, dilation):
    """y of a convolution alone."""
    y, winners = conv2d.forward(x, weight, bias, Window(stride, dilation))
    assert winners is None
    return y


def backward(next_grad, x, weight, stride, dilation):
    return conv2d.backward(next_grad, x, weight, Window(stride, dilation))


def grid(text):
    """Rows of one-channel pixels, as in the spec: ``"1 2 / 3 4"`` -> (1, 2, 2, 1)."""
    return np.array([[float(pixel) for pixel in row.split()] for row in text.split("/")])[None, :, :, None]


@settings(max_examples=40, deadline=None)
@given(
    geometry=geometries(),
    batch=st.integers(1, 2),
    channels=st.integers(1, 3),
    out=st.integers(1, 3),
    biased=st.booleans(),
    seed=seeds,
)
def test_forward_is_the_loop(geometry, batch, channels, out, biased, seed):
    """P-L3, P-T14: non-square images and kernels, strides with a remainder, dilation; with and without bias (P-L5)."""
    size, kernel, stride, dilation = geometry
    x, weight = normal(seed, batch, *size, channels), normal(seed, out, *kernel, channels)
    bias = normal(seed, out) if biased else None
    expected = loops(x, weight, bias, stride, dilation)
    np.testing.assert_allclose(forward(x, weight, bias, stride, dilation), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(geometry=geometries(), batch=st.integers(1, 2), channels=st.integers(1, 2), out=st.integers(1, 2), seed=seeds)
def test_backward_is_the_slope(geometry, batch, channels, out, seed):
    """P-L4, P-L5: dx, dweight, dbias (eq 27 with its edge cases)."""
    size, kernel, stride, dilation = geometry
    x, weight, bias = normal(seed, batch, *size, channels), normal(seed, out, *kernel, channels), normal(seed, out)
    next_grad = normal(seed + 1, *forward(x, weight, bias, stride, dilation).shape)
    derivatives = backward(next_grad, x, weight, stride, dilation)
    assert_slopes(derivatives, lambda *each: forward(*each, stride, dilation), (x, weight, bias), next_grad)


POOLINGS = [None, ((2, 2), (2, 2), (1, 1)), ((2, 1), (1, 2), (1, 1)), ((1, 2), (1, 1), (1, 2))]
SMOOTH = {"identity": lambda z: z, "tanh": np.tanh, "sigmoid": lambda z: 1 / (1 + np.exp(-z))}


@settings(max_examples=40, deadline=None)
@given(
    geometry=geometries(),
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    pooling=st.sampled_from(POOLINGS),
    name=st.sampled_from(sorted(SMOOTH)),
    seed=seeds,
)
def test_padding_activation_and_pooling(geometry, padding, pooling, name, seed):
    """Each by loops or its formula, one after another; derivatives are slopes."""
    size, kernel, stride, dilation = geometry
    left, right, top, bottom = padding
    x, weight, bias = normal(seed, 2, *size, 2), normal(seed + 1, 2, *kernel, 2), normal(seed + 2, 2)
    expected = SMOOTH[name](
        loops(np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0))), weight, bias, stride, dilation)
    )
    if pooling is not None:
        (high, wide), (down, across), (apart, beside) = pooling
        rows, columns = (
            (expected.shape[1] - apart * (high - 1) - 1) // down + 1,
            (expected.shape[2] - beside * (wide - 1) - 1) // across + 1,
        )
        assume(min(rows, columns) > 0)
        taps = [
            (r * down + i * apart, c * across + j * beside)
            for r in range(rows)
            for c in range(columns)
            for i in range(high)
            for j in range(wide)
        ]
        expected = (
            np.stack([expected[:, r, c] for r, c in taps], 1).reshape(2, rows, columns, high * wide, 2).max(axis=3)
        )

    window, activation = (
        Window(stride, dilation, padding, pooling),
        IDENTITY if name == "identity" else Activation(name),
    )
    y, winners = conv2d.forward(x, weight, bias, window, activation)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    assert (winners is None) == (pooling is None)
    next_grad = normal(seed + 3, *y.shape)
    dx, dweight, dbias = conv2d.backward(next_grad, x, weight, window, activation, y, winners)
    derivatives, arrays = (dx, dweight, dbias), (x, weight, bias)
    assert_slopes(derivatives, lambda *each: conv2d.forward(*each, window, activation)[0], arrays, next_grad)
    unwanted, *others = conv2d.backward(next_grad, x, weight, window, activation, y, winners, False)
    assert unwanted is None
    for one, other in zip(others, (dweight, dbias), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fixture_same_padded_ones():
    """P-L3: a 5x5 image of ones (and of twos in a second sample), same padding, a 3x3 kernel of ones."""
    x = np.zeros((2, 7, 7, 1))
    x[0, 1:6, 1:6], x[1, 1:6, 1:6] = 1, 2
    expected = grid("4 6 6 6 4 / 6 9 9 9 6 / 6 9 9 9 6 / 6 9 9 9 6 / 4 6 6 6 4")
    y = forward(x, np.ones((1, 3, 3, 1)), None, (1, 1), (1, 1))
    np.testing.assert_array_equal(y, np.concatenate([expected, 2 * expected]))


ONES = "1 1 1 1 1 1 1 1 1"
FIXTURES = {
    "misalign": (
        *(6, (2, 2), (1, 1), 2, 4),
        "1 1 2 1 1 0 / 1 1 2 1 1 0 / 2 2 4 2 2 0 / 1 1 2 1 1 0 / 1 1 2 1 1 0 / 0 0 0 0 0 0",
    ),
    "dilate": (*(9, (1, 1), (3, 3), 3, 9), " / ".join([ONES] * 9)),
    "stride_and_dilate": (
        *(7, (2, 2), (2, 2), 2, 4),
        "1 0 2 0 2 0 1 / 0 0 0 0 0 0 0 / 2 0 4 0 4 0 2 / 0 0 0 0 0 0 0 / 2 0 4 0 4 0 2 / 0 0 0 0 0 0 0 / 1 0 2 0 2 0 1",
    ),
}


@pytest.mark.parametrize(("size", "stride", "dilation", "out", "dweight", "dx"), FIXTURES.values(), ids=FIXTURES)
def test_fixtures_of_ones(size, stride, dilation, out, dweight, dx):
    """P-L4: image, 3x3 kernel and next gradient of ones; dx by pixel, unused right and bottom pixels 0."""
    x, weight, next_grad = np.ones((1, size, size, 1)), np.ones((1, 3, 3, 1)), np.ones((1, out, out, 1))
    np.testing.assert_array_equal(forward(x, weight, None, stride, dilation), 9 * next_grad)
    got = backward(next_grad, x, weight, stride, dilation)
    np.testing.assert_array_equal(got[0], grid(dx))
    np.testing.assert_array_equal(got[1], np.full((1, 3, 3, 1), dweight))
    np.testing.assert_array_equal(got[2], [out * out])


def test_bias_gradient_keeps_its_digits():
    """P-L5: 600·28·28 float32 numbers near 1 sum to within a few units in the last place."""
    next_grad = np.random.default_rng(0).uniform(0.5, 1.5, (600, 28, 28, 2)).astype(np.float32)
    _, _, dbias = backward(
        next_grad, np.ones((600, 28, 28, 1), np.float32), np.ones((2, 1, 1, 1), np.float32), (1, 1), (1, 1)
    )
    np.testing.assert_allclose(dbias, next_grad.sum(axis=(0, 1, 2), dtype=np.float64), rtol=1e-6)


def test_dilate2d_fixture():
    """P-T13: 3x3 with factor 3 -> 7x7 (eq 26)."""
    x = grid("1 2 3 / 4 5 6 / 7 8 9")
    blank = "0 0 0 0 0 0 0"
    expected = f"1 0 0 2 0 0 3 / {blank} / {blank} / 4 0 0 5 0 0 6 / {blank} / {blank} / 7 0 0 8 0 0 9"
    np.testing.assert_array_equal(dilate2d(x, (3, 3)), grid(expected))


@settings(max_examples=30, deadline=None)
@given(
    size=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    factor=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=seeds,
)
def test_dilate2d(size, factor, seed):
    """P-T13: output factor·(size - 1) + 1; the pixels are found again, the rest is 0."""
    x = normal(seed, 2, *size, 3)
    y = dilate2d(x, factor)
    assert y.shape == (2, factor[0] * (size[0] - 1) + 1, factor[1] * (size[1] - 1) + 1, 3)
    np.testing.assert_array_equal(y[:, :: factor[0], :: factor[1]], x)
    assert np.count_nonzero(y) == np.count_nonzero(x)


@settings(max_examples=30, deadline=None)
@given(geometry=geometries(), batch=st.integers(1, 2), channels=st.integers(1, 2), out=st.integers(1, 2), seed=seeds)
def test_input_gradient_is_eq_27_written_out(geometry, batch, channels, out, seed):
    """P-L4: dx = pad_full(dilate2d(dy, stride)) star the reversed kernel with its channel axes exchanged."""
    size, kernel, stride, dilation = geometry
    x, weight = normal(seed, batch, *size, channels), normal(seed, out, *kernel, channels)
    next_grad = normal(seed + 1, *forward(x, weight, None, stride, dilation).shape)
    spread = dilate2d(next_grad, stride)
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    padded = np.pad(spread, ((0, 0), (reach[0],) * 2, (reach[1],) * 2, (0, 0)))
    expected = np.zeros_like(x)
    met = forward(padded, np.flip(weight, (1, 2)).transpose(3, 1, 2, 0), None, (1, 1), dilation)
    expected[:, : met.shape[1], : met.shape[2]] = met
    np.testing.assert_allclose(backward(next_grad, x, weight, stride, dilation)[0], expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(geometry=geometries(), seed=seeds)
def test_correlation_and_convolution_of_matrices(geometry, seed):
    """P-T5: eq 10 by loops; convolution by its direct formula Σ_ij image[r·s + kh-1-i, c·s + kw-1-j] kernel[i,j]."""
    size, kernel_size, stride, _ = geometry
    image, kernel = (
        normal(seed, *(max(pair) for pair in zip(size, kernel_size, strict=True))),
        normal(seed, *kernel_size),
    )
    out = tuple((image.shape[axis] - kernel_size[axis]) // stride[axis] + 1 for axis in (0, 1))
    correlated, convolved = np.zeros(out), np.zeros(out)
    for r, c in np.ndindex(out):
        for i, j in np.ndindex(kernel_size):
            top, left = r * stride[0], c * stride[1]
            correlated[r, c] += image[top + i, left + j] * kernel[i, j]
            convolved[r, c] += image[top + kernel_size[0] - 1 - i, left + kernel_size[1] - 1 - j] * kernel[i, j]
    np.testing.assert_allclose(cross_correlate2d(image, kernel, stride), correlated, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(convolve2d(image, kernel, stride), convolved, rtol=1e-12, atol=1e-12)


def test_convolution_turns_the_kernel_round():
    """P-T5: a pixel convolved with a kernel gives the kernel, correlated it gives the reversed kernel."""
    pixel, kernel = np.zeros((3, 3)), np.array([[1.0, 2.0], [3.0, 4.0]])
    pixel[1, 1] = 1
    np.testing.assert_array_equal(convolve2d(pixel, kernel, (1, 1)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(cross_correlate2d(pixel, kernel, (1, 1)), [[4, 3], [2, 1]])
