"""Adam: every number has a step size of its own, from running means of its gradient and of the gradient's square.

m ← beta1·m + (1 - beta1)·g       v ← beta2·v + (1 - beta2)·g²       t counts from 1
w ← w - lr/(1 - beta1ᵗ) · m/(sqrt(v)/sqrt(1 - beta2ᵗ) + eps)

Keeps m and v per parameter. With ``amsgrad`` it divides by the largest v so far, ``largest``, a third array.
Source: Kingma and Ba 2015; amsgrad: Reddi, Kale and Kumar 2018; the order of operations is torch.optim.Adam's.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typednn.arguments import number
from typednn.errors import ArgumentError, explain
from typednn.kernels import update_rules
from typednn.optim.ema import EMA
from typednn.optim.rule_optimizer import RuleOptimizer
from typednn.optim.schedule import Schedule
from typednn.optim.settings import Group


class Adam(RuleOptimizer):
    """Arguments and rule are torch.optim.Adam's: its ``weight_decay`` is added to the gradient; `AdamW`
    decouples it.
    """

    limits: ClassVar[Mapping[str, float]] = {"eps": math.inf}
    switches: ClassVar[frozenset[str]] = RuleOptimizer.switches | {"amsgrad"}
    fixed: ClassVar[frozenset[str]] = frozenset({"amsgrad"})

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.betas: tuple[float, float] = betas
        self.eps: float = eps
        self.amsgrad: bool = amsgrad

    def checked(self, name: str, value: Any) -> Any:
        return pair_of_betas(type(self).__name__, value) if name == "betas" else super().checked(name, value)

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.amsgrad if self.amsgrad else update_rules.adam

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        (beta1, beta2), t = self.betas, step + 1
        root = math.sqrt(1 - beta2**t)
        return lr / (1 - beta1**t), 1 - beta1, beta2, 1 - beta2, root if self.amsgrad else 1 / root, self.eps

    def array_names(self) -> tuple[str, ...]:
        return ("m", "v", "largest") if self.amsgrad else ("m", "v")


def pair_of_betas(where: str, betas: Any) -> tuple[float, float]:
    """Two numbers from 0, below 1."""
    pair: Sequence[Any] = betas
    if not isinstance(betas, list | tuple) or len(pair) != 2:
        raise ArgumentError(explain(where, "betas are two numbers", repr(pair), "such as (0.9, 0.999)"), "betas")
    beta1, beta2 = (
        number(where, f"beta{place}", beta, least=0.0, below=1.0, argument="betas")
        for place, beta in enumerate(pair, 1)
    )
    return beta1, beta2
