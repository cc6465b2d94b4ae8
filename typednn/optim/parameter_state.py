"""ParameterState: what an optimizer keeps for one parameter."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from typednn.arrays import namespace
from typednn.kernels.update_rules import Prepared
from typednn.optim.settings import Settings


@dataclass(slots=True)
class ParameterState:
    """The state of one parameter: the number of its steps, and the optimizer's own arrays.

    ``coupled`` and ``shrink`` are this step's weight decay, for an `apply` that folds it in: g + coupled·w and
    w·shrink. ``prepared`` is the next step's kernel, where one computes it.
    """

    weights: Any
    settings: Settings
    step: int = 0
    arrays: dict[str, Any] = field(default_factory=dict[str, Any])
    coupled: float = 0.0
    shrink: float = 1.0
    prepared: Prepared | None = None

    def array(self, name: str, start: float = 0.0) -> Any:
        """The optimizer's array of this name; at the first step one like the weights, filled with ``start``, at least
        in float32.
        """
        if name not in self.arrays:
            dtype = np.result_type(self.weights.dtype, np.float32)  # in float16 squares of gradients, and eps, become 0
            self.arrays[name] = namespace(self.weights).full_like(self.weights, start, dtype=dtype)
        return self.arrays[name]
