"""Losses, which training minimises. Each gives a value (`loss`) and the first gradient of the chain (`loss_grad`)."""

from typednn.losses.cross_entropy import CrossEntropy
from typednn.losses.mse import MSE
from typednn.losses.softmax_cross_entropy import SoftmaxCrossEntropy

__all__ = ["MSE", "CrossEntropy", "SoftmaxCrossEntropy"]
