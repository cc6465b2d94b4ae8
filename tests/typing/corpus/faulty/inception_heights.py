"""Inception's branches: the one of 5x5 needs two zeros on each side, not one."""

from typednn import Input
from typednn.layers import Concat, Conv2d

three, five = Conv2d(8, 6, 3, padding="same"), Conv2d(8, 2, 5, padding=1)
model = Input(12, 12, 8) >> Concat(Conv2d(8, 4, 1), three, five)  # shape: branches.2 must give height x width before the last axis
