"""A step of a training in progress, or done and not reported yet."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.module.module import Module
from typednn.optim.accumulation import Summed


@dataclass(slots=True)
class PendingStep:
    """What a step has added up. On a device ``loss`` (Σ loss·divisor) and ``finite`` are arrays not read yet."""

    loss: Any = 0.0
    divisor: float = 0.0  # Σ divisor of its batches, 0 where they are added up
    rows: int = 0
    batches: int = 0
    summed: Summed[Any] = field(default_factory=Summed[Any])
    # whether each row of each batch is finite, then the loss and each derivative
    finite: list[Any] = field(default_factory=list[Any])
    derivatives: list[str] = field(default_factory=list[str])  # the names of the last
    step: int = 0
    rate: float | None = None
    seconds: float = 0.0
    norms: dict[str, float] | None = None


def gradient_norms(model: Module, grad: Any) -> dict[str, float]:
    """The Euclidean norm of each layer's gradient, by the layer's path."""
    squares: defaultdict[str, float] = defaultdict(float)
    for name, array in model.named_gradients(grad).items():
        squares[name.rpartition(".")[0] or name] += float(np.sum(np.square(to_numpy(array), dtype=np.float64)))
    return {layer: math.sqrt(square) for layer, square in squares.items()}
