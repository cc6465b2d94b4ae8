"""Scaling: inputs brought to the training data's mean 0 and deviation 1; kept with the run, so that new inputs get the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.data.dataset import moments
from typednn.errors import ArgumentError, explain

Floats: TypeAlias = npt.NDArray[np.float32]


@final
@dataclass(frozen=True, slots=True)
class Scaling:
    """``(x - mean)/deviation``, in float32, the same two numbers for every input."""

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, x: npt.NDArray[Any]) -> Scaling:
        """Mean and deviation over every number of ``x``."""
        mean, deviation = moments(x)
        if not 0.0 < deviation < float("inf"):
            rule = "training inputs must be finite and differ somewhere"
            raise ArgumentError(explain("standardise", rule, f"deviation {deviation:g}", "--set standardise=false takes them as they are"))
        return cls(mean, deviation)

    def __call__(self, x: npt.NDArray[Any]) -> Floats:
        """``x`` scaled, as a new array."""
        scaled: Floats = np.subtract(x, np.float32(self.mean), dtype=np.float32)
        scaled /= np.float32(self.deviation)
        return scaled
