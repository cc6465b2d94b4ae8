"""batch_norm, layer_norm and group_norm in Halide against the reference."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from fast_ops import agree, every_target, needs_halide, numbers, quiet, same_on_all_threads, seeds, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import using
from typednn.kernels import batch_norm, group_norm, layer_norm
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.batch_norm import cpu as by_channel
from typednn.kernels.batch_norm import reference as of_batch
from typednn.kernels.group_norm import cpu as by_group
from typednn.kernels.group_norm import reference as of_groups
from typednn.kernels.layer_norm import cpu as by_row

pytestmark = [needs_halide, quiet]

RELU, LEAKY = Activation("relu"), Activation("leaky_relu", 0.2)
FLOAT32, EPS = np.dtype(np.float32), 1e-3
means = st.sampled_from([0.0, 30.0])
# Results are compared with bounds of their own; here with the reference's NaN and infinities.
like = partial(agree, magnitude=lambda *_: np.inf)


def near(found: Any, wanted: Any, bound: Any, least: float = 0.0) -> None:
    """Assert that every number is within some roundings of ``bound``."""
    excess = abs(found - wanted) - 16 * np.finfo(found.dtype).eps * bound - least
    assert excess.max() <= 0, f"{excess.max()} over the bound"


def drawn(seed: int, shape: Any, special: bool, dtype: Any, mean: float = 0.0) -> tuple[Any, ...]:
    """x, weight, bias and the derivative by y."""
    x = numbers(seed, *shape, special=special, dtype=dtype) + dtype(mean)
    weight, bias = (numbers(seed + place, shape[-1], dtype=dtype) for place in (1, 2))
    return x, weight, bias, numbers(seed + 3, *shape, dtype=dtype)


# ---------------------------------------------------------------------------------------------------------- batch_norm

CHANNELS = [(1, IDENTITY, np.float32), (5, RELU, np.float32), (40, LEAKY, np.float32), (70, RELU, np.float32)]
each_channel = pytest.mark.parametrize(("channels", "activation", "dtype"), [*CHANNELS, (40, RELU, np.float64)])
# Around pieces of rows, and from where several threads are used.
PIECE = by_channel.ROWS
many_rows = st.sampled_from([2, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 1000, 5001])


@each_channel
@settings(max_examples=12, deadline=None)
@given(rows=many_rows, mean=means, seed=seeds)
def test_batch_norm(channels: int, activation: Activation, dtype: Any, rows: int, mean: float, seed: int) -> None:
    x, weight, bias, next_grad = drawn(seed, (rows, channels), False, dtype, mean)
    wide = [widened(each) for each in (x, weight, bias)]
    true_y, true_mean, true_variance = of_batch.forward(*wide, EPS, activation)
    largest, rate = abs(wide[0]).max(0), 1 / np.sqrt(true_variance + EPS)
    # no derivative where the activation has a kink, of which rounding would choose the side
    z = (wide[0] - true_mean) * rate * wide[1] + wide[2]
    next_grad = np.where(abs(z) < 1e-3, 0, next_grad).astype(dtype)
    y, found_mean, variance = like(batch_norm.forward, x, weight, bias, EPS, activation)
    scale = abs(wide[1]) * rate
    near(found_mean, true_mean, largest)
    # what is added, in double precision, which the variance is given in
    from_first = ((wide[0] - wide[0][:1]) ** 2).mean(0)
    # The means of pieces of rows, in double precision too, are rounded to their own size.
    near(variance, true_variance, true_variance + from_first + largest * np.sqrt(true_variance))
    near(y, true_y, scale * (largest + abs(wide[0] - true_mean)) + abs(wide[2]))

    given_arrays = x, found_mean, variance, weight, bias
    np.testing.assert_array_equal(like(batch_norm.infer, *given_arrays, EPS, activation)[0], y)
    found = like(batch_norm.backward, next_grad, *given_arrays, EPS, activation)
    wide_grad, *wide_given = (widened(each) for each in (next_grad, *given_arrays))
    dx, dweight, dbias = of_batch.backward(wide_grad, *wide_given, EPS, activation)
    normal = abs(wide_given[0] - wide_given[1]) * rate
    terms = abs(wide_grad) * (normal + largest * rate)
    near(found[2], dbias, abs(wide_grad).sum(0))
    near(found[1], dweight, terms.sum(0))
    near(found[0], dx, scale * (abs(wide_grad) + abs(wide_grad).mean(0) + normal * terms.mean(0)))


@each_channel
@settings(max_examples=8, deadline=None)
@given(rows=many_rows, seed=seeds)
def test_special_values_of_a_batch(channels: int, activation: Activation, dtype: Any, rows: int, seed: int) -> None:
    x, weight, bias, next_grad = drawn(seed, (rows, channels), True, dtype)
    like(batch_norm.forward, x, weight, bias, EPS, activation)
    with using("reference"):
        _, mean, variance = batch_norm.forward(x, weight, bias, EPS, activation)
    like(batch_norm.backward, next_grad, x, mean, variance, weight, bias, EPS, activation)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_one_channel_alone_is_affected(special: float) -> None:
    """By one special number, first of a piece or not."""
    for place in (0, 1, PIECE, 2 * PIECE + 3):
        x = numbers(0, 3 * PIECE, 5).copy()
        x[place, 2] = special
        y, mean, _ = like(batch_norm.forward, x, numbers(1, 5), numbers(2, 5), EPS, RELU)
        assert np.isfinite(y[:, [0, 1, 3, 4]]).all()
        assert np.isnan(mean[2]) if np.isnan(special) else mean[2] == special


# ---------------------------------------------------------------------------------------------------------- layer_norm

FEATURES = [(1, True, np.float32), (5, False, np.float32), (40, True, np.float32), (1100, True, np.float32)]
each_row = pytest.mark.parametrize(("features", "centred", "dtype"), [*FEATURES, (33, True, np.float64)])
# Around pieces, which have 128 rows of few features and 29 of 1,100.
rows = st.sampled_from([1, 2, 28, 29, 30, 127, 128, 129, 500, 4001])


def stages(x: Any, centred: bool) -> tuple[Any, Any]:
    """The size of the numbers that are squared, and the rate."""
    moved = x - x.mean(-1, keepdims=True) if centred else x
    spread = abs(moved)
    return spread + spread.max(-1, keepdims=True), 1 / np.sqrt((moved * moved).mean(-1, keepdims=True) + EPS)


def size_of_y(x: Any, weight: Any, bias: Any, eps: float, centred: bool) -> Any:
    size, rate = stages(x, centred)
    size = size * rate * (1 + size.max(-1, keepdims=True) * rate)
    return size * (1 if weight is None else abs(weight)) + (0 if bias is None else abs(bias))


@each_row
@settings(max_examples=12, deadline=None)
@given(
    rows=rows,
    special=st.booleans(),
    mean=means,
    seed=seeds,
    learnt=st.sampled_from([(True, True), (True, False), (False, False)]),
)
def test_layer_norm(
    features: int,
    centred: bool,
    dtype: Any,
    rows: int,
    special: bool,
    mean: float,
    seed: int,
    learnt: tuple[bool, bool],
) -> None:
    x, weight, bias, _ = drawn(seed, (rows, features), special, dtype, mean)
    weight, bias = (each if there else None for each, there in zip((weight, bias), learnt, strict=True))
    of_sizes: Callable[..., Any] = (lambda *_: np.inf) if special else size_of_y
    agree(layer_norm.forward, x, weight, bias, EPS, centred, magnitude=of_sizes)
    x, weight, _, next_grad = drawn(seed, (rows, features), special, dtype)
    weight = weight if learnt[0] else None
    found = like(layer_norm.backward, next_grad, x, weight, EPS, centred)
    if special:
        return
    wide_grad, wide_x = widened(next_grad), widened(x)
    wide_weight = None if weight is None else widened(weight)
    true = layer_norm.backward(wide_grad, wide_x, wide_weight, EPS, centred)
    size, rate = stages(wide_x, centred)
    normal, g = size * rate, abs(wide_grad if wide_weight is None else wide_grad * wide_weight)
    amplified = 1 + normal.max(-1, keepdims=True)
    dx = rate * amplified * (g + g.mean(-1, keepdims=True) + normal * (g * normal).mean(-1, keepdims=True))
    bounds = dx, (abs(wide_grad) * normal * amplified).sum(0), abs(wide_grad).sum(0)
    for one, wanted, bound in zip(found, true, bounds, strict=True):
        near(one, wanted, bound, 2e-38)


@pytest.mark.parametrize("place", [0, 1, 39])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_one_row_alone_is_affected(place: int, special: float) -> None:
    x = numbers(0, 70, 40).copy()
    x[3, place] = special
    (y,) = like(layer_norm.forward, x, numbers(1, 40), numbers(2, 40), EPS, True)
    assert np.isnan(y[3]).all()
    assert np.isfinite(np.delete(y, 3, axis=0)).all()


each_width = pytest.mark.parametrize("features", [40, 1100])


@each_width
@pytest.mark.parametrize("place", [0, -1])
def test_one_large_feature_costs_the_others_no_digits(place: int, features: int) -> None:
    """As far from the exact numbers as the others' size allows, wherever the large one stands."""
    x = numbers(0, 50, features).copy()
    x[:, place] = 250 * features
    y = np.delete(layer_norm.forward(x, None, None, 1e-5, True), place, axis=1)
    with using("reference"):
        exact = np.delete(layer_norm.forward(widened(x), None, None, 1e-5, True), place, axis=1)
    np.testing.assert_allclose(y, exact, rtol=2e-6)


@each_width
def test_equal_features_have_no_deviation(features: int) -> None:
    """Where the mean is rounded too: a variance that rounding leaves below 0 is 0."""
    x = np.repeat(numbers(0, 50, 1, scale=1e5), features, axis=1)
    next_grad = numbers(1, 50, features)
    assert abs(layer_norm.forward(x, None, None, 1e-5, True)).max() < 1e-2
    assert np.isfinite(layer_norm.forward(x * np.float32(1e5), None, None, 1e-5, True)).all()
    dx = layer_norm.backward(next_grad, x, None, 1e-5, True)[0]
    np.testing.assert_allclose(dx, (next_grad - next_grad.mean(1, keepdims=True)) / np.sqrt(1e-5), rtol=1e-3, atol=1e-2)


# ---------------------------------------------------------------------------------------------------------- group_norm

GROUPS = [(1, 1, np.float32), (12, 4, np.float32), (40, 1, np.float32), (70, 35, np.float32), (33, 3, np.float64)]
each_group = pytest.mark.parametrize(("channels", "groups", "dtype"), GROUPS)
images = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 40))


@each_group
@settings(max_examples=12, deadline=None)
@given(image=images, mean=means, seed=seeds)
def test_group_norm(channels: int, groups: int, dtype: Any, image: Any, mean: float, seed: int) -> None:
    x, weight, bias, next_grad = drawn(seed, (*image, channels), False, dtype, mean)
    (y,) = like(group_norm.forward, x, weight, bias, groups, EPS)
    found = like(group_norm.backward, next_grad, x, weight, groups, EPS)
    wide_x, wide_grad, wide_weight, wide_bias = map(widened, (x, next_grad, weight, bias))
    grouped = wide_x.reshape(*image, groups, -1)
    centred = grouped - grouped.mean((1, 2, 4), keepdims=True)
    rate = 1 / np.sqrt((centred * centred).mean((1, 2, 4), keepdims=True) + EPS)
    # The mean, of the arrays' type, is off by its own rounding; everything is as large as a group's largest number,
    # times the rate.
    largest = abs(grouped).max((1, 2, 4), keepdims=True)
    h = (abs(centred) + largest) * rate
    normal = h.reshape(x.shape)
    near(y, of_groups.forward(wide_x, wide_weight, wide_bias, groups, EPS), normal * abs(wide_weight) + abs(wide_bias))
    wanted = of_groups.backward(wide_grad, wide_x, wide_weight, groups, EPS)
    g = abs(wide_grad * wide_weight).reshape(grouped.shape)
    dx = rate * (g + g.mean((1, 2, 4), keepdims=True) + h * (g * h).mean((1, 2, 4), keepdims=True))
    near(found[0], wanted[0], dx.reshape(x.shape))
    near(found[1], wanted[1], (abs(wide_grad) * normal).sum((0, 1, 2)))
    near(found[2], wanted[2], abs(wide_grad).sum((0, 1, 2)))


@each_group
@settings(max_examples=8, deadline=None)
@given(image=images, seed=seeds)
def test_special_values_of_groups(channels: int, groups: int, dtype: Any, image: Any, seed: int) -> None:
    x, weight, bias, next_grad = drawn(seed, (*image, channels), True, dtype)
    like(group_norm.forward, x, weight, bias, groups, EPS)
    like(group_norm.backward, next_grad, x, weight, groups, EPS)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 3)])
def test_one_group_of_one_image_alone_is_affected(special: float, place: tuple[int, int, int]) -> None:
    x = numbers(0, 3, 4, 5, 12).copy()
    x[(*place, 5)] = special
    y = group_norm.forward(x, None, None, 4, EPS)
    dx, *_ = group_norm.backward(numbers(1, *x.shape), x, None, 4, EPS)
    touched = np.zeros(x.shape, bool)
    touched[place[0], :, :, 3:6] = True
    for each in (y, dx):
        np.testing.assert_array_equal(np.isfinite(each), ~touched)


def test_threads_change_no_bit() -> None:
    x, next_grad, weight = numbers(0, 9, 20, 20, 33), numbers(1, 9, 20, 20, 33), numbers(2, 33)
    same_on_all_threads(
        lambda: (group_norm.forward(x, weight, None, 11, EPS), *group_norm.backward(next_grad, x, weight, 11, EPS))
    )


# -------------------------------------------------------------------------------------- a large mean costs no digits


def of_mean_1000(*shape: int) -> Any:
    """Of deviation 1."""
    return (np.random.default_rng(0).standard_normal(shape) + 1000).astype(np.float32)


@pytest.mark.parametrize("outlier", [0.0, 1e4])
def test_a_large_mean_of_channels(outlier: float) -> None:
    """The variance to six digits, also where the first row is an outlier."""
    x = of_mean_1000(4000, 40)
    x[0] += np.float32(outlier)
    _, mean, variance = batch_norm.forward(x, None, None, EPS, LEAKY)
    np.testing.assert_allclose(mean, x.mean(0, dtype=np.float64), rtol=1e-7)
    np.testing.assert_allclose(variance, x.var(0, dtype=np.float64), rtol=1e-6)


@each_width
def test_a_large_mean_of_rows(features: int) -> None:
    x, next_grad = of_mean_1000(50, features), numbers(1, 50, features)
    y, dx = layer_norm.forward(x, None, None, 1e-5, True), layer_norm.backward(next_grad, x, None, 1e-5, True)[0]
    with using("reference"):
        exact_dx = layer_norm.backward(widened(next_grad), widened(x), None, 1e-5, True)[0]
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, exact, atol=3e-6)
    np.testing.assert_allclose(dx, exact_dx, atol=2e-5)


@pytest.mark.parametrize(("outlier", "apart"), [(0.0, 0.0), (1e4, 0.0), (0.0, 100.0)])
def test_a_large_mean_of_groups(outlier: float, apart: float) -> None:
    """Also where a channel's first pixel is an outlier, and where the channels' means differ."""
    x = of_mean_1000(2, 20, 20, 40) + (apart * np.arange(40)).astype(np.float32)
    x[:, 0, 0, 0] += np.float32(outlier)
    grouped = x.astype(np.float64).reshape(2, 400, 2, 20)
    deviation = grouped.std((1, 3), keepdims=True)
    exact = (grouped - grouped.mean((1, 3), keepdims=True)) / deviation
    off = abs(group_norm.forward(x, None, None, 2, 1e-5).reshape(grouped.shape) - exact)
    assert (off <= 1e-6 * abs(exact) + np.finfo(np.float32).eps * abs(grouped).max() / deviation).all()


def test_on_every_target(tmp_path: Any) -> None:
    channel, of_variance = ((40,), np.float32), ((40,), np.float64)
    x, weight, bias, next_grad = drawn(0, (300, 40), False, np.float32)
    whole, batch = (x.shape, np.float32), by_channel.kernels[40, RELU, FLOAT32]
    every_target(batch.forward, (x, weight, bias, EPS), [whole, channel, of_variance], tmp_path)
    given_arrays = x, x.mean(0), x.var(0, dtype=np.float64), weight, bias, EPS
    every_target(batch.infer, given_arrays, [whole], tmp_path)
    every_target(batch.backward, (next_grad, *given_arrays), [whole, channel, channel], tmp_path, rtol=1e-4)

    x, next_grad = (numbers(place, 70, 40) for place in (0, 1))
    weight, bias = (numbers(place, 40, scale=0.3) for place in (2, 3))
    whole, forward = (x.shape, np.float32), by_row.plan(x, weight, bias, EPS, True)
    backward = by_row.plan_backward(next_grad, x, weight, EPS, True)
    every_target(forward, (x, weight, bias, EPS), [whole], tmp_path)
    every_target(backward, (next_grad, x, weight, EPS), [whole, channel, channel], tmp_path, rtol=1e-4)

    x, weight, bias, next_grad = drawn(0, (3, 50, 40), False, np.float32)
    whole, group = (x.shape, np.float32), by_group.kernels[40, 8, FLOAT32]
    every_target(group.forward, (x, weight, bias, EPS), [whole], tmp_path)
    every_target(group.backward, (next_grad, x, weight, EPS), [whole, channel, channel], tmp_path)
