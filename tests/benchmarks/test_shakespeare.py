"""The benchmark of a character model: both libraries learn, and the verdict says what was missed."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import shakespeare
from benchmarks.machine import How

TEXT = "".join(f"{line}: {line * line} times\n" for line in range(400))


def test_both_learn(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    found = [shakespeare.ours(0, 20, str(tmp_path / "text.txt"))]
    if find_spec("torch") is not None:
        found.append(shakespeare.theirs(0, 20, TEXT))
    for result in found:
        assert 0.5 < result["loss"] < 0.95 * np.log(len(set(TEXT)))
        assert result["seconds"] > 0
        assert result["steps"] == 9


@pytest.mark.parametrize(
    ("further", "slower", "code"),
    [(0.019, 0.49, 0), (-1.0, 0.49, 0), (0.021, 0.49, 1), (0.0, 0.51, 1)],
    ids=["met", "better", "loss", "time"],
)
def test_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, further: float, slower: float, code: int
) -> None:
    monkeypatch.setattr(shakespeare, "has_avx512", lambda how: True)
    peer = {"loss": 1.8, "seconds": 2.0, "steps": 10}
    found = {
        "typednn": [{"loss": 1.8 + further, "seconds": 2.0 * slower, "steps": 10}],
        "torch": [peer],
        "torch-compiled": [peer | {"seconds": 3.0}],
    }
    assert shakespeare.verdict(found, How(2)) == code
    told = capsys.readouterr().out
    assert f"{further:+.4f} (goal: within 0.02)" in told
    assert f"torch 200.00 ms: {slower:.2f} (goal 0.5)" in told
