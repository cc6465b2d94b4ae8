"""NLL: the negative log-probability of each label, before its reduction.

loss = -q·x, 0 where q is 0, even for x = -inf       dx = -q·scale

x (rows, classes) holds log-probabilities, the target a label for each row; q is 1 at the label, or its class's weight,
and a row of zeros for a label that is ignored or no class (`typednn.kernels.class_targets`). A few operations for each
number.
Source: torch.nn.NLLLoss.
"""

from typing import Any, Final

from jaxtyping import Float, Integer

from typednn.arrays import Array1, Array2, IntArray1, namespace
from typednn.kernels.class_targets import NONE, probabilities
from typednn.kernels.op import op


def _forward(
    log_probabilities: Float[Array2, "rows classes"],
    target: Integer[IntArray1, " rows"],
    weight: Float[Array1, " classes"] | None = None,
    ignore_index: int = NONE,
) -> Float[Array2, "rows classes"]:
    """The loss of each row and class."""
    return _loss(log_probabilities, probabilities(log_probabilities, target, weight, 0.0, ignore_index))


def _loss(x: Float[Array2, "rows classes"], q: Float[Array2, "rows classes"]) -> Float[Array2, "rows classes"]:
    loss: Array2 = namespace(x).where(q == 0, 0, x) * -q
    return loss


def _backward(
    log_probabilities: Float[Array2, "rows classes"],
    target: Integer[IntArray1, " rows"],
    scale: Any,
    weight: Float[Array1, " classes"] | None = None,
    ignore_index: int = NONE,
) -> Float[Array2, "rows classes"]:
    """The scaled loss by each log-probability."""
    grad: Array2 = probabilities(log_probabilities, target, weight, 0.0, ignore_index) * -scale
    return grad


def _both(
    log_probabilities: Float[Array2, "rows classes"],
    target: Integer[IntArray1, " rows"],
    scale: Any,
    weight: Float[Array1, " classes"] | None = None,
    ignore_index: int = NONE,
) -> tuple[Float[Array2, "rows classes"], Float[Array2, "rows classes"]]:
    q = probabilities(log_probabilities, target, weight, 0.0, ignore_index)
    return _loss(log_probabilities, q), q * -scale


backward: Final = op(
    "nll.backward",
    _backward,
    flops=1,
)
forward: Final = op(
    "nll.forward",
    _forward,
    flops=2,
    keeps="log_probabilities target weight",
    backward=backward,
)
forward_and_backward: Final = op(
    "nll.forward_and_backward",
    _both,
    flops=3,
)
