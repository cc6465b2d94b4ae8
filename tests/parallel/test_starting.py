"""Ranks that begin alike or are refused, faults that one rank has, and what the others say.

Truth is which rank was made to differ.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import run_command
from tests.parallel.processes import in_processes, on_ranks
from typednn.data import Loader
from typednn.data.fingerprint import fingerprint

PROGRAM = """
import sys
import warnings
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import Callback, Evaluation, fit, starting

warnings.simplefilter("always")
fault = sys.argv[1]
parallel = DataParallel()
ranks, last = parallel.ranks, parallel.ranks.rank == parallel.ranks.size - 1
rng = np.random.default_rng(5 if last and fault == "data" else 0)
x, y = rng.standard_normal((96, 4)), rng.standard_normal((96, 3))
held = rng.standard_normal((9 - (last and fault == "held back"), 4))
wide = 6 if last and fault == "model" else 5
model = (Input(4) >> Linear(4, wide) >> Tanh() >> Linear(wide, 3)).init(PCG32(1)).astype(np.float64)
if last and fault == "numpy":
    np.__version__ = "1.0"
if last and fault == "typednn":
    starting.__version__ = "0.0.1"
if last and fault == "processor":
    found = starting.environment
    starting.environment = lambda: found() | {"processor": "abacus"}
if last and fault == "weights":
    model.load_state_dict = lambda state: None
    model.parameters()[0][...] += 1
if fault == "one row" and last:
    def broken(rows):
        return np.where((rows == x[30]).all(axis=1, keepdims=True), np.nan, rows)
elif fault == "both":
    def broken(rows):
        return rows * np.nan
else:
    broken = None

class Told(Callback):
    def on_step(self, step):
        print("step", step.step, flush=True)

loader = Loader(x, y, batch_size=32, shuffle=False, transform=broken, prefetch=0)
evaluation = Evaluation(held, held[:, :3])
more = {"validation": evaluation, "callbacks": [Told()], "parallel": parallel}
fit(model, MSE(), SGD(0.1), loader, epochs=1, progress=False, **more)
"""


def ended(fault: str, folder: Path, count: int = 2) -> "subprocess.CompletedProcess[str]":
    """``PROGRAM`` on so many ranks, of which the last has the fault."""
    return on_ranks(count, folder, fault, program=PROGRAM)


@in_processes
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("typednn", "the versions of typednn of rank 1 differ from those of rank 0: 0.0.1, and "),
        ("numpy", f"the versions of NumPy of rank 1 differ from those of rank 0: 1.0, and {np.__version__}; "),
        ("data", "the data of rank 1 differ from those of rank 0; "),
        ("held back", "the validation data of rank 1 differ from those of rank 0; "),
        ("model", "the model's arrays of rank 1 differ from those of rank 0; "),
        ("weights", "the weights of rank 1 differ from those of rank 0; "),
    ],
)
def test_ranks_that_differ_are_refused_before_the_first_step(tmp_path: Path, fault: str, said: str) -> None:
    done = ended(fault, tmp_path)
    assert done.returncode != 0
    assert f"StateError: DataParallel: all ranks begin alike, got {said}" in done.stderr
    assert done.stderr.count("all ranks begin alike") == 1
    assert done.stdout == ""


@in_processes
def test_another_processor_is_a_warning(tmp_path: Path) -> None:
    done = ended("processor", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("another number of ranks may give other bits: from rank 0 to 1, processor was ") == 1
    assert ", is abacus" in done.stderr
    assert done.stdout == "step 1\nstep 2\nstep 3\n"


@in_processes
def test_a_row_that_is_not_finite_on_one_rank(tmp_path: Path) -> None:
    """With its place in the batch, not in the shard."""
    done = ended("one row", tmp_path, count=4)
    assert done.returncode == 1
    assert (
        "the loss must stay finite, got nan in step 1 (epoch 1), first in the data: row 30 of the batch, on rank 3;"
        in (done.stderr)
    )
    assert "typednn: rank 3 of 4, on " in done.stderr


@in_processes
def test_rows_that_are_finite_on_no_rank_are_told_once(tmp_path: Path) -> None:
    done = ended("both", tmp_path, count=4)
    assert done.returncode != 0
    assert done.stderr.count("must stay finite") == 1
    assert "first in the data: row 0 of the batch, on rank 0;" in done.stderr
    assert done.stderr.count("ended the job") == 1


def test_a_fingerprint_tells_data_apart() -> None:
    x, y = np.arange(40.0).reshape(10, 4), np.arange(10)
    large = np.zeros((1 << 18, 1))
    changed = large.copy()
    changed[-1] = 1
    every: Sequence[tuple[Any, ...]] = [
        (x, y),
        (x, y + 1),
        (x.astype(np.float32), y),
        (x[:9], y[:9]),
        (x.reshape(10, 2, 2), y),
        (x, None),
        (None, x),
        (large,),
        (changed,),
    ]
    assert len({fingerprint(*arrays) for arrays in every}) == len(every)
    assert fingerprint(x, y) == fingerprint(x.copy(), y.copy())
    assert Loader(x, y, batch_size=2, shuffle=False).fingerprint() == fingerprint(x, y, None)


@in_processes
def test_what_another_rank_says_is_in_a_log(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="of which the digits are")
    (tmp_path / "module.py").write_text(
        "import os, sys, warnings\nfrom typednn.errors import ArgumentError\n"
        "rank = os.environ['PMI_RANK']\nif os.path.exists('broken') and rank == '1':\n    raise ArgumentError('no')\n"
        "if rank == '1':\n    warnings.warn('heed this')\n",
        encoding="utf-8",
    )
    asked = ("train", "mlp", "--data", "digits", "--epochs", "1", "--ranks", "2", "--import", "module")
    done = run_command(*asked, "--run", "run", cwd=tmp_path, TYPEDNN_ENGINE="reference")
    assert done.returncode == 0, done.stderr
    assert "heed this" not in done.stderr
    assert (tmp_path / "run" / "rank-1.log").read_text(encoding="utf-8") == "warning: heed this\n"
    checked = run_command("check", "run", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (tmp_path / "broken").touch()
    done = run_command(*asked, "--run", "other", cwd=tmp_path, TYPEDNN_ENGINE="reference")
    assert done.returncode == 1
    assert done.stderr.count("typednn train: import module: ArgumentError: no\n") == 1
    assert "typednn: rank 1 of 2, on " in done.stderr
