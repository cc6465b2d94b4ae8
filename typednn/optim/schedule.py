"""Schedules: a learning rate for every step, as a plain function of the step's number.

==========  =====================================================================================
ConstantLR  lr
StepLR      lr·gamma^(step // step_size)
CosineLR    warm-up: lr·(step+1)/warmup_steps, then eta_min + (lr - eta_min)(1 + cos(pi·t))/2,
            t from 0 to 1 over the remaining steps of total_steps; eta_min afterwards
==========  =====================================================================================

Steps count from 0. Source: torch.optim.lr_scheduler.StepLR and CosineAnnealingLR, there per scheduler step.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from typednn.arguments import integer, number


@runtime_checkable
class Schedule(Protocol):
    """Any function from a step's number to its learning rate."""

    def __call__(self, step: int, /) -> float: ...


@dataclass(frozen=True, slots=True)
class ConstantLR:
    """The same rate at every step."""

    lr: float

    def __post_init__(self) -> None:
        number("ConstantLR", "lr", self.lr, least=0.0)

    def __call__(self, step: int) -> float:
        return self.lr


@dataclass(frozen=True, slots=True)
class StepLR:
    """A factor ``gamma`` every ``step_size`` steps."""

    lr: float
    step_size: int
    gamma: float = 0.1

    def __post_init__(self) -> None:
        number("StepLR", "lr", self.lr, least=0.0)
        integer("StepLR", "step_size", self.step_size)
        number("StepLR", "gamma", self.gamma, least=0.0)

    def __call__(self, step: int) -> float:
        return self.lr * self.gamma ** (step // self.step_size)


@dataclass(frozen=True, slots=True)
class CosineLR:
    """A linear warm-up, then half a cosine down to ``eta_min`` at ``total_steps``."""

    lr: float
    total_steps: int
    warmup_steps: int = 0
    eta_min: float = 0.0

    def __post_init__(self) -> None:
        number("CosineLR", "lr", self.lr, least=0.0)
        number("CosineLR", "eta_min", self.eta_min, least=0.0)
        integer("CosineLR", "warmup_steps", self.warmup_steps, least=0)
        integer("CosineLR", "total_steps", self.total_steps, least=self.warmup_steps + 1)

    def __call__(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        done = min(1.0, (step - self.warmup_steps) / (self.total_steps - self.warmup_steps))
        return self.eta_min + (self.lr - self.eta_min) * (1 + math.cos(math.pi * done)) / 2


def schedule(where: str, lr: float | Schedule) -> Schedule:
    """A schedule as it is, a number as a constant one."""
    return lr if callable(lr) else ConstantLR(number(where, "lr", lr, least=0.0))
