"""Attention of 64 features over an embedding of 32; and positions of 64 features are added to it."""

from typednn import Input
from typednn.layers import Embedding, LayerNorm, MultiHeadAttention, Residual, SinusoidalPositions

tokens = Input(20, dtype=int) >> Embedding(257, 32)
positions = tokens >> SinusoidalPositions(64)  # shape: expects embed_dim to be 64, gets 32
block = tokens >> Residual(LayerNorm(32) >> MultiHeadAttention(64, 8))  # shape: expects embed_dim to be 64, gets 32
