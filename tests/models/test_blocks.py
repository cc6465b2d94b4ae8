"""Blocks of a transformer, from the layers that there are."""

from typing import Any

import numpy as np
import pytest

from typednn import Input, gradcheck
from typednn.layers import GELU, LayerNorm, MultiHeadAttention, Residual, SequenceLinear

pytestmark = pytest.mark.usefixtures("on_the_reference")


def mlp(features: int, expansion: int) -> Any:
    """G-D9: features, expansion times as many, GELU, and back."""
    return (
        SequenceLinear(features, features * expansion) >> GELU("tanh") >> SequenceLinear(features * expansion, features)
    )


def test_a_block_of_two_perceptrons() -> None:
    """G-D9: mlp, norm, mlp, norm; central differences through the whole."""
    block = Input(5, 4) >> mlp(4, 2) >> LayerNorm(4) >> mlp(4, 3) >> LayerNorm(4)
    x = np.random.default_rng(1).standard_normal((2, 5, 4)).astype(np.float32)
    assert block.parts[0].parts[0].out_features == 8
    assert gradcheck(block.init(np.random.default_rng(0)), x).error < 1e-6
    assert block.forward(x).shape == x.shape


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_block(causal: bool) -> None:
    """Z-Y1, X-N1: attention and a perceptron, each added to what it reads; one position does not see later ones where
    it is causal.
    """
    attention = Residual(LayerNorm(6) >> MultiHeadAttention(6, 2, causal=causal))
    block = (Input(4, 6) >> attention >> Residual(LayerNorm(6) >> mlp(6, 4))).init(np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((2, 4, 6)).astype(np.float32)
    assert gradcheck(block, x, most=40).error < 1e-6
    later = x.copy()
    later[:, -1, 0] += 1
    same = np.allclose(block.eval().forward(x)[:, :-1], block.forward(later)[:, :-1], atol=1e-6)
    assert same is causal
