"""A row of a table of graph functions, and what is asked of each: NumPy's values, and derivatives that are central
differences'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from typednn.graph import Tape, Tensor, realize, tensor

SHAPES = st.lists(st.integers(1, 5), min_size=0, max_size=3).map(tuple)
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Row:
    """``function`` of tensors, ``reference`` of arrays. Numbers are drawn from ``low`` to ``high``, for each input or
    for all.

    ``dtypes``: f floats, i integers, u unsigned ones, b booleans. ``kinks``: what floats keep away from; ``whole``
    numbers too. ``smooth``: its derivative is checked. ``special``: so are its values at infinities, NaN and zeros;
    ``signs`` of zeros, too.
    """

    name: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    low: float | Sequence[float] = -3.0
    high: float | Sequence[float] = 3.0
    inputs: int = 1
    dtypes: str = "f"
    kinks: tuple[float, ...] = ()
    whole: bool = False
    smooth: bool = True
    special: bool = True
    signs: bool = True

    def __str__(self) -> str:
        return self.name

    def draw(self, seed: int, shape: tuple[int, ...], dtype: Any) -> list[np.ndarray[Any, Any]]:
        """Its inputs. The second and third broadcast: some of their axes are 1, or not there."""
        generator, kind = np.random.default_rng(seed), np.dtype(dtype)
        arrays = list[np.ndarray[Any, Any]]()
        for place in range(self.inputs):
            sizes = shape if place == 0 else tuple(1 if generator.random() < 0.3 else size for size in shape)
            sizes = sizes[generator.integers(0, len(sizes) + 1) :] if place and generator.random() < 0.2 else sizes
            low, high = (bound if isinstance(bound, int | float) else bound[place] for bound in (self.low, self.high))
            x: Any = generator.uniform(low, high, sizes)
            if kind.kind in "iu":
                x = np.round(np.abs(x) if kind.kind == "u" else x)
            elif kind.kind == "b":
                x = x > (low + high) / 2
            else:
                for kink in (*self.kinks, *(range(-9, 10) if self.whole else ())):
                    x = np.where(np.abs(x - kink) < 0.05, kink + 0.1, x)
                # numbers of two inputs are not nearly equal: where one overtakes the other may be a kink
                if self.inputs > 1:
                    x = np.round(x, 2) + 0.003 * place
            arrays.append(np.asarray(x).astype(kind))
        return arrays


def close(found: Any, expected: Any, dtype: Any, units: float = 16) -> None:
    """Equal to some units of the last place of ``dtype``; of one dtype and shape."""
    assert found.shape == expected.shape
    kind = np.dtype(dtype)
    if kind.kind != "f" or expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        eps = float(np.finfo(kind).eps)
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), rtol=units * eps, atol=units * eps
        )


def gradients(function: Callable[..., Tensor], arrays: Sequence[Any], weights: Any = None) -> list[Any]:
    """The tape's derivative of the sum of ``function(*arrays)``, or of its products with ``weights``, by each array."""
    tensors = [tensor(each) for each in arrays]
    with Tape() as tape:
        found = function(*tensors)
        total = (found if weights is None else found * tensor(weights)).sum()
        derivatives = tape.gradient(total, tensors, zeros=True)
    realize(derivatives)
    return [each.numpy() for each in derivatives]


def check_gradient(
    function: Callable[..., Tensor], arrays: Sequence[Any], seed: int = 0, step: float = 1e-5, rtol: float = 1e-6
) -> None:
    """The derivative along a random direction, of all arrays at once, is the central difference's. Everything is
    float64.
    """
    generator = np.random.default_rng(seed)
    shape = function(*map(tensor, arrays)).shape
    weights = generator.uniform(0.5, 1.5, shape)
    directions = [generator.uniform(0.5, 1.5, each.shape) for each in arrays]

    def at(distance: float) -> float:
        moved = [each + distance * direction for each, direction in zip(arrays, directions, strict=True)]
        return float((function(*map(tensor, moved)).numpy() * weights).sum())

    expected = (at(step) - at(-step)) / (2 * step)
    terms = [each * direction for each, direction in zip(gradients(function, arrays, weights), directions, strict=True)]
    found = sum(float(each.sum()) for each in terms)
    size = sum(float(np.abs(each).sum()) for each in terms)
    assert abs(found - expected) <= rtol * (1 + size), f"the tape gives {found}, central differences {expected}"
