"""Tasks, such as classification: they compare outputs with targets, measure, report, and turn outputs into answers."""

from typing import Any

from typednn.arrays import is_floating
from typednn.losses import L1, MSE, NLL, BCEWithLogits, CrossEntropy, Huber, KLDiv, SoftmaxCrossEntropy
from typednn.tasks.classification import Answer, Classification
from typednn.tasks.language import Language
from typednn.tasks.regression import Estimate, Regression
from typednn.tasks.task import RecipeTask, SpokenTask, Task


def task_of(loss: object, validation: Any = None) -> Task:
    """The default task for a loss, and for the `typednn.training.Evaluation` that is measured on the way, if there is
    one.

    Its labels make a classification. Without labels `MSE`, `L1` and `Huber` make a regression, and so do floats in its
    ``y`` unless the loss takes them for probabilities. Labels that the loss ignores don't count for the accuracy.
    """
    numbers = isinstance(loss, MSE | L1 | Huber)
    if validation is not None:
        floats = is_floating(validation.y.dtype) and not isinstance(
            loss, BCEWithLogits | CrossEntropy | KLDiv | NLL | SoftmaxCrossEntropy
        )
        numbers = validation.labels is None and (floats or numbers)
    ignored = loss.ignore_index if isinstance(loss, NLL | SoftmaxCrossEntropy) else None
    return Regression() if numbers else Classification(ignore_index=ignored)


__all__ = [
    "Answer",
    "Classification",
    "Estimate",
    "Language",
    "RecipeTask",
    "Regression",
    "SpokenTask",
    "Task",
    "task_of",
]
