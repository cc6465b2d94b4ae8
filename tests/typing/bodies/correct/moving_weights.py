"""The moving average of a layer's weights."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Average:
    def __init__(self, rows: int, columns: int, decay: float) -> None:
        self.rows, self.columns, self.decay = rows, columns, decay
        self.mean: Float[Array2, "{self.rows} {self.columns}"] = np.zeros((rows, columns))

    def update(self, weights: Float[Array2, "{self.columns} {self.rows}"]) -> None:
        self.mean *= self.decay
        self.mean += (1.0 - self.decay) * weights.T


if __name__ == "__main__":
    average = Average(3, 5, 0.9)
    average.update(np.ones((5, 3)))
    print(average.mean.shape)
