"""Progress in a notebook: one output, changed in place. In a real kernel: `tests/examples/test_first_steps.py`."""

from typing import Any

import pytest
from rich.console import Console

from typednn.runs.history import Epoch, Measured
from typednn.training.progress import Display

IPython = pytest.importorskip("IPython")


class Output:
    """A display of IPython's: what stands in it now, and how often it was changed."""

    def __init__(self) -> None:
        self.made = self.changed = 0
        self.html = ""

    def display(self, shown: Any, *, display_id: bool) -> "Output":
        assert display_id
        self.made, self.html = self.made + 1, shown.data
        return self

    def update(self, shown: Any) -> None:
        self.changed, self.html = self.changed + 1, shown.data


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    """As in a kernel; the clock stands still until it is set."""
    output = Output()
    monkeypatch.setattr("IPython.display.display", output.display)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("time.perf_counter", lambda: output_clock[0])
    output_clock[0] = 100.0
    return output


output_clock = [0.0]


def test_one_output_is_changed(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(shown=True, total=8, done=4, epochs=20)
    assert (output.made, output.changed) == (1, 0)
    assert "width:50.0%" in output.html
    output_clock[0] += 3.0
    display.step(6, 2, 0.5, 1000.0)
    assert "width:75.0%" in output.html
    assert "epoch 2/20  loss 0.5000  1,000 samples/s  3 s left" in output.html
    display.step(7, 2, 0.4, 1000.0)  # within the same quarter of a second
    assert output.changed == 1
    display.note("no <events>")
    for number in range(1, 13):
        display.epoch(Epoch(number, 0.25, 1.5), 8, Measured(8, number, "validation", 0.5, {"accuracy": 0.75}), 10.0)
    display.close()
    assert "width:100.0%" in output.html
    assert "s left" not in output.html
    below = output.html.partition("<pre")[2].partition(">")[2].partition("</pre>")[0].splitlines()
    assert below[0] == "no &lt;events&gt;"
    lines = [
        f"epoch {number}/20  train loss 0.2500  validation loss 0.5000  validation accuracy 75.00 %  1.5 s"
        for number in range(5, 13)
    ]
    assert below[1:] == lines
    assert output.made == 1
    assert capsys.readouterr() == ("", "")


def test_compiling_is_told(output: Output) -> None:
    display = Display(shown=True, total=3, done=0, epochs=1)
    display.compiling(0, 2, "")
    assert "compiling 2 kernels for these sizes and this processor" in output.html


def test_nothing_is_shown_when_quiet(output: Output) -> None:
    display = Display(shown=False, total=3, done=0, epochs=1)
    display.epoch(Epoch(1, 0.5, 1.0), 3, None, 1.0)
    assert output.made == 0


def test_a_terminal_has_no_cell() -> None:
    assert not Console().is_jupyter
    assert Display(shown=True, total=3, done=0, epochs=1)._cell is None
