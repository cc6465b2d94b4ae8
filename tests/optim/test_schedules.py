"""Schedules by hand, also beyond their ends; a rate that follows a metric; settings that were changed, saved and
loaded.
"""

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.errors import ArgumentError, StateDictError
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.optim import (
    SGD,
    Adagrad,
    Adam,
    ConstantLR,
    CosineLR,
    ExponentialLR,
    Group,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    Schedule,
    StepLR,
    Watching,
)
from typednn.testing.subject import bits, values


def net() -> Any:
    return (Input(3) >> Linear(3, 4) >> Tanh() >> Linear(4, 2)).init(np.random.default_rng(0))


def trained(model: Any, optimizer: Any, steps: int, start: int = 0) -> None:
    for step in range(start, start + steps):
        x, t = values((5, 3), step, np.float32), values((5, 2), step + 50, np.float32)
        model.update(optimizer, model.backward(MSE().loss_grad(model.forward(x), t)))


def test_by_hand() -> None:
    assert [ExponentialLR(2.0, 0.5)(step) for step in range(4)] == [2.0, 1.0, 0.5, 0.25]
    assert [LinearLR(2.0, 0.25, 0.75, 2)(step) for step in (0, 1, 2, 3, 100)] == [0.5, 1.0, 1.5, 1.5, 1.5]
    assert [PolynomialLR(2.0, 4)(step) for step in (0, 1, 2, 3, 4, 100)] == [2.0, 1.5, 1.0, 0.5, 0.0, 0.0]
    assert [PolynomialLR(2.0, 4, 2.0)(step) for step in (0, 2, 4)] == [2.0, 0.5, 0.0]


def test_one_cycle_by_hand() -> None:
    """Up from step 0 to 4, down to the last step, 9, whose rate stays."""
    line = OneCycleLR(1.0, 10, pct_start=0.5, anneal_strategy="linear", div_factor=5.0, final_div_factor=2.0)
    np.testing.assert_allclose(
        [line(step) for step in (0, 1, 2, 4, 9, 10, 1000)], [0.2, 0.4, 0.6, 1.0, 0.1, 0.1, 0.1], rtol=1e-12
    )
    cosine = OneCycleLR(1.0, 10, pct_start=0.5, div_factor=5.0, final_div_factor=2.0)
    np.testing.assert_allclose([cosine(2), cosine(4), cosine(9)], [0.6, 1.0, 0.1], rtol=1e-12)
    three = OneCycleLR(
        1.0, 11, pct_start=4 / 11, anneal_strategy="linear", div_factor=4.0, final_div_factor=2.0, three_phase=True
    )
    np.testing.assert_allclose([three(step) for step in (0, 3, 6, 10, 11)], [0.25, 1.0, 0.25, 0.125, 0.125], rtol=1e-12)


FAR: list[Schedule] = [
    ConstantLR(0.3),
    ExponentialLR(0.3, 2.0),
    ExponentialLR(0.3, 0.5),
    ExponentialLR(0.0, 2.0),
    ExponentialLR(0.3, 0.0),
    ExponentialLR(0.3, 1.0),
    ExponentialLR(1e-300, 1.0001),
    StepLR(0.3, 1, 10.0),
    StepLR(0.3, 10**6, 2.0),
    StepLR(1, 1, 10),
    ExponentialLR(1, 2),
    LinearLR(10**300, 1, 10**300, 7),
    CosineLR(10**308, 100, 50),
    LinearLR(1e308, 1.0, 1e308),
    PolynomialLR(0.3, 5, 0.0),
    PolynomialLR(0.3, 5, 1e300),
    CosineLR(1e308, 100, 50),
    CosineLR(1e308, 10**9, 10),
    OneCycleLR(1e300, 10, div_factor=1e-300),
    OneCycleLR(0.3, 10**9),
    OneCycleLR(1e-300, 10, final_div_factor=1e300),
    ReduceLROnPlateau(0.3),
]


def _rate_or_message(rate: Schedule, step: int) -> float | str:
    try:
        return rate(step)
    except ArgumentError as error:
        return str(error)


@pytest.mark.parametrize("rate", FAR, ids=repr)
def test_far_steps_have_a_rate_or_an_error_of_the_schedule(rate: Schedule) -> None:
    """The rate where floats hold it; else which schedule, at which step. By logarithms, the rates of a
    power are right.
    """
    for step in (0, 1, 5, 49, 400, 2000, 10**6, 10**9):
        given = _rate_or_message(rate, step)
        if isinstance(given, str):
            assert given.startswith(f"{type(rate).__name__}, step {step}: the learning rate must be a finite number")
        else:
            assert isinstance(given, float)
            assert 0.0 <= given < math.inf
    with pytest.raises(ArgumentError, match=r"ExponentialLR, step 2000: the learning rate must be a finite number"):
        ExponentialLR(0.3, 2.0)(2000)


def test_a_rate_whose_power_alone_is_beyond_floats() -> None:
    """1e-300·2^1024 and 1e-300·10^400, by exact arithmetic."""
    assert ExponentialLR(1e-300, 2.0)(1024) == pytest.approx(float(Fraction(1e-300) * 2**1024), rel=1e-12)
    assert StepLR(1e-300, 2, 10.0)(800) == pytest.approx(float(Fraction(1e-300) * 10**400), rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("total", [1, 2, 10])
def test_one_cycle_of_any_length(total: int, share: float) -> None:
    """Where a phase has no steps too, rates are between the lowest and the highest."""
    cycle = OneCycleLR(1.0, total, pct_start=share)
    assert all(1.0 / 25 / 1e4 <= cycle(step) <= 1.0 for step in range(total + 3))


def test_a_plateau_by_hand() -> None:
    """The third value in a row that is no better lowers the rate; two after it do not count; never below min_lr."""
    rate = ReduceLROnPlateau(1.0, factor=0.5, patience=2, threshold=0.1, cooldown=2, min_lr=0.3)
    seen = []
    for value in (1.0, 0.95, 0.91, 0.92, 5.0, 5.0, 5.0, 5.0, 5.0, 0.2, 5.0, 5.0, 5.0):
        rate.observe(value)
        seen.append(rate(7))
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 0.3, 0.3]
    assert (rate.best, rate.lr) == (0.2, 1.0)
    higher = ReduceLROnPlateau(1.0, "max", 0.5, 0)
    for value in (0.5, 0.4, 0.6):
        higher.observe(value)
    assert (higher(0), higher.best) == (0.5, 0.6)


def test_who_watches() -> None:
    """A group's schedule too; one that several have is told once; others are not asked."""
    shared, own = ReduceLROnPlateau(0.1, patience=0), ReduceLROnPlateau(0.2, "max", patience=0, metric="accuracy")
    assert isinstance(shared, Watching)
    assert not isinstance(StepLR(0.1, 2), Watching)
    assert isinstance(StepLR(0.1, 2), Schedule)
    groups = [
        Group("0.weight", lr=own),
        Group("0.bias", lr=own),
        Group("2.weight", weight_decay=0.1),
        Group("2.bias", lr=shared),
    ]
    optimizer = SGD(shared, groups=groups).bind(net())
    assert optimizer.watched() == ["loss", "accuracy"]
    for loss, accuracy in ((1.0, 0.5), (2.0, 0.6)):
        optimizer.observe({"loss": loss, "accuracy": accuracy})
    assert shared(0) == pytest.approx(0.01)
    assert own(0) == 0.2
    with pytest.raises(ArgumentError, match=r"SGD\.observe: ReduceLROnPlateau watches one of 'loss', got 'accuracy'"):
        optimizer.observe({"loss": 1.0})
    SGD(0.1).observe({"loss": 1.0})
    with pytest.raises(ArgumentError, match="loss must be a finite number"):
        shared.observe(math.nan)


def test_a_copy_watches_for_itself() -> None:
    model, optimizer = net(), SGD(ReduceLROnPlateau(0.1, patience=0))
    _, twin = copy.deepcopy((model, optimizer))
    for value in (1.0, 2.0):
        twin.observe({"loss": value})
    assert (optimizer.settings.lr(0), twin.settings.lr(0)) == (0.1, pytest.approx(0.01))


def plateaus() -> SGD:
    groups = [Group("0.*", lr=ReduceLROnPlateau(0.2, patience=1, cooldown=1)), Group("2.bias", lr=StepLR(0.1, 2))]
    return SGD(ReduceLROnPlateau(0.1, patience=0, factor=0.5), 0.9, groups=groups)


def test_what_schedules_have_seen_is_saved() -> None:
    """X-O1: a training that is stopped, saved and resumed ends with the bits of one that was not."""
    told = [1.0, 0.5, 0.6, 0.7, 0.8, 0.4, 0.9, 0.9]

    def go(model: Any, optimizer: Any, start: int, end: int) -> None:
        for step in range(start, end):
            trained(model, optimizer, 1, step)
            optimizer.observe({"loss": told[step]})

    straight, stopped, resumed = net(), net(), net()
    go(straight, plateaus().bind(straight), 0, len(told))
    for at in range(len(told)):
        stopped, resumed = net(), net()
        first, second = plateaus().bind(stopped), plateaus().bind(resumed)
        go(stopped, first, 0, at)
        resumed.load_state_dict(stopped.state_dict())
        second.load_state_dict(first.state_dict())
        go(resumed, second, at, len(told))
        assert bits(tuple(resumed.parameters())) == bits(tuple(straight.parameters())), at


def test_settings_that_were_changed_are_saved() -> None:
    """The rate, betas, eps, Nesterov's; those that were not changed are the loading optimizer's own."""
    model = net()
    first = Adam(StepLR(0.1, 3), (0.8, 0.9)).bind(model)
    assert all(name.endswith(".step") for name in first.state_dict())
    first.lr, first.betas, first.eps = 0.25, (0.5, 0.7), 1e-3
    second = Adam(0.1, eps=1.0).bind(model)
    second.load_state_dict(first.state_dict())
    assert (second.lr, second.betas, second.eps) == (0.25, (0.5, 0.7), 1e-3)
    third = Adam(0.1).bind(model)
    third.load_state_dict(second.state_dict())
    assert (third.lr, third.betas, third.eps) == (0.25, (0.5, 0.7), 1e-3)
    sgd = SGD(0.1, 0.9, 0.5).bind(model)
    sgd.dampening, sgd.nesterov = 0.0, True
    other = SGD(0.1, 0.9, 0.5).bind(model)
    other.load_state_dict(sgd.state_dict())
    assert (other.dampening, other.nesterov, other.lr) == (0.0, True, 0.1)
    assert other.nesterov is True
    scheduled = Adagrad(0.1).bind(model)
    scheduled.lr = lambda step: 0.5  # a function can't be saved
    assert all(name.endswith(".step") for name in scheduled.state_dict())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": np.array(-1.0)}, "lr must be a finite number with 0 <= lr"),
        ({"lr": np.ones(2)}, r"'lr' is an array of shape \(\), got array"),
        ({"lr": "fast"}, "str"),
        ({"momentum": np.array(0.0)}, "momentum is not switched on or off later"),
        ({"nesterov": np.array(1.0), "dampening": np.array(0.5)}, "nesterov needs momentum and no dampening"),
        ({"lr.rate": np.array(-0.1)}, "rate must be a finite number"),
        ({"lr.waited": np.array(-1.0)}, "waited must be an integer of at least 0"),
        ({"groups.0.lr.best": np.ones(3)}, r"'groups\.0\.lr\.best' is an array of shape \(\)"),
        ({"groups.1.lr.best": np.array(1.0)}, r"unexpected 'groups\.1\.lr\.best'"),
        ({"lr.worst": np.array(1.0)}, r"unexpected 'lr\.worst'"),
        ({"weight_decay": np.array(1.0)}, "unexpected 'weight_decay'"),
    ],
)
def test_settings_that_cannot_be_change_nothing(change: dict[str, Any], words: str) -> None:
    optimizer = plateaus().bind(net())
    for value in (1.0, 2.0):
        optimizer.observe({"loss": value})
    before = {name: repr(value) for name, value in optimizer.state_dict().items()}
    with pytest.raises(StateDictError, match=words):
        optimizer.load_state_dict({**optimizer.state_dict(), **change})
    assert {name: repr(value) for name, value in optimizer.state_dict().items()} == before
    with pytest.raises(StateDictError, match=r"missing 'groups\.0\.lr\.rate'"):
        optimizer.load_state_dict(
            {name: value for name, value in optimizer.state_dict().items() if name != "groups.0.lr.rate"}
        )


def test_the_state_of_a_plateau_is_checked() -> None:
    rate = ReduceLROnPlateau(0.1)
    with pytest.raises(StateDictError, match="takes rate, best, waited, cooling, got rate"):
        rate.load_state_dict({"rate": 0.1})
    assert rate == ReduceLROnPlateau(0.1)
