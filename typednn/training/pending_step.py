"""A step of a training in progress, or done and not reported yet."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from typednn.arrays import AnyArray
from typednn.contracts.protocols import Optimizer
from typednn.layer import Layer
from typednn.module.gradients import squares_of
from typednn.module.module import Module
from typednn.module.updates import update_if
from typednn.optim.accumulation import Summed
from typednn.training.batches import mean
from typednn.training.sharded_optimizer import ShardedOptimizer


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

    def add(self, grad: Any, divisor: float | None, loss: Any, rows: int) -> None:
        """One more batch: its gradient, what its loss divided by, its loss and its rows."""
        self.summed.add(grad, divisor)
        self.batches += 1
        self.rows += rows
        self.loss += loss * (1.0 if divisor is None else divisor)
        self.divisor += divisor or 0.0

    def broken(self, device: str) -> tuple[str, str, str] | None:
        """What of a step on a device was not finite, what it was, and where."""
        *batches, (_, *derivatives) = self.finite
        if not math.isfinite(self.loss):
            places = [f"in the data: row {rows.index(0)} of the batch" for rows in batches if 0 in rows]
            places += [f"on {device!r}, where a layer is not named: the weights have gone on"]
            return "the loss", str(mean(self.loss, self.divisor)), places[0]
        names = [name for name, fine in zip(self.derivatives, derivatives, strict=True) if not fine]
        return ("the gradient", "NaN or infinity", f'in the gradient of "{names[-1]}"') if names else None


def gradient_norms(model: Module, grad: Any) -> dict[str, float]:
    """The Euclidean norm of each layer's gradient, by the layer's path."""
    squares: defaultdict[str, float] = defaultdict(float)
    for name, square in squares_of(model.named_gradients(grad)).items():
        squares[name.rpartition(".")[0] or name] += square
    return {layer: math.sqrt(square) for layer, square in squares.items()}


def updated(
    model: Layer[Any, Any, Any],
    optimizer: Optimizer,
    sharded: ShardedOptimizer | None,
    grad: Any,
    accept: Callable[[Iterable[AnyArray]], bool] | None,
) -> bool:
    """Step the model, the slices of each rank where the optimizer is ``sharded``; False, and nothing written, where
    there is ``accept`` and the derivatives are not accepted.
    """
    if accept is None:
        model.update(optimizer if sharded is None else sharded, grad)
    elif sharded is None:
        return update_if(accept, model, optimizer, grad)
    elif not update_if(sharded.accepts(accept), model, sharded, grad):
        return False
    if sharded is not None:
        sharded.share()
    return True
