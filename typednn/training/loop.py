"""fit: the training loop, small enough to be read, copied and changed.

for each epoch, for each batch:  prediction = model.forward(x)
                                 grad = model.backward(loss.loss_grad(prediction, y))
                                 model.update(optimizer, grad)

Everything else here counts, shows and cleans up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.arrays import AnyArray, device_of
from typednn.backends import to_device
from typednn.data.batches import batches
from typednn.errors import ArgumentError, StateError, explain
from typednn.layer import Layer
from typednn.protocols import InputGrad, Optimizer
from typednn.random import Rng

In = TypeVar("In", bound=AnyArray)
Out = TypeVar("Out", bound=AnyArray)
Target = TypeVar("Target", bound=np.ndarray[Any, Any])
G = TypeVar("G", bound=InputGrad[Any])
A = TypeVar("A", bound=np.ndarray[Any, Any])
Prediction = TypeVar("Prediction")
Wanted = TypeVar("Wanted", contravariant=True)


class ValuedLoss(Protocol[Prediction, Wanted]):
    """A loss whose value is one number, so that it can be shown: any reduction of `typednn.losses` that gives a number."""

    def loss(self, prediction: Prediction, target: Wanted) -> float: ...

    def loss_grad(self, prediction: Prediction, target: Wanted) -> Prediction: ...


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the data: its number from 1, the mean loss on the way, the seconds it took."""

    number: int
    loss: float
    seconds: float


@dataclass(frozen=True, slots=True)
class History:
    """Every epoch, in order."""

    epochs: tuple[Epoch, ...]

    @property
    def losses(self) -> list[float]:
        return [epoch.loss for epoch in self.epochs]


def fit(
    model: Layer[In, Out, G],
    loss: ValuedLoss[Out, Target],
    optimizer: Optimizer,
    x: In,
    y: Target,
    *,
    epochs: int,
    batch_size: int,
    rng: Rng,
    progress: bool = True,
    on_epoch: Callable[[Epoch], object] | None = None,
) -> History:
    """Train ``model`` on every row of ``x`` and ``y``, in an order drawn anew from ``rng`` for each epoch.

    Shows a bar on a terminal and a line per epoch elsewhere, both on standard error. Puts the model into training mode, and
    in the end drops what its layers kept. Stops with a `StateError` when the loss is no longer a number.
    """
    epochs = integer("fit", "epochs", epochs)
    if len(x) != len(y) or not len(x):
        raise ArgumentError(explain("fit", "x and y must have as many rows, and at least one", f"{len(x)} and {len(y)}"))
    total = math.ceil(len(x) / integer("fit", "batch_size", batch_size))
    done: list[Epoch] = []
    console = Console(stderr=True, highlight=False)
    text, shown = TextColumn("{task.description}"), TextColumn("{task.fields[loss]}")
    columns = (text, BarColumn(), MofNCompleteColumn(), shown, TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not (progress and console.is_terminal)) as bar:
        try:
            for number in range(1, epochs + 1):
                model.train()
                task = bar.add_task(f"epoch {number}/{epochs}", total=total, loss="")
                start, summed, seen = time.perf_counter(), 0.0, 0
                for rows in batches(len(x), batch_size, rng):
                    inputs, targets = _taken(x, rows), _taken(y, rows)
                    prediction = model.forward(inputs)
                    value = loss.loss(prediction, targets)
                    if not math.isfinite(value):
                        raise _diverged(number, seen // batch_size + 1, value)
                    model.update(optimizer, model.backward(loss.loss_grad(prediction, targets)))
                    seen += len(rows)
                    summed += value * len(rows)
                    bar.update(task, advance=1, loss=f"loss {summed / seen:.4f}")
                epoch = Epoch(number, summed / seen, time.perf_counter() - start)
                done.append(epoch)
                if progress and not console.is_terminal:
                    console.print(f"epoch {number}/{epochs}  loss {epoch.loss:.4f}  {epoch.seconds:.1f} s", soft_wrap=True)
                if on_epoch is not None:
                    on_epoch(epoch)
        finally:
            model.free_cache()
    return History(tuple(done))


def _taken(array: A, rows: Any) -> A:
    taken: Any = array[to_device(rows, device_of(array))]
    some: A = taken
    return some


def _diverged(epoch: int, batch: int, value: float) -> StateError:
    got, cure = f"{value} in epoch {epoch}, batch {batch}", "lower the learning rate, or look for NaN in the data"
    return StateError(explain("fit", "the loss must stay a finite number", got, cure))


__all__ = ["Epoch", "History", "ValuedLoss", "fit"]
