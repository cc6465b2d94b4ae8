"""EMA: an exponential moving average of the weights, which is often better on new data than the weights themselves.

average ← weights at the first step, then average + (1 - decay)·(weights - average)
decay   with warmup at most (1 + t)/(10 + t), t the steps before: so the first weights are soon forgotten

An optimizer keeps the average as the array ``ema`` of each parameter: it is saved, loaded and moved with the rest of
its state. Buffers are not averaged; the model has the newest. It is at least in float32. One pass over memory for each
step.

Source: Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992;
torch.optim.swa_utils.get_ema_multi_avg_fn; the warm-up is tf.train.ExponentialMovingAverage's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.errors import ArgumentError, explain
from typednn.kernels import update_rules
from typednn.module.module import Module


@dataclass(frozen=True, slots=True)
class EMA:
    """How weights are averaged: the share of the average that stays at each step, with a warm-up or without."""

    decay: float = 0.999
    warmup: bool = False

    def __post_init__(self) -> None:
        number("EMA", "decay", self.decay, least=0.0, below=1.0)
        warmup: object = self.warmup
        if not isinstance(warmup, bool):
            raise ArgumentError(explain("EMA", "warmup is True or False", repr(warmup)), "warmup")

    def __call__(self, step: int) -> float:
        """The decay of the step before which there were ``step``."""
        return min(self.decay, (1 + step) / (10 + step)) if self.warmup else self.decay


def averaging(where: str, ema: float | EMA | None) -> EMA | None:
    """An average as it is, a number as one with this decay."""
    return ema if ema is None or isinstance(ema, EMA) else EMA(number(where, "ema", ema, least=0.0, below=1.0))


def average(arrays: dict[str, Any], weights: AnyArray, decay: float) -> None:
    """Take ``weights`` after a step into their average, which is among the optimizer's ``arrays`` of this parameter."""
    if "ema" in arrays:
        update_rules.ema.step(arrays["ema"], weights, 1.0 - decay)
    else:
        # a copy; in float16 small moves would be rounded away
        arrays["ema"] = weights.astype(np.result_type(weights.dtype, np.float32))


def put(model: Module, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Write ``arrays`` over the parameters of these names; what was there."""
    weights = model.named_parameters()
    before = {name: weights[name].copy() for name in arrays}
    for name, array in arrays.items():
        weights[name][...] = array
    for name, _, _, cell in model.named_fields("parameter"):
        if name in arrays:
            cell.put(cell.array)
    return before
