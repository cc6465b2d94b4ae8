"""The CPU: NumPy's arrays in the host's memory."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from typednn.backends.backend import A, Backend


@final
class NumpyBackend(Backend):
    """Nothing to copy: NumPy's arrays are here already."""

    device = "cpu"

    @property
    def array_type(self) -> type:
        return np.ndarray

    @property
    def namespace(self) -> Any:
        return np

    def from_numpy(self, host: A) -> A:
        return host

    def to_numpy(self, array: A) -> A:
        return array
