"""Several processes write one name at once, and some are killed: a few rounds of `tests.torture.writers`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="the script forks")
def test_ten_rounds() -> None:
    """In a process of its own, which has no threads when it forks."""
    command = [
        sys.executable,
        "-m",
        "tests.torture.writers",
        "--rounds",
        "10",
        "--seed",
        "219",
        "--of",
        "tokens",
        "npz",
        "model",
        "run",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills in 10 rounds, 0 of them wrong" in done.stdout
