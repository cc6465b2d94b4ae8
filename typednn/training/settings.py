"""The settings of a training: how long it lasts, and what comes between its steps.

`fit` takes them as arguments, and a `typednn.recipes.Recipe` has them as fields; both are checked here.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from typednn.arguments import choice, flag, integer, number
from typednn.engines.precision import Precision
from typednn.training.callbacks import EarlyStopping, Every


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """What `fit` and a recipe both say; `typednn.training.fit` explains each. An `ArgumentError` names what is wrong.

    The class that derives from it names itself in messages: `where`.
    """

    epochs: int = 10
    max_steps: int | None = None
    accumulate: int = 1
    clip_grad_norm: float | None = None
    precision: Precision | None = None
    compile: bool = True
    evaluate_every: int | Every | None = None
    checkpoint_every: int | Every | None = None

    def __post_init__(self) -> None:
        checked = ["epochs", "accumulate"]
        if self.max_steps is not None:
            checked.append("max_steps")
        for name in ("evaluate_every", "checkpoint_every"):
            if not isinstance(getattr(self, name), Every | None):
                checked.append(name)
        for name in checked:
            object.__setattr__(self, name, integer(self.where, name, getattr(self, name)))
        if self.clip_grad_norm is not None:
            number(self.where, "clip_grad_norm", self.clip_grad_norm, least=0.0)
        if self.precision is not None:
            choice(self.where, "precision", self.precision, get_args(Precision))
        flag(self.where, "compile", self.compile)

    @property
    def where(self) -> str:
        """Whose settings these are, in messages."""
        return "fit"

    def training_arguments(self) -> dict[str, Any]:
        """These settings as arguments of `fit`."""
        return {each.name: getattr(self, each.name) for each in fields(TrainingSettings)}

    def told(self, loss: object, loader: object, early_stopping: EarlyStopping | None = None) -> dict[str, Any]:
        """What is set, as JSON, with the loss's name, the loader's rows per step, and the patience."""
        given = {**self.training_arguments(), "batch_size": getattr(loader, "batch_size", None)}
        given["compile"] = None if self.compile else False  # results are the same: only that it is off is told
        if early_stopping is not None:
            given |= {"patience": early_stopping.patience}
            given |= {} if early_stopping.restore_best_weights else {"restore_best_weights": False}
        tables = {name: asdict(value) if isinstance(value, Every) else value for name, value in given.items()}
        return {"loss": type(loss).__name__, **{name: value for name, value in tables.items() if value is not None}}

    def steps(self, batches: int) -> int:
        """The steps of the whole training, of ``batches`` batches an epoch."""
        whole = self.epochs * -(-batches // self.accumulate)
        return whole if self.max_steps is None else min(whole, self.max_steps)

    def complete(self, epochs: int, step: int) -> bool:
        """Whether a training of so many whole epochs and steps has come to its end."""
        return epochs >= self.epochs or (self.max_steps is not None and step >= self.max_steps)
