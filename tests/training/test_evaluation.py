"""evaluate: every row once, in order, and the model as it was."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.arrays import Array2
from typednn.errors import ArgumentError, ShapeError
from typednn.layer import Chain
from typednn.layers import Linear, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.random import PCG32
from typednn.tasks import Classification
from typednn.training import Evaluation, evaluate


@pytest.fixture
def model() -> Chain[Array2, Array2, str, *tuple[Any, ...]]:
    return (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0))


def _modes(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> list[bool]:
    return [module.training for _, module in model.named_modules()]


X: Array2 = np.random.default_rng(0).standard_normal((23, 4), dtype=np.float32)


@pytest.mark.parametrize("batch_size", [1, 5, 23, 100])
def test_same_as_in_one_piece(model: Chain[Array2, Array2, str, *tuple[Any, ...]], batch_size: int) -> None:
    scores = evaluate(model, X, batch_size)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, model.forward(X), rtol=1e-5, atol=1e-6)


def test_batches_may_be_transformed(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    """Stored in bytes, read as floats, a batch at a time: the same scores as of the whole, transformed before."""
    stored = np.random.default_rng(1).integers(0, 256, (23, 4), dtype=np.uint8)
    sizes: list[int] = []

    def scaled(batch: Any) -> Array2:
        sizes.append(len(batch))
        numbers: Array2 = batch.astype(np.float32) / np.float32(255)
        return numbers

    np.testing.assert_array_equal(evaluate(model, stored, 10, transform=scaled), evaluate(model, scaled(stored), 10))
    assert sizes == [10, 10, 3, 23]


def test_each_part_returns_to_its_mode(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    evaluate(model, X)
    assert _modes(model) == [True] * 4
    model.parts[0].eval()
    evaluate(model, X)
    assert _modes(model) == [True, False, True, True]
    model.eval()
    evaluate(model, X)
    assert _modes(model) == [False] * 4


def test_nothing_is_kept_and_nothing_learned(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    before = [weights.copy() for weights in model.parameters()]
    evaluate(model, X)
    assert all(
        not module.__typednn_calls__.kept and module.__typednn_calls__.record is None
        for _, module in model.named_modules()
    )
    for old, new in zip(before, model.parameters(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_the_mode_returns_after_an_error_too(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    with pytest.raises(ShapeError):
        evaluate(model, np.zeros((3, 5), np.float32))
    assert _modes(model) == [True] * 4


def test_arguments_are_checked(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    with pytest.raises(ArgumentError, match="n must be an integer of at least 1, got 0"):
        evaluate(model, X[:0])
    with pytest.raises(ArgumentError, match="batch_size must be an integer of at least 1, got 0"):
        evaluate(model, X, 0)
    assert _modes(model) == [True] * 4


Y = (X[:, 0] > X[:, 1]).astype(np.int64)


@pytest.mark.parametrize("batch_size", [1, 5, 23, 100])
def test_measured_as_in_one_piece(model: Chain[Array2, Array2, str, *tuple[Any, ...]], batch_size: int) -> None:
    """The mean weighs a short last batch by its rows; a memory map is read like an array."""
    loss = SoftmaxCrossEntropy()
    scores = model.forward(X)
    value, metrics = Evaluation(X, Y, batch_size=batch_size).measure(model, loss, Classification())
    assert value == pytest.approx(loss.loss(scores, Y), rel=1e-5)
    assert metrics == {"accuracy": (scores.argmax(axis=1) == Y).mean()}
    assert _modes(model) == [True] * 4


def test_measured_from_memory_maps(model: Chain[Array2, Array2, str, *tuple[Any, ...]], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    x, y = (np.load(tmp_path / name, mmap_mode="r") for name in ("x.npy", "y.npy"))
    loss, task = SoftmaxCrossEntropy(), Classification()
    assert Evaluation(x, y).measure(model, loss, task) == Evaluation(X, Y).measure(model, loss, task)
    np.testing.assert_array_equal(evaluate(model, x), evaluate(model, X))


def test_accuracy_needs_labels(model: Chain[Array2, Array2, str, *tuple[Any, ...]]) -> None:
    targets = np.eye(2, dtype=np.float32)[Y]
    task = Classification()
    value, metrics = Evaluation(X, targets, batch_size=5).measure(model, MSE(), task)
    assert value == pytest.approx(MSE().loss(model.forward(X), targets), rel=1e-5), (
        "of all batches, though the task looks at none"
    )
    assert metrics == {}
    assert (
        Evaluation(X, targets, Y).measure(model, MSE(), task)[1]
        == Evaluation(X, Y).measure(model, SoftmaxCrossEntropy(), task)[1]
    )


def test_rows_must_pair() -> None:
    with pytest.raises(
        ArgumentError, match="Evaluation: x, y and labels must have as many rows, and at least one, got 23 and 22"
    ):
        Evaluation(X, Y[:22])
    with pytest.raises(ArgumentError, match="got 23 and 23 and 1"):
        Evaluation(X, Y, Y[:1])
    with pytest.raises(ArgumentError, match="got 0 and 0"):
        Evaluation(X[:0], Y[:0])
    with pytest.raises(ArgumentError, match="Evaluation: batch_size must be an integer of at least 1, got 0"):
        Evaluation(X, Y, batch_size=0)
