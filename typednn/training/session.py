"""Session: one call of `typednn.training.fit`, from the checkpoint that it goes on from to the last that it writes."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from typednn.backends import read_together, to_device
from typednn.errors import ArgumentError, StateError, explain
from typednn.gradients import Gradient
from typednn.optim import clip_grad_norm
from typednn.optim.optimizer import GradientOptimizer
from typednn.training.callbacks import Callback
from typednn.training.environment import differences
from typednn.training.evaluation import Evaluation
from typednn.training.events import Events
from typednn.training.finite import finite_each, finite_gradient, finite_rows, place_in_forward, place_in_gradient
from typednn.training.plan import Plan, gradient_norms, step_line
from typednn.training.progress import Display, told
from typednn.training.resume import bind, restore
from typednn.training.run import Run, RunWarning
from typednn.training.signals import Stop
from typednn.training.state import Best, Epoch, History, Measured, Step, TrainingState, generator_states

_NORMS = 50  # steps between two looks at the gradients' norms
_UNREAD = 0.25  # seconds between two looks at what steps on a device have left there
_THROUGH = "through"


@dataclass(slots=True)
class _Taken:
    """A step that was taken and not told yet. On a device ``loss`` (Σ loss·rows) and ``looks`` are arrays that nobody has read."""

    step: int
    loss: Any
    rows: int
    rate: float | None
    seconds: float
    norms: dict[str, float] | None
    looks: list[Any]  # whether each row of each batch is finite, then whether the loss and each derivative are


@final
class Session:
    """Everything that changes while training, beside the weights."""

    def __init__(
        self,
        model: Any,
        loss: Any,
        optimizer: Any,
        loader: Any,
        plan: Plan,
        run: Run | None,
        callbacks: list[Callback],
        validation: Evaluation[Any, Any] | None,
        stop: Stop,
    ) -> None:
        self.model: Any = model
        self.loss: Any = loss
        self.optimizer: Any = optimizer
        self.loader: Any = loader
        self.plan: Plan = plan
        self.run: Run | None = run
        self.callbacks: list[Callback] = callbacks
        self.validation: Evaluation[Any, Any] | None = validation
        self.stop: Stop = stop
        # Results stay on a device until those of several steps are read at once. A loss from outside, and clipping, read theirs each step.
        self.apart: bool = model.device != "cpu" and hasattr(loss, "loss_array") and plan.clip is None
        self.at_once: bool = not self.apart or any(type(each).on_step is not Callback.on_step for each in callbacks)
        self.taken: list[_Taken] = []
        self.derivatives: list[str] = []  # the names of those that ``looks`` looked at
        self.step: int = 0
        self.origin: int = loader.epoch
        self.epochs: list[Epoch] = []
        self.evaluations: list[Measured] = []
        self.best: Best | None = None
        self.waited: int = 0
        self.watched: float | None = None
        self.loss_sum: float = 0.0
        self.rows: int = 0
        self.seconds: float = 0.0  # of the epoch under way, in earlier processes
        self.total_seconds: float = 0.0  # of the whole run, likewise
        self.saved: int = -1  # the step of the newest checkpoint
        self.grad: Any = None  # of the step under way, with its Σ loss·rows, rows and batches
        self.part_loss: Any = 0.0
        self.part_looks: list[Any] = []
        self.part_rows: int = 0
        self.part_batches: int = 0
        self.reason: str = ""
        self.events: Events | None = None
        self.lr_offset: int = 0
        self.best_weights: dict[str, Any] | None = None  # where no checkpoint holds them

    def train(self, stack: ExitStack) -> History:
        """Go on from the run's checkpoint, if it has one, until the end or until something stops it."""
        self._resume()
        self.began: float = time.perf_counter()
        self.epoch_began: float = self.began
        self.last_step: float = self.began
        if self.events is not None:
            stack.callback(self.events.close)
        steps = -(-self.loader.steps_per_epoch // self.plan.accumulate)
        display = Display(shown=self.plan.progress, total=steps * self.plan.epochs, done=self.step, epochs=self.plan.epochs)
        self.display: Display = stack.enter_context(display)
        if self.events is not None and self.events.missing:
            display.note(self.events.missing)
        while not self._ends():
            self._epoch()
        self._finish()
        history = self.history()
        for callback in self.callbacks:
            callback.on_end(history)
        return history

    def _epoch(self) -> None:
        """The rest of the epoch, or as much of it as there is a reason for."""
        self.model.train()
        for batch in self.loader.batches():
            self._batch(to_device(batch.x, self.model.device), batch.y)
            last = self.loader.step >= self.loader.steps_per_epoch
            if self.part_batches == self.plan.accumulate or last:
                self._update()
                if not last:
                    self._between(None)
                    if self._ends():
                        return
        self._end_epoch()

    # ------------------------------------------------------------------ a step

    def _batch(self, x: Any, y: Any) -> None:
        prediction = self.model.forward(x)
        if self.apart and hasattr(self.loss, "check_target"):
            self.loss.check_target(y, prediction.shape[1])  # where the labels were made: on the device this would wait
        y = to_device(y, self.model.device)
        if self.apart:
            value = self.loss.loss_array(prediction, y)
            self.part_looks.append(finite_rows(x))
        else:
            value = float(self.loss.loss(prediction, y))
            if not math.isfinite(value):
                self._diverged(self.step + 1, "the loss", str(value), place_in_forward(self.model, x))
        grad = self.model.backward(self.loss.loss_grad(prediction, y))
        if self.plan.accumulate > 1 and not isinstance(grad, Gradient):
            cure = "derive it from Gradient, or leave accumulate out"
            raise ArgumentError(explain("fit", "accumulate adds up gradients", type(grad).__qualname__, cure), "accumulate")
        if self.plan.accumulate > 1:  # a sum, so that any number of batches needs the memory of two
            grad = grad * float(len(x))
            self.grad = grad if self.grad is None else self.grad + grad
        else:
            self.grad = grad
        self.part_batches += 1
        self.part_rows += len(x)
        self.part_loss += value * len(x)

    def _update(self) -> None:
        grad, value, rows, looks = self.grad, self.part_loss, self.part_rows, self.part_looks
        self.grad, self.part_loss, self.part_rows, self.part_batches, self.part_looks = None, 0.0, 0, 0, []
        if self.plan.accumulate > 1:
            grad = grad * (1.0 / rows)
        if self.apart:
            gradients = self.model.named_gradients(grad)
            self.derivatives = list(gradients)
            looks.append(finite_each([value, *gradients.values()]))
        elif not finite_gradient(self.model, grad):
            self._diverged(self.step + 1, "the gradient", "NaN or infinity", place_in_gradient(self.model, grad))
        norms = gradient_norms(self.model, grad) if (self.step + 1) % _NORMS == 0 or self.step == 0 else None
        if self.plan.clip is not None:
            grad = clip_grad_norm(grad, self.plan.clip)
        rate = self.optimizer.settings.lr(self.step + self.lr_offset) if isinstance(self.optimizer, GradientOptimizer) else None
        self.stop.at_once = False
        self.model.update(self.optimizer, grad)
        self.step += 1
        now = time.perf_counter()
        self.taken.append(_Taken(self.step, value, rows, rate, self.total_seconds + now - self.began, norms, looks))
        if self.at_once or norms is not None or now - self.last_step >= _UNREAD:
            self._tell()

    def _tell(self) -> None:
        """Look at what was taken, write it, show it and tell the callbacks; a device is waited for once."""
        taken, self.taken = self.taken, []
        if self.apart and taken:
            numbers = iter(read_together([array for each in taken for array in (each.loss, *each.looks)]))
            for each in taken:
                (each.loss,), *each.looks = next(numbers), *(next(numbers) for _ in each.looks)
        now = time.perf_counter()
        speed = sum([each.rows for each in taken]) / max(now - self.last_step, 1e-9)
        self.last_step = now
        for each in taken:
            if self.apart:
                self._look(each)
            self.loss_sum += each.loss
            self.rows += each.rows
            done = Step(each.step, self.number, each.loss / each.rows, each.rate, speed, each.seconds, each.norms)
            if self.run is not None:
                self.run.write_metrics(step_line(done))
            for callback in self.callbacks:
                callback.on_step(done)
            self.display.step(each.step, self.number, self.loss_sum / self.rows, speed)

    def _look(self, taken: _Taken) -> None:
        """Stop where a step on a device was not finite."""
        *batches, (_, *derivatives) = taken.looks
        if not math.isfinite(taken.loss):
            places = [f"in the data: row {rows.index(0)} of the batch" for rows in batches if 0 in rows]
            places += [f"on {self.model.device!r}, where a layer is not named: the weights have gone on"]
            self._diverged(taken.step, "the loss", str(taken.loss / taken.rows), places[0])
        broken = [name for name, fine in zip(self.derivatives, derivatives, strict=True) if not fine]
        if broken:
            self._diverged(taken.step, "the gradient", "NaN or infinity", f'in the gradient of "{broken[-1]}"')

    @property
    def number(self) -> int:
        """The epoch under way, from 1."""
        return len(self.epochs) + 1

    def _diverged(self, step: int, what: str, got: str, place: str) -> None:
        rule, cure = f"{what} must stay finite", "lower the learning rate, clip the gradient, or look for NaN in the data"
        raise StateError(explain("fit", rule, f"{got} in step {step} (epoch {self.number}), first {place}", cure))

    # ------------------------------------------------------------------ between steps

    def _end_epoch(self) -> None:
        self._tell()
        now = time.perf_counter()
        seconds = self.seconds + now - self.epoch_began
        epoch = Epoch(self.number, self.loss_sum / max(self.rows, 1), seconds)
        speed = self.rows / max(seconds, 1e-9)
        self.loss_sum, self.rows, self.seconds, self.epoch_began = 0.0, 0, 0.0, now
        self.epochs.append(epoch)
        measured = self._between(epoch)
        self.display.epoch(epoch, self.step, measured, speed)

    def _between(self, epoch: Epoch | None) -> Measured | None:
        """Evaluation and checkpoint, if they are due; ``epoch`` is the one just completed."""
        complete = None if epoch is None else len(self.epochs)
        through = complete is not None and complete >= self.plan.epochs
        measured: Measured | None = None
        better = False
        if self.validation is not None and (through or self.plan.evaluate.due(self.step, complete)):
            measured, better = self._evaluate(self.validation, self.number if epoch is None else epoch.number)
            if epoch is None:
                self.display.note(f"step {self.step}  {told(measured)}")
        if epoch is not None:
            for callback in self.callbacks:
                callback.on_epoch(epoch)
        if self.run is not None and (better or through or self.plan.checkpoint.due(self.step, complete)):
            self._save(self.run)
        if not self.taken:
            self.last_step = time.perf_counter()
        return measured

    def _evaluate(self, validation: Evaluation[Any, Any], epoch: int) -> tuple[Measured, bool]:
        self._tell()
        value, accuracy = validation.measure(self.model, self.loss.loss)
        if not math.isfinite(value):
            place = place_in_forward(self.model, to_device(np.asarray(validation.x[: validation.batch_size]), self.model.device))
            self._diverged(self.step + 1, f"the {validation.split} loss", str(value), place)
        measured = Measured(self.step, epoch, validation.split, value, accuracy)
        self.evaluations.append(measured)
        if self.run is not None:
            self.run.write_metrics({"kind": "evaluation", **asdict(measured)})
        for callback in self.callbacks:
            callback.on_evaluation(measured)
        metric = "loss" if accuracy is None else "accuracy"
        rule = self.plan.early_stopping
        if rule is not None:
            metric = rule.metric if accuracy is not None else "loss"
            worth = measured.value(rule.metric)
            if self.watched is None or worth > self.watched + rule.min_delta:
                self.watched, self.waited = worth, 0
            else:
                self.waited += 1
        better = self.best is None or measured.value(metric) > self.best.value
        if better:
            self.best = Best(self.step, metric, measured.value(metric))
            if self.run is None and rule is not None and rule.restore_best_weights:
                self.best_weights = {name: array.copy() for name, array in self.model.state_dict().items()}
        return measured, better

    def _ends(self) -> bool:
        """Whether training should end now; then ``reason`` says why."""
        rule, limit = self.plan.early_stopping, self.plan.time_limit
        if self.reason:
            return True
        if len(self.epochs) >= self.plan.epochs:
            self.reason = _THROUGH
        elif rule is not None and self.waited >= rule.patience:
            self.reason = "early stopping"
        elif self.stop.signal is not None:
            self.reason = self.stop.signal.name
        elif limit is not None and time.perf_counter() - self.began >= limit:
            self.reason = "time limit"
        return self.reason != ""

    def _finish(self) -> None:
        """Save where training ends early, and say so."""
        self._tell()
        if self.run is not None and self.step != self.saved:
            self._save(self.run)
        if self.reason != _THROUGH:
            saved = "" if self.run is None else f"; saved, resume it from {self.run.folder}"
            self.display.note(f"stopped by {self.reason} after step {self.step}{saved}")
        rule = self.plan.early_stopping
        if rule is not None and rule.restore_best_weights and self.stop.signal is None:
            self._restore_best()

    def _restore_best(self) -> None:
        """The best weights into the model in hand; the last ones, and the optimizer that belongs to them, are in the last checkpoint."""
        if self.best is not None and self.best.step != self.step:
            if self.run is not None:
                self.run.load_weights(self.model, "best")
            elif self.best_weights is not None:
                self.model.load_state_dict(self.best_weights)

    def history(self) -> History:
        """What was told so far, earlier processes of the run included."""
        stopped = "" if self.reason == _THROUGH else self.reason
        return History(tuple(self.epochs), tuple(self.evaluations), self.best, self.step, stopped)

    # ------------------------------------------------------------------ saving and going on

    def _save(self, run: Run) -> None:
        self._tell()
        if self.events is not None:
            self.events.flush()
        now = time.perf_counter()
        state = TrainingState(
            step=self.step,
            origin=self.origin,
            loader=self.loader.state_dict(),
            generators=generator_states(self.model),
            metrics_bytes=run.metrics_bytes,
            loss_sum=self.loss_sum,
            rows=self.rows,
            seconds=self.seconds + now - self.epoch_began,
            total_seconds=self.total_seconds + now - self.began,
            epochs=tuple(self.epochs),
            evaluations=tuple(self.evaluations),
            best=self.best,
            waited=self.waited,
            watched=self.watched,
        )
        run.save(state, self.model, self.optimizer, keep=self.plan.keep)
        self.saved = self.step

    def _resume(self) -> None:
        if self.run is not None:
            self.run.require_lock()
            bind(self.optimizer, self.model)
            found = self.run.latest()
            if found is not None:
                changed = differences(found.environment, self.run.environment, str(self.model.dtype))
                if changed:
                    text = "; ".join(changed)
                    warnings.warn(RunWarning(f"{self.run.folder}: the bits may differ from an uninterrupted run's: {text}"), stacklevel=4)
                state = found.state
                restore(found, self.model, self.optimizer, self.loader)
                self.step, self.origin, self.saved = state.step, state.origin, state.step
                self.epochs, self.evaluations = list(state.epochs), list(state.evaluations)
                self.best, self.waited, self.watched = state.best, state.waited, state.watched
                self.loss_sum, self.rows, self.seconds, self.total_seconds = state.loss_sum, state.rows, state.seconds, state.total_seconds
                self.run.start_metrics(state.metrics_bytes)
                self.run.settle(state.best, keep=self.plan.keep)
            else:
                self.run.start_metrics(0)
            self.events = Events(self.run.path("events"), self.step)
            self.callbacks.insert(0, self.events)
        if isinstance(self.optimizer, GradientOptimizer):
            try:
                counts = [value for value in self.optimizer.state_dict().values() if isinstance(value, int)]
            except StateError:  # bound to no model: it counts by array
                counts = []
            self.lr_offset = counts[0] - self.step if counts else 0
