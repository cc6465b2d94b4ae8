"""Six logic gates, learned by networks of three neurons, written in three ways: python -m examples.logic_gates

One straight line separates the inputs of AND, OR, NAND and NOR, so one neuron learns them. XOR and NXOR are not
linearly separable, so they need a hidden layer of two neurons. The same network is written in three ways:

    stacked           layers joined with >>
    by hand           a class with its own forward, backward and gradient
    from a config     TOML text, checked before anything is built

With the same generator all three learn the same weights, bit for bit. The last column is a network with ReLU. With many
other seeds its training gets stuck: two neurons that are negative for all inputs have a gradient of zero.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from typednn import Gradient, Input, Layer, Optimizer, S, config
from typednn.arrays import Array2
from typednn.layers import Linear, ReLU, Sigmoid
from typednn.layers.linear import LinearGrad
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.random import PCG32

INPUTS: Array2 = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
GATES = {
    "AND": (0, 0, 0, 1),
    "OR": (0, 1, 1, 1),
    "XOR": (0, 1, 1, 0),
    "NAND": (1, 1, 1, 0),
    "NOR": (1, 0, 0, 0),
    "NXOR": (1, 0, 0, 1),
}
STEPS = 500
SEED = 5

CONFIG = """
format = 1
input = [2]

[[layer]]
type = "Linear"
in_features = 2
out_features = 2
weight_init = "xavier_uniform"

[[layer]]
type = "Sigmoid"

[[layer]]
type = "Linear"
in_features = 2
out_features = 1
weight_init = "xavier_uniform"

[[layer]]
type = "Sigmoid"

[optimizer]
type = "SGD"
lr = 1.0
momentum = 0.9
"""


def one_layer() -> Layer[Array2, Array2, Any]:
    """One neuron: a straight line."""
    return Input(2) >> Linear(2, 1, weight_init="xavier_uniform") >> Sigmoid()


def stacked() -> Layer[Array2, Array2, Any]:
    """Two hidden neurons and one output neuron."""
    return (
        Input(2)
        >> Linear(2, 2, weight_init="xavier_uniform")
        >> Sigmoid()
        >> Linear(2, 1, weight_init="xavier_uniform")
        >> Sigmoid()
    )


def with_relu() -> Layer[Array2, Array2, Any]:
    """The same with ReLU inside."""
    return (
        Input(2)
        >> Linear(2, 2, weight_init="xavier_uniform")
        >> ReLU()
        >> Linear(2, 1, weight_init="xavier_uniform")
        >> Sigmoid()
    )


@final
@dataclass(frozen=True, slots=True)
class GateGrad(Gradient):
    """The gradients of the layers with parameters."""

    input: Float[Array2, "batch 2"]
    hidden: LinearGrad
    output: LinearGrad


@final
class Gate(Layer[Array2, Array2, GateGrad, S]):
    """Two hidden neurons and one output neuron, written by hand."""

    hidden: Linear
    hidden_activation: Sigmoid
    output: Linear
    output_activation: Sigmoid

    def __init__(self) -> None:
        self.hidden = Linear(2, 2, weight_init="xavier_uniform")
        self.hidden_activation = Sigmoid()
        self.output = Linear(2, 1, weight_init="xavier_uniform")
        self.output_activation = Sigmoid()

    def forward(self, x: Float[Array2, "batch 2"]) -> Float[Array2, "batch 1"]:
        hidden = self.hidden_activation.forward(self.hidden.forward(x))
        return self.output_activation.forward(self.output.forward(hidden))

    def backward(self, next_grad: Float[Array2, "batch 1"]) -> GateGrad:
        output = self.output.backward(self.output_activation.backward(next_grad).input)
        hidden = self.hidden.backward(self.hidden_activation.backward(output.input).input)
        return GateGrad(hidden.input, hidden, output)


def from_config() -> tuple[Layer[Array2, Array2, Any], Optimizer]:
    """The same network and its optimizer, from a config."""
    read = config.loads(CONFIG, name="logic_gates.toml")
    optimizer = read.optimizer()
    if optimizer is None:
        raise ValueError("the config names no optimizer")
    return read.model(), optimizer


@dataclass(frozen=True)
class Learned:
    """A trained network: its weights in order, and the number of wrong outputs for the four inputs."""

    weights: list[Any]
    errors: int

    def same(self, other: "Learned") -> bool:
        """Whether every weight has the same bits."""
        return all(
            first.tobytes() == second.tobytes() for first, second in zip(self.weights, other.weights, strict=True)
        )


def learn(model: Layer[Array2, Array2, Any], optimizer: Optimizer, gate: str) -> Learned:
    """Train on all four inputs at once."""
    target = np.array(GATES[gate], np.float32).reshape(4, 1)
    loss = MSE()
    model.init(PCG32(SEED))
    for _ in range(STEPS):
        prediction = model.forward(INPUTS)
        model.update(optimizer, model.backward(loss.loss_grad(prediction, target)))
    wrong = (model.forward(INPUTS) > 0.5) != (target > 0.5)
    return Learned(model.parameters(), int(wrong.sum()))


def sgd() -> Optimizer:
    """The config's optimizer, in code."""
    return SGD(lr=1.0, momentum=0.9)


def main() -> None:
    """Print a row per gate."""
    print(f"errors of 4 after {STEPS} steps\n")
    print("gate  one neuron  stacked  by hand  from a config  same bits  with ReLU")
    for gate in GATES:
        single = learn(one_layer(), sgd(), gate)
        by_stack = learn(stacked(), sgd(), gate)
        by_hand = learn(Gate(), sgd(), gate)
        by_config = learn(*from_config(), gate)
        relu = learn(with_relu(), sgd(), gate)
        same = "yes" if by_stack.same(by_hand) and by_stack.same(by_config) else "NO"
        three = f"{by_stack.errors:>7}  {by_hand.errors:>7}  {by_config.errors:>13}  {same:>9}"
        print(f"{gate:<4}  {single.errors:>10}  {three}  {relu.errors:>9}")


if __name__ == "__main__":
    main()
