"""NLL: the negative log-likelihood of labels, from log-probabilities.

loss[…,c] = -weight[c] prediction[…,c] at the label, 0 elsewhere       dprediction = -weight[c]/alpha at the label, 0
                                                                       elsewhere

prediction (batch, *positions, classes): log-probabilities.   target: class labels (batch, *positions) of integers.
                                                              Weights, alpha,
``ignore_index`` and labels that are no class: as in `SoftmaxCrossEntropy`, which is a log-softmax and this in one
kernel. A few operations for each number.
Source: torch.nn.NLLLoss.
"""

from typing import Any, Generic, final, overload

import numpy as np
from jaxtyping import Float, Integer
from typing_extensions import TypeVar

from typednn.arrays import AnyArray, AnyIntArray, Array2, Array3, Array4, IntArray1, IntArray2, IntArray3
from typednn.contracts.protocols import Loss
from typednn.kernels import nll
from typednn.losses.labels import (
    as_rows,
    as_shaped,
    as_shown,
    check_labels,
    checked_ignore_index,
    divisors,
    index_of,
    labels_divisor,
)
from typednn.losses.reduction import Reduction, ToArray, ToNumber, checked_reduction, reduced, reduced_array
from typednn.losses.weights import Weight, checked_weight, weights_for

Value = TypeVar("Value", default=float)
A = TypeVar("A", bound=AnyArray)
NAME = "NLL"


@final
class NLL(Loss[AnyArray, AnyIntArray], Generic[Value]):
    """On log-probabilities. On scores, use `SoftmaxCrossEntropy`."""

    @overload
    def __init__(
        self: "NLL[float]",
        reduction: ToNumber = "batchmean",
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
    ) -> None: ...
    @overload
    def __init__(
        self: "NLL[AnyArray]",
        reduction: ToArray,
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
    ) -> None: ...
    def __init__(
        self,
        reduction: Reduction = "batchmean",
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
    ) -> None:
        self.reduction: Reduction = checked_reduction(NAME, reduction)
        self.weight: tuple[float, ...] | None = checked_weight(NAME, weight)
        self.ignore_index: int | None = checked_ignore_index(NAME, ignore_index)

    @overload
    def loss(self, prediction: Array2, target: IntArray1) -> Value: ...
    @overload
    def loss(self, prediction: Array3, target: IntArray2) -> Value: ...
    @overload
    def loss(self, prediction: Array4, target: IntArray3) -> Value: ...
    def loss(
        self,
        prediction: Float[AnyArray, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"],
    ) -> Value:
        may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, divisor, _ = self._alpha(prediction, target, may_ignore)
        value: Value = reduced(self._forward(prediction, target, weight), self.reduction, divisor)
        return value

    def loss_array(
        self,
        prediction: Float[AnyArray, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"],
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        weight, divisor, _ = self._alpha(prediction, target, self.ignore_index is not None)
        return reduced_array(self._forward(prediction, target, weight), self.reduction, divisor)

    @overload
    def loss_grad(self, prediction: Array2, target: IntArray1) -> Array2: ...
    @overload
    def loss_grad(self, prediction: Array3, target: IntArray2) -> Array3: ...
    @overload
    def loss_grad(self, prediction: Array4, target: IntArray3) -> Array4: ...
    def loss_grad(
        self,
        prediction: Float[A, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"],
    ) -> Float[A, "batch *positions classes"]:
        may_ignore = self.ignore_index is not None
        if type(target) is np.ndarray:
            may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, _, scale = self._alpha(prediction, target, may_ignore)
        rows, targets = as_rows(prediction, target)
        gradient = nll.backward(rows, targets, scale, weight, index_of(self.ignore_index))
        shaped: A = as_shaped(gradient, prediction)
        return shaped

    @overload
    def loss_and_grad(self, prediction: Array2, target: IntArray1) -> tuple[Value, Array2]: ...
    @overload
    def loss_and_grad(self, prediction: Array3, target: IntArray2) -> tuple[Value, Array3]: ...
    @overload
    def loss_and_grad(self, prediction: Array4, target: IntArray3) -> tuple[Value, Array4]: ...
    def loss_and_grad(
        self,
        prediction: Float[A, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"],
    ) -> tuple[Value, Float[A, "batch *positions classes"]]:
        """`loss` and `loss_grad`, in one pass."""
        may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, divisor, scale = self._alpha(prediction, target, may_ignore)
        rows, targets = as_rows(prediction, target)
        losses, gradient = nll.forward_and_backward(rows, targets, scale, weight, index_of(self.ignore_index))
        value: Value = reduced(as_shaped(losses, prediction), self.reduction, divisor)
        return value, as_shaped(gradient, prediction)

    def check_target(self, target: Any, classes: int) -> None:
        """Refuse labels that are no class, with their place. This waits for a device, so `fit` calls it while labels
        are on the host.
        """
        check_labels(NAME, target, classes, self.ignore_index)

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by, 0 if no
        label counts.

        None where ``loss`` does not divide by the batch.
        """
        return labels_divisor(target, self.weight, self.ignore_index, self.reduction, prediction)

    def _alpha(self, prediction: Any, target: Any, may_ignore: bool) -> tuple[Any, Any, Any]:
        """The weights of the classes, alpha and its reciprocal."""
        weight = weights_for(NAME, self.weight, prediction)
        return weight, *divisors(target, weight, self.ignore_index, may_ignore, self.reduction, prediction)

    def _forward(self, prediction: Any, target: Any, weight: Any) -> Any:
        rows, targets = as_rows(prediction, target)
        losses = nll.forward(rows, targets, weight, index_of(self.ignore_index))
        return as_shaped(losses, prediction)

    def __repr__(self) -> str:
        return as_shown(self, weight=None, ignore_index=-100)
