"""What is wrong with a plan is found, and what makes one void; arrays that share memory, and odd layouts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.plans.planned_pair import Between, Pair, numbers, only, rng, small, trained
from typednn import Input
from typednn.errors import StateError
from typednn.layers import LSTM, Embedding, Linear, Softmax, Tanh
from typednn.plans.plan import Plan

# ------------------------------------------------------------------ a plan that is wrong


def wrong(monkeypatch: pytest.MonkeyPatch, method: str, change: Callable[[Any, Any], None], model: Any) -> None:
    """Plans whose ``method`` changes what it gives, or a buffer of ``model``."""
    function = getattr(Plan, method)

    def changed(self: Any, given: Any) -> Any:
        result = function(self, given)
        change(model, result)
        return result

    monkeypatch.setattr(Plan, method, changed)


def of_the_output(_: Any, y: Any) -> None:
    y.flat[-1] = np.nextafter(y.flat[-1], np.inf)


def of_a_derivative(_: Any, grad: Any) -> None:
    grad.parts[0].bias[0] += 1


def of_a_buffer(model: Any, _: Any) -> None:
    model.parts[1].running_mean[0] += 1


def of_an_input(_: Any, grad: Any) -> None:
    grad.parts[2].input[0] += 1


@pytest.mark.parametrize(
    ("method", "change", "why"),
    [
        ("forward", of_the_output, "the output of the plan differs from the layers'"),
        ("backward", of_a_derivative, "a derivative of the plan differs"),
        ("forward", of_a_buffer, "a buffer of the plan differs"),
        ("backward", of_an_input, "a derivative of the plan differs"),
    ],
)
def test_a_wrong_plan_is_refused(
    monkeypatch: pytest.MonkeyPatch, method: str, change: Callable[[Any, Any], None], why: str
) -> None:
    """One bit is enough; the results are those of the layers, then and later."""
    model = small()
    wrong(monkeypatch, method, change, model)
    pair = trained(model, 8, keep="inputs")
    only(pair, why)
    assert pair.plans == 0
    assert pair.told == [f"layer by layer: {pair.compiled.why_not()}"]
    with pytest.raises(StateError, match="no plan: "):
        pair.compiled.explain()


@pytest.mark.parametrize("change", [of_the_output, of_a_buffer])
def test_a_wrong_plan_is_refused_in_eval(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Any], None]) -> None:
    """Where a part may be in training, as for samples of a network with dropout."""
    model = small().eval()
    wrong(monkeypatch, "forward", change, model)
    model.parts[1].train()
    only(trained(model), "the output" if change is of_the_output else "a buffer")


@pytest.mark.parametrize("part", [1, 3])
def test_eval_with_a_part_in_training(part: int) -> None:
    """As for samples of a network with dropout: each call draws and counts once."""
    model = small().eval()
    model.parts[part].train()
    pair = trained(model)
    only(pair)
    assert pair.plans == 1


@pytest.mark.parametrize("method", ["forward", "backward"])
def test_a_plan_that_fails_while_it_is_tried(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Buffers are as the layers left them."""
    pair = trained(small(), 2)

    def fails(*_: Any) -> Any:
        raise MemoryError

    y = pair.forward(numbers(5, 4))
    with monkeypatch.context() as patch:
        patch.setattr(Plan, method, fails)
        with pytest.raises(MemoryError):
            pair.compiled.backward(y)
    pair.other.backward(y)
    pair.same_state()
    for seed in range(3):
        pair.step(numbers(5, 4, seed=seed))
    only(pair)


# ------------------------------------------------------------------ what makes a plan void


def test_a_model_that_changes_too_often() -> None:
    """Is computed layer by layer from then on."""
    pair = trained(small())
    for seed in range(12):
        pair.change(lambda model: setattr(model.parts[0], "weight", model.parts[0].weight * np.float32(0.5)))
        pair.step(numbers(5, 4, seed=seed))
    only(pair, "the model changed 8 times between calls")


class Settings:
    """An object of the user's own."""

    def __init__(self) -> None:
        self.places: list[dict[str, Any]] = [{"parts": [0, 1]}]


def test_what_lies_within_attributes() -> None:
    """Another layer in a list, another setting in an object that a layer holds: noticed at the next call."""
    pair = trained(Between(Linear(4, 3), Tanh(), Linear(3, 2)).init(rng()).train(), 1)
    for model in pair.models:
        model.sizes, model.settings = [1, 2], Settings()
    for seed in range(4):
        pair.step(numbers(5, 4, seed=seed))
    found = [pair.plans]
    changes: list[Callable[[Any], object]] = [
        lambda model: model.sizes.append(3),
        lambda model: model.settings.places[0]["parts"].append(2),
        lambda _: setattr(Between, "_of_the_class", object()),
    ]
    for change in changes:
        change(pair.model)
        pair.step(numbers(5, 4))
        found.append(pair.plans)
        pair.step(numbers(5, 4))
        found.append(pair.plans)
    assert found == [1, 0, 1, 0, 1, 0, 1]
    del Between._of_the_class  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def test_weights_in_another_layout() -> None:
    """Have no plan, and the reason says what to do; parts of one array have one."""
    model = small()
    model.parts[0].weight = np.asfortranarray(model.parts[0].weight)
    only(trained(model), "0.weight is not C-contiguous and aligned: assign a copy of it")
    model = small()
    whole = np.concatenate([array.ravel() for array in model.parameters()])
    start = 0
    for _, owner, stored, cell in [*model.named_fields("parameter")]:
        setattr(owner, stored.name, whole[start : start + cell.array.size].reshape(cell.array.shape))
        start += cell.array.size
    pair = trained(model)
    only(pair)
    assert pair.plans == 1


# ------------------------------------------------------------------ numbers and memory


def test_nan() -> None:
    """Of inputs, of weights, and of what was infinite: the same bits."""
    pair = trained(small())
    with np.errstate(all="ignore"):
        for value in (np.nan, np.inf, -np.inf, 0.0):
            x = numbers(5, 4)
            x[1, 2] = value
            pair.step(x)
        pair.change(lambda model: model.parts[0].weight.fill(np.nan))
        pair.step(numbers(5, 4))
    assert pair.plans == 1


@pytest.mark.parametrize("first", ["y", "x", "a part of x's memory", "weights"])
def test_next_grad_that_is_known(first: str) -> None:
    """While calls are recorded and tried, it is an array that the forward has already: later it is another."""
    model: Any = (Linear(4, 4) >> Tanh() >> Linear(4, 4) >> Softmax()).init(rng()).train()
    pair = Pair(model)
    for seed in range(7):
        whole = numbers(8, 4, seed=seed)
        x = model.parts[0].weight if first == "weights" and seed < 3 else whole[:4]
        y = pair.forward(x.copy() if first == "weights" else x)
        known = {"y": y, "x": x, "a part of x's memory": whole[4:], "weights": x}[first]
        grads = pair.backward(known.copy() if seed > 2 or first == "weights" else known)
        assert grads is not None
        pair.update(grads)
    only(pair)
    assert pair.plans == 1


def test_an_input_that_is_a_weight() -> None:
    """While calls are recorded and tried; later it is another."""
    model: Any = (Linear(4, 4) >> Tanh()).init(rng()).eval()
    pair = Pair(model)
    for seed in range(7):
        x = model.parts[0].weight if seed < 3 else numbers(4, 4, seed=seed)
        pair.forward(x)
    only(pair)
    assert pair.plans == 1


def test_layouts_of_next_grad() -> None:
    """In every call, those that are recorded and tried included."""
    pair = Pair(small())
    for seed in range(8):
        y = pair.forward(numbers(5, 4, seed=seed))
        odd: Any = [np.asfortranarray(y), np.repeat(y, 2, axis=1)[:, ::2], np.broadcast_to(np.float32(1), y.shape)]
        grads = pair.backward([*odd, y[::-1]][seed % 4])
        assert grads is not None
        pair.update(grads)
    only(pair)
    assert pair.plans == 1


def test_arrays_that_are_not_aligned() -> None:
    """Are computed layer by layer: for them, ops may have other engines."""
    pair = Pair(small())

    def moved(x: Any) -> Any:
        found = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        found[...] = x
        return found

    for seed in range(5):
        pair.forward(moved(numbers(5, 4, seed=seed)))
        assert pair.backward(moved(numbers(5, 3, seed=seed))) is not None
    assert pair.plans == 0
    for seed in range(5):
        pair.forward(numbers(5, 4, seed=seed))
        assert pair.backward(moved(numbers(5, 3, seed=seed))) is not None
    only(pair)
    assert pair.plans == 1


def test_one_step_of_one_sample() -> None:
    """Arrays of one number along an axis have strides that say nothing."""
    model = (Input(1, dtype=int) >> Embedding(5, 4) >> LSTM(4, 4)).init(rng()).train()
    pair = Pair(model)
    for seed in range(8):
        x = rng(seed).integers(0, 5, (3, 2))
        pair.step(x[1:2, ::2] if seed % 2 else x[:1, :1].copy())
    only(pair)
    assert pair.plans == 1
