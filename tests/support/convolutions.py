"""Convolutions that the tests of their kernels compute: a table, one for each way in which a kernel is laid out."""

from typing import Any, NamedTuple

import numpy as np
from fast_ops import numbers

from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.conv2d import Window, reference

FLOATS = [np.float32, np.float64]
TANH = Activation("tanh")
ONE, PAIR, ALONE = (1, 1), (2, 2), Window()


class Problem(NamedTuple):
    """An image, (height, width, channels); a bank of kernels, (out, high, wide, in); and what is done with them."""

    image: tuple[int, int, int]
    bank: tuple[int, int, int, int]
    window: Window = ALONE
    activation: Activation = IDENTITY
    batch: int = 11

    @property
    def groups(self) -> int:
        return self.image[2] // self.bank[3]


def pooled(side: int, padding: tuple[int, int, int, int] = (0, 0, 0, 0), stride: tuple[int, int] = ONE) -> Window:
    """Pooling by ``side`` x ``side`` that lie side by side."""
    return Window(stride, padding=padding, pooling=((side, side), (side, side), ONE))


AROUND = (1, 1, 1, 1)
# One for each way: lanes along output channels, along pixels, along input channels, along taps; with a tail or not;
# strided, dilated; many channels, laid out anew by blocks; images so small that a tile takes several; groups, of fewer
# channels than a vector, or of three.
PLAIN = {
    "channels": Problem((9, 11, 16), (16, 3, 3, 16)),
    "channels with a tail": Problem((7, 9, 3), (18, 3, 2, 3), Window(ONE, (1, 2))),
    "pixels": Problem((6, 21, 1), (3, 2, 5, 1)),
    "planes of pixels": Problem((6, 41, 3), (3, 2, 3, 3), Window((1, 2))),
    "input channels": Problem((5, 7, 32), (3, 3, 3, 32)),
    "taps": Problem((9, 8, 6), (16, 5, 5, 6)),
    "blocks of channels": Problem((9, 8, 64), (48, 3, 2, 64)),
    "small images": Problem((4, 3, 33), (70, 3, 2, 33)),
    "strided": Problem((7, 9, 5), (20, 3, 3, 5), Window((2, 3))),
    "groups": Problem((7, 9, 12), (24, 3, 2, 4), Window(ONE, (1, 2))),
    "groups of vectors": Problem((5, 6, 32), (96, 3, 3, 16)),
    "strided groups": Problem((7, 9, 32), (16, 3, 3, 16), Window((2, 3))),
}
# The same with padding, an activation and pooling; several images in a tile; tails; none pooled.
JOINED = {
    "joined, pixels": Problem((28, 28, 1), (6, 5, 5, 1), pooled(2, (2, 2, 2, 2)), RELU),
    "joined, long rows of planes": Problem((6, 37, 2), (5, 3, 3, 2), pooled(2, AROUND), RELU),
    "joined, channels": Problem((14, 14, 6), (16, 5, 5, 6), pooled(2), RELU),
    "joined, blocks of channels": Problem((7, 6, 48), (48, 3, 2, 48), Window(padding=AROUND), RELU),
    "joined, tails of channels": Problem((6, 5, 33), (21, 2, 3, 33), pooled(2, (1, 0, 0, 1)), RELU),
    "joined, input channels": Problem((7, 9, 32), (3, 3, 3, 32), pooled(3, AROUND), RELU),
    "joined, dilated": Problem((9, 11, 3), (17, 3, 2, 3), Window(ONE, (2, 3), (0, 2, 1, 0)), RELU),
    "joined, more padding than kernel": Problem((3, 4, 5), (18, 2, 2, 5), pooled(2, (3, 0, 0, 3)), RELU),
    "joined, strided": Problem((9, 12, 16), (18, 3, 2, 16), pooled(2, AROUND, (2, 1)), RELU),
    "joined, strided planes": Problem((5, 40, 2), (3, 2, 3, 2), pooled(2, (1, 0, 0, 0), (1, 2)), RELU),
    "joined, one pixel": Problem((1, 1, 1), (1, 1, 1, 1), Window(), RELU),
}
# X-N1: one pixel, a tail of lanes, strides with a remainder, two channels of y for one of x, zeros on one side only,
# more than the image is large, dilation, so many images that their sums are added in double precision.
DEPTHWISE = {
    "depthwise, one pixel": Problem((1, 1, 3), (3, 1, 1, 1), batch=3),
    "depthwise, padded": Problem((9, 8, 19), (19, 3, 3, 1), Window(padding=AROUND), RELU, 3),
    "depthwise, stride 2": Problem((9, 8, 16), (16, 3, 3, 1), Window((2, 2), padding=AROUND), batch=2),
    "depthwise, multiplied": Problem((11, 8, 7), (14, 3, 2, 1), Window((2, 3), (1, 2), (0, 1, 2, 1)), TANH, 2),
    "depthwise, mostly zeros": Problem((2, 3, 4), (4, 3, 5, 1), Window(padding=(3, 0, 0, 4)), batch=9),
    "depthwise, many images": Problem((3, 2, 5), (5, 2, 2, 1), Window(padding=(0, 1, 0, 1)), batch=2100),
}
WAYS: dict[str, Problem] = {**PLAIN, **JOINED, **DEPTHWISE}
# Of so much work that several threads share an image, and of so many weights that a single image has a kernel of its
# own.
LARGE = {
    "large, pooled": Problem((21, 18, 40), (48, 3, 3, 40), pooled(2, AROUND), RELU),
    "large": Problem((23, 19, 37), (67, 3, 3, 37), Window(), RELU),
    "large, padded": Problem((17, 24, 67), (33, 3, 3, 67), Window(padding=(1, 0, 2, 1)), RELU),
}


def arrays(problem: Problem, batch: int = 0, seed: int = 0, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    """x, weight and bias."""
    sizes = (batch or problem.batch, *problem.image), problem.bank, problem.bank[:1]
    x, weight, bias = (numbers(seed + place, *size, scale=1.0, dtype=dtype) for place, size in enumerate(sizes))
    weight = weight / dtype(np.sqrt(weight[0].size))
    weight.setflags(write=False)
    return x, weight, bias


def convolved(window: Window, x: Any, weight: Any, bias: Any) -> Any:
    """What stands before the activation, in the arguments' own precision."""
    return reference.forward(x, weight, bias, window._replace(pooling=None))[0]


def results(problem: Problem, x: Any, weight: Any, bias: Any) -> list[Any]:
    """At other strides dx is a matrix product, whose bits depend on the threads."""
    _, _, window, activation, _ = problem
    y, winners = conv2d.forward(x, weight, bias, window, activation)
    wants_input = window.stride == ONE or problem in PLAIN.values() or problem.bank[3] == 1
    found = y, winners, *conv2d.backward(np.cos(y), x, weight, window, activation, y, winners, wants_input)
    return [array for array in found if array is not None]
