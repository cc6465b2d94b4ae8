"""Random numbers: the protocol of generators, the paper's generator, gpt.c's, and the rules for initial weights.

``Rng`` is the type of a function's generator. `numpy.random.default_rng()` is one, and the faster; `PCG32` is the
paper's own, and reproduces its experiment draw by draw. There is no global generator: a generator is always an
argument. What only draws tokens needs less of one, `Draws`; gpt.c's `XorShift64` has just that.

An initialiser is a value, such as ``HeNormal()`` or its name ``"he_normal"``; called, it gives float64 numbers in
row-major order (the first of the shape's axes moves slowest), which the layer rounds to its own precision.

A file each: the protocols (`generator`), `pcg32`, `xorshift64`, a generator's `state` as JSON, and the `initialisers`.
Philox, by which dropout draws, is a part of that op: `typednn.kernels.dropout`.

Sources: "Deep Learning Implementation With Rust", eqs 48-53 and 55; M. O'Neill, "PCG: A Family of Simple Fast
Space-Efficient Statistically Good Algorithms for Random Number Generation" (2014); S. Vigna, "An experimental
exploration of Marsaglia's xorshift generators, scrambled" (2016); each rule names its own.
"""

from typednn.random.generator import Draws, Rng
from typednn.random.initialisers import (
    Constant,
    Fan,
    Fans,
    HeNormal,
    HeUniform,
    Initialiser,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Ones,
    Seed,
    Uniform,
    XavierNormal,
    XavierUniform,
    Zeros,
    initialiser,
)
from typednn.random.pcg32 import PCG32
from typednn.random.xorshift64 import XorShift64

__all__ = [
    "PCG32",
    "Constant",
    "Draws",
    "Fan",
    "Fans",
    "HeNormal",
    "HeUniform",
    "Initialiser",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Ones",
    "Rng",
    "Seed",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "XorShift64",
    "Zeros",
    "initialiser",
]
