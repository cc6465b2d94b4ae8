"""What `fit` is called with, checked and brought into one form; a wrong argument is an `ArgumentError`
that names it.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, cast

import numpy as np

from typednn import losses, optim
from typednn.config import dumps
from typednn.contracts.protocols import Optimizer
from typednn.errors import ArgumentError, TypednnError, explain, habits, shown
from typednn.layer import FirstChain, Input, Parts, not_a_part
from typednn.layers import Conv2d, Linear, LogSoftmax, SequenceLinear, Sigmoid, Softmax
from typednn.losses import NLL, BCEWithLogits, CrossEntropy, SoftmaxCrossEntropy
from typednn.losses.sample_weights import check_weighable
from typednn.module.delegation import foreign_parts
from typednn.module.foreign import adopted, missing_methods
from typednn.module.module import Module
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import DataParallel
from typednn.runs.run import Run
from typednn.tasks import Task
from typednn.training.callbacks import Callback, EarlyStopping
from typednn.training.evaluation import Evaluation, has_rows
from typednn.training.sharded_optimizer import check_sharded

_HOOKS = (
    *("on_step", "on_evaluation", "on_epoch", "on_end", "state_dict", "load_state_dict"),
    *("on_start", "on_exception"),
)
_LOADER = "Loader(x, y, batch_size=32, rng=numpy.random.default_rng(0)) of typednn.data"

# What the losses of a classification read: the layers that must not stand last before them, and what they read.
_READS: dict[type, tuple[tuple[type, ...], str]] = {
    SoftmaxCrossEntropy: ((Softmax, LogSoftmax, Sigmoid), "scores"),
    BCEWithLogits: ((Sigmoid, Softmax, LogSoftmax), "scores"),
    CrossEntropy: ((Linear, SequenceLinear, Conv2d, LogSoftmax), "probabilities"),
    NLL: ((Linear, SequenceLinear, Conv2d, Softmax), "logarithms of probabilities"),
}
_ENDS = {
    "scores": "leave it out",
    "probabilities": "end with Softmax()",
    "logarithms of probabilities": "end with LogSoftmax()",
}


def _wrong(name: str, rule: str, value: Any, cure: str = "") -> ArgumentError:
    """The error; a class is said to be one, and how to make its instance."""
    kind = isinstance(value, type)
    got = (
        f"the class {value.__name__}"
        if kind
        else shown(value, 60)
        if isinstance(value, str | int | float)
        else type(value).__name__
    )
    return ArgumentError(explain("fit", rule, got, f"write {value.__name__}(…)" if kind else cure), name)


def model_of(model: Any) -> Any:
    """The model, wrapped where it derives from nothing."""
    trained = adopted(model)
    if not isinstance(trained, Module):
        missing = missing_methods(model)
        got = (
            not_a_part(model)
            if isinstance(model, type) or not missing
            else f"{type(model).__name__}, which has no {' and no '.join(missing)}"
        )
        raise ArgumentError(explain("fit", "a model has forward, backward and update", got), "model")
    return trained


def check_order(loss: object, optimizer: object, loader: object) -> None:
    """The second to fourth argument are what their places say: objects and no names, and batches with a position."""
    for role, passed, method, package, usual in (
        ("loss", loss, "loss_grad", losses, "SoftmaxCrossEntropy"),
        ("optimizer", optimizer, "step", optim, "Adam"),
    ):
        if isinstance(passed, type) or not callable(getattr(passed, method, None)):
            name = habits.kin(passed, package.__all__) if isinstance(passed, str) else ""
            cure = f"pass an object, {name or usual}() of {package.__name__}" if isinstance(passed, str) else ""
            raise _wrong(
                role, f"takes model, loss, optimizer, loader in this order, the {role} with {method}", passed, cure
            )
    if isinstance(loader, type) or any(
        not hasattr(loader, name) for name in ("batches", "epoch", "step", "steps_per_epoch", "state_dict")
    ):
        raise _wrong("loader", "the fourth argument gives the batches", loader, f"pass {_LOADER}")


def check_model(model: Module, loss: object, precision: str | None = None) -> None:
    """The model's last layer gives what the loss reads, as far as a chain and typednn's losses show it; and mixed
    precision is of float32 models on the CPU.
    """
    if precision is not None and (model.device != "cpu" or model.dtype != np.float32):
        got = f"a model in {model.dtype} on {model.device!r}"
        rule = f"precision={precision!r} is of float32 models on the CPU"
        raise ArgumentError(explain("fit", rule, got, "leave precision out"), "precision")
    refused, reads = _READS.get(type(loss), ((), ""))
    last = model.parts[-1] if isinstance(model, Parts) and model.parts else None
    if isinstance(last, refused):
        end = type(last).__name__
        rule = f"{type(loss).__name__} reads {reads}, which the model's last layer gives"
        raise ArgumentError(
            explain(
                "fit",
                rule,
                repr(last),
                _ENDS[reads] if end != "Linear" else f"{_ENDS[reads]}, or train by SoftmaxCrossEntropy()",
            ),
            "loss",
        )


def validation_of(validation: Any) -> Evaluation[Any, Any] | None:
    """An `Evaluation` as it is, a pair of arrays as one."""
    if validation is None or isinstance(cast("object", validation), Evaluation):
        whole: Evaluation[Any, Any] | None = validation
        return whole
    if type(validation) in (tuple, list) and len(validation) == 2 and all(has_rows(each) for each in validation):
        return Evaluation(*validation)
    raise _wrong(
        "validation",
        "validation is a pair of arrays (x, y) or an Evaluation(x, y)",
        validation,
        "pass validation=(x, y)",
    )


def early_stopping_of(early_stopping: Any) -> EarlyStopping | None:
    """An `EarlyStopping`, or None."""
    if early_stopping is None or isinstance(early_stopping, EarlyStopping):
        return early_stopping
    rule, patience = "early_stopping is an EarlyStopping", early_stopping if type(early_stopping) is int else 3
    raise _wrong("early_stopping", rule, early_stopping, f"pass EarlyStopping(patience={patience}) of typednn.training")


def callbacks_of(callbacks: Any) -> list[Callback]:
    """A list of callbacks; one alone need not be in a list."""
    several = isinstance(cast("object", callbacks), Sequence) and type(callbacks) is not str
    given: list[Any] = list(callbacks) if several else [callbacks]
    for each in given:
        missing = [name for name in _HOOKS if not callable(getattr(each, name, None))]
        if isinstance(each, EarlyStopping):
            raise _wrong("callbacks", "callbacks are Callbacks", each, "pass early_stopping=EarlyStopping(…)")
        if isinstance(each, type) or missing:
            cure = f"derive its class from typednn.training.Callback, which has {' and '.join(missing[:3])}"
            raise _wrong("callbacks", "callbacks are Callbacks", each, cure)
    return given


def task_of(task: Any) -> Task:
    """A task: it has `typednn.tasks.Task`'s methods."""
    if isinstance(task, type) or not all(callable(getattr(task, name, None)) for name in ("targets", "metrics")):
        raise _wrong(
            "task", "a task has targets and metrics", task, "pass Classification() or Regression() of typednn.tasks"
        )
    checked: Task = task
    return checked


def check_together(
    loss: object,
    loader: object,
    validation: object,
    early_stopping: object,
    optimizer: Optimizer,
    parallel: DataParallel | None,
) -> None:
    """Where rows have weights, the loss weighs them; what watches an evaluation has one; what is shared out can be."""
    check_sharded(parallel, optimizer)
    if any(getattr(data, "sample_weight", None) is not None for data in (loader, validation)):
        check_weighable("fit", loss)
    watched = optimizer.watched() if isinstance(optimizer, GradientOptimizer) else ()
    if validation is None and (early_stopping is not None or watched):
        names = ", ".join(map(repr, watched))
        rule = (
            f"a schedule watches {names} of an evaluation"
            if early_stopping is None
            else "early stopping watches an evaluation"
        )
        raise ArgumentError(explain("fit", rule, "no validation", "pass validation=Evaluation(x, y)"), "validation")


def transforms_of(transform: Any) -> tuple[Callable[[Any], Any], ...]:
    """The functions from gradient to gradient, in order; one alone need not be in a list."""
    functions = (transform,) if callable(transform) or not hasattr(transform, "__iter__") else tuple(transform)
    for function in functions:
        if not callable(function):
            rule = "transform is a function from gradient to gradient, or several"
            raise ArgumentError(explain("fit", rule, type(function).__name__), "transform")
    return functions


def progress_of(progress: Any) -> bool:
    """Whether progress is shown."""
    if progress not in (True, False, "auto"):
        raise ArgumentError(explain("fit", "progress is True, False or 'auto'", shown(progress)), "progress")
    return bool(progress)


def run_of(run: Any, model: Module, config: str, stack: ExitStack) -> Run | None:
    """A run as it is; of a folder the run in it, or a new one of ``config``, which is open until ``stack`` ends."""
    if run is None:
        return None
    for _, part in foreign_parts(model):
        part.require("state_dict")
        part.require("load_state_dict")
        part.saved = True
    if isinstance(run, Run):
        return run
    if not isinstance(cast("object", run), str | os.PathLike):
        raise _wrong("run", "run is a Run or the folder of one", run)
    if Run(run).config_path is not None:
        return stack.enter_context(Run.open(run))
    return stack.enter_context(Run.create(run, config, model))


def config_of(model: Any, optimizer: Any, loader: Any) -> str:
    """Model and optimizer as a config; where no config describes them, a comment, and one sample's shape. A model that
    declares no input reads what the loader gives.
    """
    declared: Input[Any] | None = getattr(model, "sample", None)
    sizes: tuple[int, ...] = getattr(loader, "sample", ()) if declared is None else declared.sizes
    try:
        kind: Any = int if issubclass(type(model), FirstChain) else float
        return dumps(model, optimizer, input=declared or Input(*sizes, dtype=kind))
    except TypednnError:
        told = f"input = {list(sizes)}\n" if sizes else ""
        return f"# {type(model).__name__}, trained by typednn.training.fit\n{told}"
