"""The training loop: it learns, it is repeatable, it stops where it should, it leaves things as it should."""

import gc
import json
import os
import re
import signal
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, Integer
from rich.console import Console
from rich.text import Text

from typednn import Gradient, Input, Layer, Optimizer, S
from typednn.arrays import Array2, IntArray1
from typednn.data import Loader, batches
from typednn.engines import available, get_threads, set_threads
from typednn.engines.halide import parallel
from typednn.errors import ArgumentError, NotForwarded, StateError
from typednn.layer import Chain
from typednn.layers import Linear, LinearGrad, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, CosineLR, accumulate, clip_grad_norm
from typednn.random import PCG32
from typednn.runs import Run, RunWarning
from typednn.training import Callback, EarlyStopping, Epoch, Evaluation, Every, History, Measured, Step, fit
from typednn.training.progress import Display

Model = Chain[Array2, Array2, str, *tuple[Any, ...]]


def _model() -> Model:
    return (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0))


def _data(n: int = 50) -> tuple[Array2, IntArray1]:
    x = np.random.default_rng(0).standard_normal((n, 4), dtype=np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(np.int64)


def _fit(
    model: Model, x: Array2, y: IntArray1, *, batch_size: int = 8, optimizer: Any = None, **changes: Any
) -> History:
    options: dict[str, Any] = {"epochs": 5, "progress": False}
    loader = Loader(x, y, batch_size=batch_size, rng=PCG32(1))
    return fit(model, SoftmaxCrossEntropy(), optimizer or SGD(0.3), loader, **(options | changes))


class Told(Callback):
    """Keeps everything that it is told."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []
        self.evaluations: list[Measured] = []
        self.ends: list[History] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)

    def on_evaluation(self, measured: Measured) -> None:
        self.evaluations.append(measured)

    def on_end(self, history: History) -> None:
        self.ends.append(history)


def _same(model: Model, other: Model) -> bool:
    return all(
        mine.tobytes() == its.tobytes() for mine, its in zip(model.parameters(), other.parameters(), strict=True)
    )


# --- learning ------------------------------------------------------------------------------------------------------


def test_the_loss_falls() -> None:
    history = _fit(_model(), *_data(), epochs=20)
    assert [epoch.number for epoch in history.epochs] == list(range(1, 21))
    assert history.losses[0] > 0.4
    assert history.losses[-1] < 0.15
    assert all(epoch.seconds > 0 for epoch in history.epochs)
    assert history.steps == 140
    assert history.stopped == ""


def test_equals_the_loop_written_out() -> None:
    """P-C4: each epoch in a new order from the one generator; the mean weighs the short last batch by its rows."""
    x, y = _data()
    trained = _model()
    history = _fit(trained, x, y, epochs=2)
    model, loss, optimizer, rng = _model(), SoftmaxCrossEntropy(), SGD(0.3), PCG32(1)
    for epoch in range(2):
        values, sizes = [], []
        for rows in batches(50, 8, rng):
            scores = model.forward(x[rows])
            values.append(loss.loss(scores, y[rows]))
            sizes.append(len(rows))
            model.update(optimizer, model.backward(loss.loss_grad(scores, y[rows])))
        np.testing.assert_allclose(history.losses[epoch], np.average(values, weights=sizes), rtol=1e-12)
    assert _same(trained, model)


def test_a_second_call_goes_on() -> None:
    x, y = _data()
    once, twice = _model(), _model()
    _fit(once, x, y, epochs=4)
    loader, optimizer = Loader(x, y, batch_size=8, rng=PCG32(1)), SGD(0.3)
    for _ in range(2):
        fit(twice, SoftmaxCrossEntropy(), optimizer, loader, epochs=2, progress=False)
    assert _same(once, twice)


def test_targets_of_rank_two() -> None:
    x, _ = _data()
    model = (Input(4) >> Linear(4, 2)).init(PCG32(0))
    history = fit(
        model, MSE(), SGD(0.1), Loader(x, x[:, :2] * 2, batch_size=10, rng=PCG32(0)), epochs=30, progress=False
    )
    assert history.losses[-1] < 0.02 * history.losses[0]


def test_trains_also_after_eval_and_keeps_nothing() -> None:
    model = _model().eval()
    before = [weights.copy() for weights in model.parameters()]
    _fit(model, *_data(), epochs=1)
    assert any(not np.array_equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((8, 2), np.float32))


def test_accumulation_is_one_larger_batch() -> None:
    """The gradient by rows: 8 + 8 + 4 rows as 20 would be, and the rest of an epoch is an update of its own."""
    x, y = _data(60)
    small, large, told = _model(), _model(), Told()
    fit(
        small,
        SoftmaxCrossEntropy(),
        SGD(0.3),
        Loader(x, y, batch_size=10, shuffle=False),
        epochs=2,
        accumulate=4,
        callbacks=[told],
        progress=False,
    )
    loss, optimizer = SoftmaxCrossEntropy(), SGD(0.3)
    for _ in range(2):
        for rows in (slice(0, 40), slice(40, 60)):
            large.update(optimizer, large.backward(loss.loss_grad(large.forward(x[rows]), y[rows])))
    assert [step.step for step in told.steps] == [1, 2, 3, 4]
    for mine, its in zip(small.parameters(), large.parameters(), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-6)


def test_accumulation_equals_the_function() -> None:
    x, y = _data(40)
    model, other = _model(), _model()
    fit(
        model,
        SoftmaxCrossEntropy(),
        SGD(0.3),
        Loader(x, y, batch_size=10, shuffle=False),
        epochs=1,
        accumulate=2,
        progress=False,
    )
    loss, optimizer = SoftmaxCrossEntropy(), SGD(0.3)
    for start in (0, 20):
        halves = []
        for rows in (slice(start, start + 10), slice(start + 10, start + 20)):
            halves.append(other.backward(loss.loss_grad(other.forward(x[rows]), y[rows])))
        other.update(optimizer, accumulate(halves))
    for mine, its in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-7)


def test_clipping_is_the_function() -> None:
    x, y = _data(40)
    clipped, other = _model(), _model()
    loader = Loader(x, y, batch_size=40, shuffle=False)
    fit(clipped, SoftmaxCrossEntropy(), SGD(0.3), loader, epochs=3, clip_grad_norm=0.05, progress=False)
    loss, optimizer = SoftmaxCrossEntropy(), SGD(0.3)
    for _ in range(3):
        grad = other.backward(loss.loss_grad(other.forward(x), y))
        assert grad.norm() > 0.05
        other.update(optimizer, clip_grad_norm(grad, 0.05))
    assert _same(clipped, other)


# --- what is told --------------------------------------------------------------------------------------------------


def test_everything_is_told_in_order() -> None:
    x, y = _data()
    told = Told()
    schedule = CosineLR(0.1, total_steps=14, warmup_steps=3)
    history = _fit(_model(), x, y, epochs=2, optimizer=Adam(schedule), callbacks=[told], validation=Evaluation(x, y))
    assert [step.step for step in told.steps] == list(range(1, 15))
    assert [step.epoch for step in told.steps] == [1] * 7 + [2] * 7
    assert [step.lr for step in told.steps] == [schedule(step) for step in range(14)]
    assert set(told.steps[0].gradient_norms or {}) == {"0", "2"}
    assert all(step.gradient_norms is None for step in told.steps[1:])
    assert all(step.samples_per_second > 0 for step in told.steps)
    assert [step.seconds for step in told.steps] == sorted(step.seconds for step in told.steps)
    assert tuple(told.epochs) == history.epochs
    assert tuple(told.evaluations) == history.evaluations
    assert [(each.step, each.epoch, each.split) for each in told.evaluations] == [
        (7, 1, "validation"),
        (14, 2, "validation"),
    ]
    assert told.ends == [history]


def test_the_rate_told_is_the_optimizers_own() -> None:
    """A schedule goes on where the optimizer stands, also in a second call."""
    x, y = _data()
    told, model, schedule = Told(), _model(), CosineLR(0.1, total_steps=14)
    optimizer = Adam(schedule).bind(model)
    for _ in range(2):
        _fit(model, x, y, epochs=1, optimizer=optimizer, callbacks=[told])
    assert [step.lr for step in told.steps] == [schedule(step) for step in range(14)]


def test_the_rate_of_an_optimizer_that_was_never_bound() -> None:
    """It counts by array; a schedule goes on likewise."""
    x, y = _data()
    told, model, schedule = Told(), _model(), CosineLR(0.1, total_steps=14)
    optimizer = Adam(schedule)
    assert optimizer.steps == 0
    for _ in range(2):
        _fit(model, x, y, epochs=1, optimizer=optimizer, callbacks=[told])
    assert optimizer.steps == 14
    assert [step.lr for step in told.steps] == [schedule(step) for step in range(14)]


# --- what is done to the gradient ----------------------------------------------------------------------------------


def test_a_transform_comes_between_backward_and_update() -> None:
    """As written out by hand: the gradient doubled, then clipped."""
    x, y = _data(40)

    def batches() -> Any:
        return Loader(x, y, batch_size=8, rng=PCG32(1))

    mine, by_hand, loss, optimizer = _model(), _model(), SoftmaxCrossEntropy(), SGD(0.1)
    fit(
        mine, loss, SGD(0.1), batches(), epochs=1, transform=lambda grad: grad * 2.0, clip_grad_norm=0.5, progress=False
    )
    for batch in batches().batches():
        grad = by_hand.backward(loss.loss_grad(by_hand.forward(batch.x), batch.y))
        by_hand.update(optimizer, clip_grad_norm(grad * 2.0, 0.5))
    for one, other in zip(mine.parameters(), by_hand.parameters(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_transform_that_gives_nan_writes_nothing(tmp_path: Path) -> None:
    model = _model()
    before = {name: array.copy() for name, array in model.state_dict().items()}

    def broken(grad: Any) -> Any:
        return grad * float("nan")

    message = (
        r"the gradient must stay finite, got NaN or infinity in step 1 \(epoch 1\), first in the gradient of \"2.bias\""
    )
    with Run.create(tmp_path / "run", "", model) as run, pytest.raises(StateError, match=message):
        _fit(model, *_data(), run=run, transform=broken)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    assert not run.checkpoint_folder.exists()


def test_transforms_from_a_generator_hold_for_all_steps() -> None:
    one, other = _model(), _model()
    _fit(one, *_data(), transform=(each for each in [lambda grad: grad * 0.5]))
    _fit(other, *_data(), transform=lambda grad: grad * 0.5)
    assert _same(one, other)


@pytest.mark.parametrize(("transform", "got"), [(3, "int"), ([abs, None], "NoneType"), ("clip", "str")])
def test_a_transform_is_a_function(transform: Any, got: str) -> None:
    match = f"fit: transform is a function from gradient to gradient, or several, got {got}$"
    with pytest.raises(ArgumentError, match=match) as refusal:
        _fit(_model(), *_data(), transform=transform)
    assert refusal.value.argument == "transform"


def test_transforms_go_in_order() -> None:
    x, y = _data(40)
    seen: list[tuple[str, float]] = []

    def noting(name: str, factor: float) -> Any:
        def transform(grad: Any) -> Any:
            seen.append((name, grad.norm()))
            return grad * factor

        return transform

    loader = Loader(x, y, batch_size=40, shuffle=False)
    fit(
        _model(),
        SoftmaxCrossEntropy(),
        SGD(0.1),
        loader,
        epochs=1,
        transform=[noting("a", 3.0), noting("b", 1.0)],
        progress=False,
    )
    assert [name for name, _ in seen] == ["a", "b"]
    assert seen[1][1] == pytest.approx(3.0 * seen[0][1])


# --- ended by a callback -------------------------------------------------------------------------------------------


class Ending(Callback):
    """Gives a reason from one of its calls on, which a checkpoint counts too."""

    def __init__(self, hook: str, at: int) -> None:
        self.hook, self.at, self.calls = hook, at, 0

    def state_dict(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self.calls = state["calls"]

    def _reason(self, hook: str) -> str | None:
        self.calls += hook == self.hook
        return f"enough of {hook}" if hook == self.hook and self.calls >= self.at else None

    def on_step(self, step: Step) -> str | None:
        return self._reason("on_step")

    def on_evaluation(self, measured: Measured) -> str | None:
        return self._reason("on_evaluation")

    def on_epoch(self, epoch: Epoch) -> str | None:
        return self._reason("on_epoch")


@pytest.mark.parametrize(
    ("hook", "at", "steps"),
    [("on_step", 3, 3), ("on_step", 7, 7), ("on_epoch", 2, 14), ("on_evaluation", 1, 5)],
)
def test_a_callback_ends_a_training(hook: str, at: int, steps: int) -> None:
    """After the step that is done; callbacks behind it are told of that step too."""
    x, y = _data()
    told = Told()
    history = _fit(
        _model(), x, y, epochs=4, callbacks=[Ending(hook, at), told], validation=Evaluation(x, y), evaluate_every=5
    )
    assert (history.stopped, history.steps) == (f"enough of {hook}", steps)
    assert [step.step for step in told.steps] == list(range(1, steps + 1))


def test_a_callback_goes_on_where_it_was(tmp_path: Path) -> None:
    """It counts on as if there had been no break, wherever it is in the list; one more of its class begins anew."""
    x, y = _data()
    model = _model()
    with Run.create(tmp_path / "run", "", model) as run:
        _fit(model, x, y, epochs=1, run=run, callbacks=[Told(), Ending("on_step", 10)])
    state = json.loads((run.folder_of(7) / "state.json").read_text(encoding="utf-8"))
    assert state["callbacks"] == [{"Told": {}}, {"Ending": {"calls": 7}}]
    same, more = Ending("on_step", 10), Ending("on_step", 10)
    with Run.open(tmp_path / "run") as run:
        history = _fit(_model(), x, y, epochs=3, run=run, callbacks=[same, more])
    assert (history.stopped, history.steps) == ("enough of on_step", 10)
    assert (same.calls, more.calls) == (10, 3)


def test_a_state_without_its_callback_is_named(tmp_path: Path) -> None:
    x, y = _data()
    model = _model()
    with Run.create(tmp_path / "run", "", model) as run:
        _fit(model, x, y, epochs=1, run=run, callbacks=[Ending("on_step", 90), Told(), Ending("on_epoch", 90)])
    first = Ending("on_step", 90)
    with (
        Run.open(tmp_path / "run") as run,
        pytest.warns(RunWarning, match="the checkpoint holds the state of a callback that is not there: Ending$"),
    ):
        _fit(_model(), x, y, epochs=2, run=run, callbacks=[first])
    assert first.calls == 14


@pytest.mark.parametrize(
    "state", [None, [1], {"at": {1, 2}}, {"at": np.float32(1)}, {"at": float("inf")}, {1: 2}, {"at": (1, 2)}], ids=str
)
def test_a_state_that_is_no_json_is_refused(state: Any, tmp_path: Path) -> None:
    class Odd(Callback):
        def state_dict(self) -> dict[str, Any]:
            return state  # type: ignore[no-any-return]

    model = _model()
    with (
        Run.create(tmp_path / "run", "", model) as run,
        pytest.raises(
            ArgumentError, match=r"fit: state_dict gives a dict of JSON values, got .* from .*Odd$"
        ) as refusal,
    ):
        _fit(model, *_data(), run=run, callbacks=[Odd()])
    assert refusal.value.argument == "callbacks"


@pytest.mark.parametrize("hook", ["on_step", "on_evaluation", "on_epoch"])
def test_what_a_callback_returns_is_checked(hook: str) -> None:
    class Odd(Callback):
        pass

    setattr(Odd, hook, lambda *_: True)
    x, y = _data()
    match = rf"fit: a callback returns None, or a text to end the training, got bool from .*Odd\.{hook}$"
    with pytest.raises(ArgumentError, match=match) as refusal:
        _fit(_model(), x, y, validation=Evaluation(x, y), callbacks=[Odd()])
    assert refusal.value.argument == "callbacks"


def test_a_run_that_a_callback_ended_goes_on(tmp_path: Path) -> None:
    """It was saved where it ended; resumed without the callback, it ends with the bits of one that went through."""
    x, y = _data()

    def trained(folder: Path, *callbacks: Callback) -> tuple[History, Any]:
        model = _model()
        with Run.open(folder) if folder.exists() else Run.create(folder, "", model) as run:
            return _fit(model, x, y, epochs=3, run=run, callbacks=callbacks), model

    ended, _ = trained(tmp_path / "run", Ending("on_step", 9))
    assert (ended.stopped, ended.steps) == ("enough of on_step", 9)
    with pytest.warns(RunWarning, match="the state of a callback that is not there: Ending"):
        through, model = trained(tmp_path / "run")
    _, undisturbed = trained(tmp_path / "other")
    assert (through.stopped, through.steps) == ("", 21)
    for one, other in zip(model.parameters(), undisturbed.parameters(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_best_is_the_first_that_nothing_beats() -> None:
    x, y = _data()
    history = _fit(_model(), x, y, epochs=20, validation=Evaluation(x, y), evaluate_every=2)
    assert history.best is not None
    values = {each.step: each.accuracy for each in history.evaluations}
    assert history.best.value == max(values.values(), key=lambda value: value or 0.0)
    assert history.best.step == next(step for step, value in values.items() if value == history.best.value)
    assert history.best.step < history.steps


def test_the_gradient_norms() -> None:
    x, y = _data(40)
    told, model, loss = Told(), _model(), SoftmaxCrossEntropy()
    grad = model.backward(loss.loss_grad(model.forward(x), y))
    fit(model, loss, SGD(0.1), Loader(x, y, batch_size=40, shuffle=False), epochs=50, callbacks=[told], progress=False)
    norms = told.steps[0].gradient_norms
    assert norms
    assert norms["0"] == pytest.approx(grad.parts[0].norm(), rel=1e-6)
    assert sum(norm**2 for norm in norms.values()) == pytest.approx(grad.norm() ** 2, rel=1e-6)
    assert told.steps[49].gradient_norms is not None


def test_evaluation_intervals() -> None:
    x, y = _data()

    def steps(every: Any) -> list[int]:
        return [
            each.step
            for each in _fit(_model(), x, y, epochs=4, validation=Evaluation(x, y), evaluate_every=every).evaluations
        ]

    assert steps(None) == [7, 14, 21, 28]
    assert steps(10) == [10, 20, 28]
    assert steps(Every(steps=7)) == [7, 14, 21, 28]
    assert steps(Every(epochs=3)) == [21, 28]


def test_evaluation_changes_nothing() -> None:
    x, y = _data()
    model, other = _model(), _model()
    _fit(model, x, y, validation=Evaluation(x, y, batch_size=7), evaluate_every=3)
    _fit(other, x, y)
    assert _same(model, other)


def test_eval_in_a_callback_does_no_harm() -> None:
    class Evals(Callback):
        def on_epoch(self, epoch: Epoch) -> None:
            model.eval()

    x, y = _data()
    model, other = _model(), _model()
    _fit(model, x, y, callbacks=[Evals()])
    _fit(other, x, y)
    assert _same(model, other)


def test_an_error_in_a_callback_travels_on_and_leaves_nothing_kept() -> None:
    class Breaks(Callback):
        def on_step(self, step: Step) -> None:
            raise LookupError("mine")

    model, threads = _model(), threading.active_count()
    with pytest.raises(LookupError, match="mine"):
        _fit(model, *_data(), callbacks=[Breaks()])
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((2, 2), np.float32))
    assert threading.active_count() == threads
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = _data()
    _fit(_model(), x, y, epochs=2, progress="auto")
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("  ")[0] for line in err.splitlines()] == ["epoch 1/2", "epoch 2/2"]
    assert "loss 0." in err
    assert "\x1b" not in err
    _fit(_model(), x, y, epochs=1, validation=Evaluation(x, y), progress=True)
    assert re.search(
        r"^epoch 1/1  train loss \d\.\d{4}  validation loss \d\.\d{4}  validation accuracy \d\d\.\d\d %  \d+\.\d s$",
        capsys.readouterr().err.strip(),
    )
    _fit(_model(), x, y, validation=Evaluation(x, y), evaluate_every=2, progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def terminal(**options: Any) -> Console:
        return Console(force_terminal=True, width=120, **options)

    monkeypatch.setattr("rich.console.Console", terminal)
    _fit(_model(), *_data(), epochs=2)
    _fit(_model(), *_data(), epochs=2, progress=True)
    shown = " ".join(Text.from_ansi(capsys.readouterr().err).plain.split())
    assert "━" in shown
    assert "14/14 loss 0." in shown
    assert "samples/s ETA 0:00:" in shown
    assert "epoch 2/2" in shown


# --- stopping ------------------------------------------------------------------------------------------------------


def test_early_stopping() -> None:
    x, y = _data()
    rule = EarlyStopping(patience=3, min_delta=10.0)
    history = _fit(_model(), x, y, epochs=50, validation=Evaluation(x, y), early_stopping=rule)
    assert len(history.epochs) == 4, "one sets the mark, three do not improve on it by so much"
    assert history.stopped == "early stopping"
    assert history.best is not None
    assert history.best.metric == "loss"
    accurate = _fit(_model(), x, y, epochs=50, validation=Evaluation(x, y), early_stopping=EarlyStopping(2, "accuracy"))
    values = [each.accuracy for each in accurate.evaluations]
    assert max(values[-2:]) <= max(values[:-2])  # type: ignore[type-var]


class Fixed:
    """A classification whose evaluations give these numbers, one after the other."""

    def __init__(self, name: str, *values: Any) -> None:
        self.name, self.values = name, list(values)

    def targets(self, y: Any, prediction: Any) -> Any:
        return y

    def metrics(self, batches: Any) -> dict[str, float]:
        return {self.name: self.values.pop(0)}


@pytest.mark.parametrize(("metric", "best"), [("r2", 7), ("own", 7), ("mse", 14), ("mae", 14)])
def test_early_stopping_by_any_metric(metric: str, best: int) -> None:
    """Higher is better, but of errors; here the first evaluation has 3, the second 2, and the rest are in between."""
    x, y = _data()
    task, rule = Fixed(metric, 3.0, 2.0, 2.5, 2.5, 2.5, 2.5), EarlyStopping(2, metric)
    history = _fit(_model(), x, y, epochs=6, task=task, validation=Evaluation(x, y), early_stopping=rule)
    assert history.best is not None
    assert (history.best.step, history.best.metric, history.steps) == (best, metric, best + 14)


@pytest.mark.parametrize(
    ("y", "known"), [(None, "'loss', 'accuracy'"), (np.eye(2, dtype=np.float32)[np.zeros(50, int)], "'loss'")]
)
def test_early_stopping_by_what_is_not_measured(y: Any, known: str) -> None:
    x, labels = _data()
    metric = "speed" if y is None else "accuracy"
    with pytest.raises(
        ArgumentError, match=f"EarlyStopping: metric must be one of {known}, got '{metric}'$"
    ) as refusal:
        _fit(
            _model(),
            x,
            labels,
            validation=Evaluation(x, labels if y is None else y),
            early_stopping=EarlyStopping(1, metric),
        )
    assert refusal.value.argument == "metric"


def _worse_and_worse(**changes: Any) -> tuple[Model, History]:
    """Validated on the opposite of what is learned: the first evaluation is the best."""
    x, y = _data()
    model = _model()
    return model, _fit(model, x, y, epochs=9, validation=Evaluation(x, 1 - y), **changes)


@pytest.mark.parametrize("patience", [3, 20], ids=["stopped", "through"])
def test_the_best_weights_are_in_hand(patience: int) -> None:
    """Bit for bit those of a training that ended at the best evaluation."""
    x, y = _data()
    best = _model()
    _fit(best, x, y, epochs=1)
    model, history = _worse_and_worse(early_stopping=EarlyStopping(patience))
    assert history.best is not None
    assert (history.best.step, history.steps, history.stopped) == (
        (7, 28, "early stopping") if patience == 3 else (7, 63, "")
    )
    assert _same(model, best)
    assert -SoftmaxCrossEntropy().loss(model.forward(x), 1 - y) == pytest.approx(history.best.value, rel=1e-5)


def test_the_last_weights_are_in_hand_where_it_is_wanted() -> None:
    x, y = _data()
    last = _model()
    _fit(last, x, y, epochs=4)
    assert _same(_worse_and_worse(early_stopping=EarlyStopping(3, restore_best_weights=False))[0], last)
    _fit(last, x, y, epochs=5)
    assert not _same(_worse_and_worse()[0], last), "nothing is restored without early stopping"


def test_a_time_limit() -> None:
    history = _fit(_model(), *_data(), epochs=100_000, time_limit=0.2)
    assert history.stopped == "time limit"
    assert 0 < history.steps < 700_000
    assert _fit(_model(), *_data(), time_limit=0).steps == 0


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_finishes_the_step(number: signal.Signals, error: type[BaseException]) -> None:
    class Signals(Told):
        def on_step(self, step: Step) -> None:
            super().on_step(step)
            if step.step == 3:
                os.kill(os.getpid(), number)

    told, before = Signals(), signal.getsignal(number)
    with pytest.raises(error) as raised:
        _fit(_model(), *_data(), callbacks=[told])
    assert len(told.steps) == 3
    assert told.ends[0].stopped == number.name
    assert signal.getsignal(number) is before
    if number is signal.SIGTERM:
        assert raised.value.code == 143  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_the_first_step_a_signal_acts_at_once(number: signal.Signals, tmp_path: Path) -> None:
    """Compiling the first step's kernels may take a minute, and there is nothing to save; in a resumed run neither."""

    class Slow(SoftmaxCrossEntropy[float]):
        def loss_grad(
            self,
            prediction: Float[Array2, "batch classes"],
            target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"],
        ) -> Float[Array2, "batch classes"]:
            os.kill(os.getpid(), number)
            raise AssertionError("it went on")

    def fitted(run: Run, loss: Any) -> History:
        x, y = _data()
        return fit(
            _model(),
            loss,
            SGD(0.3),
            Loader(x, y, batch_size=8, rng=PCG32(1)),
            epochs=4,
            run=run,
            progress=False,
            time_limit=limit,
        )

    limit: float | None = 0.0
    with Run.create(tmp_path / "run", "") as run:
        fitted(run, SoftmaxCrossEntropy())
    limit = None
    before = signal.getsignal(number)
    with Run.open(tmp_path / "run") as run, pytest.raises((KeyboardInterrupt, SystemExit)):
        fitted(run, Slow())
    assert signal.getsignal(number) is before
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-00000000"]
    with Run.open(tmp_path / "run") as run:
        assert fitted(run, SoftmaxCrossEntropy()).steps == 28


def test_a_signal_is_answered_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    class Once(Callback):
        def on_step(self, step: Step) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            assert "finishing the step, then saving; once more ends at once" in capfd.readouterr().err

    for progress in (True, False):
        with pytest.raises(KeyboardInterrupt if progress else AssertionError):
            _fit(_model(), *_data(), callbacks=[Once()], progress=progress)


def test_a_second_signal_acts_at_once() -> None:
    class Twice(Callback):
        def on_step(self, step: Step) -> None:
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            raise LookupError

    with pytest.raises(LookupError):
        _fit(_model(), *_data(), callbacks=[Twice()])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_signals_are_left_alone() -> None:
    done: list[History] = []
    worker = threading.Thread(target=lambda: done.append(_fit(_model(), *_data(), epochs=1)))
    worker.start()
    worker.join()
    assert done[0].steps == 7


# --- what is not finite --------------------------------------------------------------------------------------------


def _error(model: Model, x: Array2, y: IntArray1, **changes: Any) -> str:
    before = [weights.tobytes() for weights in model.parameters()]
    with pytest.raises(StateError) as raised:
        _fit(model, x, y, epochs=1, batch_size=len(x), **changes)
    assert [weights.tobytes() for weights in model.parameters()] == before
    assert "forward" not in vars(model.parts[0])
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((8, 2), np.float32))
    return str(raised.value)


def test_nan_in_the_data_is_named() -> None:
    x, y = _data()
    x[3, 2] = np.nan
    message = _error(_model(), x, y)
    assert message.startswith("fit: the loss must stay finite, got nan in step 1 (epoch 1), first in the data: row ")
    assert message.endswith("of the batch; lower the learning rate, clip the gradient, or look for NaN in the data")


def test_nan_in_a_parameter_is_named() -> None:
    model = _model()
    model.parts[2].weight[1, 3] = np.nan
    assert 'first in the parameter "2.weight"' in _error(model, *_data())


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_infinity_in_a_layer_is_named() -> None:
    x, y = _data()
    model = _model()
    model.parts[2].weight[...] = 3e38
    assert 'first in the output of layer "2"' in _error(model, x, y)
    model = _model()
    model.parts[0].weight[...] = 3e38
    assert 'first in the output of layer "0"' in _error(model, x * 10, y)
    assert "forward" not in vars(model)


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_infinity_in_a_gradient_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _data()
    real = SoftmaxCrossEntropy.loss_and_grad

    def infinite(*given: Any) -> Any:
        value, derivative = real(*given)
        return value, derivative * np.float32(np.inf)

    monkeypatch.setattr(SoftmaxCrossEntropy, "loss_and_grad", infinite)
    message = _error(_model(), x, y)
    assert message.startswith(
        'fit: the gradient must stay finite, got NaN or infinity in step 1 (epoch 1), first in the gradient of "2.bias"'
    )


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 4"]
    first: LinearGrad
    last: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    """A model with an update of its own."""

    def __init__(self) -> None:
        self.first, self.last = Linear(4, 8), Linear(8, 2)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.last.forward(self.first.forward(x))

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> NetGrad:
        last = self.last.backward(next_grad)
        first = self.first.backward(last.input)
        return NetGrad(first.input, first, last)

    def update(self, optimizer: Optimizer, grad: NetGrad) -> None:
        self.first.update(optimizer, grad.first)
        self.last.update(optimizer, grad.last)


def _tied() -> Any:
    shared = Linear(4, 4)
    return Input(4) >> shared >> ReLU() >> shared.shared() >> Linear(4, 2)


FORMS: dict[str, Any] = {
    "chain": lambda: Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2),
    "by hand": Net,
    "tied": _tied,
}


@pytest.mark.parametrize("clip", [None, 10.0])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize(
    "make", [lambda: SGD(0.1, momentum=0.9), lambda: Adam(0.1, weight_decay=0.1)], ids=["SGD", "Adam"]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_step_that_is_not_finite_is_not_taken(
    form: str, make: Any, place: int, value: float, clip: float | None, tmp_path: Path
) -> None:
    """Whichever of four parameters it is: no weight and nothing of the optimizer changes; the metrics hold the steps
    before.
    """
    model = FORMS[form]().init(PCG32(0))
    optimizer = make().bind(model)
    before: list[Any] = []

    def state() -> dict[str, bytes]:
        return {
            name: np.asarray(each).tobytes() for name, each in (model.state_dict() | optimizer.state_dict()).items()
        }

    def broken(grad: Any) -> Any:
        before.append(state())
        places = iter(range(4))

        def changed(leaf: Any) -> Any:
            leaf = leaf.copy()
            if next(places) == place and len(before) == 3:
                leaf.reshape(-1)[-1] = value
            return leaf

        return grad.map(changed)

    name = list(model.named_parameters())[place]
    match = (
        rf'gradient must stay finite, got NaN or infinity in step 3 \(epoch 1\), first in the gradient of "{name}"; '
        r"lower the learning"
    )
    with Run.create(tmp_path / "run", "", model) as run, pytest.raises(StateError, match=match):
        _fit(model, *_data(), optimizer=optimizer, transform=broken, clip_grad_norm=clip, run=run)
    assert state() == before[2] != before[1]
    assert optimizer.steps == 2
    assert [json.loads(line)["step"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()] == [
        1,
        2,
    ]


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_the_sum_of_a_shared_parameters_uses_must_be_finite() -> None:
    model = _tied().init(PCG32(0))
    before = [weights.tobytes() for weights in model.parameters()]

    def large(grad: Any) -> Any:
        first, *others = grad.parts
        return grad.replaced({"parts": (_filled(first, 3e38), others[0], _filled(others[1], 3e38), *others[2:])})

    with pytest.raises(StateError, match=r'first in the gradient of "0\.bias"'):
        _fit(model, *_data(), transform=large)
    assert [weights.tobytes() for weights in model.parameters()] == before


def _filled(grad: Any, value: float) -> Any:
    return grad.replaced({"weight": np.full_like(grad.weight, value), "bias": np.full_like(grad.bias, value)})


def test_a_loss_of_its_own_is_called_by_its_two_methods() -> None:
    """Also where it derives from a loss that has both in one."""

    class Halved(SoftmaxCrossEntropy[float]):
        def loss_grad(
            self,
            prediction: Float[Array2, "batch classes"],
            target: Integer[IntArray1, " batch"] | Float[Array2, "batch classes"],
        ) -> Float[Array2, "batch classes"]:
            return super().loss_grad(prediction, target) * 0.5

    class Passing:
        def loss(self, prediction: Any, target: Any) -> float:
            return SoftmaxCrossEntropy().loss(prediction, target)

        def loss_grad(self, prediction: Any, target: Any) -> Any:
            return SoftmaxCrossEntropy().loss_grad(prediction, target) * 0.5

        def __getattr__(self, name: str) -> Any:
            return getattr(SoftmaxCrossEntropy(), name)

    models = [_model() for _ in range(3)]
    for model, loss, rate in zip(models, (Halved(), Passing(), SoftmaxCrossEntropy()), (0.5, 0.5, 0.25), strict=True):
        fit(model, loss, SGD(rate), Loader(*_data(), batch_size=8, rng=PCG32(1)), epochs=2, progress=False)
    assert _same(models[0], models[2])
    assert _same(models[1], models[2])


def test_an_error_leaves_the_steps_before_it_in_the_metrics(tmp_path: Path) -> None:
    calls: list[Any] = []

    def broken(grad: Any) -> Any:
        calls.append(grad)
        if len(calls) == 6:
            raise RuntimeError("broken")
        return grad

    model = _model()
    with Run.create(tmp_path / "run", "", model) as run, pytest.raises(RuntimeError, match="broken"):
        _fit(model, *_data(), transform=broken, run=run)
    assert [json.loads(line)["step"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_large_but_finite_gradients_pass() -> None:
    from typednn.training.finite import finite

    assert finite(np.full(4, 3e38, np.float32))
    assert finite(np.arange(3))
    assert not finite(np.array([1.0, -np.inf]))


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_an_evaluation_that_is_not_finite_is_named() -> None:
    x, y = _data()
    bad = x.copy()
    bad[0, 0] = np.nan
    with pytest.raises(StateError, match="the validation loss must stay finite, got nan"):
        _fit(_model(), x, y, validation=Evaluation(bad, y))


@pytest.mark.parametrize("name", ["kind", "step", "epoch", "split", "loss"])
def test_a_metric_has_a_name_of_its_own(name: str) -> None:
    x, y = _data()
    match = f"fit: a task's metric is not called step, epoch, split, loss or kind, got '{name}'; give it another name"
    with pytest.raises(ArgumentError, match=match) as refusal:
        _fit(_model(), x, y, task=Fixed(name, 1.0), validation=Evaluation(x, y))
    assert refusal.value.argument == "task"


def test_a_metric_that_is_not_finite_is_named() -> None:
    x, y = _data()
    match = r"the validation own must stay finite, got nan in step 7 \(epoch 2\), first in the task's metrics"
    with pytest.raises(StateError, match=match):
        _fit(_model(), x, y, task=Fixed("own", float("nan")), validation=Evaluation(x, y))


def test_a_metric_may_be_of_another_type(tmp_path: Path) -> None:
    """Such as NumPy's; the record has plain numbers."""
    x, y = _data()
    model = _model()
    with Run.create(tmp_path / "run", "", model) as run:
        _fit(model, x, y, epochs=1, run=run, task=Fixed("own", np.float32(0.5)), validation=Evaluation(x, y))
    last = json.loads((run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert (last["kind"], last["step"], last["own"], last["accuracy"]) == ("evaluation", 7, 0.5, None)


# --- arguments, memory ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "fit: epochs must be an integer of at least 1, got 0"),
        ({"epochs": True}, "got True"),
        ({"accumulate": 0}, "fit: accumulate must be an integer of at least 1, got 0"),
        ({"keep": 0}, "fit: keep must be an integer of at least 1, got 0"),
        ({"evaluate_every": 0}, "fit: evaluate_every must be an integer of at least 1, got 0"),
        ({"checkpoint_every": -1}, "fit: checkpoint_every must be an integer of at least 1, got -1"),
        ({"max_steps": 0}, "fit: max_steps must be an integer of at least 1, got 0"),
        ({"max_steps": Every(steps=2)}, "fit: max_steps must be an integer of at least 1, got Every"),
        ({"epochs": None}, "fit: epochs must be an integer of at least 1, got None"),
        ({"clip_grad_norm": -1.0}, "fit: clip_grad_norm must be a finite number"),
        ({"time_limit": "1"}, "fit: time_limit must be a finite number"),
        (
            {"early_stopping": EarlyStopping(1)},
            r"early stopping watches an evaluation, got no validation; pass validation=Evaluation\(x, y\)",
        ),
    ],
)
def test_arguments_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _fit(_model(), *_data(), **changes)


def test_intervals_and_rules_are_checked() -> None:
    for wrong in ({}, {"steps": 1, "epochs": 1}, {"steps": 0}, {"epochs": -1}):
        with pytest.raises(ArgumentError, match="Every"):
            Every(**wrong)
    for given in ({"patience": 0}, {"patience": 1, "min_delta": -1.0}):
        with pytest.raises(ArgumentError, match="EarlyStopping"):
            EarlyStopping(**given)  # type: ignore[arg-type]


def test_memory_stays_flat() -> None:
    """2,000 steps here; `python -m benchmarks.training --memory` does 10,000."""
    sizes: list[int] = []

    class Watch(Callback):
        def on_step(self, step: Step) -> None:
            if step.step in (1000, 2000):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        _fit(_model(), *_data(800), epochs=20, callbacks=[Watch()])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 5_000, sizes


def test_no_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _fit(_model(), *_data(), epochs=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not available(), reason="needs Halide")
@pytest.mark.parametrize("accumulate", [1, 2])
def test_kernels_of_the_first_step_are_compiled_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accumulate: int
) -> None:
    """Forward, loss, backward, optimizer and evaluation, and later those of the plan; what is trained is what a later
    process trains, which finds them on disk.
    """
    compiled: list[set[str]] = []

    @contextmanager
    def record(jobs: Any, threads: int, show: Callable[[int, int, str], object]) -> Iterator[None]:
        compiled.append({job.plan.name for job in jobs if job.plan is not None})
        show(0, len(jobs), "")
        yield

    before = get_threads()
    set_threads(2)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(parallel, "compiled", record)
    monkeypatch.setenv("TYPEDNN_CACHE", str(tmp_path))
    x = np.random.default_rng(0).standard_normal((40, 6), dtype=np.float32)
    y = (x[:, 0] > x[:, 1]).astype(np.int64)
    trained: list[Any] = []
    try:
        for _ in range(2):
            # With two batches together, derivatives are so large that adding them takes a kernel.
            hidden, classes, clip = (20, 73, 0.5) if accumulate == 1 else (41, 74, None)
            model = (Input(6) >> Linear(6, hidden) >> ReLU() >> Linear(hidden, classes)).init(PCG32(0))
            optimizer, told, rng = Adam(0.01, weight_decay=0.1).bind(model), Told(), PCG32(1)
            options: dict[str, Any] = {
                "epochs": 1,
                "validation": Evaluation(x, y),
                "callbacks": [told],
                "clip_grad_norm": clip,
            }
            history = fit(
                model,
                SoftmaxCrossEntropy(),
                optimizer,
                Loader(x, y, batch_size=20, rng=rng),
                accumulate=accumulate,
                **options,
            )
            arrays = {name: np.array(value) for name, value in {**model.state_dict(), **optimizer.state_dict()}.items()}
            trained.append((arrays, [step.loss for step in told.steps], history.evaluations, rng.permutation(9)))
    finally:
        set_threads(before)
    assert len(compiled) == 2  # no kernel was missing afterwards
    assert {"linear.tiles", "linear.backward", "softmax_cross_entropy"} <= compiled[0]
    np.testing.assert_equal(trained[0], trained[1])


def test_progress_of_compiling(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for shown in (False, True):
        display = Display(shown=shown, total=3, done=0, epochs=1)
        for done in range(3):
            display.compiling(done, 2, "linear.tiles")
        display.close()
        assert capsys.readouterr() == ("", "compiling 2 kernels for these sizes and this processor\n" * shown)
    monkeypatch.setattr(Console, "is_terminal", True)
    display = Display(shown=True, total=3, done=0, epochs=1)
    display.compiling(1, 2, "linear.tiles")
    display.close()
    said = Text.from_ansi(capsys.readouterr().err).plain
    assert "compiling 2 kernels" in said
    assert "1 done  linear.tiles" in said


def test_speed_in_tokens(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two samples of 640 tokens a second."""
    monkeypatch.setattr(Console, "is_terminal", True)
    display = Display(shown=True, total=3, done=0, epochs=1, unit="tokens", per_sample=640)
    display.step(1, 1, 0.5, 2.0)
    display.close()
    assert "loss 0.5000  1,280 tokens/s" in Text.from_ansi(capsys.readouterr().err).plain
