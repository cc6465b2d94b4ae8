"""Module constants that are assigned anew, and a width that grows after it was used."""
# pyright: reportConstantRedefinition=false

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

HIDDEN = 16
small = Input(8) >> Linear(8, HIDDEN) >> ReLU() >> Linear(16, 2)
HIDDEN = 32
large = Input(8) >> Linear(8, HIDDEN) >> ReLU() >> Linear(32, 2)

width = 4
first = Linear(8, width)
width *= 3
second = Linear(4, width)
grown = Input(8) >> first >> second >> Linear(12, width)


def widen() -> None:
    global HIDDEN
    HIDDEN += 1


widen()
global_one = Input(8) >> Linear(8, HIDDEN) >> Linear(33, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in (small, large, grown, global_one):
        print(model.init(rng).forward(np.ones((2, 8), np.float32)).shape)
