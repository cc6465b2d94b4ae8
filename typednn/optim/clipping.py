"""Functions applied to a gradient between backward and update: pure, from gradient to gradient."""

import math
from collections.abc import Iterable

import numpy as np
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient

G = TypeVar("G", bound=Gradient)


def clip_grad_norm(grad: G, max_norm: float) -> G:
    """``grad`` scaled so that its norm over all parameters is at most ``max_norm``, as torch.nn.utils.clip_grad_norm_ does.

    A NaN or an infinity in it is an error, as with PyTorch's ``error_if_nonfinite=True``: no factor makes such a gradient small.
    """
    where = "clip_grad_norm"
    largest = number(where, "max_norm", max_norm, least=0.0)
    _check_gradient(where, grad)
    norm = grad.norm()
    if not math.isfinite(norm):
        broken = [name for name, leaf in grad.leaves().items() if not np.isfinite(to_numpy(leaf)).all()]
        got = f"NaN or infinity in {', '.join(broken)}" if broken else "a sum of squares beyond float64"
        raise ArgumentError(
            explain(where, "a gradient that is clipped is finite", got, "leave this batch out, or lower the learning rate"), "grad"
        )
    factor = largest / (norm + 1e-6)
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
        raise ArgumentError(explain("accumulate", "needs at least one gradient", "none"), "grads")
    return total * (1.0 / count)


def _check_gradient(where: str, grad: object) -> None:
    if not isinstance(grad, Gradient):
        raise ArgumentError(explain(where, "takes what backward gives, a Gradient", type(grad).__name__))
