"""Averages of the weights: the formula, the warm-up, and where the average is used."""

import copy
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.engines import using
from typednn.errors import StateDictError, StateError
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.optim import EMA, SGD, Adam
from typednn.testing.subject import bits, values


def net() -> Any:
    return (Input(3) >> Linear(3, 4) >> Tanh() >> Linear(4, 2)).init(np.random.default_rng(0))


def trained(model: Any, optimizer: Any, steps: int, start: int = 0) -> None:
    for step in range(start, start + steps):
        x, t = values((5, 3), step, np.float32), values((5, 2), step + 50, np.float32)
        model.update(optimizer, model.backward(MSE().loss_grad(model.forward(x), t)))


@pytest.mark.parametrize("ema", [0.75, EMA(0.75), EMA(0.75, warmup=True)], ids=str)
def test_by_hand(ema: Any) -> None:
    """The first weights, then decay·average + (1 - decay)·weights; the steps are those without an
    average, to the bit.
    """
    model, other = net().astype(np.float64), net().astype(np.float64)
    optimizer, plain = SGD(0.1, ema=ema).bind(model), SGD(0.1)
    expected: dict[str, Any] = {}
    for step in range(40):
        for each, its in ((model, optimizer), (other, plain)):
            x, t = values((5, 3), step), values((5, 2), step + 50)
            each.update(its, each.backward(MSE().loss_grad(each.forward(x), t)))
        decay = min(0.75, (1 + step) / (10 + step)) if isinstance(ema, EMA) and ema.warmup else 0.75
        for name, weights in model.named_parameters().items():
            expected[name] = weights.copy() if step == 0 else decay * expected[name] + (1 - decay) * weights
            np.testing.assert_allclose(optimizer.averages()[name], expected[name], rtol=1e-12, atol=1e-14)
    assert bits(tuple(model.parameters())) == bits(tuple(other.parameters()))
    assert EMA(0.75, warmup=True)(0) == 0.1
    assert EMA(0.75, warmup=True)(1000) == 0.75


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_an_average_of_float16_moves(engine: str) -> None:
    """As in float64, though a thousandth of each way is less than float16 can hold; the model gets it
    in its own dtype.
    """
    model = net().astype(np.float16)
    optimizer = SGD(0.05, ema=0.999).bind(model)
    expected: dict[str, Any] = {}
    with using(engine):
        for step in range(50):
            x, t = values((5, 3), step, np.float16), values((5, 2), step + 50, np.float16)
            model.update(optimizer, model.backward(MSE().loss_grad(model.forward(x), t)))
            for name, array in model.named_parameters().items():
                weights = array.astype(np.float64)
                expected[name] = weights if step == 0 else 0.999 * expected[name] + 0.001 * weights
    for name, array in optimizer.averages().items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-6)
    other = net()
    other.load_state_dict(optimizer.averages())
    other.astype(np.float16)
    with optimizer.averaged():
        assert bits(tuple(model.parameters())) == bits(tuple(other.parameters()))
        assert model.dtype == other.dtype == np.float16


def test_the_model_has_the_average_within_a_block() -> None:
    """Layers that keep something computed from their weights notice both changes; an error leaves the
    weights in place.
    """
    model = net()
    optimizer = Adam(0.05, ema=0.9).bind(model)
    trained(model, optimizer, 5)
    x = values((4, 3), 9, np.float32)
    weights = [array.copy() for array in model.parameters()]
    arrays = [id(array) for array in model.parameters()]
    before, averages = model.forward(x).copy(), copy.deepcopy(optimizer.averages())
    other = net()
    other.load_state_dict(averages)

    def fails() -> None:
        with optimizer.averaged():
            np.testing.assert_array_equal(model.forward(x), other.forward(x))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    np.testing.assert_array_equal(model.forward(x), before)
    assert not np.array_equal(before, other.forward(x))
    assert bits(tuple(model.parameters())) == bits(tuple(weights))
    assert [id(array) for array in model.parameters()] == arrays
    assert bits(tuple(optimizer.averages().values())) == bits(tuple(averages.values()))


def test_averages_are_saved_and_moved_with_the_rest() -> None:
    straight, stopped, resumed = net(), net(), net()
    optimizer = Adam(0.05, ema=EMA(0.9, warmup=True)).bind(straight)
    trained(straight, optimizer, 7)
    first = Adam(0.05, ema=EMA(0.9, warmup=True)).bind(stopped)
    trained(stopped, first, 3)
    state = first.state_dict()
    assert list(state)[:4] == ["0.weight.step", "0.weight.m", "0.weight.v", "0.weight.ema"]
    resumed.load_state_dict(stopped.state_dict())
    second = Adam(0.05, ema=EMA(0.9, warmup=True)).bind(resumed)
    second.load_state_dict(state)
    trained(resumed, second, 4, start=3)
    assert bits(tuple(second.averages().values())) == bits(tuple(optimizer.averages().values()))
    with pytest.raises(StateDictError, match=r"missing '0\.weight\.ema'"):
        second.load_state_dict({name: value for name, value in state.items() if not name.endswith(".ema")})
    with pytest.raises(StateDictError, match=r"unexpected '0\.weight\.ema'"):
        Adam(0.05).bind(resumed).load_state_dict(state)
    resumed.astype(np.float64)
    assert {array.dtype for array in second.averages().values()} == {np.dtype(np.float64)}


def test_averages_go_by_name() -> None:
    optimizer = SGD(0.1, ema=0.9)
    trained(net(), optimizer, 1)
    with pytest.raises(
        StateError,
        match=r"SGD\.averages: averages go by name, got an optimizer bound to no model; call bind\(model\) first",
    ):
        optimizer.averages()
    model = net()
    plain = SGD(0.1).bind(model)
    trained(model, plain, 1)
    assert plain.averages() == {}
    with plain.averaged():
        pass
