"""The promises of `typednn.compile`: which call is which, what is told, what is refused."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import typednn
from tests.plans.planned_pair import Pair, assert_bits, assert_gradients, numbers, only, rng, small, trained
from typednn.errors import ArgumentError, NotForwarded, ShapeError, StateError
from typednn.layers import (
    Embedding,
    Linear,
    Residual,
    SequenceLinear,
    Tanh,
)
from typednn.losses import MSE
from typednn.models import GPT2
from typednn.optim import SGD
from typednn.plans import Compiled, CompiledStep
from typednn.plans.plan import Plan

# ------------------------------------------------------------------ which call is which


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is computed layer by layer, and what by a plan, in order."""
    found: list[str] = []

    def noted(kind: Any, method: str, word: str) -> None:
        function = getattr(kind, method)

        def call(self: Any, *given: Any) -> Any:
            found.append(word)
            return function(self, *given)

        monkeypatch.setattr(kind, method, call)

    noted(Compiled, "_eager", "layers")
    noted(Compiled, "_recorded", "recorded")
    noted(Plan, "forward", "plan")
    noted(Plan, "backward", "plan back")
    return found


def test_which_call_is_which(calls: list[str]) -> None:
    """X-H1: a step is recorded once and made again; in training the plan is tried behind the backward."""
    model = small()
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    wanted: list[tuple[list[str], list[str]]] = [
        (["layers"], []),
        (["recorded", "layers"], []),
        (["layers"], ["plan", "plan back"]),
        *[(["plan"], ["plan back"])] * 3,
    ]
    for seed, (forward, backward) in enumerate(wanted):
        calls.clear()
        y = compiled.forward(numbers(5, 4, seed=seed))
        assert calls == forward
        calls.clear()
        compiled.backward(y)
        assert calls == backward


def test_which_call_is_which_in_eval(calls: list[str]) -> None:
    compiled: Compiled[Any, Any, Any] = Compiled(small().eval(), told=pytest.fail)
    for wanted in (["layers"], ["recorded", "layers"], ["layers", "plan"], ["plan"], ["plan"]):
        calls.clear()
        compiled.forward(numbers(5, 4))
        assert calls == wanted


def test_each_kind_of_input_has_its_own(calls: list[str]) -> None:
    """Shape, dtype, training and eval, threads; what comes again is known."""
    model = small()
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    for batch in (5, 7):
        for _ in range(4):
            compiled.backward(compiled.forward(numbers(batch, 4)))
    model.eval()
    for _ in range(4):
        compiled.forward(numbers(5, 4))
    calls.clear()
    for batch, mode in ((5, True), (7, True), (5, False)):
        model.train(mode)
        compiled.forward(numbers(batch, 4))
    assert calls == ["plan"] * 3


def test_what_comes_in_many_shapes(calls: list[str]) -> None:
    """Sixteen have plans; the one that did not come for longest is recorded anew. After 64 plans no more are made."""
    compiled: Compiled[Any, Any, Any] = Compiled(small().eval(), told=pytest.fail)
    for batch in range(1, 18):
        for _ in range(3):
            compiled.forward(numbers(batch, 4))
    calls.clear()
    compiled.forward(numbers(17, 4))
    compiled.forward(numbers(2, 4))
    assert calls == ["plan", "plan"]
    compiled.forward(numbers(1, 4))
    assert calls[2:] == ["layers"]
    for batch in range(18, 70):
        compiled.forward(numbers(batch, 4))
        compiled.forward(numbers(batch, 4))
    assert compiled.made == 64
    calls.clear()
    for batch in (69, 69, 69, 64, 64):
        compiled.forward(numbers(batch, 4))
    assert calls == ["layers"] * 3 + ["layers", "plan"] + ["plan"]


def test_several_forwards_until_a_backward() -> None:
    """The last one counts, in each of the calls."""
    pair = Pair(small())
    for seed in range(6):
        for more in range(3):
            pair.forward(numbers(5, 4, seed=10 * seed + more))
        grads = pair.backward(numbers(5, 3, seed=seed))
        assert grads is not None
        pair.update(grads)
    assert pair.plans == 1


def test_backward_goes_back_once() -> None:
    """And after nothing, after eval, and after a forward that failed, not at all."""
    model: Any = (Embedding(5, 4) >> SequenceLinear(4, 2)).init(rng()).train()
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    next_grad = numbers(2, 3, 2)
    x = np.zeros((2, 3), np.int64)
    with pytest.raises(NotForwarded, match="call forward first"):
        compiled.backward(next_grad)
    for _ in range(5):
        compiled.forward(x)
        compiled.backward(next_grad)
        with pytest.raises(NotForwarded, match="one that has gone back"):
            compiled.backward(next_grad)
        compiled.forward(x)
        with pytest.raises(typednn.errors.TypednnError, match="tokens are 0 to 4, got 5"):
            compiled.forward(x + 5)
        with pytest.raises(NotForwarded):
            compiled.backward(next_grad)
    compiled.forward(x)
    model.eval()
    compiled.forward(x)
    with pytest.raises(NotForwarded):
        compiled.backward(next_grad)


def test_next_grad_of_another_shape() -> None:
    """A plan is as strict as the layers."""
    compiled = trained(small()).compiled
    for wrong in (numbers(5, 4), numbers(5, 3).astype(np.float64), [1.0]):
        compiled.forward(numbers(5, 4))
        with pytest.raises(ShapeError, match=r"next_grad is shaped as forward's output, float32 \(5, 3\)"):
            compiled.backward(wrong)


# ------------------------------------------------------------------ explain


def test_explain() -> None:
    """A line for each op, forward and backward, with the parameters that it reads; nothing changes."""
    pair = trained(small())
    table: Any = pair.compiled.explain(times=2)
    names = [(line.half, line.name) for line in table.lines]
    forward = ["linear.forward", "batch_norm.forward", "batch_norm.track", "tanh.forward", "dropout", "linear.forward"]
    backward = ["linear.backward", "dropout", "tanh.backward", "batch_norm.backward", "linear.backward"]
    assert names == [*(("forward", name) for name in forward), *(("backward", name) for name in backward)]
    assert "0.weight" in table.lines[0].parameters
    rows = str(table).splitlines()
    assert len(rows) == len(table.lines) + 4
    for line, row in zip(table.lines, rows[4:], strict=True):
        assert line.name in row
    assert all(line.seconds > 0 for line in table.lines)
    assert table._repr_html_().count("<tr") == len(table.lines) + 1
    pair.same_state()
    assert pair.step(numbers(5, 4)) is not None


def test_explain_before_there_is_a_plan() -> None:
    compiled: Compiled[Any, Any, Any] = Compiled(small())
    with pytest.raises(StateError, match="call forward, and in training backward, three times"):
        compiled.explain()
    with pytest.raises(ArgumentError):
        trained(small()).compiled.explain(times=0)


@pytest.mark.parametrize("steps", [2, 5])
def test_explain_between_forward_and_backward(steps: int) -> None:
    """A plan's memory is another's then: a forward of the plan is forgotten, one of the layers is not."""
    pair = trained(small(), steps)
    y = pair.forward(numbers(5, 4))
    pair.compiled.explain(times=1)
    if steps == 5:
        with pytest.raises(NotForwarded):
            pair.compiled.backward(y)
        pair.other.backward(y)
    else:
        pair.backward(y)
    for seed in range(3):
        pair.step(numbers(5, 4, seed=seed))
    only(pair)


# ------------------------------------------------------------------ derivatives by inputs


def test_kept_inputs() -> None:
    """Are those of the layers, in every call."""
    pair = trained(Residual(Linear(4, 3) >> Tanh() >> Linear(3, 4)).init(rng()).train(), keep="inputs")
    assert pair.plans == 1


@pytest.mark.parametrize("keep", ["inputs", "parameters"])
def test_a_gradients_norm_and_its_product_with_a_number(keep: Any) -> None:
    """A planned gradient's derivatives are found without a walk: the same as by it, inputs and shared ones too."""
    model = GPT2(11, 6, 8, 2, 2, rng=rng())  # the head's weights are the tokens'
    compiled: Compiled[Any, Any, Any] = Compiled(model, keep, told=pytest.fail)
    tokens = rng().integers(0, 11, (3, 6))
    grad: Any = None
    for seed in range(5):
        y = compiled.forward(tokens)
        grad = compiled.backward(numbers(*y.shape, seed=seed))
    assert hasattr(grad, "_made")
    leaves = grad.leaves()
    other = copy.deepcopy(grad)  # which a walk goes through
    assert not hasattr(other, "_made")
    walked = other.leaves()
    assert [*leaves] == [*walked] != []
    for name, leaf in leaves.items():
        assert_bits(leaf, walked[name], name)
    assert grad.norm() == other.norm() > 0
    half, walked_half = grad * 0.5, other * 0.5
    assert type(half) is type(grad)
    assert hasattr(half, "_made")
    for name, leaf in half.leaves().items():
        assert_bits(leaf, leaves[name] * np.float32(0.5), name)
    assert_gradients(half, walked_half, inputs=keep == "inputs")
    model.update(SGD(1.0), half)
    assert (half * 2).norm() == pytest.approx(grad.norm())


def test_dropped_inputs() -> None:
    """Reading one is an error with the cure."""
    compiled = trained(small()).compiled
    grad = compiled.backward(compiled.forward(numbers(5, 4)))
    for part in (grad, grad.parts[0], grad.parts[2]):
        with pytest.raises(StateError, match=r'typednn\.compile\(model, keep="inputs"\)'):
            _ = part.input


def test_frozen_layers_give_no_input() -> None:
    """Also where inputs are kept: the error is that of the layers."""
    model = (Linear(4, 5) >> Tanh() >> Linear(5, 3)).init(rng()).train()
    model.freeze(1)
    pair = trained(model, keep="inputs")
    assert pair.plans == 1
    grad = pair.compiled.backward(pair.compiled.forward(numbers(5, 4)))
    with pytest.raises(StateError, match="frozen ones"):
        _ = grad.input


@pytest.mark.parametrize(
    "make", [lambda: SequenceLinear(4, 4) >> Tanh() >> SequenceLinear(4, 3), lambda: Tanh() >> Tanh()]
)
def test_chains_of_elementwise_layers_are_updated(make: Callable[[], Any]) -> None:
    """Whose update reads the derivative by the input."""
    pair = trained(make().init(rng()).train())
    assert pair.plans == 1


# ------------------------------------------------------------------ arguments


def test_arguments() -> None:
    model: Any = small()
    loss, optimizer = MSE(), SGD(0.1)
    with pytest.raises(ArgumentError, match="model is a typednn model, got int"):
        typednn.compile(3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="keep must be one of 'parameters', 'inputs', got 'all'"):
        typednn.compile(model, keep="all")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="a whole step has a loss and an optimizer, got a loss alone"):
        typednn.compile(model, loss)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="got an optimizer alone"):
        typednn.compile(model, optimizer=optimizer)  # type: ignore[call-overload]
    assert type(typednn.compile(model)) is Compiled
    assert type(typednn.compile(model, loss, optimizer.bind(model))) is CompiledStep
    assert repr(typednn.compile(model)) == f"compile({model!r})"


def test_a_whole_step() -> None:
    """The loss before the update, the gradient, and the weights are those of the layers; it trains what is in eval."""
    model, loss = small(), MSE()
    other = copy.deepcopy(model)
    step = typednn.compile(model.eval(), loss, SGD(0.1).bind(model))
    optimizer = SGD(0.1).bind(other)
    assert step.grad is None
    for seed in range(7):
        x, y = numbers(5, 4, seed=seed), numbers(5, 3, seed=seed + 20)
        value = step(x, y)
        prediction = other.forward(x)
        assert value == loss.loss(prediction, y)
        grad = other.backward(loss.loss_grad(prediction, y))
        assert step.grad is not None
        assert_gradients(step.grad, grad)
        other.update(optimizer, grad)
        for name, array in other.state_dict().items():
            assert_bits(model.state_dict()[name], array, name)
    assert model.training
    assert step.compiled.why_not() == ""


@pytest.mark.parametrize("change", ["assigned", "tied", "frozen"])
def test_a_model_that_changes_before_its_update(change: str) -> None:
    """A plan knows which derivative is which parameter's; where the model is another by now, the gradient is read, and
    the next forward is another's too.
    """
    models = [small(), small()]
    learners: list[Any] = [typednn.compile(models[0]), models[1]]
    for step in range(9):
        grads = [learner.backward(np.sin(learner.forward(numbers(5, 4, seed=step)))) for learner in learners]
        for model, grad in zip(models, grads, strict=True):
            if step == 5 and change == "assigned":
                model[0].weight = model[0].weight * np.float32(2)
            elif step == 5 and change == "tied":
                model[0].tie(Linear(4, 6, rng=rng(3)), weight="weight")
            elif step == 5:
                model.freeze(1)
            model.update(SGD(0.1), grad)
        for name, array in models[1].state_dict().items():
            assert_bits(models[0].state_dict()[name], array, name)
