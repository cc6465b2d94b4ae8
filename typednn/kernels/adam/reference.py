"""Adam: a step scaled by the running mean and spread of the gradient; exactly PyTorch's rule.

grad ← grad + coupled·weights           weights ← weights·shrink             (weight decay, coupled or decoupled)
m ← beta1·m + (1 - beta1)·grad          v ← beta2·v + (1 - beta2)·grad²
weights ← weights - lr/(1 - beta1ᵗ) · m / (√v/√(1 - beta2ᵗ) + eps)          t = step, from 1

All arrays share one shape; m and v start as zeros. About 12 operations per weight.
Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1; torch.optim.Adam; decoupled decay:
Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019.
"""

import math

from jaxtyping import Float

from typednn.arrays import AnyArray, at_least_float32, namespace
from typednn.kernels.lerp import lerp


def step(
    weights: Float[AnyArray, "*shape"],
    grad: Float[AnyArray, "*shape"],
    m: Float[AnyArray, "*shape"],
    v: Float[AnyArray, "*shape"],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> tuple[Float[AnyArray, "*shape"], Float[AnyArray, "*shape"], Float[AnyArray, "*shape"]]:
    """(weights, m, v) after the ``step``-th step, counted from 1; ``coupled`` and ``shrink`` are weight decay. At least in float32."""
    weights, grad, m, v = map(at_least_float32, (weights, grad, m, v))
    if coupled:
        grad = grad + coupled * weights
    if shrink != 1:
        weights = weights * shrink
    m = lerp(m, grad, 1 - beta1)
    v = v * beta2 + (1 - beta2) * grad * grad
    spread = namespace(v).sqrt(v) / math.sqrt(1 - beta2**step) + eps
    return weights - lr / (1 - beta1**step) * m / spread, m, v
