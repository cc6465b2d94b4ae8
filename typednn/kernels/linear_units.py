"""Linear units: activations that are x, or nearly, for large x, and 0, or nearly a constant, for small x. A table of
formulas.

===========  =================================================  ========================================================
op           forward                                            backward
===========  =================================================  ========================================================
gelu         x·Φ(x), Φ the normal distribution's                dy·(Φ(x) + x·φ(x)), φ its density
gelu_tanh    x·(1 + tanh v)/2, v = √(2/π)·(x + 0.044715·x³)     dy·((1 + tanh v)/2 + x·(1 - tanh² v)/2·v')
silu         x·σ(x), σ(x) = 1/(1 + exp(-x))                     dy·(σ(x) + x·σ(x)·(1 - σ(x)))
softplus     log(1 + exp(beta·x))/beta                          dy·σ(beta·x);    x and dy where beta·x > threshold
elu          scale·x where x > 0, else scale·alpha·(exp(x)-1)   scale·dy where x > 0, else scale·alpha·exp(x)·dy
hardswish    x·min(max(x + 3, 0), 6)/6                          0 up to -3, dy from 3 on, else dy·(x/3 + 1/2)
hardsigmoid  min(max(x + 3, 0), 6)/6                            dy/6 where -3 < x < 3, else 0
===========  =================================================  ========================================================

The first three are x·gate(x), and each gate is 1 minus itself at -x. So all are computed from t = |x|, the gate's tail
q = gate(-t) and its slope d there: y = max(x, 0) - t·q, and dx is dy·(1 + t·d - q) for x >= 0, -dy·(t·d - q) for x < 0.
Nothing cancels in the tail, and
-∞ gives 0, the limit.

Sources: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016; Elfwing, Uchibe and Doya, "Sigmoid-Weighted Linear
Units", 2017; Dugas et al., "Incorporating Second-Order Functional Knowledge", 2000; Clevert, Unterthiner and
Hochreiter, "Exponential Linear Units", 2015; Howard et al., "Searching for MobileNetV3", 2019. The normal tail is a
polynomial after Shepherd and Laframboise, "Chebyshev Approximation of (1 + 2x) exp(x²) erfc x in 0 <= x < ∞", 1981: see
`_normal`.
"""

# Formulas are lambdas of arrays or symbols, and of their module.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import math
from collections.abc import Callable
from typing import Any, Final

from typednn.engines import hl, type_of
from typednn.kernels import elementwise, expressions
from typednn.kernels.elementwise import constant
from typednn.kernels.expressions import Expressions, decay, for_arrays, is_infinite, polynomial, sloped
from typednn.kernels.pointwise import Formula, Pointwise, sigmoid

# ------------------------------------------------------------------ gates: the tail q and its slope d at t >= 0

# (t + 4)·exp(t²/2)·Φ(-t) as a polynomial in u = (t - 4)/(t + 4), the highest power first: its Chebyshev series, cut off
# where the rest is 1e-16 of Φ(-t), and for float32 4e-8.
_NORMAL: Final = (
    *(
        -1.2001589750627875e-10,
        -1.6886769129106983e-9,
        -5.871534258641454e-10,
        1.606748775930253e-8,
        1.7844428839722477e-8,
    ),
    *(-7.87838312432052e-8, -1.5977328486139576e-7, 2.647340184239069e-7, 1.0247845270564862e-6, -6.249553366930991e-7),
    *(
        -5.921610728646591e-6,
        7.146022687712422e-7,
        3.5145111788360564e-5,
        -1.9076760681025745e-6,
        -2.3109501733634148e-4,
    ),
    *(1.3334420916765166e-4, 1.6308184674061944e-3, -3.479692356652377e-3, -7.540188967386024e-3, 6.039657489036097e-2),
    *(-0.18652185795963662, 0.3871374007422266, -0.6078966419718923, 0.7552851304157514),
)
_NORMAL32: Final = (
    *(-1.573205696e-4, 1.293256813e-4, 1.563786899e-3, -3.476167895e-3, -7.512231382e-3),
    *(6.039529587e-2, -0.1865267109, 0.3871375629, -0.6078964038, 0.7552851271),
)


# 2^r for -1/2 <= r <= 1/2, the highest power first, to 8e-8.
_POWER: Final = (1.32764872e-3, 9.67554668e-3, 5.55071328e-2, 0.240221196, 0.693146967, 1.00000007)


@for_arrays(lambda xp, x: xp.exp(x))
def _decay(x: "hl.Expr") -> "hl.Expr":
    """eˣ for x <= 0, where NaN does not matter. In a kernel of float32 to 1e-7 and the rounding of x, in half the time
    of Halide's; 0 below e^-86.
    """
    if type_of(x).bits() == 64:
        return elementwise.decay(x)
    power = hl.max(x * hl.f32(math.log2(math.e)), -126)
    whole = hl.round(power)
    part = polynomial(power - whole, list(map(hl.f32, _POWER)))
    # The whole part is added to the exponent's bits.
    scaled = hl.reinterpret(hl.Float(32), hl.reinterpret(hl.Int(32), part) + (hl.cast(hl.Int(32), whole) << 23))
    return hl.select(power < -125, 0, scaled)


def _normal(xp: Any, t: Any) -> tuple[Any, Any]:
    """Φ(-t) and φ(t). To 4 eps while t is small; then rounding of t²/2 counts, in float32 1e-6 of it at t = 5."""
    inverse = 1 / (t + 4)
    u = 1 - 8 * inverse
    factors = _NORMAL32 if isinstance(xp, Expressions) and xp.bits == 32 else _NORMAL
    # Even and odd powers apart: the compiler's time doubles with each product within a product.
    even, odd = (polynomial(u * u, factors[first::2]) for first in (1, 0))
    decayed = _decay(xp, -t * t / 2)
    return decayed * (even + u * odd) * inverse, decayed * (1 / math.sqrt(2 * math.pi))


def _logistic(xp: Any, t: Any) -> tuple[Any, Any]:
    """σ(-t) and σ(t)·σ(-t)."""
    decayed = _decay(xp, -t)
    tail = decayed / (1 + decayed)
    return tail, tail / (1 + decayed)


def _tanh(xp: Any, t: Any) -> tuple[Any, Any]:
    """(1 - tanh v)/2 = σ(-2v), and its slope, the logistic one times 2v'."""
    root, square = 2 * math.sqrt(2 / math.pi), t * t
    tail, slope = _logistic(xp, root * t * (1 + 0.044715 * square))
    return tail, slope * (root * (1 + 3 * 0.044715 * square))


@for_arrays(lambda xp, x, size: xp.where(x < 0, -size, 1 + size))
def _mirrored(x: "hl.Expr", size: "hl.Expr") -> "hl.Expr":
    """The slope of x·gate(x), of that of its tail. A kernel has the polynomial once, and in no condition: the
    compiler's time grows beyond measure with both.
    """
    return hl.select(x < 0, -1, 1) * size + hl.select(x < 0, 0, 1)


# Below it the slope of x·gate(x) is negative, and rounding makes it 0 somewhere: an infinite dy stays infinite.
_FALLING: Final = -5


def _gated(name: str, gate: Callable[..., tuple[Any, Any]], far: int, flops: tuple[int, int]) -> Pointwise:
    """The op x·gate(x). From ``far`` on, the gate's tail is 0 in float64."""

    def forward(xp: Any, x: Any) -> Any:
        t = xp.minimum(abs(x), far)
        return xp.maximum(x, 0) - t * gate(xp, t)[0]

    def backward(xp: Any, dy: Any, x: Any) -> Any:
        t = xp.minimum(abs(x), far)
        tail, slope = gate(xp, t)
        rising = _mirrored(xp, x, t * slope - tail)
        return dy * xp.where(is_infinite(xp, dy) & (x < _FALLING), -1, rising)

    return Pointwise(
        name,
        Formula(forward, flops=flops[0], uses_exp=True, guarded=True),
        Formula(backward, arrays=2, flops=flops[1], uses_exp=True, guarded=True),
    )


# ------------------------------------------------------------------ the table

gelu: Final = _gated("gelu", _normal, 40, (28, 31))

gelu_tanh: Final = _gated("gelu_tanh", _tanh, 40, (11, 19))

silu: Final = _gated("silu", _logistic, 1000, (6, 10))


@for_arrays(lambda xp, x: xp.log1p(x))
def _log1p(x: "hl.Expr") -> "hl.Expr":
    """log(1 + x) for 0 <= x <= 1, in a kernel as 2·artanh(z), z = x/(2 + x) <= 1/3, by its Taylor series."""
    z = x / (2 + x)
    terms = 17 if type_of(x).bits() == 64 else 8
    series: hl.Expr = polynomial(z * z, [constant(x, 1 / k) for k in range(2 * terms - 1, 0, -2)])
    return 2 * z * series


def _softplus(xp: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return xp.where(scaled > threshold, x, (xp.maximum(scaled, 0) + _log1p(xp, decay(xp, -abs(scaled)))) / beta)


def _softplus_backward(xp: Any, dy: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return xp.where(scaled > threshold, dy, sloped(xp, dy, sigmoid.formulas[0].on_arrays(xp, scaled)))


softplus: Final = Pointwise(
    "softplus",
    Formula(_softplus, flops=22, uses_exp=True, guarded=True),
    Formula(_softplus_backward, arrays=2, flops=6, uses_exp=True, guarded=True),
)


@for_arrays(lambda xp, x: xp.expm1(x))
def _expm1(x: "hl.Expr") -> "hl.Expr":
    """exp(x) - 1 for x <= 0, in a kernel as 2h/(1 - h), h = tanh(x/2): nothing cancels near 0."""
    half = expressions.tanh(x / 2)
    return 2 * half / (1 - half)


def _elu(xp: Any, x: Any, alpha: Any, scale: Any) -> Any:
    return xp.where(x > 0, scale * x, scale * alpha * _expm1(xp, xp.minimum(x, 0)))


def _elu_backward(xp: Any, dy: Any, x: Any, alpha: Any, scale: Any) -> Any:
    return xp.where(x > 0, scale * dy, scale * alpha * sloped(xp, dy, decay(xp, xp.minimum(x, 0))))


elu: Final = Pointwise(
    "elu",
    Formula(_elu, flops=12, uses_exp=True, guarded=True),
    Formula(_elu_backward, arrays=2, flops=4, uses_exp=True, guarded=True),
)


def _hardswish(xp: Any, x: Any) -> Any:
    bent = xp.clip(x, -3, 3)
    return xp.where(x >= 3, x, bent * (bent + 3) / 6)


def _hardswish_backward(xp: Any, dy: Any, x: Any) -> Any:
    return xp.where(x >= 3, dy, xp.where(x <= -3, 0, sloped(xp, dy, xp.clip(x, -3, 3) / 3 + 0.5)))


hardswish: Final = Pointwise(
    "hardswish",
    Formula(_hardswish, flops=3, guarded=True),
    Formula(_hardswish_backward, arrays=2, flops=3, guarded=True),
)


@for_arrays(lambda xp, x: xp.clip(x + 3, 0, 6) / 6)
def _hardsigmoid(x: "hl.Expr") -> "hl.Expr":
    """In a kernel product and sum are one instruction; near -3 arrays have more digits."""
    return hl.clamp(x / 6 + constant(x, 0.5), 0, 1)


hardsigmoid: Final = Pointwise(
    "hardsigmoid",
    Formula(_hardsigmoid, flops=2, guarded=True),
    Formula(lambda xp, dy, x: xp.where(abs(x) < 3, dy / 6, 0), arrays=2),
)
