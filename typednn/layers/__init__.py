"""Layers, one per file; read `typednn.layers.linear` before you write another."""

from typednn.layers.conv2d import Conv2d, Conv2dGrad
from typednn.layers.flatten import Flatten, FlattenGrad
from typednn.layers.identity import Identity
from typednn.layers.leaky_relu import LeakyReLU
from typednn.layers.linear import Linear, LinearGrad
from typednn.layers.max_pool2d import MaxPool2d, MaxPool2dGrad
from typednn.layers.pad2d import Pad2d, Pad2dGrad
from typednn.layers.per_position import PerPosition, PerPositionGrad
from typednn.layers.prelu import PReLU, PReLUGrad
from typednn.layers.relu import ReLU
from typednn.layers.repeat import Repeat, RepeatGrad
from typednn.layers.residual import Residual, ResidualGrad
from typednn.layers.sequence_linear import SequenceLinear, SequenceLinearGrad
from typednn.layers.sigmoid import Sigmoid
from typednn.layers.softmax import Softmax, SoftmaxGrad
from typednn.layers.tanh import Tanh

__all__ = [
    "Conv2d",
    "Conv2dGrad",
    "Flatten",
    "FlattenGrad",
    "Identity",
    "LeakyReLU",
    "Linear",
    "LinearGrad",
    "MaxPool2d",
    "MaxPool2dGrad",
    "PReLU",
    "PReLUGrad",
    "Pad2d",
    "Pad2dGrad",
    "PerPosition",
    "PerPositionGrad",
    "ReLU",
    "Repeat",
    "RepeatGrad",
    "Residual",
    "ResidualGrad",
    "SequenceLinear",
    "SequenceLinearGrad",
    "Sigmoid",
    "Softmax",
    "SoftmaxGrad",
    "Tanh",
]
