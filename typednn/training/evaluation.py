"""evaluate: a model's answers to many inputs, a batch at a time, nothing kept on the way. Evaluation: data to measure on while training."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, overload

import numpy as np
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.arrays import AnyArray, IntArray1, is_integer, namespace
from typednn.backends import to_device, to_numpy
from typednn.data.batches import in_order
from typednn.errors import ArgumentError, explain
from typednn.layer import Layer
from typednn.module import Module

In = TypeVar("In", bound=AnyArray)
Out = TypeVar("Out", bound=AnyArray)
Stored = TypeVar("Stored", bound=np.ndarray[Any, Any])
Target = TypeVar("Target", bound=np.ndarray[Any, Any])


@overload
def evaluate(model: Layer[In, Out, Any], x: In, batch_size: int = 500, *, transform: None = None) -> Out: ...
@overload
def evaluate(model: Layer[In, Out, Any], x: Stored, batch_size: int = 500, *, transform: Callable[[Stored], In]) -> Out: ...
def evaluate(model: Any, x: Any, batch_size: int = 500, *, transform: Callable[[Any], Any] | None = None) -> Any:
    """``model.forward(x)`` in eval mode; afterwards every part is in the mode it was in, also after an error.

    ``transform`` makes of a batch of ``x`` what the model reads, as a `typednn.data.Loader`'s does.
    Going into eval drops what forward kept: call it between steps, not between a forward and its backward.
    """
    batches = (_taken(x, rows, "") for rows in in_order(len(x), batch_size))
    with evaluating(model):
        outputs = [model.forward(batch if transform is None else transform(batch)) for batch in batches]
    return namespace(outputs[0]).concatenate(outputs)


@contextmanager
def evaluating(model: Module) -> Generator[None, None, None]:
    """Eval mode within; afterwards every part is in the mode it was in."""
    modes = [(module, module.training) for _, module in model.named_modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Generic[In, Target]):
    """Data to be measured on: inputs and targets, arrays or memory maps, of which a batch is read at a time.

    The accuracy is the share of rows whose largest score is at the label: of ``labels``, or of ``y`` where it holds integers.
    """

    x: In
    y: Target
    labels: IntArray1 | None = None
    batch_size: int = 500
    split: str = "validation"

    def __post_init__(self) -> None:
        integer("Evaluation", "batch_size", self.batch_size)
        sizes = [len(self.x), len(self.y), *([] if self.labels is None else [len(self.labels)])]
        if len(set(sizes)) != 1 or not sizes[0]:
            got = " and ".join(map(str, sizes))
            raise ArgumentError(explain("Evaluation", "x, y and labels must have as many rows, and at least one", got))

    def measure(self, model: Layer[In, Out, Any], loss: Callable[[Out, Target], float]) -> tuple[float, float | None]:
        """The mean loss and the accuracy, if there are labels; the model comes back in its mode."""
        labels: Any = self.labels if self.labels is not None else self.y if is_integer(self.y.dtype) and self.y.ndim == 1 else None
        summed, right = 0.0, 0
        with evaluating(model):
            for rows in in_order(len(self.x), self.batch_size):
                scores = model.forward(_taken(self.x, rows, model.device))
                summed += float(loss(scores, _taken(self.y, rows, model.device))) * len(scores)
                if labels is not None:
                    right += int((to_numpy(scores).argmax(axis=1) == to_numpy(_taken(labels, rows, ""))).sum())
        return summed / len(self.x), None if labels is None else right / len(self.x)


A = TypeVar("A", bound=AnyArray)


def _taken(array: A, rows: Any, device: str) -> A:
    taken: Any = np.asarray(array[rows]) if isinstance(array, np.ndarray) else array[rows]  # rows of a memory map are an array
    some: A = to_device(taken, device) if device else taken
    return some
