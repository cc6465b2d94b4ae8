"""A shared encoder under a head for other features."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

encoder = Linear(20, 16) >> ReLU()
digits = Input(20) >> encoder >> Linear(16, 10)
letters = Input(20) >> encoder.shared() >> Linear(20, 26)  # shape


def main() -> None:
    rng = np.random.default_rng(0)
    digits.init(rng)
    x, labels = rng.random((4, 20)).astype(np.float32), rng.integers(0, 10, 4)
    try:
        scores = digits.forward(x)
        digits.update(SGD(lr=0.1), digits.backward(SoftmaxCrossEntropy().loss_grad(scores, labels)))
    finally:
        digits.eval()
    print(letters.num_parameters())


if __name__ == "__main__":
    main()
