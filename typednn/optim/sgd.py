"""SGD: a step against the gradient, with momentum if wanted.

w ← w - lr·g                                                                    (momentum = 0; the paper's eq 44)
v ← momentum·v + (1 - dampening)·g   (v = g at the first step)
w ← w - lr·v,   or with nesterov:   w ← w - lr·(g + momentum·v)

Keeps v, one array per parameter, where there is momentum.
Source: "Deep Learning Implementation With Rust", eqs 44-47; momentum as torch.optim.SGD.
"""

from collections.abc import Sequence
from typing import final

from typednn.arguments import number
from typednn.arrays import AnyArray, namespace
from typednn.errors import ArgumentError, explain
from typednn.kernels import sgd
from typednn.optim.optimizer import GradientOptimizer, Group, ParameterState
from typednn.optim.schedule import Schedule


@final
class SGD(GradientOptimizer):
    """Arguments and rule are torch.optim.SGD's; ``l2`` and ``decay`` are the paper's."""

    folds_decay = True

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        l2: float = 0.0,
        decay: float = 0.0,
        groups: Sequence[Group] = (),
    ) -> None:
        super().__init__(lr, l2=l2, decay=decay, weight_decay=weight_decay, groups=groups)
        self.momentum: float = number("SGD", "momentum", momentum, least=0.0)
        self.dampening: float = number("SGD", "dampening", dampening)
        self.nesterov = nesterov
        if nesterov and (not momentum or dampening):
            raise ArgumentError(explain("SGD", "nesterov needs momentum and no dampening", f"momentum={momentum}, dampening={dampening}"))

    def apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        first = "velocity" not in state.arrays
        if self.momentum and first:
            state.arrays["velocity"] = namespace(state.weights).zeros_like(state.weights)
        sgd.step(
            state.weights,
            grad,
            state.arrays.get("velocity"),
            lr=lr,
            momentum=self.momentum,
            dampening=self.dampening,
            nesterov=self.nesterov,
            first=first,
            coupled=state.coupled,
            shrink=state.shrink,
        )

    def array_names(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()
