"""Winograd's convolution against the reference in float64: sizes, padding, pooling, threads, what is not finite, when
it runs.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from effort import very_expensive
from fast_ops import on_every_target, quiet, same_on_all_threads, widened
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from typednn import engines
from typednn.engines.halide import toolchain
from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, RELU
from typednn.kernels.conv2d import Window, cpu, reference, winograd

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

POOLED = ((2, 2), (2, 2), (1, 1))
RAN = {("conv2d.forward", "winograd"), ("conv2d.backward", "winograd")}


@pytest.fixture(scope="module", autouse=True)
def own_threads() -> Iterator[None]:
    before = engines.get_threads()
    yield
    engines.set_threads(before)


def normal(seed, *shape, dtype=np.float32):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


# The absolute values of the matrices of Lavin and Gray: what their sums would be without a cancellation, which bounds
# the rounding.
PIXELS = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]])
BANK = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]])
OUTPUTS = np.array([[1, 1, 1, 0], [0, 1, 1, 1]])


def tiles(images, padding, size):
    """The 4x4 pixels of each tile: (batch, down, across, channels, 4, 4), of |images| with zeros around them."""
    left, _, top, _ = padding
    height, width = (-(-side // 2) * 2 + 2 for side in size)
    around = np.zeros((len(images), height + 9, width + 9, images.shape[3]))
    around[:, top + 4 : top + 4 + images.shape[1], left + 4 : left + 4 + images.shape[2]] = np.abs(images)
    seen = around[:, 4 : 4 + height, 4 : 4 + width]
    return sliding_window_view(seen, (4, 4), axis=(1, 2))[:, ::2, ::2]


def bound(images, weight, padding, size):
    """Of a convolution: the numbers that each output is summed from, without their signs."""
    of_pixels = np.einsum("ia,nyxcab,jb->nyxcij", PIXELS, tiles(images, padding, size), PIXELS)
    of_weight = np.einsum("ia,oabc,jb->ocij", BANK, np.abs(weight), BANK)
    products = np.einsum("nyxcij,ocij->nyxoij", of_pixels, of_weight, optimize=True)
    outputs = np.einsum("ai,nyxoij,bj->nyaxbo", OUTPUTS, products, OUTPUTS)
    batch, down, _, across, _, channels = outputs.shape
    return outputs.reshape(batch, 2 * down, 2 * across, channels)[:, : size[0], : size[1]]


def bound_of_weights(images, dz, padding):
    """Of dweight."""
    size = dz.shape[1:3]
    of_pixels = np.einsum("ia,nyxcab,jb->nyxcij", PIXELS, tiles(images, padding, size), PIXELS)
    around = np.zeros((len(dz), *(-(-side // 2) * 2 for side in size), dz.shape[3]))
    around[:, : size[0], : size[1]] = np.abs(dz)
    blocks = around.reshape(len(dz), around.shape[1] // 2, 2, around.shape[2] // 2, 2, -1)
    of_dz = np.einsum("ai,nyaxbo,bj->nyxoij", OUTPUTS, blocks, OUTPUTS)
    products = np.einsum("nyxcij,nyxoij->ocij", of_pixels, of_dz, optimize=True)
    return np.einsum("ia,ocij,jb->oabc", BANK, products, BANK)


def assert_close(got, exact, magnitudes, terms):
    assert got.shape == exact.shape
    assert got.flags.c_contiguous
    assert (np.abs(got - exact) <= (terms + 16) * np.finfo(got.dtype).eps * magnitudes).all()


def ran(x, weight, bias, window, activation=IDENTITY):
    """y and winners, next_grad, and its derivatives; asserts that Winograd's kernels compute them."""
    with engines.counting() as counts:
        y, winners = conv2d.forward(x, weight, bias, window, activation)
        next_grad = normal(9, *y.shape, dtype=x.dtype)
        gradients = conv2d.backward(next_grad, x, weight, window, activation, y, winners)
    assert set(counts) == RAN
    return (y, winners), next_grad, gradients


@very_expensive
@given(
    size=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    inputs=st.sampled_from([32, 48, 64]),
    outputs=st.sampled_from([32, 48, 80]),
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    spare=st.integers(0, 9),
    biased=st.booleans(),
    threads=st.integers(1, 2),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_it_is_the_reference(size, inputs, outputs, padding, spare, biased, threads, dtype):
    window = Window(padding=padding)
    height, width = window.convolved(size, (3, 3))
    batch = spare + 1 + 128 // (-(-height // 2) * -(-width // 2))
    x, weight = normal(0, batch, *size, inputs, dtype=dtype), normal(1, outputs, 3, 3, inputs, dtype=dtype)
    bias = normal(2, outputs, dtype=dtype) if biased else None
    assume(winograd.plan(x, weight, bias, window, IDENTITY, True) is not None)
    engines.set_threads(threads)
    (y, _), next_grad, (dx, dweight, dbias) = ran(x, weight, bias, window)
    wide = [widened(array) for array in (x, weight, bias)]
    exact, _ = reference.forward(*wide, window)
    assert_close(
        y, exact, bound(wide[0], wide[1], padding, (height, width)) + (0 if bias is None else np.abs(bias)), inputs
    )
    exact_dx, exact_dweight, exact_dbias = reference.backward(widened(next_grad), wide[0], wide[1], window)
    around = tuple(2 - zeros for zeros in padding)
    assert_close(dx, exact_dx, bound(next_grad, wide[1].transpose(3, 1, 2, 0)[:, ::-1, ::-1], around, size), outputs)
    assert_close(dweight, exact_dweight, bound_of_weights(wide[0], next_grad, padding), next_grad.size // outputs)
    assert_close(dbias, exact_dbias, np.abs(next_grad).sum((0, 1, 2)), next_grad.size // outputs)


@pytest.mark.parametrize("size", [(8, 8), (9, 7)])
def test_pooling_and_an_activation(size):
    """y within rounding; winners are as large as the largest within rounding; derivatives are the reference's with
    these winners.
    """
    window, batch = Window(padding=(1, 1, 1, 1), pooling=POOLED), 14
    x, weight, bias = normal(0, batch, *size, 32), normal(1, 48, 3, 3, 32), normal(2, 48)
    (y, winners), next_grad, (dx, dweight, dbias) = ran(x, weight, bias, window, RELU)
    wide = [widened(array) for array in (x, weight, bias)]
    z, _ = reference.forward(*wide, window._replace(pooling=None))
    bounds = bound(wide[0], wide[1], window.padding, size) + np.abs(bias)

    def windows(array):
        height, width = (side // 2 * 2 for side in size)
        blocks = array[:, :height, :width].reshape(batch, height // 2, 2, width // 2, 2, -1)
        return blocks.transpose(0, 1, 3, 5, 2, 4).reshape(*blocks.shape[:2], blocks.shape[3], blocks.shape[5], 4)

    largest = windows(bounds).max(-1)
    assert_close(y, np.maximum(windows(z).max(-1), 0), largest, 32)
    won = np.take_along_axis(windows(z), winners[..., None].astype(int), -1)[..., 0]
    assert_close(won.astype(np.float32), windows(z).max(-1), 2 * largest, 32)
    wanted = reference.backward(widened(next_grad), wide[0], wide[1], window, RELU, widened(y), winners)
    dz = widened(
        np.abs(
            reference.derivative(next_grad, y, winners, (batch, *size, 48), window, RELU, reference.max_pool2d.backward)
        )
    )
    assert_close(dx, wanted[0], bound(dz, wide[1].transpose(3, 1, 2, 0)[:, ::-1, ::-1], window.padding, size), 48)
    assert_close(dweight, wanted[1], bound_of_weights(wide[0], dz, window.padding), dz.size // 48)
    assert_close(dbias, wanted[2], dz.sum((0, 1, 2)), dz.size // 48)


SAME = Window(padding=(1, 1, 1, 1))


@pytest.mark.parametrize("channels", [32, 512])
def test_threads_and_repetition_change_no_bit(channels):
    """Sums of dw over more tiles than are computed at a time, with a remainder."""
    x, weight = normal(0, 70, 4, 4, channels), normal(1, 32, 3, 3, channels)

    def computed():
        (y, _), _, gradients = ran(x, weight, None, SAME)
        return y, *gradients

    same_on_all_threads(computed)


@quiet
@pytest.mark.parametrize("activation", [IDENTITY, RELU])
@pytest.mark.parametrize("pooling", [None, POOLED])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_the_reference_s(bad, pooling, activation):
    """Each in turn in x, in a weight, in the bias, in the next gradient: no other number is touched."""
    window = SAME._replace(pooling=pooling)
    for spoiled in range(4):
        arrays = [normal(0, 9, 8, 7, 32), normal(1, 32, 3, 3, 32), normal(2, 32)]
        arrays.append(normal(3, *reference.forward(*arrays, window, activation)[0].shape))
        array = arrays[spoiled].reshape(-1)
        array[np.random.default_rng(spoiled).integers(array.size)] = bad
        x, weight, bias, next_grad = arrays
        y, _ = conv2d.forward(x, weight, bias, window, activation)
        wanted, chosen = reference.forward(x, weight, bias, window, activation)
        got = [y, *conv2d.backward(next_grad, x, weight, window, activation, wanted, chosen)]
        expected = [wanted, *reference.backward(next_grad, x, weight, window, activation, wanted, chosen)]
        for one, other in zip(got, expected, strict=True):
            if pooling is None or one is y:
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@quiet
@quiet
def test_what_is_not_finite_where_no_other_kernel_is(monkeypatch):
    """Winograd's sums can't be used, and other sizes took all kernels of `TYPEDNN_SIZES`: the reference computes."""
    for plan in ("plan", "plan_backward", "plan_by_products"):
        monkeypatch.setattr(cpu, plan, lambda *_: None)
    x, weight, next_grad = normal(0, 9, 8, 7, 32), normal(1, 32, 3, 3, 32), normal(2, 9, 8, 7, 32)
    x[1, 2, 3, 0] = np.inf
    with engines.counting() as counts:
        got = [*conv2d.forward(x, weight, None, SAME), *conv2d.backward(next_grad, x, weight, SAME)]
    assert set(counts) == RAN
    expected = [*reference.forward(x, weight, None, SAME), *reference.backward(next_grad, x, weight, SAME)]
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_pooling_hides_no_infinity():
    """With these weights, tiles sum to -inf and NaN in the first channel, where the largest of a window is one of its
    finite numbers.
    """
    x, weight, window = normal(0, 20, 8, 8, 32), normal(1, 32, 3, 3, 32), Window(pooling=POOLED)
    x[1, 0, 1, 5] = np.inf
    weight[0, 0, :, 5], weight[1, 0, :, 5] = [-1, -2, -0.5], [1, -2, 0.5]
    y, _ = conv2d.forward(x, weight, None, window)
    np.testing.assert_allclose(y, reference.forward(x, weight, None, window)[0], rtol=1e-3, atol=1e-3)
    assert y[1, 0, 0, 1] == np.inf


def test_when_it_runs():
    """3x3, stride 1, at least 32 channels in and out, in sixteens, and a batch of at least 128 tiles."""

    def engine(x, weight, window=SAME):
        with engines.counting() as counts:
            conv2d.forward(np.zeros(x, np.float32), np.zeros(weight, np.float32), None, window)
        ((_, name),) = counts
        return name

    assert engine((8, 8, 8, 32), (32, 3, 3, 32)) == "winograd"
    for x, weight, window in (
        ((7, 8, 8, 32), (32, 3, 3, 32), SAME),  # 112 tiles
        ((8, 8, 8, 40), (32, 3, 3, 40), SAME),
        ((8, 8, 8, 32), (24, 3, 3, 32), SAME),
        ((64, 3, 3, 32), (32, 3, 3, 32), SAME),  # 4 tiles for 9 pixels
        ((8, 9, 9, 32), (32, 5, 5, 32), SAME),
        ((8, 8, 8, 32), (32, 3, 3, 32), SAME._replace(stride=(2, 1))),
        ((8, 8, 8, 32), (32, 3, 3, 32), SAME._replace(pooling=((3, 3), (3, 3), (1, 1)))),
    ):
        assert engine(x, weight, window) == "halide"


@pytest.mark.parametrize("pooling", [None, POOLED])
def test_on_every_target(pooling, tmp_path):
    geometry = cpu.geometry_of((5, 4, 32), (48, 3, 3, 32), SAME._replace(pooling=pooling))
    on_every_target(cpu.forward_kernel(geometry, True, IDENTITY, False, build=winograd.build_forward), tmp_path)
    if pooling is None:
        on_every_target(cpu.dx_kernel(geometry, IDENTITY, build=winograd.build_dx), tmp_path)
        on_every_target(cpu.dweight_kernel(geometry, IDENTITY, build=winograd.build_dweight), tmp_path)
