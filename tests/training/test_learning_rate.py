"""find_learning_rate: the losses are those of a training at these rates, and nothing is left of it."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.arrays import Array2, IntArray1
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.layer import Chain
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, StepLR
from typednn.training import fit
from typednn.training.learning_rate import find_learning_rate

Model = Chain[Array2, Array2, str, *tuple[Any, ...]]
X: Array2 = np.random.default_rng(0).standard_normal((23, 4), dtype=np.float32)
Y: IntArray1 = (X[:, 0] > X[:, 1]).astype(np.int64)


@pytest.fixture(autouse=True)
def _without_kernels() -> Iterator[None]:
    with using("reference"):
        yield


def _model() -> Model:
    rng = np.random.default_rng(0)
    chain = (
        Input(4)
        >> Linear(4, 8)
        >> BatchNorm1d(8)
        >> ReLU()
        >> Dropout(0.3, rng=np.random.default_rng(7))
        >> Linear(8, 2)
    )
    return chain.init(rng)


def _loader() -> Loader[Array2, IntArray1]:
    return Loader(X, Y, batch_size=5, rng=np.random.default_rng(1))


def test_the_losses_are_those_of_a_training() -> None:
    """Step by step, by hand: the loss is measured, then a step with that rate is made; epochs follow each other."""
    found = find_learning_rate(
        _model(),
        SoftmaxCrossEntropy(),
        SGD(9.0, momentum=0.5),
        _loader(),
        start=1e-3,
        end=1e-1,
        steps=11,
        smoothing=0.5,
    )
    rates = np.geomspace(1e-3, 1e-1, 11)
    np.testing.assert_allclose(found.rates, rates)
    model, loss, optimizer, loader = _model(), SoftmaxCrossEntropy(), SGD(9.0, momentum=0.5), _loader()
    losses: list[float] = []
    while len(losses) < 11:
        for batch in loader.batches():
            if len(losses) == 11:
                break
            scores = model.forward(batch.x)
            losses.append(loss.loss(scores, batch.y))
            optimizer.lr = float(rates[len(losses) - 1])
            model.update(optimizer, model.backward(loss.loss_grad(scores, batch.y)))
    np.testing.assert_allclose(found.losses, losses, rtol=1e-6)
    weights = 0.5 ** np.arange(11)
    means = [np.average(losses[: k + 1], weights=weights[: k + 1][::-1]) for k in range(11)]
    np.testing.assert_allclose(found.smoothed, means)


def test_nothing_is_left_of_it() -> None:
    """Model, optimizer and loader are as before to the bit: the training that follows is that of one who had not
    looked.
    """
    runs: list[dict[str, Any]] = []
    for looks in (False, True):
        model, optimizer, loader = _model(), Adam(StepLR(0.01, 3)), _loader()
        fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=1, progress=False)
        before = copy.deepcopy((model.state_dict(), loader.state_dict(), optimizer.lr, optimizer.steps))
        if looks:
            find_learning_rate(model, SoftmaxCrossEntropy(), optimizer, loader, steps=13)
            after = (model.state_dict(), loader.state_dict(), optimizer.lr, optimizer.steps)
            assert before[1:] == after[1:]
            for name, array in before[0].items():
                np.testing.assert_array_equal(after[0][name], array)
        fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=3, progress=False)
        runs.append({name: array.copy() for name, array in model.state_dict().items()})
    for name, array in runs[0].items():
        np.testing.assert_array_equal(runs[1][name], array)


def test_after_an_error_too() -> None:
    model, loader = _model(), _loader()
    before, position = copy.deepcopy(model.state_dict()), loader.state_dict()

    class Broken(SGD):
        def apply(self, state: Any, grad: Any, lr: float) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        find_learning_rate(model, SoftmaxCrossEntropy(), Broken(0.1), loader)
    assert loader.state_dict() == position
    for name, array in before.items():
        np.testing.assert_array_equal(model.state_dict()[name], array)


def _quadratic(**changes: Any) -> Any:
    """One weight, loss (w·x - y)² at x = 1: a step with rate r multiplies the distance by 1 - 2r, so it diverges beyond
    rate 1.

    Two batches want different weights: the loss never is nothing.
    """
    model = (Input(1) >> Linear(1, 1, bias=False)).init(np.random.default_rng(3))
    x, y = np.ones((4, 1), np.float32), np.array([4.5, 4.5, 5.5, 5.5], np.float32)
    loader = Loader(x, y, batch_size=2, shuffle=False)
    return find_learning_rate(model, MSE(), SGD(), loader, **{"start": 1e-4, "end": 100.0, "smoothing": 0.8} | changes)


def test_the_suggestion_lies_on_the_fall() -> None:
    """The loss falls from about rate 0.01 to 1 and is lost beyond: it ends there, and the suggestion is before its
    least.
    """
    found = _quadratic()
    assert len(found.rates) < 100
    assert 1.0 < found.rates[-1] < 20.0
    least = found.rates[int(np.argmin(found.smoothed))]
    assert 1e-3 < found.suggestion < least < 5.0
    assert max(found.smoothed) <= 4 * found.smoothed[0]


def test_no_fall_no_suggestion() -> None:
    found = _quadratic(start=5.0, end=50.0)
    assert found.suggestion is None
    assert found.losses[0] > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": 0.0}, "0 < start < end, got start=0, end=100"),
        ({"start": 1.0, "end": 0.1}, "0 < start < end"),
        ({"start": "1"}, "start must be a finite number"),
        ({"steps": 1}, "steps must be an integer of at least 2, got 1"),
        ({"smoothing": 1.0}, "smoothing must be a finite number"),
        ({"diverged": 1.0}, "more than 1, got 1"),
        ({"task": "regression"}, "a task has targets and metrics"),
    ],
)
def test_arguments_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _quadratic(**changes)


def test_an_optimizer_without_a_rate_is_told() -> None:
    class Plain:
        def step(self, weights: Any, grad: Any) -> None:
            weights -= grad

    with pytest.raises(ArgumentError, match="whose rate can be set, got Plain"):
        find_learning_rate(_model(), SoftmaxCrossEntropy(), Plain(), _loader())
