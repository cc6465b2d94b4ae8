"""What a run keeps for its pictures: drawn later, without data and model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from sample_run import PICTURES, sample_arrays, sample_run

from typednn.errors import DataError
from typednn.reports.plots import write_plots
from typednn.runs.shown import FILE, ROWS, Mistakes, Residuals, read_shown, worst_mistakes, write_shown

pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")


def test_what_was_kept_is_drawn_as_what_was_given(tmp_path: Path) -> None:
    """Later, from pictures.safetensors alone: the same bytes as from the arrays of all samples."""
    arrays = sample_arrays()
    given, kept = (sample_run(tmp_path / name, steps=20) for name in ("given", "kept"))
    write_plots(given, **arrays)
    filters = arrays.pop("filters")
    write_shown(kept, worst_mistakes(**arrays), filters)
    assert [path.name for path in write_plots(kept)] == list(PICTURES)
    for name in PICTURES:
        assert (kept / "plots" / name).read_bytes() == (given / "plots" / name).read_bytes(), name


def test_nothing_kept_nothing_drawn(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    write_shown(run, None, None)
    assert read_shown(run) == (None, None)
    assert not {"worst.png", "filters.png"} & {path.name for path in write_plots(run)}
    right = worst_mistakes(np.zeros((3, 4, 4), np.uint8), np.array([0, 1, 1]), np.eye(2)[[0, 1, 1]])
    write_shown(run, right, None)
    mistakes, _ = read_shown(run)
    assert mistakes is not None
    assert (len(mistakes.labels), mistakes.wrong, mistakes.total) == (0, 0, 3)
    assert "worst.png" in {path.name for path in write_plots(run)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 40,
        {"worst.images": np.zeros((1, 4, 4))},
        {"images": np.zeros(4)},
        {"labels": np.array([2])},
        {"labels": np.array([0.0])},
        {"probabilities": np.zeros((2, 2))},
        {"probabilities": np.zeros((1, 2), np.float32)},
        {"counts": np.zeros(3, np.int64)},
        {"filters": np.zeros((2, 2, 2))},
    ],
    ids=str,
)
def test_kept_arrays_that_were_damaged_are_one_error_after_the_rest(tmp_path: Path, content: Any) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    write_shown(run, Mistakes(np.zeros((1, 4, 4)), np.array([1]), np.array([[1.0, 0.0]]), 1, 5), None)
    if isinstance(content, dict):
        whole = safetensors.numpy.load_file(run / FILE)
        changes = {name if name in (*whole, "filters") else f"worst.{name}": value for name, value in content.items()}
        content = safetensors.numpy.save(changes if "worst.images" in content else whole | changes)
    (run / FILE).write_bytes(content)
    with pytest.raises(
        DataError, match=r"pictures\.safetensors: must hold what pictures are drawn from, got .*`typednn eval`"
    ):
        write_plots(run)
    assert (run / "plots" / "confusion.png").exists()
    assert not (run / "plots" / "worst.png").exists()


def test_residuals_are_kept(tmp_path: Path) -> None:
    """Of many inputs an even choice, the first and the last among them; one output is a column."""
    run = sample_run(tmp_path / "run", steps=20)
    numbers = np.arange(20_000, dtype=np.float32)
    write_shown(run, Residuals.of(numbers + 1, numbers), None)
    shown, filters = read_shown(run)
    assert isinstance(shown, Residuals)
    assert filters is None
    assert shown.targets.shape == shown.predictions.shape == (ROWS, 1)
    assert (shown.targets[0, 0], shown.targets[-1, 0]) == (0, 19_999)
    assert (shown.predictions - shown.targets == 1).all()


@pytest.mark.parametrize(
    "arrays",
    [
        {"residuals.targets": np.zeros((3, 1))},
        {"residuals.targets": np.zeros((3, 1)), "residuals.predictions": np.zeros((2, 1))},
        {"residuals.targets": np.zeros(3), "residuals.predictions": np.zeros(3)},
        {"residuals.targets": np.zeros((3, 1)), "residuals.predictions": np.zeros((3, 1), np.float32)},
        {"residuals.targets": np.zeros((0, 1)), "residuals.predictions": np.zeros((0, 1))},
    ],
)
def test_residuals_that_are_none(tmp_path: Path, arrays: dict[str, Any]) -> None:
    (tmp_path / FILE).write_bytes(safetensors.numpy.save(arrays))
    with pytest.raises(DataError, match="residuals that do not fit each other"):
        read_shown(tmp_path)
