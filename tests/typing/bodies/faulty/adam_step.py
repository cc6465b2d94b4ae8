"""Adam on a layer's two parameters, its moments in a list: the bias is moved by the moment of the weight."""

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array1


class Adam:
    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.first: list[AnyArray] = [np.zeros((outputs, inputs)), np.zeros(outputs)]
        self.second: list[AnyArray] = [np.zeros((outputs, inputs)), np.zeros(outputs)]

    def step(self, bias: Float[Array1, " {self.outputs}"], grad: Float[Array1, " {self.outputs}"]) -> None:
        m, v = self.first[0], self.second[1]
        m *= 0.9
        m += 0.1 * grad  # shape: self.inputs self.outputs
        v *= 0.999
        v += 0.001 * grad * grad
        bias -= 0.01 * m / (np.sqrt(v) + 1e-8)


if __name__ == "__main__":
    bias = np.ones(5)
    Adam(3, 5).step(bias, np.ones(5))
    print(bias.shape)
