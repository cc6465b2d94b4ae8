"""What an earlier typednn wrote is read as it was: configs, saved weights, a finished run, an interrupted one
(`tests/golden/before`).
"""

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from typednn import config
from typednn.losses import SoftmaxCrossEntropy
from typednn.recipes import resume
from typednn.recipes.using import evaluate_run, predict
from typednn.runs import RunWarning

BEFORE = Path(__file__).resolve().parents[1] / "golden" / "before"
EXPECTED: dict[str, Any] = json.loads((BEFORE / "expected.json").read_text(encoding="utf-8"))
CONFIGS = ("rows.toml", "images.toml", "paper.config")
# Another machine rounds otherwise; 24 steps of Adam carry that on.
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy, and the working folder: the runs name their data by relative paths."""
    folder = shutil.copytree(BEFORE, tmp_path / "before")
    monkeypatch.chdir(folder)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*the bits may differ", RunWarning)  # they were made on another machine
        yield folder


def _close(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert set(found) == set(wanted)
    for name, array in found.items():
        assert array.dtype == wanted[name].dtype
        np.testing.assert_allclose(array, wanted[name], **CLOSE, err_msg=name)


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_and_saved_weights(name: str) -> None:
    """The same model is built, filled alike from the same generator; saved weights fit, and give what they gave."""
    read = config.load(BEFORE / name)
    model: Any = read.model()
    assert str(model) == EXPECTED[name]["printed"]
    saved = safetensors.numpy.load_file(BEFORE / f"{name}.safetensors")
    x = np.random.default_rng(5).standard_normal((4, model.in_features), dtype=np.float32)
    _close(model.init(read.rng()).state_dict(), saved)
    other: Any = read.model()
    other.load_state_dict(saved)
    np.testing.assert_allclose(other.forward(x), EXPECTED[name]["output"], **CLOSE)


def test_three_updates() -> None:
    read = config.load(BEFORE / "rows.toml")
    model: Any = read.model()
    model.load_state_dict(safetensors.numpy.load_file(BEFORE / "rows.toml.safetensors"))
    x = np.random.default_rng(5).standard_normal((4, model.in_features), dtype=np.float32)
    optimizer: Any = read.optimizer()
    optimizer.bind(model)
    loss: Any = SoftmaxCrossEntropy()
    for _ in range(3):
        model.update(optimizer, model.backward(loss.loss_grad(model.forward(x), np.array([0, 1, 2, 0]))))
    _close(model.state_dict(), safetensors.numpy.load_file(BEFORE / "rows.toml.stepped.safetensors"))


def _says(run: str, wanted: dict[str, Any]) -> None:
    report, _ = evaluate_run(run)
    assert report.confusion.tolist() == wanted["confusion"]
    answers = predict(run, ["rows.csv"])
    assert [answer.label for answer in answers] == wanted["labels"]
    np.testing.assert_allclose(
        [list(answer.probabilities.values()) for answer in answers], wanted["probabilities"], **CLOSE
    )


@pytest.mark.usefixtures("before")
def test_a_finished_run_says_what_it_said() -> None:
    """Its best weights are not its last; resumed, nothing is trained and it says the same."""
    _says("finished", EXPECTED["finished"])
    steps = (
        json.loads(Path("finished/checkpoints/best.json").read_text(encoding="utf-8"))["name"],
        resume("finished").history.steps,
    )
    assert steps == ("step-00000012", 18)
    _says("finished", EXPECTED["finished"])


@pytest.mark.usefixtures("before")
def test_an_interrupted_run_goes_on() -> None:
    """From within an epoch, to the weights, moments and losses that the old code ended with."""
    history = resume("interrupted", progress=False).history
    assert history.steps == EXPECTED["interrupted"]["steps"]
    np.testing.assert_allclose(history.losses, EXPECTED["interrupted"]["losses"], **CLOSE)
    newest = max(Path("interrupted/checkpoints").glob("step-*"))
    for name in ("weights.safetensors", "optimizer.safetensors"):
        _close(safetensors.numpy.load_file(newest / name), safetensors.numpy.load_file(f"resumed.{name}"))
    _says("interrupted", EXPECTED["interrupted"])
