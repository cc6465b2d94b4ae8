"""Classifies crosses and squares of 8x8 pixels, from three training pictures: python -m examples.crosses_and_squares

The model is a 3x3 convolution with 4 kernels, maximum pooling and one affine map. It trains for 1,000 steps of SGD at
learning rate 0.001, with the cross entropy of two classes. The four test pictures are moved, smaller, or have a gap.
"""

import numpy as np

from typednn import Input
from typednn.arrays import Array2, Array4, IntArray1
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.training import evaluate

NAMES = ("cross", "square")
STEPS = 1000


def cross(top: int, left: int, size: int) -> Array2:
    """The two diagonals of a square of ``size`` pixels."""
    image = np.zeros((8, 8), np.float32)
    for place in range(size):
        image[top + place, left + place] = image[top + place, left + size - 1 - place] = 1.0
    return image


def square(top: int, left: int, size: int) -> Array2:
    """The outline of a square of ``size`` pixels."""
    image = np.zeros((8, 8), np.float32)
    image[top : top + size, left : left + size] = 1.0
    image[top + 1 : top + size - 1, left + 1 : left + size - 1] = 0.0
    return image


def broken(image: Array2) -> Array2:
    """The image without its first pixel."""
    row, column = np.argwhere(image)[0]
    image[row, column] = 0.0
    return image


def pictures(*images: Array2) -> Array4:
    """A batch of images."""
    return np.stack(images)[..., np.newaxis]


TRAIN = pictures(cross(0, 0, 8), square(0, 0, 8), cross(1, 1, 6))
TRAIN_LABELS: IntArray1 = np.array([0, 1, 0])
TEST = pictures(cross(0, 1, 7), square(1, 1, 6), broken(cross(0, 0, 8)), broken(square(0, 0, 8)))
TEST_LABELS: IntArray1 = np.array([0, 1, 0, 1])


def learned() -> tuple[list[float], IntArray1]:
    """The loss before each step, and the predicted classes of the four test pictures."""
    model = (Input(8, 8, 1) >> Conv2d(1, 4, 3) >> ReLU() >> MaxPool2d(2) >> Flatten() >> Linear(36, 2)).init(
        PCG32(42, 6)
    )
    losses, loss, optimizer = [], SoftmaxCrossEntropy(), SGD(lr=0.001)
    for _ in range(STEPS):
        scores = model.forward(TRAIN)
        losses.append(loss.loss(scores, TRAIN_LABELS))
        model.update(optimizer, model.backward(loss.loss_grad(scores, TRAIN_LABELS)))
    return losses, evaluate(model, TEST).argmax(axis=1)


def main() -> None:
    """Train, then classify the test pictures."""
    losses, predictions = learned()
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {STEPS} steps\n")
    for image, prediction, label in zip(TEST[..., 0], predictions, TEST_LABELS, strict=True):
        print("\n".join("".join("# " if pixel else ". " for pixel in row).rstrip() for row in image))
        print(f"-> {NAMES[prediction]}{'' if prediction == label else f', but it is a {NAMES[label]}'}\n")


if __name__ == "__main__":
    main()
