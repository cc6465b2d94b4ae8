"""What a training measures, on its way to those who record it: TensorBoard's events here, trackers elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import final

from typednn.runs.history import Measured, Step
from typednn.runs.tensorboard import EventWriter, truncate
from typednn.training.callbacks import Callback

_EACH = 10  # steps: a screen shows no more points of a curve


class Recorder(Callback):
    """A callback that keeps numbers by name: ``train/loss``, ``train/lr``, ``gradient_norms/LAYER``,
    ``validation/accuracy``. It need not see a step at once.
    """

    def record(self, numbers: Mapping[str, float], step: int) -> None:
        """Keep the numbers of a step."""
        raise NotImplementedError

    def on_step(self, step: Step) -> None:
        if step.step % _EACH == 0 or step.gradient_norms is not None:
            norms = {f"gradient_norms/{layer}": norm for layer, norm in (step.gradient_norms or {}).items()}
            rate = {} if step.lr is None else {"train/lr": step.lr}
            self.record({"train/loss": step.loss, **rate, **norms}, step.step)

    def on_evaluation(self, measured: Measured) -> None:
        numbers = {"loss": measured.loss, **measured.metrics}
        self.record({f"{measured.split}/{name}": value for name, value in numbers.items()}, measured.step)


@final
class Events(Recorder):
    """A run's events: losses and rate by step, evaluations, gradient norms by layer.

    Continues in ``folder`` after ``step``, and drops later events; `MissingExtra` without the extra. ``writer`` is
    closed by the caller.
    """

    def __init__(self, folder: Path, step: int) -> None:
        truncate(folder, step)
        self.writer: EventWriter = EventWriter(folder)

    def record(self, numbers: Mapping[str, float], step: int) -> None:
        for tag, value in numbers.items():
            self.writer.scalar(tag, value, step)
