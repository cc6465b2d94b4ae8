"""Products as cuBLAS is asked for them: on a library of this file that reads and writes memory as cuBLAS does, and on a
GPU.
"""

import ctypes
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from fast_ops import numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn import arrays
from typednn.backends import to_device
from typednn.engines import cublas
from typednn.errors import EngineError


class OnCpu:
    """An array as `product` reads it, whose memory is NumPy's."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.shape, self.strides, self.ndim, self.dtype = host.shape, host.strides, host.ndim, host.dtype
        self.data = SimpleNamespace(ptr=host.ctypes.data)

    def __matmul__(self, other: Any) -> Any:
        raise AssertionError("left to CuPy")


def matrix(address: int, real: Any, rows: int, columns: int, leading: int) -> Any:
    """The matrix at this place, by columns."""
    assert leading >= max(1, rows)
    size = np.dtype(real).itemsize
    memory = (ctypes.c_char * ((leading * (columns - 1) + rows) * size)).from_address(address)
    return np.lib.stride_tricks.as_strided(np.frombuffer(memory, real), (rows, columns), (size, leading * size))


class Library:
    """The functions that are called, in the order of cuBLAS's arguments."""

    def __init__(self, status: int = 0) -> None:
        self.status, self.calls, self.mode = status, 0, 0

    def set_stream(self, handle: Any, stream: int) -> int:
        assert stream == 7
        return 0

    def cublasSetMathMode(self, handle: Any, mode: int) -> None:  # noqa: N802
        self.mode = mode

    def gemm(self, real, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count) -> int:
        assert (alpha._obj.value, beta._obj.value) == (1, 0)
        self.calls += 1
        size = np.dtype(real).itemsize
        for place in range(count):
            left = matrix(a + place * step_a * size, real, *((k, m) if ta else (m, k)), lda)
            right = matrix(b + place * step_b * size, real, *((n, k) if tb else (k, n)), ldb)
            matrix(c + place * step_c * size, real, m, n, ldc)[...] = (left.T if ta else left) @ (
                right.T if tb else right
            )
        return self.status

    def __getattr__(self, name: str) -> Any:
        if name == "cublasSetStream_v2":
            return self.set_stream
        if not name.startswith("cublas"):
            raise AttributeError(name)
        real = {"S": np.float32, "D": np.float64}[name[len("cublas")]]

        def alone(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
            return self.gemm(real, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1)

        def batched(handle, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count):
            return self.gemm(real, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count)

        return {"gemm_v2": alone, "gemmStridedBatched": batched}[name[len("cublasS") :]]


@pytest.fixture(scope="module")
def the_library():
    xp = SimpleNamespace(
        empty=lambda shape, dtype: OnCpu(np.full(shape, np.nan, dtype)),
        cuda=SimpleNamespace(
            get_current_stream=lambda: SimpleNamespace(ptr=7), device=SimpleNamespace(get_cublas_handle=lambda: 1)
        ),
    )
    found = Library()
    with (
        mock.patch.object(cublas, "_library", return_value=found),
        mock.patch.dict(arrays._BACKENDS, {OnCpu: ("cuda", lambda: xp)}),
    ):
        yield found


@pytest.fixture
def library(the_library):
    the_library.status = the_library.calls = 0
    return the_library


size = st.integers(1, 5)


@settings(max_examples=80, deadline=None)
@given(
    batch=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    rows=size,
    depth=size,
    columns=size,
    by_columns=st.tuples(st.booleans(), st.booleans()),
    spare=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_is_numpys(the_library, batch, rows, depth, columns, by_columns, spare, dtype):
    """Operands by rows and by columns, also parts of wider ones."""

    def operand(seed, shape, transposed, more):
        *first, down, across = shape
        whole = numbers(seed, *first, *((across, down + more) if transposed else (down, across + more)), dtype=dtype)
        return (whole.swapaxes(-1, -2) if transposed else whole)[..., :down, :across]

    left = operand(0, (*batch, rows, depth), by_columns[0], spare[0])
    right = operand(1, (*batch, depth, columns), by_columns[1], spare[1])
    result = cublas.product(OnCpu(left), OnCpu(right))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.host, left @ right, rtol=1e-5, atol=1e-5)


def test_what_needs_a_copy_is_left_to_cupy(library):
    whole = numbers(0, 6, 6)
    for left, right in (
        (whole[:, ::2], whole[:3]),  # neither rows nor columns are without gaps
        (whole[::-1], whole),
        (np.broadcast_to(whole[0], (6, 6)), whole),
        (whole[:0], whole),
        (whole, whole.astype(np.float64)),
        (whole.astype(np.float16), whole.astype(np.float16)),
        (whole[None], whole),
        (whole, whole[:5]),
        # heads within samples
        (whole.reshape(3, 2, 3, 2).transpose(0, 2, 1, 3), whole.reshape(3, 2, 3, 2).transpose(0, 2, 3, 1)),
    ):
        with pytest.raises(AssertionError, match="left to CuPy"):
            cublas.product(OnCpu(left), OnCpu(right))
    assert library.calls == 0


def test_its_status_is_told(library):
    library.status = 14
    with pytest.raises(EngineError, match=r"a product on the GPU.*its status 14"):
        cublas.product(OnCpu(numbers(0, 2, 2)), OnCpu(numbers(1, 2, 2)))


def test_products_on_the_device(gpu):
    for left, right in (((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 2, 3, 4), (2, 2, 4, 5))):
        x, y = numbers(0, *left), numbers(1, *right)
        np.testing.assert_allclose(gpu.get(cublas.product(gpu.put(x), gpu.put(y))), x @ y, rtol=1e-5, atol=1e-5)
        other = np.ascontiguousarray(y.swapaxes(-1, -2))
        got = cublas.product(gpu.put(x), gpu.put(other).swapaxes(-1, -2))
        np.testing.assert_allclose(gpu.get(got), x @ y, rtol=1e-5, atol=1e-5)


def test_tf32_is_a_choice(library, monkeypatch):
    x = OnCpu(numbers(0, 2, 2))
    cublas.product(x, x)
    assert library.mode == 0
    monkeypatch.setattr(cublas, "_TF32_WANTED", True)
    cublas.product(x, x)
    assert library.mode == 3


@pytest.mark.gpu
def test_the_library_is_found():
    """Else each product is left to CuPy."""
    x = to_device(numbers(0, 2, 2), "cuda")
    cublas.product(x, x)
    assert cublas._library() is not None
