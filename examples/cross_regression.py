"""A convolution that learns one number: from a picture of a cross to 1, static and dynamic alike. python -m examples.cross_regression

The picture is 3x3 with a cross in it. Two kernels of 2x2, ReLU, and one affine map make a number of it, which 500 steps of
SGD at 0.1 bring to 1. The model is written twice: as a `Chain`, whose ranks a type checker follows from layer to layer, and as a
`Stack`, whose layers all give rows. From one generator both learn the same weights, bit for bit.
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
WANTED: Array2 = np.ones((1, 1), np.float32)
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
            losses.append(loss.loss(prediction, WANTED))
            stack.update(optimizer, stack.backward(loss.loss_grad(prediction, WANTED)))
        return losses, stack.named_parameters()
    chain = chained().init(PCG32(42, 6))
    for _ in range(STEPS):
        prediction = chain.forward(CROSS)
        losses.append(loss.loss(prediction, WANTED))
        chain.update(optimizer, chain.backward(loss.loss_grad(prediction, WANTED)))
    return losses, chain.named_parameters()


def main() -> None:
    """Both ways, and whether they agree."""
    (static, static_weights), (dynamic, dynamic_weights) = learn(dynamic=False), learn(dynamic=True)
    for step in (0, 1, 2, 5, 10, STEPS - 1):
        print(f"step {step:3}  static {static[step]:.3e}  dynamic {dynamic[step]:.3e}")
    same = all(np.array_equal(one, other) for one, other in zip(static_weights.values(), dynamic_weights.values(), strict=True))
    print(f"the weights are {'the same bits' if same and static == dynamic else 'different'}")


if __name__ == "__main__":
    main()
