"""Batch normalisation over the whole batch in data parallel training, and the shards that meet for it.

Truth is the gradient of the batch in one piece, differences of its loss, and training on one rank; beside PyTorch it is
in tests/parity/test_normalisation.py.
"""

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float
from safetensors.numpy import load_file

from tests.cli.conftest import run_command
from tests.parallel.processes import in_processes, on_ranks, stopped_after
from tests.parallel.test_data_parallel import drawn, fitted, small
from typednn import Array2, Gradient, Input, Layer, S
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError, ShapeError, StateError
from typednn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Flatten,
    LeakyReLU,
    Linear,
    ReLU,
    Repeat,
    Residual,
    Tanh,
)
from typednn.layers.batch_norm1d import BatchNorm1dGrad
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.losses.sample_weights import SampleWeighted
from typednn.module.gradients import ElementwiseGrad
from typednn.module.running_statistics import divided
from typednn.optim import SGD
from typednn.parallel import DataParallel, Ranks, data_parallel
from typednn.recipes import load_data, recipe, resume, running, train
from typednn.training import fit

pytestmark = pytest.mark.usefixtures("on_the_reference")


def rows_model() -> Any:
    """Normalised twice, once in a residual; with an activation in the same kernel, and without."""
    inner: Any = Linear(6, 6) >> BatchNorm1d(6, momentum=0.3) >> Tanh()
    model = Input(4) >> Linear(4, 6) >> BatchNorm1d(6) >> LeakyReLU(0.1) >> Residual(inner) >> Linear(6, 3)
    return model.init(np.random.default_rng(1)).astype(np.float64)


def images_model() -> Any:
    model: Any = Input(2, 2, 1) >> Conv2d(1, 3, 2, padding=1) >> BatchNorm2d(3, affine=False) >> ReLU()
    model = model >> Conv2d(3, 2, 2) >> BatchNorm2d(2, track_running_stats=False) >> Flatten() >> Linear(8, 3)
    return model.init(np.random.default_rng(1)).astype(np.float64)


def repeated_model() -> Any:
    """Each copy's forward runs again in backward."""
    copies: Any = Repeat(Linear(4, 4) >> BatchNorm1d(4) >> ReLU(), 3, checkpointing=True)
    return (Input(4) >> copies >> Linear(4, 3)).init(np.random.default_rng(1)).astype(np.float64)


MODELS = {"rows": rows_model, "images": images_model, "repeated": repeated_model}


def computing(model: Any, loss: Any) -> Any:
    """What `fit` computes of some rows."""

    def compute(x: Any, y: Any, weight: Any) -> Any:
        weighted = loss if weight is None else SampleWeighted(loss, weight)
        prediction = model.forward(x)
        divisor = weighted.divisor(prediction, y)
        divided(divisor)
        return model.backward(weighted.loss_grad(prediction, y)), divisor, float(weighted.loss(prediction, y))

    return compute


def fed(model: Any, x: Any) -> Any:
    return x.reshape(len(x), *model.sample.sizes)


@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("rows", [2, 7, 50])
@pytest.mark.parametrize("weighs", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("loss", [SoftmaxCrossEntropy(), SoftmaxCrossEntropy(reduction="sum")], ids=["mean", "sum"])
@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_that_of_the_whole_batch(name: str, loss: Any, weighs: bool, rows: int, shards: int) -> None:
    """And so are loss and running statistics. In some shards no label counts, but their rows do in the statistics."""
    ours, whole = MODELS[name](), MODELS[name]()
    x, y, weight = drawn(rows)
    x, given = fed(ours, x), weight if weighs else None
    expected, divisor, value = computing(whole, loss)(x, y, given)
    found, counted, told = DataParallel(shards, sync_batchnorm=True).computed(ours, computing(ours, loss), x, y, given)
    assert counted == (None if divisor is None else pytest.approx(divisor, rel=1e-12))
    assert told == pytest.approx(value, rel=1e-10)
    derivatives = ours.named_gradients(found)
    for path, derivative in whole.named_gradients(expected).items():
        np.testing.assert_allclose(derivatives[path], derivative, rtol=1e-7, atol=1e-11, err_msg=path)
    for path, array in whole.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[path], array, rtol=1e-10, atol=1e-13, err_msg=path)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_the_losss_slope(name: str) -> None:
    """Central differences of the loss of the shards."""
    model, (x, y, weight) = MODELS[name](), drawn(11)
    parallel, compute, x = DataParallel(4, sync_batchnorm=True), computing(model, SoftmaxCrossEntropy()), fed(model, x)
    grad, *_ = parallel.computed(model, compute, x, y, weight)
    derivatives, step = model.named_gradients(grad), 1e-6
    for path, array in model.named_parameters().items():
        place: Any = np.unravel_index(array.size // 2, array.shape)
        losses: list[float] = []
        for moved in (step, -2 * step):
            array[place] += moved
            losses.append(parallel.computed(model, compute, x, y, weight)[2])
        array[place] += step
        slope = (losses[0] - losses[1]) / (2 * step)
        assert derivatives[path][place] == pytest.approx(slope, rel=1e-5, abs=1e-8), path


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_numbers_far_from_zero_lose_no_more_than_in_one_piece(engine: str) -> None:
    """In float32, on kernels too: means of 1000 beside deviations of 1, and one channel that does not vary."""
    x = (1000 + np.random.default_rng(0).standard_normal((64, 5, 4))).astype(np.float32)
    x[..., 3] = 7
    made: list[Any] = [BatchNorm1d(4, rng=np.random.default_rng(0)) for _ in range(2)]
    one, eight = made
    exact = (x - x.mean((0, 1), dtype=np.float64)) / np.sqrt(x.var((0, 1), dtype=np.float64) + one.eps)
    outputs: list[Any] = []

    def compute(x: Any, y: Any, weight: Any) -> Any:
        outputs.append(eight.forward(x))
        return eight.backward(y), None, 0.0

    with using(engine):
        whole = one.forward(x)
        expected = one.backward(x[::-1] - 1000)
        found, *_ = DataParallel(sync_batchnorm=True).computed(eight, compute, x, x[::-1] - 1000, None)
    error, error_of_shards = (abs(each - exact).max() for each in (whole, np.concatenate(outputs)))
    assert error_of_shards <= 2 * error + 1e-6
    np.testing.assert_allclose(eight.running_var, one.running_var, rtol=1e-4)
    np.testing.assert_allclose(found.parameters.bias, expected.parameters.bias, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(found.parameters.weight, expected.parameters.weight, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_fit_ends_where_it_ends_without_parallel(accumulate: int) -> None:
    """To rounding: the last batch has fewer rows than shards."""
    parallels = DataParallel(sync_batchnorm=True), None
    (synced, losses), (alone, expected) = (fitted(rows_model(), 47, accumulate, each) for each in parallels)
    ours, plain = synced.state_dict(), alone.state_dict()
    assert losses == pytest.approx(expected, rel=1e-8)
    for name, array in plain.items():
        np.testing.assert_allclose(ours[name], array, rtol=1e-7, atol=1e-9, err_msg=name)


def test_one_row_in_all_gives_no_statistics() -> None:
    model = rows_model()
    with pytest.raises(ShapeError, match="has at least two numbers for each channel"):
        DataParallel(sync_batchnorm=True).computed(model, computing(model, MSE()), drawn(1)[0], np.ones((1, 3)), None)


def test_frozen_layers_and_layers_of_no_batch_meet_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no thread is started."""
    frozen = (Input(4) >> Linear(4, 4) >> BatchNorm1d(4) >> Linear(4, 3)).init(np.random.default_rng(0))
    monkeypatch.setattr(data_parallel, "Part", None)
    for model in (small(), frozen.freeze().astype(np.float64)):
        parallel = DataParallel(sync_batchnorm=True)
        parallel.computed(model, computing(model, MSE()), drawn(9)[0], np.ones((9, 3)), None)


def test_a_chain_whose_first_layer_is_frozen_inside_a_model() -> None:
    """It is computed in two halves, of which the second keeps for itself what its backward needs."""

    @dataclass(frozen=True)
    class NetGrad(Gradient):
        input: Float[Array2, "batch 4"]
        body: Any
        head: Any

    class Net(Layer[Array2, Array2, NetGrad, S]):
        def __init__(self) -> None:
            self.body: Any = (Linear(4, 4) >> BatchNorm1d(4) >> ReLU()).freeze(1)
            self.head: Any = BatchNorm1d(4) >> Linear(4, 3)

        def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 3"]:
            y: Array2 = self.head.forward(self.body.forward(x))
            return y

        def backward(self, next_grad: Float[Array2, "batch 3"]) -> NetGrad:
            head = self.head.backward(next_grad)
            return NetGrad(np.zeros((len(next_grad), 4)), self.body.backward(head.input), head)

    ours, whole = (Net().init(np.random.default_rng(0)).astype(np.float64) for _ in range(2))
    x, y, _ = drawn(20)
    expected, *_ = computing(whole, SoftmaxCrossEntropy())(x, y, None)
    compute = computing(ours, SoftmaxCrossEntropy())
    found, *_ = DataParallel(4, sync_batchnorm=True).computed(ours, compute, x, y, None)
    for leaf, wanted in zip(found.leaves().values(), expected.leaves().values(), strict=True):
        np.testing.assert_allclose(leaf, wanted, rtol=1e-8, atol=1e-12)


# -------------------------------------------------------------- what goes wrong


def threads() -> list[str]:
    return [each.name for each in threading.enumerate()]


@pytest.mark.parametrize("name", MODELS)
def test_a_nan_in_one_shard_is_one_error_which_names_its_row(name: str) -> None:
    """Though all shards have it in their statistics, and the first one's loss is the first that is no number."""
    model, y, before = MODELS[name](), np.zeros((40, 3)), threads()
    x = fed(model, drawn(40)[0])
    x[29] = np.nan
    loader = Loader(x, y, batch_size=40, shuffle=False)
    with pytest.raises(StateError) as caught:
        fit(model, MSE(), SGD(0.1), loader, epochs=1, progress=False, parallel=DataParallel(sync_batchnorm=True))
    assert str(caught.value) == (
        "fit: the loss must stay finite, got nan in step 1 (epoch 1), first in the data: row 29 of the batch; lower the"
        " learning rate, clip the gradient, or look for NaN in the data"
    )
    assert threads() == before


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_what_a_shard_raises_comes_out_once_and_ends_the_others(when: str) -> None:
    model, before, begun = rows_model(), threads(), list[int]()
    whole = computing(model, MSE())

    def compute(x: Any, y: Any, weight: Any) -> Any:
        begun.append(len(begun))
        if when == "forward" and len(begun) == 3:
            raise RuntimeError("the third")
        found = whole(x, y, weight)
        raise RuntimeError(f"the first to go back, behind {found[2]}")

    with pytest.raises(RuntimeError, match="the third" if when == "forward" else "the first to go back") as caught:
        DataParallel(sync_batchnorm=True).computed(model, compute, drawn(40)[0], np.zeros((40, 3)), None)
    assert caught.traceback[-1].name == "compute", "where it was raised"
    assert caught.value.__context__ is None
    assert len(begun) == (3 if when == "forward" else 8)
    assert threads() == before


def test_ctrl_c_ends_all_shards() -> None:
    model, before, begun = rows_model(), threads(), list[int]()
    whole = computing(model, MSE())

    def compute(x: Any, y: Any, weight: Any) -> Any:
        begun.append(len(begun))
        if len(begun) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(x, y, weight)

    with pytest.raises(KeyboardInterrupt):
        DataParallel(sync_batchnorm=True).computed(model, compute, drawn(40)[0], np.zeros((40, 3)), None)
    assert len(begun) <= 4
    assert threads() == before


@pytest.mark.parametrize("skipped", ["the last", "in between"])
def test_shards_that_do_not_meet_are_an_error(skipped: str) -> None:
    """A model that normalises some rows and not others."""
    first, second = BatchNorm1d(4, rng=np.random.default_rng(0)), BatchNorm1d(4, rng=np.random.default_rng(0))
    place = 39 if skipped == "the last" else 20

    class Either(Layer[Array2, Array2, ElementwiseGrad[Array2, BatchNorm1dGrad], S]):
        def __init__(self) -> None:
            self.first, self.second = first, second

        def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
            self.second.forward(x) if (x[:, 0] == place).any() else self.first.forward(x)
            return x

        def backward(self, next_grad: Float[Array2, "batch 4"]) -> ElementwiseGrad[Array2, BatchNorm1dGrad]:
            raise AssertionError

    model, x = Either(), np.arange(40, dtype=np.float32)[:, None].repeat(4, 1)
    rule = "with sync_batchnorm each shard meets the others at the same layers, in the same order, got shards at two"
    with pytest.raises(StateError, match=rule):
        DataParallel(sync_batchnorm=True).computed(model, computing(model, MSE()), x, x, None)


def test_a_loss_that_is_not_finite_is_looked_for_layer_by_layer() -> None:
    """In eval, where a layer without running statistics has those of the rows that it reads. One shard is left."""
    model: Any = Input(4) >> BatchNorm1d(4, track_running_stats=False) >> Linear(4, 3)
    model = (model >> BatchNorm1d(3, track_running_stats=False)).init(np.random.default_rng(0)).astype(np.float64)
    loader = Loader(drawn(40)[0], np.diag(np.full(40, 1e200))[:, :3], batch_size=40, shuffle=False)
    with np.errstate(all="ignore"), pytest.raises(StateError, match="first in the loss itself: every layer's output"):
        fit(model, MSE(), SGD(0.1), loader, epochs=1, progress=False, parallel=DataParallel(sync_batchnorm=True))


def test_ranks_that_do_not_meet_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard is at one layer, and those of another rank at another one."""

    def elsewhere(self: Ranks, rows: Any) -> Any:
        rows[4:, -1] += 1  # the layer's place
        return rows

    monkeypatch.setattr(Ranks, "gathered", elsewhere)
    model, (x, y, _) = rows_model(), drawn(40)
    with pytest.raises(StateError, match="the same layers, in the same order, got shards at two layers; leave"):
        DataParallel(sync_batchnorm=True).computed(model, computing(model, SoftmaxCrossEntropy()), x, y, None)


def test_layers_of_other_libraries_are_refused() -> None:
    class Same:
        def forward(self, x: Float[Array2, "batch n"]) -> Float[Array2, "batch n"]:
            return x

        def backward(self, next_grad: Float[Array2, "batch n"]) -> Any:
            raise AssertionError

        def update(self, optimizer: Any, grad: Any) -> None: ...

    model: Any = (BatchNorm1d(4) >> Same()).init(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"sync_batchnorm is of typednn's layers, got Foreign"):
        DataParallel(sync_batchnorm=True).computed(model, computing(model, MSE()), drawn(8)[0], drawn(8)[0], None)


def test_stages_are_refused() -> None:
    said = "statistics of shards, got stages=2 with sync_batchnorm; leave one of both out"
    with pytest.raises(ArgumentError, match=said):
        DataParallel(stages=2, sync_batchnorm=True)


# -------------------------------------------------------------- in processes

PROGRAM = """
import sys
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Flatten, Linear, ReLU, Residual
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.parallel import DataParallel, Ranks, data_parallel
from typednn.random import PCG32
from typednn.training import fit

exchange, fault = sys.argv[1:]
masks = fault != "no masks"
parallel = DataParallel(exchange=exchange, sync_batchnorm=True)
rng = np.random.default_rng(0)
x, y = rng.standard_normal((53, 6, 6, 2), dtype=np.float32), rng.integers(0, 5, 53)
if fault == "nan":
    x[30] = np.nan
if fault == "settings" and parallel.ranks.rank:
    parallel = DataParallel()
inner = Conv2d(4, 4, 3, padding=1) >> BatchNorm2d(4) >> ReLU()
model = Input(6, 6, 2) >> Dropout(0.1 * masks) >> Conv2d(2, 4, 3) >> BatchNorm2d(4) >> ReLU() >> Residual(inner)
model = (model >> Flatten() >> Dropout(0.3 * masks) >> Linear(64, 8) >> BatchNorm1d(8) >> Linear(8, 5)).init(PCG32(1))
loader = Loader(x, y, batch_size=25, rng=PCG32(3), prefetch=0)  # the last batch has fewer rows than there are ranks
history = fit(model, SoftmaxCrossEntropy(), SGD(0.1, momentum=0.9), loader, epochs=3, progress=False, parallel=parallel)
print(len(history.losses))
np.savez(f"rank-{parallel.ranks.rank}-of-{parallel.ranks.size}.npz", losses=history.losses, **model.state_dict())
"""


@in_processes
def test_any_number_of_ranks_ends_with_the_same_bits(tmp_path: Path) -> None:
    for count in (1, 2, 4):
        done = on_ranks(count, tmp_path, "exact", "none", program=PROGRAM)
        assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "rank-0-of-1.npz") as file:
        alone = dict(file)
    kept = [*tmp_path.glob("rank-*.npz")]
    assert len(kept) == 1 + 2 + 4
    for path in kept:
        with np.load(path) as file:
            assert file.keys() == alone.keys()
            assert [name for name in file if file[name].tobytes() != alone[name].tobytes()] == [], path.name


@in_processes
def test_a_nan_ends_the_job_with_one_error(tmp_path: Path) -> None:
    done = on_ranks(2, tmp_path, "exact", "nan", program=PROGRAM)
    assert done.returncode == 1
    assert done.stderr.count("StateError") == 1
    assert "in the data: row " in done.stderr
    assert "ended the job" in done.stderr


@in_processes
def test_ranks_of_which_one_has_no_meetings_are_refused(tmp_path: Path) -> None:
    done = on_ranks(2, tmp_path, "exact", "settings", program=PROGRAM)
    assert done.returncode != 0
    assert "all ranks begin alike, got the settings of rank 1 differ from those of rank 0" in done.stderr


@in_processes
def test_the_fastest_exchange_has_the_statistics_of_all_ranks(tmp_path: Path) -> None:
    """So two ranks end where one does, to rounding."""
    for count in (1, 2):
        done = on_ranks(count, tmp_path, "fastest", "no masks", program=PROGRAM)
        assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "rank-0-of-1.npz") as one, np.load(tmp_path / "rank-1-of-2.npz") as two:
        for name in one:
            np.testing.assert_allclose(two[name], one[name], rtol=1e-3, atol=1e-4, err_msg=name)


def test_a_run_keeps_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So its shards meet when it is resumed."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    made: list[DataParallel] = []

    def kept(*given: Any, **more: Any) -> DataParallel:
        made.append(DataParallel(*given, **more))
        return made[-1]

    monkeypatch.setattr(running, "DataParallel", kept)
    asked = recipe("mlp").changed({"max_steps": 1, "shards": 2, "sync_batchnorm": True})
    train(asked, load_data("digits"), run=tmp_path / "run", progress=False)
    resume(tmp_path / "run", progress=False)
    assert [each.sync_batchnorm for each in made] == [True, True]


SMALL = """
format = 1
input = [28, 28, 1]
[[layer]]
type = "Flatten"
[[layer]]
type = "BatchNorm1d"
num_features = 784
[[layer]]
type = "Linear"
in_features = 784
out_features = 10
[optimizer]
type = "SGD"
lr = 0.1
"""


@in_processes
def test_a_run_of_two_ranks_goes_on_with_one(tmp_path: Path) -> None:
    """As one rank that was not stopped: the setting is kept in the run."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    asked = ["train", "small.toml", "--data", "digits", "-q", "--set", "max_steps=4", "--set", "checkpoint_every=2"]
    asked += ["--set", "sync_batchnorm=true"]
    for command in (
        [*asked, "--ranks", "2", "--run", "stopped"],
        ["resume", "stopped", "-q"],
        [*asked, "--set", "shards=8", "--run", "whole"],
    ):
        done = run_command(*command, cwd=tmp_path, TYPEDNN_ENGINE="reference")
        assert done.returncode == 0, done.stderr
        if "--ranks" in command:
            stopped_after(tmp_path / "stopped", 2)
    assert '"sync_batchnorm": true' in (tmp_path / "stopped" / "recipe.json").read_text()
    last = Path("checkpoints") / "step-00000004" / "weights.safetensors"
    ours, expected = (load_file(tmp_path / run / last) for run in ("stopped", "whole"))
    assert ours.keys() == expected.keys()
    assert [name for name, array in ours.items() if array.tobytes() != expected[name].tobytes()] == []
