"""digits: scikit-learn's bundled handwritten digits, resized to MNIST's size. Real data without a download.

1,797 images of 8x8 pixels with 17 grey levels, by 43 people; enlarged here to 28x28 by bilinear interpolation, hence
blurred, and scaled to MNIST's range 0 to 255. 359 of them, a fifth of every class, are for testing, always the same
ones. Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI repository; test part.
"""

from typing import Any, cast

import numpy as np

from typednn.arguments import integer
from typednn.arrays import Array2, Array4
from typednn.data.dataset import Dataset
from typednn.errors import optional
from typednn.random import PCG32


def digits() -> Dataset:
    """Scikit-learn's 8x8 digits resized to 28x28; needs the extra ``typednn[demo]``."""
    sklearn = optional(
        "sklearn.datasets", "digits()", "needs scikit-learn's bundled images", "pip install 'typednn[demo]'"
    )
    bundled: Any = sklearn.load_digits()
    labels = np.asarray(bundled.target, np.int64).reshape(-1)
    images = (resized(np.asarray(bundled.images, np.float64)[..., np.newaxis], 28, 28) * (255.0 / 16.0)).astype(
        np.float32
    )

    # A fifth of each class, rounded, chosen by a generator that is the same on every machine.
    rng = PCG32(0)
    tested = np.zeros(len(labels), np.bool_)
    for digit in range(10):
        rows = np.flatnonzero(labels == digit)
        tested[rows[rng.permutation(len(rows))[: round(len(rows) / 5)]]] = True
    return Dataset(images[~tested], labels[~tested], images[tested], labels[tested])


def resized(images: Array4, height: int, width: int) -> Array4:
    """``images`` with bilinear interpolation between pixel centres, in float64; edge pixels are repeated beyond the
    outermost centres.
    """
    rows = _interpolation(images.shape[1], integer("resized", "height", height))
    columns = _interpolation(images.shape[2], integer("resized", "width", width))
    return cast("Array4", np.einsum("yh,bhwc,xw->byxc", rows, images, columns, optimize=True))


def _interpolation(old: int, new: int) -> Array2:
    """The weight of each old pixel in each new one, (new, old)."""
    places = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0.0, old - 1.0)
    return np.maximum(0.0, 1.0 - np.abs(places[:, np.newaxis] - np.arange(old)))
