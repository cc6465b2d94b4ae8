"""group_norm in Halide against the reference."""

import numpy as np
import pytest
from fast_ops import agree, every_target, needs_halide, numbers, quiet, seeds, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn import engines
from typednn.kernels import group_norm
from typednn.kernels.group_norm import cpu, reference

pytestmark = [needs_halide, quiet]

CASES = [(1, 1, np.float32), (12, 4, np.float32), (40, 1, np.float32), (70, 35, np.float32), (33, 3, np.float64)]
each_case = pytest.mark.parametrize(("channels", "groups", "dtype"), CASES)
images = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 40))
EPS = 1e-3


def near(found, wanted, magnitude, ulps=16):
    """Assert that every number is within some roundings of ``magnitude``."""
    excess = abs(found - wanted) - ulps * np.finfo(found.dtype).eps * magnitude
    assert excess.max() <= 0, f"{excess.max()} over the bound"


@each_case
@settings(max_examples=12, deadline=None)
@given(image=images, mean=st.sampled_from([0.0, 30.0]), seed=seeds)
def test_results(channels, groups, dtype, image, mean, seed):
    x = numbers(seed, *image, channels, dtype=dtype) + dtype(mean)
    next_grad = numbers(seed + 3, *x.shape, dtype=dtype)
    weight, bias = numbers(seed + 1, channels, dtype=dtype), numbers(seed + 2, channels, dtype=dtype)
    (y,) = agree("group_norm.forward", group_norm.forward, x, weight, bias, groups, EPS, magnitude=lambda *_: np.inf)
    found = agree(
        "group_norm.backward", group_norm.backward, next_grad, x, weight, groups, EPS, magnitude=lambda *_: np.inf
    )

    wide_x, wide_grad, wide_weight, wide_bias = map(widened, (x, next_grad, weight, bias))
    by_group = wide_x.reshape(*image, groups, -1)
    centred = by_group - by_group.mean((1, 2, 4), keepdims=True)
    rate = 1 / np.sqrt((centred * centred).mean((1, 2, 4), keepdims=True) + EPS)
    # The mean, of the arrays' type, is off by its own rounding; everything is as large as a group's largest number,
    # times the rate.
    largest = abs(by_group).max((1, 2, 4), keepdims=True)
    normal = ((abs(centred) + largest) * rate).reshape(x.shape)
    near(y, reference.forward(wide_x, wide_weight, wide_bias, groups, EPS), normal * abs(wide_weight) + abs(wide_bias))

    wanted = reference.backward(wide_grad, wide_x, wide_weight, groups, EPS)
    g = abs(wide_grad * wide_weight).reshape(by_group.shape)
    h = normal.reshape(by_group.shape)
    dx = rate * (g + g.mean((1, 2, 4), keepdims=True) + h * (g * h).mean((1, 2, 4), keepdims=True))
    near(found[0], wanted[0], dx.reshape(x.shape))
    near(found[1], wanted[1], (abs(wide_grad) * normal).sum((0, 1, 2)))
    near(found[2], wanted[2], abs(wide_grad).sum((0, 1, 2)))


@each_case
@settings(max_examples=8, deadline=None)
@given(image=images, seed=seeds)
def test_special_values(channels, groups, dtype, image, seed):
    """NaN and infinity where the reference has them."""
    x = numbers(seed, *image, channels, special=True, dtype=dtype)
    next_grad = numbers(seed + 3, *x.shape, dtype=dtype)
    weight, bias = numbers(seed + 1, channels, dtype=dtype), numbers(seed + 2, channels, dtype=dtype)
    agree("group_norm.forward", group_norm.forward, x, weight, bias, groups, EPS, magnitude=lambda *_: np.inf)
    agree("group_norm.backward", group_norm.backward, next_grad, x, weight, groups, EPS, magnitude=lambda *_: np.inf)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 3)])
def test_one_group_of_one_image_alone_is_affected(special, place):
    x = numbers(0, 3, 4, 5, 12).copy()
    x[(*place, 5)] = special
    y = group_norm.forward(x, None, None, 4, EPS)
    dx, *_ = group_norm.backward(numbers(1, *x.shape), x, None, 4, EPS)
    touched = np.zeros(x.shape, bool)
    touched[place[0], :, :, 3:6] = True
    for each in (y, dx):
        np.testing.assert_array_equal(np.isfinite(each), ~touched)


def test_a_large_mean_costs_no_digits():
    """Mean 1000, deviation 1, also where a channel's first pixel is an outlier, and where the channels'
    means differ.
    """
    for outlier, apart in ((0.0, 0.0), (1e4, 0.0), (0.0, 100.0)):
        x = (np.random.default_rng(0).standard_normal((2, 20, 20, 40)) + 1000 + apart * np.arange(40)).astype(
            np.float32
        )
        x[:, 0, 0, 0] += outlier
        y, wide = group_norm.forward(x, None, None, 2, 1e-5), x.astype(np.float64)
        by_group = wide.reshape(2, 400, 2, 20)
        deviation = by_group.std((1, 3), keepdims=True)
        exact = (by_group - by_group.mean((1, 3), keepdims=True)) / deviation
        apart_by = abs(y.reshape(by_group.shape) - exact)
        assert (apart_by <= 1e-6 * abs(exact) + np.finfo(np.float32).eps * abs(by_group).max() / deviation).all()


def test_threads_change_no_bit():
    x, next_grad, weight = numbers(0, 9, 20, 20, 33), numbers(1, 9, 20, 20, 33), numbers(2, 33)
    before, results = engines.get_threads(), []
    try:
        for threads in (1, 2, 2):
            engines.set_threads(threads)
            results.append(
                (group_norm.forward(x, weight, None, 11, EPS), *group_norm.backward(next_grad, x, weight, 11, EPS))
            )
    finally:
        engines.set_threads(before)
    for result in results[1:]:
        for one, first in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(one, first)


def test_on_every_target(tmp_path):
    x, next_grad, weight, bias = (
        numbers(n, *shape) for n, shape in enumerate([(3, 50, 40), (3, 50, 40), (40,), (40,)])
    )
    kernels = cpu.kernels[40, 8, np.dtype(np.float32)]
    channel, array = ((40,), np.float32), (x.shape, np.float32)
    every_target(kernels.forward, (x, weight, bias, EPS), [array], tmp_path)
    every_target(kernels.backward, (next_grad, x, weight, EPS), [array, channel, channel], tmp_path)
