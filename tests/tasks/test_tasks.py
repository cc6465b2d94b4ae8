"""What tasks say to `fit`: targets, metrics, and which task a loss is of."""

from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader
from typednn.layers import Linear, SequenceLinear
from typednn.losses import L1, MSE, NLL, BCEWithLogits, CrossEntropy, Huber, KLDiv, SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.tasks import Classification, Regression, task_of
from typednn.training import Evaluation, fit

X = np.random.default_rng(0).standard_normal((40, 3), dtype=np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64)
SHARES = np.eye(2, dtype=np.float32)[LABELS]


class Own:
    """A loss of the reader's own."""


@pytest.mark.parametrize(
    ("loss", "validation", "task"),
    [
        (MSE(), None, Regression),
        (MSE(), Evaluation(X, LABELS), Regression),
        (MSE(), Evaluation(X, SHARES, LABELS), Classification),
        (SoftmaxCrossEntropy(), None, Classification),
        (CrossEntropy(), Evaluation(X, SHARES), Classification),
        (SoftmaxCrossEntropy(), Evaluation(X, SHARES), Classification),
        (L1(), None, Regression),
        (Huber(), Evaluation(X, SHARES), Regression),
        (BCEWithLogits(), Evaluation(X, SHARES), Classification),
        (KLDiv(), Evaluation(X, SHARES), Classification),
        (NLL(), Evaluation(X, LABELS), Classification),
        (Own(), None, Classification),
        (Own(), Evaluation(X, LABELS), Classification),
        (Own(), Evaluation(X, SHARES), Regression),
        (Own(), Evaluation(X, SHARES, LABELS), Classification),
    ],
)
def test_the_task_of_a_loss(loss: object, validation: Any, task: type[Any]) -> None:
    assert isinstance(task_of(loss, validation), task)


def test_a_task_may_be_empty() -> None:
    """An object that is false, as an empty list is, is a task all the same."""

    class Empty:
        def __len__(self) -> int:
            return 0

        def targets(self, y: Any, prediction: Any) -> Any:
            return y

        def metrics(self, batches: Any) -> dict[str, float]:
            return {"own": 1.0}

    assert _metrics(SoftmaxCrossEntropy(), LABELS, task=Empty()) == {"own"}


def _metrics(loss: Any, y: Any, labels: Any = None, **given: Any) -> set[str]:
    model = (Input(3) >> Linear(3, 2 if y.ndim == 2 or y.dtype.kind == "i" else 1)).init(PCG32(0))
    validation = Evaluation(X, y, labels)
    loader = Loader(X, y, batch_size=8, rng=PCG32(1))
    return set(
        fit(model, loss, SGD(0.01), loader, epochs=1, validation=validation, progress=False, **given)
        .evaluations[-1]
        .metrics
    )


def test_what_is_measured() -> None:
    """As the loss says; labels make a classification of any loss; the argument decides."""
    assert _metrics(SoftmaxCrossEntropy(), LABELS) == {"accuracy"}
    assert _metrics(MSE(), SHARES) == {"mse", "mae", "r2"}
    assert _metrics(MSE(), SHARES, LABELS) == {"accuracy"}
    assert _metrics(MSE(), SHARES, task=Classification()) == set()
    assert _metrics(MSE(), X[:, 1], task=Regression()) == {"mse", "mae", "r2"}


def test_labels_of_each_token_and_those_that_are_ignored() -> None:
    """A model of sequences trains and is measured; ignored labels don't count for the accuracy."""
    x = np.random.default_rng(1).standard_normal((40, 5, 3), dtype=np.float32)
    labels = (x[:, :, 0] > 0).astype(np.int64)
    labels[:, 3:] = -100
    model = (Input(5, 3) >> SequenceLinear(3, 2)).init(PCG32(0))
    loader, loss = Loader(x, labels, batch_size=8, rng=PCG32(1)), SoftmaxCrossEntropy()
    history = fit(model, loss, SGD(2.0), loader, epochs=30, validation=Evaluation(x, labels), progress=False)
    right = (model.forward(x).argmax(axis=-1) == labels)[:, :3].mean()
    assert history.evaluations[-1].metrics == {"accuracy": pytest.approx(right)}
    assert right > 0.9
    nothing = [(np.zeros((1, 5, 2), np.float32), np.full((1, 5), -100))]
    assert Classification(ignore_index=-100).metrics(iter(nothing)) == {"accuracy": 0.0}
    assert task_of(SoftmaxCrossEntropy(ignore_index=0)) == Classification(ignore_index=0)


def test_a_task_of_ones_own() -> None:
    """Two methods: the loss compares with what the first says, an evaluation holds what the second says."""

    class Signs:
        def targets(self, y: Any, prediction: Any) -> Any:
            return np.sign(y)[:, None]

        def metrics(self, batches: Any) -> dict[str, float]:
            return {"signs": float(np.mean([np.mean(np.sign(scores[:, 0]) == np.sign(y)) for scores, y in batches]))}

    model = (Input(3) >> Linear(3, 1)).init(PCG32(0))
    y = 100 * X[:, 0]
    loader = Loader(X, y, batch_size=8, rng=PCG32(1))
    history = fit(model, MSE(), SGD(0.1), loader, epochs=20, task=Signs(), validation=Evaluation(X, y), progress=False)
    assert history.evaluations[-1].metrics["signs"] > 0.9
    assert history.losses[-1] < 1


def test_rows_of_shares() -> None:
    prediction = np.zeros((2, 4), np.float32)
    np.testing.assert_allclose(
        Classification(rows=True, smoothing=0.2).targets(np.array([0, 3]), prediction),
        [[0.85, 0.05, 0.05, 0.05], [0.05, 0.05, 0.05, 0.85]],
        rtol=1e-6,
    )
    labels = np.array([0, 3])
    assert Classification().targets(labels, prediction) is labels


def test_numbers_of_one_output() -> None:
    """(batch) becomes the column that one output gives; what has the outputs' shape is taken as it is."""
    y = np.array([1.0, 2.0], np.float32)
    assert Regression().targets(y, np.zeros((2, 1))).shape == (2, 1)
    assert Regression().targets(y, np.zeros(2)) is y
    both = np.zeros((2, 3), np.float32)
    assert Regression().targets(both, both) is both
