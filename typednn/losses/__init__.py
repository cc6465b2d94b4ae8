"""Losses, which training minimises. Each gives a value (`loss`) and the first gradient of the chain (`loss_grad`)."""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.losses.bce_with_logits import BCEWithLogits
from typednn.losses.cosine_similarity import CosineSimilarity
from typednn.losses.cross_entropy import CrossEntropy
from typednn.losses.huber import Huber
from typednn.losses.kl_div import KLDiv
from typednn.losses.l1 import L1
from typednn.losses.mse import MSE
from typednn.losses.nll import NLL
from typednn.losses.softmax_cross_entropy import SoftmaxCrossEntropy

__all__ = [
    "L1",
    "MSE",
    "NLL",
    "BCEWithLogits",
    "CosineSimilarity",
    "CrossEntropy",
    "Huber",
    "KLDiv",
    "SoftmaxCrossEntropy",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
