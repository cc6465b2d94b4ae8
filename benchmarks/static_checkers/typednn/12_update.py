"""The gradient of one layer passed to the update of another."""

from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear
from typednn.optim import SGD

fc1, fc2 = Linear(784, 128), Linear(128, 10)


def step(x: Float[Array2, "batch 784"], next_grad: Float[Array2, "batch 10"]) -> Float[Array2, "batch 784"]:
    """One step of gradient descent; the derivative by x."""
    fc2.forward(fc1.forward(x))
    grad2 = fc2.backward(next_grad)
    grad1 = fc1.backward(grad2.input)
    optimizer = SGD(lr=0.1)
    fc1.update(optimizer, grad2)  # right: fc1.update(optimizer, grad1)
    fc2.update(optimizer, grad2)
    return grad1.input
