"""SampleWeighted: a loss on one batch of which each sample counts as much as its weight says.

value = Σ_i weight[i] loss_i / Σ_i weight[i] n_i       dprediction_i = weight[i] dloss_i / Σ_j weight[j] n_j

loss_i is the sum of a sample's losses, and n_i what it adds to the loss's divisor: its labels that count, their
classes' weights included, or its numbers. With ``reduction="sum"`` nothing is divided. So a weight of 2 is the sample
twice, and 0 is the batch without it. Where all weights are 0, the mean is 0 and so is its gradient.
Source: scikit-learn's ``sample_weight``.
"""

import copy
from typing import Any, final

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, device_of, is_integer
from typednn.backends import to_device, to_numpy
from typednn.errors import ArgumentError, explain
from typednn.kernels.class_targets import counts
from typednn.kernels.weighted_rows import weighted_rows
from typednn.losses.labels import index_of
from typednn.losses.reduction import is_number, reduced, reduced_array


@final
class SampleWeighted:
    """``loss`` with the ``weight`` (batch), which is on the host, of each sample of one batch."""

    def __init__(self, loss: Any, weight: Float[Array1, " batch"]) -> None:
        check_weighable("SampleWeighted", loss)
        self._loss = loss
        self._each = copy.copy(loss)
        self._each.reduction = "none"
        self._weight = weight
        self._counted: float | None = None  # the divisor, once it is known: labels on a device are not read again

    def loss(self, prediction: Float[AnyArray, "batch *features"], target: Any) -> float:
        """The weighted loss of the batch."""
        losses = self._rows(self._each.loss(prediction, target))
        return float(reduced(losses, self._loss.reduction, self._alpha(prediction, target)))

    def loss_array(self, prediction: Float[AnyArray, "batch *features"], target: Any) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        losses = self._rows(self._each.loss_array(prediction, target))
        return reduced_array(losses, self._loss.reduction, self._alpha(prediction, target))

    def loss_grad(self, prediction: Float[AnyArray, "batch *features"], target: Any) -> Any:
        """The derivative of `loss`, shaped as the prediction."""
        return self._rows(self._each.loss_grad(prediction, target), self._alpha(prediction, target))

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: Σ_i weight[i] n_i, 0 where nothing counts; None for a
        sum.
        """
        whole: float | None = self._loss.divisor(prediction, target)
        if whole is None:
            return None
        batch, summed = len(self._weight), float(self._weight.sum(dtype=np.float64))
        weight = getattr(self._loss, "weight", None)
        ignored = getattr(self._loss, "ignore_index", None)
        labelled = is_integer(target.dtype) and len(target.shape) < len(prediction.shape)
        self._counted = whole / batch * summed
        if labelled and (weight is not None or ignored is not None):
            each = prediction.shape[-1] if self._loss.reduction == "mean" else 1
            shares = None if weight is None else np.asarray(weight, prediction.dtype)
            labels = counts(to_numpy(target).reshape(-1), shares, index_of(ignored))
            self._counted = each * float(self._weight @ labels.reshape(batch, -1).sum(axis=1, dtype=np.float64))
        return self._counted

    def _alpha(self, prediction: Any, target: Any) -> float:
        """What the sum is divided by: 1 where nothing counts."""
        return self._counted or self.divisor(prediction, target) or 1.0

    def _rows(self, numbers: Any, divisor: float = 1.0) -> Any:
        """``numbers`` of each sample times its weight, divided."""
        weight = np.asarray(self._weight / divisor, numbers.dtype)
        return weighted_rows(numbers, to_device(weight, device_of(numbers)))


def check_weighable(where: str, loss: Any) -> None:
    """Samples are weighed in the losses of typednn whose value is one number."""
    reduction: Any = getattr(loss, "reduction", "")
    if type(loss).__module__.rpartition(".")[0] == "typednn.losses" and is_number(reduction):
        return
    rule = "sample weights need a loss of typednn.losses whose value is a number"
    got = type(loss).__name__ + (f"(reduction={reduction!r})" if reduction else "")
    raise ArgumentError(explain(where, rule, got, "such as SoftmaxCrossEntropy()"), "loss")
