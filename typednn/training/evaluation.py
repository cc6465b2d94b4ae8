"""evaluate: a model's outputs for many inputs, a batch at a time. Evaluation: data to measure on while training."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar, cast, overload

import numpy as np

from typednn.arguments import flag, integer
from typednn.arrays import AnyArray, IntArray1, is_array, namespace
from typednn.backends import to_device
from typednn.contracts.protocols import Part, ValuedLoss
from typednn.data.batches import in_order
from typednn.data.loader import Rows, checked_sample_weight, reads_rows
from typednn.engines.precision import mixed_precision
from typednn.errors import ArgumentError, explain
from typednn.layer import Layer
from typednn.losses.sample_weights import SampleWeighted
from typednn.module.module import Module
from typednn.parallel import Ranks
from typednn.parallel.ranks import Item, Result
from typednn.plans import Compiled
from typednn.runs.history import RECORD
from typednn.screen import brief
from typednn.tasks import Task
from typednn.tasks.task import CountedTask
from typednn.training.batches import divisor_of, mean

In = TypeVar("In", bound=np.ndarray[Any, Any])  # of tokens too
Out = TypeVar("Out", bound=AnyArray)
Stored = TypeVar("Stored", bound=np.ndarray[Any, Any])
Target = TypeVar("Target", bound=np.ndarray[Any, Any])

_REPAID = 32  # batches after which a plan has saved the time of making it: of LeNet5 about 30


@overload
def evaluate(
    model: Part[In, Out, Any] | Compiled[In, Out, Any],
    x: In,
    batch_size: int = 500,
    *,
    transform: None = None,
    compile: bool = True,
) -> Out: ...
@overload
def evaluate(
    model: Part[In, Out, Any] | Compiled[In, Out, Any],
    x: Stored | Rows[Any],
    batch_size: int = 500,
    *,
    transform: Callable[[Stored], In],
    compile: bool = True,
) -> Out: ...
def evaluate(
    model: Any,
    x: Any,
    batch_size: int = 500,
    *,
    transform: Callable[[Any], Any] | None = None,
    compile: bool = True,
) -> Any:
    """``model.forward(x)`` in eval mode; afterwards every part has its mode back, also after an error.

    ``transform`` turns a batch of ``x`` into the model's input, as a `typednn.data.Loader`'s does. Many batches are
    computed by a plan (`typednn.compile`), with the same bits, unless ``compile`` is False; to use a plan again,
    evaluate what `typednn.compile` gives.
    Going into eval drops what forward kept: call it between steps, not between a forward and its backward.
    """
    return evaluated(model, x, batch_size, transform, compile=flag("evaluate", "compile", compile))


def evaluated(
    model: Any,
    x: Any,
    batch_size: int = 500,
    transform: Callable[[Any], Any] | None = None,
    ranks: Ranks | None = None,
    compile: bool = True,
) -> Any:
    """As `evaluate`; ``ranks`` share out the batches, and all have the outputs."""
    if not has_rows(x):
        cure = "evaluate(model, x) makes the batches itself"
        raise ArgumentError(explain("evaluate", "x is an array of inputs", type(x).__name__, cure), "x")

    batches = [*in_order(len(x), batch_size)]
    learner = planned(model, len(batches)) if compile else model

    def computed(rows: slice) -> Any:
        batch = _rows_of(x, rows)
        return learner.forward(batch if transform is None else transform(batch))

    whole: Any = cast("Any", model).model if isinstance(model, Compiled) else model
    with evaluating(whole):
        outputs = [*each_of(batches, computed, ranks)]
    return namespace(outputs[0]).concatenate(outputs)


def planned(model: Any, batches: int) -> Any:
    """What computes so many batches: the model, or a plan of it where they repay the calls that make it."""
    return Compiled(model, told=_untold) if batches >= _REPAID and isinstance(model, Module) else model


def _untold(why: str) -> None:
    """Without a plan the answers are the same."""


def each_of(items: Sequence[Item], compute: Callable[[Item], Result], ranks: Ranks | None) -> Iterable[Result]:
    """``compute`` of each item, in order; ``ranks`` share them out."""
    return map(compute, items) if ranks is None else ranks.shared_out(items, compute)


@contextmanager
def evaluating(model: Module) -> Generator[None, None, None]:
    """Eval mode within this block; afterwards every part has its mode back."""
    modes = [(module, module.training) for _, module in model.named_modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Generic[In, Target]):
    """Data to be measured on: inputs and targets, arrays, memory maps or images in files, of which a batch is read at a
    time.

    Where ``y`` holds probabilities, ``labels`` are used for the accuracy. ``transform`` turns a batch of ``x`` into the
    model's input, as a `typednn.data.Loader`'s does. ``sample_weight`` (n) is what each row counts in the loss; metrics
    count every row.
    """

    x: In | Rows[Any]
    y: Target
    labels: IntArray1 | None = None
    batch_size: int = 500
    split: str = "validation"
    transform: Callable[[Any], In] | None = None
    sample_weight: AnyArray | Sequence[float] | None = None

    def __post_init__(self) -> None:
        integer("Evaluation", "batch_size", self.batch_size)
        for name in ("x", "y") if self.labels is None else ("x", "y", "labels"):
            value: object = getattr(self, name)
            if not has_rows(value):
                cure = "convert it with numpy.asarray(...)"
                raise ArgumentError(
                    explain("Evaluation", f"{name} is an array with rows", type(value).__name__, cure), name
                )
        sizes = [len(self.x), len(self.y), *([] if self.labels is None else [len(self.labels)])]
        if len(set(sizes)) != 1 or not sizes[0]:
            raise ArgumentError(
                explain(
                    "Evaluation",
                    "x, y and labels must have as many rows, and at least one",
                    " and ".join(map(str, sizes)),
                )
            )
        object.__setattr__(self, "sample_weight", checked_sample_weight("Evaluation", self.sample_weight, len(self.x)))

    def __repr__(self) -> str:
        return brief(self)

    def first(self) -> Self:
        """Of its first batch alone."""
        arrays = {name: getattr(self, name) for name in ("x", "y", "labels", "sample_weight")}
        rows = slice(self.batch_size)
        return replace(self, **{name: array[rows] for name, array in arrays.items() if array is not None})

    def measure(
        self,
        model: Layer[In, Out, Any],
        loss: ValuedLoss[Out, Target],
        task: Task,
        ranks: Ranks | None = None,
        compiled: Compiled[In, Out, Any] | None = None,
    ) -> tuple[float, dict[str, float]]:
        """The loss of all rows as of one batch (a sum is added up), and the task's metrics; the model
        keeps its mode.

        All is computed in the model's dtype, while it trains in mixed precision too. ``compiled`` has plans of the
        model.

        The ``ranks`` of a job share out the batches, and all have the result, with the same bits as one process: what
        each batch gives is added up in the batches' order. Of a `CountedTask` they send a few numbers for each batch,
        of any other its predictions.
        """
        counted = task if isinstance(task, CountedTask) else None
        summed = divisor = 0.0
        learner = model if compiled is None else compiled

        def computed(rows: slice) -> tuple[float, float | None, Any]:
            x, y = _rows_of(self.x, rows), _rows_of(self.y, rows)
            prediction = learner.forward(to_device(x if self.transform is None else self.transform(x), model.device))
            target = task.targets(y, prediction)
            weight: Any = self.sample_weight
            weighed: Any = loss if weight is None else SampleWeighted(loss, weight[rows])
            counts = divisor_of(weighed, prediction, target)
            value = float(weighed.loss(prediction, to_device(target, model.device)))
            wanted = y if self.labels is None else _rows_of(self.labels, rows)
            found = (prediction, wanted) if counted is None else counted.counted(prediction, wanted)
            return value * (1.0 if counts is None else counts), counts, found

        def batches() -> Iterator[Any]:
            nonlocal summed, divisor
            every = [*in_order(len(self.x), self.batch_size)]
            for value, counts, found in each_of(every, computed, ranks):
                summed += value
                divisor += counts or 0.0
                yield found

        with evaluating(model), mixed_precision(False):
            measured = batches()
            metrics = task.metrics(measured) if counted is None else counted.combined(measured)
            for _ in measured:  # batches that the task has not read
                pass
        return mean(summed, divisor), metrics


def checked_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """A task's metrics, whose names are none of those that a run's lines have."""
    taken = next((name for name in metrics if name in (*RECORD, "kind")), None)
    if taken is not None:
        rule = f"a task's metric is not called {', '.join(RECORD)} or kind"
        raise ArgumentError(explain("fit", rule, repr(taken), "give it another name"), "task")
    return {name: float(number) for name, number in metrics.items()}


def _rows_of(array: Any, rows: Any) -> Any:
    batch: Any = array[rows]
    return np.asarray(batch) if isinstance(array, np.ndarray) else batch  # rows of a memory map are an array


def has_rows(value: Any) -> bool:
    """Whether it is an array, a memory map, or read by rows as these are, with a first axis."""
    return (issubclass(type(value), np.ndarray) or is_array(value) or reads_rows(value)) and len(value.shape) > 0
