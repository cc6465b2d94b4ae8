"""RMSprop: a step divided by the root of the gradient's running mean square.

square ← alpha·square + (1 - alpha)·g²
move = g / (√square + eps)     centered: g / (√(square - mean²) + eps), mean the running mean of g
w ← w - lr·move                with momentum: velocity ← momentum·velocity + move, w ← w - lr·velocity

Keeps square per parameter; mean where it is centered, velocity where there is momentum.
Source: Hinton 2012, lecture 6; centered: Graves 2013; the order of operations is torch.optim.RMSprop's.
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
class RMSprop(RuleOptimizer):
    """Arguments and rule are torch.optim.RMSprop's."""

    limits: ClassVar[Mapping[str, float]] = {"alpha": 1.0, "eps": math.inf, "momentum": math.inf}
    switches: ClassVar[frozenset[str]] = RuleOptimizer.switches | {"centered"}
    fixed: ClassVar[frozenset[str]] = frozenset({"centered", "momentum"})

    def __init__(
        self,
        lr: float | Schedule = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.alpha: float = alpha
        self.eps: float = eps
        self.momentum: float = momentum
        self.centered: bool = centered

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.rmsprop

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        return lr, self.alpha, 1 - self.alpha, self.eps, self.momentum

    def array_names(self) -> tuple[str, ...]:
        return ("square", *(["mean"] if self.centered else []), *(["velocity"] if self.momentum else []))
