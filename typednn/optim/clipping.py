"""Clipping: a gradient before its update, made smaller where it is large. A function from gradient to gradient."""

import math

import numpy as np
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient

G = TypeVar("G", bound=Gradient)


def clip_grad_norm(grad: G, max_norm: float) -> G:
    """``grad`` scaled so that its norm over all parameters is at most ``max_norm``, as torch.nn.utils.clip_grad_norm_
    does.

    A NaN or an infinity in it is an error, as with PyTorch's ``error_if_nonfinite=True``: no factor makes such a
    gradient small.
    """
    check_gradient("clip_grad_norm", grad)
    return clipped(grad, max_norm, grad.norm())


def clipped(grad: G, max_norm: float, norm: float) -> G:
    """As `clip_grad_norm`; ``norm`` is that of all parameters, also where ``grad`` has some of them, a stage's."""
    where = "clip_grad_norm"
    largest = number(where, "max_norm", max_norm, least=0.0)
    check_gradient(where, grad)
    if not math.isfinite(norm):
        broken = [name for name, leaf in grad.leaves().items() if not np.isfinite(to_numpy(leaf)).all()]
        got = f"NaN or infinity in {', '.join(broken)}" if broken else "a sum of squares beyond float64"
        raise ArgumentError(
            explain(
                where, "a gradient that is clipped is finite", got, "leave this batch out, or lower the learning rate"
            ),
            "grad",
        )
    factor = largest / (norm + 1e-6)
    return grad * factor if factor < 1.0 else grad


def check_gradient(where: str, grad: object) -> None:
    """What backward gives, or an `ArgumentError`."""
    if not isinstance(grad, Gradient):
        raise ArgumentError(explain(where, "takes what backward gives, a Gradient", type(grad).__name__))
