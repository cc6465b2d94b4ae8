import numpy as np
from jaxtyping import Float

from strings_of_another_module.parts import chosen, picked
from typednn import Array2


def doubled(x: Float[Array2, "batch 5"]) -> Float[Array2, "batch 9"]:
    return chosen(x, None)  # shape: gets 10


def promised(x: Float[Array2, "batch 5"]) -> Float[Array2, "batch 4"]:
    return picked(x, x, first=False)  # shape: gets 5


if __name__ == "__main__":
    print(doubled(np.ones((2, 5))).shape, promised(np.ones((2, 5))).shape)
