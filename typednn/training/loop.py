"""fit: the training loop. The core is these lines; the rest is metrics, evaluation, checkpoints and resume.

for each epoch, for each batch:  prediction = model.forward(x)
                                 grad = model.backward(loss.loss_grad(prediction, y))
                                 model.update(optimizer, grad)

A *step* is one update of the weights. Everything else happens between two steps: evaluation, then the checkpoint. After
the last step of an epoch it happens when the epoch is complete, so that no step is saved in two states.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from os import PathLike
from typing import Any, Literal, TypeVar

import numpy as np

from typednn.arguments import integer, number
from typednn.arrays import AnyArray
from typednn.contracts.protocols import InputGrad, Optimizer, Part, ValuedLoss
from typednn.engines.precision import Precision, mixed_precision
from typednn.layer import Layer
from typednn.parallel import DataParallel
from typednn.runs.history import History
from typednn.runs.run import Run
from typednn.runs.state import TrainingState
from typednn.tasks import Task, task_of
from typednn.training import arguments
from typednn.training.batches import Batches
from typednn.training.callbacks import Callback, EarlyStopping, Every
from typednn.training.evaluation import Evaluation
from typednn.training.session import Session
from typednn.training.settings import TrainingSettings
from typednn.training.signals import Stop, stopping

In = TypeVar("In", bound=np.ndarray[Any, Any])  # of tokens too
Out = TypeVar("Out", bound=AnyArray)
Target = TypeVar("Target", bound=np.ndarray[Any, Any])
G = TypeVar("G", bound=InputGrad[Any])


def fit(
    model: Part[In, Out, G],
    loss: ValuedLoss[Out, Target],
    optimizer: Optimizer,
    loader: Batches[In, Target],
    *,
    epochs: int,
    max_steps: int | None = None,
    task: Task | None = None,
    run: Run | str | PathLike[str] | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    validation: Evaluation[In, Target] | tuple[In, Target] | None = None,
    accumulate: int = 1,
    transform: Callable[[G], G] | Sequence[Callable[[G], G]] = (),
    clip_grad_norm: float | None = None,
    precision: Precision | None = None,
    compile: bool = True,
    evaluate_every: int | Every | None = None,
    checkpoint_every: int | Every | None = None,
    time_limit: float | None = None,
    early_stopping: EarlyStopping | None = None,
    keep: int = 3,
    progress: bool | Literal["auto"] = "auto",
    parallel: DataParallel | None = None,
) -> History:
    """Train ``model`` for ``epochs`` passes over the loader's data, and return its history.

    A model is any object with ``forward``, ``backward`` and ``update``; with a ``run`` also ``state_dict`` and
    ``load_state_dict``.

    =====================  =============================================================================================
    max_steps              end after this many steps in all, within an epoch too
    task                   what is measured besides the loss; by default as `typednn.tasks.task_of` says
    run                    metrics, events and checkpoints go there; training continues from its checkpoint, if any, bit
                           for bit. Of a path, the run in that folder, or a new one
    validation             an Evaluation, or arrays (x, y), measured each epoch, or as ``evaluate_every`` says (steps,
                           or ``Every(epochs=2)``), and at the end of training
    checkpoint_every       by default each epoch; also at a new best, and when training ends early. ``keep`` newest and
                           the best stay
    accumulate             batches per update, as if they were one batch. The epoch's last update may have fewer
    transform              a function from gradient to gradient, or several in order, between backward and update
    clip_grad_norm         the largest norm of the gradient over all parameters, after ``transform``
    precision              ``"bf16-mixed"``: linear layers of a float32 model multiply in bfloat16
                           (`typednn.engines.precision`); evaluations don't
    compile                forward and backward become a plan where they can (`typednn.compile`), with the same bits;
                           not with ``transform``, which may read any derivative, nor with ``parallel``
    time_limit             seconds of this call, after which the step is finished, saved, and ``History.stopped`` is
                           ``"time limit"``
    early_stopping         ``EarlyStopping(patience=3)``; ``History.stopped`` is ``"early stopping"``. The model then
                           has the best weights
    progress               a bar on a terminal and a line per epoch elsewhere, on standard error; False is quiet
    parallel               ``DataParallel()``: each batch is shared out over the processes that ``mpiexec`` has started,
                           which all make this call. The first one has the callbacks, writes the run and the progress.
                           With a model on a GPU, make it before the model is moved there
    =====================  =============================================================================================

    A loss, gradient or evaluation that is no longer finite is a `StateError` that names step and layer; weights and
    checkpoints stay as they were before that step. On a device it is noticed up to 49 steps later, before anything of
    that step is written: checkpoints stay as they were, but the weights are those of the later step. Ctrl-C and SIGTERM
    finish the step, save, and then raise `KeyboardInterrupt` or ``SystemExit(143)``; a second one acts at once, and so
    does the first one before this call's first step is done. At the end, arrays that layers kept are dropped.

    The losses of a step, an epoch and an evaluation are those of their batches as one: a mean over all that counts,
    whatever the batches' sizes; with ``reduction="sum"`` a sum. `ValuedLoss` says what a loss of your own does for
    that.

    Where the optimizer averages the weights (``ema``), evaluations measure the average, and the model has it at the
    end. Schedules that watch a metric, such as `typednn.optim.ReduceLROnPlateau`, are told it after each evaluation.
    """
    trained: Layer[Any, Any, Any] = arguments.model_of(model)
    arguments.check_order(loss, optimizer, loader)
    arguments.check_model(trained, loss, precision)
    settings = TrainingSettings(
        epochs=epochs,
        max_steps=max_steps,
        accumulate=accumulate,
        clip_grad_norm=clip_grad_norm,
        precision=precision,
        compile=compile,
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
    )
    measured_on, early = arguments.validation_of(validation), arguments.early_stopping_of(early_stopping)
    arguments.check_together(loss, loader, measured_on, early, optimizer, parallel)
    stop, first = Stop(), parallel is None or parallel.ranks.is_first
    with ExitStack() as stack:
        stack.enter_context(nullcontext() if parallel is None else parallel.together())
        stack.enter_context(mixed_precision(precision is not None))
        session = Session(
            trained,
            loss,
            task_of(loss, measured_on) if task is None else arguments.task_of(task),
            optimizer,
            loader,
            None,
            arguments.callbacks_of(callbacks) if first else [],
            measured_on,
            stop,
            settings,
            transforms=arguments.transforms_of(transform),
            time_limit=None if time_limit is None else number("fit", "time_limit", time_limit, least=0.0),
            early_stopping=early,
            keep=integer("fit", "keep", keep),
            progress=first and arguments.progress_of(progress),
            state=TrainingState(origin=loader.epoch),
            parallel=parallel,
        )
        if run is not None or session.callbacks:
            session.config = arguments.config_of(trained, optimizer, loader)
        # after all checks: a wrong argument leaves no folder
        session.run = arguments.run_of(run, trained, session.config, stack) if first else None
        stack.enter_context(
            stopping(stop, "finishing the step, then saving; once more ends at once" if progress and first else "")
        )
        stack.callback(trained.free_cache)
        try:
            history = session.train(stack)
        except BaseException as error:
            for callback in session.callbacks:
                callback.on_exception(error)
            raise
    if stop.signal is not None:
        stop.leave()
    return history
