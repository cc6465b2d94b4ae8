"""Objects of nobody's class between layers: what is not known of them is not refused."""

from dataclasses import dataclass

import numpy as np

from typednn import Array2, Gradient, Input, Optimizer
from typednn.layers import Linear, ReLU
from typednn.optim import SGD


@dataclass(frozen=True)
class HalvesGrad(Gradient):
    input: Array2


class Halves:
    def forward(self, rows: Array2) -> Array2:
        half = rows.shape[1] // 2
        y: Array2 = rows[:, :half] + rows[:, half:]
        return y

    def backward(self, dy: Array2) -> HalvesGrad:
        dx: Array2 = np.concatenate([dy, dy], axis=1)
        return HalvesGrad(dx)

    def update(self, optimizer: Optimizer, grad: HalvesGrad) -> None: ...


rng = np.random.default_rng(0)
between = Input(4) >> Linear(4, 6, rng=rng) >> Halves() >> ReLU() >> Linear(3, 2, rng=rng)
first = Halves() >> Linear(2, 5, rng=rng) >> ReLU()
x = np.ones((3, 4), np.float32)
for model in (between, first):
    y = model.forward(x)
    grad = model.backward(y)
    print(grad.input.shape)
between.update(SGD(0.1), between.backward(between.forward(x)))
