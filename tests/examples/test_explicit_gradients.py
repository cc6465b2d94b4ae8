"""P-P10: gradients in the user's hand."""

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_what_it_says_is_so() -> None:
    """P-P10: held, clipped, accumulated and left out, with the numbers to see it."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.explicit_gradients"],
        cwd=REPOSITORY,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"-> 0\.1000$", done.stdout, re.MULTILINE)
    whole, halves = re.search(r"whole ([\d.]+), halves together ([\d.]+)", done.stdout).groups()  # type: ignore[union-attr]
    assert abs(float(whole) - float(halves)) < 2e-6
    assert "the body's weights are what they were" in done.stdout
    first, last = (float(value) for value in re.findall(r"loss ([\d.]+)", done.stdout))
    assert last < 0.8 * first
