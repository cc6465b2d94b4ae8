"""A convolution learns to map a picture of a cross to the number 1. python -m examples.cross_regression

The picture is a cross in 3x3 pixels. The model has two 2x2 kernels, ReLU, and one affine map. It trains for 500 steps
of SGD at learning rate 0.1. It is written twice: as a `Chain`, whose ranks a type checker follows from layer to layer
(static), and as a `Stack`, whose layers all return rows (dynamic). With the same generator both learn the same weights,
bit for bit.
"""

from typing import Any

import numpy as np

from typednn import Chain, Input, Stack
from typednn.arrays import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, ReLU
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.random import PCG32

CROSS: Array4 = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.float32).reshape(1, 3, 3, 1)
TARGET: Array2 = np.ones((1, 1), np.float32)
STEPS = 500


def chained() -> Chain[Array4, Array2, str, *tuple[Any, ...]]:
    """Static: every gradient's type is known."""
    return Input(3, 3, 1) >> Conv2d(1, 2, 2) >> ReLU() >> Flatten() >> Linear(8, 1)


def stacked() -> Stack:
    """Dynamic: layers in a list."""
    return Stack([Conv2d(1, 2, 2), ReLU(), Flatten(), Linear(8, 1)], input=(3, 3, 1))


def learn(dynamic: bool) -> tuple[list[float], dict[str, Array2]]:
    """The loss before each step, and the weights after the last."""
    losses, loss, optimizer = [], MSE(), SGD(lr=0.1)
    if dynamic:
        stack = stacked().init(PCG32(42, 6))
        rows: Array2 = CROSS.reshape(1, 9)
        for _ in range(STEPS):
            prediction = stack.forward(rows)
            losses.append(loss.loss(prediction, TARGET))
            stack.update(optimizer, stack.backward(loss.loss_grad(prediction, TARGET)))
        return losses, stack.named_parameters()
    chain = chained().init(PCG32(42, 6))
    for _ in range(STEPS):
        prediction = chain.forward(CROSS)
        losses.append(loss.loss(prediction, TARGET))
        chain.update(optimizer, chain.backward(loss.loss_grad(prediction, TARGET)))
    return losses, chain.named_parameters()


def main() -> None:
    """Train both models and compare their weights."""
    (static, static_weights), (dynamic, dynamic_weights) = learn(dynamic=False), learn(dynamic=True)
    for step in (0, 1, 2, 5, 10, STEPS - 1):
        print(f"step {step:3}  static {static[step]:.3e}  dynamic {dynamic[step]:.3e}")
    same = all(
        np.array_equal(first, second)
        for first, second in zip(static_weights.values(), dynamic_weights.values(), strict=True)
    )
    print(f"the weights are {'the same bits' if same and static == dynamic else 'different'}")


if __name__ == "__main__":
    main()
