"""What kernels are launched with: which arrays are taken, how many threads, what is compiled once."""

from collections.abc import Iterator

import cuda_on_cpu
import numpy as np
import pytest
from strict_array import StrictArray, to_numpy, to_strict

from typednn.engines import cuda, using
from typednn.engines.cuda import CudaKernel, on_gpu
from typednn.kernels.conv2d import Window
from typednn.kernels.conv2d import cuda as conv2d

CODE = """
extern "C" __global__ void counted(const REAL* x, REAL* y, REAL step, int size) {
    FOR_EACH(i, size) y[i] = x[i] + step * STEPS;
}
extern "C" __global__ void by_rows(const REAL* x, REAL* y, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        for (int c = threadIdx.x; c < columns; c += blockDim.x) y[row * columns + c] = x[row * columns + c];
    }
}
"""
X = np.arange(2000, dtype=np.float32)


@pytest.fixture(autouse=True, scope="module")
def stand_in() -> Iterator[None]:
    if not cuda_on_cpu.RUNS_HERE:
        pytest.skip("the stand-in for a GPU needs Linux and a C++ compiler")
    with cuda_on_cpu.strict_arrays_on_cuda():
        yield


@pytest.fixture(autouse=True)
def no_launch_is_left() -> Iterator[None]:
    cuda_on_cpu.launches.clear()
    yield
    cuda_on_cpu.launches.clear()


def test_arrays_that_are_taken() -> None:
    single, double = to_strict(X), to_strict(X.astype(np.float64))
    assert on_gpu(single)
    assert on_gpu(single, to_strict(X))
    assert on_gpu(double)
    assert on_gpu(single, None)
    for others in ((X,), (single, X), (single, double), (single[::2],), (single[:0],), (single.astype(np.int32),)):
        assert not on_gpu(*others)
    assert not on_gpu(single.astype(np.float16))
    assert on_gpu(single.astype(np.uint8), dtypes=(np.dtype(np.uint8),))
    assert not on_gpu(single, dtypes=(np.dtype(np.uint8),))
    assert not on_gpu(StrictArray(np.empty(2**31, np.uint8)), dtypes=(np.dtype(np.uint8),))
    with using("reference"):
        assert not on_gpu(single)


def test_arrays_of_another_device_are_not() -> None:
    from typednn import arrays

    arrays.register_array_type(StrictArray, "strict", lambda: cuda_on_cpu.cupy_on_cpu)
    try:
        assert not on_gpu(to_strict(X))
    finally:
        arrays.register_array_type(StrictArray, "cuda", lambda: cuda_on_cpu.cupy_on_cpu)


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (256, 1), (257, 2), (2000, 8)])
def test_a_thread_for_each_number(size: int, blocks: int) -> None:
    kernel, x = CudaKernel("counted", CODE), to_strict(X[:size])
    y = cuda_on_cpu.cupy_on_cpu.empty(size, np.float32)
    kernel.each(size, x, y, 0.5, STEPS=4)
    np.testing.assert_array_equal(to_numpy(y), X[:size] + 2)
    (launched,) = cuda_on_cpu.launches
    assert (launched.blocks, launched.threads) == (blocks, 256)
    assert launched.options == ("-DREAL=float", "-DSTEPS=4")


def test_few_blocks_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no block has taken at first is taken later."""
    monkeypatch.setattr(cuda, "_MOST_BLOCKS", 2)
    y, z = (cuda_on_cpu.cupy_on_cpu.empty(2000, np.float32) for _ in range(2))
    CudaKernel("counted", CODE).each(2000, to_strict(X), y, 1.0, STEPS=1)
    CudaKernel("by_rows", CODE).rows(50, 40, to_strict(X), z, STEPS=1)
    np.testing.assert_array_equal(to_numpy(y), X + 1)
    np.testing.assert_array_equal(to_numpy(z), X)
    assert [(launched.blocks, launched.threads) for launched in cuda_on_cpu.launches] == [(2, 256), (2, 64)]


@pytest.mark.parametrize(("columns", "threads"), [(1, 32), (32, 32), (33, 64), (100, 128), (256, 256), (1000, 256)])
def test_a_block_for_each_row(columns: int, threads: int) -> None:
    y = cuda_on_cpu.cupy_on_cpu.empty(2 * columns, np.float64)
    x = X[: 2 * columns].astype(np.float64)
    CudaKernel("by_rows", CODE).rows(2, columns, to_strict(x), y, STEPS=1)
    np.testing.assert_array_equal(to_numpy(y), x)
    (launched,) = cuda_on_cpu.launches
    assert (launched.blocks, launched.threads) == (2, threads)
    assert launched.options == ("-DREAL=double", "-DSTEPS=1", f"-DTHREADS={threads}")


def test_compiled_once_for_each_dtype_and_constant() -> None:
    kernel = CudaKernel("counted", CODE)
    for dtype, steps in ((np.float32, 1), (np.float32, 1), (np.float64, 1), (np.float32, 2), (np.float32, 1)):
        x = to_strict(X.astype(dtype))
        kernel.each(X.size, x, cuda_on_cpu.cupy_on_cpu.empty(X.shape, dtype), 1.0, STEPS=steps)
    assert len(kernel._launches) == 3
    assert len(cuda_on_cpu.launches) == 5


def test_more_patches_than_can_be_counted_are_left_to_the_reference() -> None:
    x = StrictArray(np.zeros((1, 5000, 5000, 1), np.float32))  # zeros that no one reads take no memory
    small, large = (StrictArray(np.zeros((1, side, side, 1), np.float32)) for side in (9, 10))
    assert conv2d.covers(x, small, None, Window())
    assert not conv2d.covers(x, large, None, Window())
    assert conv2d.covers(x, large, None, Window((2, 2)))
    assert conv2d.covers(x, StrictArray(np.zeros((85, 1, 1, 1), np.float32)), None, Window())
    assert not conv2d.covers(x, StrictArray(np.zeros((86, 1, 1, 1), np.float32)), None, Window()), (
        "more numbers of z than patches"
    )
