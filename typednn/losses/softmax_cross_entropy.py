"""SoftmaxCrossEntropy: cross entropy straight from scores.

loss[…,c] = -q[…,c] log softmax(prediction)[…,c]       dprediction = (softmax(prediction) Σ q - q)/alpha
q[…,c] = weight[c] ((1 - label_smoothing) target[…,c] + label_smoothing/classes)

prediction (batch, *positions, classes): scores of samples, of each token of a sequence, of each pixel; any size, never
overflowing. target: class labels (batch, *positions) of integers, or probabilities shaped as the prediction. A label
that is ``ignore_index`` has loss and gradient 0 and does not count. alpha as in `typednn.losses.labels`: the default
"batchmean" is the mean over all labels that count, as torch.nn.CrossEntropyLoss has it. Another label that is no class
is refused by ``loss``, and by ``loss_grad`` on the CPU. On a device the check would wait at each step: there the row of
such a label has a gradient of zeros.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42 in one; gpt.c, CrossEntropyLoss;
torch.nn.CrossEntropyLoss.
"""

from typing import Any, Generic, final, overload

import numpy as np
from jaxtyping import Float, Integer
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.arrays import AnyArray, AnyIntArray, Array2, Array3, Array4, IntArray1, IntArray2, IntArray3
from typednn.contracts.protocols import Loss
from typednn.kernels import softmax_cross_entropy
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
from typednn.losses.reduction import Reduction, ToArray, ToNumber, checked_reduction, is_number, reduced, reduced_array
from typednn.losses.weights import Weight, checked_weight, weights_for

Value = TypeVar("Value", default=float)
A = TypeVar("A", bound=AnyArray)
NAME = "SoftmaxCrossEntropy"


@final
class SoftmaxCrossEntropy(Loss[AnyArray, AnyIntArray | AnyArray], Generic[Value]):
    """On scores (logits): leave the model's last `Softmax` out."""

    @overload
    def __init__(
        self: "SoftmaxCrossEntropy[float]",
        reduction: ToNumber = "batchmean",
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
        label_smoothing: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self: "SoftmaxCrossEntropy[AnyArray]",
        reduction: ToArray,
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
        label_smoothing: float = 0.0,
    ) -> None: ...
    def __init__(
        self,
        reduction: Reduction = "batchmean",
        *,
        weight: Weight = None,
        ignore_index: int | None = -100,
        label_smoothing: float = 0.0,
    ) -> None:
        self.reduction: Reduction = checked_reduction(NAME, reduction)
        self.weight: tuple[float, ...] | None = checked_weight(NAME, weight)
        self.ignore_index: int | None = checked_ignore_index(NAME, ignore_index)
        self.label_smoothing: float = number(NAME, "label_smoothing", label_smoothing, least=0.0, below=1.0)

    @overload
    def loss(self, prediction: Array2, target: IntArray1 | Array2) -> Value: ...
    @overload
    def loss(self, prediction: Array3, target: IntArray2 | Array3) -> Value: ...
    @overload
    def loss(self, prediction: Array4, target: IntArray3 | Array4) -> Value: ...
    def loss(
        self,
        prediction: Float[AnyArray, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"] | Float[AnyArray, "batch *positions classes"],
    ) -> Value:
        may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, divisor, _ = self._alpha(prediction, target, may_ignore)
        value: Value = reduced(self._forward(prediction, target, weight), self.reduction, divisor)
        return value

    def loss_array(
        self,
        prediction: Float[AnyArray, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"] | Float[AnyArray, "batch *positions classes"],
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        weight, divisor, _ = self._alpha(prediction, target, self.ignore_index is not None)
        return reduced_array(self._forward(prediction, target, weight), self.reduction, divisor)

    @overload
    def loss_grad(self, prediction: Array2, target: IntArray1 | Array2) -> Array2: ...
    @overload
    def loss_grad(self, prediction: Array3, target: IntArray2 | Array3) -> Array3: ...
    @overload
    def loss_grad(self, prediction: Array4, target: IntArray3 | Array4) -> Array4: ...
    def loss_grad(
        self,
        prediction: Float[A, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"] | Float[A, "batch *positions classes"],
    ) -> Float[A, "batch *positions classes"]:
        may_ignore = self.ignore_index is not None
        if type(target) is np.ndarray:
            may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, _, scale = self._alpha(prediction, target, may_ignore)
        rows, targets = as_rows(prediction, target)
        gradient = softmax_cross_entropy.backward(
            rows, targets, scale, weight, self.label_smoothing, index_of(self.ignore_index)
        )
        shaped: A = as_shaped(gradient, prediction)
        return shaped

    @overload
    def loss_and_grad(self, prediction: Array2, target: IntArray1 | Array2) -> tuple[Value, Array2]: ...
    @overload
    def loss_and_grad(self, prediction: Array3, target: IntArray2 | Array3) -> tuple[Value, Array3]: ...
    @overload
    def loss_and_grad(self, prediction: Array4, target: IntArray3 | Array4) -> tuple[Value, Array4]: ...
    def loss_and_grad(
        self,
        prediction: Float[A, "batch *positions classes"],
        target: Integer[AnyIntArray, "batch *positions"] | Float[A, "batch *positions classes"],
    ) -> tuple[Value, Float[A, "batch *positions classes"]]:
        """`loss` and `loss_grad`, in one pass over the scores."""
        may_ignore = check_labels(NAME, target, prediction.shape[-1], self.ignore_index)
        weight, divisor, scale = self._alpha(prediction, target, may_ignore)
        rows, targets = as_rows(prediction, target)
        losses, gradient = softmax_cross_entropy.forward_and_backward(
            rows, targets, scale, weight, self.label_smoothing, index_of(self.ignore_index), is_number(self.reduction)
        )
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
        settings = weight, self.label_smoothing, index_of(self.ignore_index)
        losses = softmax_cross_entropy.forward(rows, targets, *settings, is_number(self.reduction))
        return as_shaped(losses, prediction)

    def __repr__(self) -> str:
        return as_shown(self, weight=None, ignore_index=-100, label_smoothing=0.0)
