"""What an ONNX file computes: run by ONNX Runtime, or by ONNX's own reference; and how far results are apart."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

TOLERANCE: Final = 1e-5  # of the largest number, or of 1 where that is smaller
EXTRA: Final = "pip install 'typednn[onnx]'"


def opened_onnx(content: bytes | str, *, strict: bool = False) -> Callable[[Mapping[str, Any]], Any]:
    """What runs a file, from its bytes or its path: ONNX Runtime, or where that is not installed ONNX's reference.

    So does one that ONNX Runtime cannot run, such as an operator without a kernel, unless ``strict``.
    """
    # Otherwise the import writes an id of the device and a database of events into the user's home folder.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        return _in_the_reference(content)
    options: Any = runtime.SessionOptions()
    options.log_severity_level = 4

    @cache
    def session() -> Any:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(feeds: Mapping[str, Any]) -> Any:
        try:
            return session().run(None, dict(feeds))[0]
        except Exception:  # its errors have no common class of their own
            if strict:
                raise
        return _in_the_reference(content)(feeds)

    return run


def _in_the_reference(content: bytes | str) -> Callable[[Mapping[str, Any]], Any]:
    evaluator: Any = import_module("onnx.reference").ReferenceEvaluator(content)

    def run(feeds: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):  # ONNX Runtime says nothing of numbers that are not finite either
            return evaluator.run(None, dict(feeds))[0]

    return run


def difference(found: Any, expected: Any) -> float:
    """How far two arrays are apart, in units of the largest number, or of 1 where that is smaller; infinite where one
    is not finite.
    """
    finite = np.isfinite(expected)
    if found.shape != expected.shape or not np.array_equal(finite, np.isfinite(found)):
        return math.inf
    return float(
        np.abs(found[finite] - expected[finite]).max(initial=0.0) / max(1.0, np.abs(expected[finite]).max(initial=0.0))
    )
