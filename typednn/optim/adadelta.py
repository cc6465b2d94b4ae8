"""Adadelta: every number's step is as long as its last steps were, relative to its last gradients.

square ← rho·square + (1 - rho)·g²
move = √(moved + eps) / √(square + eps) · g
moved ← rho·moved + (1 - rho)·move²
w ← w - lr·move

Keeps square and moved per parameter.
Source: Zeiler 2012; the order of operations is torch.optim.Adadelta's.
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
class Adadelta(RuleOptimizer):
    """Arguments and rule are torch.optim.Adadelta's; the paper has no rate, which is ``lr=1.0``."""

    limits: ClassVar[Mapping[str, float]] = {"rho": 1.0, "eps": math.inf}

    def __init__(
        self,
        lr: float | Schedule = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.rho: float = rho
        self.eps: float = eps

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.adadelta

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        return lr, self.rho, 1 - self.rho, self.eps

    def array_names(self) -> tuple[str, ...]:
        return ("square", "moved")
