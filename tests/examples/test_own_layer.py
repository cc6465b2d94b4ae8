"""examples/own_layer.ipynb, in a real kernel: finite differences agree, and the plugin sees the mistake."""

import re
from pathlib import Path

import pytest

pytest.importorskip("nbclient")

from website.notebooks import execute, html, read, text


def test_every_cell_runs(tmp_path: Path) -> None:
    _, _, model, differences, step, _, checked = execute(
        read("own_layer"), tmp_path, TMPDIR=str(tmp_path), TYPEDNN_ENGINE="reference"
    )
    assert "Chain, 19 parameters" in html(model[0])
    errors = [float(number) for number in re.findall(r"error (\S+) over", text(differences))]
    assert len(errors) == 4
    assert max(errors) < 1e-8
    before, after = (float(number) for number in re.findall(r"loss ([\d.]+) -> ([\d.]+)", text(step))[0])
    assert after < before
    message = "mistakes.py:6: error: Scale(4) cannot follow Linear(4, 8): expects 4 features, gets 8  [shape]"
    assert message in text(checked).replace("\r", "")
