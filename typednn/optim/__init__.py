"""Optimizers, driven through each layer's ``update``; schedules; averages of weights; and functions of gradients."""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.optim.accumulation import accumulate
from typednn.optim.adadelta import Adadelta
from typednn.optim.adagrad import Adagrad
from typednn.optim.adam import Adam
from typednn.optim.adamw import AdamW
from typednn.optim.clipping import clip_grad_norm
from typednn.optim.ema import EMA
from typednn.optim.lion import Lion
from typednn.optim.one_cycle import OneCycleLR
from typednn.optim.optimizer import GradientOptimizer
from typednn.optim.penalty import l2_penalty
from typednn.optim.plateau import ReduceLROnPlateau
from typednn.optim.rmsprop import RMSprop
from typednn.optim.schedule import (
    ConstantLR,
    CosineLR,
    ExponentialLR,
    LinearLR,
    PolynomialLR,
    Schedule,
    StepLR,
    Watching,
)
from typednn.optim.settings import Group
from typednn.optim.sgd import SGD

__all__ = [
    "EMA",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "ConstantLR",
    "CosineLR",
    "ExponentialLR",
    "GradientOptimizer",
    "Group",
    "LinearLR",
    "Lion",
    "OneCycleLR",
    "PolynomialLR",
    "RMSprop",
    "ReduceLROnPlateau",
    "Schedule",
    "StepLR",
    "Watching",
    "accumulate",
    "clip_grad_norm",
    "l2_penalty",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
