"""Gradients added, scaled, clipped, replaced and read field by field."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from typednn import Array2, Input
from typednn.layers import Linear, LinearGrad, ReLU
from typednn.optim import SGD, clip_grad_norm

fc1, fc2 = Linear(5, 7), Linear(7, 2)
model = Input(5) >> fc1 >> ReLU() >> fc2


def doubled(grad: LinearGrad) -> LinearGrad:
    return replace(grad, weight=2.0 * grad.weight)


def step(x: Float[Array2, "batch 5"], target: Float[Array2, "batch 2"]) -> Float[Array2, "batch 5"]:
    grad = model.backward(model.forward(x) - target)
    first, _, last = grad.parts
    clipped = clip_grad_norm(grad, max_norm=1.0)
    by_input = clipped.input
    fc2.update(SGD(lr=0.1), doubled(last))
    fc1.update(SGD(lr=0.1), first + 0.5 * first)
    model.update(SGD(lr=0.1), clipped)
    return by_input


if __name__ == "__main__":
    model.init(np.random.default_rng(0))
    print(step(np.ones((3, 5), np.float32), np.ones((3, 2), np.float32)).shape)
