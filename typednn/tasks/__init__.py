"""Tasks, such as classification: they compare outputs with targets, measure, report, and turn outputs into answers."""

from typednn.losses import MSE
from typednn.tasks.classification import Answer, Classification
from typednn.tasks.regression import Estimate, Regression
from typednn.tasks.task import RecipeTask, Task


def task_of(loss: object) -> Task:
    """The default task for a loss: regression for `MSE`, classification for any other."""
    return Regression() if isinstance(loss, MSE) else Classification()


__all__ = ["Answer", "Classification", "Estimate", "RecipeTask", "Regression", "Task", "task_of"]
