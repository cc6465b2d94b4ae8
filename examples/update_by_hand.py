"""A hand-written ``update``, as in the paper. python -m examples.update_by_hand

Each layer's ``update`` calls the optimizer with the layer's weights. Most layers inherit ``update``. Here one layer
limits the norm of its weight's rows after each step (max-norm). The model's own ``update`` clips the gradient of its
body, and does not update the body in the first 50 steps.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, Layer, Optimizer, Parameter, S
from typednn.layers import Linear, Tanh
from typednn.layers.linear import LinearGrad
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD, clip_grad_norm
from typednn.random import Rng


@dataclass(frozen=True, slots=True)
class BoundedGrad(Gradient):
    """The loss's derivative by the input and by the weight."""

    input: Float[Array2, "batch in_features"]
    weight: Float[Array2, "out_features in_features"]


class Bounded(Layer[Array2, Array2, BoundedGrad, S]):
    """y = x weightᵀ; after each step the norm of every row of the weight is at most ``most``."""

    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    _x: Kept[Float[Array2, "batch {self.in_features}"]]

    def __init__(self, in_features: int, out_features: int, most: float) -> None:
        self.in_features, self.out_features, self.most = in_features, out_features, most

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.out_features}"]:
        self._x = x
        return x @ self.weight.T

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> BoundedGrad:
        return BoundedGrad(next_grad @ self.weight, next_grad.T @ self._x)

    def update(self, optimizer: Optimizer, grad: BoundedGrad) -> None:
        optimizer.step(self.weight, grad.weight)
        lengths = np.linalg.norm(self.weight, axis=1, keepdims=True)
        np.multiply(self.weight, np.minimum(1, self.most / lengths), out=self.weight)


@dataclass(frozen=True, slots=True)
class NetGrad(Gradient):
    """The gradients of the parts with parameters, under the names of the parts."""

    input: Float[Array2, "batch 20"]
    body: LinearGrad
    head: BoundedGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    """Two linear layers, and an ``update`` that treats them differently."""

    def __init__(self, rng: Rng) -> None:
        self.body, self.tanh, self.head = Linear(20, 16), Tanh(), Bounded(16, 2, most=1.5)
        self.steps = 0
        self.init(rng)

    def forward(self, x: Float[Array2, "batch 20"]) -> Float[Array2, "batch 2"]:
        return self.head.forward(self.tanh.forward(self.body.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> NetGrad:
        head = self.head.backward(next_grad)
        body = self.body.backward(self.tanh.backward(head.input).input)
        return NetGrad(body.input, body, head)

    def update(self, optimizer: Optimizer, grad: NetGrad) -> None:
        if self.steps >= 50:
            self.body.update(optimizer, clip_grad_norm(grad.body, max_norm=0.1))
        self.head.update(optimizer, grad.head)
        self.steps += 1


def main() -> None:
    """Train for 100 steps: the head alone, then both parts."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 20), dtype=np.float32)
    labels = (x[:, :5].sum(axis=1) > 0).astype(np.int64)
    net, loss, optimizer = Net(rng), SoftmaxCrossEntropy(), SGD(lr=0.5)
    before = net.body.weight.copy()
    for step in range(1, 101):
        scores = net.forward(x)
        net.update(optimizer, net.backward(loss.loss_grad(scores, labels)))
        if step % 50 == 0:
            longest = float(np.linalg.norm(net.head.weight, axis=1).max())
            body = "as it was" if np.array_equal(net.body.weight, before) else "changed"
            print(
                f"step {step:>3}: loss {loss.loss(net.forward(x), labels):.4f}, longest row of the head "
                f"{longest:.4f}, the body {body}"
            )


if __name__ == "__main__":
    main()
