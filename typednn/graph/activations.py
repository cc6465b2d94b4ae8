"""Activations: functions of each number between the layers of a network, with PyTorch's names. Compositions of
`typednn.graph.elementwise`.

Derivatives are those of the formulas, which have one at every number where the function has one; at a kink the one that
PyTorch has: 0 for ``relu`` at 0.

Sources: `typednn.kernels.linear_units`; Klambauer et al., "Self-Normalizing Neural Networks", 2017; Barron,
"Continuously Differentiable Exponential Linear Units", 2017; Misra, "Mish", 2019; Bergstra et al., "Quadratic
Polynomials Learn Better Image Features", 2009 (softsign).
"""

from __future__ import annotations

import math
from typing import Final

from typednn.errors import ArgumentError, explain
from typednn.graph.elementwise import clip, erf, exp, expm1, log1p, multiply, tanh, where
from typednn.graph.operands import checked, like, masked
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Operand, Tensor


def _parts(x: AnyTensor) -> tuple[AnyTensor, AnyTensor, AnyTensor, AnyTensor]:
    """Where x < 0 and where not; max(x, 0); -|x|. At 0 the slopes of the last two are 1 and -1, so that a smooth sum of
    them stays so.
    """
    below = x < like(x, 0)
    rest = ~below
    positive = masked(rest, x)
    return below, rest, positive, masked(below, x) - positive


def relu(x: Tensor[R, D]) -> Tensor[R, D]:
    """max(x, 0). Its derivative at 0 is 0."""
    return masked(~(like(checked("relu", x), 0) >= x), x)  # of NaN neither is true, and it stays


def leaky_relu(x: Tensor[R, D], negative_slope: Operand = 0.01) -> Tensor[R, D]:
    """x where x > 0, else negative_slope·x. A tensor of slopes makes it PReLU."""
    return where(checked("leaky_relu", x, floats=True) > like(x, 0), x, multiply(x, negative_slope))


def sigmoid(x: Tensor[R, D]) -> Tensor[R, D]:
    """1/(1 + e⁻ˣ), by exponentials of -|x| alone, which can't overflow: all digits in both tails."""
    below, rest, _, far = _parts(checked("sigmoid", x, floats=True))
    decayed = exp(far)
    return (masked(below, decayed) + masked(rest, like(x, 1))) / (decayed + 1.0)


def softplus(x: Tensor[R, D], beta: float = 1.0, threshold: float = 20.0) -> Tensor[R, D]:
    """log(1 + e^(beta·x))/beta, and x itself where beta·x > threshold."""
    scaled = checked("softplus", x, floats=True) * beta if beta != 1 else x
    _, _, positive, far = _parts(scaled)
    soft = positive + log1p(exp(far))
    return where(scaled > like(x, threshold), x, soft / beta if beta != 1 else soft)


def logsigmoid(x: Tensor[R, D]) -> Tensor[R, D]:
    """log(1/(1 + e⁻ˣ)), which is -softplus(-x)."""
    return -softplus(-checked("logsigmoid", x, floats=True), threshold=math.inf)


# Below it gates are 0 in every dtype, and so is what they let through: -∞·0 would be NaN.
_FAR: Final = -1000.0


def _near(x: Tensor[R, D]) -> Tensor[R, D]:
    """``x``, but 0 far below 0, where a gate is closed."""
    return masked(~(x < like(x, _FAR)), x)


def silu(x: Tensor[R, D]) -> Tensor[R, D]:
    """x/(1 + e⁻ˣ), 0 at -∞."""
    near = _near(checked("silu", x, floats=True))
    return near * sigmoid(near)


swish: Final = silu


def quick_gelu(x: Tensor[R, D]) -> Tensor[R, D]:
    """x·sigmoid(1.702·x), 0 at -∞."""
    near = _near(checked("quick_gelu", x, floats=True))
    return near * sigmoid(near * 1.702)


def mish(x: Tensor[R, D]) -> Tensor[R, D]:
    """x·tanh(softplus(x)), 0 at -∞."""
    near = _near(checked("mish", x, floats=True))
    return near * tanh(softplus(near))


def gelu(x: Tensor[R, D], approximate: str = "none") -> Tensor[R, D]:
    """x·Φ(x), Φ the normal distribution's; with ``"tanh"`` x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2. 0 at -∞.

    Far below 0, where 1 + erf cancels, the error is 1e-16 of x, not of the result; the tanh form, as a sigmoid, keeps
    all digits.
    """
    near = _near(checked("gelu", x, floats=True))
    if approximate == "none":
        return near * 0.5 * (erf(near * math.sqrt(0.5)) + 1.0)
    if approximate != "tanh":
        raise ArgumentError(explain("gelu", 'approximate is "none" or "tanh"', repr(approximate)), "approximate")
    # (1 + tanh v)/2 is the sigmoid of 2v.
    return near * sigmoid(near * (near * near * 0.044715 + 1.0) * (2 * math.sqrt(2 / math.pi)))


def elu(x: Tensor[R, D], alpha: float = 1.0) -> Tensor[R, D]:
    """x where x > 0, else alpha·(eˣ - 1)."""
    above = checked("elu", x, floats=True) > like(x, 0)
    return masked(above, x) + expm1(masked(~above, x)) * alpha


def selu(x: Tensor[R, D]) -> Tensor[R, D]:
    """1.0507·elu(x, 1.67326), with the digits of its source."""
    return elu(checked("selu", x, floats=True), 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


def celu(x: Tensor[R, D], alpha: float = 1.0) -> Tensor[R, D]:
    """x where x > 0, else alpha·(e^(x/alpha) - 1)."""
    if alpha == 0:
        raise ArgumentError(explain("celu", "alpha is not 0", f"{alpha}"), "alpha")
    above = checked("celu", x, floats=True) > like(x, 0)
    return masked(above, x) + expm1(masked(~above, x) / alpha) * alpha


def softsign(x: Tensor[R, D]) -> Tensor[R, D]:
    """x/(1 + |x|); NaN of infinity."""
    return checked("softsign", x, floats=True) / (abs(x) + 1.0)


def hardsigmoid(x: Tensor[R, D]) -> Tensor[R, D]:
    """min(max(x + 3, 0), 6)/6."""
    return clip(checked("hardsigmoid", x, floats=True) + 3.0, 0.0, 6.0) / 6.0


def hardswish(x: Tensor[R, D]) -> Tensor[R, D]:
    """x·min(max(x + 3, 0), 6)/6, 0 at -∞."""
    near = _near(checked("hardswish", x, floats=True))
    return near * hardsigmoid(near)
