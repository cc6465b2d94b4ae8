"""A field whose annotation is an alias: the product meets its columns. It runs all the same: nobody calls it."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from typednn import Array2

Images: TypeAlias = Float[Array2, "batch 784"]


class Memory:
    images: Images

    def features(self) -> Float[Array2, "batch 4"]:
        y: Array2 = self.images @ np.ones((785, 4))  # shape: 784 columns meet 785 rows
        return y


if __name__ == "__main__":
    print(Memory.__annotations__)
