"""The recipes on the real MNIST: the paper's always, a minute; the modern one, which takes minutes, where TYPEDNN_LONG
is set.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from typednn.data import find_mnist
from typednn.recipes import Samples, load_data, recipe, train
from typednn.reports.plots import write_plots

long = pytest.mark.skipif(not os.environ.get("TYPEDNN_LONG"), reason="takes minutes: TYPEDNN_LONG=1 runs it")


@pytest.fixture(scope="module")
def mnist() -> Samples:
    if find_mnist() is None:
        pytest.skip("needs MNIST; set TYPEDNN_DATA")
    return load_data("mnist")


def test_an_epoch_of_the_papers(mnist: Samples) -> None:
    """P-E4: 100 steps at batch 600 and rate 1.0 learn: from 10 % to 90 %."""
    result = train(recipe("lenet5-paper").changed({"epochs": 1}), mnist, progress=False)
    assert result.history.steps == 100
    assert result.test.accuracy >= 0.9


def test_the_papers_accuracies(mnist: Samples, tmp_path: Path) -> None:
    """P-E5: at least 97.6 % and 97.0 %. P-E6: the loss falls from above ln(10)/10 and never to the floor of its
    targets; both figures.
    """
    result = train(recipe("lenet5-paper"), mnist, run=tmp_path / "run", progress=False)
    assert result.train.accuracy >= 0.976
    assert result.test.accuracy >= 0.970
    lines = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    losses = np.array([line["loss"] for line in lines if line["kind"] == "step"])
    # He's initial values are worse than ten equal probabilities
    assert losses[0] > np.log(10) / 10 > losses[-100:].max()
    assert losses.min() > 0.0500288
    assert losses[-100:].mean() < losses[:100].mean()
    confusion = result.test.confusion
    assert confusion.sum() == 10_000
    assert confusion.trace() / 10_000 == result.test.accuracy
    pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")
    assert {"curves.png", "confusion.png"} <= {path.name for path in write_plots(tmp_path / "run")}


@long
def test_the_modern_recipe(mnist: Samples, tmp_path: Path) -> None:
    assert train(recipe("lenet5"), mnist, run=tmp_path / "run", progress=False).test.accuracy >= 0.990
