"""Adam: every number has a step size of its own, from running means of its gradient and of the gradient's square.

m ← beta1·m + (1 - beta1)·g       v ← beta2·v + (1 - beta2)·g²       t counts from 1
w ← w - lr/(1 - beta1ᵗ) · m/(sqrt(v)/sqrt(1 - beta2ᵗ) + eps)

Keeps m and v per parameter. Source: Kingma and Ba 2015; the order of operations is torch.optim.Adam's.
"""

from collections.abc import Sequence
from typing import Any

from typednn.arguments import number
from typednn.arrays import AnyArray, namespace
from typednn.errors import ArgumentError, explain
from typednn.kernels import adam
from typednn.optim.optimizer import GradientOptimizer, Group, ParameterState
from typednn.optim.schedule import Schedule


class Adam(GradientOptimizer):
    """Arguments and rule are torch.optim.Adam's: its ``weight_decay`` is added to the gradient; `AdamW` decouples it."""

    folds_decay = True

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        l2: float = 0.0,
        decay: float = 0.0,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, groups=groups)
        self.betas: tuple[float, float] = betas
        self.eps: float = eps

    def checked(self, name: str, value: Any) -> Any:
        where = type(self).__name__
        if name == "eps":
            return number(where, name, value, least=0.0)
        if name != "betas":
            return super().checked(name, value)
        pair: Sequence[Any] = value
        if not isinstance(value, list | tuple) or len(pair) != 2:
            raise ArgumentError(explain(where, "betas are two numbers", repr(pair), "such as (0.9, 0.999)"), "betas")
        return tuple(number(where, f"beta{place}", beta, least=0.0, below=1.0, argument=name) for place, beta in enumerate(pair, 1))

    def apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        if not state.arrays:
            state.arrays = {name: namespace(state.weights).zeros_like(state.weights) for name in ("m", "v")}
        adam.step(
            state.weights,
            grad,
            state.arrays["m"],
            state.arrays["v"],
            lr,
            *self.betas,
            self.eps,
            state.step + 1,
            state.coupled,
            state.shrink,
        )

    def array_names(self) -> tuple[str, ...]:
        return ("m", "v")
