"""benchmarks.lenet5 beside PyTorch runs through, after the results were compared."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity

REPOSITORY = Path(__file__).resolve().parents[2]


def test_lenet5_beside_pytorch(torch: object) -> None:
    """P-E7, on four images: every engine agrees and is timed; nothing is judged."""
    options = ["--batch", "4", "--threads", "1", "--processes", "1", "--rounds", "1", "--warm-up", "0"]
    command = [sys.executable, "-m", "benchmarks.lenet5", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for layout in ("torch", "torch-channels-last"):
        assert f"output and 9 gradients: typednn and {layout} differ by at most" in done.stdout
    assert "ratio: typednn to torch" in done.stdout
    assert "not judged" in done.stdout


def test_layers_beside_pytorch(torch: object) -> None:
    """Results of three rows agree, time and memory are told; nothing is judged."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.layers",
        "--quick",
        "--threads",
        "1",
        "--only",
        "attention",
        "dropout",
        "layer_norm",
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all results agree" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[3:7]] == [
        "attention",
        "memory",
        "dropout",
        "layer_norm",
    ]
