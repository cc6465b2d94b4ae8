"""Progress in a notebook: one output, changed in place. In a real kernel: `tests/examples/test_first_steps.py`."""

from itertools import pairwise
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


# --- where there is no terminal --------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, which stands still until it is set."""
    now = [50.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return now


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def train(display: Display, clock: list[float], epochs: int, steps: int, seconds: float, done: int = 0) -> None:
    """``steps`` steps an epoch, each of which takes some seconds; an evaluation after each epoch."""
    for step in range(done + 1, epochs * steps + 1):
        clock[0] += seconds
        number = -(-step // steps)
        display.step(step, number, 0.5, 100.0)
        if step % steps == 0:
            measured = Measured(step, number, "validation", 0.5, {})
            display.epoch(Epoch(number, 0.25, steps * seconds), step, measured, 100.0)
    display.close()


@pytest.mark.parametrize("seconds", [0.001, 60.0])
@pytest.mark.parametrize(
    ("epochs", "steps", "count"), [(1, 1, 1), (5, 1, 5), (99, 1, 99), (100, 1, 100), (101, 1, 101), (5000, 2, 101)]
)
def test_a_line_for_each_epoch_but_a_hundred_at_most(
    clock: list[float], capsys: pytest.CaptureFixture[str], epochs: int, steps: int, count: int, seconds: float
) -> None:
    """However long a step takes. The last one comes in any case, and they are spread over all epochs."""
    train(Display(shown=True, total=epochs * steps, done=0, epochs=epochs), clock, epochs, steps, seconds)
    lines = told(capsys)
    assert len(lines) <= min(count, 101)
    assert lines[-1].startswith(f"epoch {epochs}/{epochs}  train loss 0.2500  validation loss 0.5")
    assert len(lines) >= min(epochs, 99)
    places = [0, *(int(line.split("/")[0].removeprefix("epoch ")) for line in lines)]
    assert max(b - a for a, b in pairwise(places)) <= epochs / 50 + 1


def test_a_line_every_five_seconds_within_an_epoch(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    train(Display(shown=True, total=40, done=0, epochs=1), clock, 1, 40, 1.0)
    lines = told(capsys)
    assert lines[0] == "epoch 1/1  loss 0.5000  100 samples/s  step 4/40  36 s left"
    steps = [int(line.split("step ")[1].split("/")[0]) for line in lines[:-1]]
    assert steps == list(range(4, 40, 5))
    assert lines[-1].startswith("epoch 1/1  train loss 0.2500")


@pytest.mark.parametrize(("seconds", "steps"), [(1.0, 100_000), (0.01, 100_000), (30.0, 150)])
def test_a_hundred_lines_within_an_epoch_too(
    clock: list[float], capsys: pytest.CaptureFixture[str], seconds: float, steps: int
) -> None:
    train(Display(shown=True, total=steps, done=0, epochs=1), clock, 1, steps, seconds)
    assert 99 <= len(told(capsys)) <= 101


def test_evaluations_and_samples_are_told_with_them(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """What belongs to one step comes together; what is about all is told at once, behind the last line."""
    display = Display(shown=True, total=1000, done=0, epochs=1)
    display.note("compiling 3 kernels")
    for step in range(1, 1001):
        clock[0] += 1.0
        display.step(step, 1, 0.5, 100.0)
        if step % 5 == 0:
            display.note(f"--- after step {step} ---", step=step)
            display.note(f"step {step}  validation loss 0.5", step=step)
    display.note("stopped by a signal after step 1000")
    display.close()
    lines = told(capsys)
    assert lines[0] == "compiling 3 kernels"
    assert lines[-1] == "stopped by a signal after step 1000"
    assert lines[-2] == "step 1000  validation loss 0.5"
    assert len(lines) <= 103
    samples = [line.split()[3] for line in lines if line.startswith("---")]
    assert samples
    assert set(samples) <= {line.split()[1] for line in lines if line.startswith("step")}


def test_an_epoch_hides_no_evaluation(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Each of a few is told, however many epochs there are."""
    display = Display(shown=True, total=1000, done=0, epochs=500)
    for step in range(1, 1001):
        if step % 101 == 0:
            display.note(f"step {step}  validation loss 0.5", step=step)
        if step % 2 == 0:
            display.epoch(Epoch(step // 2, 0.5, 1.0), step, None, 1.0)
    display.close()
    lines = told(capsys)
    assert [line.split()[1] for line in lines if line.startswith("step")] == [str(101 * n) for n in range(1, 10)]
    assert len(lines) <= 101
    assert lines[-1].startswith("epoch 500/500")


def test_a_training_that_ends_within_an_epoch_tells_its_last_step(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    display = Display(shown=True, total=7, done=3, epochs=1)
    for step in range(4, 8):
        display.step(step, 1, 0.5, 100.0)
    display.close()
    assert told(capsys) == ["epoch 1/1  loss 0.5000  100 samples/s  step 7/7"]
