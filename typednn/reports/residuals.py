"""A regression's picture: predicted and true numbers, and the residuals."""

from typing import Any

import numpy as np

from typednn.charts import GREATEST
from typednn.reports.canvas import FILE, PALETTE, Medium, drawing, figure, rendered, scaled_axis
from typednn.runs.shown import Residuals


def residual_picture(residuals: Residuals, medium: Medium = FILE) -> bytes:
    """Left, or above: the prediction over the truth; on the diagonal it is right.

    Right, or below: the residual, true − predicted, over the prediction.
    """
    finite = np.isfinite(residuals.predictions) & np.isfinite(residuals.targets)
    predicted, true = (
        np.clip(array[finite], -GREATEST, GREATEST) for array in (residuals.predictions, residuals.targets)
    )
    with drawing():
        drawn, (left, right) = figure(medium.width, 7.6, 2, 1) if medium.narrow else figure(9.0, 4.4, 1, 2)
        dots: dict[str, Any] = {"color": PALETTE[0], "marker": ".", "linewidth": 0, "alpha": 0.5, "markersize": 5}
        left.plot(true, predicted, **dots)
        ends = [true.min(), true.max()] if len(true) else [0.0, 1.0]
        left.plot(ends, ends, color=PALETTE[6], linewidth=1.0)
        left.set(title="Predicted and true", xlabel="true", ylabel="predicted")
        right.plot(predicted, true - predicted, **dots)
        right.axhline(0.0, color=PALETTE[6], linewidth=1.0)
        right.set(title="Residuals", xlabel="predicted", ylabel="true − predicted")
        for axes in (left, right):
            scaled_axis(axes, "x", 6)
            scaled_axis(axes, "y", 6)
        return rendered(drawn, medium)
