"""A U-shaped autoencoder: an image made small and large again, each size joined with what stood on the other side of
the U.

each sample's shape, images of 28x28                                                       joined
28 x 28 x 1   two 3x3, 16  ------------------------------------------>  28 x 28 x 48   two 3x3, 16; 3x3 to its channels
14 x 14 x 16      MaxPool; two 3x3, 32  ------------>  14 x 14 x 96   two 3x3, 32; Upsample
 7 x  7 x 32          MaxPool; two 3x3, 64; Upsample

The sides are multiples of 4. Every 3x3 convolution but the last is followed by ReLU. It gives numbers of the image's
own scale, for `MSE`.
Source: Ronneberger, Fischer and Brox 2015, "U-Net: Convolutional Networks for Biomedical Image Segmentation", figure 1,
with two sizes below the first, zeros around the images, and nearest neighbours in place of up-convolutions.
"""

from typednn.layer import Input
from typednn.layers import Concat, Conv2d, Identity, MaxPool2d, ReLU, Upsample
from typednn.models.classifier import Images, sizes_of
from typednn.random import Rng


def _two(in_channels: int, channels: int) -> Images:
    first = Conv2d(in_channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    second = Conv2d(channels, channels, 3, padding=1, bias=True, weight_init="he_normal", bias_init="zeros")
    return first >> ReLU() >> second >> ReLU()


def unet(*, image: tuple[int, int, int] = (28, 28, 1), rng: Rng | None = None) -> Images:
    """``image`` is the shape of one: height, width, channels."""
    height, width, channels = sizes_of("unet", image, 4)
    lowest = MaxPool2d(2) >> _two(32, 64) >> Upsample(2)
    middle = MaxPool2d(2) >> _two(16, 32) >> Concat(Identity(), lowest) >> _two(96, 32) >> Upsample(2)
    outer = _two(channels, 16) >> Concat(Identity(), middle) >> _two(48, 16)
    model = Input(height, width, channels) >> outer >> Conv2d(16, channels, 3, padding=1, bias=True)
    return model if rng is None else model.init(rng)
