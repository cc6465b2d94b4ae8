"""Regression: the model approximates one number or several for each sample; ``y`` holds them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain, printable
from typednn.metrics import RegressionReport
from typednn.runs.shown import Residuals
from typednn.tasks.task import RecipeTask


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A regression's prediction for one input: the file, the input's number in it (from 0), a number
    for each output.
    """

    file: str
    index: int
    values: tuple[float, ...]
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """The values."""
        return {"values": list(self.values)}

    def __str__(self) -> str:
        return printable(f"{self.file}[{self.index}]  ") + "  ".join(f"{value:.6g}" for value in self.values)


@final
@dataclass(frozen=True, slots=True)
class Regression(RecipeTask[RegressionReport, Estimate]):
    """``y`` (batch) for a model of one output, or (batch, outputs).

    The model learns ``(y - mean)/deviation``, each of one number or of one per output; what is measured and answered
    has ``y``'s units.
    """

    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def targets(self, y: Any, prediction: Any) -> Any:
        y = _as_rows(y, prediction)
        if self._is_plain:
            return y
        return ((np.asarray(y, np.float64) - np.asarray(self.mean)) / np.asarray(self.deviation)).astype(
            prediction.dtype
        )

    def learned(self, y: Any) -> Any:
        """``y`` as a loader gives it: in float64 until its mean is taken off, as large numbers differ in digits that
        float32 lacks.
        """
        return y.astype(np.float32, copy=False) if self._is_plain else y

    @property
    def _is_plain(self) -> bool:
        return self.mean == (0.0,) and self.deviation == (1.0,)

    def in_units(self, prediction: Any) -> Any:
        """A prediction in the units of ``y``, in float64; as it is where nothing was scaled."""
        if self._is_plain:
            return prediction
        return np.asarray(to_numpy(prediction), np.float64) * np.asarray(self.deviation) + np.asarray(self.mean)

    def metrics(self, batches: Iterable[tuple[Any, Any]]) -> dict[str, float]:
        """Mean squared error, mean absolute error, R² (`typednn.metrics.RegressionReport`)."""
        report = RegressionReport.from_batches(
            (self.in_units(prediction), _as_rows(y, prediction)) for prediction, y in batches
        )
        return {"mse": report.mse, "mae": report.mae, "r2": report.r2}

    def column(
        self, where: str, name: str, column: npt.NDArray[np.float64], place: Callable[[int], str]
    ) -> npt.NDArray[np.float64]:
        return column

    def check(self, where: str, y: npt.NDArray[Any], outputs: int) -> None:
        targets = 1 if y.ndim == 1 else y.shape[1]
        if targets != outputs:
            raise ArgumentError(
                explain(
                    where,
                    f"the model gives {outputs} numbers per sample",
                    f"{targets} to learn",
                    "give the model as many outputs",
                )
            )
        if y.dtype != np.float32 and y.dtype != np.float64:
            rule, cure = "a regression learns numbers in float32 or float64", "convert with astype(numpy.float64)"
            raise ArgumentError(explain(where, rule, str(y.dtype), cure))

    def report(self, prediction: Any, y: npt.NDArray[Any]) -> RegressionReport:
        return RegressionReport.from_batches([(self.in_units(prediction), _as_rows(y, prediction))])

    def shown(self, x: npt.NDArray[Any], y: npt.NDArray[Any], prediction: Any) -> Residuals:
        return Residuals.of(self.in_units(prediction), _as_rows(y, prediction))

    def answers(self, file: str, prediction: Any, remark: str) -> list[Estimate]:
        rows = np.asarray(self.in_units(prediction), np.float64).tolist()
        return [Estimate(file, index, tuple(row), remark) for index, row in enumerate(rows)]


def _as_rows(y: Any, prediction: Any) -> Any:
    """``y`` in the shape of the prediction."""
    return y[:, None] if y.ndim == 1 and prediction.ndim == 2 else y
