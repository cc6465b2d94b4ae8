"""P-P5, P-P6, P-P10: an update written by hand, and a layer's own that a container calls."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from examples.update_by_hand import Bounded
from typednn import Input
from typednn.layers import Linear
from typednn.optim import SGD

REPOSITORY = Path(__file__).resolve().parents[2]


def test_what_it_says_is_so() -> None:
    """P-P5, P-P10: the part that is not updated stays; the rows stay short; the loss falls."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.update_by_hand"],
        cwd=REPOSITORY,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = re.findall(r"loss ([\d.]+), longest row of the head ([\d.]+), the body (.*)", done.stdout)
    assert [line[2] for line in lines] == ["as it was", "changed"]
    assert float(lines[1][0]) < 0.8 * float(lines[0][0])
    assert all(float(line[1]) <= 1.5001 for line in lines)


def test_the_layer_limits_its_rows_in_a_chain_too() -> None:
    """P-P6: the chain calls the layer's own update."""
    model = (Input(3) >> Linear(3, 4) >> Bounded(4, 2, most=0.01)).init(np.random.default_rng(0))
    x = np.ones((2, 3), np.float32)
    model.update(SGD(1.0), model.backward(model.forward(x)))
    assert np.linalg.norm(model.state_dict()["1.weight"], axis=1).max() <= 0.010001
