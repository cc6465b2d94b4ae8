"""A changed configuration is given to the embedding, the old one to the recurrent layer."""

from dataclasses import dataclass, replace

import numpy as np

from typednn.layers import GRU, Embedding, LastStep, Linear


@dataclass(frozen=True)
class Config:
    vocabulary: int = 100
    embedding: int = 16
    hidden: int = 32
    classes: int = 2


base = Config()
wide = replace(base, embedding=48)

small = Embedding(base.vocabulary, base.embedding) >> GRU(base.embedding, base.hidden) >> LastStep() >> Linear(base.hidden, base.classes)
tokens = Embedding(wide.vocabulary, wide.embedding)
large = tokens >> GRU(base.embedding, wide.hidden) >> LastStep() >> Linear(wide.hidden, wide.classes)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in (small, large):
        model.init(rng)
        print(model.forward(rng.integers(0, 100, (2, 9))).shape)
