"""The machine's limits: the rate of a large matrix product, and of a copy that is too large for any cache."""

from __future__ import annotations

import time
from collections.abc import Callable
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
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, size, size), dtype=np.float32)
    out = np.empty_like(a)
    products: list[Callable[[], Any]] = [lambda: import_module("typednn.engines").gemm(a, b, out)]
    source, target = np.ones(numbers, np.float32), np.ones(numbers, np.float32)
    copies: list[Callable[[], Any]] = [lambda: np.copyto(target, source)]
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        products.append(lambda: torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=torch.from_numpy(out)))
        copies.append(lambda: torch.from_numpy(target).copy_(torch.from_numpy(source)))
    fastest = min(_least(product, rounds) for product in products)
    quickest = min(_least(copy, rounds) for copy in copies)
    return Limits(2.0 * size**3 / fastest, 8.0 * numbers / quickest)


def _least(work: Callable[[], Any], rounds: int) -> float:
    """Seconds of the fastest round; the first is not counted."""
    work()
    seen: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seen.append(time.perf_counter() - started)
    return min(seen)
