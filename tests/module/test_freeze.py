"""Frozen layers of a chain: what learns has the derivative that finite differences give, all else stays as it is."""

import copy
import pickle  # noqa: TID251  # a model and its frozen layers are copied together
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError, StateError
from typednn.layers import BatchNorm2d, Conv2d, Dropout, Flatten, Linear, PReLU, ReLU, Tanh
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, lstm_classifier
from typednn.optim import SGD, clip_grad_norm
from typednn.training import Evaluation, fit
from typednn.training.evaluation import evaluating

RNG = np.random.default_rng
LABELS = np.array([0, 2, 1, 1])
LEARNERS = 4  # layers with parameters


def network() -> Any:
    """Four layers with parameters, statistics and a layer that draws."""
    body = Input(4, 5, 2) >> Conv2d(2, 3, 3, padding=1, bias=True) >> BatchNorm2d(3).named("bn") >> ReLU()
    model = body >> Dropout(0.5) >> Flatten() >> Linear(60, 6).named("hidden") >> Tanh() >> Linear(6, 3).named("out")
    model.init(RNG(0)).astype("float64")
    state = model.state_dict()
    statistics = {"bn.running_mean": np.array([0.3, -0.2, 0.1]), "bn.running_var": np.array([0.5, 2.0, 1.1])}
    model.load_state_dict({**state, **statistics})
    return model


def inputs() -> Any:
    return RNG(1).standard_normal((4, 4, 5, 2))


def gradient(model: Any, x: Any) -> Any:
    return model.backward(SoftmaxCrossEntropy().loss_grad(model.forward(x), LABELS))


@pytest.mark.parametrize(("count", "names"), [(-1, ["out"]), (3, ["out"]), (2, ["hidden", "out"])])
def test_derivatives_behind_frozen_layers(count: int, names: list[str]) -> None:
    """The loss as it is in eval, as nothing draws behind them: central differences by each number of what learns."""
    model, x, loss = network().freeze(count), inputs(), SoftmaxCrossEntropy()
    with using("reference"):
        found = model.named_gradients(gradient(model, x))
        assert {name.partition(".")[0] for name in found} == set(names)
        for name, derivative in found.items():
            weights = model.named_parameters()[name]
            for place in list(np.ndindex(weights.shape))[::7]:
                values = []
                for step in (1e-5, -1e-5):
                    weights[place] += step
                    with evaluating(model):
                        values.append(loss.loss(model.forward(x), LABELS))
                    weights[place] -= step
                assert derivative[place] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5, abs=1e-9)


def test_what_is_frozen_stays() -> None:
    """Weights, running statistics, and the seed of the dropout; an optimizer keeps nothing of them."""
    model = network().freeze(2)
    before = {name: array.copy() for name, array in model.state_dict().items()}
    optimizer = SGD(0.1, momentum=0.9, weight_decay=0.1).bind(model)
    for _ in range(3):
        model.train().update(optimizer, gradient(model, inputs()))
        model.eval().forward(inputs())
    changed = {name for name, array in model.state_dict().items() if not np.array_equal(array, before[name])}
    assert changed == {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}
    assert not any(name.startswith(("0.", "bn.")) for name in optimizer.state_dict() if not name.endswith(".step"))


def test_frozen_layers_learn_again() -> None:
    """To the bit as in a model that was never frozen."""
    thawed, other = network().freeze(-1).freeze(0), network()
    found, wanted = (model.named_gradients(gradient(model, inputs())) for model in (thawed, other))
    assert list(found) == list(wanted)
    for name, derivative in wanted.items():
        np.testing.assert_array_equal(found[name], derivative)


def test_the_gradient_is_a_value_as_ever() -> None:
    model = network().freeze(-1)
    first = gradient(model, inputs())
    assert first.parts[:-1] == (None,) * (len(model) - 1)
    total = 0.5 * (first + gradient(model, inputs()))
    assert total.norm() == pytest.approx(first.norm())
    assert clip_grad_norm(total, 1e-3).norm() == pytest.approx(1e-3, rel=1e-4)
    with pytest.raises(StateError, match=r"passes all layers, got frozen ones, .*; freeze\(0\) lets all layers learn"):
        _ = first.input
    model.free_cache()
    with pytest.raises(StateError):
        model.backward(np.zeros((4, 3)))


def test_what_was_kept_is_let_go() -> None:
    """When the model goes to eval or its cache is freed."""
    for let_go in ("eval", "free_cache"):
        model = network().freeze(2)
        gradient(model, inputs())
        kept = model.part("hidden").__typednn_calls__.kept
        assert kept
        getattr(model, let_go)()
        assert not kept


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_frozen_too(copied: Any) -> None:
    model = network().freeze(-1)
    gradient(model, inputs())
    other = copied(model)
    before = other.state_dict()["out.weight"].copy()
    model.update(SGD(0.1), gradient(model, inputs()))
    np.testing.assert_array_equal(other.state_dict()["out.weight"], before)
    assert list(other.named_gradients(gradient(other, inputs()))) == ["out.weight", "out.bias"]


def test_tokens_and_fit() -> None:
    """A chain that begins with tokens, and ``fit``, which evaluates between its steps."""
    model = lstm_classifier(3, length=7, rng=RNG(0)).freeze()
    before = {name: array.copy() for name, array in model.state_dict().items()}
    with using("reference"):
        loader = Loader(RNG(2).integers(0, 257, (4, 7)), LABELS, batch_size=2, rng=RNG(3))
        validation = Evaluation(RNG(4).integers(0, 257, (4, 7)), LABELS)
        fit(model, SoftmaxCrossEntropy(), SGD(0.5), loader, epochs=2, validation=validation, progress=False)
    changed = {name for name, array in model.state_dict().items() if not np.array_equal(array, before[name])}
    assert changed == {"scores.weight", "scores.bias"}


@pytest.mark.parametrize("count", [LEARNERS, -LEARNERS, True, 1.5, "fc"])
def test_a_layer_learns_at_least(count: Any) -> None:
    with pytest.raises(ArgumentError, match=r"freeze: of 4 layers with parameters one learns at least, got .*-3 to 3"):
        network().freeze(count)


def test_chains_that_have_nothing_to_freeze() -> None:
    with pytest.raises(ArgumentError, match=r"of 1 layers with parameters .*; a group of the optimizer can be frozen"):
        (Input(8, dtype=int) >> GPT2(5, 8, 4, 1, 1)).freeze()
    chain: Any = PReLU() >> Tanh() >> PReLU()
    with pytest.raises(ArgumentError, match=r"begin the chain with Input\(\.\.\.\)"):
        chain.freeze()
