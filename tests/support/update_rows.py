"""Update rules of optimizers as a table: the arrays and numbers of a step, and how near the reference kernels come."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from typednn.kernels import update_rules
from typednn.kernels.update_rules import Rule

DECAYS = [(0.0, 1.0), (0.3, 1.0), (0.0, 0.9), (0.3, 0.9)]  # coupled, and what is left of the weights
Arrays = list[Any]


def below_20(before: Arrays, numbers: Any, decay: Any) -> list[Any]:
    """All numbers are below 20, and what they are divided by is above 0.4."""
    return [200] * len(before)


def of_sgd(before: Arrays, numbers: Any, decay: Any) -> list[Any]:
    weights, grad, velocity = before
    earlier = 0 if numbers[-1] or velocity is None else abs(velocity)
    return [8 * (abs(weights) + abs(grad) + earlier)] * 3


def of_adam(before: Arrays, numbers: Any, decay: Any) -> list[Any]:
    """The mean may cancel: its error is in proportion to its summands, and the step carries it into the weights."""
    rate, _, _, _, root, eps = numbers
    weights, grad, m, v = map(abs, before)
    summands = m + grad + decay[0] * weights
    moved = rate * summands / (np.sqrt(v) * root + eps)
    return [4 * bound for bound in (weights + moved, 0, summands, v.max() + grad.max() ** 2)]


class Row(NamedTuple):
    """A rule with the arrays that there are, after weights and gradient, and with its numbers, one or the other."""

    rule: Rule
    kept: list[bool]
    numbers: Sequence[tuple[Any, ...]]
    squares: Sequence[int]  # the arrays that are sums of squares; one that a mean's is compared with is larger
    bound: Callable[[Arrays, Any, Any], list[Any]] = below_20

    def state(self, shape: tuple[int, ...], seed: int, dtype: Any = np.float32, numbers: Any = ()) -> Arrays:
        """Numbers of both signs, or squares; a mean of numbers that are squared too is small, so that the variance is
        well above 0. What is not read is NaN.
        """
        rng = np.random.default_rng(seed)
        found: Arrays = [rng.standard_normal(shape).astype(dtype) for _ in range(2)]
        for place, there in enumerate(self.kept, 2):
            array = rng.random(shape) if self.bound is below_20 or place in self.squares else rng.standard_normal(shape)
            if self.bound is below_20:
                array = array / 4 if place == 3 else array + 1
            elif self.bound is of_adam:
                array = array + 0.01 * (place in self.squares)
            elif numbers[-1]:
                array = np.full(shape, np.nan)
            found.append(array.astype(dtype) if there else None)
        return found


def sgd(momentum: float, dampening: float, nesterov: bool, first: bool) -> Row:
    return Row(update_rules.sgd, [momentum > 0], [(0.1, momentum, 1 - dampening, nesterov, first)], (), of_sgd)


def adam_rates(lr: float, beta1: float, beta2: float, eps: float, step: int) -> tuple[float, ...]:
    """What Adam's rule takes after its arrays, for the ``step``-th time, counted from 1."""
    return lr / (1 - beta1**step), 1 - beta1, beta2, 1 - beta2, 1 / math.sqrt(1 - beta2**step), eps


def adam(beta1: float) -> Row:
    rates = [adam_rates(0.01, beta1, 0.999, eps, step) for eps, step in product((1e-8, 0.1), (3, 1, 2, 1000))]
    return Row(update_rules.adam, [True, True], rates, (3,), of_adam)


ROWS: dict[str, Row] = {
    "sgd": sgd(0.0, 0.0, False, True),
    "sgd, momentum, first": sgd(0.9, 0.0, False, True),
    "sgd, momentum": sgd(0.9, 0.0, False, False),
    "sgd, dampened": sgd(0.9, 0.3, False, False),
    "sgd, nesterov, first": sgd(0.9, 0.0, True, True),
    "sgd, nesterov": sgd(0.5, 0.0, True, False),
    **{f"adam, beta1 {beta1}": adam(beta1) for beta1 in (0.9, 0.5, 0.0)},
    "rmsprop": Row(update_rules.rmsprop, [True, False, False], [(0.01, 0.99, 0.01, 1e-8, 0.0)], (2, 3, 4)),
    "rmsprop, centered, momentum": Row(update_rules.rmsprop, [True] * 3, [(0.01, 0.9, 0.1, 1e-8, 0.9)], (2, 3, 4)),
    "adagrad": Row(update_rules.adagrad, [True], [(0.01, 1e-10)], (2,)),
    "adadelta": Row(update_rules.adadelta, [True, True], [(1.0, 0.9, 0.1, 1e-6)], (2, 3)),
    "amsgrad": Row(update_rules.amsgrad, [True] * 3, [(0.01, 0.1, 0.999, 0.001, 0.05, 1e-8)], (2, 3, 4)),
    "lion": Row(update_rules.lion, [True], [(0.01, 0.9, 0.1, 0.99, 0.01)], (2,)),
}
