"""Matrix products of every layout equal NumPy's, and OpenBLAS is loaded with the kernels that the flags allow."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from typednn.engines import blas, gemm, processor, set_threads, threads
from typednn.errors import DTypeError, ShapeError

HAS_OPENBLAS = find_spec("scipy_openblas32") is not None
LAYOUTS = {
    "plain": lambda matrix: matrix.copy(),
    "transposed view": lambda matrix: matrix.T.copy().T,
    "rows apart": lambda matrix: np.pad(matrix, ((0, 0), (2, 3)))[:, 2:-3],
    "columns apart": lambda matrix: np.repeat(matrix, 2, axis=1)[:, ::2],
    "upside down": lambda matrix: matrix[::-1].copy()[::-1],
    "read-only": lambda matrix: np.frombuffer(matrix.tobytes(), matrix.dtype).reshape(matrix.shape),
}
SIZES = [(1, 1, 1), (5, 7, 3), (1, 9, 4), (9, 1, 4), (4, 6, 1), (33, 17, 65)]


def random(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout_a", LAYOUTS)
@pytest.mark.parametrize("layout_b", LAYOUTS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_every_layout(size: tuple[int, int, int], layout_a: str, layout_b: str, dtype: Any, tolerance: float) -> None:
    """G-T2: transposed or not, of rows apart, in both precisions."""
    rows, columns, depth = size

    def random(*shape: int) -> Any:
        return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)

    for transpose_a, transpose_b in itertools.product((False, True), (False, True)):
        a = LAYOUTS[layout_a](random(depth, rows) if transpose_a else random(rows, depth))
        b = LAYOUTS[layout_b](random(columns, depth) if transpose_b else random(depth, columns))
        out = random(rows, columns)
        wanted = (a.T if transpose_a else a).astype(np.longdouble) @ (b.T if transpose_b else b)
        gemm(a, b, out, transpose_a, transpose_b)
        np.testing.assert_allclose(out, wanted, rtol=tolerance, atol=tolerance)


def test_out_with_rows_apart_writes_only_its_own() -> None:
    whole = np.full((5, 9), 7, np.float32)
    a, b = random(5, 3), random(3, 4)
    gemm(a, b, whole[:, 2:6])
    np.testing.assert_allclose(whole[:, 2:6], a @ b, rtol=1e-5, atol=1e-6)
    assert (whole[:, :2] == 7).all()
    assert (whole[:, 6:] == 7).all()


def test_out_is_not_read() -> None:
    out = np.full((4, 4), np.nan, np.float32)
    gemm(random(4, 4), random(4, 4), out)
    assert np.isfinite(out).all()


@pytest.mark.parametrize(("rows", "columns", "depth"), [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_empty(rows: int, columns: int, depth: int) -> None:
    out = np.ones((rows, columns), np.float32)
    gemm(np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32), out)
    assert (out == 0).all()


def test_nan_passes() -> None:
    a = random(3, 3)
    a[1, 1] = np.nan
    out = np.zeros((3, 3), np.float32)
    gemm(a, np.zeros((3, 3), np.float32), out)
    assert np.isnan(out[1]).all()
    assert (out[[0, 2]] == 0).all()


def test_wrong_arguments_are_refused() -> None:
    a, out = random(4, 3), np.empty((4, 5), np.float32)
    with pytest.raises(ShapeError, match="inner sizes 3 and 4 be equal"):
        gemm(a, random(4, 5), out)
    with pytest.raises(ShapeError, match=r"must have the shape \(4, 5\).*got \(3, 5\)"):
        gemm(a, random(3, 5), out[:3])
    with pytest.raises(DTypeError, match="takes float32 or float64, one of them, got float64, float32 and float32"):
        gemm(a.astype(np.float64), random(3, 5), out)
    with pytest.raises(ShapeError, match="takes matrices"):
        gemm(a[0], random(3, 5), out)
    out.flags.writeable = False
    with pytest.raises(ShapeError, match="writeable"):
        gemm(a, random(3, 5), out)


def machine(flags: str, vendor: str) -> processor.Processor:
    return processor.read(f"vendor_id\t: {vendor}\nmodel name\t: one\nflags\t\t: {flags}\n", "x86_64")


AVX512 = " ".join(sorted(processor.AVX512))


@pytest.mark.parametrize(
    ("flags", "vendor", "wanted"),
    [
        (AVX512, "AuthenticAMD", "SkylakeX"),
        (AVX512, "GenuineIntel", None),
        (AVX512.replace("avx512vl", ""), "AuthenticAMD", None),
        ("avx avx2 fma f16c", "AuthenticAMD", None),
        ("", "", None),
    ],
)
def test_core_type_follows_the_flags(flags: str, vendor: str, wanted: str | None) -> None:
    assert blas.core_type(machine(flags, vendor))[0] == wanted


LOADED = """
import os, sys
{first}
before = dict(os.environ)
import numpy as np
from typednn.engines import blas, gemm
changed = {{name for name in set(before) | set(os.environ) if before.get(name) != os.environ.get(name)}}
a = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
out = np.empty_like(a)
gemm(a, a, out)
assert abs(out - a.astype(float) @ a).max() < 1e-3
assert abs(a @ a - a.astype(float) @ a).max() < 1e-3
after = {{name for name in set(before) | set(os.environ) if before.get(name) != os.environ.get(name)}}
assert after == changed <= {{"OPENBLAS_THREAD_TIMEOUT"}}, (changed, after)
print(blas.why())
"""


def loaded(first: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    command = [sys.executable, "-c", LOADED.format(first=first)]
    done = subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not HAS_OPENBLAS, reason="needs scipy-openblas32")
@pytest.mark.parametrize("first", ["", "import numpy", "import numpy, scipy.linalg"])
def test_loads_whatever_was_imported_before(first: str) -> None:
    if "scipy" in first:
        pytest.importorskip("scipy", reason="needs SciPy")
    why = loaded(first)
    wanted, _ = blas.core_type(processor.host())
    assert why.startswith("OpenBLAS multiplies, with ")
    assert wanted is None or f"with {wanted} kernels" in why


@pytest.mark.skipif(not HAS_OPENBLAS, reason="needs scipy-openblas32")
@pytest.mark.skipif(not processor.host().has(processor.AVX2), reason="needs AVX2")
def test_the_users_own_choice_stays() -> None:
    assert (
        loaded("", OPENBLAS_CORETYPE="Haswell")
        == "OpenBLAS multiplies, with Haswell kernels (OPENBLAS_CORETYPE says so)"
    )


@pytest.mark.skipif(not HAS_OPENBLAS, reason="needs scipy-openblas32")
def test_threads_reach_openblas() -> None:
    code = """
import ctypes, numpy as np
from pathlib import Path
import scipy_openblas32
from typednn.engines import gemm, set_threads
from typednn.engines.blas import on_one_thread
a = np.ones((4, 4), np.float32)
gemm(a, a, np.empty_like(a))
library = ctypes.CDLL(str(next(Path(scipy_openblas32.get_lib_dir()).glob("libscipy_openblas*"))))
counts = [library.scipy_openblas_get_num_threads()]
for count in (1, 2):
    set_threads(count)
    counts.append(library.scipy_openblas_get_num_threads())
with on_one_thread():
    counts.append(library.scipy_openblas_get_num_threads())
    set_threads(3)
    counts.append(library.scipy_openblas_get_num_threads())
    with on_one_thread():
        pass
    counts.append(library.scipy_openblas_get_num_threads())
print(counts, library.scipy_openblas_get_num_threads())
"""
    environment = {**os.environ, "TYPEDNN_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "[2, 1, 2, 1, 1, 1] 3\n", done.stderr


def test_fork_after_a_product() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    a = random(300, 300)
    out = np.empty_like(a)
    before = threads.get_threads()
    set_threads(2)
    try:
        gemm(a, a, out)
        child = os.fork()
        if child == 0:
            gemm(a, a, out)
            os._exit(0 if abs(out - a @ a).max() < 1e-3 else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        set_threads(before)
