"""Adagrad: a step divided by the root of the sum of all squared gradients so far.

total ← total + g²   (initial_accumulator_value at first)
w ← w - lr/(1 + t·lr_decay) · g / (√total + eps)     t counts from 0

Keeps total, one array per parameter.
Source: Duchi, Hazan and Singer 2011; the order of operations is torch.optim.Adagrad's.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, final

from typednn.kernels import update_rules
from typednn.optim.ema import EMA
from typednn.optim.rule_optimizer import RuleOptimizer
from typednn.optim.schedule import Schedule
from typednn.optim.settings import Group


@final
class Adagrad(RuleOptimizer):
    """Arguments and rule are torch.optim.Adagrad's; ``lr_decay`` lowers a schedule's rates too."""

    limits: ClassVar[Mapping[str, float]] = {
        "lr_decay": math.inf,
        "initial_accumulator_value": math.inf,
        "eps": math.inf,
    }
    fixed: ClassVar[frozenset[str]] = frozenset({"initial_accumulator_value"})

    def __init__(
        self,
        lr: float | Schedule = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.lr_decay: float = lr_decay
        self.initial_accumulator_value: float = initial_accumulator_value
        self.eps: float = eps
        self.start = initial_accumulator_value

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.adagrad

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        return lr / (1 + step * self.lr_decay), self.eps

    def array_names(self) -> tuple[str, ...]:
        return ("total",)
