"""An MLP on MNIST's rows, trained for a step."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

HIDDEN = 128

model = Input(28 * 28) >> Linear(784, HIDDEN) >> ReLU() >> Linear(HIDDEN, HIDDEN // 2) >> ReLU() >> Linear(64, 10)


def main() -> None:
    rng = np.random.default_rng(0)
    model.init(rng)
    images = rng.standard_normal((16, 784)).astype(np.float32)
    labels = rng.integers(0, 10, 16)
    loss, optimizer = SoftmaxCrossEntropy(), SGD(lr=0.1)
    scores = model.forward(images)
    model.update(optimizer, model.backward(loss.loss_grad(scores, labels)))


if __name__ == "__main__":
    main()
