"""A network trained by CUDA kernels goes where the reference goes, and no op that has a kernel is left to the reference
on the way.
"""

import numpy as np
import pytest

from typednn import Input
from typednn.engines import counting, using
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD, Adam

KERNELS = {"pad2d", "conv2d", "relu", "max_pool2d", "softmax_cross_entropy", "linear", "class_targets"}


def network():
    rng = np.random.default_rng(0)
    return (
        Input(12, 11, 1)
        >> Pad2d(1)
        >> Conv2d(1, 3, 3, bias=True, rng=rng)
        >> ReLU()
        >> MaxPool2d(3, stride=2)
        >> Pad2d((0, 1, 1, 0), mode="replicate")
        >> Conv2d(3, 4, 2, stride=2, rng=rng)
        >> ReLU()
        >> MaxPool2d(2)
        >> Flatten()
        >> Linear(4, 5, rng=rng)
    )


@pytest.mark.parametrize(
    "optimizer", [lambda: SGD(0.05, momentum=0.9), lambda: Adam(0.01, weight_decay=0.1)], ids=["SGD", "Adam"]
)
def test_training(gpu, optimizer):
    """G-C13: the CUDA kernels' sources, compiled for a CPU, train as the reference does."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(8, 12, 11, 1)).astype(np.float32)
    labels = rng.integers(5, size=8)
    losses, ends = {}, {}
    for device in ("reference", "gpu"):
        model, loss, steps = network(), SoftmaxCrossEntropy(), optimizer()
        x, y = images, labels
        if device == "gpu":
            # What `to("cuda")` does, without asking CuPy for a GPU.
            model._replaced(gpu.put, device="cuda")
            x, y = gpu.put(images), gpu.put(labels)
        losses[device] = []
        with using("reference" if device == "reference" else "fast"), counting() as counts:
            for _ in range(6):
                scores = model.forward(x)
                losses[device].append(loss.loss(scores, y))
                model.update(steps, model.backward(loss.loss_grad(scores, y)))
        ends[device] = {
            name: array if device == "reference" else gpu.get(array) for name, array in model.named_parameters().items()
        }
        left = {op for op, engine in counts if engine == "reference"}
        if device == "gpu":
            ran = {op.partition(".")[0] for op, engine in counts if engine == "cuda"}
            assert ran == KERNELS | {"sgd" if isinstance(steps, SGD) else "adam"}
            assert not {op for op in left if op.partition(".")[0] in ran}
    np.testing.assert_allclose(losses["gpu"], losses["reference"], rtol=1e-4)
    for name, array in ends["reference"].items():
        np.testing.assert_allclose(ends["gpu"][name], array, rtol=1e-3, atol=1e-4, err_msg=name)
    assert losses["gpu"][-1] < losses["gpu"][0]
