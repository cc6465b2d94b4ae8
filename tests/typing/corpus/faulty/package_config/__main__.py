"""Layers of these sizes."""

from dataclasses import replace

from package_config.config import default
from typednn.layers import Linear, ReLU

if __name__ == "__main__":
    wide = replace(default, width=128)
    up = Linear(wide.width, wide.inner) >> ReLU() >> Linear(512, 128)
    down = Linear(default.width, default.inner) >> Linear(512, 64)  # shape: expects 512 features, gets 256
    head = Linear(64, wide.head_dim) >> Linear(16, 2)  # shape: expects 16 features, gets 32
