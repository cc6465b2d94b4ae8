"""Engines: what runs an op fast on a CPU. Halide kernels for everything but matrix products, OpenBLAS for those.

How to write ``kernels/<op>/cpu.py``, an engine of an op (`typednn.kernels.op`) whose results equal the reference's to
rounding. It holds a description of the kernel, and a function that calls it::

    from typednn.engines import Array, Cpu, Kernel, Scalar, empty, hl, kernel, nan, specialised

    def _bias_relu(cpu: Cpu, x: "hl.ImageParam", bias: "hl.ImageParam", slope: "hl.Param") -> "hl.Func":
        # y[b, f] = max(x[b, f] + bias[f], 0), slope times that below zero.
        # Halide's axes run backwards: the last one of NumPy first.
        f, b = hl.Var("f"), hl.Var("b")
        z = x[f, b] + bias[f]
        y = hl.Func("y")
        # A comparison alone may lose NaN: test its bits.
        y[f, b] = hl.select(nan.is_nan(z) | (z > 0), z, slope * z)
        # 10 features in 16 lanes: the tail is guarded.
        y.vectorize(f, cpu.lanes, hl.TailStrategy.GuardWithIf)
        # Small batches stay on one thread.
        y.specialize(x.dim(1).extent() >= 64).parallel(b, 16, hl.TailStrategy.GuardWithIf)
        return y  # a pure Func; or a list of them, or one with a Tuple

    @specialised("bias_relu", "numbers of features")  # kernels for the first few only
    def _forward(features: int) -> Kernel:
        # A name in a shape is any extent, the same in every array of a call.
        batch, bias = Array("batch", features), Array(features, parameter=True)
        return kernel("bias_relu.forward", _bias_relu, inputs=(batch, bias, Scalar()), outputs=(batch,))

    def plan(x, bias, slope):
        return _forward[x.shape[1:]]  # None: the op's next engine computes it

    def forward(planned, x, bias, slope):
        y = empty(x.shape)  # from the pool; reused when nothing refers to it any more
        planned.call(x, bias, slope, y)  # inputs in order, then outputs
        return y

- ``hl`` is the module ``halide``, imported when a kernel is first described. Quote annotations that name its types, or
  write ``from __future__ import annotations``.
- ``kernel(name, build, inputs=, outputs=, options={})``: options reach ``build`` by name and are part of the kernel's
  key. So are the source of ``build`` and the files of this package that it uses: an edit compiles the kernel anew. Let
  ``build`` read nothing else.
- ``Array("batch", 28, 28, 6)``, ``Array(10, dtype="int64")``, ``Array()`` for one number in an array of rank 0, and
  ``Array("size", flat=True)`` for element-by-element ops on any shape. Numbers become constants in the kernel, so
  prefer them. ``Array(10, parameter=True)`` is an input that is the same array in most calls, as a layer's are: it is
  checked only when it changes.
- ``kernel(..., written=(0, 2))``: the first outputs are written over inputs 0 and 2, which a call names once
  (optimizers). Each element may depend on its own place alone; other overlaps of inputs and outputs are not noticed.
- A call reuses what was prepared for the shape of ``x``; several shapes may alternate. ``kernel(...).call(x, y)`` does
  the same as ``kernel(...)(x, y)``, 0.1 µs faster.
- ``kernel(..., dtype=x.dtype)``: a kernel of float64 too, by the same build function. It gets a `Cpu` with half as many
  lanes.
- In ``build``, ``x[i, j]`` reads an input, a ``Scalar`` is an expression itself. Integers take the type of the other
  operand; write other numbers as ``constant(z, 0.5)``, which is of the type of ``z``
  (`typednn.kernels.elementwise`), and a Func's first value as ``hl.cast(x.type(), 0)``.
- Outputs are pure Funcs: put a reduction in a Func of its own, ``compute_at`` or ``compute_root``, and let the output
  read it. An output that is itself vectorised in an update crashes on arrays that are not aligned.
- A Func that is only added to, ``total[b] += x[r, b]``, starts at 0.
- Every split, ``vectorize`` and ``parallel`` of an extent that may be smaller than the factor, or no multiple of it,
  gets ``TailStrategy.GuardWithIf``. A guarded split of a tiny extent still runs through the whole factor (16384: 1.7
  µs): keep large factors in a ``specialize``.
- ``parallel(n, k)`` makes ``compute_at(f, n)`` mean the chunk: ``split(n, chunk, n, k, GuardWithIf).parallel(chunk)``
  keeps it.
- ``rdom.where`` with Funcs on the stack: ``never_partition_all()`` on that update.
- Sums over the batch that run in parallel take a fixed number of partial sums, so that results don't depend on the
  thread count.
- NaN: ``hl.max``, ``hl.min`` and ``select(x <= 0, 0, x)`` lose it, ``hl.is_nan`` may be folded away on what is
  computed. `nan` has tests of the bits: ``nan.is_nan``, ``nan.maximum``, ``nan.relu``, ``nan.exp``. ``hl.tanh`` is
  scalar, and slow.
- Tiles: accumulators fit in ``cpu.registers`` vectors of ``cpu.lanes`` numbers (32 of 16, 16 of 8, 16 of 4, 32 of 4; in
  float64 half the lanes).
- An activation fused into another op: `typednn.kernels.activations`, which has the same formulas as the ops.
- ``gemm(a, b, out, transpose_a, transpose_b)`` multiplies matrices, faster than a kernel from a few hundred columns on.
- `fast` accepts float32 arrays, or float64 arrays, not both; ``fast(labels, dtypes=(np.dtype("int64"),))`` accepts
  others. A wrong argument is a ShapeError or DTypeError and runs nothing.

For tests: ``counting()`` tells which engine ran, ``using("reference")`` forces the oracle. ``TYPEDNN_THREADS``,
``TYPEDNN_TARGET``, ``TYPEDNN_CACHE``, ``TYPEDNN_SIZES``, ``TYPEDNN_ENGINE=reference`` and ``TYPEDNN_ENGINES=report``
are read from the environment.
"""

from typednn.engines import threads
from typednn.engines.blas import gemm
from typednn.engines.counters import counting, observing
from typednn.engines.dispatch import fast, using
from typednn.engines.halide import language as hl
from typednn.engines.halide import nan
from typednn.engines.halide.compiled import Kernel, kernel
from typednn.engines.halide.nan import type_of
from typednn.engines.halide.toolchain import Array, Build, Scalar, available
from typednn.engines.memory import pool
from typednn.engines.memory.pool import empty
from typednn.engines.processor import Cpu
from typednn.engines.sizes import specialised
from typednn.engines.threads import get_threads, set_threads
from typednn.errors import EngineError

__all__ = [
    "Array",
    "Build",
    "Cpu",
    "EngineError",
    "Kernel",
    "Scalar",
    "available",
    "counting",
    "empty",
    "fast",
    "gemm",
    "get_threads",
    "hl",
    "kernel",
    "nan",
    "observing",
    "pool",
    "set_threads",
    "specialised",
    "threads",
    "type_of",
    "using",
]
