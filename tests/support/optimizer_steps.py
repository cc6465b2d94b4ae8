"""The steps of Adam and SGD by their usual arguments; the rules themselves take rates that are computed once for all parameters."""

import math
from typing import Any

from typednn.kernels import update_rules


def adam_step(
    *arrays: Any, lr: float, beta1: float, beta2: float, eps: float, step: int, coupled: float = 0.0, shrink: float = 1.0
) -> None:
    """Weights, gradient, m and v, for the ``step``-th time, counted from 1."""
    root = math.sqrt(1 - beta2**step)
    rates = lr / (1 - beta1**step), 1 - beta1, beta2, 1 - beta2, 1 / root, eps
    update_rules.adam.step(*arrays, *rates, coupled, shrink)


def sgd_step(
    *arrays: Any,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Weights, gradient and velocity, which is None without momentum."""
    update_rules.sgd.step(*arrays, lr, momentum, 1 - dampening, nesterov, first, coupled, shrink)
