"""Questions about dtypes, and the precision of a model."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from typednn.arrays import Precision, is_floating, is_integer, is_number
from typednn.errors import ArgumentError
from typednn.layers import Linear

BFLOAT16: Any = SimpleNamespace(kind="V", name="bfloat16")  # as ml_dtypes registers it


@pytest.mark.parametrize(
    ("dtype", "floating", "integer"),
    [
        (np.dtype(np.float16), True, False),
        (np.dtype(np.float32), True, False),
        (np.dtype(np.float64), True, False),
        (BFLOAT16, True, False),
        (np.dtype(np.int8), False, True),
        (np.dtype(np.uint64), False, True),
        (np.dtype(bool), False, False),
        (np.dtype(np.complex64), False, False),
        (np.dtype("V2"), False, False),
        (np.dtype([("bfloat16", "u2")]), False, False),
        (np.dtype("U3"), False, False),
    ],
)
def test_kinds_of_numbers(dtype: Any, floating: bool, integer: bool) -> None:
    assert (is_floating(dtype), is_integer(dtype), is_number(dtype)) == (floating, integer, floating or integer)


def test_bfloat16_is_a_float_that_no_model_computes_in() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(ml_dtypes.bfloat16)
    assert is_floating(dtype)
    assert not is_integer(dtype)
    with pytest.raises(ArgumentError, match=r"astype: a model's dtype is float16, float32 or float64"):
        Linear(2, 1).astype(dtype)


def test_a_name_without_a_dtype_is_refused_alike() -> None:
    with pytest.raises(ArgumentError, match=r"a model's dtype is float16, float32 or float64, got 'bfloat16'"):
        Linear(2, 1).astype("bfloat16")


def test_precision_is_what_astype_says() -> None:
    model = Linear(3, 2) >> Linear(2, 1)
    assert model.precision == Precision.of(np.dtype(np.float32))
    model.init(np.random.default_rng(0)).astype(np.float64)
    double = np.dtype(np.float64)
    assert (
        model.precision == model.parts[1].precision == Precision(parameters=double, compute=double, accumulate=double)
    )
    assert model.precision.parameters == model.dtype == double
    assert model.to("cpu").precision == Precision.of(double)


@pytest.mark.parametrize("place", ["parameters", "compute", "accumulate"])
def test_mixed_precision_is_refused(place: str) -> None:
    dtypes = dict.fromkeys(("parameters", "compute", "accumulate"), np.dtype(np.float32)) | {
        place: np.dtype(np.float16)
    }
    with pytest.raises(
        ArgumentError, match=r"Precision: parameters, compute and accumulate are one dtype so far, got .*float16"
    ):
        Precision(**dtypes)
