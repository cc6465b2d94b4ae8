"""Progress: a bar with ETA on a terminal or in a notebook, a line per epoch elsewhere, on standard error; nothing when
quiet.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from typednn.errors import printable
from typednn.runs.history import Epoch, Measured

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


_LINES = 8  # epochs below a notebook's bar; the history has all


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
        self._done, steps = done, done - self._first
        left = (time.perf_counter() - self._begun) / max(steps, 1) * (self._total - done)
        self._words = f"{words}  {left:.0f} s left" if steps > 0 and left >= 1.0 else words
        self._handle.update(self._html())

    def line(self, text: str, *, epoch: bool) -> None:
        """Put a line below; of lines about epochs the last few stay."""
        (self._epochs if epoch else self._notes).append(text)
        self._handle.update(self._html())


@final
class Display:
    """Shows a training of ``total`` steps, ``done`` of them before, until it is closed. When quiet, nothing is
    imported.

    Speed is told in ``unit``, of which a sample has ``per_sample``.
    """

    _console: Console | None = None
    _cell: Cell | None = None
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

    def close(self) -> None:
        """Leave the bar as it is at the end."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.stop()

    def step(self, step: int, epoch: int, loss: float, speed: float) -> None:
        """After a step: redraw the bar four times a second."""
        if time.perf_counter() - self._drawn >= 0.25:
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
        self._draw(step, epoch.number, epoch.loss, speed)
        evaluation = "" if measured is None else f"  {summary(measured)}"
        self.note(
            f"epoch {epoch.number}/{self.epochs}  train loss {epoch.loss:.4f}{evaluation}  {epoch.seconds:.1f} s",
            epoch=True,
        )

    def note(self, text: str, *, epoch: bool = False) -> None:
        """Print a line of its own; ``epoch``: it is about one."""
        if self._cell is not None:
            self._cell.line(text, epoch=epoch)
        elif self._console is not None:
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
