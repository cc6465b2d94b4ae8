"""Lion: every number moves by lr, against the sign of a mix of its gradient and the gradient's running mean.

w ← w·(1 - lr·weight_decay)
w ← w - lr·sign(beta1·m + (1 - beta1)·g)
m ← beta2·m + (1 - beta2)·g

Keeps m, one array per parameter. As all steps are of size lr, lr is 3 to 10 times smaller than AdamW's, and
weight_decay as much larger.
Source: Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2. PyTorch has none.
"""

from collections.abc import Sequence
from typing import Any, final

from typednn.kernels import update_rules
from typednn.optim.adam import pair_of_betas
from typednn.optim.ema import EMA
from typednn.optim.rule_optimizer import RuleOptimizer
from typednn.optim.schedule import Schedule
from typednn.optim.settings import Group, Settings


@final
class Lion(RuleOptimizer):
    """The paper's rule, with its ``weight_decay`` taken from the weights themselves."""

    def __init__(
        self,
        lr: float | Schedule = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.betas: tuple[float, float] = betas

    def checked(self, name: str, value: Any) -> Any:
        return pair_of_betas("Lion", value) if name == "betas" else super().checked(name, value)

    def decay(self, settings: Settings, lr: float) -> tuple[float, float]:
        return 2.0 * settings.l2, 1.0 - settings.decay - lr * settings.weight_decay

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.lion

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        beta1, beta2 = self.betas
        return lr, beta1, 1 - beta1, beta2, 1 - beta2

    def array_names(self) -> tuple[str, ...]:
        return ("m",)
