"""Optimizers, driven through each layer's ``update``; schedules; and functions of gradients."""

from typednn.optim.adam import Adam
from typednn.optim.adamw import AdamW
from typednn.optim.clipping import accumulate, clip_grad_norm
from typednn.optim.optimizer import GradientOptimizer, Group
from typednn.optim.penalty import l2_penalty
from typednn.optim.schedule import ConstantLR, CosineLR, Schedule, StepLR
from typednn.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "ConstantLR",
    "CosineLR",
    "GradientOptimizer",
    "Group",
    "Schedule",
    "StepLR",
    "accumulate",
    "clip_grad_norm",
    "l2_penalty",
]
