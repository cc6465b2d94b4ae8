"""What is done to a gradient between backward and update: pure functions from gradient to gradient."""

from collections.abc import Iterable

from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.errors import ArgumentError, explain
from typednn.gradients import Gradient

G = TypeVar("G", bound=Gradient)


def clip_grad_norm(grad: G, max_norm: float) -> G:
    """``grad`` scaled so that its norm over all parameters is at most ``max_norm``, as torch.nn.utils.clip_grad_norm_ does."""
    number("clip_grad_norm", "max_norm", max_norm, least=0.0)
    _check_gradient("clip_grad_norm", grad)
    factor = max_norm / (grad.norm() + 1e-6)
    return grad * factor if factor < 1.0 else grad


def accumulate(grads: Iterable[G]) -> G:
    """The mean over several batches' gradients: one step as if they had been one batch of their joint size."""
    total: G | None = None
    count = 0
    for grad in grads:
        _check_gradient("accumulate", grad)
        total = grad if total is None else total + grad
        count += 1
    if total is None:
        raise ArgumentError(explain("accumulate", "needs at least one gradient", "none"))
    return total * (1.0 / count)


def _check_gradient(where: str, grad: object) -> None:
    if not isinstance(grad, Gradient):
        raise ArgumentError(explain(where, "takes what backward gives, a Gradient", type(grad).__name__))
