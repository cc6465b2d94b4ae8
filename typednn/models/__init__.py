"""Whole models, written out: each file reads like the figure in its paper."""

from typednn.models.lenet5 import LeNet5, LeNet5Grad, lenet5

__all__ = ["LeNet5", "LeNet5Grad", "lenet5"]
