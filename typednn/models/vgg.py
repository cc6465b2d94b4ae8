"""VGG16: thirteen 3x3 convolutions and three affine maps.

layers                                    each sample's shape, images of 224x224    and of 32x32
image                                     224 x 224 x   3                           32 x 32 x   3
3x3,  64, twice;        MaxPool           112 x 112 x  64                           16 x 16 x  64
3x3, 128, twice;        MaxPool            56 x  56 x 128                            8 x  8 x 128
3x3, 256, three times;  MaxPool            28 x  28 x 256                            4 x  4 x 256
3x3, 512, three times;  MaxPool            14 x  14 x 512                            2 x  2 x 512
3x3, 512, three times;  MaxPool             7 x   7 x 512                            1 x  1 x 512
Flatten                                    25,088                                    512
Linear, 4096, Dropout, twice                4,096                                    4,096
Linear                                    classes                                    classes
parameters                                138,357,544 of 1000 classes                33,638,218 of 10

A ReLU follows each layer with parameters but the last.
Source: Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition", table 1,
column D; initial values as torchvision.models.vgg16, except Linear's, which are this layer's own.
"""

from typednn.layer import Input
from typednn.layers import Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU
from typednn.models.classifier import Classifier, Images, sizes_of
from typednn.random import Rng


def _twice(in_channels: int, channels: int) -> Images:
    first = Conv2d(in_channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    second = Conv2d(channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    return first >> ReLU() >> second >> ReLU() >> MaxPool2d(2)


def _three_times(in_channels: int, channels: int) -> Images:
    first = Conv2d(in_channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    second = Conv2d(channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    third = Conv2d(channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    return first >> ReLU() >> second >> ReLU() >> third >> ReLU() >> MaxPool2d(2)


def vgg16(classes: int = 1000, *, image: tuple[int, int, int] = (224, 224, 3), rng: Rng | None = None) -> Classifier:
    """``image`` is the shape of one: height, width, channels, the sides at least 32."""
    height, width, channels = sizes_of("vgg16", image, 32)
    model = (
        Input(height, width, channels)
        >> _twice(channels, 64)
        >> _twice(64, 128)
        >> _three_times(128, 256)
        >> _three_times(256, 512)
        >> _three_times(512, 512)
        >> Flatten()
        >> Linear(512 * (height // 32) * (width // 32), 4096)
        >> ReLU()
        >> Dropout(0.5)
        >> Linear(4096, 4096)
        >> ReLU()
        >> Dropout(0.5)
        >> Linear(4096, classes)
    )
    return model if rng is None else model.init(rng)
