"""Several models learn at once, each in its own thread, while NumPy multiplies in others: the bits of a run alone, no
deadlock.
"""

import threading
from typing import Any

import numpy as np
import pytest

import typednn
from typednn.engines import get_threads, set_threads
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import lenet5
from typednn.optim import Adam

PATIENCE = 120.0  # seconds; what takes a moment


def learnt(seed: int, planned: bool) -> dict[str, Any]:
    """A LeNet5's parameters after six steps."""
    rng = np.random.default_rng(seed)
    model = lenet5(softmax=False, bias=True, rng=rng)
    learner: Any = typednn.compile(model) if planned else model
    loss, optimizer = SoftmaxCrossEntropy(), Adam(1e-3)
    for _ in range(6):
        x, labels = rng.standard_normal((16 + seed, 28, 28, 1), dtype=np.float32), rng.integers(0, 10, 16 + seed)
        model.update(optimizer, learner.backward(loss.loss_grad(learner.forward(x), labels)))
    return dict(model.state_dict())


@pytest.mark.parametrize("threads", [1, 2])
def test_models_in_several_threads(threads: int) -> None:
    jobs = [(seed, bool(seed % 2)) for seed in range(4)]
    before = get_threads()
    set_threads(threads)
    try:
        alone = [learnt(*job) for job in jobs]
        together: dict[int, dict[str, Any]] = {}
        done = threading.Event()

        def multiply() -> None:
            matrix = np.ones((300, 300), np.float32)
            while not done.is_set():
                assert (matrix @ matrix)[0, 0] == 300

        def learn(seed: int, planned: bool) -> None:
            together[seed] = learnt(seed, planned)

        others = [threading.Thread(target=multiply, daemon=True) for _ in range(2)]
        workers = [threading.Thread(target=learn, args=job, daemon=True) for job in jobs]
        for thread in (*others, *workers):
            thread.start()
        for worker in workers:
            worker.join(PATIENCE)
        done.set()
        for other in others:
            other.join(PATIENCE)
        assert not any(thread.is_alive() for thread in (*others, *workers))
    finally:
        set_threads(before)
    for (seed, _), wanted in zip(jobs, alone, strict=True):
        assert together[seed].keys() == wanted.keys()
        for name, array in wanted.items():
            np.testing.assert_array_equal(together[seed][name], array, err_msg=f"model {seed}: {name}")
