"""Gradients are values: print, clip, accumulate or discard them. python -m examples.explicit_gradients"""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD, accumulate, clip_grad_norm

rng = np.random.default_rng(0)
x = rng.standard_normal((64, 20), dtype=np.float32)
y = (x[:, :5].sum(axis=1) > 0).astype(np.int64)

body = (Input(20) >> Linear(20, 16) >> ReLU()).init(rng)
head = Linear(16, 2, rng=rng)
loss = SoftmaxCrossEntropy()
optimizer = SGD(lr=0.5)


def main() -> None:
    """Print, clip and accumulate gradients; freeze a part of the model."""
    # Each backward returns a gradient as a value and writes nothing.
    scores = head.forward(body.forward(x))
    print(f"loss {loss.loss(scores, y):.4f}")
    head_grad = head.backward(loss.loss_grad(scores, y))
    body_grad = body.backward(head_grad.input)

    print("\nLook: the norm of each parameter's gradient")
    for part, gradients in (("body", body.named_gradients(body_grad)), ("head", head.named_gradients(head_grad))):
        for name, derivative in gradients.items():
            print(f"  {part + '.' + name:<13} {derivative.shape!s:<9} {float(np.linalg.norm(derivative)):.4f}")
    print(f"  the body as a whole     {body_grad.norm():.4f}")

    # A type checker knows the type of each part: parts[0] is a LinearGrad, and its weight is a matrix.
    first = body_grad.parts[0].weight
    print(f"\nReach in: parts[0].weight is {first.shape}, its largest number {np.abs(first).max():.4f}")

    print("\nClip: a new gradient, the old one untouched")
    clipped = clip_grad_norm(body_grad, max_norm=0.1)
    print(f"  {body_grad.norm():.4f} -> {clipped.norm():.4f}")

    print("\nAccumulate: two halves of the batch make the gradient of the whole")
    halves = []
    for rows in (slice(0, 32), slice(32, 64)):
        half = head.backward(loss.loss_grad(head.forward(body.forward(x[rows])), y[rows]))
        halves.append(body.backward(half.input))
    print(f"  whole {body_grad.norm():.6f}, halves together {accumulate(halves).norm():.6f}")

    print("\nFreeze: what is not updated stays; here the body")
    before = {name: weights.copy() for name, weights in body.named_parameters().items()}
    for _ in range(50):
        scores = head.forward(body.forward(x))
        head.update(optimizer, head.backward(loss.loss_grad(scores, y)))
    same = all(np.array_equal(before[name], weights) for name, weights in body.named_parameters().items())
    print(f"  loss {loss.loss(scores, y):.4f}, the body's weights {'are what they were' if same else 'have changed'}")


if __name__ == "__main__":
    main()
