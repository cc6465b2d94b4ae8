"""ResNet, VGG16 and the U-shaped autoencoder: published counts and shapes, derivatives, and that a
config holds them.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import config, gradcheck
from typednn.errors import ArgumentError, StackError
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.models import BasicBlock, Bottleneck, resnet18, resnet34, resnet50, unet, vgg16
from typednn.optim import SGD

pytestmark = pytest.mark.usefixtures("on_the_reference")

# torchvision's counts, for 1000 classes and images of 224x224
PUBLISHED: dict[Callable[..., Any], int] = {
    resnet18: 11_689_512,
    resnet34: 21_797_672,
    resnet50: 25_557_032,
    vgg16: 138_357_544,
}
models = pytest.mark.parametrize("build", PUBLISHED, ids=lambda build: build.__name__)


def shapes(model: Any) -> list[tuple[int, ...] | None]:
    """One sample's shape after each part; nothing is computed."""
    flow, found = model.sample.flow, []
    for part in model.parts:
        flow = part.trace(flow)
        found.append(flow.sizes())
    return found


@models
def test_published_counts(build: Callable[..., Any]) -> None:
    assert build().num_parameters() == PUBLISHED[build]


def test_shapes_of_resnet18() -> None:
    """Table 1 of He et al., and the small images' one."""
    sides = [64, 64, 128, 128, 256, 256, 512, 512]
    assert shapes(resnet18()) == [
        *((side, side, channels) for side, channels in zip([56, 56, 28, 28, 14, 14, 7, 7], sides, strict=True)),
        (512,),
        (1000,),
    ]
    assert shapes(resnet18(10, image=(32, 32, 3))) == [
        *((side, side, channels) for side, channels in zip([32, 32, 16, 16, 8, 8, 4, 4], sides, strict=True)),
        (512,),
        (10,),
    ]


def test_shapes_of_resnet50() -> None:
    found = shapes(resnet50(7, image=(64, 96, 1)))
    assert found[0] == (16, 24, 64)
    assert found[2] == (16, 24, 256)
    assert found[-3:] == [(2, 3, 2048), (2048,), (7,)]


def test_shapes_of_vgg16() -> None:
    assert shapes(vgg16())[:6] == [(112, 112, 64), (56, 56, 128), (28, 28, 256), (14, 14, 512), (7, 7, 512), (25_088,)]


def test_parts_of_vgg16_and_resnet50() -> None:
    """Z-Y2: on CIFAR's images, 13 convolutions and 3 affine maps; 3, 4, 6 and 3 bottlenecks, whose maps are 32, 16, 8
    and 4 pixels wide.
    """
    kinds = [type(module).__name__ for _, module in vgg16(10, image=(32, 32, 3)).named_modules()]
    assert (kinds.count("Conv2d"), kinds.count("Linear"), kinds.count("Dropout")) == (13, 3, 2)
    assert shapes(vgg16(10, image=(32, 32, 3)))[:5] == [
        (16, 16, 64),
        (8, 8, 128),
        (4, 4, 256),
        (2, 2, 512),
        (1, 1, 512),
    ]
    resnet = resnet50(10, image=(32, 32, 3))
    blocks = [module for _, module in resnet.named_modules() if isinstance(module, Bottleneck)]
    assert Counter(block.channels for block in blocks) == {64: 3, 128: 4, 256: 6, 512: 3}
    found = [shape for shape in shapes(resnet) if shape and len(shape) == 3]
    assert list(dict.fromkeys(found)) == [(32, 32, 64), (32, 32, 256), (16, 16, 512), (8, 8, 1024), (4, 4, 2048)]


@models
def test_a_config_holds_it(build: Callable[..., Any]) -> None:
    """Written and read back it is the same model."""
    model = build(10, image=(32, 32, 3))
    read = config.loads(config.dumps(model)).model()
    assert read.parameter_shapes() == model.parameter_shapes()
    assert config.dumps(read) == config.dumps(model)


@models
def test_colour_and_sides_are_those_of_the_data(build: Callable[..., Any]) -> None:
    assert build(3, image=(33, 40, 1)).trace(build(3, image=(33, 40, 1)).sample.flow).sizes() == (3,)


@pytest.mark.parametrize("block", [BasicBlock(2, 2), BasicBlock(2, 3, 2), Bottleneck(2, 1), Bottleneck(4, 1)], ids=repr)
def test_derivatives_of_a_block(block: Any) -> None:
    x = np.random.default_rng(1).standard_normal((3, 4, 5, block.in_channels)).astype(np.float32)
    assert gradcheck(block.init(np.random.default_rng(0)), x).error < 1e-6


def test_a_block_that_keeps_its_shape_has_no_shortcut() -> None:
    assert BasicBlock(4, 4).residual.shortcut is None
    assert Bottleneck(4, 1).residual.shortcut is None
    assert BasicBlock(4, 4, 2).residual.shortcut is not None


def test_misfits() -> None:
    with pytest.raises(
        StackError,
        match=r"BasicBlock\(64, 64\) cannot follow BasicBlock\(64, 128, stride=2\): expects 64 channels, gets 128",
    ):
        BasicBlock(64, 128, 2) >> BasicBlock(64, 64)
    with pytest.raises(ArgumentError, match="BasicBlock: stride must be"):
        BasicBlock(3, 4, 0)


@pytest.mark.parametrize(
    ("build", "image", "message"),
    [
        (vgg16, (16, 40, 3), "vgg16, image: height must be an integer of at least 32, got 16"),
        (vgg16, (40, 31, 3), "vgg16, image: width must be an integer of at least 32, got 31"),
        (unet, (2, 4, 1), "unet, image: height must be an integer of at least 4, got 2"),
        (resnet18, (32, 32), r"resnet18: image is \(height, width, channels\), got \(32, 32\)"),
        (resnet50, 32, r"resnet50: image is \(height, width, channels\), got 32"),
        (resnet34, (8, 8, 0), "resnet34, image: channels must be an integer of at least 1, got 0"),
    ],
)
def test_images_of_a_wrong_shape(build: Any, image: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build(image=image)


def test_resnet18_learns() -> None:
    """Eight images of noise are learnt by heart."""
    rng = np.random.default_rng(0)
    x, labels = rng.standard_normal((8, 8, 8, 1), dtype=np.float32), np.arange(8) % 4
    model, loss, optimizer = resnet18(4, image=(8, 8, 1), rng=rng), SoftmaxCrossEntropy(), SGD(lr=0.01, momentum=0.9)
    values = []
    for _ in range(8):
        value, next_grad = loss.loss_and_grad(model.forward(x), labels)
        model.update(optimizer, model.backward(next_grad))
        values.append(value)
    assert values[-1] < 0.2 * values[0]


def test_the_autoencoder() -> None:
    """It keeps the shape, its derivatives are right, and it learns."""
    rng = np.random.default_rng(0)
    model, x = unet(image=(8, 4, 2), rng=rng), rng.standard_normal((2, 8, 4, 2), dtype=np.float32)
    assert gradcheck(model, x, most=30).error < 1e-6
    loss, optimizer, values = MSE(), SGD(lr=0.1, momentum=0.9), []
    for _ in range(30):
        value, next_grad = loss.loss_and_grad(model.forward(x), x)
        assert next_grad.shape == x.shape
        model.update(optimizer, model.backward(next_grad))
        values.append(value)
    assert values[-1] < 0.5 * values[0]
    with pytest.raises(StackError):
        unet(image=(6, 6, 1))
