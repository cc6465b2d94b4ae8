"""Tasks, such as classification: they compare outputs with targets, measure, report, and turn outputs into answers."""

from typing import Any

from typednn.arrays import is_floating
from typednn.losses import MSE, CrossEntropy, SoftmaxCrossEntropy
from typednn.tasks.classification import Answer, Classification
from typednn.tasks.regression import Estimate, Regression
from typednn.tasks.task import RecipeTask, Task


def task_of(loss: object, validation: Any = None) -> Task:
    """The default task for a loss, and for the `typednn.training.Evaluation` that is measured on the way, if there is one.

    Its labels make a classification. Without labels `MSE` makes a regression, and so do floats in its ``y`` unless the loss is a
    cross entropy, which takes them for probabilities.
    """
    numbers = isinstance(loss, MSE)
    if validation is not None:
        floats = is_floating(validation.y.dtype) and not isinstance(loss, CrossEntropy | SoftmaxCrossEntropy)
        numbers = validation.labels is None and (floats or numbers)
    return Regression() if numbers else Classification()


__all__ = ["Answer", "Classification", "Estimate", "RecipeTask", "Regression", "Task", "task_of"]
