"""Events: a training's measurements as TensorBoard events, written during training."""

from collections.abc import Mapping
from pathlib import Path
from typing import final

from typednn.errors import MissingExtra
from typednn.runs.history import Measured, Step
from typednn.runs.tensorboard import EventWriter, truncate
from typednn.training.callbacks import Callback


@final
class Events(Callback):
    """A run's events: losses and rate by step, evaluations, gradient norms by layer.

    Continues in ``folder`` after ``step``, and drops later events. Without the extra it writes nothing; see `missing`.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self.missing: str = ""
        self._writer: EventWriter | None = None
        try:
            truncate(folder, step)
            self._writer = EventWriter(folder)
        except MissingExtra as error:
            self.missing = f"no TensorBoard events: {error}"

    def on_step(self, step: Step) -> None:
        if step.step % 10 == 0 or step.gradient_norms is not None:  # a screen shows no more points of a curve
            self._write(
                step.step,
                {
                    "train/loss": step.loss,
                    "train/lr": step.lr,
                    **{f"gradient_norms/{layer}": norm for layer, norm in (step.gradient_norms or {}).items()},
                },
            )

    def on_evaluation(self, measured: Measured) -> None:
        numbers = {"loss": measured.loss, **measured.metrics}
        self._write(measured.step, {f"{measured.split}/{name}": number for name, number in numbers.items()})

    def _write(self, step: int, values: Mapping[str, float | None]) -> None:
        """Write the numbers among ``values``, by tag."""
        for tag, value in values.items():
            if self._writer is not None and value is not None:
                self._writer.scalar(tag, value, step)

    def flush(self) -> None:
        """Flush events to the disk, before each checkpoint."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
