"""Six small problems, from a straight line to MNIST: python -m examples.small_problems

    line      y = 2x + 5 with noise: one Linear finds 2 and 5
    sine      half a period of the sine, by 20 hidden units: f(π/4) and f(π/2) beside the true values
    spiral    three arms of points, told apart by two hidden layers of 20
    saved     a network of 10-10-10 is saved in the middle of its training, read back, and trained on to the same bits
    digits    784-128-10 for 200 steps of 128 images: MNIST where it is found, else scikit-learn's digits
    deep      seven hidden layers of 100 with GELU, by AdamW, for 300 steps of 100 images of the same data

The problems and their settings are those that the examples of Nina and of zyx have; no accuracies were published.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from typednn import Input, Sequential
from typednn.arrays import Array2, IntArray1
from typednn.data import batches, find_mnist, load, spiral
from typednn.layers import GELU, Flatten, Linear, ReLU, Sigmoid
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, AdamW
from typednn.random import PCG32


def step(model: Any, optimizer: Any, loss: Any, x: Any, y: Any) -> float:
    """One training step; the loss before it."""
    prediction = model.forward(x)
    value = loss.loss(prediction, y)
    model.update(optimizer, model.backward(loss.loss_grad(prediction, y)))
    return float(value)


def line() -> tuple[float, ...]:
    """The slope and the intercept that 100 steps at learning rate 0.1 find."""
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((2, 100, 1), dtype=np.float32)
    y = 2 * x + 5 + np.float32(0.1) * noise
    model = Linear(1, 1, rng=PCG32(0))
    optimizer, loss = SGD(lr=0.1), MSE()
    for _ in range(100):
        step(model, optimizer, loss, x, y)
    return tuple(float(array.item()) for array in model.named_parameters().values())


def sine(steps: int = 10_000) -> tuple[float, float]:
    """What is learnt at π/4 and π/2, where the sine is 0.7071 and 1."""
    x: Array2 = np.linspace(0, math.pi, 100, dtype=np.float32)[:, None]
    model = (Input(1) >> Linear(1, 20) >> Sigmoid() >> Linear(20, 1)).init(PCG32(0))
    optimizer, loss = Adam(lr=0.002), MSE()
    for _ in range(steps):
        step(model, optimizer, loss, x, np.sin(x))
    quarter, half = model.forward(np.array([[math.pi / 4], [math.pi / 2]], np.float32))[:, 0]
    return float(quarter), float(half)


def arms(epochs: int = 300) -> float:
    """The share of the spiral's 300 points whose arm is told right."""
    x, y = spiral(3, 100, np.random.default_rng(1984))
    model = (Input(2) >> Linear(2, 20) >> Sigmoid() >> Linear(20, 20) >> Sigmoid() >> Linear(20, 3)).init(PCG32(0))
    optimizer, loss, order = AdamW(lr=0.02), SoftmaxCrossEntropy(), PCG32(1)
    for _ in range(epochs):
        for rows in batches(len(x), 30, order):
            step(model, optimizer, loss, x[rows], y[rows])
    return share_right(model, x, y)


def saved(folder: Path) -> bool:
    """Whether a training that goes on from files ends with the same bits as one that was not interrupted."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((20, 10), dtype=np.float32), rng.standard_normal((20, 10), dtype=np.float32)

    def network() -> tuple[Any, Adam]:
        model = (Input(10) >> Linear(10, 10) >> Sigmoid() >> Linear(10, 10)).init(PCG32(0))
        return model, Adam(lr=0.01).bind(model)

    def arrays(state: dict[str, Any]) -> dict[str, Any]:
        return {name: np.array(value) for name, value in state.items()}

    whole, first, second = network(), network(), network()
    for _ in range(20):
        step(*whole, MSE(), x, y)
    for _ in range(10):
        step(*first, MSE(), x, y)
    save_file(arrays(first[0].state_dict()), folder / "weights.safetensors")
    save_file(arrays(first[1].state_dict()), folder / "optimizer.safetensors")
    second[0].load_state_dict(load_file(folder / "weights.safetensors"))
    state: dict[str, Any] = load_file(folder / "optimizer.safetensors")
    second[1].load_state_dict({name: int(value) if name.endswith(".step") else value for name, value in state.items()})
    for _ in range(10):
        step(*second, MSE(), x, y)
    return all(
        ours.tobytes() == theirs.tobytes()
        for ours, theirs in zip(whole[0].state_dict().values(), second[0].state_dict().values(), strict=True)
    )


def digits(steps: int = 200) -> float:
    """The share of the test images that are told right: SGD, learning rate 0.01, momentum 0.9."""
    layers = Input(28, 28, 1) >> Flatten() >> Linear(784, 128) >> ReLU() >> Linear(128, 10)
    return trained(layers, SGD(lr=0.01, momentum=0.9), 128, steps)


def deep(steps: int = 300) -> float:
    """The share of the test images that a network of seven hidden layers tells right."""
    hidden = [layer for _ in range(6) for layer in (Linear(100, 100), GELU())]
    layers = Input(28, 28, 1) >> Sequential([Flatten(), Linear(784, 100), GELU(), *hidden, Linear(100, 10)])
    return trained(layers, AdamW(lr=0.001), 100, steps)


def trained(model: Any, optimizer: Any, size: int, steps: int) -> float:
    """The share of the test images that ``model`` tells right after ``steps`` batches of ``size``."""
    data = load("digits" if find_mnist() is None else "mnist").standardised()
    model.init(PCG32(0))
    loss, order, done = SoftmaxCrossEntropy(), PCG32(1), 0
    while done < steps:
        for rows in list(batches(len(data.train_images), size, order))[: steps - done]:
            step(model, optimizer, loss, data.train_images[rows], data.train_labels[rows])
            done += 1
    return share_right(model, data.test_images, data.test_labels)


def share_right(model: Any, x: Any, y: IntArray1) -> float:
    """The share of rows whose largest score is at the label."""
    return float((model.forward(x).argmax(axis=1) == y).mean())


def main() -> None:
    """All six."""
    slope, intercept = line()
    print(f"line     y = {slope:.2f} x + {intercept:.2f}, from 2 x + 5 and noise of deviation 0.1")
    quarter, half = sine()
    print(f"sine     f(π/4) = {quarter:.4f}, true 0.7071; f(π/2) = {half:.4f}, true 1")
    print(f"spiral   {arms():.1%} of the points told right")
    with tempfile.TemporaryDirectory() as folder:
        print(f"saved    the same bits: {'yes' if saved(Path(folder)) else 'no'}")
    print(f"digits   {digits():.1%} of the test images told right")
    print(f"deep     {deep():.1%} of the test images told right")


if __name__ == "__main__":
    main()
