"""Models as C libraries: what gcc makes of them computes the bits of Python's forward."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Input, Layer
from typednn.arrays import Array2, Array4
from typednn.engines import EngineError, processor, using
from typednn.errors import ArgumentError, DataError, NotInitialised
from typednn.exchange import export_c
from typednn.exchange.c import export
from typednn.exchange.c.recording import record
from typednn.kernels import relu
from typednn.layer import ElementwiseGrad
from typednn.layers import (
    GELU,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Flatten,
    GlobalAvgPool2d,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
    Softmax,
    Tanh,
)
from typednn.models import GPT2, LeNet5, lenet5, lstm_classifier
