"""Activations and losses at numbers that are known: by hand, from the specification's fixtures, far from 0."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import normal
from strict_array import StrictArray, register, to_numpy

from typednn.kernels import embedding, glu, linear, linear_units, log_softmax, prelu, softmax
from typednn.kernels import softmax_cross_entropy as joined
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.pointwise import leaky_relu, relu, sigmoid, tanh
from typednn.kernels.pointwise_losses import cross_entropy, mse

pytestmark = pytest.mark.usefixtures("on_the_reference")
register()

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
seeds = st.integers(0, 2**32 - 1)
rows = st.tuples(st.integers(1, 4), st.integers(1, 5))
INF, NAN, EPS = math.inf, math.nan, 1e-7
FAR = [[1e4, -1e4, 0], [1e4, 1e4, -1e4], [-1e4, -1e4, -1e4]]
CERTAIN, WANTED = [[0.0, 1e-9, 1.0]], [[1.0, 0.5, 0.0]]
PREDICTION, TARGET = [[1, 2, 3], [4, 5, 6]], [[1, 0, 0], [0, 5, 7]]
LOGITS, CLASSES = [[1e4, -1e4, 0], [0, -INF, 0]], [[0, 1, 0], [1, 0, 0]]
# what is computed, of a function that makes arrays -> the result, and how near it is
KNOWN: dict[str, tuple[Callable[[Any], Any], Any, float]] = {
    "relu": (lambda a: relu.backward(a([1, 1, 1]), a([3, -2, 0])), [1, 0, 0], 0),
    "relu, infinite derivative": (lambda a: relu.backward(a([INF] * 3), a([3, -2, 0])), [INF, 0, 0], 0),
    "relu from y, infinite derivative": (lambda a: RELU.backward(a([INF, INF]), a([0, 2])), [0, INF], 0),
    "relu of NaN": (lambda a: relu.forward(a([NAN])), [NAN], 0),
    "relu of fixtures": (lambda a: relu.forward(a([5, -3, 0])), [5, 0, 0], 0),
    "leaky_relu": (lambda a: leaky_relu.forward(a([3, -2, 0]), 0.01), [3, -0.02, 0], 1e-7),
    "leaky_relu, derivative": (lambda a: leaky_relu.backward(a([1, 1, 1]), a([3, -2, 0]), 0.01), [1, 0.01, 0.01], 1e-7),
    "prelu": (lambda a: prelu.backward(a([[5, 7], [11, 13]]), a([[2, -3], [0, -1]]), a([0.5]))[1], [7 * -3 - 13], 0),
    "prelu by x": (
        lambda a: prelu.backward(a([[5, 7], [11, 13]]), a([[2, -3], [0, -1]]), a([0.5]))[0],
        [[5, 3.5], [5.5, 6.5]],
        0,
    ),
    "sigmoid": (lambda a: sigmoid.forward(a([-1000, 1000, -INF, INF, 0])), [0, 1, 0, 1, 0.5], 0),
    "small sigmoid": (lambda a: sigmoid.forward(a([-30])), [math.exp(-30)], 1e-6),
    "sigmoid of NaN": (lambda a: sigmoid.forward(a([NAN])), [NAN], 0),
    "tanh": (lambda a: tanh.forward(a([-1000, 0, 1000])), [-1, 0, 1], 0),
    "softmax": (lambda a: softmax.forward(a([[2, 4, 3]])), [[0.09003057, 0.6652409, 0.24472846]], 1e-6),
    "softmax, far": (lambda a: softmax.forward(a(FAR)), [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], 1e-6),
    "log_softmax": (
        lambda a: log_softmax.forward(a(FAR[:2])),
        [[0, -2e4, -1e4], [-math.log(2), -math.log(2), -2e4 - math.log(2)]],
        1e-6,
    ),
    "glu": (lambda a: glu.forward(a([[2, 2, 1000, -1000]])), [[2, 0]], 0),
    "glu, derivative": (lambda a: glu.backward(a([[1, 1]]), a([[2, 2, 1000, -1000]])), [[1, 0, 0, 0]], 0),
    "mse": (lambda a: mse.forward(a(PREDICTION), a(TARGET)), [[0, 4, 9], [16, 0, 1]], 0),
    "mse, sum": (lambda a: mse.forward(a(PREDICTION), a(TARGET)).sum(), 30, 0),
    "mse, mean": (lambda a: mse.forward(a(PREDICTION), a(TARGET)).mean(), 5, 0),
    "mse, mean_batch": (lambda a: mse.forward(a(PREDICTION), a(TARGET)).mean(axis=0), [8, 2, 5], 0),
    "mse, mean_feature": (lambda a: mse.forward(a(PREDICTION), a(TARGET)).mean(axis=1), [13 / 3, 17 / 3], 1e-7),
    "mse, derivative": (lambda a: mse.backward(a(PREDICTION), a(TARGET), 0.5), [[0, 2, 3], [4, 0, -1]], 0),
    "cross_entropy": (
        lambda a: cross_entropy.forward(a(CERTAIN), a(WANTED), EPS),
        [[16.11809565, 8.05904783, 0]],
        1e-6,
    ),
    "cross_entropy, derivative": (
        lambda a: cross_entropy.backward(a(CERTAIN), a(WANTED), EPS, 1.0),
        [[-1e7, -5e6, 0]],
        1e-6,
    ),
    "softmax_cross_entropy": (
        lambda a: joined.forward(a([[2, 3, 4], [5, 6, 7]]), a([[0, 1, 0], [0, 0, 1]])).sum(axis=1),
        [1.407606, 0.407606],
        1e-6,
    ),
    "softmax_cross_entropy, far": (
        lambda a: joined.forward(a(LOGITS), a(CLASSES)),
        [[0, 2e4, 0], [math.log(2), 0, 0]],
        1e-6,
    ),
    "softmax_cross_entropy, far, derivative": (
        lambda a: joined.backward(a(LOGITS), a(CLASSES), 1.0),
        [[1, -1, 0], [-0.5, 0, 0.5]],
        1e-6,
    ),
    "one_hot": (
        lambda a: joined.one_hot(np.array([2, 0, 3, -1]), 3, a([]).dtype, np.zeros(1)),
        [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]],
        0,
    ),
    "linear by x": (lambda a: linear.backward(a([[1]]), a([[5]]), a([[3]]))[0], [[3]], 0),
    "linear by weight": (lambda a: linear.backward(a([[1]]), a([[5]]), a([[3]]))[1], [[5]], 0),
}


@pytest.mark.parametrize(("compute", "expected", "rtol"), KNOWN.values(), ids=KNOWN)
@each_dtype
def test_known_values(compute: Callable[[Any], Any], expected: Any, rtol: float, dtype: Any) -> None:
    """P-L9: 0 at x <= 0, for [3, -2, 0] the gradient of section 6; NaN is not turned into a harmless 0. P-L15: slope
    0.01; at 0 the slope of the negative side. P-L16: Σ dy·x·[x <= 0], from the input and not from the slope (section
    1g).

    P-L10: no overflow at ±1000, small values keep their digits instead of drowning in a 1, NaN in, NaN out; tanh
    likewise. P-L11: section 6, softmax of [2, 4, 3]. P-L11, C-R7: ±1e4 is no trouble; a probability of exp(-20000) has
    a logarithm.
    P-S1, P-P9: what a reduction makes of 2x3 elementwise losses (eqs 17-21). P-S2: p = 0, t = 1 -> loss 16.118,
    gradient -1e7; below eps the gradient stays -t/eps.
    P-S3: section 6, [[2, 3, 4], [5, 6, 7]] against classes 1 and 2; ±1e4 stays exact; a logit of -inf costs nothing
    where the target is 0. A label is 1 in its row; one outside the classes gives zeros, as documented.
    P-P8: h = w·x, f = id (eqs 11-16), with w = 3, x = 5. No warnings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compute(lambda numbers: np.array(numbers, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_golden_start_and_floor() -> None:
    """Section 6: mean over ten equal classes ln(10)/10; the floor of 0.91/0.01 targets."""
    even, smooth = np.full((1, 10), 0.1), np.full((1, 10), 0.01)
    smooth[0, 3] = 0.91
    assert cross_entropy.forward(even, smooth, EPS).mean() == pytest.approx(0.2302585, abs=1e-7)
    assert cross_entropy.forward(smooth, smooth, EPS).mean() == pytest.approx(0.0500288, abs=1e-7)
    assert cross_entropy.forward(smooth, smooth, EPS).sum() == pytest.approx(0.5002880, abs=1e-7)


# ------------------------------------------------------------------------------------------- softmax, and after it


@settings(max_examples=40, deadline=None)
@given(shape=rows, seed=seeds)
def test_softmaxs_derivative_is_the_jacobian(shape: tuple[int, int], seed: int) -> None:
    """G-L5, P-L11: row by row dy times J = diag(y) - y yᵀ (eq 35)."""
    y, next_grad = softmax.forward(normal(seed, *shape)), normal(seed + 1, *shape)
    expected = [row_grad @ (np.diag(row) - np.outer(row, row)) for row_grad, row in zip(next_grad, y, strict=True)]
    np.testing.assert_allclose(softmax.backward(next_grad, y), expected, rtol=1e-10, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(shape=rows, seed=seeds)
def test_cross_entropy_after_softmax(shape: tuple[int, int], seed: int) -> None:
    """P-S3: of targets that sum to 1 the gradient by the logits is (p - t)·scale; the two in one give the same."""
    logits, target = normal(seed, *shape), softmax.forward(normal(seed + 1, *shape))
    p = softmax.forward(logits)
    of_both = joined.forward(logits, target)
    np.testing.assert_allclose(of_both, cross_entropy.forward(p, target, EPS), rtol=1e-11, atol=1e-14)
    chained = softmax.backward(cross_entropy.backward(p, target, EPS, 0.25), p)
    for found in (chained, joined.backward(logits, target, 0.25)):
        np.testing.assert_allclose(found, (p - target) * 0.25, rtol=1e-9, atol=1e-12)


def test_the_paddings_row_has_no_gradient() -> None:
    tokens, next_grad = np.array([[0, 2, 2], [1, 0, 2]], np.uint8), normal(0, 2, 3, 4)
    whole, without = embedding.backward(next_grad, tokens, 4), embedding.backward(next_grad, tokens, 4, 2)
    np.testing.assert_array_equal(without[2], 0 * whole[2])
    np.testing.assert_array_equal(np.delete(without, 2, 0), np.delete(whole, 2, 0))
    assert abs(whole[2]).min() > 0


# ------------------------------------------------------------------------------------------------ GELU and its kin

ALPHA, SCALE = 1.67, 1.05
NUMBERS: dict[str, tuple[float, ...]] = {"softplus": (2.0, 5.0), "elu": (ALPHA, SCALE)}
each_unit = pytest.mark.parametrize(
    "name", ["gelu", "gelu_tanh", "silu", "softplus", "elu", "hardswish", "hardsigmoid"]
)


@pytest.mark.parametrize(
    ("name", "digits"), [("gelu", (1.9544997, -0.0455003)), ("gelu_tanh", (1.9545977, -0.0454023))]
)
def test_golden(name: str, digits: tuple[float, ...]) -> None:
    """G-L4, C-R6: gelu of 2, -2, 0, 10 and -10 to the digits of the fixtures; relu exactly."""
    y = getattr(linear_units, name).forward(np.array([2.0, -2.0, 0.0, 10.0, -10.0]))
    np.testing.assert_allclose(y, [*digits, 0, 10, 0], atol=1e-7, rtol=0)
    np.testing.assert_array_equal(relu.forward(np.array([5.0, -3.0, 0.0])), [5, 0, 0])


def test_the_normal_tail_keeps_its_digits() -> None:
    """G-L4: gelu(x)/x is Φ(x) down to 1e-300, beside math.erfc."""
    x = -np.linspace(0.01, 37, 2000)
    exact = np.array([math.erfc(-number / math.sqrt(2)) / 2 for number in x])
    assert (abs(linear_units.gelu.forward(x) / x / exact - 1) < 4e-16 * (2 + x * x)).all()


@each_unit
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_far_out_without_warning(name: str, dtype: Any) -> None:
    """The limits: x or a constant on the right, 0 or a constant on the left; their slopes."""
    op, numbers = getattr(linear_units, name), NUMBERS.get(name, ())
    x = np.array([-np.inf, -3e4, -1000, 1000, 3e4, np.inf], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, slope = op.forward(x, *numbers), op.backward(np.ones_like(x), x, *numbers)
    right, left = {"elu": (SCALE, -SCALE * ALPHA), "hardsigmoid": (0, 0)}.get(name, (1, 0))
    np.testing.assert_allclose(y[3:], np.ones(3) if name == "hardsigmoid" else (x[3:] * dtype(right)), rtol=1e-3)
    np.testing.assert_allclose(y[:3], left, rtol=1e-3)
    np.testing.assert_allclose(slope, [0, 0, 0, right, right, right], rtol=1e-3)


@each_unit
def test_nan_and_an_infinite_derivative(name: str) -> None:
    op, numbers = getattr(linear_units, name), NUMBERS.get(name, ())
    x = np.array([np.nan, -200.0, 2.0], np.float32)
    assert np.isnan(op.forward(x, *numbers)).tolist() == [True, False, False]
    slope = op.backward(np.full(3, np.inf, np.float32), x, *numbers)
    # Where rounding alone makes the slope 0, its sign is kept; where it is 0, it is 0.
    tail = {"hardswish": 0, "hardsigmoid": 0, "softplus": np.inf, "elu": np.inf}.get(name, -np.inf)
    assert slope[1:].tolist() == [tail, np.inf]


# --------------------------------------------------------------------------------------------- activations as values

LEAKY, SIGMOID, TANH = Activation("leaky_relu", 0.1), Activation("sigmoid"), Activation("tanh")
EACH = [IDENTITY, RELU, LEAKY, Activation("leaky_relu"), SIGMOID, TANH]


def test_the_ops_own_formulas() -> None:
    z = np.linspace(-3, 3, 41, dtype=np.float32)
    ops: list[tuple[Activation, Any]] = [(IDENTITY, z), (LEAKY, leaky_relu.formulas[0].reference(z, 0.1))]
    ops += [(each, op.formulas[0].reference(z)) for each, op in ((RELU, relu), (SIGMOID, sigmoid), (TANH, tanh))]
    for activation, y in ops:
        np.testing.assert_array_equal(activation.forward(z), y)
        assert activation.forward(z).dtype == np.float32
        assert activation.backward(z, y).dtype == np.float32


@pytest.mark.parametrize("activation", EACH, ids=repr)
def test_on_another_device(activation: Activation) -> None:
    z = normal(0, 3, 4).astype(np.float32)
    y, dz = activation.forward(StrictArray(z)), activation.backward(StrictArray(z), activation.forward(StrictArray(z)))
    np.testing.assert_array_equal(to_numpy(y), activation.forward(z))
    np.testing.assert_array_equal(to_numpy(dz), activation.backward(z, activation.forward(z)))


def test_values() -> None:
    assert len({*EACH, Activation("tanh")}) == len(EACH)
    assert [activation.monotone for activation in EACH] == [True] * len(EACH)
    assert not Activation("leaky_relu", -0.1).monotone
    assert eval(repr(LEAKY)) == LEAKY  # a kernel's key says all of it
