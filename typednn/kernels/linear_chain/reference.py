"""Several affine maps and activations in a row, where nobody asks for what lies between them.

y = activation_n(… activation_1(x weight_1ᵀ + bias_1) … weight_nᵀ + bias_n)

x (batch, features_0); ``parameters`` are weight_1 (features_1, features_0), bias_1 (features_1) where the layout says that there is one,
weight_2 and so on. 2·batch·in·out flops for each map. Here they run one after another, each on the engine that it chooses.
Source: "Deep Learning Implementation With Rust", eqs 22 and 30-33, chained.
"""

from __future__ import annotations

from typing import Any

from typednn.arrays import Array2
from typednn.kernels import linear_act
from typednn.kernels.linear_chain.layout import Layout


def forward(x: Array2, layout: Layout, *parameters: Any) -> Array2:
    """y (batch, features_n)."""
    rest = iter(parameters)
    for biased, activation in zip(layout.biased, layout.activations, strict=True):
        x = linear_act.forward(x, next(rest), next(rest) if biased else None, activation)
    return x
