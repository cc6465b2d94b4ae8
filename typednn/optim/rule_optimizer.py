"""RuleOptimizer: an optimizer whose step is a rule of `typednn.kernels.update_rules`.

After a parameter's second step its kernel's call is prepared: all is filled in but the gradient's address and the
numbers, which are computed once for all parameters with equal settings and steps.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from typednn.arrays import AnyArray
from typednn.engines.counters import observers
from typednn.engines.dispatch import FLOATS, chosen_engine
from typednn.kernels.update_rules import Numbers, Rule
from typednn.optim.optimizer import GradientOptimizer
from typednn.optim.parameter_state import ParameterState


class RuleOptimizer(GradientOptimizer):
    """Base of typednn's own optimizers: derive and write `rule`, `numbers` and `array_names`."""

    folds_decay = True
    elementwise = True
    start: float = 0.0  # what the optimizer's arrays are filled with at first

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The rule of each step."""

    @abstractmethod
    def numbers(self, step: int, lr: float) -> tuple[float, ...]:
        """The rule's numbers but for the weight decay; ``step`` is 0 at the first."""

    def flags(self, first: bool) -> tuple[bool, ...]:
        """The rule's flags, at a parameter's ``first`` step or later."""
        return ()

    def apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        prepared = state.prepared
        if prepared is None or observers or chosen_engine() == "reference":
            self._apply(state, grad, lr)
            return
        numbers, now = prepared.numbers, (state.step, lr, state.coupled, state.shrink, self._revision)
        if numbers.now != now:
            if numbers.kind != self._kind(state):
                self._apply(state, grad, lr)
                return
            numbers.put((*self.numbers(state.step, lr), state.coupled, state.shrink))
            numbers.now = now
        if not prepared.run(grad):
            self._apply(state, grad, lr)

    def _kind(self, state: ParameterState) -> tuple[Any, ...]:
        """What has kernels of its own, or memory of its own for numbers."""
        return state.coupled != 0, state.shrink != 1, self.flags(first=False), state.weights.dtype

    def _apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        """By the op, which checks the arrays; then the next step is prepared."""
        kept = self.array_names()
        first = any(name not in state.arrays for name in kept)
        arrays = [state.array(name, self.start) if name in kept else None for name in self.rule.arrays[2:]]
        numbers = self.numbers(state.step, lr)
        arguments = (state.weights, grad, *arrays, *numbers, *self.flags(first), state.coupled, state.shrink)
        self.rule.step(*arguments)
        if not first and type(state.weights) is np.ndarray and state.weights.dtype in FLOATS:
            shared: dict[Any, Numbers] = vars(self).setdefault("_numbers", {})
            kind = self._kind(state)
            state.prepared = self.rule.prepared(
                shared.get(kind) or shared.setdefault(kind, Numbers(kind, state.weights.dtype, len(numbers) + 2)),
                *arguments,
            )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_numbers": {}}  # they are where the kernels of these parameters read them
