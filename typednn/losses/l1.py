"""L1: the distance to the target.

loss = |prediction - target|       dprediction = sign(prediction - target)/alpha, 0 where they are equal

prediction, target (batch, *features), any rank; alpha as in `typednn.losses.reduction`. 2 flops for each number, each
way.
Source: torch.nn.L1Loss.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arrays import AnyArray
from typednn.contracts.protocols import Loss
from typednn.kernels.pointwise_losses import l1, l1_forward_and_backward
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

A = TypeVar("A", bound=AnyArray)
Value = TypeVar("Value", default=float)


@final
class L1(Loss[AnyArray, AnyArray], Generic[Value]):
    """Also called the mean absolute error. Far targets pull no harder than near ones."""

    @overload
    def __init__(self: "L1[float]", reduction: ToNumber = "mean") -> None: ...
    @overload
    def __init__(self: "L1[AnyArray]", reduction: ToArray) -> None: ...
    def __init__(self, reduction: Reduction = "mean") -> None:
        self.reduction: Reduction = checked_reduction("L1", reduction)

    def loss(self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]) -> Value:
        value: Value = reduced(l1.forward(prediction, target), self.reduction)
        return value

    def loss_array(
        self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(l1.forward(prediction, target), self.reduction)

    def loss_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> Float[A, "batch *features"]:
        return l1.backward(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))

    def loss_and_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> tuple[Value, Float[A, "batch *features"]]:
        """`loss` and `loss_grad`, in one pass over the arrays."""
        losses, gradient = l1_forward_and_backward(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape, self.reduction)

    def __repr__(self) -> str:
        return f"L1(reduction={self.reduction!r})"
