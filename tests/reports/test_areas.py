"""ROC and precision-recall of two classes: read from report.json, drawn, and on the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_run import sample_run

from typednn.errors import DataError
from typednn.reports.areas import areas_picture
from typednn.reports.html import write_report
from typednn.runs.recorded import Scores, read_scores
from typednn.tasks import Classification

pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")

rng = np.random.default_rng(0)
LABELS = rng.permutation(np.arange(80) % 2)
RAW = rng.standard_normal((80, 2)) + np.eye(2)[LABELS]


def run_of(folder: Path, **more: Any) -> Path:
    """A run of two classes."""
    report = Classification(("no", "yes"), top_k=1).report(RAW, LABELS)
    run = sample_run(folder, steps=20, names=["no", "yes"])
    (run / "report.json").write_text(json.dumps(report.as_json(report) | more), encoding="utf-8")
    return run


def test_a_page_of_two_classes_has_both_curves(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    report = Classification(top_k=1).report(RAW, LABELS)
    scores = read_scores(run)
    assert isinstance(scores, Scores)
    assert scores.ranked == report.ranked
    assert scores.headline()["test ROC AUC"] == f"{report.ranked['ROC AUC']:.4f}"
    page = write_report(run).read_text(encoding="utf-8")
    assert 'id="areas"' in page
    assert (run / "plots" / "areas.png").read_bytes() == areas_picture(scores)
    assert "ROC and precision-recall" not in write_report(sample_run(tmp_path / "ten")).read_text(encoding="utf-8")
    assert not (tmp_path / "ten" / "plots" / "areas.png").exists()


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"roc_auc": 2}, "'roc_auc' must be a number from 0 to 1"),
        ({"average_precision": None}, "'average_precision' must be a number from 0 to 1"),
        ({"top_k": "5"}, "'top_k' must be a number of classes"),
        ({"roc": [[0.0, 1.0]]}, "'roc' must be two lists of numbers from 0 to 1"),
        ({"roc": [[0.0, 1.0], [0.0]]}, "'roc' must be two lists of numbers from 0 to 1"),
        ({"roc": [[], []]}, "'roc' must be two lists of numbers from 0 to 1"),
        ({"roc": 3}, "'roc' must be two lists of numbers from 0 to 1"),
        ({"precision_recall": [[0.0, 9.0], [0.0, 1.0]]}, "'precision_recall' must be two lists of numbers from 0"),
    ],
)
def test_a_damaged_report_is_told(tmp_path: Path, more: dict[str, Any], rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        read_scores(run_of(tmp_path / "run", **more))
