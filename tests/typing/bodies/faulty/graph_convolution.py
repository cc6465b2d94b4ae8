"""A graph convolution: the nodes' features are multiplied from the wrong side."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class GraphConvolution:
    def __init__(self, in_features: int, out_features: int) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight: Float[Array2, "{self.in_features} {self.out_features}"] = np.ones((in_features, out_features))

    def forward(
        self, x: Float[Array2, "nodes {self.in_features}"], edges: Float[Array2, "nodes nodes"]
    ) -> Float[Array2, "nodes {self.out_features}"]:
        averaged = edges / edges.sum(axis=1, keepdims=True)
        mixed = x @ averaged  # shape: nodes self.in_features
        y: Array2 = np.maximum(mixed @ self.weight, 0.0)
        return y


if __name__ == "__main__":
    print(GraphConvolution(5, 3).forward(np.ones((7, 5)), np.ones((7, 7))).shape)
