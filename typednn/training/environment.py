"""What the bits of a training depend on beside its config: versions, machine, threads, engine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np

from typednn.engines import blas, fast, get_threads
from typednn.training.state import Json

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment() -> Json:
    """What the same bits need to be the same: versions, machine, threads, engine."""
    dependencies: Any = np.show_config(mode="dicts")
    numpys = dependencies.get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "typednn": _version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "threads": {"cores": _cores(), "kernels": get_threads(), **{name: os.environ.get(name, "") for name in _THREADS}},
        "engine": f"{_kernels()}; NumPy with {numpys.get('name', 'unknown')} {numpys.get('version', '')}".rstrip(),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two environments, a phrase each."""
    keys = [key for key in dict.fromkeys([*before, *now]) if before.get(key) != now.get(key)]
    return [f"{key} was {_shown(before.get(key))}, is {_shown(now.get(key))}" for key in keys]


def _kernels() -> str:
    """What computes the layers: kernels compiled by Halide and their matrix products, or the reference."""
    return f"Halide {metadata.version('halide')}; {blas.why()}" if fast() else "reference kernels"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in cast("Json", value).items() if each != "")
    return str(value)[:100]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version() -> str:
    package: Any = sys.modules["typednn"]
    return str(package.__version__)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


__all__ = ["differences", "environment"]
