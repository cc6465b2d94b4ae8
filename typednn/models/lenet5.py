"""LeNet5: two convolutions and three affine maps tell ten digits apart.

                                            each sample's shape       parameters
image                                        28 x 28 x  1
Pad2d(2)                                     32 x 32 x  1
Conv2d(1, 6, 5)     conv1    ReLU            28 x 28 x  6                    150   (156 with bias)
MaxPool2d(2)                                 14 x 14 x  6
Conv2d(6, 16, 5)    conv2    ReLU            10 x 10 x 16                  2,400   (2,416 with bias)
MaxPool2d(2)                                  5 x  5 x 16
Flatten                                      400
Linear(400, 120)    fc1      ReLU            120                          48,120
Linear(120, 84)     fc2      ReLU             84                          10,164
Linear(84, 10)      fc3      Softmax          10                             850
                                                                     61,684 or 61,706

Written twice: `LeNet5` by hand, as the paper does, with its own forward, backward and gradient; `lenet5` stacked. Their
parameters have the same names and are filled in the same order, so the two take the same saved weights and, from one
generator, give the same bits. Initial values are the paper's: N(0, 2/fan_in), biases alike.
Source: "Deep Learning Implementation With Rust", section XI and eq 55; Y. LeCun et al. 1998, "Gradient-Based Learning
Applied to Document Recognition", figure 2, with ReLU, maximum and Softmax in place of its own.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final, overload

from jaxtyping import Float
from typing_extensions import TypeVarTuple

from typednn.arrays import Array2, Array4
from typednn.layer import Chain, Input, Layer, S
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Softmax
from typednn.layers.conv2d import Conv2dGrad
from typednn.layers.flatten import FlattenGrad
from typednn.layers.linear import LinearGrad
from typednn.layers.max_pool2d import MaxPool2dGrad
from typednn.layers.pad2d import Pad2dGrad
from typednn.layers.softmax import SoftmaxGrad
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class LeNet5Grad(Gradient):
    """The gradients of the layers that learn, under those layers' names."""

    input: Float[Array4, "batch 28 28 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc1: LinearGrad
    fc2: LinearGrad
    fc3: LinearGrad


@final
class LeNet5(Layer[Array4, Array2, LeNet5Grad, S]):
    """By hand. Without ``softmax`` it gives scores, for `SoftmaxCrossEntropy`; ``bias`` is that of the convolutions."""

    def __init__(
        self,
        *,
        bias: bool = False,
        softmax: bool = True,
        weight_init: str | Initialiser = "he_normal",
        bias_init: str | Initialiser = "same",
        rng: Rng | None = None,
    ) -> None:
        self.pad: Pad2d = Pad2d(2)
        self.conv1: Conv2d = Conv2d(1, 6, 5, bias=bias, weight_init=weight_init, bias_init=bias_init)
        self.relu1: ReLU = ReLU()
        self.pool1: MaxPool2d = MaxPool2d(2)
        self.conv2: Conv2d = Conv2d(6, 16, 5, bias=bias, weight_init=weight_init, bias_init=bias_init)
        self.relu2: ReLU = ReLU()
        self.pool2: MaxPool2d = MaxPool2d(2)
        self.flatten: Flatten = Flatten()
        self.fc1: Linear = Linear(400, 120, weight_init=weight_init, bias_init=bias_init)
        self.relu3: ReLU = ReLU()
        self.fc2: Linear = Linear(120, 84, weight_init=weight_init, bias_init=bias_init)
        self.relu4: ReLU = ReLU()
        self.fc3: Linear = Linear(84, 10, weight_init=weight_init, bias_init=bias_init)
        self.softmax: Softmax | None = Softmax() if softmax else None
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        images = self.pad.forward(x)
        images = self.pool1.forward(self.relu1.forward(self.conv1.forward(images)))
        images = self.pool2.forward(self.relu2.forward(self.conv2.forward(images)))
        features = self.flatten.forward(images)
        features = self.relu3.forward(self.fc1.forward(features))
        features = self.relu4.forward(self.fc2.forward(features))
        scores = self.fc3.forward(features)
        return scores if self.softmax is None else self.softmax.forward(scores)

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> LeNet5Grad:
        scores = next_grad if self.softmax is None else self.softmax.backward(next_grad).input
        fc3 = self.fc3.backward(scores)
        fc2 = self.fc2.backward(self.relu4.backward(fc3.input).input)
        fc1 = self.fc1.backward(self.relu3.backward(fc2.input).input)
        images = self.flatten.backward(fc1.input).input
        conv2 = self.conv2.backward(self.relu2.backward(self.pool2.backward(images).input).input)
        conv1 = self.conv1.backward(self.relu1.backward(self.pool1.backward(conv2.input).input).input)
        return LeNet5Grad(self.pad.backward(conv1.input).input, conv1, conv2, fc1, fc2, fc3)

    # update is inherited: one optimizer.step per parameter, with the part of the gradient that has its layer's name


# What `lenet5` gives, part by part: grad.parts[1] is a Conv2dGrad to every type checker.
# Its third argument is the contract that the plugin for mypy works out, and checks here.
_Scores = TypeVarTuple("_Scores")
_Digits: TypeAlias = Chain[
    Array4,
    Array2,
    Literal["batch 28 28 1 -> batch 10"],
    Pad2dGrad,
    Conv2dGrad,
    ElementwiseGrad[Array4, None],
    MaxPool2dGrad,
    Conv2dGrad,
    ElementwiseGrad[Array4, None],
    MaxPool2dGrad,
    FlattenGrad,
    LinearGrad,
    ElementwiseGrad[Array2, None],
    LinearGrad,
    ElementwiseGrad[Array2, None],
    LinearGrad,
    *_Scores,
]
LeNet5Scores: TypeAlias = _Digits[()]
LeNet5Probabilities: TypeAlias = _Digits[SoftmaxGrad]


@overload
def lenet5(
    *,
    bias: bool = False,
    softmax: Literal[True] = True,
    weight_init: str | Initialiser = "he_normal",
    bias_init: str | Initialiser = "same",
    rng: Rng | None = None,
) -> LeNet5Probabilities: ...
@overload
def lenet5(
    *,
    bias: bool = False,
    softmax: Literal[False],
    weight_init: str | Initialiser = "he_normal",
    bias_init: str | Initialiser = "same",
    rng: Rng | None = None,
) -> LeNet5Scores: ...
@overload
def lenet5(
    *,
    bias: bool = False,
    softmax: bool,
    weight_init: str | Initialiser = "he_normal",
    bias_init: str | Initialiser = "same",
    rng: Rng | None = None,
) -> Chain[Array4, Array2, Literal["batch 28 28 1 -> batch 10"], *tuple[Any, ...]]: ...
def lenet5(
    *,
    bias: bool = False,
    softmax: bool = True,
    weight_init: str | Initialiser = "he_normal",
    bias_init: str | Initialiser = "same",
    rng: Rng | None = None,
) -> LeNet5Scores | LeNet5Probabilities:
    """Stacked. Arguments as `LeNet5`'s."""
    scores = (
        Input(28, 28, 1)
        >> Pad2d(2)
        >> Conv2d(1, 6, 5, bias=bias, weight_init=weight_init, bias_init=bias_init).named("conv1")
        >> ReLU()
        >> MaxPool2d(2)
        >> Conv2d(6, 16, 5, bias=bias, weight_init=weight_init, bias_init=bias_init).named("conv2")
        >> ReLU()
        >> MaxPool2d(2)
        >> Flatten()
        >> Linear(400, 120, weight_init=weight_init, bias_init=bias_init).named("fc1")
        >> ReLU()
        >> Linear(120, 84, weight_init=weight_init, bias_init=bias_init).named("fc2")
        >> ReLU()
        >> Linear(84, 10, weight_init=weight_init, bias_init=bias_init).named("fc3")
    )
    model = scores >> Softmax() if softmax else scores
    # without the plugin the contract is a str
    return model if rng is None else model.init(rng)  # pyright: ignore[reportReturnType]
