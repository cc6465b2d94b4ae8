"""An optimizer that is shared out over ranks: weights, losses, averages and checkpoints have the bits of one process.

Truth is training on one rank without it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.cli.conftest import run_command
from tests.parallel.processes import in_processes, on_ranks, stopped_after
from tests.parallel.test_data_parallel import small
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import DataParallel
from typednn.parallel.slices import part
from typednn.training import fit

pytestmark = pytest.mark.usefixtures("on_the_reference")

TRAININGS = """
import sys
from types import SimpleNamespace
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU, Tanh
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import EMA, SGD, Adadelta, Adagrad, Adam, AdamW, Group, Lion, ReduceLROnPlateau, RMSprop
from typednn.parallel import DataParallel, slices
from typednn.random import PCG32
from typednn.training import EarlyStopping, fit

slices.TOGETHER = 100  # bytes: several messages
sharded = sys.argv[1] == "sharded"
rng = np.random.default_rng(0)
x, y = rng.standard_normal((66, 4), dtype=np.float32), rng.integers(0, 3, 66)

def model():
    same = Linear(6, 6)
    made = Input(4) >> Linear(4, 6) >> BatchNorm1d(6) >> same >> ReLU() >> same.shared() >> Tanh() >> Dropout(0.2)
    made = (made >> Linear(6, 1) >> Linear(1, 3)).init(PCG32(1))
    made[0].weight = np.asfortranarray(made[0].weight)  # no slice of it is a view
    return made

groups = [Group("*.bias", weight_decay=0.0, lr=0.02), Group("2.*", lr=0.0)]
early = EarlyStopping(1, metric="loss")
trainings = {
    "sgd": (SGD(0.1), {}),
    "momentum": (SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01, ema=EMA(0.8, warmup=True)), {}),
    "l2": (SGD(0.1, momentum=0.9, dampening=0.1, l2=0.01, maximize=True), {"accumulate": 2}),
    "adam": (Adam(0.01, amsgrad=True, weight_decay=0.1), {"clip_grad_norm": 0.01}),
    "adamw": (AdamW(0.01, groups=groups), {"transform": lambda grad: grad * (1 / grad.norm())}),
    "ema": (AdamW(0.3, ema=0.9), {"early_stopping": early, "accumulate": 3, "clip_grad_norm": 0.01}),
    "plateau": (RMSprop(ReduceLROnPlateau(0.3, patience=0), centered=True, momentum=0.5), {}),
    "adagrad": (Adagrad(0.1, lr_decay=0.1, initial_accumulator_value=0.1), {}),
    "adadelta": (Adadelta(weight_decay=0.1), {}),
    "lion": (Lion(1e-2, weight_decay=0.1, ema=0.5), {"early_stopping": early, "run": "run-of-" + sys.argv[2]}),
}
found, parallel = {}, DataParallel(shard_optimizer=sharded)
for name, (optimizer, more) in trainings.items():
    net = model()
    for epochs in (1, 2):  # the second call goes on with the same optimizer
        loader = Loader(x, y, batch_size=25, rng=PCG32(epochs), prefetch=0)
        loss, validation = SoftmaxCrossEntropy(), (x, y)
        more |= {"progress": False, "parallel": parallel, "validation": validation}
        if "run" in more:
            more["run"] += f"-{epochs}"
        history = fit(net, loss, optimizer.bind(net), loader, epochs=epochs, **more)
        found |= {f"{name}.losses-{epochs}": np.array(history.losses)}
    found |= {f"{name}.model.{key}": array for key, array in net.state_dict().items()}
    if parallel.ranks.is_first:
        found |= {f"{name}.optimizer.{key}": np.array(array) for key, array in optimizer.state_dict().items()}
np.savez(f"{sys.argv[2]}-{parallel.ranks.rank}.npz", **found)
"""


@in_processes
def test_any_optimizer_on_any_number_of_ranks_ends_with_the_bits_of_one(tmp_path: Path) -> None:
    """Weights, losses and the optimizer's own arrays: with groups, decay, averages, clipping, transforms, accumulation,
    rates that watch a loss, early stopping, a shared layer, a parameter of one number and one that is not C-contiguous.
    """
    for count in (1, 2, 4):
        done = on_ranks(count, tmp_path, "sharded" if count > 1 else "not", f"of-{count}", program=TRAININGS)
        assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "of-1-0.npz") as file:
        alone = dict(file)
    assert len({name.split(".")[0] for name in alone}) == 10
    assert all(np.isfinite(array).all() for array in alone.values())
    kept = sorted(tmp_path.glob("of-[24]-*.npz"))
    assert len(kept) == 2 + 4
    for path in kept:
        with np.load(path) as file:
            missing = {name for name in alone.keys() - file.keys() if ".optimizer." not in name}
            assert not missing
            assert path.stem.endswith("-0") == (file.keys() == alone.keys()), "the first rank has the optimizer's state"
            assert [name for name in file if file[name].tobytes() != alone[name].tobytes()] == [], path.name


MEMORY = """
import sys
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import AdamW
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import fit

x, y = np.zeros((16, 30), np.float32), np.zeros(16, np.int64)
model = (Input(30) >> Linear(30, 50) >> ReLU() >> Linear(50, 3)).init(PCG32(1))
optimizer, seen = AdamW().bind(model), []

def noted(grad):
    seen.append(sum(array.nbytes for _, arrays in optimizer.kept().values() for array in arrays.values()))
    return grad

parallel = DataParallel(shard_optimizer=True)
loader = Loader(x, y, batch_size=8, rng=PCG32(2))
fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=1, progress=False, parallel=parallel, transform=noted)
np.save(f"{parallel.ranks.rank}-of-{parallel.ranks.size}.npy", seen[-1] / (2 * 4 * model.num_parameters()))
"""


@in_processes
def test_a_rank_of_four_keeps_a_quarter(tmp_path: Path) -> None:
    """Of the bytes of AdamW's arrays."""
    for count in (1, 4):
        done = on_ranks(count, tmp_path, program=MEMORY)
        assert done.returncode == 0, done.stderr
    assert float(np.load(tmp_path / "0-of-1.npy")) == 1.0
    shares = [float(np.load(tmp_path / f"{rank}-of-4.npy")) for rank in range(4)]
    assert sum(shares) == pytest.approx(1.0)
    assert max(shares) < 0.26


NOT_FINITE = """
import sys
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.errors import StateError
from typednn.layers import Linear
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import fit

row, before = int(sys.argv[1]), []
model = (Input(4) >> Linear(4, 2)).init(PCG32(1))
model[0].weight[...] = model[0].bias[...] = 0.0

def batch(x):  # of the second one the loss is finite, and the derivative by one weight is not
    before[:] = [array.copy() for array in model.parameters()]
    batch.calls += 1  # one for each of this rank's four shards
    x = x.copy()
    x[:, 0] = 1e30 if batch.calls > 4 else 0.0
    return x

batch.calls = 0
y = np.zeros((16, 2), np.float32)
y[:, row] = 1e9
loader = Loader(np.ones((16, 4), np.float32), y, batch_size=8, rng=PCG32(2), transform=batch, prefetch=0)
parallel = DataParallel(shard_optimizer=True)
try:
    fit(model, MSE(), SGD(1e-9), loader, epochs=1, progress=False, parallel=parallel)
except StateError as error:
    same = all(map(np.array_equal, before, model.parameters()))
    open(f"told-{parallel.ranks.rank}", "w").write(f"{batch.calls} {same} {error}")
    parallel.ranks.first_reason(None)  # a rank that ends ends the job: each has written its file
raise SystemExit
"""


@in_processes
@pytest.mark.parametrize("row", [0, 1], ids=["the-first-rank's", "the-second-rank's"])
def test_a_gradient_that_is_not_finite_on_one_rank_is_refused_on_all(tmp_path: Path, row: int) -> None:
    """With the same words, before anything is written."""
    done = on_ranks(2, tmp_path, str(row), program=NOT_FINITE)
    told = [(tmp_path / f"told-{rank}").read_text(encoding="utf-8") for rank in (0, 1)]
    assert told[0] == told[1], done.stderr
    said = 'the gradient must stay finite, got NaN or infinity in step 2 (epoch 1), first in the gradient of "0.weight"'
    assert told[0].startswith(f"8 True fit: {said}")


@in_processes
@pytest.mark.parametrize(("first", "second", "begins"), [("4", "2", True), ("2", "4", False), ("2", "1", True)])
def test_a_run_goes_on_with_and_without_it(tmp_path: Path, first: str, second: str, begins: bool) -> None:
    """The files of a run that was stopped are those of one process that was not."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    chosen = "max_steps=6", "checkpoint_every=3", "optimizer=adamw", "shards=8"
    settings = [word for each in chosen for word in ("--set", each)]
    asked, option = ["train", "mlp", "--data", "digits", "-q", *settings], "--shard-optimizer"
    checkpoints = tmp_path / "stopped" / "checkpoints"
    for command in (
        [*asked, "--ranks", first, "--run", "stopped", *([option] if begins else [])],
        ["resume", "stopped", "-q", "--ranks", second, *([] if begins else [option])],
        [*asked, "--run", "whole"],
    ):
        done = run_command(*command, cwd=tmp_path, TYPEDNN_ENGINE="reference")
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in checkpoints.glob("step-*")) == ["step-00000003", "step-00000006"]
        if "stopped" in command and command[0] == "train":  # as if it had been stopped after step 3
            stopped_after(tmp_path / "stopped", 3)
    for name in ("weights", "optimizer"):
        ours, expected = (
            load_file(tmp_path / run / "checkpoints" / "step-00000006" / f"{name}.safetensors")
            for run in ("stopped", "whole")
        )
        assert list(ours) == list(expected)
        assert [key for key, array in ours.items() if array.tobytes() != expected[key].tobytes()] == []


class Normed(GradientOptimizer):
    """A rule that needs the whole parameter."""

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        state.weights -= lr * grad / np.linalg.norm(grad)


class Signed(GradientOptimizer):
    """One that does not."""

    elementwise = True

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        state.weights -= lr * np.sign(grad)


def test_what_can_be_shared_out() -> None:
    """An optimizer that says that its rule is elementwise, which a derived class says again for a rule of its own."""
    x = np.ones((4, 4))

    def trained(optimizer: Any) -> None:
        loader = Loader(x, x[:, :3], batch_size=2, rng=np.random.default_rng(0))
        fit(small(), MSE(), optimizer, loader, epochs=1, progress=False, parallel=DataParallel(shard_optimizer=True))

    for optimizer in (Signed(0.1), SGD(0.1)):
        trained(optimizer)
        assert optimizer.steps == 2
    rule = "fit: shard_optimizer needs an optimizer that steps each number by itself"
    cure = "take one of typednn.optim, or set elementwise = True in the class of yours"
    with pytest.raises(ArgumentError) as caught:
        trained(Normed(0.1))
    assert str(caught.value) == f"{rule}, got Normed; {cure}"
    other: Any = type("Other", (Signed,), {"apply": Normed.apply})
    assert not other.elementwise
    wrong: Any = 1
    with pytest.raises(ArgumentError, match="DataParallel: shard_optimizer must be True or False, got 1"):
        DataParallel(shard_optimizer=wrong)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(1,), (3,), (8,), (5, 7), (2, 3, 4)], ids=str)
def test_slices_are_the_whole_array(shape: tuple[int, ...], size: int) -> None:
    """In the order of the ranks; views, so that a step writes the parameter."""
    array = np.random.default_rng(0).standard_normal(shape)
    slices = [part(array, rank, size) for rank in range(size)]
    np.testing.assert_array_equal(np.concatenate(slices), array.reshape(-1))
    assert max(map(len, slices)) == -(-array.size // size)
    assert all(np.shares_memory(each, array) for each in slices if each.size)
