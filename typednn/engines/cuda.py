"""The GPU's engine: CUDA C kernels that CuPy compiles when they are first used, and launches on its arrays.

How to write ``kernels/<op>/cuda.py``. The file holds the source text of its kernels, and calls them::

    _relu = CudaKernel("relu", '''
    extern "C" __global__ void relu(const REAL* __restrict__ x, REAL* __restrict__ y, int size) {
        FOR_EACH(i, size) {
            y[i] = x[i] > 0 ? x[i] : 0;
        }
    }
    ''')

    def forward(x):
        y = namespace(x).empty_like(x)
        _relu.each(x.size, x, y)
        return y

and the op names it as an engine: ``Engine("cuda", cuda.forward, "x", on=on_gpu)``.

- ``REAL`` is the type of the first array, where that is of floats: one text serves float32 and float64. Further
  constants are given as keywords and compiled in: for what has few values in a model (a window's size, its stride), not
  for what changes with the data.
- A Python int arrives as ``int``, a float as ``REAL``, NumPy's numbers as what they are. Sizes of arrays stay below
  2³¹; ``sizes`` has to check products of them.
- Each thread writes numbers of its own, in an order that the text fixes. No atomics: results have the same bits every
  time.
- `JOINED`, put before a text, reduces what the threads of a block have, for `rows`.
- A kernel doesn't check shapes: the engine's ``sizes`` does. What it refuses goes to the reference, which raises the
  error.

This module does not import CuPy: it takes the module from the arrays.
"""

from typing import Any, Final, Protocol, cast, final

import numpy as np

from typednn.arrays import device_of, is_array, namespace
from typednn.engines.dispatch import LIMIT, chosen_engine

THREADS = 256  # in a block
_MOST_BLOCKS = 65535
_REAL: dict[np.dtype[Any], str] = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}

_PRELUDE = """
typedef unsigned char uint8;
typedef unsigned int uint32;
#define LOWEST (-(REAL)(1.0 / 0.0))
// i = 0 .. size - 1, shared out among all threads.
#define FOR_EACH(i, size) \\
    for (uint32 i = blockIdx.x * blockDim.x + threadIdx.x; i < (uint32)(size); i += gridDim.x * blockDim.x)
"""


JOINED: Final = """
struct Larger { template <class T> __device__ T operator()(T a, T b) { return a < b ? b : a; } };
struct Sum { template <class T> __device__ T operator()(T a, T b) { return a + b; } };

// The values of all threads of the block, reduced to one by a tree; every thread gets the result.
template <class T, class Join>
__device__ T joined(T value, T* shared, Join join) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    T result = shared[0];
    __syncthreads();
    return result;
}
"""


class Launch(Protocol):
    """A compiled kernel, as ``cupy.RawKernel`` is called."""

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0
    ) -> None: ...


def on_gpu(*arrays: object, dtypes: tuple[np.dtype[Any], ...] = tuple(_REAL)) -> bool:
    """Whether kernels may run on ``arrays``: CuPy's, all of one of ``dtypes``, C-contiguous, not empty, unless the
    reference is forced.

    An optional array may be None.
    """
    kind: Any = None
    dtype: Any = None
    for array in arrays:
        if array is None:
            continue
        one: Any = array
        if kind is None:
            kind = one.__class__
            if kind is np.ndarray or not is_array(one) or device_of(one) != "cuda" or one.dtype not in dtypes:
                return False
            dtype = one.dtype
        elif one.__class__ is not kind or one.dtype != dtype:
            return False
        if not one.flags.c_contiguous or not 0 < one.size < LIMIT:
            return False
    return chosen_engine() != "reference"


@final
class CudaKernel:
    """The ``__global__`` function ``name`` of ``code``: compiled once for each dtype and set of constants."""

    def __init__(self, name: str, code: str) -> None:
        self.name: str = name
        self.code: str = _PRELUDE + code
        self._launches: dict[tuple[Any, ...], Launch] = {}

    def each(self, size: int, /, *arguments: Any, **constants: int | str) -> None:
        """Run with about a thread for each of ``size`` numbers; ``size`` is the last argument."""
        self.run(-(-size // THREADS), THREADS, *arguments, size, **constants)

    def rows(self, rows: int, columns: int, /, *arguments: Any, **constants: int | str) -> None:
        """Run with a block of ``THREADS`` threads, a power of two, for each row; ``rows`` and ``columns`` are the last
        arguments.
        """
        threads = min(max(32, 1 << (columns - 1).bit_length()), THREADS)
        self.run(rows, threads, *arguments, rows, columns, **constants, THREADS=threads)

    def run(self, blocks: int, threads: int, /, *arguments: Any, **constants: int | str) -> None:
        """Run with so many blocks, or fewer that go round, of so many threads."""
        first: Any = arguments[0]
        key = (first.__class__, first.dtype, *constants.values())  # their names are the same in each call
        launch = self._launches.get(key) or self._launches.setdefault(key, self._compiled(first, constants))
        kind, real, whole = first.__class__, first.dtype.type, np.int32
        given = [
            each
            if each.__class__ is kind
            else real(each)
            if each.__class__ is float
            else whole(each)
            if each.__class__ is int
            else each
            for each in arguments
        ]
        launch((min(blocks, _MOST_BLOCKS),), (threads,), tuple(given))

    def _compiled(self, first: Any, constants: dict[str, int | str]) -> Launch:
        options = (
            f"-DREAL={_REAL.get(first.dtype, 'float')}",
            *(f"-D{name}={value}" for name, value in constants.items()),
        )
        return cast("Launch", namespace(first).RawKernel(self.code, self.name, options))
