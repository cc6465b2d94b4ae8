"""A regression from CSV files to report, predictions and page, on scikit-learn's diabetes data: 442 people, 10 numbers
each.
"""

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, ConfigError, DataError
from typednn.losses import L1, Huber
from typednn.metrics import RegressionReport
from typednn.recipes import evaluate_run, load_tables, predict, recipe_of_config, resume, train
from typednn.recipes.plan import checksum_of, read_plan
from typednn.recipes.recipe import Recipe
from typednn.recipes.samples import Samples
from typednn.reports.html import write_report
from typednn.reports.plots import write_plots
from typednn.runs.recorded import RegressionScores, read_scores
from typednn.runs.shown import Residuals, read_shown
from typednn.tasks import Estimate, Regression

CONFIG = """\
format = 1
input = [10]

[[layer]]
type = "Linear"
in_features = 10
out_features = 16

[[layer]]
type = "ReLU"

[[layer]]
type = "Linear"
in_features = 16
out_features = OUT

[optimizer]
type = "Adam"
lr = 0.002
"""
SETTINGS = {"task": "regression", "epochs": 40, "batch_size": 32, "seed": 3}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.csv and test.csv, the measured number first; new.csv without it; the model."""
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn's data")
    folder = tmp_path_factory.mktemp("diabetes")
    x, y = datasets.load_diabetes(return_X_y=True)
    table = np.column_stack([y, x])[np.random.default_rng(0).permutation(len(x))]
    for name, rows in (("train", table[:342]), ("test", table[342:]), ("new", table[342:347, 1:])):
        np.savetxt(folder / f"{name}.csv", rows, fmt="%.9g", delimiter=",")
    (folder / "model.toml").write_text(CONFIG.replace("OUT", "1"), encoding="utf-8")
    (folder / "two.toml").write_text(CONFIG.replace("OUT", "2"), encoding="utf-8")
    return folder


def _recipe(files: Path, **changes: Any) -> Recipe:
    return recipe_of_config(files / "model.toml").changed(SETTINGS | changes)


def _train(files: Path, run: Path | None, **changes: Any) -> Any:
    samples = load_tables(files / "train.csv", files / "test.csv", Regression())
    source = {part: str(files / f"{part}.csv") for part in ("train", "test")}
    given = {"time_limit": changes.pop("time_limit", None)}
    return train(_recipe(files, **changes), samples, run=run, source=source, progress=False, **given)


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, _train(files, folder)


def _learned(files: Path) -> Any:
    return np.loadtxt(files / "train.csv", delimiter=",")


def _in_units(result: Any, outputs: Any) -> Any:
    """Targets are learned with mean 0 and deviation 1: what an output stands for."""
    (mean,), (deviation,) = result.plan.targets.mean, result.plan.targets.deviation
    return outputs[:, 0].astype(np.float64) * deviation + mean


def test_columns_and_targets_are_standardised(trained: tuple[Path, Any], files: Path) -> None:
    """By NumPy's mean and deviation of each column of the training data, kept in the run."""
    folder, result = trained
    learned = _learned(files)
    for scaling, rows in ((result.plan.scaling, learned[:, 1:]), (read_plan(folder).targets, learned[:, :1])):
        np.testing.assert_allclose(scaling.mean, rows.mean(axis=0), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(scaling.deviation, rows.std(axis=0), rtol=1e-5)


def test_it_learns(trained: tuple[Path, Any], files: Path) -> None:
    """As well as a linear least squares fit, nearly; the report is what NumPy says of the model's own numbers."""
    _, result = trained
    assert isinstance(result.test, RegressionReport)
    table, learned = (np.loadtxt(files / f"{name}.csv", delimiter=",") for name in ("test", "train"))
    inputs, known = (np.column_stack([rows[:, 1:], np.ones(len(rows))]) for rows in (table, learned))
    linear = inputs @ np.linalg.lstsq(known, learned[:, 0], rcond=None)[0]
    assert result.test.r2 > 1 - np.square(linear - table[:, 0]).mean() / table[:, 0].var() - 0.05
    predicted = _in_units(result, result.model.forward(result.plan.scaling(table[:, 1:].astype(np.float32))))
    error = predicted - table[:, 0]
    assert result.test.mse == pytest.approx((error**2).mean(), rel=1e-4)
    assert result.test.mae == pytest.approx(np.abs(error).mean(), rel=1e-4)
    assert result.test.r2 == pytest.approx(1 - (error**2).mean() / table[:, 0].var(), rel=1e-4)


def test_evaluations_hold_the_metrics(trained: tuple[Path, Any], files: Path) -> None:
    folder, result = trained
    last = result.history.evaluations[-1]
    assert set(last.metrics) == {"mse", "mae", "r2"}
    assert last.metrics["r2"] == pytest.approx(result.test.r2, rel=1e-4)
    assert last.loss == pytest.approx(last.metrics["mse"] / _learned(files)[:, 0].var(), rel=1e-4)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    found = [line for line in lines if line["kind"] == "evaluation"]
    place = {"kind": "evaluation", "step": 440, "epoch": 40, "split": "test", "accuracy": None}
    assert found[-1] == {
        **place,
        "loss": last.loss,
        "mse": last.metrics["mse"],
        "mae": last.metrics["mae"],
        "r2": last.metrics["r2"],
    }


def test_the_run_says_what_it_is(trained: tuple[Path, Any], files: Path) -> None:
    folder, result = trained
    assert read_plan(folder).recipe.task == "regression"
    assert read_plan(folder).recipe.loss == "mse"
    assert read_scores(folder) == RegressionScores(result.test, "test", result.train.r2)
    again, _ = evaluate_run(folder)
    assert again == result.test
    other, _ = evaluate_run(folder, data=str(files / "test.csv"))
    assert other == result.test


def test_predictions_are_numbers(trained: tuple[Path, Any], files: Path) -> None:
    folder, result = trained
    answers = predict(folder, [files / "new.csv"])
    rows = np.loadtxt(files / "new.csv", delimiter=",").astype(np.float32)
    wanted = _in_units(result, result.model.forward(result.plan.scaling(rows)))
    assert [answer.index for answer in answers] == list(range(5))
    assert [answer.values[0] for answer in answers if isinstance(answer, Estimate)] == pytest.approx(
        wanted.tolist(), rel=1e-5
    )
    assert str(answers[0]) == f"{files / 'new.csv'}[0]  {answers[0].values[0]:.6g}"  # type: ignore[union-attr]


def test_the_page_shows_residuals_and_no_classes(trained: tuple[Path, Any]) -> None:
    pytest.importorskip("matplotlib")
    folder, result = trained
    shown, _ = read_shown(folder)
    assert isinstance(shown, Residuals)
    np.testing.assert_allclose(np.square(shown.targets - shown.predictions).mean(), result.test.mse, rtol=1e-6)
    assert [path.name for path in write_plots(folder)] == ["curves.png", "residuals.png", "gradient_norms.png"]
    page = write_report(folder).read_text(encoding="utf-8")
    last = result.history.evaluations[-1].metrics
    cells = "".join(f"<td>{last[name]:.4g}</td>" for name in ("mse", "mae", "r2"))
    for text in (">Residuals</h2>", ">Errors</h2>", f"{result.test.r2:.4f}", "mean absolute error", cells):
        assert text in page
    for text in ("Confusion", "Worst mistakes", "accuracy"):
        assert text not in page


def test_a_page_without_a_report_is_a_regressions(trained: tuple[Path, Any], tmp_path: Path) -> None:
    """The recipe says so: there are no headings of a classifier."""
    folder, _ = trained
    for name in ("recipe.json", "metrics.jsonl"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    page = write_report(tmp_path).read_text(encoding="utf-8")
    for text in (
        ">Residuals</h2>",
        ">Errors</h2>",
        "There is no report of the errors: report.json is missing or damaged.",
    ):
        assert text in page
    for text in ("Confusion", "Worst mistakes", "classes", "accuracy"):
        assert text not in page.partition(">Config</h2>")[0]


def test_resumed_to_the_same_bits(trained: tuple[Path, Any], files: Path, tmp_path: Path) -> None:
    _, whole = trained
    assert _train(files, tmp_path / "run", time_limit=1e-9).history.steps == 0
    again = resume(tmp_path / "run", progress=False)
    assert again.history.evaluations == whole.history.evaluations
    for name, weights in whole.model.named_parameters().items():
        np.testing.assert_array_equal(again.model.named_parameters()[name], weights, err_msg=name)


def test_other_numbers_to_learn_are_other_data(files: Path, tmp_path: Path) -> None:
    """The checksum is of the numbers, not of what is left of them as integers."""
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text((files / f"{name}.csv").read_text(), encoding="utf-8")
    (tmp_path / "model.toml").write_text((files / "model.toml").read_text(), encoding="utf-8")
    _train(tmp_path, tmp_path / "run", time_limit=1e-9)
    table = np.loadtxt(tmp_path / "train.csv", delimiter=",")
    table[5, 0] += 0.25
    np.savetxt(tmp_path / "train.csv", table, fmt="%.9g", delimiter=",")
    with pytest.raises(DataError, match="must be what the run began with"):
        resume(tmp_path / "run", progress=False)


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64])
def test_labels_of_any_integers_are_the_same_data(files: Path, kind: Any) -> None:
    """As int64, which older runs have a checksum of."""
    x, labels = np.zeros((4, 2), np.float32), np.array([0, 1, 2, 1])
    samples = Samples("some", "here", x, labels.astype(kind), x, labels)
    assert checksum_of(samples) == zlib.crc32(labels.astype(np.int64).tobytes(), zlib.crc32(x.tobytes()))


@pytest.mark.parametrize("kind", [np.float16, np.int64])
def test_other_numbers_to_learn_are_refused_before_there_is_a_folder(files: Path, tmp_path: Path, kind: Any) -> None:
    samples = load_tables(files / "train.csv", files / "test.csv", Regression())
    samples = replace(samples, y=samples.y.astype(kind))
    match = (
        rf"data 'train.csv': a regression learns numbers in float32 or float64, got {np.dtype(kind)}; convert with "
        r"astype"
    )
    with pytest.raises(ArgumentError, match=match):
        train(_recipe(files), samples, run=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("name", "kind"), [("l1", L1), ("huber", Huber)])
def test_losses_that_outliers_pull_less(files: Path, name: str, kind: type[Any]) -> None:
    changed = recipe_of_config(files / "model.toml").changed({"task": "regression", "loss": name})
    assert isinstance(changed.made_loss(), kind)
    assert isinstance(changed.made_task(), Regression)


def test_what_is_refused(files: Path) -> None:
    model = recipe_of_config(files / "model.toml")
    with pytest.raises(
        ArgumentError,
        match="a regression has the loss mse, l1 or huber, and no smoothing, got loss cross_entropy, smoothing 0",
    ):
        model.changed({"task": "regression", "loss": "cross_entropy"})
    with pytest.raises(
        ArgumentError,
        match=r"a regression has the loss mse, l1 or huber, and no smoothing, got loss mse, smoothing 0\.1",
    ):
        model.changed({"task": "regression", "smoothing": 0.1})
    with pytest.raises(
        ArgumentError, match="task must be one of 'classification', 'regression', 'language', got 'clustering'"
    ):
        model.changed({"task": "clustering"})
    with pytest.raises(
        DataError, match=r"the target, column 1 must hold labels, whole numbers from 0, or words, got 0\.5 in line 1"
    ):
        load_tables(_fractions(files), files / "test.csv")
    samples = load_tables(files / "train.csv", files / "test.csv", Regression())
    with pytest.raises(
        ArgumentError, match=r"data 'train.csv': the model gives 2 numbers per sample, got 1 to learn; give the model"
    ):
        train(recipe_of_config(files / "two.toml").changed(SETTINGS), samples, progress=False)


def _fractions(files: Path) -> Path:
    path = files / "fractions.csv"
    path.write_text("0.5,1,2\n", encoding="utf-8")
    return path


WRONG: list[dict[str, Any]] = [
    {"mse": -1.0},
    {"mae": None},
    {"r2": "x"},
    {"samples": 0},
    {"split": 3},
    {"train_r2": "x"},
    {"task": []},
]


@pytest.mark.parametrize("damage", WRONG, ids=str)
def test_a_damaged_report(trained: tuple[Path, Any], tmp_path: Path, damage: dict[str, Any]) -> None:
    folder, _ = trained
    table = json.loads((folder / "report.json").read_text())
    (tmp_path / "report.json").write_text(json.dumps(table | damage))
    with pytest.raises(DataError, match=f"'{next(iter(damage))}' must be "):
        read_scores(tmp_path)


def test_an_older_recipe_is_a_classification(files: Path, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """Format 2 knew no other task: then ``mse`` compared with a row of shares. Without a task, a newer
    one is damaged.
    """
    folder, _ = trained
    saved = json.loads((folder / "recipe.json").read_text())
    del saved["recipe"]["task"]
    (tmp_path / "recipe.json").write_text(json.dumps(saved | {"format": 2}))
    assert read_plan(tmp_path).recipe.made_task().targets(np.array([1]), np.zeros((1, 3), np.float32)).tolist() == [
        [0.0, 1.0, 0.0]
    ]
    (tmp_path / "recipe.json").write_text(json.dumps(saved))
    with pytest.raises(ConfigError, match="no 'task'"):
        read_plan(tmp_path)
