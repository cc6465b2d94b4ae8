"""`benchmarks.gpu`: what of it needs no GPU, on the CPU, and what it says where there is none."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import gpu, works
from typednn.backends import available

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = works.Work("small", (8, 8, 1), (("pad", (1,)), works.conv(1, 2, 3), works.RELU, works.HALVED, works.FLATTEN,
                   works.linear(32, 3)), 4, "SGD", "labels", works.BOTH)  # fmt: skip


@pytest.mark.parametrize("module", ["benchmarks.gpu", "benchmarks.gpu_gpt2"])
def test_without_a_gpu_nothing_is_measured(module: str) -> None:
    if "cuda" in available():
        pytest.skip("there is a GPU")
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=REPOSITORY,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith('nothing measured: device "cuda": needs ')
    assert done.stderr == ""


@pytest.mark.gpu
def test_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--rows", "lenet5-step", "control-step", "--seconds", "0.1"]) == 0
    assert "LeNet5, batch 600, step with SGD" in capsys.readouterr().out.partition("\n  work ")[2]


def test_ours_is_what_the_other_benchmark_times() -> None:
    found, known = (each.results() for each in (gpu.Ours(SMALL, "cpu"), works.new_contestant("typednn", SMALL)))
    assert set(found) == set(known)
    for name, array in known.items():
        np.testing.assert_array_equal(found[name], array)


class Fake:
    """Gives the results that it is told to, and notes how often it was run."""

    def __init__(self, *gradient: float) -> None:
        self.gradient = np.array(gradient)
        self.runs: list[int] = []

    def results(self) -> dict[str, Any]:
        return {"gradient w": self.gradient}

    def run(self, times: int) -> None:
        self.runs.append(times)

    def described(self) -> str:
        return ""


def test_who_differs_is_named() -> None:
    everyone = {"typednn": Fake(1, 2), "torch": Fake(1, 2), "torch-channels-last": Fake(1, 2.001)}
    (complaint,) = gpu.disagreements(SMALL, everyone)
    assert complaint.startswith("torch-channels-last differs ")
    assert complaint.endswith(" times as much as is allowed (gradient w)")


class Counter(Fake):
    """Each run changes its results, and to describe itself it runs once, as `gpu.Ours` does."""

    def results(self) -> dict[str, Any]:
        return {"gradient w": np.array([1.0 + sum(self.runs)])}

    def described(self) -> str:
        self.run(1)
        return ""


def test_results_are_compared_before_anything_runs() -> None:
    text, same = gpu.measured(SMALL, {"typednn": Counter(), "torch": Fake(1.0)}, 1e-9)
    assert same, text


def test_all_take_turns() -> None:
    everyone = {"typednn": Fake(), "torch": Fake()}
    samples = gpu.timed(everyone, 1e-9)
    assert {name: len(found) for name, found in samples.items()} == {"typednn": gpu.SAMPLES, "torch": gpu.SAMPLES}
    assert everyone["torch"].runs == [3, 3] + [1] * gpu.SAMPLES


def test_the_faster_layout_is_the_peer() -> None:
    text = gpu.line(
        SMALL, {"typednn": [0.001, 0.003, 0.002], "torch": [0.008] * 3, "torch-channels-last": [0.004, 0.002, 0.004]}
    )
    assert text.split()[-3:] == ["torch-channels-last", "0.50", "0.50"]
    assert gpu.line(SMALL, {"typednn": [0.001]}).split() == ["small", "1.000", "ms"]
    others = gpu.line(SMALL, {"typednn": [0.004], "torch": [0.008], "compiled": [0.002], "JAX": [0.001]})
    assert others.split()[-9:] == ["0.50", "JAX", "1.000", "ms", "4.00", "compiled", "2.000", "ms", "2.00"]


@pytest.mark.parity
def test_pytorch_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    everyone = gpu.contestants(SMALL, "cpu", peer=True)
    assert set(everyone) == {"typednn", "torch", "torch-channels-last"}
    assert gpu.disagreements(SMALL, everyone) == []
    everyone["torch"].run(1)
