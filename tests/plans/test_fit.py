"""`fit` by plans: to the bits of the layers, and what the run's folder says where there is none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import typednn
from tests.plans.test_code import Block, Prints
from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU
from typednn.losses import MSE
from typednn.optim import Adam
from typednn.parallel import DataParallel
from typednn.plans import plan
from typednn.runs.recorded import read_metrics
from typednn.training import Evaluation, evaluate, fit

X = np.random.default_rng(0).standard_normal((50, 6), np.float32)


def model() -> Any:
    chain: Any = Input(6) >> Linear(6, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.2) >> Linear(8, 6)
    return chain.init(np.random.default_rng(1))


def trained(made: Any, x: Any = X, **arguments: Any) -> Any:
    loader = Loader(x, x, batch_size=8, rng=np.random.default_rng(2))
    given: dict[str, Any] = {"epochs": 4, "progress": False, "validation": Evaluation(x, x), **arguments}
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


def test_without_plans(planned: list[int]) -> None:
    trained(model(), compile=False)
    assert planned == []


def test_a_transform_reads_any_derivative(planned: list[int]) -> None:
    """Also those by inputs of layers, which plans leave out otherwise."""

    def transform(read: list[bytes]) -> Any:
        def keep(grad: Any) -> Any:
            read.append(b"".join(part.input.tobytes() for part in grad.parts))
            return grad

        return keep

    by_plan, by_layer = list[bytes](), list[bytes]()
    one = trained(model(), transform=transform(by_plan))
    assert planned
    assert same(one, trained(model(), transform=transform(by_layer), compile=False))
    assert by_plan == by_layer


def test_shards_have_plans(planned: list[int]) -> None:
    """Each shard's forward and backward are the plan's, with the bits of the layers."""
    one = trained(model(), X[:48], parallel=DataParallel(shards=2))
    assert planned.count(4) == 2 * 4 * 6 - 2
    assert same(one, trained(model(), X[:48], parallel=DataParallel(shards=2), compile=False))


@pytest.mark.parametrize("rows", [7, 64])
def test_evaluate(planned: list[int], rows: int) -> None:
    """Many batches have a plan, and any that of what `typednn.compile` gives; the bits are those of the layers."""
    made = model().eval()
    x = np.random.default_rng(3).standard_normal((rows, 6), np.float32)
    expected = evaluate(made, x, 2, compile=False)
    assert planned == []
    np.testing.assert_array_equal(evaluate(made, x, 2), expected)
    assert bool(planned) == (rows == 64)
    compiled: Any = typednn.compile(made.train())
    for _ in range(4):
        np.testing.assert_array_equal(evaluate(compiled, x, rows), expected)
    assert rows in planned
    assert made.training


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
