"""SoftmaxCrossEntropy: cross entropy straight from scores.

loss[b,c] = -target[b,c] log softmax(prediction)[b,c]       dprediction = (softmax(prediction) Σ target - target)/alpha

prediction (batch, classes): scores, any size, never overflowing.   target: class labels (batch) of integers, or
(batch, classes) of probabilities. alpha as in `typednn.losses.reduction`; the default "batchmean" is the mean over
samples, as torch.nn.CrossEntropyLoss has it.
Source: "Deep Learning Implementation With Rust", eqs 34 and 42 in one; gpt.c, CrossEntropyLoss.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float, Integer
from typing_extensions import TypeVar

from typednn.arrays import AnyArray, Array2, IntArray1
from typednn.backends import to_numpy
from typednn.checks import switch
from typednn.errors import ArgumentError, explain
from typednn.kernels import softmax_cross_entropy
from typednn.losses.reduction import Reduction, ToArray, ToNumber, alpha, checked_reduction, reduced
from typednn.protocols import Loss

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
        self._check(target, prediction)
        value: Any = reduced(softmax_cross_entropy.forward(prediction, target), self.reduction)
        result: Value = value
        return result

    def loss_grad(
        self, prediction: Float[Array2, "batch classes"], target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"]
    ) -> Float[Array2, "batch classes"]:
        self._check(target, prediction)
        return softmax_cross_entropy.backward(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))

    def _check(self, target: Any, prediction: Array2) -> None:
        """Labels that name no class are refused with their row."""
        if len(target.shape) == 1 and switch.mode != "off":
            check_labels("SoftmaxCrossEntropy", target, prediction.shape[1])

    def __repr__(self) -> str:
        return f"SoftmaxCrossEntropy(reduction={self.reduction!r})"


def check_labels(where: str, labels: Any, classes: int) -> None:
    """Raise unless every label is in ``0 … classes-1``."""
    outside = to_numpy((labels < 0) | (labels >= classes))
    if outside.any():
        row = int(outside.argmax())
        raise ArgumentError(explain(where, f"labels are 0 to {classes - 1}", f"{int(to_numpy(labels)[row])} in row {row}"), "target")
