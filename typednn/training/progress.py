"""Progress: a bar with ETA on a terminal or in a notebook, lines elsewhere, on standard error; nothing when quiet.

Lines are told after an epoch, after an evaluation, and each few seconds within an epoch; of a whole training at most a
hundred, spread over its steps, and the last one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from typednn.errors import printable
from typednn.runs.history import Epoch, Measured
from typednn.screen import screen_width, wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


_LINES = 8  # epochs below a notebook's bar; the history has all
_MOST = 100  # lines of a whole training, where there is no bar
_EVERY = 5.0  # seconds between two of them within an epoch


@final
class Cell:
    """The output of a notebook's cell: a bar, and lines below it. It is shown once, and then changed in place."""

    def __init__(self, total: int, done: int) -> None:
        self._display: Any = import_module("IPython.display")
        self._total, self._first, self._done = max(total, 1), done, done
        self._words = ""
        self._notes: list[str] = []
        self._epochs: list[str] = []
        self._begun: float = time.perf_counter()
        self._handle: Any = self._display.display(self._html(), display_id=True)

    def _html(self) -> Any:
        from typednn.html import progress

        return self._display.HTML(
            progress(self._done / self._total, self._words, [*self._notes, *self._epochs[-_LINES:]])
        )

    def bar(self, done: int, words: str) -> None:
        """Fill the bar up to the step ``done``, with words beside it and the time that is left."""
        self._done = done
        self._words = words + left(self._begun, done - self._first, self._total - done)
        self._handle.update(self._html())

    def line(self, text: str, *, epoch: bool) -> None:
        """Put a line below; of lines about epochs the last few stay."""
        (self._epochs if epoch else self._notes).append(text)
        self._handle.update(self._html())


def left(begun: float, steps: int, more: int) -> str:
    """In words how long ``more`` steps take, where ``steps`` are done since ``begun``; "" for less than a second."""
    seconds = (time.perf_counter() - begun) / max(steps, 1) * more
    return f"  {seconds:,.0f} s left" if steps > 0 and seconds >= 1.0 else ""


@final
class Lines:
    """Where neither a terminal nor a notebook shows a bar: which lines are told, of ``total`` steps, ``done`` of them
    before.

    Lines that are left are spread over the steps that are left. Evaluations have up to half of them: an epoch that was
    told just before hides none.
    """

    def __init__(self, tell: Callable[[str], None], total: int, done: int) -> None:
        self._tell = tell
        self._total, self._first = total, done
        self._told = self._evaluated = done  # the step of the last line, and of the last evaluation's
        self._left = _MOST
        self._begun = self._at = time.perf_counter()  # of the last line
        self._kept: tuple[str, int] | None = None  # a line that was not told, and its step

    def line(self, text: str, step: int, *, evaluation: bool = False) -> None:
        """Tell it, unless it comes too early."""
        before, lines = (self._evaluated, min(self._left, _MOST // 2)) if evaluation else (self._told, self._left)
        again = evaluation and step == before > self._first  # a text that was written, and how good it is
        if lines and (again or (step - before) * lines >= self._total - before):
            self._left -= 1
            self._told, self._evaluated = (self._told, step) if evaluation else (step, self._evaluated)
            self._at, self._kept = time.perf_counter(), None
            self._tell(text)
        else:
            self._kept = text, step

    def within(self, text: str, step: int) -> None:
        """Keep a step within an epoch; when the next comes, and no line was told for some seconds, it is told."""
        if self._kept is not None and time.perf_counter() - self._at >= _EVERY:
            self.line(*self._kept)
        more = left(self._begun, step - self._first, self._total - step)
        self._kept = f"{text}  step {step:,}/{self._total:,}{more}", step

    def rest(self) -> None:
        """Tell the last line, if it was not."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._tell(kept[0])


@final
class Display:
    """Shows a training of ``total`` steps, ``done`` of them before, until it is closed. When quiet, nothing is
    imported.

    Speed is told in ``unit``, of which a sample has ``per_sample``.
    """

    _console: Console | None = None
    _cell: Cell | None = None
    _lines: Lines | None = None
    _bar: Progress | None = None
    _task: TaskID

    def __init__(
        self, *, shown: bool, total: int, done: int, epochs: int, unit: str = "samples", per_sample: int = 1
    ) -> None:
        self.epochs: int = epochs
        self.unit: str = unit
        self.per_sample: int = per_sample
        self._drawn: float = 0.0
        if not shown:
            return
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        if self._console.is_jupyter:
            self._cell = Cell(total, done)
        elif self._console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[numbers]}"),
                TextColumn("ETA"),
                TimeRemainingColumn(),
                console=self._console,
                auto_refresh=False,
            )
            self._task = self._bar.add_task("", total=total, completed=done, numbers="")
            self._bar.start()
        else:
            self._lines = Lines(self._print, total, done)

    def close(self) -> None:
        """Leave the bar as it is at the end, or tell the last line."""
        if self._lines is not None:
            self._lines.rest()
        if self._bar is not None:
            self._bar.refresh()
            self._bar.stop()

    def step(self, step: int, epoch: int, loss: float, speed: float) -> None:
        """After a step: redraw the bar four times a second, or have a line to tell."""
        if self._lines is not None or time.perf_counter() - self._drawn >= 0.25:
            self._drawn = time.perf_counter()
            self._draw(step, epoch, loss, speed)

    def _draw(self, step: int, epoch: int, loss: float, speed: float) -> None:
        description, numbers = (
            f"epoch {epoch}/{self.epochs}",
            f"loss {loss:.4f}  {speed * self.per_sample:,.0f} {self.unit}/s",
        )
        if self._cell is not None:
            self._cell.bar(step, f"{description}  {numbers}")
        elif self._bar is not None:
            self._bar.update(self._task, completed=step, description=description, numbers=numbers)
            self._bar.refresh()
        elif self._lines is not None:
            self._lines.within(f"{description}  {numbers}", step)

    def compiling(self, done: int, total: int, name: str) -> None:
        """While kernels are compiled: on the bar, or a line at the start."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=f"compiling {total} kernels", numbers=f"{done} done  {name}" if done else ""
            )
            self._bar.refresh()
        elif not done:
            self.note(f"compiling {total} kernels for these sizes and this processor")

    def epoch(self, epoch: Epoch, step: int, measured: Measured | None, speed: float) -> None:
        """After an epoch: the bar, or a line."""
        if self._lines is None:
            self._draw(step, epoch.number, epoch.loss, speed)
        evaluation = "" if measured is None else f"  {summary(measured)}"
        self.note(
            f"epoch {epoch.number}/{self.epochs}  train loss {epoch.loss:.4f}{evaluation}  {epoch.seconds:.1f} s",
            step=step,
            epoch=True,
        )

    def note(self, text: str, *, step: int | None = None, epoch: bool = False) -> None:
        """Print a line of its own: about an epoch or a ``step``, where not every line is told, or about all."""
        if self._cell is not None:
            self._cell.line(text, epoch=epoch)
        elif self._lines is not None and step is not None:
            self._lines.line(text, step, evaluation=not epoch)
        else:
            if self._lines is not None:
                self._lines.rest()
            self._print(text)

    def _print(self, text: str) -> None:
        if self._console is not None:
            text = text if "\n" in text else wrapped(text, screen_width(sys.stderr))
            self._console.print(printable(text), soft_wrap=True, markup=False, emoji=False)


def summary(measured: Measured) -> str:
    """``validation loss 0.1234  validation accuracy 98.76 %``: each number says on which data it was measured."""
    shown = {
        name: f"{100 * value:.2f} %" if name == "accuracy" else f"{value:.4g}"
        for name, value in measured.metrics.items()
    }
    return "  ".join(
        [
            f"{measured.split} loss {measured.loss:.4f}",
            *(f"{measured.split} {name} {text}" for name, text in shown.items()),
        ]
    )
