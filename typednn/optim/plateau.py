"""ReduceLROnPlateau: a smaller rate whenever a measured value has stopped improving.

better:    value < best·(1 - threshold), of "rel";    value < best - threshold, of "abs";
with mode "max" value > best·(1 + threshold)
         and value > best + threshold
lr ← max(factor·lr, min_lr)  where more than ``patience`` values in a row were not better, unless that changes lr by eps
                             or less;
         the ``cooldown`` values after it do not count

`fit` tells it the value of ``metric`` after every evaluation. In a loop of your own, call ``optimizer.observe({"loss":
value})``.

Source: torch.optim.lr_scheduler.ReduceLROnPlateau.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from typednn.arguments import choice, integer, number
from typednn.errors import ArgumentError, StateDictError, explain


@dataclass(slots=True)
class ReduceLROnPlateau:
    """``lr``, until the metric stops improving. The other arguments are PyTorch's; ``metric`` is ``"loss"`` or one of
    the task's.
    """

    lr: float
    mode: Literal["min", "max"] = "min"
    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4
    threshold_mode: Literal["rel", "abs"] = "rel"
    cooldown: int = 0
    min_lr: float = 0.0
    eps: float = 1e-8
    metric: str = "loss"
    rate: float = field(init=False)
    """The rate of the next step."""
    best: float = field(init=False)
    waited: int = field(init=False, default=0)
    cooling: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        where = "ReduceLROnPlateau"
        for name in ("lr", "threshold", "min_lr", "eps"):
            number(where, name, getattr(self, name), least=0.0)
        number(where, "factor", self.factor, least=0.0, below=1.0)
        choice(where, "mode", self.mode, ("min", "max"))
        choice(where, "threshold_mode", self.threshold_mode, ("rel", "abs"))
        for name in ("patience", "cooldown"):
            integer(where, name, getattr(self, name), least=0)
        metric: object = self.metric
        if not isinstance(metric, str):
            raise ArgumentError(
                explain(where, "metric is the name of a metric", repr(metric), 'such as "loss"'), "metric"
            )
        self.rate = self.lr
        self.best = math.inf if self.mode == "min" else -math.inf

    def __call__(self, step: int) -> float:
        return self.rate

    def observe(self, value: float) -> None:
        """The newest value of the metric."""
        value = number("ReduceLROnPlateau.observe", self.metric, value)
        if self._better(value):
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        if self.cooling:
            self.cooling, self.waited = self.cooling - 1, 0
        if self.waited > self.patience:
            lower = max(self.rate * self.factor, self.min_lr)
            if self.rate - lower > self.eps:
                self.rate = lower
            self.cooling, self.waited = self.cooldown, 0

    def _better(self, value: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "rel":
            return sign * value > sign * self.best * (1 + sign * self.threshold)
        return sign * value > sign * (self.best + sign * self.threshold)

    def state_dict(self) -> dict[str, float]:
        """What `observe` changes."""
        return {"rate": self.rate, "best": self.best, "waited": self.waited, "cooling": self.cooling}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Continue from a `state_dict`."""
        where = "ReduceLROnPlateau.load_state_dict"
        if set(state) != set(self.state_dict()):
            raise StateDictError(explain(where, f"takes {', '.join(self.state_dict())}", ", ".join(state) or "nothing"))
        try:
            rate = number(where, "rate", state["rate"], least=0.0)
            waited, cooling = (integer(where, name, int(state[name]), least=0) for name in ("waited", "cooling"))
        except (ArgumentError, ValueError) as error:
            raise StateDictError(str(error)) from None
        self.rate, self.best, self.waited, self.cooling = rate, float(state["best"]), waited, cooling
