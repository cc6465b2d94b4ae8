"""Tasks: what is learned, and so how outputs are compared with targets, measured, reported and answered with."""

from typednn.losses import MSE
from typednn.tasks.classification import Answer, Classification
from typednn.tasks.regression import Estimate, Regression
from typednn.tasks.task import RecipeTask, Task


def task_of(loss: object) -> Task:
    """The task that a loss is of, where nothing else is said: `MSE` is a regression's, every other a classification's."""
    return Regression() if isinstance(loss, MSE) else Classification()


__all__ = ["Answer", "Classification", "Estimate", "RecipeTask", "Regression", "Task", "task_of"]
