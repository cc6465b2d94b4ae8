"""Ranks with a GPU each: as one rank on a GPU, to the bit, and as the CPU, to rounding.

The GPUs are those of `cupy_on_ranks`, and one real one where there is one. Truth is NumPy, and training on the CPU.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy_on_ranks
import numpy as np
import pytest

from tests.parallel.processes import in_processes, on_ranks
from typednn import Input, arrays
from typednn.backends import backend, to_device, to_numpy
from typednn.backends.backend import NumpyBackend
from typednn.backends.cupy_backend import CupyBackend
from typednn.data import Loader
from typednn.engines import using
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.optim import AdamW
from typednn.parallel import DataParallel, Ranks
from typednn.parallel.nccl import Nccl
from typednn.random import PCG32
from typednn.training import fit

SUPPORT = Path(__file__).resolve().parents[1] / "support"
BEGIN = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import cupy_on_ranks
"""

PROGRAM = """
import numpy as np
import strict_array
from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm2d, Conv2d, Dropout, Flatten, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import AdamW
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import Callback, Evaluation, fit

device, case = sys.argv[1:]
cupy_on_ranks.install(gpus=1 if case == "crowded" else 8, nccl=case != "without")
strict_array.register()
more = {"exchange": "fastest"} if case == "fastest" else {"shard_optimizer": case == "sharded"}
parallel = DataParallel(stages=1 + (case == "stages"), sync_batchnorm=case == "synced", **more)
rank, size = parallel.ranks.rank, parallel.ranks.size
rng = np.random.default_rng(0)
x, y = rng.standard_normal((52, 6, 6, 2), dtype=np.float32), rng.integers(0, 5, 52)
if case == "nan":
    x[40, 0, 0, 0] = np.nan
body = Input(6, 6, 2) >> Conv2d(2, 4, 3) >> BatchNorm2d(4) >> ReLU() >> Flatten()
model = body >> Dropout(0.3) >> Linear(64, 5) if case in ("exact", "weights") else body >> Linear(64, 5)
model.init(PCG32(1 + rank)).to("cpu" if case == "mixed" and rank else device)  # the ranks begin as the first

class Told(Callback):
    def on_step(self, step):
        print("step", step.step, f"{step.loss:.6f}", flush=True)

optimizer, weight = AdamW(1e-3), rng.uniform(0.5, 2.0, 52).astype(np.float32) if case == "weights" else None
held = Evaluation(x[:20], y[:20], batch_size=4)
more = {"clip_grad_norm": 1.0} if case == "weights" else {}
for epochs in (1, 2):  # the second time the optimizer has arrays
    if case == "back" and epochs == 2:
        model.to("cpu")
    loader = Loader(x, y, batch_size=25, rng=PCG32(3), sample_weight=weight)  # the last batch has 2 rows
    history = fit(
        model, SoftmaxCrossEntropy(), optimizer, loader, epochs=epochs, progress=False, parallel=parallel,
        validation=held, callbacks=[Told()], **more,
    )
arrays = model.to("cpu").state_dict()
np.savez(f"{device}-{rank}-of-{size}.npz", losses=history.losses, held=[history.evaluations[-1].loss], **arrays)
"""


def ended(count: int, folder: Path, device: str, case: str) -> "subprocess.CompletedProcess[str]":
    return on_ranks(count, folder, device, case, program=BEGIN + PROGRAM)


def saved(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


@in_processes
@pytest.mark.parametrize("case", ["exact", "weights"])
def test_any_number_of_ranks_ends_with_the_same_bits(tmp_path: Path, case: str) -> None:
    """A batch with fewer rows than ranks too; with weights of rows and clipping, where each step is read."""
    counts = (1, 2, 4) if case == "exact" else (1, 2)
    for count, device in ((1, "cpu"), *((count, "cuda") for count in counts)):
        done = ended(count, tmp_path, device, case)
        assert done.returncode == 0, done.stderr
    alone, cpu = saved(tmp_path / "cuda-0-of-1.npz"), saved(tmp_path / "cpu-0-of-1.npz")
    kept = [*tmp_path.glob("cuda-*.npz")]
    assert len(kept) == sum(counts)
    for path in kept:
        found = saved(path)
        assert [name for name in alone if found[name].tobytes() != alone[name].tobytes()] == [], path.name
    for name, array in cpu.items():
        np.testing.assert_allclose(alone[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


@in_processes
def test_a_model_that_is_moved_back_is_exchanged_on_the_cpu(tmp_path: Path) -> None:
    """By the same `DataParallel`."""
    done = ended(2, tmp_path, "cuda", "back")
    assert done.returncode == 0, done.stderr


@in_processes
def test_the_fastest_exchange_gives_all_ranks_the_same_weights(tmp_path: Path) -> None:
    """Near those that MPI's all-reduce gives on the CPU."""
    for device in ("cpu", "cuda"):
        done = ended(2, tmp_path, device, "fastest")
        assert done.returncode == 0, done.stderr
    first, second, cpu = (saved(tmp_path / f"{name}-of-2.npz") for name in ("cuda-0", "cuda-1", "cpu-0"))
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []
    for name, array in cpu.items():
        np.testing.assert_allclose(first[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


@in_processes
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("elsewhere", "fit: ranks exchange arrays of 'cpu' and 'cuda', got a model on 'strict'; leave parallel out"),
        ("stages", "one stage and statistics of shards, got stages with a model on 'cuda'; leave it out, or leave the"),
        ("synced", "one stage and statistics of shards, got sync_batchnorm with a model on 'cuda'; leave it out, or"),
        ("crowded", "DataParallel: each rank has a GPU of its own, got GPU 0000:00:00.0 of "),
        ("without", "DataParallel: needs NCCL to sum over GPUs, got a CuPy without it; pip install nvidia-nccl-cu12"),
        ("sharded", "fit: a model on a device has whole optimizers, one stage and statistics of shards, got shard_opt"),
        ("mixed", "all ranks begin alike, got the devices of the model of rank 1 differ from those of rank 0: cpu,"),
    ],
)
def test_what_is_refused_is_told_before_the_first_step(tmp_path: Path, case: str, said: str) -> None:
    done = ended(2, tmp_path, "strict" if case == "elsewhere" else "cuda", case)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.count(said) == 1, done.stderr
    if case == "crowded":
        assert "for ranks 0 and 1; start as many ranks as GPUs (here 1), and make DataParallel() before" in done.stderr


@in_processes
def test_a_row_that_is_not_finite_is_named_as_on_one_rank(tmp_path: Path) -> None:
    said = [
        re.findall(r"got nan in step .*, first in the data: row .* of the batch", ended(*where, "nan").stderr)
        for where in ((1, tmp_path, "cpu"), (2, tmp_path, "cuda"))
    ]
    assert said[0] == said[1]
    assert len(said[0]) == 1


VECTORS = """
from typednn.backends import to_device, to_numpy
import numpy as np
from typednn.parallel import Ranks
from typednn.parallel.nccl import Nccl
cupy_on_ranks.install()
ranks = Ranks()
gpus = Nccl(ranks)
import cupy
assert cupy.cuda.Device().id == ranks.rank
for dtype in (np.float32, np.float64):
    for length in (1, 2, 3, 1000, 40_001):
        every = np.random.default_rng(length).uniform(-99, 99, (4, length)).astype(dtype)
        there = to_device(every[ranks.rank], "cuda")
        for present in ([True] * 4, [False, True, True, False]):
            mine, host = there.copy(), every[ranks.rank].copy()
            gpus.add_up(mine, present)
            ranks.add_up(host, present)
            assert to_numpy(mine).tobytes() == host.tobytes(), (dtype, length)
        gpus.all_reduce(there)
        assert np.allclose(to_numpy(there), every.sum(axis=0), rtol=1e-4, atol=1e-3), (dtype, length)
"""


@in_processes
def test_a_vector_is_summed_over_gpus_as_over_ranks(tmp_path: Path) -> None:
    """Of any length; also with fewer numbers than ranks. Each rank has the GPU of its number."""
    done = on_ranks(4, tmp_path, program=BEGIN + VECTORS)
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.gpu)])
def on_a_gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process alone, with a GPU that is the stand-in's, or one that is real."""
    if request.param == "real":
        yield
        return
    with using("reference"):
        monkeypatch.setattr(arrays, "_BACKENDS", dict(arrays._BACKENDS))
        monkeypatch.setattr(backend, "_BACKENDS", {"cpu": NumpyBackend(), "cuda": CupyBackend()})
        for name, module in cupy_on_ranks.modules().items():
            monkeypatch.setitem(sys.modules, name, module)
        yield


@pytest.mark.usefixtures("on_a_gpu")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 40_001])
def test_one_gpu_sums_and_gathers_with_itself(length: int, dtype: Any) -> None:
    gpus, host = Nccl(Ranks()), np.random.default_rng(length).standard_normal(length).astype(dtype)
    vector = to_device(host, "cuda")
    for sum_up in (lambda each: gpus.add_up(each, [True]), gpus.all_reduce):
        sum_up(vector)
        np.testing.assert_array_equal(to_numpy(vector), host)


@pytest.mark.usefixtures("on_a_gpu")
def test_one_gpu_trains_as_the_cpu() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 4), dtype=np.float32), rng.standard_normal((50, 3), dtype=np.float32)
    found: dict[str, Any] = {}
    for device in ("cpu", "cuda"):
        model = (Input(4) >> Linear(4, 5) >> Tanh() >> Linear(5, 3)).init(PCG32(1)).to(device)
        loader = Loader(x, y, batch_size=11, rng=PCG32(2))
        history = fit(model, MSE(), AdamW(0.01), loader, epochs=2, progress=False, parallel=DataParallel())
        found[device] = [*map(to_numpy, model.parameters()), np.array(history.losses)]
    for ours, cpu in zip(found["cuda"], found["cpu"], strict=True):
        np.testing.assert_allclose(ours, cpu, rtol=1e-4, atol=1e-6)
