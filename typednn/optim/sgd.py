"""SGD: a step against the gradient, with momentum if wanted.

w ← w - lr·g                                                                    (momentum = 0; the paper's eq 44)
v ← momentum·v + (1 - dampening)·g   (v = g at the first step)
w ← w - lr·v,   or with nesterov:   w ← w - lr·(g + momentum·v)

Keeps v, one array per parameter, where there is momentum.
Source: "Deep Learning Implementation With Rust", eqs 44-47; momentum as torch.optim.SGD.
"""

from collections.abc import Sequence
from typing import Any, final

from typednn.arguments import number
from typednn.errors import ArgumentError, explain
from typednn.kernels import update_rules
from typednn.optim.ema import EMA
from typednn.optim.rule_optimizer import RuleOptimizer
from typednn.optim.schedule import Schedule
from typednn.optim.settings import Group


@final
class SGD(RuleOptimizer):
    """Arguments and rule are torch.optim.SGD's; ``l2`` and ``decay`` are the paper's."""

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        l2: float = 0.0,
        decay: float = 0.0,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, maximize=maximize, ema=ema, groups=groups)
        self.momentum: float = momentum
        self.dampening: float = dampening
        self.nesterov: bool = nesterov

    def checked(self, name: str, value: Any) -> Any:
        if name == "momentum":
            value = number("SGD", name, value, least=0.0)
            if bool(value) != bool(vars(self).get(name, value)):
                cure = "build another SGD with momentum, or without"
                raise ArgumentError(
                    explain("SGD", "momentum is not switched on or off later", f"{value} after {self.momentum}", cure),
                    name,
                )
        elif name == "dampening":
            value = number("SGD", name, value)
        elif name == "nesterov":
            if not isinstance(value, bool):
                raise ArgumentError(explain("SGD", "nesterov is True or False", repr(value)), name)
        else:
            return super().checked(name, value)
        rule = vars(self) | {name: value}
        if rule.get("nesterov") and (not rule["momentum"] or rule["dampening"]):
            got = f"momentum={rule['momentum']}, dampening={rule['dampening']}"
            raise ArgumentError(explain("SGD", "nesterov needs momentum and no dampening", got), "nesterov")
        return value

    @property
    def rule(self) -> update_rules.Rule:
        return update_rules.sgd

    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        return lr, self.momentum, 1 - self.dampening

    def flags(self, first: bool) -> tuple[bool, ...]:
        return self.nesterov, first

    def array_names(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()
