"""`fit` by plans: to the bits of the layers, and what the run's folder says where there is none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plans.test_code import Block, Prints
from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU
from typednn.losses import MSE
from typednn.optim import Adam
from typednn.plans import plan
from typednn.runs.recorded import read_metrics
from typednn.training import Evaluation, fit

X = np.random.default_rng(0).standard_normal((50, 6), np.float32)


def model() -> Any:
    chain: Any = Input(6) >> Linear(6, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.2) >> Linear(8, 6)
    return chain.init(np.random.default_rng(1))


def trained(made: Any, **arguments: Any) -> Any:
    loader = Loader(X, X, batch_size=8, rng=np.random.default_rng(2))
    given: dict[str, Any] = {"epochs": 4, "progress": False, "validation": Evaluation(X, X), **arguments}
    fit(made, MSE(), Adam(0.01), loader, **given)
    return made


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each forward by a plan."""
    rows, forward = list[int](), plan.Plan.forward

    def counted(self: Any, x: Any) -> Any:
        rows.append(len(x))
        return forward(self, x)

    monkeypatch.setattr(plan.Plan, "forward", counted)
    return rows


def same(one: Any, two: Any) -> bool:
    states = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(a.tobytes() == b.tobytes() for a, b in states)


def test_the_bits_of_the_layers(planned: list[int]) -> None:
    """In all batches, the last short one of each epoch, too; evaluations between them change nothing."""
    by_plan = trained(model())
    assert planned.count(8) == 4 * 6 - 2
    assert planned.count(2) == 4 - 2
    assert same(by_plan, trained(model(), compile=False))


@pytest.mark.parametrize(
    "arguments", [{"compile": False}, {"transform": lambda grad: grad}], ids=["compile=False", "transform"]
)
def test_without_plans(planned: list[int], arguments: dict[str, Any]) -> None:
    """A transform may read any derivative."""
    trained(model(), **arguments)
    assert planned == []


@pytest.mark.parametrize("arguments", [{"accumulate": 3}, {"clip_grad_norm": 0.1}], ids=str)
def test_with_other_arguments(planned: list[int], arguments: dict[str, Any]) -> None:
    """Gradients are added up and clipped as those of the layers."""
    assert same(trained(model(), **arguments), trained(model(), compile=False, **arguments))
    assert planned


def test_a_run_goes_on_to_the_same_bits(tmp_path: Path, planned: list[int]) -> None:
    """Its first steps after the stop have no plan."""
    whole = trained(model(), run=tmp_path / "whole")
    trained(model(), run=tmp_path / "parts", max_steps=9)
    resumed = trained(model(), run=tmp_path / "parts")
    assert planned
    assert same(whole, resumed)


def test_what_the_folder_says(tmp_path: Path) -> None:
    """Why there is no plan, and that there should be none; readers know the line."""
    trained(Prints().init(np.random.default_rng(0)), run=tmp_path / "prints", epochs=1)
    lines = (tmp_path / "prints" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    (found,) = (line for line in map(json.loads, lines) if line["kind"] == "plan")
    assert found["text"].startswith("layer by layer: Prints.inner calls print")
    assert found["step"] == 1
    assert read_metrics(tmp_path / "prints").remarks == ()
    trained(Block().init(np.random.default_rng(0)), run=tmp_path / "off", epochs=1, compile=False)
    start = json.loads((tmp_path / "off" / "starts.jsonl").read_text(encoding="utf-8"))
    assert start["settings"]["compile"] is False


def test_a_wrong_argument() -> None:
    with pytest.raises(ArgumentError, match="compile must be"):
        trained(model(), compile="yes")
