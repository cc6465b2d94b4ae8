"""What is said about a training: its steps, epochs and evaluations, to callbacks, in ``metrics.jsonl``, and in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One update of the weights; ``step`` and ``epoch`` count from 1, ``loss`` is the mean over the rows that the step read."""

    step: int
    epoch: int
    loss: float
    lr: float | None
    samples_per_second: float
    seconds: float
    """Since training began, earlier processes of the same run included."""
    gradient_norms: dict[str, float] | None = None
    """By layer; every fiftieth step has it."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the data: its number from 1, the mean loss on the way, the seconds it took."""

    number: int
    loss: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One evaluation; ``metrics`` are what the task measures beside the loss, by name."""

    step: int
    epoch: int
    split: str
    loss: float
    metrics: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def accuracy(self) -> float | None:
        """None where there are no labels to be right about."""
        return self.metrics.get("accuracy")

    def as_json(self) -> dict[str, Any]:
        """As ``metrics.jsonl`` and checkpoints have it: the metrics beside the loss; no accuracy is null."""
        plain = {name: getattr(self, name) for name in ("step", "epoch", "split", "loss")}
        return {**plain, "accuracy": None, **self.metrics}

    def value(self, metric: str) -> float:
        """The number that is compared: higher is better."""
        return -self.loss if metric == "loss" or self.accuracy is None else self.accuracy


@dataclass(frozen=True, slots=True)
class Best:
    """The evaluation that nothing has beaten: at which step, by which metric, and its value (a loss is negated: higher is better)."""

    step: int
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class History:
    """Every epoch and evaluation in order, and why training ended: ``""`` when it was through."""

    epochs: tuple[Epoch, ...]
    evaluations: tuple[Measured, ...] = ()
    best: Best | None = None
    steps: int = 0
    stopped: str = ""

    @property
    def losses(self) -> list[float]:
        """The mean loss of every epoch."""
        return [epoch.loss for epoch in self.epochs]
