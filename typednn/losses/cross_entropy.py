"""CrossEntropy: the cross entropy of predicted probabilities and the target.

loss = -log(max(prediction, eps)) target       dprediction = -target/max(prediction, eps)/alpha

prediction, target (batch, classes); targets may be soft. Below eps the derivative keeps its value at eps, as in
the paper, so that a confident mistake still gets a gradient. alpha as in `typednn.losses.reduction`.
Source: "Deep Learning Implementation With Rust", eqs 42-43, with the target that eq 43 lacks. For scores instead of
probabilities use `SoftmaxCrossEntropy`, which loses no digits.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.arrays import AnyArray, Array2
from typednn.contracts.protocols import Loss
from typednn.kernels.pointwise_losses import cross_entropy
from typednn.losses.reduction import (
    Reduction,
    ToArray,
    ToNumber,
    alpha,
    checked_reduction,
    mean_divisor,
    reduced,
    reduced_array,
)

Value = TypeVar("Value", default=float)


@final
class CrossEntropy(Loss[Array2, Array2], Generic[Value]):
    """On probabilities, such as `Softmax` gives."""

    @overload
    def __init__(self: "CrossEntropy[float]", reduction: ToNumber = "mean", *, eps: float = 1e-7) -> None: ...
    @overload
    def __init__(self: "CrossEntropy[AnyArray]", reduction: ToArray, *, eps: float = 1e-7) -> None: ...
    def __init__(self, reduction: Reduction = "mean", *, eps: float = 1e-7) -> None:
        self.reduction: Reduction = checked_reduction("CrossEntropy", reduction)
        self.eps: float = number("CrossEntropy", "eps", eps, least=1e-30, below=1.0)

    def loss(self, prediction: Float[Array2, "batch classes"], target: Float[Array2, "batch classes"]) -> Value:
        value: Value = reduced(cross_entropy.forward(prediction, target, self.eps), self.reduction)
        return value

    def loss_array(self, prediction: Float[Array2, "batch classes"], target: Float[Array2, "batch classes"]) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(cross_entropy.forward(prediction, target, self.eps), self.reduction)

    def loss_grad(
        self, prediction: Float[Array2, "batch classes"], target: Float[Array2, "batch classes"]
    ) -> Float[Array2, "batch classes"]:
        return cross_entropy.backward(prediction, target, self.eps, 1.0 / alpha(prediction.shape, self.reduction))

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape, self.reduction)

    def __repr__(self) -> str:
        return f"CrossEntropy(reduction={self.reduction!r}, eps={self.eps!r})"
