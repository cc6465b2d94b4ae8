"""Whole models, written out: each file reads like the figure in its paper."""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.models.compact import CompactGPT2, compact
from typednn.models.generation import generate, next_scores, probabilities, stream
from typednn.models.gpt2 import GPT2, GPT2Block
from typednn.models.gpt2_weights import load_gpt2, save_gpt2
from typednn.models.gpt_c import read_gpt_c, write_gpt_c
from typednn.models.lenet5 import LeNet5, LeNet5Grad, lenet5
from typednn.models.lstm_classifier import lstm_classifier
from typednn.models.resnet import BasicBlock, Bottleneck, resnet18, resnet34, resnet50
from typednn.models.unet import unet
from typednn.models.vgg import vgg16

__all__ = [
    "BasicBlock",
    "Bottleneck",
    "CompactGPT2",
    "GPT2",
    "GPT2Block",
    "LeNet5",
    "LeNet5Grad",
    "compact",
    "generate",
    "lenet5",
    "load_gpt2",
    "lstm_classifier",
    "next_scores",
    "probabilities",
    "read_gpt_c",
    "resnet18",
    "resnet34",
    "resnet50",
    "save_gpt2",
    "stream",
    "unet",
    "vgg16",
    "write_gpt_c",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
