"""What a plan computes, and how long each step takes, beside what the machine could do."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, final

import numpy as np

from typednn.arguments import integer
from typednn.engines import gemm, get_threads
from typednn.html import Html, bar, facts, shown, table
from typednn.module.module import Module
from typednn.plans.plan import HALVES, Line, Plan
from typednn.screen import columns

_SIDE = 1024  # of the product that is measured
_COPY = 1 << 24  # numbers of the copy that is measured
_SHOWN = 3  # shapes of a line


@dataclass(frozen=True, slots=True)
class Timed:
    """A step of a plan. ``limit``: its operations at the rate of a large product, or its bytes at the rate of a large
    copy, whichever takes longer; numbers that lie in a cache may come sooner.
    """

    half: str
    name: str
    parameters: str  # the model's arrays that it reads
    engine: str
    shapes: str
    flops: int
    bytes: int
    seconds: float
    limit: float


@final
@dataclass(frozen=True, slots=True)
class Explained:
    """A plan's steps in order; printed as a table, and in a notebook with a bar for each step's time."""

    model: str
    lines: tuple[Timed, ...]
    arena: int  # bytes between its steps
    threads: int
    flops_per_second: float
    bytes_per_second: float
    others: tuple[str, ...]  # why other kinds of input have no plan

    @property
    def seconds(self) -> float:
        """Of all steps."""
        return sum(line.seconds for line in self.lines)

    def _facts(self) -> dict[str, str]:
        return {
            "time": f"{self.seconds * 1e3:.3g} ms",
            "limit": f"{sum(line.limit for line in self.lines) * 1e3:.3g} ms",
            "operations": f"{sum(line.flops for line in self.lines) / 1e6:,.1f} M",
            "arena": f"{self.arena / 1e6:,.1f} MB",
            "threads": str(self.threads),
            "products": f"{self.flops_per_second / 1e9:.0f} GFLOP/s",
            "copies": f"{self.bytes_per_second / 1e9:.1f} GB/s",
        }

    def _cells(self, line: Timed) -> tuple[str, ...]:
        return (
            line.half,
            line.name,
            line.parameters,
            line.engine,
            line.shapes,
            f"{line.flops / 1e6:,.2f}",
            f"{line.bytes / 1e6:,.2f}",
            f"{line.seconds * 1e6:,.1f}",
            f"{line.seconds / line.limit:.1f}" if line.limit else "",
        )

    def __str__(self) -> str:
        head = ("half", "op", "parameters", "engine", "shapes", "Mflop", "MB", "µs", "of the limit")
        rows = columns([head, *map(self._cells, self.lines)], right=(5, 6, 7, 8))
        summed = "  ".join(f"{name} {value}" for name, value in self._facts().items())
        return "\n".join([self.model, summed, "", *rows, *self.others])

    def _repr_html_(self) -> str:
        head = ["half", "op", "parameters", "engine", "shapes", "Mflop", "MB", "µs", "of the limit", ""]
        longest = max((line.seconds for line in self.lines), default=0.0) or 1.0
        rows = [(*self._cells(line), bar(line.seconds / longest)) for line in self.lines]
        numbers = ("Mflop", "MB", "µs", "of the limit")
        return shown(self.model, facts(self._facts()), table(head, rows, numbers=numbers), *map(Html, self.others))


def explained(model: Module, plan: Plan, x: Any, others: tuple[str, ...], times: int) -> Explained:
    """`Compiled.explain` of a plan for inputs like ``x``; ``others`` is said below it."""
    integer("Compiled.explain", "times", times)
    names = {id(array): name for name, array in model.named_parameters().items()}
    x, next_grad = (np.zeros(each.shape, each.dtype) for each in (x, plan.output))
    samples = [plan.timed(x, next_grad) for _ in range(times)]
    seconds = {half: np.median([each[half] for each in samples], axis=0) for half in HALVES}
    products, copies = _products(), _copies()
    return Explained(
        model.label(),
        tuple(_timed(line, seconds[line.half], names, products, copies) for line in plan.lines),
        plan.arena.nbytes,
        get_threads(),
        products,
        copies,
        others,
    )


def _timed(line: Line, seconds: Any, names: dict[int, str], products: float, copies: float) -> Timed:
    shapes = [" × ".join(map(str, shape)) or "1" for shape in line.shapes[:_SHOWN]]
    return Timed(
        line.half,
        line.name,
        ", ".join(names[each] for each in line.held if each in names),
        line.engine,
        ", ".join([*shapes, *(["…"] if len(line.shapes) > _SHOWN else [])]),
        line.flops,
        line.bytes,
        float(sum(seconds[place] for place in line.calls)),
        max(line.flops / products, line.bytes / copies),
    )


def _fastest(work: Any) -> float:
    taken: list[float] = []
    for _ in range(5):
        began = perf_counter()
        work()
        taken.append(perf_counter() - began)
    return min(taken)


def _products() -> float:
    """Operations a second of a large product."""
    a, b, out = (np.ones((_SIDE, _SIDE), np.float32) for _ in range(3))
    return 2 * _SIDE**3 / _fastest(lambda: gemm(a, b, out))


def _copies() -> float:
    """Bytes a second of a large copy, read and written."""
    a, b = np.ones(_COPY, np.float32), np.zeros(_COPY, np.float32)
    return 2 * a.nbytes / _fastest(lambda: np.copyto(b, a))
