"""Kernels of two inputs for test_nan.py, each about one function of `nan`."""

from __future__ import annotations

from typing import Any

from typednn.engines import Cpu, hl, nan


def _of(cpu: Cpu, value: Any, i: Any) -> Any:
    out = hl.Func("out")
    out[i] = hl.cast(hl.Float(32), value)
    return out.vectorize(i, cpu.lanes, hl.TailStrategy.GuardWithIf)


def is_nan(cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(cpu, nan.is_nan(x[i]), i)


def is_nan_of_something_computed(cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(cpu, nan.is_nan(x[i] * y[i] + x[i]), i)


def maximum(cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(cpu, nan.maximum(x[i], y[i]), i)


def relu_of_a_sum(cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(cpu, nan.relu(x[i] + y[i]), i)


def exp(cpu: Cpu, x: Any, y: Any) -> Any:
    i = hl.Var("i")
    return _of(cpu, nan.exp(x[i]), i)
