"""The machine's limits: the rate of a large matrix product, of a copy that is too large for any cache, and of reading
so much.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Limits:
    """Operations per second, and bytes per second read and written: the best of all installed libraries."""

    flops: float
    copied: float

    def seconds(self, flops: float, traffic: float) -> float:
        """Seconds for ``flops`` operations and then ``traffic`` bytes."""
        return flops / self.flops + traffic / self.copied

    def __str__(self) -> str:
        return f"matrix product {self.flops / 1e9:.0f} GFLOP/s, copy {self.copied / 1e9:.0f} GB/s"


def limits(size: int = 2048, numbers: int = 2**25, rounds: int = 5) -> Limits:
    """Measure the limits, with the process's number of threads."""
    fastest = _product(size, size, size, False, False, rounds)
    source, target = np.ones(numbers, np.float32), np.ones(numbers, np.float32)
    copies: list[Callable[[], Any]] = [lambda: np.copyto(target, source)]
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        copies.append(lambda: torch.from_numpy(target).copy_(torch.from_numpy(source)))
    quickest = min(_least(copy, rounds) for copy in copies)
    return Limits(2.0 * size**3 / fastest, 8.0 * numbers / quickest)


def product_seconds(rows: int, out_features: int, in_features: int, rounds: int = 3) -> tuple[float, float, float]:
    """Seconds of the products of a linear layer, by the fastest library: its output, and its derivatives by input and
    by weight.
    """
    forward = _product(rows, out_features, in_features, False, True, rounds)
    return (
        forward,
        _product(rows, in_features, out_features, False, False, rounds),
        _product(out_features, in_features, rows, True, False, rounds),
    )


def _product(rows: int, columns: int, depth: int, transpose_a: bool, transpose_b: bool, rounds: int) -> float:
    """Seconds of one product in float32, by the fastest library."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((depth, rows) if transpose_a else (rows, depth), dtype=np.float32)
    b = rng.standard_normal((columns, depth) if transpose_b else (depth, columns), dtype=np.float32)
    out = np.empty((rows, columns), np.float32)
    products: list[Callable[[], Any]] = [
        lambda: import_module("typednn.engines").gemm(a, b, out, transpose_a, transpose_b)
    ]
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        left, right, result = (
            torch.from_numpy(each) for each in (a.T if transpose_a else a, b.T if transpose_b else b, out)
        )
        products.append(lambda: torch.mm(left, right, out=result))
    return min(_least(product, rounds) for product in products)


def reading(numbers: int = 2**26, rounds: int = 7) -> float:
    """Bytes per second that are read by sums of squares of a large array, with the process's number of threads: the
    best of libraries.
    """
    from typednn.engines import get_threads

    source, threads = np.ones(numbers, np.float32), get_threads()
    pieces = np.array_split(source, threads)
    with ThreadPoolExecutor(threads) as pool:
        readings: list[Callable[[], Any]] = [lambda: [*pool.map(lambda piece: piece @ piece, pieces)]]
        if find_spec("torch") is not None:
            torch: Any = import_module("torch")
            readings.append(lambda: torch.from_numpy(source).sum())
        return 4.0 * numbers / min(_least(reading, rounds) for reading in readings)


def _least(work: Callable[[], Any], rounds: int) -> float:
    """Seconds of the fastest round; the first is not counted."""
    work()
    seen: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seen.append(time.perf_counter() - started)
    return min(seen)
