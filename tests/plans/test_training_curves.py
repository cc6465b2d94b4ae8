"""LeNet5 learns the same, step by step, on the reference kernels, on the compiled ones and by a plan: real digits, a
real optimizer.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from effort import LONG

import typednn
from typednn.engines import available, counting, using
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import lenet5
from typednn.optim import SGD, Adam
from typednn.optim.optimizer import GradientOptimizer
from typednn.recipes.samples import load_data

STEPS, BATCH = 70, 32


def curve(
    how: str, optimizer: GradientOptimizer, seed: int, dtype: type[np.floating[Any]] = np.float32
) -> tuple[npt.NDArray[np.float64], set[str]]:
    """The loss of every step, and the engines that ran."""
    data = load_data("digits")
    x = (data.x.astype(np.float64) / 255.0).astype(dtype)
    plain = lenet5(softmax=False, rng=np.random.default_rng(seed)).astype(dtype)
    model: Any = typednn.compile(plain) if how == "planned" else plain
    loss = SoftmaxCrossEntropy()
    seen: list[float] = []
    # What is counted is computed layer by layer.
    counted: Any = nullcontext(()) if how == "planned" else counting()
    with using("reference" if how == "reference" else "fast"), counted as ran:
        for step in range(STEPS):
            batch = slice(step * BATCH % (len(x) - BATCH), step * BATCH % (len(x) - BATCH) + BATCH)
            scores = model.forward(x[batch])
            seen.append(float(loss.loss(scores, data.y[batch])))
            plain.update(optimizer, model.backward(loss.loss_grad(scores, data.y[batch])))
    if how == "planned":
        return np.array(seen), {line.engine for line in model.explain(times=1).lines}
    return np.array(seen), {engine for _, engine in ran}


@pytest.mark.skipif(not available(), reason="compiled kernels need the extra [fast]")
@pytest.mark.parametrize("kind", [lambda: SGD(lr=0.2), lambda: Adam(lr=1e-3)], ids=["SGD", "Adam"])
def test_training_curves_agree(kind: Callable[[], GradientOptimizer]) -> None:
    """Each is as near to a float64 run as float32 is: what separates the kernels is no more than what separates the
    precisions.

    For most seeds: in some runs rounding decides which of two pixels is the larger, in the reference as in the kernels.
    """
    far: dict[str, list[float]] = {"fast": [], "planned": []}
    learnt: list[float] = []
    for seed in (3, 4, 6, 7, 10) if LONG else (3, 4, 6):
        exact, _ = curve("reference", kind(), seed, np.float64)
        reference, slow = curve("reference", kind(), seed)
        assert slow == {"reference"}
        learnt.append(exact[-1] / exact[0])
        rounding = np.maximum.accumulate(np.abs(reference - exact)) + 1e-6
        for how, ratios in far.items():
            losses, ran = curve(how, kind(), seed)
            assert "halide" in ran
            ratios.append(float((np.abs(losses - exact) / rounding).max()))
    assert min(learnt) < 0.9
    assert all(np.median(ratios) <= 10 for ratios in far.values()), far
