"""examples/first_steps.ipynb, in a real kernel: what objects show of themselves, progress, and a cell that is run
twice.
"""

import copy
import re
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("nbclient")

from website.notebooks import execute, html, read, text


def test_every_cell_runs_and_may_be_run_again(tmp_path: Path) -> None:
    notebook = read("first_steps")
    places = [
        place
        for place, cell in enumerate(notebook.cells)
        if "overwrite=True" in cell.source and cell.cell_type == "code"
    ]
    assert len(places) == 1
    notebook.cells.insert(places[0], copy.deepcopy(notebook.cells[places[0]]))
    data, model, refused, first, second, gradient, clipped, report, told = execute(notebook, tmp_path)

    assert html(data[0]).count("<img") == 12
    assert "24 × 24 × 8" in html(model[0])
    assert "Linear(1000, 64) cannot follow Flatten: expects 1000 features, gets 1152" in text(refused)
    for outputs in (first, second):
        progress, history = outputs  # one bar, changed in place, and nothing on standard error
        assert progress.output_type == "display_data"
        assert "width:100.0%" in html(progress)
        assert re.findall(r"epoch (\d)/5 +train loss", html(progress).partition("<pre")[2]) == ["1", "2", "3", "4", "5"]
        assert history.output_type == "execute_result"
        assert "<svg" in html(history)
        assert history.data["text/plain"].startswith("History(")
    assert "parts.6.weight" in html(gradient[0])
    assert re.fullmatch(r"0\.\d+ -> 0\.010 \(10, 64\)\n", text(clipped))
    assert float(re.findall(r"accuracy ([\d.]+)%", html(report[0]))[0]) > 90
    assert text(told).startswith("predicted")
    assert (tmp_path / "runs" / "first-steps" / "config.toml").is_file()
