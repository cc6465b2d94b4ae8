"""SGD: a step against the gradient, with momentum if wanted; exactly PyTorch's rule.

grad ← grad + coupled·weights       weights ← weights·shrink             (weight decay, coupled or decoupled)
velocity ← grad on the first step, then momentum·velocity + (1 - dampening)·grad
direction = grad without momentum, velocity with it, grad + momentum·velocity with Nesterov's
weights ← weights - lr·direction

All arrays share one shape.
Source: "Deep Learning Implementation With Rust", eqs 44-47; torch.optim.SGD; Sutskever et al., "On the importance of
initialization and momentum in deep learning", 2013.
"""

from jaxtyping import Float

from typednn.arrays import AnyArray, at_least_float32
from typednn.errors import ArgumentError, explain


def step(
    weights: Float[AnyArray, "*shape"],
    grad: Float[AnyArray, "*shape"],
    velocity: Float[AnyArray, "*shape"] | None,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> tuple[Float[AnyArray, "*shape"], Float[AnyArray, "*shape"] | None]:
    """(weights, velocity) after a step, at least in float32; ``velocity`` may be None where momentum is 0.

    ``coupled`` and ``shrink`` are weight decay.
    """
    if momentum and velocity is None:
        raise ArgumentError(
            explain("sgd", f"momentum {momentum} keeps a velocity", "None", "hand in an array like the weights"), "velocity"
        )
    weights, grad, velocity = map(at_least_float32, (weights, grad, velocity))
    if coupled:
        grad = grad + coupled * weights
    if shrink != 1:
        weights = weights * shrink
    if momentum == 0 or velocity is None:
        return weights - lr * grad, None
    velocity = grad if first else velocity * momentum + (1 - dampening) * grad
    return weights - lr * (grad + momentum * velocity if nesterov else velocity), velocity
