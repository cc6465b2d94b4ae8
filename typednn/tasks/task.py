"""What a task says. `Task` is what `typednn.training.fit` asks, `RecipeTask` what a recipe asks beside it."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from typednn.runs.shown import Mistakes, Residuals

Report = TypeVar("Report", covariant=True)
Answered = TypeVar("Answered")


class Task(Protocol):
    """How a batch becomes a loss, and which numbers an evaluation gives beside the loss."""

    def targets(self, y: Any, prediction: Any) -> Any:
        """What the loss compares ``prediction`` with, given a batch's ``y``."""
        ...

    def metrics(self, batches: Iterable[tuple[Any, Any]]) -> dict[str, float]:
        """By name, from each batch's prediction and ``y``, or its labels. Batches are made as they are asked for."""
        ...


class RecipeTask(Task, Protocol[Report, Answered]):
    """What else reading data, reports and predictions need."""

    def column(self, where: str, column: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """``y`` from the first column of a CSV file; a `DataError` where it cannot be that."""
        ...

    def check(self, where: str, y: npt.NDArray[Any], outputs: int) -> None:
        """An `ArgumentError` unless ``y`` can be what a model with so many outputs learns."""
        ...

    def report(self, prediction: Any, y: npt.NDArray[Any]) -> Report:
        """How good the predictions of a whole set are."""
        ...

    def shown(self, x: npt.NDArray[Any], y: npt.NDArray[Any], prediction: Any) -> Mistakes | Residuals | None:
        """What pictures are drawn from later."""
        ...

    def answers(self, file: str, prediction: Any, remark: str) -> list[Answered]:
        """What the model says to each input of ``file``."""
        ...
