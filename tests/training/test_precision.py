"""Trainings in mixed precision: steps multiply in bfloat16, evaluations don't, and a run goes on to the same bits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader
from typednn.engines import counting
from typednn.errors import ArgumentError
from typednn.kernels.linear import bfloat16
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import AdamW
from typednn.random import PCG32
from typednn.runs.history import History
from typednn.training import evaluation, fit

RNG = np.random.default_rng(0)
X = RNG.standard_normal((96, 6), np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of every size are in bfloat16."""
    monkeypatch.setattr(bfloat16, "LEAST", 1)
    monkeypatch.setattr(bfloat16, "FEWEST", 1)


def model(dtype: Any = np.float32) -> Any:
    made = (Input(6) >> Linear(6, 16) >> ReLU() >> Linear(16, 2)).init(PCG32(1))
    return made if dtype is np.float32 else made.astype(dtype)


def train(trained: Any, epochs: int = 8, **arguments: Any) -> History:
    loader = Loader(X, Y, batch_size=32, rng=PCG32(2))
    given: dict[str, Any] = {"precision": "bf16-mixed", "progress": False, **arguments}
    return fit(trained, SoftmaxCrossEntropy(), AdamW(0.02), loader, epochs=epochs, **given)


def weights(trained: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in trained.state_dict().items()}


def test_steps_are_in_bfloat16_and_evaluations_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z-F9: weights and the loss stay float32."""
    mixed, plain = model(), model()
    measure = cast("Callable[..., Any]", getattr(evaluation.Evaluation, "measure"))  # noqa: B009
    engines: list[set[str]] = []

    def measured(*arguments: Any) -> Any:
        with counting() as counts:
            found = measure(*arguments)
        engines.append({engine for name, engine in counts if name == "linear.forward"})
        return found

    monkeypatch.setattr(evaluation.Evaluation, "measure", measured)
    with counting() as counts:
        history = train(mixed, validation=(X, Y))
    assert {engine for name, engine in counts if name == "linear.backward"} == {"bfloat16"}
    assert engines
    assert not any("bfloat16" in each for each in engines)
    other = train(plain, precision=None, validation=(X, Y))
    assert weights(mixed) != weights(plain)
    assert mixed.parts[0].weight.dtype == np.float32
    assert history.evaluations[-1].loss == pytest.approx(other.evaluations[-1].loss, abs=0.01)
    assert history.epochs[0].loss > 2 * history.epochs[-1].loss
    with counting() as counts:
        train(model(), precision=None, epochs=1)
    assert "bfloat16" not in {engine for _, engine in counts}


def test_a_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, parts = model(), model()
    train(whole, epochs=4)
    train(parts, epochs=2, run=tmp_path / "run")
    parts = model()
    train(parts, epochs=4, run=tmp_path / "run")
    assert weights(parts) == weights(whole)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_a_model_of_another_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(ArgumentError, match="is of float32 models on the CPU, got a model in float") as caught:
        train(model(dtype))
    assert caught.value.argument == "precision"


@pytest.mark.parametrize("precision", ["bf16", "float16", 16, True, ""])
def test_a_precision_that_is_none(precision: Any) -> None:
    with pytest.raises(ArgumentError, match="precision must be one of 'bf16-mixed'"):
        train(model(), precision=precision)
