"""Schedules: a learning rate for every step, as a plain function of the step's number.

=============  =====================================================================================
ConstantLR     lr
StepLR         lr·gamma^(step // step_size)
ExponentialLR  lr·gamma^step
LinearLR       lr·(start_factor + (end_factor - start_factor)·t), t from 0 to 1 in total_iters steps
PolynomialLR   lr·(1 - t)^power, t from 0 to 1 in total_iters steps
CosineLR       warm-up: lr·(step+1)/warmup_steps, then eta_min + (lr - eta_min)(1 + cos(pi·t))/2,
               t from 0 to 1 over the remaining steps of total_steps; eta_min afterwards
=============  =====================================================================================

`OneCycleLR` and `ReduceLROnPlateau` are in files of their own. Steps count from 0. A rate beyond floats is an
`ArgumentError`.
Source: the schedulers of the same names in torch.optim.lr_scheduler, CosineLR's CosineAnnealingLR; there per scheduler
step.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from typednn.arguments import integer, number

_LARGEST = math.log(sys.float_info.max)


@runtime_checkable
class Schedule(Protocol):
    """Any function from a step's number to its learning rate."""

    def __call__(self, step: int, /) -> float: ...


@runtime_checkable
class Watching(Schedule, Protocol):
    """A schedule that is told a measured value, which `fit` does after each evaluation. Its state is saved with the
    optimizer's.
    """

    @property
    def metric(self) -> str:
        """What is watched: ``"loss"``, or a metric of the task."""
        ...

    def observe(self, value: float, /) -> None:
        """The newest value of the metric."""
        ...

    def state_dict(self) -> dict[str, float]:
        """The numbers that `observe` changes, by the same names at all times."""
        ...

    def load_state_dict(self, state: Mapping[str, float], /) -> None:
        """Continue from a `state_dict`."""
        ...


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
        return checked_rate("StepLR", step, _decayed(self.lr, self.gamma, step // self.step_size))


@dataclass(frozen=True, slots=True)
class ExponentialLR:
    """A factor ``gamma`` every step."""

    lr: float
    gamma: float

    def __post_init__(self) -> None:
        number("ExponentialLR", "lr", self.lr, least=0.0)
        number("ExponentialLR", "gamma", self.gamma, least=0.0)

    def __call__(self, step: int) -> float:
        return checked_rate("ExponentialLR", step, _decayed(self.lr, self.gamma, step))


@dataclass(frozen=True, slots=True)
class LinearLR:
    """A factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` steps, and stays: a warm-up."""

    lr: float
    start_factor: float = 1.0 / 3
    end_factor: float = 1.0
    total_iters: int = 5

    def __post_init__(self) -> None:
        for name in ("lr", "start_factor", "end_factor"):
            number("LinearLR", name, getattr(self, name), least=0.0)
        integer("LinearLR", "total_iters", self.total_iters)

    def __call__(self, step: int) -> float:
        factor = self.start_factor + (self.end_factor - self.start_factor) * min(1.0, step / self.total_iters)
        return checked_rate("LinearLR", step, self.lr * factor)


@dataclass(frozen=True, slots=True)
class PolynomialLR:
    """Down to 0 at ``total_iters`` steps, in a line with ``power`` 1."""

    lr: float
    total_iters: int = 5
    power: float = 1.0

    def __post_init__(self) -> None:
        number("PolynomialLR", "lr", self.lr, least=0.0)
        integer("PolynomialLR", "total_iters", self.total_iters)
        number("PolynomialLR", "power", self.power, least=0.0)

    def __call__(self, step: int) -> float:
        return self.lr * math.pow(1.0 - min(1.0, step / self.total_iters), self.power)


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
            return checked_rate("CosineLR", step, self.lr * (step + 1) / self.warmup_steps)
        done = min(1.0, (step - self.warmup_steps) / (self.total_steps - self.warmup_steps))
        return checked_rate(
            "CosineLR", step, self.eta_min + (self.lr - self.eta_min) * (1 + math.cos(math.pi * done)) / 2
        )


def checked_rate(where: str, step: int, rate: float) -> float:
    """``rate``, or an `ArgumentError` that names the schedule and the step where it is beyond floats."""
    return (
        rate
        if 0.0 <= rate < math.inf
        else number(f"{where}, step {step}", "the learning rate", rate, least=0.0, argument="lr")
    )


def _decayed(lr: float, gamma: float, times: int) -> float:
    """lr·gamma^times, also where the power alone is beyond floats; infinity where the product is."""
    lr, gamma = float(lr), float(gamma)  # integers have no end
    try:
        return lr * gamma**times
    except OverflowError:
        logarithm = math.log(lr) + times * math.log(gamma) if lr else -math.inf
        return math.exp(logarithm) if logarithm < _LARGEST else math.inf


def schedule(where: str, lr: float | Schedule) -> Schedule:
    """A schedule as it is, a number as a constant one."""
    return lr if callable(lr) else ConstantLR(number(where, "lr", lr, least=0.0))
