"""The records of a training, for callbacks, ``metrics.jsonl`` and the result: steps, epochs and evaluations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from typednn.errors import ArgumentError, explain
from typednn.screen import brief

_SHOWN = 10  # evaluations in a notebook
RECORD = ("step", "epoch", "split", "loss")  # keys of an evaluation besides its metrics


@dataclass(frozen=True, slots=True)
class Step:
    """One update of the weights; ``step`` and ``epoch`` count from 1, ``loss`` is that of the rows that
    the step read.
    """

    step: int
    epoch: int
    loss: float
    lr: float | None
    samples_per_second: float
    seconds: float
    """Since training began, earlier processes of the same run included."""
    gradient_norms: dict[str, float] | None = None
    """By layer; every fiftieth step has it."""

    def as_json(self) -> dict[str, Any]:
        """By the names above; norms where there are some. Not asdict, which copies, as this runs at every step."""
        row = {name: getattr(self, name) for name in self.__slots__}
        if self.gradient_norms is None:
            del row["gradient_norms"]
        return row


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the data: its number from 1, the mean training loss, the seconds."""

    number: int
    loss: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One evaluation; ``metrics`` of the task besides the loss, by name."""

    step: int
    epoch: int
    split: str
    loss: float
    metrics: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def accuracy(self) -> float | None:
        """The accuracy; None where there are no labels."""
        return self.metrics.get("accuracy")

    def as_json(self) -> dict[str, Any]:
        """As in ``metrics.jsonl`` and checkpoints: the metrics next to the loss; a missing accuracy is null."""
        return {**{name: getattr(self, name) for name in RECORD}, "accuracy": None, **self.metrics}

    def value(self, metric: str) -> float:
        """The number for comparison: higher is better, so errors are negated; an `ArgumentError` where it was not
        measured.
        """
        known = {"loss": self.loss, **self.metrics}
        if metric not in known:
            raise ArgumentError(
                explain("EarlyStopping", f"metric must be one of {', '.join(map(repr, known))}", repr(metric)), "metric"
            )
        return -known[metric] if metric in ("loss", "mse", "mae") else known[metric]


@dataclass(frozen=True, slots=True)
class Best:
    """The best evaluation so far: at which step, by which metric, and its value (errors are negated:
    higher is better).
    """

    step: int
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class History:
    """Every epoch and evaluation in order, and why training ended; ``""`` at its regular end."""

    epochs: tuple[Epoch, ...]
    evaluations: tuple[Measured, ...] = ()
    best: Best | None = None
    steps: int = 0
    stopped: str = ""

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the losses as curves over the epochs, and the last evaluations."""
        from typednn.curves import curves
        from typednn.html import facts, number, shown, table

        lines = {"training": [(float(epoch.number), epoch.loss) for epoch in self.epochs]}
        each = self.steps / max(len(self.epochs), 1)  # steps of an epoch; all counts are 0 before the first
        for measured in self.evaluations:
            lines.setdefault(measured.split, []).append((measured.step / max(each, 1.0), measured.loss))
        told: dict[str, object] = {"epochs": len(self.epochs), "steps": f"{self.steps:,}"}
        told |= {"last loss": number(self.epochs[-1].loss)} if self.epochs else {}
        told |= {"seconds": f"{sum(epoch.seconds for epoch in self.epochs):.1f}"}
        told |= {"ended by": self.stopped} if self.stopped else {}
        metrics = list(dict.fromkeys(name for measured in self.evaluations for name in measured.metrics))
        head = ["step", "epoch", "split", "loss", *metrics, ""]
        best = None if self.best is None else self.best.step
        rows = [
            [measured.step, measured.epoch, measured.split, number(measured.loss)]
            + [number(measured.metrics[name]) if name in measured.metrics else "" for name in metrics]
            + ["best" if measured.step == best else ""]
            for measured in self.evaluations[-_SHOWN:]
        ]
        numbers = table(head, rows, numbers=("step", "epoch", "loss", *metrics)) if rows else ""
        return shown("History", facts(told), curves(lines, "epoch"), numbers)

    @property
    def losses(self) -> list[float]:
        """The mean loss of every epoch."""
        return [epoch.loss for epoch in self.epochs]


@dataclass(frozen=True, slots=True)
class LearningRates:
    """What `typednn.training.find_learning_rate` measured: the loss at each rate, from the lowest rate to the last that
    was tried.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    smoothed: tuple[float, ...]
    """The losses' running mean, of which every number is the mean of those before it, the later the heavier."""
    suggestion: float | None
    """The rate in the middle of the smoothed loss's longest fall; None where it never falls."""

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the loss over the rate, and the suggestion."""
        from typednn.curves import Line, curves
        from typednn.html import facts, shown

        lines = [
            Line("loss", list(zip(self.rates, self.losses, strict=True)), colour=0, look="pale"),
            Line("loss, smoothed", list(zip(self.rates, self.smoothed, strict=True)), colour=0),
        ]
        suggestion = None if self.suggestion is None else f"{self.suggestion:.3g}"
        mark = None if self.suggestion is None else (self.suggestion, f"suggestion: {suggestion}")
        drawn = curves(lines, "learning rate", along_logarithmic=True, mark=mark)
        return shown("Learning rates", facts({"suggestion": suggestion or "none: the loss never falls"}), drawn)
