"""Layers, a loss and an optimizer with typednn's annotations and no arithmetic: a call takes only the time of its
wrapper.

No ``from __future__ import annotations``: these annotations are enforced.
"""

from typing import final

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array1, Array2, Array4, Elementwise, ElementwiseGrad, Layer, Loss, Optimizer, Parameter, S
from typednn.layer import A
from typednn.layers import Conv2dGrad, LinearGrad, MaxPool2dGrad

# The arguments and results of all methods.
ROWS: Array2 = np.zeros((2, 4), np.float32)
SCORES: Array2 = np.zeros((2, 3), np.float32)
WEIGHT: Array2 = np.zeros((3, 4), np.float32)
LINEAR_GRAD = LinearGrad(ROWS, WEIGHT, np.zeros(3, np.float32))
IMAGES: Array4 = np.zeros((2, 10, 10, 3), np.float32)
MAPS: Array4 = np.zeros((2, 8, 8, 4), np.float32)
CONV_GRAD = Conv2dGrad(IMAGES, np.zeros((4, 3, 3, 3), np.float32), None)
POOLED: Array4 = np.zeros((2, 4, 4, 4), np.float32)
POOL_GRAD = MaxPool2dGrad(MAPS)


@final
class Linear(Layer[Array2, Array2, LinearGrad, S]):
    """As typednn.layers.Linear."""

    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    bias: Parameter[Float[Array1, " {self.out_features}"] | None]

    def __init__(self, in_features: int, out_features: int) -> None:
        self.in_features = in_features
        self.out_features = out_features

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.out_features}"]:
        return SCORES

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> LinearGrad:
        return LINEAR_GRAD  # type: ignore[shape]  # the gradient of one batch, whatever came in: nothing is computed


@final
class AnyBatch(Elementwise[None]):
    """Returns its argument: for calls with several sizes."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(next_grad, None)


@final
class Conv2d(Layer[Array4, Array4, Conv2dGrad, S]):
    """As typednn.layers.Conv2d."""

    weight: Parameter[
        Float[Array4, "{self.out_channels} {self.kernel_size[0]} {self.kernel_size[1]} {self.in_channels}"]
    ]
    bias: Parameter[Float[Array1, " {self.out_channels}"] | None]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = (kernel_size, kernel_size)
        self.stride = self.dilation = (1, 1)
        self.bias = None

    def forward(
        self, x: Float[Array4, "batch height width {self.in_channels}"]
    ) -> Float[
        Array4,
        "batch (height-{self.dilation[0]}*({self.kernel_size[0]}-1)-1)//{self.stride[0]}+1"
        " (width-{self.dilation[1]}*({self.kernel_size[1]}-1)-1)//{self.stride[1]}+1 {self.out_channels}",
    ]:
        return MAPS

    def backward(self, next_grad: Float[Array4, "batch out_height out_width {self.out_channels}"]) -> Conv2dGrad:
        return CONV_GRAD  # type: ignore[shape]  # the gradient of one batch, whatever came in: nothing is computed


@final
class MaxPool2d(Layer[Array4, Array4, MaxPool2dGrad, S]):
    """As typednn.layers.MaxPool2d."""

    def __init__(self, kernel_size: int) -> None:
        self.kernel_size = self.stride = (kernel_size, kernel_size)
        self.dilation = (1, 1)

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[
        Array4,
        "batch (height-{self.dilation[0]}*({self.kernel_size[0]}-1)-1)//{self.stride[0]}+1"
        " (width-{self.dilation[1]}*({self.kernel_size[1]}-1)-1)//{self.stride[1]}+1 channels",
    ]:
        return POOLED

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> MaxPool2dGrad:
        return POOL_GRAD  # type: ignore[shape]  # the gradient of one batch, whatever came in: nothing is computed


@final
class ReLU(Elementwise[None]):
    """As typednn.layers.ReLU."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(next_grad, None)


@final
class CrossEntropy(Loss[Array2, Array2]):
    """As typednn.losses.CrossEntropy."""

    def loss_grad(
        self, prediction: Float[Array2, "batch classes"], target: Float[Array2, "batch classes"]
    ) -> Float[Array2, "batch classes"]:
        return prediction


@final
class NoStep(Optimizer):
    """As every typednn.optim optimizer."""

    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
        pass


class PlainStep:
    """An optimizer without the base class, so its step has no wrapper: to measure the cost of its caller."""

    def step(self, weights: AnyArray, grad: AnyArray) -> None:
        pass
