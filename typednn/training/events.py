"""Events: a training's measurements as TensorBoard events, written during training."""

from pathlib import Path
from typing import final

from typednn.runs.history import Measured, Step
from typednn.runs.tensorboard import EventWriter, truncate
from typednn.training.callbacks import Callback


@final
class Events(Callback):
    """A run's events: losses and rate by step, evaluations, gradient norms by layer.

    Continues in ``folder`` after ``step``, and drops later events; `MissingExtra` without the extra. ``writer`` is
    closed by the caller.
    """

    def __init__(self, folder: Path, step: int) -> None:
        truncate(folder, step)
        self.writer: EventWriter = EventWriter(folder)

    def on_step(self, step: Step) -> None:
        if step.step % 10 == 0 or step.gradient_norms is not None:  # a screen shows no more points of a curve
            norms = {f"gradient_norms/{layer}": norm for layer, norm in (step.gradient_norms or {}).items()}
            for tag, value in {"train/loss": step.loss, "train/lr": step.lr, **norms}.items():
                if value is not None:
                    self.writer.scalar(tag, value, step.step)

    def on_evaluation(self, measured: Measured) -> None:
        for name, value in {"loss": measured.loss, **measured.metrics}.items():
            self.writer.scalar(f"{measured.split}/{name}", value, measured.step)
