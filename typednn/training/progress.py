"""Progress on standard error: a bar with ETA on a terminal, a line per epoch elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, final

from typednn.runs.history import Epoch, Measured

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


@final
class Display:
    """Shows a training of ``total`` steps, ``done`` of them before, until it is closed. When quiet, nothing is imported.

    Speed is told in ``unit``, of which a sample has ``per_sample``.
    """

    _console: Console | None = None
    _bar: Progress | None = None
    _task: TaskID

    def __init__(self, *, shown: bool, total: int, done: int, epochs: int, unit: str = "samples", per_sample: int = 1) -> None:
        self.epochs: int = epochs
        self.unit: str = unit
        self.per_sample: int = per_sample
        self._drawn: float = 0.0
        if not shown:
            return
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        if self._console.is_terminal:
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
        if self._bar is not None:
            description, numbers = f"epoch {epoch}/{self.epochs}", f"loss {loss:.4f}  {speed * self.per_sample:,.0f} {self.unit}/s"
            self._bar.update(self._task, completed=step, description=description, numbers=numbers)
            self._bar.refresh()

    def compiling(self, done: int, total: int, name: str) -> None:
        """While kernels are compiled: on the bar, or a line at the start."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"compiling {total} kernels", numbers=f"{done} done  {name}" if done else "")
            self._bar.refresh()
        elif not done:
            self.note(f"compiling {total} kernels for these sizes and this processor")

    def epoch(self, epoch: Epoch, step: int, measured: Measured | None, speed: float) -> None:
        """After an epoch: the bar, or a line."""
        self._draw(step, epoch.number, epoch.loss, speed)
        evaluation = "" if measured is None else f"  {summary(measured)}"
        self.note(f"epoch {epoch.number}/{self.epochs}  train loss {epoch.loss:.4f}{evaluation}  {epoch.seconds:.1f} s")

    def note(self, text: str) -> None:
        """Print a line of its own."""
        if self._console is not None:
            self._console.print(text, soft_wrap=True, markup=False)


def summary(measured: Measured) -> str:
    """``validation loss 0.1234  validation accuracy 98.76 %``: each number says on which data it was measured."""
    shown = {name: f"{100 * value:.2f} %" if name == "accuracy" else f"{value:.4g}" for name, value in measured.metrics.items()}
    return "  ".join([f"{measured.split} loss {measured.loss:.4f}", *(f"{measured.split} {name} {text}" for name, text in shown.items())])
