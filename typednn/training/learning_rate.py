"""find_learning_rate: the loss while the learning rate grows from step to step.

rate[k] = start·(end/start)^(k/(steps - 1))        mean[k] = smoothing·mean[k-1] + (1 - smoothing)·loss[k]
smoothed[k] = mean[k]/(1 - smoothing^(k+1))        suggestion = the rate in the middle of the longest fall of smoothed

Source: L. N. Smith, "Cyclical Learning Rates for Training Neural Networks" (2017), the range test; smoothing, end and
suggestion ("valley") as in fastai.
"""

import math
from typing import Any, TypeVar

import numpy as np

from typednn.arguments import integer, number
from typednn.arrays import AnyArray
from typednn.backends import to_device
from typednn.contracts.protocols import InputGrad, Optimizer, Part, ValuedLoss
from typednn.errors import ArgumentError, explain
from typednn.module.rehearsal import copied
from typednn.optim.optimizer import GradientOptimizer
from typednn.runs.history import LearningRates
from typednn.tasks import Task, task_of
from typednn.training import arguments
from typednn.training.batches import Batches

In = TypeVar("In", bound=np.ndarray[Any, Any])  # of tokens too
Out = TypeVar("Out", bound=AnyArray)
Target = TypeVar("Target", bound=np.ndarray[Any, Any])
G = TypeVar("G", bound=InputGrad[Any])


def find_learning_rate(
    model: Part[In, Out, G],
    loss: ValuedLoss[Out, Target],
    optimizer: Optimizer,
    loader: Batches[In, Target],
    *,
    start: float = 1e-6,
    end: float = 10.0,
    steps: int = 100,
    smoothing: float = 0.95,
    diverged: float = 4.0,
    task: Task | None = None,
) -> LearningRates:
    """Train a copy of ``model`` for up to ``steps`` steps, the rate growing from ``start`` to ``end``, and tell the
    loss at each.

    It ends early where the smoothed loss is ``diverged`` times its least so far, or no number. The suggestion is a
    start, not an optimum: look at the picture, which ``typednn.reports.plots.write_learning_rates`` draws.

    Model, loss and optimizer are as before to the bit: copies of them are trained, which takes their memory a second
    time. The loader gets its position and its generator back. Rates that the optimizer's groups have of their own stay
    what they are.
    """
    trained = arguments.model_of(model)
    arguments.check_order(loss, optimizer, loader)
    arguments.check_model(trained, loss)
    where = "find_learning_rate"
    number(where, "start", start, least=0.0)
    if not 0 < start < number(where, "end", end, least=0.0):
        raise ArgumentError(
            explain(where, "start and end are rates, 0 < start < end", f"start={start:g}, end={end:g}"), "start"
        )
    integer(where, "steps", steps, least=2)
    number(where, "smoothing", smoothing, least=0.0, below=1.0)
    if number(where, "diverged", diverged) <= 1:
        raise ArgumentError(
            explain(where, "diverged is how many times the least loss, more than 1", f"{diverged:g}"), "diverged"
        )
    if task is not None:
        arguments.task_of(task)
    if not isinstance(optimizer, GradientOptimizer):
        raise ArgumentError(
            explain(
                where,
                "needs an optimizer whose rate can be set",
                type(optimizer).__name__,
                "derive it from GradientOptimizer",
            ),
            "optimizer",
        )
    position = loader.state_dict()
    try:
        parts = copied(trained, loss, optimizer, task or task_of(loss))
        return _swept(parts, loader, _rates(start, end, steps), smoothing, diverged)
    finally:
        loader.load_state_dict(position)


def _rates(start: float, end: float, steps: int) -> list[float]:
    return [start * (end / start) ** (step / (steps - 1)) for step in range(steps)]


def _swept(
    parts: Any, loader: Batches[Any, Any], rates: list[float], smoothing: float, diverged: float
) -> LearningRates:
    """One step at each rate; ``parts`` are model, loss, optimizer and task."""
    model, loss, optimizer, task = parts
    model.train()
    losses: list[float] = []
    smoothed: list[float] = []
    mean = 0.0
    while len(losses) < len(rates):
        for batch in loader.batches():
            prediction = model.forward(to_device(batch.x, model.device))
            target = to_device(task.targets(batch.y, prediction), model.device)
            value = float(loss.loss(prediction, target))
            mean = smoothing * mean + (1 - smoothing) * value
            course = mean / (1 - smoothing ** (len(losses) + 1))
            if not math.isfinite(course) or (smoothed and course > diverged * min(smoothed) > 0):
                return _judged(rates, losses, smoothed)
            losses.append(value)
            smoothed.append(course)
            if len(losses) == len(rates):
                break
            optimizer.lr = rates[len(losses) - 1]
            model.update(optimizer, model.backward(loss.loss_grad(prediction, target)))
    return _judged(rates, losses, smoothed)


def _judged(rates: list[float], losses: list[float], smoothed: list[float]) -> LearningRates:
    """The result, with the rate in the middle of the longest fall."""
    tried = rates[: len(losses)]
    lengths: list[int] = []  # of the longest falling subsequence that ends at each place
    for here in smoothed:
        lengths.append(
            1 + max([length for before, length in zip(smoothed, lengths, strict=False) if before > here], default=0)
        )
    longest = max(lengths, default=0)
    end = lengths.index(longest) if lengths else 0
    return LearningRates(
        tuple(tried), tuple(losses), tuple(smoothed), tried[end - longest // 2] if longest > 1 else None
    )
