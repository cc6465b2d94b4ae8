"""An optimizer and its copies: state follows its parameter through copy, pickle, bind, save, load and astype, or the
call is refused.
"""

import copy
import math
import pickle  # noqa: TID251  # users copy by it
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import Input, Sequential, Stack
from typednn.errors import NotForwarded, StateDictError, StateError
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, PReLU, ReLU
from typednn.losses import MSE
from typednn.optim import SGD, Adam, AdamW, Group
from typednn.testing.subject import bits, values

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda both: pickle.loads(pickle.dumps(both)),
}
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda **more: SGD(0.1, **more),
    "momentum": lambda **more: SGD(0.1, 0.9, 0.1, **more),
    "nesterov": lambda **more: SGD(0.05, 0.8, nesterov=True, weight_decay=0.02, **more),
    "Adam": lambda **more: Adam(0.02, (0.8, 0.95), 1e-6, **more),
    "AdamW": lambda **more: AdamW(0.02, (0.8, 0.95), 1e-6, 0.1, **more),
}


def model(seed: int = 0) -> Any:
    return (Input(3) >> Linear(3, 4) >> PReLU() >> Linear(4, 2)).init(np.random.default_rng(seed))


def step(net: Any, optimizer: Any, number: int) -> dict[str, Any]:
    """One step; gives the derivatives that it was taken with."""
    x, target = values((5, 3), number, net.dtype), values((5, 2), number + 50, net.dtype)
    grad = net.backward(MSE().loss_grad(net.forward(x), target))
    derivatives = {name: array.copy() for name, array in net.named_gradients(grad).items()}
    net.update(optimizer, grad)
    return derivatives


# ------------------------------------------------------------------ any order of operations, against the rules by hand


class ByHand:
    """The rules in float64, one number at a time, on derivatives that it is given; knows nothing of arrays, names or
    copies.
    """

    def __init__(self, name: str, net: Any) -> None:
        self.name = name
        self.weights = {key: array.astype(np.float64) for key, array in net.named_parameters().items()}
        self.steps = 0
        self.memory: dict[str, tuple[Any, Any]] = {}

    def step(self, derivatives: dict[str, Any], lr: float | None) -> None:
        self.steps += 1
        for key, g in derivatives.items():
            g, w = g.astype(np.float64), self.weights[key]
            first, second = self.memory.get(key, (None, 0.0))
            if self.name in ("Adam", "AdamW"):
                if self.name == "AdamW":
                    w = w * (1 - (lr or 0.02) * 0.1)
                m, v = 0.8 * (0.0 if first is None else first) + 0.2 * g, 0.95 * second + 0.05 * g * g
                size = np.sqrt(v / (1 - 0.95**self.steps)) + 1e-6
                w, self.memory[key] = w - (lr or 0.02) * (m / (1 - 0.8**self.steps)) / size, (m, v)
            elif self.name == "SGD":
                w = w - (lr or 0.1) * g
            else:
                nesterov = self.name == "nesterov"
                g = g + 0.02 * w if nesterov else g
                keep, rest, rate = (0.8, 1.0, 0.05) if nesterov else (0.9, 0.9, 0.1)
                velocity = g if first is None else keep * first + rest * g
                w = w - (lr or rate) * (g + keep * velocity if nesterov else velocity)
                self.memory[key] = velocity, 0.0
            self.weights[key] = w


OPERATIONS = ("step", "step", "deepcopy", "pickle", "another optimizer", "bind", "save and load", "astype", "lr")


@pytest.mark.parametrize("name", OPTIMIZERS)
@given(operations=st.lists(st.sampled_from(OPERATIONS), min_size=4, max_size=14))
def test_no_operation_forgets_a_step(name: str, operations: list[str]) -> None:
    net, optimizer, lr = model(), OPTIMIZERS[name](), None
    by_hand, bound = ByHand(name, net), False
    for operation in [*operations, "step", "step"]:
        match operation:
            case "step":
                by_hand.step(step(net, optimizer, by_hand.steps), lr)
                for key, array in net.named_parameters().items():
                    np.testing.assert_allclose(
                        array, by_hand.weights[key], rtol=1e-4, atol=1e-5, err_msg=f"{key} after {operations}"
                    )
            case "deepcopy" | "pickle":
                net, optimizer = COPIES[operation]((net, optimizer))
            case "another optimizer":
                optimizer = copy.copy(optimizer)
            case "bind":
                optimizer.bind(net)
                bound = True
            case "save and load" if bound:
                other, second = model(seed=5).astype(net.dtype), OPTIMIZERS[name]()
                second.bind(other).load_state_dict(optimizer.state_dict())
                other.load_state_dict(net.state_dict())
                if lr is not None:
                    second.lr = lr
                net, optimizer = other, second
            case "astype" if bound:
                net.astype(np.float64 if net.dtype == np.float32 else np.float32)
            case "lr":
                optimizer.lr = lr = 0.03
            case _:
                pass
    if bound and by_hand.steps:
        assert {value for key, value in optimizer.state_dict().items() if key.endswith(".step")} == {by_hand.steps}


# ------------------------------------------------------------------ the same bits


def tied() -> Any:
    middle = Linear(4, 4)
    return (Input(3) >> Linear(3, 4) >> middle >> ReLU() >> middle.shared() >> PReLU() >> Linear(4, 2)).init(
        np.random.default_rng(0)
    )


MODELS: dict[str, Any] = {
    "chain": model,
    "tied": tied,
    "stack": lambda: Stack(model()),
    "sequential": lambda: Sequential([Linear(3, 4), PReLU(), Linear(4, 2)]).init(np.random.default_rng(0)),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_copy_of_both_goes_on_to_the_same_bits(name: str, bound: bool, how: str, kind: str) -> None:
    net, optimizer = MODELS[kind](), OPTIMIZERS[name]()
    if bound:
        optimizer.bind(net)
    for number in range(3):
        step(net, optimizer, number)
    copied_optimizer, copied = COPIES[how]((optimizer, net))
    before = bits(tuple(net.parameters()))
    for number in range(3, 6):
        step(copied, copied_optimizer, number)
    assert bits(tuple(net.parameters())) == before, "the copy's steps are its own"
    for number in range(3, 6):
        step(net, optimizer, number)
    assert bits(tuple(copied.parameters())) == bits(tuple(net.parameters())) != before


@pytest.mark.parametrize("how", COPIES)
def test_copies_share_what_was_shared(how: str) -> None:
    """Layers of one model, and a model with its twin."""
    net = tied()
    quick = net.shared()
    step(net, SGD(0.1), 0)
    copied, copied_quick = COPIES[how]((net, quick))
    assert copied[1].weight is copied[3].weight is copied_quick[1].weight is not net[1].weight
    assert list(copied.named_parameters()) == list(net.named_parameters())
    before = bits(copied_quick.eval().forward(values((2, 3), 0, np.float32)))
    step(copied, SGD(0.1), 1)
    assert bits(copied_quick.forward(values((2, 3), 0, np.float32))) != before
    copied.astype(np.float64)
    assert copied[1].weight is copied[3].weight


@pytest.mark.parametrize("how", COPIES)
def test_a_copied_model_has_its_own_forward(how: str) -> None:
    """What was kept is copied with it: both can go backward, to the same bits; one without a forward still can't."""
    chain: Any = Input(6, 6, 1) >> Conv2d(1, 2, 3) >> ReLU() >> MaxPool2d(2) >> Flatten() >> Linear(8, 2)
    net = chain.init(np.random.default_rng(0))
    with pytest.raises(NotForwarded):
        COPIES[how](net).backward(values((3, 2), 1, np.float32))
    next_grad = net.forward(values((3, 6, 6, 1), 0, np.float32))
    copied = COPIES[how](net)
    net.forward(values((3, 6, 6, 1), 9, np.float32))
    first = copied.backward(next_grad)
    net.forward(values((3, 6, 6, 1), 0, np.float32))
    assert bits(first) == bits(net.backward(next_grad))
    assert bits(COPIES[how](first)) == bits(first)
    assert bits(COPIES[how](first).input) == bits(first.input)


# ------------------------------------------------------------------ copied alone


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("bound", [False, True])
def test_a_lone_copy_refuses_the_original_model(bound: bool, how: str) -> None:
    net, optimizer = model(), Adam(0.01)
    if bound:
        optimizer.bind(net)
    step(net, optimizer, 0)
    lone = COPIES[how](optimizer)
    before = bits(tuple(net.parameters()))
    with pytest.raises(StateError, match=r"copy both at once, copy\.deepcopy\(\(model, optimizer\)\)"):
        step(net, lone, 1)
    with pytest.raises(
        StateError,
        match=r"Adam\.bind: an optimizer keeps to the parameters that it has stepped, got a model without 5 of",
    ):
        lone.bind(net)
    assert bits(tuple(net.parameters())) == before
    if bound:  # by name it can go on
        new = Adam(0.01).bind(net)
        new.load_state_dict(lone.state_dict())
        twin, straight = copy.deepcopy((net, optimizer))
        step(net, new, 1)
        step(twin, straight, 1)
        assert bits(tuple(net.parameters())) == bits(tuple(twin.parameters())) != before


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_made_before_the_first_step_fits_any_model(how: str) -> None:
    net, other = model(), model()
    optimizer = Adam(0.01)
    lone = COPIES[how](optimizer)
    for number in range(2):
        step(net, optimizer, number)
        step(other, lone, number)
    assert bits(tuple(net.parameters())) == bits(tuple(other.parameters()))


@pytest.mark.parametrize("bound", [False, True])
def test_copy_makes_one_more_for_the_same_model(bound: bool) -> None:
    """Its moments are its own: what the first does next changes nothing of it."""
    net, optimizer = model(), Adam(0.01)
    if bound:
        optimizer.bind(net)
    step(net, optimizer, 0)
    one_more = copy.copy(optimizer)
    saved = copy.deepcopy(net.state_dict())
    step(net, optimizer, 1)
    straight = bits(tuple(net.parameters()))
    net.load_state_dict(saved)
    step(net, one_more, 1)
    assert bits(tuple(net.parameters())) == straight


def test_one_more_for_the_same_model_can_step_what_was_never_stepped() -> None:
    net, optimizer = model(), Adam(0.01)
    grad = net.backward(net.forward(values((5, 3), 0, np.float32)))
    net[2].update(optimizer, grad.parts[2])
    before = net[0].weight.copy()
    net[0].update(copy.copy(optimizer), grad.parts[0])
    assert (net[0].weight != before).any()


@pytest.mark.parametrize("how", COPIES)
def test_a_parameter_first_stepped_after_the_copy_needs_bind(how: str) -> None:
    net, optimizer = model(), Adam(0.01)
    grad = net.backward(net.forward(values((5, 3), 0, np.float32)))
    net[2].update(optimizer, grad.parts[2])
    net, optimizer = COPIES[how]((net, optimizer))
    with pytest.raises(StateError, match=r"for parameters that were never stepped, call bind\(model\)"):
        net[0].update(optimizer, grad.parts[0])
    optimizer.bind(net)
    net.update(optimizer, grad)
    assert {key: value for key, value in optimizer.state_dict().items() if key.endswith(".step")} == {
        "0.weight.step": 1,
        "0.bias.step": 1,
        "1.slope.step": 1,
        "2.weight.step": 2,
        "2.bias.step": 2,
    }


# ------------------------------------------------------------------ bind


def test_bind_keeps_what_was_stepped() -> None:
    """After steps, a second time, to a twin, and to a model that holds this one."""
    net, optimizer = model(), Adam(0.01)
    straight = model()
    reference = Adam(0.01).bind(straight)
    for number in range(3):
        step(net, optimizer, number)
        step(straight, reference, number)
    for target in (net, net, net.shared(), net):
        optimizer.bind(target)
        state = optimizer.state_dict()
        assert {name: bits(value) for name, value in state.items()} == {
            name: bits(value) for name, value in reference.state_dict().items()
        }
    for number in range(3, 6):
        step(net, optimizer, number)
        step(straight, reference, number)
    assert bits(tuple(net.parameters())) == bits(tuple(straight.parameters()))
    whole = Stack(
        {"inner": Linear(4, 3).init(np.random.default_rng(0)), "outer": Stack(net).named("outer")}, input=(4,)
    )
    optimizer.bind(whole)
    assert optimizer.state_dict()["outer.0.weight.step"] == 6
    assert optimizer.state_dict()["inner.weight.step"] == 0


def test_bind_gives_what_was_stepped_its_group() -> None:
    """Whatever it was bound to before; an optimizer that has not stepped can be bound to any model."""
    net = model()
    optimizer = SGD(0.1, groups=[Group("0.bias", lr=0.5)]).bind(model()).bind(net)
    step(net, optimizer, 0)
    optimizer.bind(net.shared())
    before = net[0].bias.copy()
    derivatives = step(net, optimizer, 1)
    np.testing.assert_allclose(net[0].bias, before - 0.5 * derivatives["0.bias"], rtol=1e-5, atol=1e-7)


def test_an_unbound_optimizer_says_that_it_cannot_follow_astype() -> None:
    net, optimizer = model(), Adam(0.01)
    step(net, optimizer, 0)
    net.astype(np.float64)
    with pytest.raises(StateError, match=r"call bind\(model\) before to or astype"):
        step(net, optimizer, 1)


def test_a_layer_put_in_later_does_not_get_the_old_ones_moments() -> None:
    net: Any = Sequential([Linear(3, 4), Linear(4, 2)]).init(np.random.default_rng(0))
    optimizer = Adam(0.01).bind(net)
    step(net, optimizer, 0)
    net.parts = Sequential([Linear(3, 7), Linear(7, 2)]).init(np.random.default_rng(0)).parts
    with pytest.raises(StateError, match=r"'0\.weight' keeps the shape that it was stepped with, got shape"):
        step(net, optimizer, 1)


def test_a_move_that_failed_is_done_at_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    net = model()
    optimizer = Adam(0.01).bind(net)
    step(net, optimizer, 0)
    net.astype(np.float64)
    calls: list[str] = []

    def full(array: Any, device: str) -> Any:
        calls.append(device)
        if len(calls) == 2:
            raise MemoryError
        return array

    monkeypatch.setattr("typednn.optim.optimizer.to_device", full)
    with pytest.raises(MemoryError):
        optimizer.step(net[0].weight, np.ones_like(net[0].weight))
    optimizer.step(net[0].weight, np.ones_like(net[0].weight))
    moments = {name: value for name, value in optimizer.state_dict().items() if not isinstance(value, int)}
    assert {array.dtype for array in moments.values()} == {np.dtype(np.float64)}


# ------------------------------------------------------------------ what can be loaded


def saved_state(optimizer: Any = None) -> tuple[Any, dict[str, Any]]:
    net = model()
    optimizer = (optimizer or Adam(0.01)).bind(net)
    step(net, optimizer, 0)
    return optimizer, copy.deepcopy(optimizer.state_dict())


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda state: state.pop("0.bias.m"), "missing '0.bias.m'"),
        (lambda state: (state.pop("0.bias.m"), state.pop("0.bias.v")), "missing '0.bias.m'; missing '0.bias.v'"),
        (lambda state: (state.update({"0.bias.step": 0}), state.pop("0.bias.v")), "missing '0.bias.v'"),
        (lambda state: state.pop("0.bias.step"), "missing '0.bias.step'"),
        (lambda state: state.update({"0.bias.step": 2.5}), "'0.bias.step' is 2.5, not a number of steps"),
        (lambda state: state.update({"0.bias.step": -1}), "'0.bias.step' is -1, not a number of steps"),
        (lambda state: state.update({"0.bias.step": math.nan}), "'0.bias.step' is nan, not a number of steps"),
        (lambda state: state.update({"0.bias.step": "one"}), "'0.bias.step' is 'one', not a number of steps"),
        (lambda state: state.update({"0.bias.step": None}), "'0.bias.step' is None, not a number of steps"),
        (lambda state: state.update({"0.bias.m": [0.0] * 4}), "'0.bias.m' is a list, not an array"),
        (lambda state: state.update({"0.bias.m": None}), "'0.bias.m' is a NoneType, not an array"),
        (lambda state: state.update({"0.bias.m": np.zeros(5)}), "'0.bias.m' has shape (5,), the parameter (4,)"),
        (lambda state: state.update({"0.bias.m": np.zeros(4, int)}), "'0.bias.m' holds int64, not floats"),
        (lambda state: state.update({3: 4}), "unexpected 3"),
        (lambda state: state.update({"0.bias.velocity": np.zeros(4)}), "unexpected '0.bias.velocity'"),
        (lambda state: state.update({"7.bias.step": 1}), "unexpected '7.bias.step'"),
    ],
)
def test_state_that_does_not_fit_is_told_and_changes_nothing(spoil: Any, words: str) -> None:
    optimizer, state = saved_state()
    before = {key: bits(value) for key, value in optimizer.state_dict().items()}
    spoil(state)
    with pytest.raises(StateDictError) as caught:
        optimizer.load_state_dict(state)
    assert words in str(caught.value)
    assert {key: bits(value) for key, value in optimizer.state_dict().items()} == before


def test_momentum_without_its_velocity_is_no_state() -> None:
    optimizer, state = saved_state(SGD(0.1, 0.9))
    del state["2.weight.velocity"]
    with pytest.raises(StateDictError, match=r"missing '2\.weight\.velocity'"):
        optimizer.load_state_dict(state)
    with pytest.raises(StateDictError, match="takes what state_dict gives, got list"):
        optimizer.load_state_dict([])  # type: ignore[arg-type]
