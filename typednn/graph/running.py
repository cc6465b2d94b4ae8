"""From nodes to arrays: the program of a `realize`, the plan that computes it, and the counters.

A plan is made for each program once. Programs that differ in sizes have plans of their own, which share their kernels.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from typednn.engines.locks import Lock
from typednn.graph.graph import GRAPH
from typednn.graph.interpreter import interpret
from typednn.graph.program import Program, left_out, optimised, traced
from typednn.graph.tensor import array_of

Plan: TypeAlias = Callable[[Sequence[Any]], list[Any]]

_REMEMBERED: Final = 1024
_plans: OrderedDict[Any, Plan] = OrderedDict()
_lock: Final = Lock()


def run(numbers: Sequence[int]) -> None:
    """Compute these nodes."""
    GRAPH.collect()
    wanted = list(dict.fromkeys(number for number in numbers if number not in GRAPH.arrays))
    if not wanted:
        return
    with GRAPH.lock():  # another thread that realizes a node between these lets its inputs go
        program, leaves = traced(wanted)
        arrays = [array_of(number) for number in leaves]
    for number, array in zip(wanted, plan_of(program)(arrays), strict=True):
        GRAPH.realized(number, array)


def plan_of(program: Program) -> Plan:
    """What computes ``program``."""
    key = program, left_out()
    with _lock():
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = _planned(program)
            if len(_plans) > _REMEMBERED:
                _plans.popitem(last=False)
    return plan


def _planned(program: Program) -> Plan:
    better = optimised(program)
    return lambda arrays: interpret(better, arrays)
