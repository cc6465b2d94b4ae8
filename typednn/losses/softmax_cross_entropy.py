"""SoftmaxCrossEntropy: cross entropy straight from scores.

loss[b,c] = -target[b,c] log softmax(prediction)[b,c]       dprediction = (softmax(prediction) Σ target - target)/alpha

prediction (batch, classes): scores, any size, never overflowing.   target: class labels (batch) of integers, or
(batch, classes) of probabilities. alpha as in `typednn.losses.reduction`; the default "batchmean" is the mean over
samples, as torch.nn.CrossEntropyLoss has it. A label that is no class is refused by ``loss``, and by ``loss_grad`` on the CPU. On
a device the check would wait at each step: there the row of such a label has a gradient of zeros.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42 in one; gpt.c, CrossEntropyLoss.
"""

from typing import Any, Generic, final, overload

import numpy as np
from jaxtyping import Float, Integer
from typing_extensions import TypeVar

from typednn.arrays import AnyArray, Array2, IntArray1
from typednn.backends import to_numpy
from typednn.contracts.checks import switch
from typednn.contracts.protocols import Loss
from typednn.errors import ArgumentError, explain
from typednn.kernels import softmax_cross_entropy
from typednn.losses.reduction import Reduction, ToArray, ToNumber, alpha, checked_reduction, reduced, reduced_array

Value = TypeVar("Value", default=float)


@final
class SoftmaxCrossEntropy(Loss[Array2, IntArray1 | Array2], Generic[Value]):
    """On scores (logits): leave the model's last `Softmax` out."""

    @overload
    def __init__(self: "SoftmaxCrossEntropy[float]", reduction: ToNumber = "batchmean") -> None: ...
    @overload
    def __init__(self: "SoftmaxCrossEntropy[AnyArray]", reduction: ToArray) -> None: ...
    def __init__(self, reduction: Reduction = "batchmean") -> None:
        self.reduction: Reduction = checked_reduction("SoftmaxCrossEntropy", reduction)

    def loss(
        self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"]
    ) -> Value:
        self.check_target(target, prediction.shape[1])
        value: Value = reduced(softmax_cross_entropy.forward(prediction, target), self.reduction)
        return value

    def loss_array(
        self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"]
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(softmax_cross_entropy.forward(prediction, target), self.reduction)

    def loss_grad(
        self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"]
    ) -> Float[Array2, "batch classes"]:
        if type(target) is np.ndarray:
            self.check_target(target, prediction.shape[1])
        return softmax_cross_entropy.backward(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))

    def loss_and_grad(
        self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"]
    ) -> tuple[Value, Float[Array2, "batch classes"]]:
        """`loss` and `loss_grad`, in one pass over the scores."""
        self.check_target(target, prediction.shape[1])
        scale = 1.0 / alpha(prediction.shape, self.reduction)
        losses, gradient = softmax_cross_entropy.forward_and_backward(prediction, target, scale)
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def check_target(self, target: Any, classes: int) -> None:
        """Refuse labels that are no class, with their row. This waits for a device, so `fit` calls it while labels are on the host."""
        if len(target.shape) == 1 and switch.mode != "off":
            outside = to_numpy((target < 0) | (target >= classes))
            if outside.any():
                row = int(outside.argmax())
                got = f"{int(to_numpy(target)[row])} in row {row}"
                raise ArgumentError(explain("SoftmaxCrossEntropy", f"labels are 0 to {classes - 1}", got), "target")

    def __repr__(self) -> str:
        return f"SoftmaxCrossEntropy(reduction={self.reduction!r})"
