"""fingerprint: what tells data from other data, without reading all of them."""

import hashlib
from typing import Any, Final

import numpy as np

_WHOLE: Final = 1 << 20  # bytes
_ROWS: Final = 16


def fingerprint(*arrays: Any) -> str:
    """A digest of the arrays' shapes, dtypes and numbers: all of an array in memory of up to 1 MiB, of any other 16
    rows that are spread over it. So it may be the same where a few rows differ. None stands for no array.
    """
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        whole = type(array) is np.ndarray and array.nbytes <= _WHOLE
        rows = slice(None) if whole else np.unique(np.linspace(0, len(array) - 1, _ROWS).astype(np.int64))
        digest.update(f"{tuple(array.shape)} {array.dtype} ".encode())
        digest.update(np.ascontiguousarray(array[rows]).tobytes())
    return digest.hexdigest()
