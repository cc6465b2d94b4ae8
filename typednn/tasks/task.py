"""Protocols of tasks. `typednn.training.fit` uses `Task`, and of texts `SpokenTask`; recipes use `RecipeTask`."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from typednn.runs.shown import Mistakes, Residuals

Report = TypeVar("Report", covariant=True)
Answered = TypeVar("Answered")


class Task(Protocol):
    """How a batch becomes a loss, and which numbers an evaluation gives beside the loss."""

    def targets(self, y: Any, prediction: Any) -> Any:
        """The target of the loss for ``prediction``, from a batch's ``y``."""
        ...

    def metrics(self, batches: Iterable[tuple[Any, Any]]) -> dict[str, float]:
        """By name, from each batch's prediction and ``y``, or its labels. Batches are computed as they are read."""
        ...


@runtime_checkable
class CountedTask(Task, Protocol):
    """A task whose metrics are made of a few numbers per batch: those, and not predictions, are what the ranks of a job
    send to each other. ``metrics`` of batches is ``combined`` of what is counted in each.
    """

    def counted(self, prediction: Any, y: Any) -> Any:
        """What the metrics need of a batch."""
        ...

    def combined(self, counted: Iterable[Any]) -> dict[str, float]:
        """The metrics, from what was counted in each batch, in order."""
        ...


@runtime_checkable
class SpokenTask(Task, Protocol):
    """A task of texts. `fit` tells speed in ``unit``, of which a sample has ``per_sample``, and shows a text after each
    evaluation.
    """

    @property
    def unit(self) -> str: ...
    @property
    def per_sample(self) -> int: ...

    def sample(self, model: Any, step: int) -> str | None:
        """What the model writes after this many steps; None for nothing."""
        ...


class RecipeTask(Task, Protocol[Report, Answered]):
    """A task that also reads data, reports and predicts."""

    def column(
        self, where: str, name: str, column: npt.NDArray[np.float64], place: Callable[[int], str]
    ) -> npt.NDArray[Any]:
        """``y`` from the target's column of a table; a `DataError` that tells the ``place`` of a row that does not fit
        the task.
        """
        ...

    def check(self, where: str, y: npt.NDArray[Any], outputs: int) -> None:
        """An `ArgumentError` unless a model with so many outputs can learn ``y``."""
        ...

    def report(self, prediction: Any, y: npt.NDArray[Any]) -> Report:
        """The report on the predictions of a whole set."""
        ...

    def shown(self, x: npt.NDArray[Any], y: npt.NDArray[Any], prediction: Any) -> Mistakes | Residuals | None:
        """The data of the run's pictures."""
        ...

    def answers(self, file: str, prediction: Any, remark: str) -> list[Answered]:
        """The prediction for each input of ``file``."""
        ...
