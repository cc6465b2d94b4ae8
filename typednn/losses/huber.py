"""Huber: half the squared distance to the target up to delta, and a line beyond it.

loss = d²/2 where |d| <= delta, else delta (|d| - delta/2), with d = prediction - target       dprediction = d, cut off
                                                                                               at ±delta, /alpha

prediction, target (batch, *features), any rank; alpha as in `typednn.losses.reduction`. PyTorch's SmoothL1Loss(beta) is
this with delta = beta, divided by beta: with the default of 1 they are the same. 6 flops for each number forward, 4
backward.
Source: Huber, "Robust Estimation of a Location Parameter", 1964; torch.nn.HuberLoss.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.contracts.protocols import Loss
from typednn.kernels.pointwise_losses import huber, huber_forward_and_backward
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
class Huber(Loss[AnyArray, AnyArray], Generic[Value]):
    """Squared near the target and linear far from it, so that outliers pull no harder than ``delta``."""

    @overload
    def __init__(self: "Huber[float]", reduction: ToNumber = "mean", *, delta: float = 1.0) -> None: ...
    @overload
    def __init__(self: "Huber[AnyArray]", reduction: ToArray, *, delta: float = 1.0) -> None: ...
    def __init__(self, reduction: Reduction = "mean", *, delta: float = 1.0) -> None:
        self.reduction: Reduction = checked_reduction("Huber", reduction)
        self.delta: float = number("Huber", "delta", delta, least=1e-30)

    def loss(self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]) -> Value:
        value: Value = reduced(huber.forward(prediction, target, self.delta), self.reduction)
        return value

    def loss_array(
        self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(huber.forward(prediction, target, self.delta), self.reduction)

    def loss_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> Float[A, "batch *features"]:
        return huber.backward(prediction, target, self.delta, 1.0 / alpha(prediction.shape, self.reduction))

    def loss_and_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> tuple[Value, Float[A, "batch *features"]]:
        """`loss` and `loss_grad`, in one pass over the arrays."""
        losses, gradient = huber_forward_and_backward(
            prediction, target, self.delta, 1.0 / alpha(prediction.shape, self.reduction)
        )
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape, self.reduction)

    def __repr__(self) -> str:
        return f"Huber(reduction={self.reduction!r}, delta={self.delta!r})"
