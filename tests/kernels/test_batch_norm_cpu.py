"""batch_norm in Halide against the reference."""

import numpy as np
import pytest
from fast_ops import agree, every_target, needs_halide, numbers, quiet, seeds, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting, using
from typednn.kernels import batch_norm
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.batch_norm import cpu, reference

pytestmark = [needs_halide, quiet]

RELU, LEAKY = Activation("relu"), Activation("leaky_relu", 0.2)
CASES = [
    (1, IDENTITY, np.float32),
    (5, RELU, np.float32),
    (40, LEAKY, np.float32),
    (70, RELU, np.float32),
    (40, RELU, np.float64),
]
each_case = pytest.mark.parametrize(("channels", "activation", "dtype"), CASES)
# Around pieces of rows, and from where several threads are used.
rows = st.sampled_from([2, 3, cpu.ROWS - 1, cpu.ROWS, cpu.ROWS + 1, 3 * cpu.ROWS, 1000, 5001])
EPS = 1e-3


def drawn(seed, rows, channels, dtype, special=False, mean=0.0):
    """x, next_grad, weight, bias; no number of x where the activation has a kink, of which rounding would choose the
    side.
    """
    x = numbers(seed, rows, channels, special=special, dtype=dtype) + dtype(mean)
    weight, bias = numbers(seed + 1, channels, dtype=dtype), numbers(seed + 2, channels, dtype=dtype)
    next_grad = numbers(seed + 3, rows, channels, dtype=dtype)
    if not special:
        wide = widened(x)
        z = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + EPS) * widened(weight) + widened(bias)
        next_grad = np.where(abs(z) < 1e-3, 0, next_grad).astype(dtype)
    return x, next_grad, weight, bias


def near(found, wanted, magnitude, ulps=16):
    """Assert that every number is within some roundings of ``magnitude``."""
    excess = abs(found - wanted) - ulps * np.finfo(found.dtype).eps * magnitude
    assert excess.max() <= 0, f"{excess.max()} over the bound"


@each_case
@settings(max_examples=12, deadline=None)
@given(rows=rows, mean=st.sampled_from([0.0, 30.0]), seed=seeds)
def test_results(channels, activation, dtype, rows, mean, seed):
    x, next_grad, weight, bias = drawn(seed, rows, channels, dtype, mean=mean)
    infinite = {"magnitude": lambda *_: np.inf}
    y, found_mean, variance = agree(
        "batch_norm.forward", batch_norm.forward, x, weight, bias, EPS, activation, **infinite
    )
    wide = [widened(each) for each in (x, weight, bias)]
    true_y, true_mean, true_variance = reference.forward(*wide, EPS, activation)
    largest, rate = abs(wide[0]).max(0), 1 / np.sqrt(true_variance + EPS)
    scale = abs(wide[1]) * rate
    near(found_mean, true_mean, largest)
    # what is added, in double precision, which the variance is given in
    from_first = ((wide[0] - wide[0][:1]) ** 2).mean(0)
    # The means of pieces of rows, in double precision too, are rounded to their own size.
    near(variance, true_variance, true_variance + from_first + largest * np.sqrt(true_variance))
    near(y, true_y, scale * (largest + abs(wide[0] - true_mean)) + abs(wide[2]))

    given = x, found_mean, variance, weight, bias
    (y_again,) = agree("batch_norm.infer", batch_norm.infer, *given, EPS, activation, **infinite)
    np.testing.assert_array_equal(y_again, y)

    found = agree("batch_norm.backward", batch_norm.backward, next_grad, *given, EPS, activation, **infinite)
    wide_grad, *wide_given = (widened(each) for each in (next_grad, *given))
    dx, dweight, dbias = reference.backward(wide_grad, *wide_given, EPS, activation)
    normal = abs(wide_given[0] - wide_given[1]) * rate
    terms = abs(wide_grad) * (normal + largest * rate)
    near(found[2], dbias, abs(wide_grad).sum(0))
    near(found[1], dweight, terms.sum(0))
    near(found[0], dx, scale * (abs(wide_grad) + abs(wide_grad).mean(0) + normal * terms.mean(0)))


@each_case
@settings(max_examples=8, deadline=None)
@given(rows=rows, seed=seeds)
def test_special_values(channels, activation, dtype, rows, seed):
    """NaN and infinity where the reference has them."""
    x, next_grad, weight, bias = drawn(seed, rows, channels, dtype, special=True)
    infinite = {"magnitude": lambda *_: np.inf}
    agree("batch_norm.forward", batch_norm.forward, x, weight, bias, EPS, activation, **infinite)
    with using("reference"):
        _, mean, variance = batch_norm.forward(x, weight, bias, EPS, activation)
    agree(
        "batch_norm.backward",
        batch_norm.backward,
        next_grad,
        x,
        mean,
        variance,
        weight,
        bias,
        EPS,
        activation,
        **infinite,
    )


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_each_place(special):
    """One special number, first of a piece or not: its channel alone is affected."""
    for place in (0, 1, cpu.ROWS, 2 * cpu.ROWS + 3):
        x = numbers(0, 3 * cpu.ROWS, 5).copy()
        x[place, 2] = special
        weight, bias = numbers(1, 5), numbers(2, 5)
        y, mean, _ = agree(
            "batch_norm.forward", batch_norm.forward, x, weight, bias, EPS, RELU, magnitude=lambda *_: np.inf
        )
        assert np.isfinite(y[:, [0, 1, 3, 4]]).all()
        assert np.isnan(mean[2]) if np.isnan(special) else mean[2] == special


def test_a_large_mean_costs_no_digits():
    """Mean 1000, deviation 1: the variance to six digits, also where the first row is an outlier."""
    for outlier in (0.0, 1e4):
        x = (np.random.default_rng(0).standard_normal((4000, 40)) + 1000).astype(np.float32)
        x[0] += outlier
        _, mean, variance = batch_norm.forward(x, None, None, EPS, LEAKY)
        np.testing.assert_allclose(mean, x.mean(0, dtype=np.float64), rtol=1e-7)
        np.testing.assert_allclose(variance, x.var(0, dtype=np.float64), rtol=1e-6)


def test_activations_that_take_an_exponential_are_left_to_the_reference():
    x = numbers(0, 9, 5)
    with counting() as counts:
        batch_norm.forward(x, None, None, EPS, Activation("tanh"))
    assert dict(counts) == {("batch_norm.forward", "reference"): 1}


def test_on_every_target(tmp_path):
    x, next_grad, weight, bias = drawn(0, 300, 40, np.float32)
    kernels = cpu.kernels[40, RELU, np.dtype(np.float32)]
    channel, images = ((40,), np.float32), (x.shape, np.float32)
    every_target(kernels.forward, (x, weight, bias, EPS), [images, channel, ((40,), np.float64)], tmp_path)
    given = x, x.mean(0), x.var(0, dtype=np.float64), weight, bias, EPS
    every_target(kernels.infer, given, [images], tmp_path)
    every_target(kernels.backward, (next_grad, *given), [images, channel, channel], tmp_path, rtol=1e-4)
