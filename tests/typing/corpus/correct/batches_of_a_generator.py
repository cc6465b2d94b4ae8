"""Batches from a generator, a cache of arrays by name, and a running mean."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array4, Input, IntArray1
from typednn.layers import Conv2d, Flatten, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

model = Input(6, 6, 1) >> Conv2d(1, 2, 3) >> ReLU() >> Flatten() >> Linear(32, 3)
loss, optimizer = SoftmaxCrossEntropy(), SGD(lr=0.1)


def batches(
    images: Float[Array4, "samples 6 6 1"], labels: Integer[IntArray1, " samples"], size: int
) -> Iterator[tuple[Float[Array4, "batch 6 6 1"], Integer[IntArray1, " batch"]]]:
    for start in range(0, len(images), size):
        yield images[start : start + size], labels[start : start + size]


def train(images: Float[Array4, "samples 6 6 1"], labels: Integer[IntArray1, " samples"]) -> dict[str, Array2]:
    kept: dict[str, Array2] = {}
    for x, y in batches(images, labels, 4):
        scores = model.forward(x)
        kept["scores"] = scores
        grad = model.backward(loss.loss_grad(scores, y))
        kept["weight"] = grad.parts[3].weight
        model.update(optimizer, grad)
    return kept


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(len(train(rng.standard_normal((10, 6, 6, 1)).astype(np.float32), rng.integers(0, 3, 10))))
