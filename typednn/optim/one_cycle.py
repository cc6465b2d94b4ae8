"""OneCycleLR: up to a large rate, and down to a tiny one.

max_lr/div_factor → max_lr                         in pct_start·total_steps steps
max_lr → max_lr/(div_factor·final_div_factor)      in the rest; with three_phase first back to max_lr/div_factor, in as
                                                   many as upwards

Each arrow is half a cosine or a line. Steps count from 0; the last of ``total_steps`` has the last rate, which then
stays.

Source: Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2019;
torch.optim.lr_scheduler.OneCycleLR, without its cycle of momentum.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from typednn.arguments import choice, integer, number
from typednn.errors import ArgumentError, explain
from typednn.optim.schedule import checked_rate


@dataclass(frozen=True, slots=True)
class OneCycleLR:
    """One cycle of ``total_steps`` steps; the other arguments are PyTorch's."""

    max_lr: float
    total_steps: int
    pct_start: float = field(default=0.3, kw_only=True)
    anneal_strategy: Literal["cos", "linear"] = field(default="cos", kw_only=True)
    div_factor: float = field(default=25.0, kw_only=True)
    final_div_factor: float = field(default=1e4, kw_only=True)
    three_phase: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        where = "OneCycleLR"
        number(where, "max_lr", self.max_lr, least=0.0)
        integer(where, "total_steps", self.total_steps)
        if number(where, "pct_start", self.pct_start, least=0.0) > 1:
            raise ArgumentError(
                explain(where, "pct_start is a share of the steps, at most 1", repr(self.pct_start)), "pct_start"
            )
        choice(where, "anneal_strategy", self.anneal_strategy, ("cos", "linear"))
        for name in ("div_factor", "final_div_factor"):
            if not number(where, name, getattr(self, name), least=0.0):
                raise ArgumentError(explain(where, f"{name} is a divisor", "0"), name)
        three: object = self.three_phase
        if not isinstance(three, bool):
            raise ArgumentError(explain(where, "three_phase is True or False", repr(three)), "three_phase")

    def __call__(self, step: int) -> float:
        low = self.max_lr / self.div_factor
        up, last = self.pct_start * self.total_steps - 1, self.total_steps - 1.0
        rates = (low, self.max_lr, *((low,) if self.three_phase else ()), low / self.final_div_factor)
        ends = (up, *((2 * up,) if self.three_phase else ()), last)
        now = min(float(step), last)
        phase = next(number for number, end in enumerate(ends) if now <= end or number == len(ends) - 1)
        start = ends[phase - 1] if phase else 0.0
        done = (now - start) / (ends[phase] - start) if ends[phase] != start else 1.0
        return checked_rate("OneCycleLR", step, self._between(rates[phase], rates[phase + 1], done))

    def _between(self, before: float, after: float, done: float) -> float:
        if self.anneal_strategy == "linear":
            return before + (after - before) * done
        return after + (before - after) * (1 + math.cos(math.pi * done)) / 2
