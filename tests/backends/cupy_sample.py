"""Read by mypy and pyright against stubs/cupy, never run. ``# refused: code`` marks what both must refuse."""

from typing import Any, assert_type

import cupy
import numpy as np
from cupy import cuda

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def there_and_back(host: Matrix) -> Matrix:
    assert_type(cupy.asarray(host), Matrix)
    assert_type(cupy.asnumpy(cupy.asarray(host)), Matrix)
    # a function forgets the rank, as NumPy's do; the declared type holds
    return cupy.asnumpy(cupy.exp(cupy.asarray(host)))


def one_function_for_both(x: cupy.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, Any]:
    xp = cupy.get_array_module(x)
    shifted = x - cupy.max(x, axis=-1, keepdims=True)
    norm = cupy.linalg.norm(shifted)
    result: np.ndarray[Any, Any] = xp.exp(shifted) / norm
    return result


def only_on_a_gpu(x: Matrix) -> Matrix:
    if cuda.runtime.getDeviceCount() == 0 or not cuda.is_available():
        raise cuda.runtime.CUDARuntimeError
    out = cupy.empty_like(x)
    double = cupy.ElementwiseKernel("T x", "T y", "y = x + x", "double")
    double(x, out, size=x.size)
    kernel = cupy.RawKernel("extern C ...", "kernel", options=("--use_fast_math",))
    with cuda.Stream(non_blocking=True) as stream, cuda.Device(0):
        kernel((1,), (256,), (x, out), shared_mem=0)
        stream.synchronize()
    cuda.Stream.null.synchronize()
    cuda.Device().synchronize()
    return out


def mistakes(x: Matrix) -> None:
    cupy.block(x)  # refused: attr-defined
    cupy.savetext(x)  # refused: attr-defined
    cupy.flatnonzero(x, 1)  # refused: call-arg
    cuda.runtime.getDeviceCount(1)  # refused: call-arg
    cuda.Stream(blocking=True)  # refused: call-arg
    cupy.RawKernel("code")  # refused: call-arg
    cupy.asnumpy("text")  # refused: type-var
