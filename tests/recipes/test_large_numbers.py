"""Numbers that differ in digits which float32 lacks: centred and scaled in float64, then cast; inputs and targets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import read_columns, read_table
from typednn.recipes import evaluate_run, load_tables, predict, recipe_of_config, train
from typednn.recipes.samples import Scaling
from typednn.tasks import Regression

LINE = '[[layer]]\ntype = "Linear"\nin_features = 1\nout_features = 1\n[optimizer]\ntype = "Adam"\nlr = 0.05\n'

COLUMNS: dict[str, Any] = {
    "dates": np.arange(20261101.0, 20261131.0),
    "Unix seconds": 1.79e9 + 10.0 * np.arange(60),
    "near a million": 1e6 + 0.01 * np.random.default_rng(0).standard_normal(200),
    "large and far": 1e12 + 3.0 * np.arange(40),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_scaled_in_float64(name: str, tmp_path: Path) -> None:
    """As many numbers as there are, and those of NumPy in float64."""
    numbers = COLUMNS[name]
    np.savetxt(
        tmp_path / "t.csv", np.column_stack([np.arange(len(numbers)), numbers]), "%.17g", ",", header="y,x", comments=""
    )
    table = read_table(tmp_path / "t.csv", target="y", dtype="float64")
    np.testing.assert_array_equal(table.x[:, 0], numbers)
    np.testing.assert_array_equal(read_columns(tmp_path / "t.csv", ["x"], dtype="float64")[:, 0], numbers)
    scaled = Scaling.of_columns(table.x)(table.x)
    assert scaled.dtype == np.float32
    assert len(np.unique(scaled)) == len(np.unique(numbers))
    np.testing.assert_allclose(scaled[:, 0], (numbers - numbers.mean()) / numbers.std(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("role", ["inputs", "targets"])
def test_a_table_is_learned(name: str, role: str, tmp_path: Path) -> None:
    """A line through them has an R² of 1, and predictions and evaluations of the run scale alike."""
    (tmp_path / "line.toml").write_text("format = 1\ninput = [1]\n" + LINE)
    numbers = COLUMNS[name]
    other = 2.0 * (numbers - numbers.mean()) / numbers.std() + 1.0
    x, y = (numbers, other) if role == "inputs" else (other, numbers)
    rows = np.random.default_rng(1).permutation(np.column_stack([y, x]))
    for file, part in (("t.csv", rows), ("new.csv", rows[:3, 1:])):
        np.savetxt(tmp_path / file, part, "%.17g", ",", header="y,x" if file == "t.csv" else "x", comments="")
    recipe = recipe_of_config(tmp_path / "line.toml").changed({"task": "regression", "epochs": 100, "batch_size": 10})
    result: Any = train(
        recipe, load_tables(tmp_path / "t.csv", task=Regression(), target="y"), run=tmp_path / "run", progress=False
    )
    assert result.test.r2 > 0.999
    again, _ = evaluate_run(tmp_path / "run", data=str(tmp_path / "t.csv"))
    assert again.r2 > 0.999  # type: ignore[union-attr]
    told: Any = predict(tmp_path / "run", [tmp_path / "new.csv"])
    np.testing.assert_allclose([each.values[0] for each in told], rows[:3, 0], atol=0.1 * y.std())


def test_images_and_bytes_are_scaled_as_before() -> None:
    """One pair for all, in float32: a batch of images needs no float64."""
    x = np.random.default_rng(0).integers(0, 256, (4, 3, 3, 1), np.uint8)
    scaling = Scaling.of(x)
    for pixels in (x, x.astype(np.float32)):
        scaled = scaling(pixels)
        assert scaled.dtype == np.float32
        np.testing.assert_allclose(scaled, (x - x.mean()) / x.std(), rtol=1e-5, atol=1e-6)
