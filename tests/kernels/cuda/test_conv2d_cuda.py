"""conv2d on a GPU against the reference in float64: any sizes, strides and dilations; NaN and infinities; slopes."""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import conv2d

# (kernel, stride, dilation): few, since each is compiled anew.
WINDOWS = [
    ((1, 1), (1, 1), (1, 1)),
    ((1, 1), (2, 3), (1, 1)),
    ((3, 3), (1, 1), (1, 1)),
    ((5, 5), (1, 1), (1, 1)),
    ((2, 3), (2, 1), (1, 2)),
    ((3, 2), (3, 4), (2, 1)),
    ((1, 4), (1, 2), (1, 3)),
]


def problem(window, spare, batch, inward, outward, seed, dtype):
    """(x, weight, bias, next_grad) of this geometry, with ``spare`` pixels more than the window needs."""
    kernel, stride, dilation = window
    size = [d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True)]
    windows = [more // s + 1 for more, s in zip(spare, stride, strict=True)]
    shapes = ((batch, *size, inward), (outward, *kernel, inward), (outward,), (batch, *windows, outward))
    return [numbers(seed + place, *shape).astype(dtype) for place, shape in enumerate(shapes)]


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
    seed=seeds,
)
def test_forward_and_backward_are_the_reference(gpu, window, spare, batch, inward, outward, biased, seed):
    x, weight, bias, next_grad = problem(window, spare, batch, inward, outward, seed, np.float32)
    _, *steps = window
    doubled = [array.astype(np.float64) for array in (x, weight, bias)]
    sizes = [np.abs(array) for array in doubled]
    if not biased:
        bias = doubled[2] = sizes[2] = None
    got = gpu.run("conv2d.forward", conv2d.forward, x, weight, bias, *steps)
    assert got.dtype == np.float32
    exact, bound = gpu.reference(conv2d.forward, *doubled, *steps), gpu.reference(conv2d.forward, *sizes, *steps)
    assert_close(got, exact, bound, weight[0].size + 1)

    grads = gpu.run("conv2d.backward", conv2d.backward, next_grad, x, weight, *steps)
    wide = next_grad.astype(np.float64)
    exact = gpu.reference(conv2d.backward, wide, *doubled[:2], *steps)
    bounds = gpu.reference(conv2d.backward, np.abs(wide), *sizes[:2], *steps)
    pixels = next_grad[..., 0].size
    for one, wanted, bound, terms in zip(grads, exact, bounds, (weight[..., 0].size, pixels, pixels), strict=True):
        assert one.dtype == np.float32
        assert_close(one, wanted, bound, terms)


@pytest.mark.parametrize("window", WINDOWS)
def test_slopes_in_float64(gpu, window, assert_slope):
    x, weight, bias, next_grad = problem(window, (3, 2), 2, 2, 3, 0, np.float64)
    _, *steps = window

    def y(x, weight, bias):
        return gpu.run("conv2d.forward", conv2d.forward, x, weight, bias, *steps)

    dx, dweight, dbias = gpu.run("conv2d.backward", conv2d.backward, next_grad, x, weight, *steps)
    assert_slope(dx, lambda x: y(x, weight, bias), x, next_grad)
    assert_slope(dweight, lambda weight: y(x, weight, bias), weight, next_grad)
    assert_slope(dbias, lambda bias: y(x, weight, bias), bias, next_grad)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_the_references(gpu, window, bad):
    """Each in turn in x, in a weight, in the next gradient: not one element more or fewer is NaN or infinite."""
    _, *steps = window
    for spoiled in (0, 1, 3):
        x, weight, bias, next_grad = arrays = [array.copy() for array in problem(window, (4, 5), 2, 3, 2, spoiled, np.float32)]
        arrays[spoiled].reshape(-1)[arrays[spoiled].size // 2] = bad
        with np.errstate(invalid="ignore"):
            got = [gpu.run("conv2d.forward", conv2d.forward, x, weight, bias, *steps)]
            got += gpu.run("conv2d.backward", conv2d.backward, next_grad, x, weight, *steps)
        wanted = [gpu.reference(conv2d.forward, x, weight, bias, *steps)]
        wanted += gpu.reference(conv2d.backward, next_grad, x, weight, *steps)
        for one, expected in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-3, atol=1e-4)


def test_many_blocks(gpu):
    """More numbers than one round of all blocks would cover, were the grid one block: LeNet5's second convolution."""
    x, weight, bias, next_grad = problem(((5, 5), (1, 1), (1, 1)), (9, 9), 20, 6, 16, 3, np.float64)
    steps = ((1, 1), (1, 1))
    np.testing.assert_allclose(
        gpu.run("conv2d.forward", conv2d.forward, x, weight, bias, *steps), gpu.reference(conv2d.forward, x, weight, bias, *steps)
    )
    for got, wanted in zip(
        gpu.run("conv2d.backward", conv2d.backward, next_grad, x, weight, *steps),
        gpu.reference(conv2d.backward, next_grad, x, weight, *steps),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, atol=1e-9)


def test_what_does_not_fit_is_left_to_the_reference(gpu):
    """float16, two dtypes, arrays with gaps, and sizes that contradict each other, about which the reference complains."""
    x, weight, bias, next_grad = problem(WINDOWS[2], (3, 3), 2, 2, 4, 0, np.float32)
    steps = ((1, 1), (1, 1))
    there = [gpu.put(array) for array in (x, weight, bias, next_grad)]
    with counting() as counts:
        conv2d.forward(there[0].astype(np.float16), there[1].astype(np.float16), None, *steps)
        conv2d.forward(there[0], there[1].astype(np.float64), None, *steps)
        conv2d.forward(there[0][:, ::-1], there[1], there[2], *steps)
        for wrong in ((there[0], there[1], there[2][:3]), (there[0], gpu.put(weight[..., :1]), None)):
            with pytest.raises(ValueError, match=r"."):
                conv2d.forward(*wrong, *steps)
        with pytest.raises(ValueError, match=r"."):
            conv2d.backward(gpu.put(next_grad[:, 1:]), there[0], there[1], *steps)
    assert dict(counts) == {("conv2d.forward", "reference"): 5, ("conv2d.backward", "reference"): 1}
