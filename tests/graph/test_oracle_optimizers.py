"""The oracle of optimizers: each step equals its formula run through the graph, from a gradient that the graph
computes, in float64.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import optim
from typednn.graph.nodes import binary, realize, tensor, unary, zeros_like
from typednn.graph.operations import Binary, Unary
from typednn.graph.tape import Tape
from typednn.optim import SGD, Adadelta, Adagrad, Adam, AdamW, GradientOptimizer, Lion, RMSprop

pytestmark = pytest.mark.usefixtures("on_the_reference")
Rule = Callable[[Any, Any, dict[str, Any], int, float], Any]
LR = 0.05


def sqrt(x: Any) -> Any:
    return unary(Unary.SQRT, x)


def kept(state: dict[str, Any], name: str, like: Any, start: float = 0.0) -> Any:
    return state.get(name, zeros_like(like) + start)


def sgd(momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        if not momentum:
            return w - g * lr
        v = state["v"] = g if t == 1 else state["v"] * momentum + g * (1 - dampening)
        return w - (g + v * momentum if nesterov else v) * lr

    return rule


def adam(beta1: float, beta2: float, eps: float, amsgrad: bool = False) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        m = state["m"] = kept(state, "m", w) * beta1 + g * (1 - beta1)
        v = state["v"] = kept(state, "v", w) * beta2 + g * g * (1 - beta2)
        if amsgrad:
            v = state["largest"] = binary(Binary.MAXIMUM, kept(state, "largest", w), v)
        return w - (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps) * lr

    return rule


def rmsprop(alpha: float, eps: float, momentum: float = 0.0, centered: bool = False) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        square = state["square"] = kept(state, "square", w) * alpha + g * g * (1 - alpha)
        if centered:
            mean = state["mean"] = kept(state, "mean", w) * alpha + g * (1 - alpha)
            square = square - mean * mean
        move = g / (sqrt(square) + eps)
        if momentum:
            move = state["velocity"] = kept(state, "velocity", w) * momentum + move
        return w - move * lr

    return rule


def adagrad(lr_decay: float, start: float, eps: float) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        total = state["total"] = kept(state, "total", w, start) + g * g
        return w - g / (sqrt(total) + eps) * (lr / (1 + (t - 1) * lr_decay))

    return rule


def adadelta(rho: float, eps: float) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        square = state["square"] = kept(state, "square", w) * rho + g * g * (1 - rho)
        moved = kept(state, "moved", w)
        move = sqrt(moved + eps) / sqrt(square + eps) * g
        state["moved"] = moved * rho + move * move * (1 - rho)
        return w - move * lr

    return rule


def lion(beta1: float, beta2: float) -> Rule:
    def rule(w: Any, g: Any, state: dict[str, Any], t: int, lr: float) -> Any:
        m = kept(state, "m", w)
        mixed = m * beta1 + g * (1 - beta1)
        sign = (mixed > 0.0).cast(np.float64) - (mixed < 0.0).cast(np.float64)
        state["m"] = m * beta2 + g * (1 - beta2)
        return w - sign * lr

    return rule


# The formula, the optimizer's class, and its arguments but for the learning rate and what all share.
RULES: dict[str, tuple[Rule, type[GradientOptimizer], dict[str, Any]]] = {
    "SGD": (sgd(), SGD, {}),
    "SGD, momentum": (sgd(0.9), SGD, {"momentum": 0.9}),
    "SGD, dampening": (sgd(0.9, 0.3), SGD, {"momentum": 0.9, "dampening": 0.3}),
    "SGD, nesterov": (sgd(0.9, 0.0, True), SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (adam(0.9, 0.999, 1e-8), Adam, {}),
    "Adam, settings": (adam(0.5, 0.6, 1e-3), Adam, {"betas": (0.5, 0.6), "eps": 1e-3}),
    "Adam, amsgrad": (adam(0.9, 0.5, 1e-8, True), Adam, {"betas": (0.9, 0.5), "amsgrad": True}),
    "AdamW": (adam(0.9, 0.99, 1e-8), AdamW, {"betas": (0.9, 0.99)}),
    "AdamW, amsgrad": (adam(0.9, 0.5, 1e-8, True), AdamW, {"betas": (0.9, 0.5), "amsgrad": True}),
    "RMSprop": (rmsprop(0.99, 1e-8), RMSprop, {}),
    "RMSprop, all": (
        rmsprop(0.9, 1e-3, 0.5, True),
        RMSprop,
        {"alpha": 0.9, "eps": 1e-3, "momentum": 0.5, "centered": True},
    ),
    "Adagrad": (adagrad(0.0, 0.0, 1e-10), Adagrad, {}),
    "Adagrad, all": (
        adagrad(0.2, 0.5, 1e-4),
        Adagrad,
        {"lr_decay": 0.2, "initial_accumulator_value": 0.5, "eps": 1e-4},
    ),
    "Adadelta": (adadelta(0.9, 1e-6), Adadelta, {"rho": 0.9, "eps": 1e-6}),
    "Lion": (lion(0.9, 0.99), Lion, {"betas": (0.9, 0.99)}),
}
# What all optimizers share; weight_decay is taken from the weights by these, and added to the gradient by the others.
DECOUPLED = (AdamW, Lion)
SHARED: tuple[dict[str, Any], ...] = (
    {"weight_decay": 0.0},
    {"weight_decay": 0.1},
    {"weight_decay": 0.0, "l2": 0.05},
    {"weight_decay": 0.0, "decay": 0.02},
    {"weight_decay": 0.1, "maximize": True},
)


def stepped(rule: Rule, decoupled: bool, shared: dict[str, Any], w: Any, g: Any, state: dict[str, Any], t: int) -> Any:
    """One step with what all optimizers share, by the table of `typednn.optim.optimizer`."""
    g = -g if shared.get("maximize") else g
    coupled = 2 * shared.get("l2", 0.0) + (0.0 if decoupled else shared["weight_decay"])
    g = g + w * coupled
    shrunk = w * (1 - shared.get("decay", 0.0) - (LR * shared["weight_decay"] if decoupled else 0.0))
    return rule(shrunk, g, state, t, LR)


def check(name: str, shared: dict[str, Any], shape: tuple[int, ...], seed: int, steps: int = 5) -> None:
    rule, kind, arguments = RULES[name]
    make: Any = kind
    optimizer = make(lr=LR, **arguments, **shared)
    rng = np.random.default_rng(seed)
    start = rng.normal(size=shape)
    weights, w, state = start.copy(), tensor(start), dict[str, Any]()
    factors, targets = tensor(rng.uniform(0.5, 2, shape)), tensor(rng.normal(size=shape))
    for t in range(1, steps + 1):
        with Tape() as tape:
            loss = ((w * factors - targets) ** 2 * math.cos(t)).sum()  # of both signs, so that moments turn
            (g,) = tape.gradient(loss, [w], zeros=True)
        w = stepped(rule, issubclass(kind, DECOUPLED), shared, w, g, state, t)
        realize(w, g, *state.values())
        optimizer.step(weights, g.numpy().copy())
        np.testing.assert_allclose(weights, w.numpy(), rtol=1e-6, atol=1e-9, err_msg=f"step {t}")


@pytest.mark.parametrize("name", RULES)
@given(
    shape=st.sampled_from([(1,), (3,), (2, 3), (1, 1), (3, 1, 2)]),
    shared=st.sampled_from(SHARED),
    seed=st.integers(0, 99),
)
def test_steps_equal_their_formula(name: str, shape: tuple[int, ...], shared: dict[str, Any], seed: int) -> None:
    """five steps of every rule, with each meaning of weight decay and with maximize, to 1e-6."""
    check(name, shared, shape, seed)


def test_every_optimizer_has_a_formula() -> None:
    """A new optimizer without a formula fails here."""
    classes = {
        each
        for name in optim.__all__
        if isinstance(each := getattr(optim, name), type) and issubclass(each, GradientOptimizer)
    }
    assert classes - {GradientOptimizer} == {kind for _, kind, _ in RULES.values()}


@pytest.mark.parametrize("name", RULES)
def test_the_oracle_sees_a_wrong_step(name: str) -> None:
    """Each formula is spoiled in turn by a thousandth of its step."""
    rule, *others = RULES[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RULES, name, (lambda w, *given: w + (rule(w, *given) - w) * 1.001, *others))
        with pytest.raises(AssertionError):
            check(name, SHARED[0], (3,), 0)
