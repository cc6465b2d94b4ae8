"""conv2d on a GPU against the reference in float64: any sizes, strides, dilations, padding, pooling; NaN and
infinities; slopes.
"""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes

from typednn.engines import counting
from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.conv2d import Window

# (kernel, window): few, since each is compiled anew.
WINDOWS = [
    ((1, 1), Window()),
    ((1, 1), Window((2, 3))),
    ((3, 3), Window()),
    ((5, 5), Window()),
    ((2, 3), Window((2, 1), (1, 2))),
    ((3, 2), Window((3, 4), (2, 1))),
    ((1, 4), Window((1, 2), (1, 3))),
    ((1, 1), Window(padding=(1, 0, 0, 2))),
    ((2, 3), Window((2, 1), (1, 2), (2, 1, 0, 3))),
    ((3, 3), Window(padding=(1, 2, 2, 1), pooling=((2, 2), (2, 2), (1, 1)))),
    ((2, 2), Window((1, 2), pooling=((2, 1), (1, 1), (2, 1)))),
]


def problem(window, spare, batch, inward, outward, seed, dtype):
    """(x, weight, bias) of this geometry, with ``spare`` pixels more than two steps of the window need, for some to be
    pooled.
    """
    kernel, steps = window
    size = [
        s + d * (k - 1) + 1 + more for s, d, k, more in zip(steps.stride, steps.dilation, kernel, spare, strict=True)
    ]
    size = [more + (steps.pooling is not None) * 2 * s for more, s in zip(size, steps.stride, strict=True)]
    shapes = ((batch, *size, inward), (outward, *kernel, inward), (outward,))
    return [numbers(seed + place, *shape).astype(dtype) for place, shape in enumerate(shapes)]


def forward(gpu, x, weight, bias, window, activation=IDENTITY):
    """(y, winners) by CUDA kernels."""
    with counting() as counts:
        y, winners = conv2d.forward(
            *[None if array is None else gpu.put(array) for array in (x, weight, bias)], window, activation
        )
    assert dict(counts) == {("conv2d.forward", "cuda"): 1}
    return gpu.get(y), None if winners is None else gpu.get(winners)


def assert_close(got, exact, sizes, terms):
    """Within what rounding ``terms`` products and their sum may cost."""
    assert got.shape == exact.shape
    assert got.flags.c_contiguous
    assert (np.abs(got - exact) <= (terms + 8) * np.finfo(got.dtype).eps * sizes).all()


@settings(max_examples=100, deadline=None)
@given(
    window=st.sampled_from(WINDOWS),
    spare=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    batch=st.integers(1, 3),
    inward=st.integers(1, 6),
    outward=st.integers(1, 6),
    biased=st.booleans(),
    activation=st.sampled_from([IDENTITY, RELU, Activation("tanh")]),
    seed=seeds,
)
def test_forward_and_backward_are_the_reference(gpu, window, spare, batch, inward, outward, biased, activation, seed):
    """G-C13: any window, with bias and activation."""
    x, weight, bias = problem(window, spare, batch, inward, outward, seed, np.float32)
    _, steps = window
    doubled = [array.astype(np.float64) for array in (x, weight, bias)]
    sizes = [np.abs(array) for array in doubled]
    if not biased:
        bias = doubled[2] = sizes[2] = None
    got, winners = forward(gpu, x, weight, bias, steps, activation)
    assert got.dtype == np.float32
    exact, _ = gpu.reference(conv2d.forward, *doubled, steps, activation)
    bound, _ = gpu.reference(conv2d.forward, *sizes, steps)  # none of the activations is steeper than 1
    assert_close(got, exact, bound + 1, weight[0].size + 1)

    next_grad = numbers(seed + 3, *got.shape).astype(np.float32)
    grads = gpu.run(conv2d.backward, next_grad, x, weight, steps, activation, got, winners)
    wide = next_grad.astype(np.float64)
    exact = gpu.reference(conv2d.backward, wide, *doubled[:2], steps, activation, got.astype(np.float64), winners)
    bounds = gpu.reference(conv2d.backward, np.abs(wide), *sizes[:2], steps, IDENTITY, got, winners)
    pixels = next_grad[..., 0].size
    for one, wanted, bound, terms in zip(grads, exact, bounds, (weight[..., 0].size, pixels, pixels), strict=True):
        assert one.dtype == np.float32
        assert_close(one, wanted, bound, terms)


@pytest.mark.parametrize("window", WINDOWS)
def test_slopes_in_float64(gpu, window):
    x, weight, bias = problem(window, (3, 2), 2, 2, 3, 0, np.float64)
    _, steps = window
    tanh = Activation("tanh")

    def y(x, weight, bias):
        return forward(gpu, x, weight, bias, steps, tanh)[0]

    held, winners = forward(gpu, x, weight, bias, steps, tanh)
    next_grad = numbers(3, *held.shape).astype(np.float64)
    slopes = gpu.run(conv2d.backward, next_grad, x, weight, steps, tanh, held, winners)
    assert_slopes(slopes, y, (x, weight, bias), next_grad)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_the_references(gpu, window, bad):
    """Each in turn in x, in a weight, in the next gradient: not one element more or fewer is NaN or infinite."""
    _, steps = window
    for spoiled in range(3):
        x, weight, bias = arrays = [array.copy() for array in problem(window, (4, 5), 2, 3, 2, spoiled, np.float32)]
        next_grad = numbers(3, *gpu.reference(conv2d.forward, x, weight, bias, steps)[0].shape).astype(np.float32)
        array = (*arrays[:2], next_grad)[spoiled]
        array.reshape(-1)[array.size // 2] = bad
        with np.errstate(invalid="ignore"):
            y, winners = forward(gpu, x, weight, bias, steps, RELU)
            got = [y, *gpu.run(conv2d.backward, next_grad, x, weight, steps, RELU, y, winners)]
        wanted = [gpu.reference(conv2d.forward, x, weight, bias, steps, RELU)[0]]
        wanted += gpu.reference(conv2d.backward, next_grad, x, weight, steps, RELU, y, winners)
        for one, expected in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-3, atol=1e-4)


def test_many_blocks(gpu):
    """More numbers than one round of all blocks would cover, were the grid one block: LeNet5's second convolution."""
    x, weight, bias = problem(((5, 5), Window()), (8, 8), 20, 6, 16, 3, np.float64)
    y, _ = forward(gpu, x, weight, bias, Window())
    np.testing.assert_allclose(y, gpu.reference(conv2d.forward, x, weight, bias, Window())[0])
    next_grad = numbers(6, *y.shape).astype(np.float64)
    for got, wanted in zip(
        gpu.run(conv2d.backward, next_grad, x, weight, Window()),
        gpu.reference(conv2d.backward, next_grad, x, weight, Window()),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, atol=1e-9)


def test_only_what_is_wanted(gpu):
    """No dx, and no winners, where nobody asks for them."""
    window = Window(pooling=((2, 2), (2, 2), (1, 1)))
    x, weight, bias = (gpu.put(array) for array in problem(((3, 3), window), (3, 3), 2, 2, 4, 0, np.float32))
    y, winners = conv2d.forward(x, weight, bias, window, RELU)
    alone, none = conv2d.forward(x, weight, bias, window, RELU, False)
    np.testing.assert_array_equal(gpu.get(alone), gpu.get(y))
    assert none is None
    whole = conv2d.backward(y, x, weight, window, RELU, y, winners)
    dx, *others = conv2d.backward(y, x, weight, window, RELU, y, winners, False)
    assert dx is None
    for one, other in zip(others, whole[1:], strict=True):
        np.testing.assert_array_equal(gpu.get(one), gpu.get(other))


def test_what_does_not_fit_is_left_to_the_reference(gpu):
    """float16, two dtypes, arrays with gaps, and sizes that contradict each other, about which the
    reference complains.
    """
    x, weight, bias = problem(WINDOWS[2], (2, 2), 2, 2, 4, 0, np.float32)
    there = [gpu.put(array) for array in (x, weight, bias)]
    with counting() as counts:
        conv2d.forward(there[0].astype(np.float16), there[1].astype(np.float16), None, Window())
        conv2d.forward(there[0], there[1].astype(np.float64), None, Window())
        conv2d.forward(there[0][:, ::-1], there[1], there[2], Window())
        more = gpu.put(np.concatenate([weight, weight[..., :1]], axis=-1))  # channels than x has
        for wrong in ((there[0], there[1], there[2][:3]), (there[0], more, None)):
            with pytest.raises(ValueError, match=r"."):
                conv2d.forward(*wrong, Window())
        with pytest.raises(ValueError, match=r"."):
            conv2d.backward(gpu.put(numbers(0, 2, 3, 4, 4).astype(np.float32)), there[0], there[1], Window())
    assert dict(counts) == {("conv2d.forward", "reference"): 3}
