"""ResNet: blocks that learn what to add to their input.

layer        ResNet-18    ResNet-34    ResNet-50        each sample's shape, images of 224x224     and of 32x32
image                                                   224 x 224 x    3                           32 x 32 x    3
stem         7x7, 64, stride 2; 3x3 maximum, stride 2    56 x  56 x   64     (3x3, 64, stride 1)   32 x 32 x   64
stage 1      basic x 2    basic x 3    bottleneck x 3    56 x  56 x   64, ResNet-50:  256          32 x 32
stage 2      basic x 2    basic x 4    bottleneck x 4    28 x  28 x  128              512          16 x 16
stage 3      basic x 2    basic x 6    bottleneck x 6    14 x  14 x  256             1024           8 x  8
stage 4      basic x 2    basic x 3    bottleneck x 3     7 x   7 x  512             2048           4 x  4
head         mean over the image, Linear                classes
parameters   11,689,512   21,797,672   25,557,032       of 1000 classes

`BasicBlock` is two 3x3 convolutions, `Bottleneck` 1x1, 3x3 and 1x1; each convolution is followed by `BatchNorm2d`. The
first block of stages 2 to 4 has stride 2, in its (first) 3x3 convolution, and a 1x1 convolution as its shortcut. Images
below 64 pixels get the stem of small images: one 3x3 convolution, and no pooling.
Source: He et al. 2015, "Deep Residual Learning for Image Recognition", table 1; the stride's place in `Bottleneck`,
initial values and counts as torchvision.models.resnet.
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import Array4
from typednn.layer import Input, Layer, S
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, MaxPool2d, ReLU, Repeat, Residual
from typednn.models.classifier import Classifier, Images, sizes_of
from typednn.module.gradients import Gradient
from typednn.module.module import Module
from typednn.random import Rng

SMALL = 64  # pixels; smaller images get the small stem


@final
@dataclass(frozen=True, slots=True)
class BlockGrad(Gradient):
    """The loss's derivative by the input, and the gradient of the residual."""

    input: Float[Array4, "batch height width in_channels"]
    residual: Any


@final
class BasicBlock(Layer[Array4, Array4, BlockGrad, S]):
    """relu(x + two 3x3 convolutions of x); with a stride or other channels, x passes a 1x1 convolution."""

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1, *, rng: Rng | None = None) -> None:
        self.in_channels: int = integer("BasicBlock", "in_channels", in_channels)
        self.out_channels: int = integer("BasicBlock", "out_channels", out_channels)
        self.stride: int = integer("BasicBlock", "stride", stride)
        self.residual: Residual[Array4, Any, Array4, Any] = Residual(
            Conv2d(in_channels, out_channels, 3, stride, 1, weight_init="he_normal")
            >> BatchNorm2d(out_channels)
            >> ReLU()
            >> Conv2d(out_channels, out_channels, 3, 1, 1, weight_init="he_normal")
            >> BatchNorm2d(out_channels),
            _shortcut(in_channels, out_channels, stride),
        )
        self.relu: ReLU = ReLU()
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array4, "batch height width {self.in_channels}"]
    ) -> Float[Array4, "batch (height-1)//{self.stride}+1 (width-1)//{self.stride}+1 {self.out_channels}"]:
        return self.relu.forward(self.residual.forward(x))

    def backward(self, next_grad: Float[Array4, "batch out_height out_width {self.out_channels}"]) -> BlockGrad:
        residual = self.residual.backward(self.relu.backward(next_grad).input)
        return BlockGrad(residual.input, residual)


@final
class Bottleneck(Layer[Array4, Array4, BlockGrad, S]):
    """relu(x + 1x1, 3x3 and 1x1 convolutions of x): ``channels`` in the middle, four times as many at the end."""

    def __init__(self, in_channels: int, channels: int, stride: int = 1, *, rng: Rng | None = None) -> None:
        self.in_channels: int = integer("Bottleneck", "in_channels", in_channels)
        self.channels: int = integer("Bottleneck", "channels", channels)
        self.stride: int = integer("Bottleneck", "stride", stride)
        self.residual: Residual[Array4, Any, Array4, Any] = Residual(
            Conv2d(in_channels, channels, 1, weight_init="he_normal")
            >> BatchNorm2d(channels)
            >> ReLU()
            >> Conv2d(channels, channels, 3, stride, 1, weight_init="he_normal")
            >> BatchNorm2d(channels)
            >> ReLU()
            >> Conv2d(channels, 4 * channels, 1, weight_init="he_normal")
            >> BatchNorm2d(4 * channels),
            _shortcut(in_channels, 4 * channels, stride),
        )
        self.relu: ReLU = ReLU()
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array4, "batch height width {self.in_channels}"]
    ) -> Float[Array4, "batch (height-1)//{self.stride}+1 (width-1)//{self.stride}+1 4*{self.channels}"]:
        return self.relu.forward(self.residual.forward(x))

    def backward(self, next_grad: Float[Array4, "batch out_height out_width out_channels"]) -> BlockGrad:
        residual = self.residual.backward(self.relu.backward(next_grad).input)
        return BlockGrad(residual.input, residual)


def _shortcut(in_channels: int, out_channels: int, stride: int) -> Images | None:
    """What the block's input passes on its way to the sum; None where it fits as it is."""
    if stride == 1 and in_channels == out_channels:
        return None
    return Conv2d(in_channels, out_channels, 1, stride, weight_init="he_normal") >> BatchNorm2d(out_channels)


def _stem(image: tuple[int, int, int]) -> Images:
    """What stands before the first stage."""
    *sides, channels = image
    if min(sides) < SMALL:
        return Conv2d(channels, 64, 3, 1, 1, weight_init="he_normal") >> BatchNorm2d(64) >> ReLU()
    stem = Conv2d(channels, 64, 7, 2, 3, weight_init="he_normal") >> BatchNorm2d(64) >> ReLU()
    return stem >> MaxPool2d(3, 2, 1)


def resnet18(classes: int = 1000, *, image: tuple[int, int, int] = (224, 224, 3), rng: Rng | None = None) -> Classifier:
    """``image`` is the shape of one: height, width, channels."""
    image = sizes_of("resnet18", image)
    model = (
        Input(*image)
        >> _stem(image).named("stem")
        >> Repeat(BasicBlock(64, 64), 2)
        >> BasicBlock(64, 128, 2)
        >> BasicBlock(128, 128)
        >> BasicBlock(128, 256, 2)
        >> BasicBlock(256, 256)
        >> BasicBlock(256, 512, 2)
        >> BasicBlock(512, 512)
        >> GlobalAvgPool2d()
        >> Linear(512, classes).named("fc")
    )
    return model if rng is None else model.init(rng)


def resnet34(classes: int = 1000, *, image: tuple[int, int, int] = (224, 224, 3), rng: Rng | None = None) -> Classifier:
    """``image`` is the shape of one: height, width, channels."""
    image = sizes_of("resnet34", image)
    model = (
        Input(*image)
        >> _stem(image).named("stem")
        >> Repeat(BasicBlock(64, 64), 3)
        >> BasicBlock(64, 128, 2)
        >> Repeat(BasicBlock(128, 128), 3)
        >> BasicBlock(128, 256, 2)
        >> Repeat(BasicBlock(256, 256), 5)
        >> BasicBlock(256, 512, 2)
        >> Repeat(BasicBlock(512, 512), 2)
        >> GlobalAvgPool2d()
        >> Linear(512, classes).named("fc")
    )
    return model if rng is None else model.init(rng)


def resnet50(classes: int = 1000, *, image: tuple[int, int, int] = (224, 224, 3), rng: Rng | None = None) -> Classifier:
    """``image`` is the shape of one: height, width, channels."""
    image = sizes_of("resnet50", image)
    model = (
        Input(*image)
        >> _stem(image).named("stem")
        >> Bottleneck(64, 64)
        >> Repeat(Bottleneck(256, 64), 2)
        >> Bottleneck(256, 128, 2)
        >> Repeat(Bottleneck(512, 128), 3)
        >> Bottleneck(512, 256, 2)
        >> Repeat(Bottleneck(1024, 256), 5)
        >> Bottleneck(1024, 512, 2)
        >> Repeat(Bottleneck(2048, 512), 2)
        >> GlobalAvgPool2d()
        >> Linear(2048, classes).named("fc")
    )
    return model if rng is None else model.init(rng)


def torchvision_names(model: Module) -> dict[str, str]:
    """What torchvision.models calls the layers of a ResNet, by their paths here; nothing of another model."""
    blocks = [(path, part) for path, part in model.named_modules() if isinstance(part, BasicBlock | Bottleneck)]
    names = {"stem.0": "conv1", "stem.1": "bn1"} if blocks else {}
    stage, place = 1, 0
    for path, block in blocks:
        stage, place = (stage + 1, 0) if block.stride > 1 else (stage, place)
        there = f"layer{stage}.{place}"
        for number in range(2 if isinstance(block, BasicBlock) else 3):  # a convolution, its batch norm, a ReLU
            names |= {f"{path}.residual.inner.{3 * number}": f"{there}.conv{number + 1}"}
            names |= {f"{path}.residual.inner.{3 * number + 1}": f"{there}.bn{number + 1}"}
        names |= {f"{path}.residual.shortcut.{part}": f"{there}.downsample.{part}" for part in (0, 1)}
        place += 1
    return names
