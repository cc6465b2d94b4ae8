"""Update rules, written out for one number; and what all optimizers share: maximize, frozen parameters."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import Input
from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.module.module import Module
from typednn.optim import SGD, Adadelta, Adagrad, Adam, AdamW, GradientOptimizer, Group, Lion, RMSprop
from typednn.testing import check_optimizer
from typednn.testing.subject import bits, values

Rule = Callable[[float, list[float]], Iterator[float]]


# ------------------------------------------------------------------ by hand: the weight after each gradient


def momentum_sgd(w: float, gradients: list[float]) -> Iterator[float]:
    v = 0.0
    for g in gradients:
        v = 0.9 * v - 0.01 * g
        w += v
        yield w


def adagrad(w: float, gradients: list[float]) -> Iterator[float]:
    h = 0.0
    for g in gradients:
        h += g * g
        w -= 0.001 * g / (math.sqrt(h) + 1e-8)
        yield w


def adagrad_with_all(w: float, gradients: list[float]) -> Iterator[float]:
    h = 0.5
    for t, g in enumerate(gradients):
        d = g + 0.1 * w
        h += d * d
        w -= 0.2 / (1 + t * 0.25) * d / (math.sqrt(h) + 1e-10)
        yield w


def adadelta(w: float, gradients: list[float]) -> Iterator[float]:
    square = moved = 0.0
    for g in gradients:
        square = 0.95 * square + 0.05 * g * g
        move = math.sqrt(moved + 1e-6) / math.sqrt(square + 1e-6) * g
        moved = 0.95 * moved + 0.05 * move * move
        w -= move
        yield w


def rmsprop(w: float, gradients: list[float]) -> Iterator[float]:
    square = 0.0
    for g in gradients:
        square = 0.99 * square + 0.01 * g * g
        w -= 0.01 * g / (math.sqrt(square) + 1e-8)
        yield w


def rmsprop_with_all(w: float, gradients: list[float]) -> Iterator[float]:
    square = mean = velocity = 0.0
    for g in gradients:
        square, mean = 0.9 * square + 0.1 * g * g, 0.9 * mean + 0.1 * g
        velocity = 0.5 * velocity + g / (math.sqrt(square - mean * mean) + 1e-8)
        w -= 0.01 * velocity
        yield w


def amsgrad(w: float, gradients: list[float]) -> Iterator[float]:
    m = v = largest = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.5 * v + 0.5 * g * g
        largest = max(largest, v)
        w -= 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(largest / (1 - 0.5**t)) + 1e-8)
        yield w


def adamw(w: float, gradients: list[float]) -> Iterator[float]:
    """Z-O1: with the spec's defaults, no weight decay."""
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w -= 0.001 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        yield w


def adamw_of_gpt_c(w: float, gradients: list[float]) -> Iterator[float]:
    """G-O1: decay first, then the step, with its learning rate and betas."""
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        w -= 3e-4 * 0.1 * w
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        w -= 3e-4 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.99**t)) + 1e-8)
        yield w


def lion(w: float, gradients: list[float]) -> Iterator[float]:
    """Chen et al. 2023, algorithm 2: update, then interpolation of the momentum; weight decay with the update."""
    m = 0.0
    for g in gradients:
        c = 0.9 * m + (1 - 0.9) * g
        w -= 0.01 * (float(np.sign(c)) + 0.3 * w)
        m = 0.99 * m + (1 - 0.99) * g
        yield w


BY_HAND: dict[str, tuple[Rule, Callable[[], GradientOptimizer]]] = {
    "MomentumSGD": (momentum_sgd, lambda: SGD(0.01, 0.9)),
    "Adagrad": (adagrad, lambda: Adagrad(0.001, eps=1e-8)),
    "Adagrad, all settings": (adagrad_with_all, lambda: Adagrad(0.2, 0.25, 0.1, 0.5)),
    "Adadelta": (adadelta, lambda: Adadelta(rho=0.95)),
    "RMSprop": (rmsprop, RMSprop),
    "RMSprop, all settings": (rmsprop_with_all, lambda: RMSprop(alpha=0.9, momentum=0.5, centered=True)),
    "AMSGrad": (amsgrad, lambda: Adam(0.1, (0.9, 0.5), amsgrad=True)),
    "AdamW": (adamw, lambda: AdamW(weight_decay=0.0)),
    "AdamW of gpt.c": (adamw_of_gpt_c, lambda: AdamW(3e-4, (0.9, 0.99), weight_decay=0.1)),
    "Lion": (lion, lambda: Lion(0.01, weight_decay=0.3)),
}
each_rule = pytest.mark.parametrize(("rule", "make"), BY_HAND.values(), ids=list(BY_HAND))


@each_rule
def test_three_steps_by_hand(rule: Rule, make: Callable[[], GradientOptimizer]) -> None:
    """Z-O1, X-O1, G-O1: three numbers through three gradients, the middle one the largest."""
    start, gradients = [0.5, -1.25, 2.0], [[0.3, -0.2, 0.1], [-2.0, 1.5, 0.4], [0.1, 0.2, -0.3]]
    expected = [list(rule(w, [g[place] for g in gradients])) for place, w in enumerate(start)]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        weights, optimizer = np.array(start, dtype), make()
        for step, gradient in enumerate(gradients):
            optimizer.step(weights, np.array(gradient, dtype))
            np.testing.assert_allclose(weights, [each[step] for each in expected], rtol=rtol)


@each_rule
@given(gradients=st.lists(st.floats(-3, 3).filter(lambda g: abs(g) > 1e-2), min_size=1, max_size=6))
def test_any_steps_by_hand(rule: Rule, make: Callable[[], GradientOptimizer], gradients: list[float]) -> None:
    """X-O1."""
    if rule is lion and any(abs(0.9 * m + 0.1 * g) < 1e-9 for m, g in means(gradients)):
        return  # rounding decides the sign
    if rule is rmsprop_with_all and len(set(gradients)) < len(gradients):
        return  # the variance may be nearly 0
    weights, optimizer = np.array([0.7]), make()
    for gradient, expected in zip(gradients, rule(0.7, gradients), strict=True):
        optimizer.step(weights, np.array([gradient]))
        assert weights[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def means(gradients: list[float]) -> Iterator[tuple[float, float]]:
    m = 0.0
    for g in gradients:
        yield m, g
        m = 0.99 * m + 0.01 * g


@pytest.mark.parametrize("name", BY_HAND)
def test_laws(name: str) -> None:
    check_optimizer(BY_HAND[name][1]())


# ------------------------------------------------------------------ maximize


ALL: dict[str, Callable[..., GradientOptimizer]] = {
    "SGD": lambda **more: SGD(0.1, 0.9, 0.1, **more),
    "nesterov": lambda **more: SGD(0.1, 0.9, nesterov=True, **more),
    "Adam": lambda **more: Adam(0.1, **more),
    "AMSGrad": lambda **more: Adam(0.1, amsgrad=True, **more),
    "AdamW": lambda **more: AdamW(0.1, **more),
    "RMSprop": lambda **more: RMSprop(0.1, momentum=0.5, centered=True, **more),
    "Adagrad": lambda **more: Adagrad(0.1, **more),
    "Adadelta": lambda **more: Adadelta(**more),
    "Lion": lambda **more: Lion(0.1, **more),
}


@pytest.mark.parametrize("decay", [{}, {"l2": 0.2}, {"decay": 0.1}], ids=str)
@pytest.mark.parametrize("name", ALL)
def test_maximize_is_the_step_for_the_negated_gradient(name: str, decay: dict[str, float]) -> None:
    """X-O1: to the bit, weight decay included."""
    for dtype in (np.float32, np.float64):
        up, down = values((3, 5), 0, dtype), values((3, 5), 0, dtype)
        maximizing, minimizing = ALL[name](maximize=True, **decay), ALL[name](**decay)
        for step in range(1, 5):
            maximizing.step(up, values((3, 5), step, dtype))
            minimizing.step(down, -values((3, 5), step, dtype))
            assert bits(up) == bits(down)
            assert not np.array_equal(up, values((3, 5), 0, dtype))


def test_maximize_of_an_optimizer_of_ones_own() -> None:
    """Its `apply` gets the negated gradient, and a positive rate."""

    class Own(GradientOptimizer):
        def apply(self, state: Any, grad: Any, lr: float) -> None:
            assert lr == 0.5
            state.weights -= lr * np.maximum(grad, 0)

    w = np.array([1.0, 1.0])
    Own(0.5, maximize=True).step(w, np.array([1.0, -1.0]))
    np.testing.assert_array_equal(w, [1.0, 0.5])


# ------------------------------------------------------------------ frozen


def net() -> Any:
    return (Input(3) >> Linear(3, 4).named("body") >> Tanh() >> Linear(4, 2).named("head")).init(
        np.random.default_rng(0)
    )


def trained(model: Any, optimizer: Any, steps: int, start: int = 0) -> None:
    for step in range(start, start + steps):
        x, t = values((5, 3), step, np.float32), values((5, 2), step + 50, np.float32)
        model.update(optimizer, model.backward(MSE().loss_grad(model.forward(x), t)))


@pytest.mark.parametrize("name", ALL)
def test_frozen_parameters_are_not_stepped(name: str) -> None:
    """Z-O2: neither by the rule nor by weight decay or an average; they keep no state. The others are
    stepped as ever.
    """
    model, other = net(), net()
    optimizer = ALL[name](l2=0.1, ema=0.9, groups=[Group("body.*", frozen=True)]).bind(model)
    before = {key: array.copy() for key, array in model.named_parameters().items()}
    trained(model, optimizer, 1)
    trained(other, ALL[name](l2=0.1), 1)
    for key, array in model.named_parameters().items():
        frozen = key.startswith("body.")
        assert np.array_equal(array, before[key]) == frozen
        if not frozen:
            np.testing.assert_array_equal(array, other.named_parameters()[key])
    trained(model, optimizer, 3)
    state = optimizer.state_dict()
    assert [key for key in state if key.startswith("body.")] == ["body.weight.step", "body.bias.step"]
    assert (state["body.weight.step"], state["head.weight.step"]) == (0, 4)
    assert set(optimizer.averages()) == {"head.weight", "head.bias"}


@pytest.mark.parametrize("name", ALL)
def test_frozen_parameters_are_saved_and_resumed(name: str) -> None:
    """Z-O2: to the bit."""
    frozen: list[Group] = [Group("*.bias", frozen=True)]
    straight, stopped, resumed = net(), net(), net()
    optimizer = ALL[name](groups=frozen).bind(straight)
    trained(straight, optimizer, 5)
    first = ALL[name](groups=frozen).bind(stopped)
    trained(stopped, first, 2)
    second = ALL[name](groups=frozen).bind(resumed)
    resumed.load_state_dict(stopped.state_dict())
    second.load_state_dict(first.state_dict())
    trained(resumed, second, 3, start=2)
    assert bits(tuple(resumed.parameters())) == bits(tuple(straight.parameters()))


def test_a_name_that_freezes_nothing_is_refused() -> None:
    """Z-O2."""
    model: Module = net()
    with pytest.raises(
        ArgumentError,
        match=r"group 'encoder\.\*' must match a parameter, got none that does; there are body\.weight, body\.bias",
    ):
        SGD(groups=[Group("encoder.*", frozen=True)]).bind(model)


@pytest.mark.parametrize("name", ALL)
def test_frozen_parameters_can_be_trained_later(name: str) -> None:
    """By an optimizer without that group, which takes the state of the first: what was frozen begins with its first
    step.
    """
    model, other = net(), net()
    first, second, fresh = (
        ALL[name](groups=[Group("body.*", frozen=True)]).bind(model),
        ALL[name]().bind(model),
        ALL[name]().bind(other),
    )
    trained(model, first, 3)
    second.load_state_dict(first.state_dict())
    other.load_state_dict(model.state_dict())
    trained(model, second, 1, start=3)
    trained(other, fresh, 1, start=3)
    steps = {key: value for key, value in second.state_dict().items() if key.endswith("weight.step")}
    assert steps == {"body.weight.step": 1, "head.weight.step": 4}
    for key in ("body.weight", "body.bias"):
        np.testing.assert_array_equal(model.named_parameters()[key], other.named_parameters()[key])


def test_a_rate_that_is_set_thaws_nothing() -> None:
    model = net()
    optimizer = Adam(0.1, groups=[Group("body.*", frozen=True)]).bind(model)
    optimizer.lr = 0.5
    before = model.named_parameters()["body.weight"].copy()
    trained(model, optimizer, 2)
    np.testing.assert_array_equal(model.named_parameters()["body.weight"], before)


# ------------------------------------------------------------------ dtypes


FAMILIES: list[tuple[Callable[[], GradientOptimizer], float]] = [
    # Each with its first step for the gradient 0.001: from a state of zeros the spread is the gradient itself.
    (lambda: SGD(0.1), 1e-4),
    (lambda: SGD(0.1, momentum=0.9, nesterov=True), 1.9e-4),
    (lambda: Adam(0.1), 0.1),
    (lambda: Adam(0.1, amsgrad=True), 0.1),
    (lambda: AdamW(0.1, weight_decay=0.0), 0.1),
    (lambda: RMSprop(0.1), 1.0),
    (lambda: RMSprop(0.1, centered=True, momentum=0.9), 1 / math.sqrt(0.99)),
    (lambda: Adagrad(0.1), 0.1),
    (lambda: Adadelta(1.0), 1e-3 * math.sqrt(1e-6 / (1e-7 + 1e-6))),
    (lambda: Lion(0.1), 0.1),
]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("build", "step"), FAMILIES)
def test_no_optimizer_divides_by_an_eps_that_is_lost(
    build: Callable[[], GradientOptimizer], step: float, dtype: Any, engine: Any
) -> None:
    """A zero gradient moves nothing, in any dtype, before and after other gradients; a small one moves by the formula's
    step.
    """
    with using(engine):
        weights = np.array([1.0, -2.0, 0.0], dtype)
        optimizer = build()
        before = weights.copy()
        for _ in range(3):
            optimizer.step(weights, np.zeros_like(weights))
        np.testing.assert_array_equal(weights, before)
        weights, small = np.array([1.0, -2.0, 0.0], dtype), np.full(3, 0.001, dtype)
        optimizer = build()
        optimizer.step(weights, small)
        np.testing.assert_allclose(
            before.astype(float) - weights, step, rtol=0.002, atol=2.0 * float(np.finfo(dtype).eps)
        )
        for _ in range(20):
            optimizer.step(weights, np.zeros_like(weights))
        assert np.abs(weights.astype(float) - before).max() < 25 * max(step, 0.001), "what is kept of a gradient fades"


@pytest.mark.parametrize(
    "build", [partial(SGD, momentum=0.9), Adam, partial(Adam, amsgrad=True), AdamW, RMSprop, Adagrad, Adadelta, Lion]
)
def test_what_is_kept_of_float16_is_float32(build: Callable[..., GradientOptimizer]) -> None:
    """Averages too; also when it was loaded, and when the model is converted either way. A training that was stopped
    goes on to the bit.
    """
    model = (Input(2) >> Linear(2, 1)).init(np.random.default_rng(0)).astype(np.float16)
    optimizer = build(0.1, ema=0.999).bind(model)

    def kinds(optimizer: GradientOptimizer) -> set[str]:
        x = np.array([[1.0, 1 / 3]], model.dtype)
        model.update(optimizer, model.backward(model.forward(x)))
        return {str(array.dtype) for name, array in optimizer.state_dict().items() if not name.endswith(".step")}

    for _ in range(3):
        assert kinds(optimizer) == {"float32"}
    again, weights = build(0.1, ema=0.999).bind(model), [array.copy() for array in model.parameters()]
    again.load_state_dict(optimizer.state_dict())
    assert kinds(again) == {"float32"}
    for array, before in zip(model.parameters(), weights, strict=True):
        array[...] = before
    kinds(optimizer)
    for name, array in optimizer.state_dict().items():
        np.testing.assert_array_equal(array, again.state_dict()[name])
    model.astype(np.float64)
    assert kinds(optimizer) == {"float64"}
    model.astype(np.float16)
    assert kinds(optimizer) == {"float32"}
