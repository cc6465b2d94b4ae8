"""Blocks of layers."""

from typing import Any

from typednn.layers import Linear, ReLU


def bottleneck(width: int, factor: int) -> Any:
    narrow = width // factor
    down = Linear(width, narrow)
    up = Linear(16, width)
    return down >> ReLU() >> up
