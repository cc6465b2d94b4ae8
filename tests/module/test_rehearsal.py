"""A first step whose kernels are not compiled yet leaves what any other first step leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.engines import available, counting, get_threads, set_threads
from typednn.engines.halide import parallel
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.module.rehearsal import copied, is_known
from typednn.optim import SGD, Adam

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")

STEPS = """
import hashlib, json, sys
import numpy as np
from typednn import Input
from typednn.engines import counting, threads
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import Adam

rng = np.random.default_rng(0)
model = Input(10, 10, 1) >> Conv2d(1, 3, 3) >> ReLU() >> MaxPool2d(2) >> Flatten() \
>> Linear(48, 9) >> ReLU() >> Linear(9, 4)
model = model.init(rng)
optimizer = Adam(0.01).bind(model)
x, y = rng.standard_normal((8, 10, 10, 1), dtype=np.float32), rng.integers(0, 4, 8)
loss = SoftmaxCrossEntropy()
with counting() as counts:
    for _ in range(2):
        prediction = model.forward(x)
        grad = model.backward(loss.loss_grad(prediction, y))
        model.update(optimizer, grad)
arrays = {**model.state_dict(), **optimizer.state_dict()}
print(json.dumps({
    "bits": {name: hashlib.sha256(np.asarray(array).tobytes()).hexdigest() for name, array in arrays.items()},
    "runs": sorted([*key, count] for key, count in counts.items()),
    "input": float(abs(x).sum()),
    "generator": rng.integers(0, 1 << 30),
}, default=int))
"""


def start(folder: Path, threads: int, code: str = STEPS) -> subprocess.Popen[str]:
    folder.mkdir(mode=0o700, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "TYPEDNN_CACHE": str(folder), "TYPEDNN_THREADS": str(threads)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_cold_steps_leave_the_bits_of_warm_ones(tmp_path: Path) -> None:
    results: list[Any] = []
    # compiled together; found on disk; compiled one after another
    for folder, threads in (("a", 2), ("a", 2), ("b", 1)):
        process = start(tmp_path / folder, threads)
        said, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
        results.append((json.loads(said), complaint))
    (cold, line), (warm, nothing), (alone, nothing_either) = results
    assert cold == warm == alone
    kernels = len(list((tmp_path / "a").glob("*.so")))
    assert kernels == len(list((tmp_path / "b").glob("*.so")))  # none that is not called
    assert line.startswith("typednn compiles ")
    assert line.endswith(" kernels for these sizes and this processor\n")
    assert 4 <= int(line.split()[2]) <= kernels
    assert nothing == nothing_either == ""


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ctrl_c_ends_the_processes_that_compile(tmp_path: Path) -> None:
    process = start(tmp_path / "kernels", 2)
    until = time.monotonic() + 60
    while not (children := children_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.01)
    assert children
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    until = time.monotonic() + 30  # one that was just being started ends when its input does
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def compiled_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[str]]]:
    """The names of the kernels of each parallel compilation, which is not done, in an empty cache."""
    names: list[set[str]] = []

    @contextmanager
    def record(jobs: Any, threads: int, show: Any) -> Iterator[None]:
        names.append({job.plan.name for job in jobs if job.plan is not None})
        yield

    before = get_threads()
    set_threads(2)
    monkeypatch.setattr(parallel, "compiled", record)
    monkeypatch.setenv("TYPEDNN_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    yield names
    set_threads(before)


def images(rows: int, features: int) -> Any:
    return np.random.default_rng(rows).standard_normal((rows, features), dtype=np.float32)


def test_the_first_forward_knows_the_backward(compiled_together: list[set[str]]) -> None:
    model = (Input(23) >> Linear(23, 19) >> ReLU() >> Linear(19, 21)).init(np.random.default_rng(0))
    x = images(9, 23)
    before = {name: array.copy() for name, array in model.state_dict().items()}
    with counting() as counts:
        y = model.forward(x)
        kept = y.copy()
        assert counts == {("linear.forward", "halide"): 2, ("relu.forward", "reference"): 1}
        model.backward(np.ones_like(y))
    assert compiled_together == [{"linear.tiles", "linear.backward"}]
    np.testing.assert_array_equal(y, kept)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_in_eval_kernels_are_compiled_when_they_are_called(compiled_together: list[set[str]]) -> None:
    model = (Input(23) >> Linear(23, 18) >> ReLU() >> Linear(18, 22)).init(np.random.default_rng(0)).eval()
    model.forward(images(9, 23))
    assert compiled_together == []


def test_layers_of_the_user_run_once(compiled_together: list[set[str]]) -> None:
    """They may print, or draw from a generator that is not theirs."""
    import own_layers  # it registers its layers, which other tests would find at their collection

    model = Input(23) >> Linear(23, 17) >> own_layers.ScaleNorm(17) >> Linear(17, 24)
    assert not is_known(model)
    model.init(np.random.default_rng(0)).forward(images(9, 23))
    assert compiled_together == []


def test_what_is_known() -> None:
    model = Input(3) >> Linear(3, 2)
    assert is_known(model, SGD(0.1), SoftmaxCrossEntropy(), SGD(0.1).settings.lr)
    assert not is_known(model, SGD(lambda step: 0.1).settings.lr)
    assert not is_known(type("Own", (Adam,), {"__module__": "mine"})(0.1))


def test_a_copy_starts_with_nothing_kept() -> None:
    model = (Input(3) >> Linear(3, 2)).init(np.random.default_rng(0))
    model.forward(images(5, 3))
    (other,) = copied(model)
    assert [part.__typednn_calls__.kept for _, part in other.named_modules()] == [{}, {}]
    for mine, others in zip(model.parameters(), other.parameters(), strict=True):
        assert mine is not others
        np.testing.assert_array_equal(mine, others)
    model.backward(np.ones((5, 2), np.float32))  # what it kept is still there
