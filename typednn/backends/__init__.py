"""Devices: which there are, and the only functions that move arrays between them.

>>> import numpy as np
>>> from typednn.backends import select, to_device, to_numpy
>>> x = to_device(np.ones((2, 3)), "cpu")  # "cuda" for a GPU, with CuPy: pip install 'typednn[gpu]'
>>> select("cpu").namespace.tanh(x).shape
(2, 3)

Importing this imports no CuPy.
"""

from typednn.backends.backend import (
    Backend,
    available,
    read_together,
    register_backend,
    select,
    synchronize,
    to_device,
    to_number,
    to_numpy,
)
from typednn.backends.cupy_backend import CupyBackend

register_backend(CupyBackend())

__all__ = [
    "Backend",
    "available",
    "read_together",
    "register_backend",
    "select",
    "synchronize",
    "to_device",
    "to_number",
    "to_numpy",
]
