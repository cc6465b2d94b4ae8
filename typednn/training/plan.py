"""What a training was asked for, and how its steps are written down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.module import Module
from typednn.training.callbacks import EarlyStopping, Every
from typednn.training.state import Step


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers that `fit` was given, checked."""

    epochs: int
    accumulate: int
    clip: float | None
    evaluate: Every
    checkpoint: Every
    time_limit: float | None
    early_stopping: EarlyStopping | None
    keep: int
    progress: bool


def step_line(step: Step) -> dict[str, Any]:
    """A step as metrics.jsonl says it; norms only where there are some."""
    line: dict[str, Any] = {"kind": "step", "step": step.step, "epoch": step.epoch, "loss": step.loss, "lr": step.lr}
    line |= {"samples_per_second": step.samples_per_second, "seconds": step.seconds}
    if step.gradient_norms is not None:
        line["gradient_norms"] = step.gradient_norms
    return line


def gradient_norms(model: Module, grad: Any) -> dict[str, float]:
    """The Euclidean norm of each layer's gradient, by the layer's path."""
    squares: dict[str, float] = {}
    for name, array in model.named_gradients(grad).items():
        layer = name.rpartition(".")[0] or name
        squares[layer] = squares.get(layer, 0.0) + float(np.sum(np.square(to_numpy(array), dtype=np.float64)))
    return {layer: math.sqrt(square) for layer, square in squares.items()}
