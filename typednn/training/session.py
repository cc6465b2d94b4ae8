"""Session: one call of `typednn.training.fit`, from the checkpoint that it starts from to the last that it writes."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from typednn.backends import read_together, to_device
from typednn.contracts.protocols import Optimizer, ValuedLoss, one_pass
from typednn.engines.halide.rehearsal import expecting
from typednn.errors import ArgumentError, MissingExtra, explain
from typednn.layer import Layer
from typednn.losses.sample_weights import SampleWeighted
from typednn.module.gradients import Gradient
from typednn.module.rehearsal import copied, is_known
from typednn.module.running_statistics import divided
from typednn.optim.accumulation import Summed
from typednn.optim.clipping import clipped
from typednn.optim.ema import put
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import DataParallel
from typednn.parallel.pipeline import Pipeline
from typednn.plans import Compiled
from typednn.plans.gradients import Keep
from typednn.runs.history import Epoch, History, Measured, Step
from typednn.runs.restoring import bind
from typednn.runs.run import Run
from typednn.runs.state import TrainingState
from typednn.tasks import SpokenTask, Task
from typednn.training.batches import Batches, divisor_of, mean
from typednn.training.callbacks import Callback, Called, EarlyStopping, called, is_due, saved_state
from typednn.training.evaluation import Evaluation, checked_metrics
from typednn.training.events import Events, Recorder
from typednn.training.finite import all_finite, diverged, finite_each, finite_rows, place_in_forward, place_in_gradient
from typednn.training.pending_step import PendingStep, gradient_norms, updated
from typednn.training.progress import Display, summary
from typednn.training.settings import TrainingSettings
from typednn.training.sharded_optimizer import ShardedOptimizer
from typednn.training.signals import Stop
from typednn.training.starting import agreed, join, resume, start_callbacks

_UNREAD = 0.25  # seconds between two reports


@final
@dataclass(slots=True, eq=False)
class Session:
    """The checked arguments of `fit`, the state of the training (``state``), and the data of this call."""

    model: Layer[Any, Any, Any]
    loss: ValuedLoss[Any, Any]
    task: Task
    optimizer: Optimizer
    loader: Batches[Any, Any]
    run: Run | None
    callbacks: list[Callback]
    validation: Evaluation[Any, Any] | None
    stop: Stop
    settings: TrainingSettings
    transforms: Sequence[Callable[[Any], Any]]  # of the gradient, in order
    time_limit: float | None
    early_stopping: EarlyStopping | None
    keep: int
    progress: bool
    state: TrainingState
    config: str = ""  # model and optimizer as TOML, where that can say them
    parallel: DataParallel | None = None
    sharded: ShardedOptimizer | None = None
    pipeline: Pipeline | None = None  # of a model in stages, from the first batch on
    batch: Any = None  # of the step in progress x, y, what each row counts, and how many rows there are on all ranks
    part: PendingStep = field(default_factory=PendingStep)  # the step in progress
    pending: list[PendingStep] = field(default_factory=list[PendingStep])
    loss_array: Callable[[Any, Any], Any] | None = None
    """The loss on its device, so that results of several steps are read at once. Without it, and with clipping, each
    step is read.
    """
    check_target: Callable[[Any, int], object] | None = None
    loss_and_grad: Callable[[Any, Any, Any], tuple[Any, Any]] | None = field(init=False)
    at_once: bool = field(init=False)
    compiled: Compiled[Any, Any, Any] | None = field(init=False)
    events: Events | None = None
    display: Display = field(init=False)
    callback_reason: str = ""  # the reason of a callback to end training
    reason: str | None = None  # why training ends; "" at its regular end
    best_weights: dict[str, Any] | None = None  # kept here if there are no checkpoints
    clock: float = 0.0  # when the seconds were last counted
    last_report: float = 0.0
    deadline: float = math.inf
    steps_before: int = 0  # the optimizer's, before the first step of ``state``

    def __post_init__(self) -> None:
        if self.model.device != "cpu" and self.settings.clip_grad_norm is None:
            self.loss_array, self.check_target = (
                getattr(self.loss, "loss_array", None),
                getattr(self.loss, "check_target", None),
            )
        self.loss_and_grad = one_pass(self.loss)
        keep: Keep = "inputs" if self.transforms else "parameters"  # a transform may read any derivative
        plans = self.settings.compile and (self.parallel is None or self.parallel.whole_forwards)
        self.compiled = Compiled(self.model, keep, told=self._not_planned) if plans else None
        self.at_once = any(
            type(each).on_step is not Callback.on_step and not isinstance(each, Recorder) for each in self.callbacks
        )

    def train(self, stack: ExitStack) -> History:
        """Go on from the run's checkpoint, if it has one, until the end or until something stops it."""
        told = self.settings.told(self.loss, self.loader, self.early_stopping)
        start, resumed = (self.model, self.optimizer, self.loader), False
        if self.run is not None:
            self.state, resumed = resume(self.run, *start, self.callbacks, self.state, told)
        if self.parallel is not None:
            self.parallel.check(self.model, self.transforms, self.averages)
            settings = {**told, "parallel": self.parallel.told}
            self.state = join(
                self.parallel.ranks, *start, self.state, settings, self.validation, sharded=self.parallel.slices
            )
        if self.averages or (isinstance(self.optimizer, GradientOptimizer) and self.optimizer.groups):
            bind(self.optimizer, self.model)
        if isinstance(self.optimizer, GradientOptimizer):
            if self.parallel is not None and self.parallel.slices:
                self.sharded = ShardedOptimizer(self.parallel.ranks, self.model, self.optimizer)
            self.steps_before = self.optimizer.steps - self.state.step
        unit, per_sample = (
            (self.task.unit, self.task.per_sample) if isinstance(self.task, SpokenTask) else ("samples", 1)
        )
        start_callbacks(self.callbacks, self.run, self.config, told)
        self.display = Display(
            shown=self.progress,
            total=self.settings.steps(self.loader.steps_per_epoch),
            done=self.state.step,
            epochs=self.settings.epochs,
            unit=unit,
            per_sample=per_sample,
        )
        stack.callback(self.display.close)
        if self.parallel is not None and self.parallel.note:
            self.display.note(self.parallel.note)
        if self.run is not None:
            try:
                self.events = Events(self.run.path("events"), self.state.step)
                stack.enter_context(self.events.writer)
                self.callbacks.insert(0, self.events)
            except MissingExtra as error:
                self.display.note(f"no TensorBoard events: {error}")
            if resumed:  # behind what cuts files back to the checkpoint, as their checksums are written
                self.run.settle(self.state.best, keep=self.keep)
        stack.callback(self._report_done)
        stack.enter_context(expecting(self._rehearse, self.display.compiling))
        self.clock = self.last_report = time.perf_counter()
        self.deadline = math.inf if self.time_limit is None else self.clock + self.time_limit
        while not self._ends():
            self._epoch()
        self._finish()
        if self.sharded is not None:
            self.sharded.give_back()
        if self.pipeline is not None:
            self.pipeline.give_back(self.optimizer)
        state = self.state
        history = History(tuple(state.epochs), tuple(state.evaluations), state.best, state.step, self.reason or "")
        for callback in self.callbacks:
            callback.on_end(history)
        return history

    def _epoch(self) -> None:
        """The rest of the epoch, or until there is a reason to end."""
        self.model.train()
        for batch in self.loader.batches() if self.parallel is None else self.parallel.batches(self.loader):
            self.batch = batch.x, batch.y, getattr(batch, "sample_weight", None), getattr(batch, "whole", None)
            self._batch(to_device(batch.x, self.model.device), *self.batch[1:])
            last = self.loader.step >= self.loader.steps_per_epoch
            if self.part.batches == self.settings.accumulate or last:
                self._update()
                if not last:
                    self._between(None)
                    if self._ends():
                        return
        self._end_epoch()

    def _not_planned(self, why: str) -> None:
        if self.run is not None:
            self.run.write_metrics({"kind": "plan", "step": self.state.step, "text": why})

    # ------------------------------------------------------------------ a step

    def _batch(self, x: Any, y: Any, weight: Any, whole: int | None) -> None:
        rows = whole or len(x)
        if self.loss_array is not None:
            self.part.finite.append(finite_rows(x))
        if self.parallel is None:
            grad, divisor, value = self._computed(x, y, weight)
        else:
            if self.pipeline is None:
                self.pipeline = self.parallel.begin(self.model, self.optimizer, x, rows)
            grad, divisor, value = self.parallel.computed(self.model, self._computed, x, y, weight, whole)
        if self.settings.accumulate > 1 and not isinstance(grad, Gradient):
            cure = "derive it from Gradient, or leave accumulate out"
            raise ArgumentError(
                explain("fit", "accumulate adds up gradients", type(grad).__qualname__, cure), "accumulate"
            )
        self.part.add(grad, divisor, value, rows)

    def _computed(self, x: Any, y: Any, weight: Any) -> tuple[Any, float | None, Any]:
        """The gradient of these rows, what their loss divided by, and the loss."""
        loss: Any = self.loss if weight is None else SampleWeighted(self.loss, weight)
        learner = self.compiled or self.learner
        prediction = learner.forward(x)
        y = self.task.targets(y, prediction)
        divisor = divisor_of(loss, prediction, y)  # of the labels on the host too
        divided(divisor)
        if self.loss_array is not None and self.check_target is not None:
            # while the labels are on the host: on the device this would wait
            self.check_target(y, prediction.shape[-1])
        y = to_device(y, self.model.device)
        if self.loss_array is not None:
            value, derivative = loss.loss_array(prediction, y), loss.loss_grad(prediction, y)
        else:
            both = self.loss_and_grad if weight is None else None
            value, derivative = (loss.loss(prediction, y), None) if both is None else both(loss, prediction, y)
            value = float(value)
            if not math.isfinite(value):
                rows, first, on = (x, 0, "") if self.parallel is None else self.parallel.searched(x, self.batch[0])
                place = place_in_forward(self.learner, rows, first)
                self._diverged(self.state.step + 1, "the loss", str(value), place + on)
            if both is None:
                derivative = loss.loss_grad(prediction, y)
        return learner.backward(derivative), divisor, value

    def _update(self) -> None:
        part, self.part = self.part, PendingStep()
        grad, part.summed = part.summed.mean(), Summed()
        told = (self.state.step + 1) % 50 == 0 or self.state.step == 0
        if self.sharded is not None and (told or self.transforms or self.settings.clip_grad_norm is not None):
            grad = self.sharded.whole(grad)
        if told:
            norms = gradient_norms(self.learner, grad)
            part.norms = norms if self.pipeline is None else self.pipeline.merged(norms)
        for transform in self.transforms:
            grad = transform(grad)
        if self.loss_array is not None:
            gradients = self.model.named_gradients(grad)
            part.derivatives = list(gradients)
            part.finite.append(finite_each([part.loss, *gradients.values()]))
        looked = self.loss_array is not None
        if self.settings.clip_grad_norm is not None:
            norm = math.nan
            if isinstance(grad, Gradient):  # a finite norm is of finite derivatives
                looked, norm = True, grad.norm() if self.pipeline is None else math.nan
                if not math.isfinite(norm) and not all_finite(grad.leaves().values()):
                    self._gradient_diverged(grad)
            norm = norm if self.pipeline is None else self.pipeline.norm(grad)
            grad = clipped(grad, self.settings.clip_grad_norm, norm)
        if isinstance(self.optimizer, GradientOptimizer):
            part.rate = self.optimizer.settings.lr(self.steps_before + self.state.step)
        self.stop.at_once = False
        if not updated(self.learner, self.optimizer, self.sharded, grad, None if looked else all_finite):
            self._gradient_diverged(grad if self.sharded is None else self.sharded.whole(grad))
        self.state.step += 1
        part.step, part.seconds = self.state.step, self._seconds()
        self.pending.append(part)
        if self.at_once or part.norms is not None or self.clock - self.last_report >= _UNREAD:
            self._report()

    def _seconds(self) -> float:
        """Count the time up to now; the seconds of the training, earlier processes of the run included."""
        now = time.perf_counter()
        self.state.seconds += now - self.clock
        self.state.total_seconds += now - self.clock
        self.clock = now
        return self.state.total_seconds

    def _report_done(self) -> None:
        """After an error too, each step that is done is in the metrics, unless its results are still on a device."""
        if self.pending and self.loss_array is None:
            self._report()

    def _report(self) -> None:
        """Write and show the pending steps, and call the callbacks with them; waits once for a device."""
        pending, self.pending = self.pending, []
        if self.loss_array is not None and pending:
            numbers = iter(read_together([array for each in pending for array in (each.loss, *each.finite)]))
            for each in pending:
                (each.loss,), *each.finite = next(numbers), *(next(numbers) for _ in each.finite)
        now = time.perf_counter()
        speed = sum([each.rows for each in pending]) / max(now - self.last_report, 1e-9)
        self.last_report = now
        for each in pending:
            if self.loss_array is not None and (broken := each.broken(self.model.device)):
                self._diverged(each.step, *broken)
            self.state.loss_sum += each.loss
            self.state.divisor += each.divisor
            self.state.rows += each.rows
            done = Step(
                each.step, self.number, mean(each.loss, each.divisor), each.rate, speed, each.seconds, each.norms
            )
            if self.run is not None:
                self.run.write_metrics({"kind": "step", **done.as_json()})
            self._call("on_step", done)
            self.display.step(each.step, self.number, mean(self.state.loss_sum, self.state.divisor), speed)

    def _call(self, name: Called, value: Step | Measured | Epoch) -> None:
        reason = called(self.callbacks, name, value)
        self.callback_reason = self.callback_reason or reason

    @property
    def averages(self) -> bool:
        """Whether the optimizer averages the weights; then evaluations, and the model at the end, have the average."""
        return isinstance(self.optimizer, GradientOptimizer) and self.optimizer.ema is not None

    @property
    def learner(self) -> Any:
        """What of the model this process computes and updates: all of it, or a stage."""
        return self.model if self.pipeline is None else self.pipeline.stage

    @property
    def number(self) -> int:
        """The current epoch, from 1."""
        return len(self.state.epochs) + 1

    def _gradient_diverged(self, grad: Any) -> None:
        self._diverged(self.state.step + 1, "the gradient", "NaN or infinity", place_in_gradient(self.learner, grad))

    def _diverged(self, step: int, what: str, got: str, place: str) -> None:
        raise diverged(what, f"{got} in step {step} (epoch {self.number}), first {place}")

    def _rehearse(self) -> None:
        """The step in progress, and a batch of the evaluation, on copies of all that they change."""
        optimizer, validation = self.optimizer, self.validation
        groups = (
            [optimizer.settings, *dict(optimizer.groups).values()] if isinstance(optimizer, GradientOptimizer) else []
        )
        known = is_known(self.model, self.loss, optimizer, self.task, *[settings.lr for settings in groups])
        if not known or self.pipeline is not None:  # a stage's own kernels come one after another
            return
        # of a sharded one the slices, which are stepped here without the other ranks
        model, loss, optimizer, batch = copied(self.model, self.loss, self.sharded or optimizer, self.batch)
        nothing: dict[str, Any] = {
            "run": None,
            "callbacks": [],
            "events": None,
            "early_stopping": None,
            "parallel": None,
            "sharded": None,
            "transforms": (),
            "progress": False,
        }
        start: dict[str, Any] = {"stop": Stop(), "state": TrainingState(), "part": PendingStep(), "pending": []}
        other = replace(self, model=model, loss=loss, optimizer=optimizer, **nothing, **start)
        other.display = Display(shown=False, total=0, done=0, epochs=0)
        model.train()
        for _ in range(min(self.settings.accumulate, 2)):  # the second one adds its gradient to the first one's
            other._batch(*batch)
        other._update()
        if validation is not None:
            other._evaluate(validation.first(), 1)

    # ------------------------------------------------------------------ between steps

    def _end_epoch(self) -> None:
        self._report()
        self._seconds()
        state = self.state
        epoch = Epoch(self.number, mean(state.loss_sum, state.divisor), state.seconds)
        speed = state.rows / max(epoch.seconds, 1e-9)
        state.loss_sum, state.divisor, state.rows, state.seconds = 0.0, 0.0, 0, 0.0
        state.epochs.append(epoch)
        self.display.epoch(epoch, state.step, self._between(epoch), speed)

    def _between(self, epoch: Epoch | None) -> Measured | None:
        """Evaluation and checkpoint, if they are due; ``epoch`` is the one just completed."""
        step, complete = self.state.step, None if epoch is None else epoch.number
        through = self.settings.complete(complete or 0, step)
        measured: Measured | None = None
        if self.validation is not None and (through or is_due(self.settings.evaluate_every, step, complete)):
            measured = self._evaluate(self.validation, complete or self.number)
            if epoch is None:
                self.display.note(f"step {step}  {summary(measured)}", step=step)
        if epoch is not None:
            self._call("on_epoch", epoch)
        better = self.state.best is not None and self.state.best.step == step
        due = better or through or is_due(self.settings.checkpoint_every, step, complete)
        if due if self.pipeline is None else self.pipeline.agreed(due):
            self._save()
        if not self.pending:
            self.last_report = time.perf_counter()
        return measured

    def _evaluate(self, validation: Evaluation[Any, Any], epoch: int) -> Measured:
        self._report()
        if self.pipeline is not None:
            self.pipeline.gather()
        state, early = self.state, self.early_stopping
        text: str | None = None
        with self._averaged():
            ranks = None if self.parallel is None else self.parallel.ranks
            value, metrics = validation.measure(self.model, self.loss, self.task, ranks, self.compiled)
            if math.isfinite(value) and isinstance(self.task, SpokenTask) and (self.progress or self.run is not None):
                text = self.task.sample(self.model, state.step)
        if not math.isfinite(value):
            self._diverged(
                state.step + 1,
                f"the {validation.split} loss",
                str(value),
                place_in_forward(
                    self.model, to_device(np.asarray(validation.x[: validation.batch_size]), self.model.device)
                ),
            )
        metrics = checked_metrics(metrics)
        for name, number in metrics.items():
            if not math.isfinite(number):
                self._diverged(state.step, f"the {validation.split} {name}", str(number), "in the task's metrics")
        measured = Measured(state.step, epoch, validation.split, value, metrics)
        metric = early.metric if early is not None else "loss" if measured.accuracy is None else "accuracy"
        state.waited *= early is None or early.counts(len(state.epochs))
        best = state.record(measured, metric, None if early is None else early.min_delta)
        if self.run is not None:
            self.run.write_metrics({"kind": "evaluation", **measured.as_json()})
            if text is not None:
                self.run.write_metrics({"kind": "sample", "step": state.step, "text": text})
        if text is not None:
            self.display.note(f"--- after step {state.step} ---\n{text}\n---", step=state.step)
        if isinstance(self.optimizer, GradientOptimizer):
            self.optimizer.observe({"loss": value, **metrics})
        self._call("on_evaluation", measured)
        # where the averages are those of all ranks, each takes part
        keeps = self.run is None or self.sharded is not None
        if best and keeps and early is not None and early.restore_best_weights:
            with self._averaged():
                self.best_weights = {name: array.copy() for name, array in self.model.state_dict().items()}
        return measured

    def _averaged(self) -> AbstractContextManager[None]:
        optimizer: Any = self.sharded or self.optimizer
        return optimizer.averaged() if self.averages else nullcontext()

    def _ends(self) -> bool:
        """Whether training should end now; then ``reason`` says why."""
        early, signal = self.early_stopping, self.stop.signal
        reasons = {
            "": self.settings.complete(len(self.state.epochs), self.state.step),
            "early stopping": early is not None and early.ends(self.state.waited, len(self.state.epochs)),
            "a signal" if signal is None else signal.name: signal is not None,
            "time limit": time.perf_counter() >= self.deadline,
            self.callback_reason or "a callback": bool(self.callback_reason),
        }
        if self.reason is None:
            self.reason = next((reason for reason, holds in reasons.items() if holds), None)
            if self.parallel is not None:
                self.reason = agreed(self.parallel.ranks, self.reason, self.stop)
        return self.reason is not None

    def _finish(self) -> None:
        """Save where training ends early, and report it; then give the model the best weights, if they are wanted, or
        the average. The last weights, and the optimizer that belongs to them, are in the last checkpoint.
        """
        self._report()
        step, best, early = self.state.step, self.state.best, self.early_stopping
        done = self.run is None or self.run.folder_of(step).is_dir()
        if not (done if self.parallel is None else self.parallel.ranks.from_first(done)):
            self._save()
        if self.reason:
            run = None if self.reason == "early stopping" else self.run
            saved = "" if run is None else f"; saved, resume it from {run.folder}"
            self.display.note(f"stopped by {self.reason} after step {step}{saved}")
        if self.stop.signal is not None:
            return
        if early is not None and early.restore_best_weights and best is not None and best.step != step:
            if self.run is not None:
                self.run.load_weights(self.model, "best")
            elif self.best_weights is not None:
                self.model.load_state_dict(self.best_weights)
        elif self.averages:
            optimizer: Any = self.sharded or self.optimizer
            put(self.model, optimizer.averages())

    # ------------------------------------------------------------------ saving and resuming

    def _save(self) -> None:
        """Save where there is a run. All ranks give what they have of a model in stages, and of an optimizer that is
        shared out.
        """
        whole: AbstractContextManager[None] = nullcontext()
        if self.pipeline is not None:
            whole = self.pipeline.whole(self.optimizer)
        elif self.sharded is not None:
            whole = self.sharded.whole_state(wanted=self.run is not None)
        with whole:
            if self.run is not None:
                self._write(self.run)

    def _write(self, run: Run) -> None:
        self._report()
        if self.events is not None:
            self.events.writer.flush()
        self._seconds()
        self.state.callbacks = [saved_state(each) for each in self.callbacks if each is not self.events]
        run.save(self.state, self.model, self.optimizer, self.loader, keep=self.keep)
