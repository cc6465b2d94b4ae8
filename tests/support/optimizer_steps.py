"""Steps of Adam and SGD by their usual arguments; the rules take rates, which are computed once for all parameters."""

import math
from typing import Any

from typednn.kernels import update_rules


def adam_rates(
    lr: float, beta1: float, beta2: float, eps: float, step: int, coupled: float = 0.0, shrink: float = 1.0
) -> tuple[float, ...]:
    """What Adam's rule takes after its arrays, for the ``step``-th time, counted from 1."""
    return lr / (1 - beta1**step), 1 - beta1, beta2, 1 - beta2, 1 / math.sqrt(1 - beta2**step), eps, coupled, shrink


def adam_step(*arrays: Any, **rule: Any) -> None:
    """Weights, gradient, m and v."""
    update_rules.adam.step(*arrays, *adam_rates(**rule))


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
