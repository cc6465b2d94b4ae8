"""A residual block that makes images smaller; its shortcut does not."""

from typednn import Input
from typednn.layers import Conv2d, Pad2d, Residual

block = Residual(Pad2d(1) >> Conv2d(8, 16, 3, 2), shortcut=Conv2d(8, 16, 1))
model = Input(16, 16, 8) >> block  # shape: as inner does
