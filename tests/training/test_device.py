"""On a device, what a step computes stays there until it is read: the loss, and whether everything is finite.

The device is `strict_array`'s, which computes with NumPy and notices whoever asks for a number.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strict_array

from typednn import Input
from typednn.arrays import Array2, IntArray1
from typednn.backends import read_together, to_device, to_numpy
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError, StateError
from typednn.layers import Linear, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import Adam
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.runs import Run
from typednn.training import Callback, Evaluation, History, Step, fit, session


@pytest.fixture(autouse=True)
def on_the_reference(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine of the strict device, on the CPU too; and no look because a test was slow."""
    strict_array.register()
    monkeypatch.setattr(session, "_UNREAD", float("inf"))
    with using("reference"):
        yield


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every time that the host waits for a number of the device."""
    found: list[str] = []

    def counted(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def read(self: Any, *given: Any) -> Any:
            found.append(name)
            return real(self, *given)

        monkeypatch.setattr(owner, name, read)

    counted(strict_array.StrictBackend, "to_numpy")
    for name in ("item", "tolist", "tobytes", "_number"):
        counted(strict_array.StrictArray, name)
    return found


class Around:
    """A loader that does something more at each batch."""

    def __init__(self, x: Any, y: Any) -> None:
        self.inner = Loader(x, y, batch_size=8, rng=PCG32(1))

    def batches(self) -> Iterator[Any]:
        for count, batch in enumerate(self.inner.batches(), 1):
            self.before(count)
            yield batch
        self.before(0)

    def before(self, count: int) -> None:
        """Called before the batch of that number, and with 0 when all were handed out."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Noted(Around):
    """One that notes how many reads there were when it handed out each batch."""

    def __init__(self, x: Any, y: Any, reads: list[str]) -> None:
        super().__init__(x, y)
        self.reads, self.at = reads, list[int]()

    def before(self, count: int) -> None:
        self.at.append(len(self.reads))

    def waits(self) -> list[int]:
        return np.diff(self.at).tolist()


def _data(n: int = 480) -> tuple[Array2, IntArray1]:
    x = np.random.default_rng(0).standard_normal((n, 4), dtype=np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(np.int64)


def _model(device: str = "strict") -> Any:
    return (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0)).to(device)


def _fit(model: Any, x: Any, y: Any, **changes: Any) -> History:
    given: dict[str, Any] = {"epochs": 1, "progress": False, "loss": SoftmaxCrossEntropy(), "loader": None} | changes
    loss, loader = given.pop("loss"), given.pop("loader")
    return fit(model, loss, Adam(0.01), loader or Loader(x, y, batch_size=8, rng=PCG32(1)), **given)


def _weights(model: Any) -> list[bytes]:
    return [to_numpy(weights).tobytes() for weights in model.parameters()]


def _by_hand(model: Any, x: Any, y: Any, steps: int) -> list[bytes]:
    """The weights after so many steps of the same batches, written out."""
    loss, optimizer = SoftmaxCrossEntropy(), Adam(0.01)
    for _, batch in zip(range(steps), Loader(x, y, batch_size=8, rng=PCG32(1)).batches(), strict=False):
        model.update(optimizer, model.backward(loss.loss_grad(model.forward(batch.x), batch.y)))
    return _weights(model)


def _run(folder: Path) -> Run:
    return Run.create(folder, "", _model("cpu"))


class Steps(Callback):
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)


# --- the same training ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"accumulate": 3}, {"clip_grad_norm": 0.1}, {"loss": MSE()}], ids=str)
def test_the_same_bits_as_on_the_cpu(changes: dict[str, Any], tmp_path: Path) -> None:
    """Weights, losses of epochs and steps, evaluations, and the checkpoint."""
    x, y = _data()
    target: Any = np.eye(2, dtype=np.float32)[y] if "loss" in changes else y
    found: dict[str, Any] = {}
    for device in ("cpu", "strict"):
        model = _model(device)
        with _run(tmp_path / device) as run:
            history = _fit(
                model, x, target, epochs=2, run=run, validation=Evaluation(x, target, y), evaluate_every=17, **changes
            )
        lines = [json.loads(line) for line in (tmp_path / device / "metrics.jsonl").read_text().splitlines()]
        told = [
            {key: line.get(key) for key in ("kind", "step", "epoch", "loss", "lr", "gradient_norms", "accuracy")}
            for line in lines
        ]
        found[device] = _weights(model), history.losses, history.evaluations, history.best, told
    assert found["strict"] == found["cpu"]


def test_a_callback_is_told_each_step_in_its_time() -> None:
    x, y = _data()
    model, weights = _model(), list[list[bytes]]()

    class Watching(Steps):
        def on_step(self, step: Step) -> None:
            super().on_step(step)
            weights.append(_weights(model))

    watching = Watching()
    _fit(model, x, y, callbacks=[watching])
    assert [step.step for step in watching.steps] == list(range(1, 61))
    assert len({tuple(each) for each in weights}) == 60


# --- how often the host waits --------------------------------------------------------------------------------------


def test_a_plain_step_does_not_wait(reads: list[str]) -> None:
    """The first and every fiftieth step have the norms of their gradients; the epoch's end reads what is left."""
    loader = Noted(*_data(), reads)
    _fit(_model(), *_data(), loader=loader)
    waits = loader.waits()
    assert len(waits) == 60
    assert [step for step, count in enumerate(waits, 1) if count] == [1, 50]
    assert len(reads) == sum(waits) + 1


@pytest.mark.parametrize("shards", [1, 4])
def test_with_parallel_each_batch_is_read_once(reads: list[str], shards: int) -> None:
    """The losses of all shards together. The weights are those of the same shards on the CPU."""
    loader, mine, its = Noted(*_data(), reads), _model(), _model("cpu")
    _fit(mine, *_data(), loader=loader, parallel=DataParallel(shards))
    assert set(loader.waits()[1:49]) == {1}
    _fit(its, *_data(), parallel=DataParallel(shards))
    assert _weights(mine) == _weights(its)


def test_slow_steps_are_read_one_by_one(reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with one wait: the loss and the looks come together."""
    monkeypatch.setattr(session, "_UNREAD", 0.0)
    loader = Noted(*_data(), reads)
    _fit(_model(), *_data(), loader=loader)
    assert set(loader.waits()[1:49]) == {1}


def test_reading_together_keeps_shapes_and_numbers(reads: list[str]) -> None:
    arrays: list[Any] = [
        np.float64(0.1),
        np.array([True, False]),
        np.zeros((0,), bool),
        np.array([[1.5, np.nan]], np.float32),
    ]
    device: Any = [to_device(np.asarray(array), "strict") for array in arrays]
    assert str(read_together(device)) == "[[0.1], [1.0, 0.0], [], [1.5, nan]]"
    assert reads == ["to_numpy"]


# --- what is not finite --------------------------------------------------------------------------------------------


def _order(x: Any, y: Any) -> Any:
    """Which row comes when."""
    numbers = np.arange(len(x))
    return np.concatenate([batch.x for batch in Loader(numbers, y, batch_size=8, rng=PCG32(1)).batches()])


def _bad_step(step: int) -> tuple[Array2, IntArray1]:
    """Data whose NaN comes in that step, in row 3 of the batch."""
    x, y = _data()
    x[_order(x, y)[8 * (step - 1) + 3], 2] = np.nan
    return x, y


@pytest.mark.parametrize("step", [1, 3, 5, 6, 7, 21])
def test_nan_in_the_data_stops_before_anything_broken_is_written(step: int, tmp_path: Path) -> None:
    x, y = _bad_step(step)
    with _run(tmp_path / "run") as run, pytest.raises(StateError) as raised:
        _fit(_model(), x, y, run=run, checkpoint_every=5, validation=Evaluation(*_data()), evaluate_every=11)
    cure = "lower the learning rate, clip the gradient, or look for NaN in the data"
    assert str(raised.value) == (
        f"fit: the loss must stay finite, got nan in step {step} (epoch 1), first in the data: row 3 of the "
        f"batch; {cure}"
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, step))
    saved = step - 1 - (step - 1) % 5
    with Run(tmp_path / "run") as run:
        found = run.latest()
        assert (0 if found is None else found.state.step) == saved
        if found is not None:
            saved_model = _model("cpu")
            run.load_weights(saved_model, "latest")
            assert _weights(saved_model) == _by_hand(_model("cpu"), x, y, saved)


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize(("clip", "steps"), [(None, 50), (0.1, 7)])
def test_infinity_in_a_gradient_is_named(clip: float | None, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next look; with clipping, which reads the norm, in its own step."""
    loss_grad, both, calls = SoftmaxCrossEntropy.loss_grad, SoftmaxCrossEntropy.loss_and_grad, list[int]()

    def broken(derivative: Any) -> Any:
        calls.append(1)
        return derivative * (float("inf") if len(calls) == 7 else 1.0)

    def broken_both(*given: Any) -> Any:
        value, derivative = both(*given)
        return value, broken(derivative)

    monkeypatch.setattr(SoftmaxCrossEntropy, "loss_grad", lambda *given: broken(loss_grad(*given)))
    monkeypatch.setattr(SoftmaxCrossEntropy, "loss_and_grad", broken_both)
    message = r'gradient must stay finite, got NaN or infinity in step 7 .*first in the gradient of "2.bias"'
    with pytest.raises(StateError, match=message):
        _fit(_model(), *_data(), clip_grad_norm=clip)
    assert len(calls) == steps


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_a_loss_that_is_not_finite_is_told_with_its_step() -> None:
    model = _model()
    model.parts[2].weight[...] = 3e38
    message = (
        "loss must stay finite, got nan in step 1 .*, first on 'strict', where a layer is not named: the weights "
        "have gone on"
    )
    with pytest.raises(StateError, match=message):
        _fit(model, *_data())


class Interrupted(Around):
    """One at whose tenth batch somebody presses Ctrl-C."""

    def before(self, count: int) -> None:
        if count == 10:
            signal.raise_signal(signal.SIGINT)


def test_what_ends_early_is_looked_at_too(tmp_path: Path) -> None:
    """In the middle of what nobody has read: nothing is saved after the NaN."""
    loader = Interrupted(*_bad_step(9))
    with pytest.raises(StateError, match="in step 9 "), _run(tmp_path / "run") as run:
        _fit(_model(), *_bad_step(9), run=run, loader=loader)
    with Run(tmp_path / "run") as run:
        assert run.latest() is None
    assert loader.inner.step == 10


@pytest.mark.parametrize("step", [9, 60])
def test_the_end_is_looked_at_without_a_run(step: int) -> None:
    kind = Interrupted if step == 9 else Around
    with pytest.raises(StateError, match=f"in step {step} "):
        _fit(_model(), *_bad_step(step), loader=kind(*_bad_step(step)))


def test_a_model_that_learns_nothing_is_looked_at() -> None:
    """Then there is no derivative to look at."""
    with pytest.raises(StateError, match=r"in step 7 .* first in the data: row 3 of the batch"):
        _fit((Input(4) >> ReLU()).to("strict"), _bad_step(7)[0], np.zeros((480, 4), np.float32), loss=MSE())


# --- labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_labels_are_looked_at_before_they_leave_the_host(device: str) -> None:
    x, y = _data()
    y[_order(x, y)[8 * 2 + 5]] = 2
    model = _model(device)
    with pytest.raises(ArgumentError, match="SoftmaxCrossEntropy: labels are 0 to 1, got 2 in row 5"):
        _fit(model, x, y)
    assert _weights(model) == _by_hand(_model("cpu"), x, y, 2)


# --- losses from outside -------------------------------------------------------------------------------------------


def test_a_loss_from_outside_is_read_each_step(reads: list[str]) -> None:
    class Outside:
        def __init__(self) -> None:
            self.inner = SoftmaxCrossEntropy()

        def loss(self, prediction: Any, target: Any) -> float:
            return self.inner.loss(prediction, target)

        def loss_grad(self, prediction: Any, target: Any) -> Any:
            return self.inner.loss_grad(prediction, target)

    mine, its = _model(), _model()
    loader = Noted(*_data(), reads)
    _fit(mine, *_data(), loss=Outside(), loader=loader)
    assert min(loader.waits()) > 0
    _fit(its, *_data())
    assert _weights(mine) == _weights(its)
