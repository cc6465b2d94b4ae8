"""Hooks that `fit` calls, and how often periodic work runs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from typednn.arguments import integer, number
from typednn.errors import ArgumentError, explain
from typednn.files import parsed
from typednn.runs.history import Epoch, History, Measured, Step
from typednn.runs.state import Json

Called: TypeAlias = Literal["on_step", "on_evaluation", "on_epoch"]


class Callback(Protocol):
    """Called by `fit`; derive from it and write only what you need. An exception ends the training and is raised by
    `fit`.

    Returning a text from `on_step`, `on_evaluation` or `on_epoch` ends the training after the current step;
    `History.stopped` is that text.
    """

    def on_start(self, settings: dict[str, Any], folder: Path | None) -> None:
        """Before the first step of this call, after what is resumed: the settings by name, such as ``optimizer.lr``,
        and the run's folder.
        """
        return

    def on_step(self, step: Step) -> str | None:
        """After every update of the weights."""
        return None

    def on_evaluation(self, measured: Measured) -> str | None:
        """After every evaluation."""
        return None

    def on_epoch(self, epoch: Epoch) -> str | None:
        """After every pass over the data, and its evaluation."""
        return None

    def on_end(self, history: History) -> None:
        """Once, when training ends without an error, also by a signal."""
        return

    def on_exception(self, exception: BaseException) -> None:
        """Once, when training ends by an error, or by a second signal; then it is raised."""
        return

    def state_dict(self) -> dict[str, Any]:
        """The state for checkpoints, a dict of JSON values, so that a resumed run goes on as an uninterrupted one."""
        return {}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Continue from a `state_dict`, unless that was empty."""
        return


def saved_state(callback: Callback) -> Json:
    """The callback's state by the name of its class; an `ArgumentError` where JSON would not give back the same."""
    name, state = type(callback).__qualname__, callback.state_dict()
    try:
        plain = parsed(json.dumps(state, allow_nan=False).encode())
    except (TypeError, ValueError):
        plain = None
    if plain is None or plain != state:
        raise ArgumentError(
            explain("fit", "state_dict gives a dict of JSON values", f"{state!r:.100} from {name}"), "callbacks"
        )
    return {name: plain}


def called(callbacks: Iterable[Callback], name: Called, value: Step | Measured | Epoch) -> str:
    """Call this method of every callback; the first reason to end the training, "" where there is none."""
    first = ""
    for callback in callbacks:
        reason: object = getattr(callback, name)(value)
        if reason is not None and not isinstance(reason, str):
            rule = "a callback returns None, or a text to end the training"
            got = f"{type(reason).__name__} from {type(callback).__qualname__}.{name}"
            raise ArgumentError(explain("fit", rule, got), "callbacks")
        first = first or reason or ""
    return first


@dataclass(frozen=True, slots=True)
class Every:
    """An interval: ``Every(epochs=2)`` or ``Every(steps=500)``."""

    steps: int | None = None
    epochs: int | None = None

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.epochs is None):
            raise ArgumentError(
                explain(
                    "Every", "takes steps or epochs", f"steps={self.steps}, epochs={self.epochs}", "such as epochs=1"
                )
            )
        integer(
            "Every",
            "steps" if self.epochs is None else "epochs",
            self.steps if self.steps is not None else self.epochs or 0,
        )

    def due(self, step: int, epochs: int | None) -> bool:
        """Whether it is due after ``step`` updates; ``epochs`` is how many passes are complete, None within one."""
        if self.steps is not None:
            return step % self.steps == 0
        return epochs is not None and self.epochs is not None and epochs % self.epochs == 0


def is_due(interval: int | Every | None, step: int, epochs: int | None) -> bool:
    """Whether it is due, as `Every.due` says: a number means steps, None each epoch."""
    if isinstance(interval, Every):
        return interval.due(step, epochs)
    return epochs is not None if interval is None else step % interval == 0


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """End when ``patience`` evaluations in a row have not improved ``metric`` by more than ``min_delta``; those of the
    first ``start_from_epoch`` epochs don't count.

    ``metric`` is ``"loss"`` or one that the task measures, such as ``"accuracy"``. Higher is better but for loss, mse
    and mae. When `fit` ends, early or not, the model has the weights of the best evaluation, or with
    ``restore_best_weights=False`` the last. The optimizer and the run's last checkpoint are always those of the last
    step.
    """

    patience: int
    metric: str = "loss"
    min_delta: float = 0.0
    restore_best_weights: bool = True
    start_from_epoch: int = 0

    def __post_init__(self) -> None:
        integer("EarlyStopping", "patience", self.patience)
        integer("EarlyStopping", "start_from_epoch", self.start_from_epoch, 0)
        number("EarlyStopping", "min_delta", self.min_delta, least=0.0)

    def counts(self, epochs: int) -> bool:
        """Whether an evaluation counts after so many whole epochs."""
        return not self.start_from_epoch or epochs > self.start_from_epoch

    def ends(self, waited: int, epochs: int) -> bool:
        """Whether to end after ``waited`` evaluations without improvement, and so many whole epochs."""
        return waited >= self.patience and self.counts(epochs)
