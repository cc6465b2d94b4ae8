"""What a chain of affine maps looks like."""

from __future__ import annotations

from typing import NamedTuple

from typednn.kernels.activations import Activation


class Layout(NamedTuple):
    """The features before, between and after the maps; whether each has a bias; and what follows it."""

    features: tuple[int, ...]
    biased: tuple[bool, ...]
    activations: tuple[Activation, ...]
