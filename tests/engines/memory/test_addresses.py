"""Addresses of arrays: what NumPy says, for every kind of array."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from typednn.engines import pool
from typednn.engines.memory import addresses

BASE = np.arange(240, dtype=np.float32).reshape(2, 4, 5, 6)

KINDS: dict[str, Callable[[], Any]] = {
    "plain": lambda: BASE,
    "rank 0": lambda: np.array(1.0),
    "no elements": lambda: np.empty((0, 3)),
    "slice": lambda: BASE[1:, ::2, 1:3],
    "reversed": lambda: BASE[::-1, :, ::-2],
    "transposed": lambda: BASE.T,
    "Fortran order": lambda: np.asfortranarray(BASE),
    "broadcast": lambda: np.broadcast_to(BASE[0], (7, *BASE[0].shape)),
    "unaligned": lambda: np.frombuffer(bytearray(9), np.float32, 2, offset=1),
    "read-only": lambda: np.frombuffer(b"12345678", np.float32),
    "memory map": lambda: np.frombuffer(mmap.mmap(-1, 4096), np.float32)[5:],
    "another byte order": lambda: BASE.astype(">f4"),
    "structured": lambda: np.zeros(3, [("a", "f4"), ("b", "i8")])["b"],
    "objects": lambda: np.array([1, "a", None], dtype=object),
    "text": lambda: np.array(["a", "bc"]),
    "matrix": lambda: BASE[0, 0].view(np.recarray),
    "masked": lambda: np.ma.masked_array(BASE, BASE > 3),
    "pool": lambda: pool.empty((100, 100)),
    "small": lambda: pool.empty((3,)),
    "dlpack": lambda: np.from_dlpack(BASE),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_every_kind(make: Callable[[], Any]) -> None:
    array = make()
    assert addresses.address(array) == array.ctypes.data
    expression, names = addresses.inlined("array")
    assert eval(expression, names, {"array": array}) == array.ctypes.data


@given(arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, min_side=0)), st.data())
def test_every_array_and_view(array: Any, data: st.DataObject) -> None:
    view = array[data.draw(arrays.basic_indices(array.shape, allow_newaxis=True))] if array.ndim else array
    for each in (array, view):
        if isinstance(each, np.ndarray):
            assert addresses.address(each) == each.ctypes.data


def test_where_arrays_have_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_word", None)
    test_every_kind(KINDS["slice"])
    assert addresses.inlined("x") == ("x.ctypes.data", {})
