"""layer_norm in Halide against the reference."""

import numpy as np
import pytest
from fast_ops import agree, every_target, needs_halide, numbers, quiet, seeds, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import using
from typednn.kernels import layer_norm
from typednn.kernels.layer_norm import cpu

pytestmark = [needs_halide, quiet]

CASES = [
    (1, True, np.float32),
    (5, False, np.float32),
    (40, True, np.float32),
    (1100, True, np.float32),
    (33, True, np.float64),
]
each_case = pytest.mark.parametrize(("features", "centred", "dtype"), CASES)
# Around pieces, which have 128 rows of few features and 29 of 1,100.
rows = st.sampled_from([1, 2, 28, 29, 30, 127, 128, 129, 500, 4001])
EPS = 1e-3


def stages(x, centred):
    """The size of the numbers that are squared, and the rate."""
    moved = x - x.mean(-1, keepdims=True) if centred else x
    spread = abs(moved)
    return spread + spread.max(-1, keepdims=True), 1 / np.sqrt((moved * moved).mean(-1, keepdims=True) + EPS)


def size_of_y(x, weight, bias, eps, centred):
    size, rate = stages(x, centred)
    return size * rate * (1 + size.max(-1, keepdims=True) * rate) * abs(weight) + abs(bias)


@each_case
@settings(max_examples=12, deadline=None)
@given(rows=rows, special=st.booleans(), mean=st.sampled_from([0.0, 30.0]), seed=seeds)
def test_forward(features, centred, dtype, rows, special, mean, seed):
    x = numbers(seed, rows, features, special=special, dtype=dtype) + dtype(mean)
    weight, bias = numbers(seed + 1, features, dtype=dtype), numbers(seed + 2, features, dtype=dtype)
    magnitude = (lambda *_: np.inf) if special else size_of_y
    agree("layer_norm.forward", layer_norm.forward, x, weight, bias, EPS, centred, magnitude=magnitude)


@each_case
@settings(max_examples=12, deadline=None)
@given(rows=rows, special=st.booleans(), seed=seeds)
def test_backward(features, centred, dtype, rows, special, seed):
    x = numbers(seed, rows, features, special=special, dtype=dtype)
    next_grad, weight = numbers(seed + 1, rows, features, dtype=dtype), numbers(seed + 2, features, dtype=dtype)
    arguments = next_grad, x, weight
    found = agree("layer_norm.backward", layer_norm.backward, *arguments, EPS, centred, magnitude=lambda *_: np.inf)
    if special:
        return
    wide_grad, wide_x, wide_weight = map(widened, arguments)
    true = layer_norm.backward(wide_grad, wide_x, wide_weight, EPS, centred)
    size, rate = stages(wide_x, centred)
    normal, by_normal = size * rate, abs(wide_grad * wide_weight)
    amplified = 1 + normal.max(-1, keepdims=True)
    dx = (
        rate
        * amplified
        * (by_normal + by_normal.mean(-1, keepdims=True) + normal * (by_normal * normal).mean(-1, keepdims=True))
    )
    bounds = dx, (abs(wide_grad) * normal * amplified).sum(0), abs(wide_grad).sum(0)
    for one, wanted, bound in zip(found, true, bounds, strict=True):
        assert (abs(one - wanted) <= 16 * np.finfo(dtype).eps * bound + 2e-38).all()


@pytest.mark.parametrize("place", [0, 1, 39])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_each_place(place, special):
    """A special number spoils its own row alone."""
    x = numbers(0, 70, 40).copy()
    x[3, place] = special
    (y,) = agree(
        "layer_norm.forward",
        layer_norm.forward,
        x,
        numbers(1, 40),
        numbers(2, 40),
        EPS,
        True,
        magnitude=lambda *_: np.inf,
    )
    assert np.isnan(y[3]).all()
    assert np.isfinite(np.delete(y, 3, axis=0)).all()


@pytest.mark.parametrize("features", [40, 1100])
def test_a_large_mean_costs_no_digits(features):
    """Mean 1000, deviation 1."""
    x = (np.random.default_rng(0).standard_normal((50, features)) + 1000).astype(np.float32)
    next_grad = numbers(1, 50, features)
    y, dx = layer_norm.forward(x, None, None, 1e-5, True), layer_norm.backward(next_grad, x, None, 1e-5, True)[0]
    with using("reference"):
        exact_dx = layer_norm.backward(widened(next_grad), widened(x), None, 1e-5, True)[0]
    exact = x.astype(np.float64)
    np.testing.assert_allclose(
        y, (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5), atol=3e-6
    )
    np.testing.assert_allclose(dx, exact_dx, atol=2e-5)


@pytest.mark.parametrize("features", [40, 1100])
@pytest.mark.parametrize("place", [0, -1])
def test_one_large_feature_costs_the_others_no_digits(place, features):
    """As far from the exact numbers as the others' size allows, wherever the large one stands."""
    x = numbers(0, 50, features).copy()
    x[:, place] = 250 * features
    y = np.delete(layer_norm.forward(x, None, None, 1e-5, True), place, axis=1)
    with using("reference"):
        exact = np.delete(layer_norm.forward(widened(x), None, None, 1e-5, True), place, axis=1)
    np.testing.assert_allclose(y, exact, rtol=2e-6)


@pytest.mark.parametrize("features", [40, 1100])
def test_equal_features_have_no_deviation(features):
    """Where the mean is rounded too: a variance that rounding leaves below 0 is 0."""
    x = np.repeat(numbers(0, 50, 1, scale=1e5), features, axis=1)
    next_grad = numbers(1, 50, features)
    assert abs(layer_norm.forward(x, None, None, 1e-5, True)).max() < 1e-2
    assert np.isfinite(layer_norm.forward(x * np.float32(1e5), None, None, 1e-5, True)).all()
    dx = layer_norm.backward(next_grad, x, None, 1e-5, True)[0]
    np.testing.assert_allclose(dx, (next_grad - next_grad.mean(1, keepdims=True)) / np.sqrt(1e-5), rtol=1e-3, atol=1e-2)


def test_on_every_target(tmp_path):
    x, next_grad = numbers(0, 70, 40), numbers(1, 70, 40)
    weight, bias = numbers(2, 40, scale=0.3), numbers(3, 40, scale=0.3)
    kernels = cpu.kernels[40, True, np.dtype(np.float32)]
    rows, features = (x.shape, np.float32), ((40,), np.float32)
    every_target(kernels.forward, (x, weight, bias, EPS), [rows], tmp_path)
    every_target(kernels.backward, (next_grad, x, weight, EPS), [rows, features, features], tmp_path, rtol=1e-4)
