"""The reference of each op that works on single numbers or on rows, and of those that a short formula describes: its
values beside the formula's, its derivatives beside central differences.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal, off_kink

from typednn.kernels import embedding, glu, linear, linear_units, log_softmax, pad2d, prelu, softmax
from typednn.kernels import softmax_cross_entropy as joined
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.pointwise import leaky_relu, relu, sigmoid, tanh
from typednn.kernels.pointwise_losses import cross_entropy, mse

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)
nothing = st.just(())
shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)
rows = st.tuples(st.integers(1, 4), st.integers(1, 5))


class Problem(NamedTuple):
    """``backward`` of the derivative by y gives those by ``arrays``; ``expected`` is y by another way."""

    forward: Callable[..., Any]
    arrays: tuple[Any, ...]
    backward: Callable[[Any], Any]
    expected: Any
    rtol: float = 0.0
    atol: float = 0.0
    next_grad: Any = None  # any numbers
    tolerance: float = 1e-6  # of derivatives


Way = Callable[[Any], Problem]  # from Hypothesis's ``draw``


def pointwise(
    op: Any,
    formula: Callable[..., float],
    numbers: Any = nothing,
    x: Callable[..., Any] = normal,
    of_output: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Way:
    """``op`` of one array of any shape and ``numbers``."""

    def problem(draw: Any) -> Problem:
        shape, seed, more = draw(shapes), draw(seeds), draw(numbers)
        at = x(seed, *shape)
        expected = np.array([formula(number, *more) for number in at.ravel().tolist()]).reshape(shape)

        def backward(dy: Any) -> Any:
            return [op.backward(dy, op.forward(at, *more) if of_output else at, *more)]

        return Problem(lambda x: op.forward(x, *more), (at,), backward, expected, rtol, atol)

    return problem


def by_row(
    op: Any,
    of_row: Callable[[list[float]], list[float]],
    of_output: bool,
    rtol: float,
    atol: float = 0.0,
    tolerance: float = 1e-6,
) -> Way:
    """``op`` of rows of features."""

    def problem(draw: Any) -> Problem:
        (batch, features), seed = draw(rows), draw(seeds)
        x = normal(seed, batch, 2 * features if op is glu else features)

        def backward(dy: Any) -> Any:
            return [op.backward(dy, op.forward(x) if of_output else x)]

        return Problem(op.forward, (x,), backward, [of_row(row.tolist()) for row in x], rtol, atol, tolerance=tolerance)

    return problem


def loss(op: Any, of_row: Callable[..., list[float]], sizes: Any, kind: str = "any", rtol: float = 0.0) -> Way:
    """``op`` of predictions and targets of any shape, times a factor; ``kind`` of numbers that they are."""

    def problem(draw: Any) -> Problem:
        shape, seed, scale = draw(sizes), draw(seeds), draw(st.floats(0.01, 10))
        prediction, target = normal(seed, *shape), normal(seed + 1, *shape)
        more: tuple[float, ...] = ()
        if kind == "probabilities":
            # The differences' error grows with (step / p)²: no p is below 0.02.
            prediction, target, more = 0.02 + 0.9 * softmax.forward(prediction), softmax.forward(target), (1e-7,)
        pairs = zip(prediction.reshape(-1, shape[-1]).tolist(), target.reshape(-1, shape[-1]).tolist(), strict=True)
        expected = scale * np.array([of_row(*pair) for pair in pairs]).reshape(shape)
        return Problem(
            lambda at: scale * op.forward(at, target, *more),
            (prediction,),
            lambda _: [op.backward(prediction, target, *more, scale)],
            expected,
            rtol,
            1e-14 if op is joined else 0.0,
            1.0,
        )

    return problem


def each_number(of_pair: Callable[[float, float], float]) -> Callable[..., list[float]]:
    return lambda *pair: [of_pair(p, t) for p, t in zip(*pair, strict=True)]


# ---------------------------------------------------------------------------------------------- formulas, by Python


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def leaky(x: float, slope: float) -> float:
    return x if x > 0 else slope * x


def shares(row: list[float]) -> list[float]:
    total = sum(math.exp(number) for number in row)
    return [math.exp(number) / total for number in row]


def logarithms(row: list[float]) -> list[float]:
    total = sum(math.exp(number) for number in row)
    return [number - math.log(total) for number in row]


def gated(row: list[float]) -> list[float]:
    half = len(row) // 2
    return [x * logistic(gate) for x, gate in zip(row[:half], row[half:], strict=True)]


def joined_loss(logits: list[float], target: list[float]) -> list[float]:
    return [-t * math.log(share) for share, t in zip(shares(logits), target, strict=True)]


SCALE, ALPHA = 1.05, 1.67
# op -> (its numbers, the formula, where it has corners)
UNITS: dict[str, tuple[tuple[float, ...], Callable[[float], float], tuple[float, ...]]] = {
    "gelu": ((), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2, ()),
    "gelu_tanh": ((), lambda x: x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)), ()),
    "silu": ((), lambda x: x * logistic(x), ()),
    "softplus": ((2.0, 5.0), lambda x: x if 2 * x > 5 else math.log1p(math.exp(2 * x)) / 2, (2.5,)),
    "elu": ((ALPHA, SCALE), lambda x: SCALE * x if x > 0 else SCALE * ALPHA * math.expm1(x), (0.0,)),
    "hardswish": ((), lambda x: x * min(max(x + 3, 0), 6) / 6, (-3.0, 3.0)),
    "hardsigmoid": ((), lambda x: min(max(x + 3, 0), 6) / 6, (-3.0, 3.0)),
}


def unit(name: str) -> Way:
    more, formula, corners = UNITS[name]

    def off_corners(seed: int, *shape: int) -> Any:
        x = (5.0 if seed % 2 else 1.0) * normal(seed, *shape)
        for corner in corners:
            x = np.where(abs(x - corner) < 1e-3, corner + 0.1, x)
        return x

    # Where the tail is small rounding of x² in an exponent counts.
    return pointwise(
        getattr(linear_units, name), lambda x, *_: formula(x), st.just(more), off_corners, rtol=1e-12, atol=1e-16
    )


# -------------------------------------------------------------------------------------------- ops of several arrays


class _OfOutput(NamedTuple):
    """An activation as an op: its derivative from y."""

    forward: Callable[[Any], Any]
    backward: Callable[[Any, Any], Any]


def activated(activation: Activation) -> Way:
    formulas = {"sigmoid": logistic, "tanh": math.tanh, "identity": float}
    formula = formulas.get(activation.name, lambda x: leaky(x, activation.slope))
    values = _OfOutput(activation.forward, activation.backward)
    return pointwise(values, formula, x=off_kink, of_output=True, rtol=1e-14)


def of_slope(draw: Any) -> Problem:
    shape, seed = draw(shapes), draw(seeds)
    x, slope = off_kink(seed, *shape), normal(seed, 1)
    expected = np.where(x > 0, x, slope.item() * x)
    return Problem(prelu.forward, (x, slope), lambda dy: prelu.backward(dy, x, slope), expected)


def affine(*activations: Activation) -> Way:
    def problem(draw: Any) -> Problem:
        batch, features, outputs = draw(st.tuples(*[st.integers(1, 5)] * 3))
        biased, activation, seed = draw(st.booleans()), draw(st.sampled_from(activations)), draw(seeds)
        x, weight, bias = normal(seed, batch, features), normal(seed, outputs, features), normal(seed, outputs)
        z = np.zeros((batch, outputs))
        for b, o in np.ndindex(z.shape):
            z[b, o] = (bias[o] if biased else 0) + sum(x[b, i] * weight[o, i] for i in range(features))

        def forward(x: Any, weight: Any, bias: Any = None) -> Any:
            return linear.forward(x, weight, bias, activation)

        arrays = (x, weight, bias) if biased else (x, weight)

        def backward(dy: Any) -> Any:
            return linear.backward(dy, x, weight, forward(*arrays), activation)[: len(arrays)]

        return Problem(forward, arrays, backward, activation.forward(z), 1e-12, 1e-12)

    return problem


def looked_up(draw: Any) -> Problem:
    vocab, features, seed = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(seeds)
    tokens = np.random.default_rng(seed).integers(0, vocab, draw(st.tuples(st.integers(1, 3), st.integers(1, 4))))
    weight = normal(seed, vocab, features)
    expected = np.array([[weight[token] for token in sequence] for sequence in tokens])
    return Problem(
        lambda weight: embedding.forward(tokens, weight),
        (weight,),
        lambda dy: [embedding.backward(dy, tokens, vocab)],
        expected,
    )


def padded(mode: Any) -> Way:
    def problem(draw: Any) -> Problem:
        size = draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 2)))
        padding, value, seed = draw(st.tuples(*[st.integers(0, 3)] * 4)), draw(st.floats(-5, 5)), draw(seeds)
        x, (left, right, top, bottom) = normal(seed, *size), padding
        width = ((0, 0), (top, bottom), (left, right), (0, 0))
        expected = np.pad(x, width, mode="edge") if mode == "replicate" else np.pad(x, width, constant_values=value)
        return Problem(
            lambda x: pad2d.forward(x, padding, mode, value),
            (x,),
            lambda dy: [pad2d.backward(dy, padding, mode)],
            expected,
        )

    return problem


ACTIVATIONS = [IDENTITY, RELU, *(Activation("leaky_relu", slope) for slope in (0.1, 0.0))]
ACTIVATIONS += [Activation("sigmoid"), Activation("tanh")]
WAYS: dict[str, Way] = {
    "relu": pointwise(relu, lambda x: max(x, 0.0), x=off_kink),
    "leaky_relu": pointwise(leaky_relu, leaky, st.tuples(st.floats(-2, 2)), off_kink),
    "prelu": of_slope,
    "sigmoid": pointwise(sigmoid, logistic, of_output=True, rtol=1e-14),
    "tanh": pointwise(tanh, math.tanh, of_output=True, rtol=1e-14),
    **{name: unit(name) for name in UNITS},
    **{repr(each): activated(each) for each in ACTIVATIONS},
    "softmax": by_row(softmax, shares, True, 1e-13),
    "log_softmax": by_row(log_softmax, logarithms, True, 1e-13, 1e-14),
    "glu": by_row(glu, gated, False, 1e-14, tolerance=3e-9),
    "mse": loss(mse, each_number(lambda p, t: (p - t) ** 2), shapes, rtol=1e-14),
    "cross_entropy": loss(
        cross_entropy, each_number(lambda p, t: -math.log(p) * t), rows, kind="probabilities", rtol=1e-13
    ),
    "softmax_cross_entropy": loss(joined, joined_loss, rows, rtol=1e-11),
    "linear": affine(IDENTITY),
    "linear with an activation": affine(IDENTITY, Activation("sigmoid"), Activation("tanh")),
    "embedding": looked_up,
    "pad2d constant": padded("constant"),
    "pad2d replicate": padded("replicate"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_values_and_slopes(way: Way, data: st.DataObject) -> None:
    """P-L1, Z-T6: y = x weightᵀ + bias (eqs 22-23), and dx, dweight, dbias (eq 24), with an activation too.

    P-L7, P-L8: padding as numpy.pad's (eq 28), four sides of their own, left, right, top, bottom; what replicate
    repeats gets the gradient of every copy, corners included (eq 29).
    P-L9, P-L15, P-L16, G-L4: relu (eqs 30-31), leaky_relu of any slope, prelu and its slope's derivative, GELU and its
    kin, of any rank.
    P-L10: 1/(1 + exp(-x)) (eq 32), gradient from y (eq 33); tanh likewise. P-L11: softmax along features (eqs 34-35).
    P-S1, P-S2, P-S3: losses for each number (eqs 40-43) and the derivatives, times the factor; soft targets. Softmax
    and cross entropy in one take targets of any sum and sign.
    G-L2: a row for each token; the derivative is the sum over all places at which a token stands.
    """
    problem = way(data.draw)
    y = problem.forward(*problem.arrays)
    np.testing.assert_allclose(y, problem.expected, rtol=problem.rtol, atol=problem.atol)
    assert y.shape == np.shape(problem.expected)
    next_grad = normal(data.draw(seeds), *y.shape) if problem.next_grad is None else problem.next_grad
    assert_slopes(problem.backward(next_grad), problem.forward, problem.arrays, next_grad, problem.tolerance)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_an_unwanted_derivative_is_none(activation: Activation) -> None:
    x, weight, next_grad = normal(0, 3, 4), normal(1, 2, 4), normal(2, 3, 2)
    y = linear.forward(x, weight, None, activation)
    unwanted, *others = linear.backward(next_grad, x, weight, y, activation, False)
    assert unwanted is None
    for one, other in zip(others, linear.backward(next_grad, x, weight, y, activation)[1:], strict=True):
        np.testing.assert_array_equal(one, other)
