"""A text classifier: tokens, read by an LSTM, whose last state tells the class.

                                                                  each sample's shape
tokens                                                            length
Embedding(vocabulary, 64)       a row of 64 for each token        length x 64
LSTM(64, 128)                   its state after each token        length x 128
LastStep                        the state after the last          128
Linear(128, classes)                                              classes

A shorter text has the padding token 0 in front, so its last token is the last.
Source: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", with the forget gate of Gers et al. 2000.
"""

from typing import Any, TypeAlias

from typednn.arrays import Array2, IntArray2
from typednn.layer import FirstChain, Input
from typednn.layers import LSTM, Embedding, LastStep, Linear
from typednn.random import Rng

TextClassifier: TypeAlias = FirstChain[IntArray2, Array2, str, *tuple[Any, ...]]


def lstm_classifier(
    classes: int, *, length: int = 128, vocabulary: int = 257, rng: Rng | None = None
) -> TextClassifier:
    """``length`` tokens of ``vocabulary`` kinds: 257 are the bytes, each plus 1, and 0 for padding."""
    model = (
        Input(length, dtype=int)
        >> Embedding(vocabulary, 64, padding_idx=0)
        >> LSTM(64, 128)
        >> LastStep()
        >> Linear(128, classes).named("scores")
    )
    return model if rng is None else model.init(rng)
