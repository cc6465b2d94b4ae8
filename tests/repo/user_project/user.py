"""What a user of the installed package writes: one typed model, one training step."""

from typing import assert_type

import numpy as np

from typednn import Input
from typednn.arrays import Array2
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

model = Input(784) >> Linear(784, 128) >> ReLU() >> Linear(128, 10)


def main() -> None:
    rng = np.random.default_rng(0)
    model.init(rng)
    images = rng.standard_normal((8, 784), dtype=np.float32)
    labels = np.arange(8)

    loss = SoftmaxCrossEntropy()
    optimizer = SGD(lr=0.1)
    logits = model.forward(images)
    assert_type(logits, Array2)
    before = loss.loss(logits, labels)
    gradient = model.backward(loss.loss_grad(logits, labels))
    assert_type(gradient.input, Array2)
    model.update(optimizer, gradient)
    after = loss.loss(model.forward(images), labels)
    if not after < before:
        raise SystemExit(f"one step did not help: loss {before} -> {after}")
    print("learned")


if __name__ == "__main__":
    main()
