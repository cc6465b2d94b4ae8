"""MnistNet through the graph, beside the same net of layers: python -m examples.graph_mnist [--plot step.svg]

The net is an MLP, 784-128-10, trained in batches of 128 by SGD with momentum. Once it is a stack of layers, whose
backwards are written by hand, and once a function of tensors, which the graph differentiates. Both begin with the same
weights and see the same batches, so their losses must agree, step by step. They compute in float64: in float32 a
rounding may decide on which side of 0 a ReLU's input is.

It trains on MNIST if it finds it (TYPEDNN_DATA, or ../shared/data), else on scikit-learn's bundled digits.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from typednn import AnyArray, Array2, Input, IntArray1
from typednn.data import Dataset, digits, find_mnist, mnist
from typednn.graph import AnyTensor, Tape, Tensor2, realize, relu, tensor
from typednn.graph.losses import softmax_cross_entropy
from typednn.graph.plot import plot_graph
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

STEPS, BATCH_SIZE, SEED = 200, 128, 0


def load() -> Dataset:
    """MNIST where it is, else the digits."""
    folder = find_mnist()
    print(
        f"Data: MNIST from {folder}" if folder else "Data: scikit-learn's bundled digits, 8x8 pixels, resized to 28x28"
    )
    return (mnist(folder) if folder else digits()).standardised()


def batches(data: Dataset) -> Iterator[tuple[Array2, IntArray1]]:
    """Rows of pixels, drawn at random, and their labels."""
    rng = np.random.default_rng(SEED)
    images = data.train_images.reshape(len(data.train_images), -1)
    for _ in range(STEPS):
        rows = rng.integers(0, len(images), BATCH_SIZE)
        yield images[rows].astype(np.float64), data.train_labels[rows]


def with_layers(data: Dataset) -> list[float]:
    """The loss of each step of a stack of layers."""
    model = (
        (Input(784) >> Linear(784, 128) >> ReLU() >> Linear(128, 10))
        .init(np.random.default_rng(SEED))
        .astype(np.float64)
    )
    loss, optimizer = SoftmaxCrossEntropy(), SGD(lr=0.01, momentum=0.9)
    losses = list[float]()
    for images, labels in batches(data):
        value, next_grad = loss.loss_and_grad(model.forward(images), labels)
        model.update(optimizer, model.backward(next_grad))
        losses.append(value)
    return losses


def network(x: Tensor2, parameters: Sequence[AnyTensor]) -> AnyTensor:
    """The scores of ten classes for each row of ``x``."""
    weight1, bias1, weight2, bias2 = parameters
    return relu(x @ weight1.T + bias1) @ weight2.T + bias2


def step(
    arrays: dict[str, AnyArray], images: Array2, labels: IntArray1, optimizer: SGD, plot: Path | None = None
) -> float:
    """One step of the net of tensors; ``arrays`` are its parameters by name."""
    with Tape() as tape:
        parameters = [tensor(array, name=name) for name, array in arrays.items()]
        loss = softmax_cross_entropy(network(tensor(images, name="images"), parameters), tensor(labels, name="labels"))
        gradients = tape.gradient(loss, parameters, zeros=True)
    if plot is not None:
        draw([loss.named("loss"), *gradients], plot)
    realize(loss, gradients)  # until here nothing was computed
    for array, gradient in zip(arrays.values(), gradients, strict=True):
        optimizer.step(array, gradient.array)
    return loss.item()


def draw(tensors: Sequence[AnyTensor], path: Path) -> None:
    """The graph of one step, as a file of the DOT language, and as a picture where Graphviz is."""
    print(f"\nThe graph of one step: {', '.join(map(str, plot_graph(tensors, path)))}")


def through_the_graph(data: Dataset, plot: Path | None = None) -> list[float]:
    """The loss of each step of the net of tensors."""
    arrays = (
        (Linear(784, 128) >> Linear(128, 10)).init(np.random.default_rng(SEED)).astype(np.float64).named_parameters()
    )
    optimizer = SGD(lr=0.01, momentum=0.9)
    return [
        step(arrays, images, labels, optimizer, None if number else plot)
        for number, (images, labels) in enumerate(batches(data))
    ]


def main(command_line: Sequence[str] | None = None) -> None:
    """Train both, and print their losses side by side."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.graph_mnist", description="Train MnistNet through the graph."
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the graph of the first step, such as step.svg")
    options = parser.parse_args(command_line)
    data = load()
    layers, graph = with_layers(data), through_the_graph(data, options.plot)
    print("\nstep  layers  graph")
    for number in (1, *range(STEPS // 5, STEPS + 1, STEPS // 5)):
        print(f"{number:>4}  {layers[number - 1]:.4f}  {graph[number - 1]:.4f}")
    apart = max(abs(a - b) for a, b in zip(layers, graph, strict=True))
    print(f"\nIn {STEPS} steps the losses are at most {apart:.1e} apart")


if __name__ == "__main__":
    main()
