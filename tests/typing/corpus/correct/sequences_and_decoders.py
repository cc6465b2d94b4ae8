"""What attention, gates, recurrent layers and decoders give is what the layer after them reads."""

import numpy as np

from typednn import Input
from typednn.layers import (
    GLU,
    GRU,
    LSTM,
    AdaptiveAvgPool2d,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Embedding,
    Flatten,
    GroupNorm,
    LastStep,
    LayerNorm,
    LearnedPositions,
    Linear,
    MultiHeadAttention,
    Repeat,
    Residual,
    SequenceLinear,
    Upsample,
)
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.models import BasicBlock, lstm_classifier

rng = np.random.default_rng(0)
tokens = Input(12, dtype=int) >> Embedding(50, 16) >> LearnedPositions(20, 16)
attention = Residual(LayerNorm(16) >> MultiHeadAttention(16, 4, causal=True))
gated = Residual(LayerNorm(16) >> SequenceLinear(16, 32) >> GLU())
language = (tokens >> Repeat(attention >> gated, 2) >> SequenceLinear(16, 50)).init(rng)
read = rng.integers(0, 50, (2, 12))
assert SoftmaxCrossEntropy().loss(language.forward(read), rng.integers(0, 50, (2, 12))) > 0
recurrent = (tokens >> LSTM(16, 8) >> Conv1d(8, 6, 3, padding=1) >> GRU(6, 8) >> LastStep() >> Linear(8, 3)).init(rng)
assert recurrent.forward(read).shape == (2, 3)
assert lstm_classifier(2, length=12, vocabulary=50, rng=rng).forward(read).shape == (2, 2)

up = Input(7, 9, 8) >> ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1) >> GroupNorm(2, 4) >> Upsample((1, 2), "bilinear")
image = (up >> Conv2d(4, 4, (1, 3), padding=(0, 1), groups=2) >> BasicBlock(4, 6, 2)).init(rng)
y = image.forward(np.ones((2, 7, 9, 8), np.float32))
assert y.shape == (2, 7, 18, 6)
assert MSE().loss(y, np.zeros((2, 7, 18, 6), np.float32)) >= 0
pooled = (image >> AdaptiveAvgPool2d((2, 3)) >> Flatten() >> Linear(2 * 3 * 6, 2)).init(rng)
assert pooled.forward(np.ones((2, 7, 9, 8), np.float32)).shape == (2, 2)
