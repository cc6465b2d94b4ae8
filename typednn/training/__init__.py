"""Training: the loop, its callbacks, and evaluation."""

from typing import TYPE_CHECKING

from typednn.contracts.protocols import ValuedLoss
from typednn.errors.public import published
from typednn.runs.history import Best, Epoch, History, LearningRates, Measured, Step
from typednn.training.batches import Batches, BatchLike
from typednn.training.callbacks import Callback, EarlyStopping, Every
from typednn.training.evaluation import Evaluation, evaluate
from typednn.training.learning_rate import find_learning_rate
from typednn.training.loop import fit
from typednn.training.trackers import MLflow, TrackerWarning, WandB

__all__ = [
    "Batches",
    "BatchLike",
    "Best",
    "Callback",
    "EarlyStopping",
    "Epoch",
    "Evaluation",
    "Every",
    "History",
    "LearningRates",
    "MLflow",
    "Measured",
    "Step",
    "TrackerWarning",
    "ValuedLoss",
    "WandB",
    "evaluate",
    "find_learning_rate",
    "fit",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
