"""The stand-in for a GPU sees what a GPU would not say: each of these kernels is wrong in one way."""

from collections.abc import Iterator
from typing import Any

import cuda_on_cpu
import numpy as np
import pytest
from cuda_on_cpu import RawKernel, cupy_on_cpu
from strict_array import to_numpy, to_strict

pytestmark = pytest.mark.skipif(not cuda_on_cpu.RUNS_HERE, reason="needs Linux and a C++ compiler")

SIGNATURE = 'extern "C" __global__ void wrong(const float* x, float* y, int size)'
I = "int i = blockIdx.x * blockDim.x + threadIdx.x;"  # noqa: E741


def launch(body: str, *arguments: Any, blocks: int = 2, threads: int = 4) -> Any:
    """y, of 8 numbers, after ``body`` has run with 8 threads."""
    y = cupy_on_cpu.empty(8, np.float32)
    given = arguments or (to_strict(np.arange(8, dtype=np.float32)), y, np.int32(8))
    RawKernel(f"{SIGNATURE} {{ {I} {body} }}", "wrong")((blocks,), (threads,), given)
    return to_numpy(y)


def test_a_right_one() -> None:
    np.testing.assert_array_equal(launch("if (i < size) y[i] = 2 * x[i];"), 2 * np.arange(8))
    np.testing.assert_array_equal(launch("if (i < size) y[i] = 2 * x[i];", blocks=3), 2 * np.arange(8))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("y[i + 1] = 0;", "writes after its array"),
        ("y[i - 1] = 0;", "writes before its array"),
        ("((float*)x)[i] = 0;", "writes to an array that is const"),
    ],
)
def test_writing_where_one_must_not(body: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        launch(body)


@pytest.mark.parametrize("body", ["if (i < size - 1) y[i] = x[i];", "y[i] = x[i + 1];", "y[7 - i] = x[i - 1];"])
def test_forgetting_to_write_and_reading_where_nothing_is(body: str) -> None:
    assert np.isnan(launch(body)).tolist() == [False] * 7 + [True]


X, Y = (to_strict(np.zeros(8, np.float32)) for _ in range(2))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((X, Y), "takes 3 arguments, got 2"),
        ((X, Y, 8), "expected a number of i4, got i8"),
        ((X, Y, np.float32(8)), "expected a number of i4, got f4"),
        ((X, 0, np.int32(8)), r"expected an array of f4, got int"),
        ((X, to_strict(np.zeros(8)), np.int32(8)), "expected an array of f4, got f8"),
        ((to_strict(np.zeros((8, 2), np.float32))[:, 0], Y, np.int32(8)), "expected a C-contiguous array"),
        ((np.zeros(8, np.float32), Y, np.int32(8)), "expected an array of f4, got ndarray"),
    ],
)
def test_arguments_that_are_not_the_parameters(arguments: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        launch("", *arguments)


def test_threads_meet() -> None:
    """Each reads what the next has written before; no order of threads could do that without meeting."""
    body = (
        "__shared__ float seen[4]; int t = threadIdx.x; seen[t] = x[i]; {} y[i] = seen[(t + 1) % 4] + seen[(t + 3) "
        "% 4];"
    )
    np.testing.assert_array_equal(launch(body.format("__syncthreads();")), [4, 2, 4, 2, 12, 10, 12, 10])
    assert (launch(body.format("")) != [4, 2, 4, 2, 12, 10, 12, 10]).any()


@pytest.fixture(autouse=True)
def no_launch_is_left() -> Iterator[None]:
    yield
    cuda_on_cpu.launches.clear()
