"""Kernels of two inputs for test_nan.py, each about one function of `nan`."""

from __future__ import annotations

from typing import Any

from typednn.engines import Cpu, nan


def _of(hl: Any, cpu: Cpu, value: Any, i: Any) -> Any:
    out = hl.Func("out")
    out[i] = hl.cast(hl.Float(32), value)
    return out.vectorize(i, cpu.lanes, hl.TailStrategy.GuardWithIf)


def is_nan(hl: Any, cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(hl, cpu, nan.is_nan(hl, x[i]), i)


def is_nan_of_something_computed(hl: Any, cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(hl, cpu, nan.is_nan(hl, x[i] * y[i] + x[i]), i)


def maximum(hl: Any, cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(hl, cpu, nan.maximum(hl, x[i], y[i]), i)


def relu_of_a_sum(hl: Any, cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(hl, cpu, nan.relu(hl, x[i] + y[i]), i)


def exp(hl: Any, cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(hl, cpu, nan.exp(hl, x[i]), i)
