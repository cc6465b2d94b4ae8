"""Random numbers are made single before a model is trained with them."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU
from typednn.losses import MSE
from typednn.optim import Adam


def main() -> None:
    rng = np.random.default_rng(0)
    model = (Input(8) >> Linear(8, 16) >> ReLU() >> Linear(16, 1)).init(rng)
    x = rng.standard_normal((20, 8)).astype(np.float32)
    y = x.sum(axis=1, keepdims=True)
    loss, optimizer = MSE(), Adam(lr=0.01)
    try:
        with np.errstate(over="raise"):
            for _ in range(3):
                grad = loss.loss_grad(model.forward(x), y)
                model.update(optimizer, model.backward(grad))
    finally:
        model.eval()


if __name__ == "__main__":
    main()
