"""Random programs of movement, elementwise and reduce operations: the graph's results against NumPy's, within bounds of
rounding.

    python -m tests.graph.random_programs --interpreted 100000 --compiled 5000

Each operation is done twice: recorded in the graph, and by a NumPy expression written here. Beside each number of
floats stands a bound of what rounding may have made of it, however the operations are ordered or fused. Where a
function jumps, its inputs must be exact.

Left out, as not defined: integer division by zero (and of the smallest integer by -1), shifts by as many places as
there are or more or by fewer than none, integers to negative powers, and casts of NaN, of infinities and of numbers out
of range to integers.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from typednn.engines import using
from typednn.graph.nodes import binary, broadcast_to, cast_to, pad, permute, realize, reduce, reshape, tensor, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tensor import AnyTensor

Array: TypeAlias = Any
FLOATS = tuple(map(np.dtype, ["float32", "float64"]))
INTEGERS = tuple(map(np.dtype, ["int8", "uint8", "int32", "uint32", "int64"]))
BOOLEAN = np.dtype(bool)
LARGEST, MOST_NUMBERS = 1e3, 400
IN_A_PROCESS = 500  # programs


class Value(NamedTuple):
    """A tensor, its numbers by NumPy, and how far those of the graph may be from them: None where they
    must be equal.
    """

    tensor: AnyTensor
    array: Array
    error: Array | None

    @property
    def bound(self) -> Array:
        return np.zeros(self.array.shape) if self.error is None else self.error

    @property
    def kind(self) -> str:
        return str(self.array.dtype.kind)


def eps(dtype: "np.dtype[Any]") -> float:
    return 8 * float(np.finfo(dtype).eps)


def magnitude(array: Array) -> Array:
    return np.abs(array.astype(np.float64))


ERF = np.vectorize(math.erf, otypes=[float])

# By function: NumPy's, whether its inputs are in its domain, and the bound of its result from the input, its bound and
# the result.
SMOOTH: dict[
    Unary, tuple[Callable[[Array], Array], Callable[[Array, Array], Any], Callable[[Array, Array, Array], Array]]
] = {
    Unary.EXP: (np.exp, lambda x, e: x < 5, lambda x, e, y: y * np.expm1(e)),
    Unary.EXP2: (np.exp2, lambda x, e: x < 7, lambda x, e, y: y * np.expm1(e)),
    Unary.LOG: (np.log, lambda x, e: x - e > 0.1, lambda x, e, y: e / (x - e)),
    Unary.LOG2: (np.log2, lambda x, e: x - e > 0.1, lambda x, e, y: 2 * e / (x - e)),
    Unary.RECIPROCAL: (lambda x: 1 / x, lambda x, e: np.abs(x) - e > 0.1, lambda x, e, y: e * y * y * 2),
    Unary.LOG1P: (np.log1p, lambda x, e: x - e > -0.9, lambda x, e, y: e / (1 + x - e)),
    Unary.EXPM1: (np.expm1, lambda x, e: x < 5, lambda x, e, y: np.exp(x) * np.expm1(e)),
    Unary.SQRT: (np.sqrt, lambda x, e: x - e > 0.1, lambda x, e, y: e / y),
    Unary.SIN: (np.sin, lambda x, e: np.abs(x) < 50, lambda x, e, y: e),
    Unary.COS: (np.cos, lambda x, e: np.abs(x) < 50, lambda x, e, y: e),
    Unary.TANH: (np.tanh, lambda x, e: x == x, lambda x, e, y: e),
    Unary.ERF: (ERF, lambda x, e: x == x, lambda x, e, y: 1.2 * e),
    Unary.NEGATIVE: (np.negative, lambda x, e: x == x, lambda x, e, y: e),
    Unary.ABS: (np.abs, lambda x, e: x == x, lambda x, e, y: e),
}
JUMPING: dict[Unary, Callable[[Array], Array]] = {Unary.FLOOR: np.floor, Unary.TRUNC: np.trunc}
COMPARE: dict[Binary, Callable[[Array, Array], Array]] = {
    Binary.LESS: np.less,
    Binary.GREATER: np.greater,
    Binary.GREATER_EQUAL: np.greater_equal,
    Binary.EQUAL: np.equal,
    Binary.NOT_EQUAL: np.not_equal,
}
WHOLE: dict[Binary, Callable[[Array, Array], Array]] = {
    Binary.ADD: np.add,
    Binary.SUBTRACT: np.subtract,
    Binary.MULTIPLY: np.multiply,
    Binary.DIVIDE: np.floor_divide,
    Binary.MODULO: np.remainder,
    Binary.POWER: np.power,
    Binary.MAXIMUM: np.maximum,
    Binary.BITWISE_OR: np.bitwise_or,
    Binary.BITWISE_AND: np.bitwise_and,
    Binary.BITWISE_XOR: np.bitwise_xor,
    Binary.LEFT_SHIFT: np.left_shift,
    Binary.RIGHT_SHIFT: np.right_shift,
}
LOGIC: dict[Binary, Callable[[Array, Array], Array]] = {
    Binary.LOGICAL_OR: np.logical_or,
    Binary.LOGICAL_AND: np.logical_and,
    Binary.LOGICAL_XOR: np.logical_xor,
}


class Maker:
    """Draws one program. A draw that is not defined, too large or too inexact gives None, and another is made."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.values: list[Value] = [self.leaf() for _ in range(self.rng.integers(1, 4))]

    def grow(self, steps: int) -> None:
        makers = [
            self.unary,
            self.unary,
            self.binary,
            self.binary,
            self.binary,
            self.mask,
            self.reduce,
            self.reduce_again,
            self.cast,
            self.move,
            self.move,
            self.matmul,
        ]
        while steps:
            made = makers[self.rng.integers(len(makers))]()
            if made is None or made.array.size > MOST_NUMBERS or self._is_wild(made):
                continue
            assert made.tensor.shape == made.array.shape, (made.tensor, made.array.shape)
            assert made.tensor.dtype == made.array.dtype, (made.tensor, made.array.dtype)
            if self.rng.random() < 0.05:
                made.tensor.realize()
            self.values.append(made)
            steps -= 1

    @staticmethod
    def _is_wild(made: Value) -> bool:
        if made.kind != "f" or not made.array.size:
            return False
        size = float(magnitude(made.array).max())
        return not size < LARGEST or not float(made.bound.max()) < 0.05

    def pick(self, kinds: str = "biuf") -> Value | None:
        found = [value for value in self.values[-6:] if value.kind in kinds]
        return found[self.rng.integers(len(found))] if found else None

    def choose(self, among: Any) -> Any:
        listed = list(among)
        return listed[self.rng.integers(len(listed))]

    def leaf(self, dtype: "np.dtype[Any] | None" = None, shape: tuple[int, ...] | None = None) -> Value:
        rng = self.rng
        if shape is None:
            shape = tuple(
                int(size)
                for size in rng.choice(
                    [0, 1, 1, 2, 3, 4, 5], p=[0.02, 0.16, 0.16, 0.2, 0.2, 0.16, 0.1], size=rng.integers(0, 4)
                )
            )
        if dtype is None:
            dtype = np.dtype(self.choose([*FLOATS, *FLOATS, *INTEGERS, BOOLEAN]))
        array: Array
        if dtype.kind == "f":
            array = (rng.integers(-12, 13, shape) / 4 if rng.random() < 0.3 else rng.normal(size=shape)).astype(dtype)
        elif dtype.kind == "b":
            array = rng.random(shape) < 0.5
        else:
            limits = np.iinfo(dtype)
            low, high = (max(-5, limits.min), 6) if rng.random() < 0.7 else (limits.min, limits.max)
            array = rng.integers(low, high, shape, dtype)
        array = np.asarray(array, dtype)
        return Value(tensor(array), array, None)

    # ------------------------------------------------------------------ one draw each

    def unary(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        if x.kind != "f":
            operation = self.choose(
                [Unary.BITWISE_NOT] if x.kind == "b" else [Unary.NEGATIVE, Unary.BITWISE_NOT, Unary.ABS]
            )
            whole: dict[Unary, Callable[[Array], Array]] = {
                Unary.BITWISE_NOT: np.invert,
                Unary.NEGATIVE: np.negative,
                Unary.ABS: np.abs,
            }
            return Value(unary(operation, x.tensor), np.asarray(whole[operation](x.array)), None)
        if self.rng.random() < 0.15:
            operation = self.choose(JUMPING)
            return (
                None
                if x.error is not None
                else Value(unary(operation, x.tensor), np.asarray(JUMPING[operation](x.array)), None)
            )
        operation = self.choose(SMOOTH)
        done, in_domain, bound = SMOOTH[operation]
        wide = x.array.astype(np.float64)
        if not np.all(in_domain(wide, x.bound)):
            return None
        y = np.asarray(done(x.array)).astype(x.array.dtype)
        if operation in (Unary.NEGATIVE, Unary.ABS):
            return Value(unary(operation, x.tensor), y, x.error)
        error = bound(wide, x.bound, magnitude(y)) + eps(y.dtype) * (
            magnitude(y) + (np.abs(wide) if operation in (Unary.SIN, Unary.COS) else 1)
        )
        return Value(unary(operation, x.tensor), y, error)

    def other(self, x: Value) -> Value:
        """A second operand, whose shape and dtype fit."""
        fitting: list[Value] = []
        for value in self.values:
            if value.array.dtype == x.array.dtype:
                try:
                    np.broadcast_shapes(value.array.shape, x.array.shape)
                except ValueError:
                    continue
                fitting.append(value)
        if fitting and self.rng.random() < 0.7:
            return fitting[self.rng.integers(len(fitting))]
        shape = tuple(size if self.rng.random() < 0.7 else 1 for size in x.array.shape)
        return self.leaf(x.array.dtype, shape[self.rng.integers(len(shape) + 1) :])

    def binary(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        y = self.other(x)
        if self.rng.random() < 0.5:
            x, y = y, x
        if self.rng.random() < 0.15:
            operation = self.choose(COMPARE)
            if x.error is not None or y.error is not None:
                return None
            return Value(binary(operation, x.tensor, y.tensor), np.asarray(COMPARE[operation](x.array, y.array)), None)
        if x.kind == "b":
            operation = self.choose(LOGIC)
            return Value(binary(operation, x.tensor, y.tensor), np.asarray(LOGIC[operation](x.array, y.array)), None)
        return self.of_floats(x, y) if x.kind == "f" else self.of_integers(x, y)

    def of_integers(self, x: Value, y: Value) -> Value | None:
        operation = self.choose(WHOLE)
        limits = np.iinfo(x.array.dtype)
        if operation in (Binary.DIVIDE, Binary.MODULO) and (
            np.any(y.array == 0) or (np.any(x.array == limits.min) and np.any(y.array == -1))
        ):
            return None
        if operation in (Binary.LEFT_SHIFT, Binary.RIGHT_SHIFT) and not np.all(
            (y.array >= 0) & (y.array < limits.bits)
        ):
            return None
        if operation == Binary.POWER and not np.all((y.array >= 0) & (y.array < 10)):
            return None
        return Value(binary(operation, x.tensor, y.tensor), np.asarray(WHOLE[operation](x.array, y.array)), None)

    def of_floats(self, x: Value, y: Value, operation: Binary | None = None) -> Value | None:
        if operation is None:
            operation = self.choose(
                [
                    Binary.ADD,
                    Binary.SUBTRACT,
                    Binary.MULTIPLY,
                    Binary.DIVIDE,
                    Binary.MAXIMUM,
                    Binary.POWER,
                    Binary.MODULO,
                ]
            )
        a, b, ea, eb = x.array, y.array, x.bound, y.bound
        wide, unit = (a.astype(np.float64), b.astype(np.float64)), eps(a.dtype)
        made = binary(operation, x.tensor, y.tensor)
        if operation == Binary.MAXIMUM:
            exact = x.error is None and y.error is None
            return Value(
                made, np.asarray(np.maximum(a, b)), None if exact else np.maximum(*np.broadcast_arrays(ea, eb))
            )
        if operation in (Binary.ADD, Binary.SUBTRACT):
            z = np.asarray(a + b if operation == Binary.ADD else a - b)
            error = ea + eb + unit * magnitude(z)
        elif operation == Binary.MULTIPLY:
            z = np.asarray(a * b)
            error = np.abs(wide[0]) * eb + np.abs(wide[1]) * ea + ea * eb + unit * magnitude(z)
        elif operation == Binary.DIVIDE:
            if not np.all(np.abs(wide[1]) - eb > 0.1):
                return None
            z = np.asarray(a / b)
            error = (ea + magnitude(z) * eb) / (np.abs(wide[1]) - eb) + unit * magnitude(z)
        elif operation == Binary.POWER:
            if not (np.all(wide[0] - ea > 0.2) and np.all(wide[0] < 8) and np.all(np.abs(wide[1]) < 4)):
                return None
            z = np.asarray(a**b)
            error = magnitude(z) * np.expm1(
                (np.abs(wide[1]) + eb) * ea / (wide[0] - ea) + np.abs(np.log(wide[0])) * eb + 8 * unit
            )
        else:
            if x.error is not None or y.error is not None or not np.all(np.abs(wide[1]) > 0.1):
                return None
            quotient: Array = wide[0] / wide[1]
            away: Array = np.abs(quotient - np.rint(quotient))
            if np.any(away < 1e-4):  # it jumps there
                return None
            z = np.asarray(np.remainder(a, b))
            error = unit * (np.abs(wide[0]) + np.abs(wide[1]) + np.zeros(z.shape))
        return Value(made, z, np.asarray(error))

    def mask(self) -> Value | None:
        where, x = self.pick("b"), self.pick()
        if where is None or x is None:
            return None
        try:
            np.broadcast_shapes(where.array.shape, x.array.shape)
        except ValueError:
            where = self.leaf(BOOLEAN, x.array.shape)
        y = np.asarray(np.where(where.array, x.array, np.zeros((), x.array.dtype)))
        return Value(
            binary(Binary.MASKED, where.tensor, x.tensor),
            y,
            None if x.error is None else np.where(where.array, x.error, 0),
        )

    def reduce(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        axes = tuple(int(axis) for axis in range(x.array.ndim) if self.rng.random() < 0.5)
        return self.reduced(x, self.choose(Reduce), axes, bool(self.rng.random() < 0.3))

    def reduce_again(self) -> Value | None:
        """A reduction of numbers less another reduction of them over the same axes, as a variance and a softmax have
        it.
        """
        x = self.pick("f")
        if x is None or not x.array.ndim:
            return None
        axes = tuple(int(axis) for axis in range(x.array.ndim) if self.rng.random() < 0.5) or (
            int(self.rng.integers(x.array.ndim)),
        )
        first = self.reduced(x, self.choose([Reduce.SUM, Reduce.MAX, Reduce.MIN]), axes, True)
        if first is None or self._is_wild(first):
            return None
        apart = self.of_floats(x, first, Binary.SUBTRACT)
        return (
            None
            if apart is None
            else self.reduced(
                apart, self.choose([Reduce.SUM, Reduce.MAX, Reduce.MIN]), axes, bool(self.rng.random() < 0.5)
            )
        )

    def reduced(self, x: Value, operation: Reduce, axes: tuple[int, ...], keepdims: bool) -> Value | None:
        """One reduction of ``x``."""
        if operation in (Reduce.MAX, Reduce.MIN):
            if 0 in [x.array.shape[axis] for axis in axes]:
                return None
            done = np.max if operation == Reduce.MAX else np.min
            error = None if x.error is None else np.max(x.error, axis=axes, keepdims=keepdims)
            return Value(
                reduce(operation, x.tensor, axes, keepdims),
                np.asarray(done(x.array, axis=axes, keepdims=keepdims)),
                error,
            )
        if x.kind == "b":
            return None
        total = np.sum if operation == Reduce.SUM else np.prod
        y = np.asarray(total(x.array, axis=axes, keepdims=keepdims, dtype=x.array.dtype))
        made = reduce(operation, x.tensor, axes, keepdims)
        if x.kind != "f":
            return Value(made, y, None)
        sizes, count = magnitude(x.array), 1 + x.array.size
        error = np.asarray(
            total(sizes + x.bound, axis=axes, keepdims=keepdims) * (1 + eps(y.dtype) * count)
            - total(sizes, axis=axes, keepdims=keepdims)
        )
        return Value(made, y, error) if axes else Value(made, y, x.error)

    def cast(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        dtype = self.choose([*FLOATS, *INTEGERS, BOOLEAN])
        if x.kind == "f" and dtype.kind != "f":
            if x.error is not None:
                return None
            if dtype.kind != "b":
                limits, whole = np.iinfo(dtype), np.trunc(x.array)
                if not np.all((whole >= limits.min) & (whole < limits.max)):
                    return None
        y = x.array.astype(dtype)
        if dtype.kind != "f" or x.array.dtype == dtype:
            return Value(cast_to(x.tensor, dtype), y, x.error if x.array.dtype == dtype else None)
        exact = x.error is None and bool(np.all(y.astype(np.float64) == x.array))
        return Value(cast_to(x.tensor, dtype), y, None if exact else x.bound + eps(dtype) * magnitude(y))

    def move(self) -> Value | None:
        x = self.pick()
        if x is None:
            return None
        shape, ndim, rng = x.array.shape, x.array.ndim, self.rng
        how = self.choose(["permute", "reshape", "expand", "pad", "slice"])

        def moved(done: AnyTensor, move: Callable[[Array], Array]) -> Value:
            return Value(done, np.asarray(move(x.array)), None if x.error is None else np.asarray(move(x.error)))

        if how == "permute":
            order = tuple(int(axis) for axis in rng.permutation(ndim))
            return moved(permute(x.tensor, order), lambda array: array.transpose(order))
        if how == "reshape":
            sizes = [factor for size in shape for factor in ([2, size // 2] if size > 2 and size % 2 == 0 else [size])]
            while len(sizes) > 1 and rng.random() < 0.5:
                at = int(rng.integers(len(sizes) - 1))
                sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
            sizes.insert(int(rng.integers(len(sizes) + 1)), 1)
            return moved(reshape(x.tensor, tuple(sizes)), lambda array: array.reshape(sizes))
        if how == "expand":
            wider = tuple(int(rng.integers(1, 4)) if size == 1 else size for size in shape)
            wider = (*[int(rng.integers(1, 3))] * int(rng.integers(2)), *wider)
            return moved(broadcast_to(x.tensor, wider), lambda array: np.broadcast_to(array, wider))
        if how == "pad":
            widths = [(int(before), int(after)) for before, after in rng.integers(-2, 3, (ndim, 2))]
            if not widths or any(
                min(before, 0) + min(after, 0) + size < 0 for (before, after), size in zip(widths, shape, strict=True)
            ):
                return None

            def padded(array: Array) -> Array:
                cut = array[
                    tuple(
                        slice(max(-before, 0), size - max(-after, 0))
                        for (before, after), size in zip(widths, shape, strict=True)
                    )
                ]
                return np.pad(cut, [(max(before, 0), max(after, 0)) for before, after in widths])

            return moved(pad(x.tensor, widths), padded)
        parts = [slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1)]
        index = tuple(self.choose(parts) for _ in shape)
        return moved(x.tensor[index], lambda array: array[index])

    def matmul(self) -> Value | None:
        x = self.pick("f")
        if x is None or x.array.ndim < 2:
            return None
        y = self.leaf(x.array.dtype, (x.array.shape[-1], int(self.rng.integers(1, 4))))
        a, b = magnitude(x.array) + x.bound, magnitude(y.array)
        error = a @ b * (1 + eps(x.array.dtype) * (1 + x.array.shape[-1])) - magnitude(x.array) @ b
        return Value(x.tensor @ y.tensor, x.array @ y.array, error)


def compare(seed: int, steps: int = 12) -> None:
    """One program: every value of it is realized, some at once, and compared. The seed that an error names makes the
    program again.
    """
    with np.errstate(all="ignore"):
        maker = Maker(seed)
        maker.grow(steps)
    values = maker.values
    wanted = [values[place] for place in sorted({len(values) - 1, *maker.rng.integers(len(values), size=3).tolist()})]
    told = [repr(value.tensor) for value in wanted]
    realize(value.tensor for value in wanted)
    for value, what in zip(wanted, told, strict=True):
        found = value.tensor.numpy()
        where = f"program {seed}, {what}"
        assert found.dtype == value.array.dtype, where
        assert found.shape == value.array.shape, where
        if value.error is None:
            np.testing.assert_array_equal(found, value.array, where)
        else:
            near = np.abs(found.astype(np.float64) - value.array) <= value.error + 1e-30
            assert near.all(), f"{where}:\n{found}\nNumPy:\n{value.array}\nbound:\n{value.error}"


def compare_all(engine: str, seeds: range) -> None:
    """Programs on one engine. A warning, such as of a kernel that can't be compiled, is an error."""
    with using(engine), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for seed in seeds:
            compare(seed)


def main() -> None:
    """The long run. A process has at most 1024 kernels, so that compiled programs get a new one now and then."""
    parser = argparse.ArgumentParser(description="Compare random programs of the graph with NumPy.")
    parser.add_argument("--interpreted", type=int, default=1000, metavar="N", help="programs for the reference")
    parser.add_argument("--compiled", type=int, default=100, metavar="N", help="programs for the fast engine")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first program")
    options = parser.parse_args()
    for engine, count in (("reference", options.interpreted), ("fast", options.compiled)):
        start, seeds = time.perf_counter(), range(options.first, options.first + count)
        portions = [seeds[place : place + IN_A_PROCESS] for place in range(0, count, IN_A_PROCESS)]
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
            list(processes.map(compare_all, repeat(engine), portions))
        print(f"{engine}: {count} programs equal NumPy's results, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
