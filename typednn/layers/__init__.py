"""Layers, one per file; read `typednn.layers.linear` before you write another."""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.layers.adaptive_avg_pool2d import AdaptiveAvgPool2d, AdaptiveAvgPool2dGrad
from typednn.layers.avg_pool2d import AvgPool2d, AvgPool2dGrad
from typednn.layers.batch_norm1d import BatchNorm1d, BatchNorm1dGrad
from typednn.layers.batch_norm2d import BatchNorm2d, BatchNorm2dGrad
from typednn.layers.concat import Concat, ConcatGrad
from typednn.layers.conv1d import Conv1d, Conv1dGrad
from typednn.layers.conv2d import Conv2d, Conv2dGrad
from typednn.layers.conv_transpose2d import ConvTranspose2d, ConvTranspose2dGrad
from typednn.layers.dropout import Dropout
from typednn.layers.dropout2d import Dropout2d, Dropout2dGrad
from typednn.layers.elu import ELU
from typednn.layers.embedding import Embedding, EmbeddingGrad
from typednn.layers.flatten import Flatten, FlattenGrad
from typednn.layers.gelu import GELU
from typednn.layers.global_avg_pool2d import GlobalAvgPool2d, GlobalAvgPool2dGrad
from typednn.layers.glu import GLU
from typednn.layers.group_norm import GroupNorm, GroupNormGrad
from typednn.layers.gru import GRU, GRUGrad
from typednn.layers.hardsigmoid import Hardsigmoid
from typednn.layers.hardswish import Hardswish
from typednn.layers.identity import Identity
from typednn.layers.last_step import LastStep, LastStepGrad
from typednn.layers.layer_norm import LayerNorm, LayerNormGrad
from typednn.layers.leaky_relu import LeakyReLU
from typednn.layers.learned_positions import LearnedPositions, LearnedPositionsGrad
from typednn.layers.linear import Linear, LinearGrad
from typednn.layers.log_softmax import LogSoftmax, LogSoftmaxGrad
from typednn.layers.lstm import LSTM, LSTMGrad
from typednn.layers.max_pool2d import MaxPool2d, MaxPool2dGrad
from typednn.layers.multi_head_attention import MultiHeadAttention, MultiHeadAttentionGrad
from typednn.layers.pad2d import Pad2d, Pad2dGrad
from typednn.layers.per_position import PerPosition, PerPositionGrad
from typednn.layers.prelu import PReLU, PReLUGrad
from typednn.layers.relu import ReLU
from typednn.layers.repeat import Repeat, RepeatGrad
from typednn.layers.reshape import Reshape, ReshapeGrad
from typednn.layers.residual import Residual, ResidualGrad
from typednn.layers.rms_norm import RMSNorm, RMSNormGrad
from typednn.layers.rnn import RNN, RNNGrad
from typednn.layers.selu import SELU
from typednn.layers.sequence_linear import SequenceLinear, SequenceLinearGrad
from typednn.layers.sigmoid import Sigmoid
from typednn.layers.silu import SiLU
from typednn.layers.sinusoidal_positions import SinusoidalPositions, SinusoidalPositionsGrad
from typednn.layers.softmax import Softmax, SoftmaxGrad
from typednn.layers.softplus import Softplus
from typednn.layers.tanh import Tanh
from typednn.layers.upsample import Upsample, UpsampleGrad

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dGrad",
    "AvgPool2d",
    "AvgPool2dGrad",
    "BatchNorm1d",
    "BatchNorm1dGrad",
    "BatchNorm2d",
    "BatchNorm2dGrad",
    "Concat",
    "ConcatGrad",
    "Conv1d",
    "Conv1dGrad",
    "Conv2d",
    "Conv2dGrad",
    "ConvTranspose2d",
    "ConvTranspose2dGrad",
    "Dropout",
    "Dropout2d",
    "Dropout2dGrad",
    "Embedding",
    "EmbeddingGrad",
    "Flatten",
    "FlattenGrad",
    "GRUGrad",
    "GlobalAvgPool2d",
    "GlobalAvgPool2dGrad",
    "GroupNorm",
    "GroupNormGrad",
    "Hardsigmoid",
    "Hardswish",
    "Identity",
    "LSTMGrad",
    "LastStep",
    "LastStepGrad",
    "LayerNorm",
    "LayerNormGrad",
    "LeakyReLU",
    "LearnedPositions",
    "LearnedPositionsGrad",
    "Linear",
    "LinearGrad",
    "LogSoftmax",
    "LogSoftmaxGrad",
    "MaxPool2d",
    "MaxPool2dGrad",
    "MultiHeadAttention",
    "MultiHeadAttentionGrad",
    "PReLU",
    "PReLUGrad",
    "Pad2d",
    "Pad2dGrad",
    "PerPosition",
    "PerPositionGrad",
    "RMSNorm",
    "RMSNormGrad",
    "RNNGrad",
    "ReLU",
    "Repeat",
    "RepeatGrad",
    "Reshape",
    "ReshapeGrad",
    "Residual",
    "ResidualGrad",
    "SequenceLinear",
    "SequenceLinearGrad",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositions",
    "SinusoidalPositionsGrad",
    "Softmax",
    "SoftmaxGrad",
    "Softplus",
    "Tanh",
    "Upsample",
    "UpsampleGrad",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
