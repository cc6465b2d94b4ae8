"""All that the bits of a training depend on besides its config: versions, machine, threads, engine."""

import math
import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any, cast

import numpy as np

from typednn.engines import blas, fast, get_threads, processor
from typednn.runs.state import Json
from typednn.version import __version__


def environment() -> Json:
    """The facts that must be equal for equal bits: versions, machine, threads, engine."""
    kernels = f"Halide {metadata.version('halide')}; {blas.why()}" if fast() else "reference kernels"
    limits = {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "typednn": __version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor.host().model or platform.processor(),
        "threads": {"cores": processor.cores(), "kernels": get_threads(), **limits},
        "engine": f"{kernels}; NumPy with {blas.numpy_blas()}",
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any], dtype: str = "float32") -> list[str]:
    """The differences between two environments that can change the bits of a model of ``dtype``, a phrase each."""
    then, present = _deciding(before, dtype), _deciding(now, dtype)
    return [
        f"{key} was {str(then.get(key))[:100]}, is {str(present.get(key))[:100]}"
        for key in dict.fromkeys([*then, *present])
        if then.get(key) != present.get(key)
    ]


def _deciding(facts: Mapping[str, Any], dtype: str) -> Json:
    """The facts that decide the bits: Python without its micro version, the engine without the reasons for it, the threads in use.

    Compiled kernels compute float32 and float64, with products of the separate OpenBLAS package. NumPy multiplies without that package, and
    other dtypes. It uses as many threads as its environment variable says, or cores.
    """
    engine, threads = str(facts.get("engine", "")), facts.get("threads")
    deciding: Json = {**facts, "python": ".".join(str(facts.get("python", "")).split(".")[:2]), "engine": re.sub(r" \([^)]*\)", "", engine)}
    if isinstance(threads, dict):
        counts, compiled = cast("Json", threads), engine.startswith("Halide")
        del deciding["threads"]
        if compiled:
            deciding["the kernels' number of threads"] = counts.get("kernels")
        if dtype not in ("float32", "float64") or not compiled or "OpenBLAS multiplies" not in engine:
            names = ("MKL_NUM_THREADS" if "mkl" in engine.lower() else "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
            limit = next((int(counts[name]) for name in names if str(counts.get(name, "")).isdecimal() and int(counts[name])), math.inf)
            cores = counts.get("cores")
            deciding["the number of threads of NumPy's products"] = min(limit, cores) if isinstance(cores, int) else limit
    return deciding
