"""Pointwise ops: each number of the result comes from the numbers at the same place. A table of formulas, and the
driver that runs them.

=============  ======================================  ==================================================
op             forward                                 backward
=============  ======================================  ==================================================
identity       z                                       dy
relu           max(x, 0)                               dy where x > 0, else 0 (so 0 at x = 0)
leaky_relu     x where x > 0, else slope·x             dy where x > 0, else slope·dy
sigmoid        1 / (1 + exp(-x))                       dy·y·(1 - y)
tanh           tanh(x)                                 dy·(1 - y²)
add            x + other                               dy, by both
scaled         x·factor
add_scaled     x + factor·other
shrunk         weights·factor, written over weights
=============  ======================================  ==================================================

An op is its lines in this file, in the dialect of `typednn.kernels.expressions`: one formula for arrays (``xp`` is
NumPy or CuPy), the CPU's kernel and the GPU's, and another of its derivative. Any shape; the result has the same. GELU
and its kin have a table of their own, `typednn.kernels.linear_units`.

A product with a slope that rounding makes 0 leaves an infinite dy as it is: the last digit of y must not decide between
infinity and NaN. Write such a derivative with `sloped`. Where the derivative is exactly 0, write 0 and no product: 0·∞
would be NaN.

The losses have a table of their own, `typednn.kernels.pointwise_losses`.

Sources: "Deep Learning Implementation With Rust", eqs 30-33; leaky_relu: Maas, Hannun and Ng, "Rectifier Nonlinearities
Improve Neural Network Acoustic Models", 2013.
"""

# Formulas are lambdas of arrays or symbols, and of their module.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import inspect
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar, cast, final

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray, namespace
from typednn.engines import Cpu, Kernel, Scalar, empty, hl, kernel, nan, type_of
from typednn.engines.cuda import on_gpu
from typednn.engines.cuda_formula import CudaFormula
from typednn.engines.dispatch import FLOAT32, FLOATS, KERNELS, chosen_engine
from typednn.engines.halide.toolchain import Argument
from typednn.kernels.elementwise import ELEMENTS, PARALLEL_FROM, PARALLEL_FROM_EXP, SMALL, scheduled
from typednn.kernels.expressions import Expressions, decay, is_negative, sloped
from typednn.kernels.op import OPS, Engine, op

P = TypeVar("P", bound=AnyArray)


class Map(Protocol):
    """Arrays of one shape, then numbers; the result has that shape."""

    def __call__(self, x: Float[P, "*shape"], /, *others: Any) -> Float[P, "*shape"]: ...


@final
class Formula:
    """One pointwise function ``on_arrays(xp, …)`` of some ``arrays``, then numbers; several results are a tuple.

    On the CPU there is no kernel where it uses functions that are not in the dialect, or where its source is in no
    file: the kernel's key is made of the source. ``flops`` for each number; ``uses_exp``: an exponential or a logarithm
    is among them. ``least``: numbers from which a kernel is quicker than NumPy. ``sizes``: whether kernels take these
    arguments. ``results``: how many arrays it gives. ``guarded``: the kernel gives the last array x where this is NaN,
    so that the formula's comparisons take an instruction each and need not keep NaN.
    """

    def __init__(
        self,
        on_arrays: Callable[..., Any],
        *,
        arrays: int = 1,
        flops: int = 1,
        uses_exp: bool = False,
        least: int = 1,
        sizes: Callable[..., bool] | None = None,
        results: int = 1,
        guarded: bool = False,
    ) -> None:
        self.name: str = ""
        self.results: int = results
        self.on_arrays: Callable[..., Any] = on_arrays
        self.arrays: int = arrays
        self.numbers: int = len(inspect.signature(on_arrays).parameters) - 1 - arrays
        self.flops: int = flops
        self.uses_exp: bool = uses_exp
        self.least: int = least
        self.sizes: Callable[..., bool] | None = sizes
        self.guarded: bool = guarded
        self.__module__: str = on_arrays.__module__  # the source of this module is part of the kernel's key

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.name}"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return _declared, (self.__module__, self.name)

    @cached_property
    def kernels(self) -> dict[np.dtype[Any], Kernel]:
        """One pass over memory, by dtype."""
        inputs: tuple[Argument, ...] = (*[ELEMENTS] * self.arrays, *[Scalar()] * self.numbers)
        outputs, options = (ELEMENTS,) * self.results, {"formula": self}
        return {
            dtype: kernel(self.name, _build, inputs=inputs, outputs=outputs, options=options, dtype=dtype)
            for dtype in FLOATS
        }

    def on_numbers(self, *arguments: Any) -> Any:
        """The formula of Halide's expressions."""
        x: hl.Expr = arguments[self.arrays - 1]
        found: Any = Expressions(type_of(x).bits(), self.guarded).of(self.on_arrays, arguments)
        return hl.select(nan.is_nan(x), x, found) if self.guarded else found

    def reference(self, x: Any, *others: Any) -> Any:
        """The formula on arrays of any dtype."""
        return self.on_arrays(namespace(x), x, *others)

    def run(self, x: Any, *others: Any) -> Any:
        """The formula in a kernel."""
        dtype = x.dtype
        results = tuple([empty(x.shape, dtype) for _ in range(self.results)])
        self.kernels[dtype].call(x, *others, *results)
        return results if self.results > 1 else results[0]

    def op(self, name: str, **derivative: Any) -> Map:
        """This formula as an op."""
        self.name = name
        names = [*map("array{}".format, range(self.arrays)), *map("number{}".format, range(self.numbers))]
        of_arrays = " ".join(names[: self.arrays])
        in_file = hasattr(sys.modules.get(self.__module__), "__file__")
        gpu = CudaFormula(name, self.on_arrays, self.arrays, numbers=self.numbers, results=self.results)
        engines = [Engine("cuda", gpu.run, of_arrays, same_shape=True, sizes=gpu.covers, on=on_gpu)]
        if in_file and Expressions().has(self.on_arrays, len(names)):
            on_cpu = Engine("halide", self.run, of_arrays, least=self.least, same_shape=True, sizes=self.sizes)
            engines.insert(0, on_cpu)
        declared: Any = op(name, self.reference, *engines, flops=self.flops, names=names, **derivative)
        return declared  # type: ignore[no-any-return]


def _declared(module: str, name: str) -> Formula:
    """The formula of the op ``name``, which ``module`` declares."""
    import_module(module)
    reference: Any = OPS[name].reference
    return cast("Formula", reference.__self__)


def _build(cpu: Cpu, *inputs: Any, formula: Formula) -> "hl.Func":
    i, y = hl.Var("i"), hl.Func("y")
    arrays, numbers = inputs[: formula.arrays], inputs[formula.arrays :]
    found = formula.on_numbers(*(array[i] for array in arrays), *numbers)
    y[i] = hl.Tuple(found) if formula.results > 1 else found
    return scheduled(cpu, y, i, arrays[0].dim(0).extent(), PARALLEL_FROM_EXP if formula.uses_exp else PARALLEL_FROM)


@final
class Pointwise:
    """An op of the table: ``forward`` and ``backward``, which reads ``next_grad``, then what forward ``keeps``, then
    the numbers.
    """

    def __init__(self, name: str, forward: Formula, backward: Formula, *, keeps: str = "x") -> None:
        self.name: str = name
        self.formulas: tuple[Formula, Formula] = (forward, backward)
        self.backward: Map = backward.op(f"{name}.backward")
        self.forward: Map = forward.op(f"{name}.forward", keeps=keeps, backward=self.backward)


# ------------------------------------------------------------------ the table

identity: Final = Pointwise(
    "identity", Formula(lambda xp, z: z, flops=0), Formula(lambda xp, dy, y: dy, arrays=2, flops=0), keeps="y"
)

relu: Final = Pointwise(
    "relu",
    Formula(lambda xp, x: xp.maximum(x, 0), least=SMALL + 1),
    Formula(lambda xp, dy, x: xp.where(x > 0, dy, 0), arrays=2),
)

leaky_relu: Final = Pointwise(
    "leaky_relu",
    Formula(lambda xp, x, slope: xp.where(x > 0, x, slope * x), flops=2),
    Formula(lambda xp, dy, x, slope: xp.where(x > 0, dy, slope * dy), arrays=2, flops=2),
)


def _sigmoid(xp: Any, x: Any) -> Any:
    decayed = decay(xp, -abs(x))  # of -|x| alone, which can't overflow
    return xp.where(is_negative(xp, x), decayed, 1) / (1 + decayed)


sigmoid: Final = Pointwise(
    "sigmoid",
    Formula(_sigmoid, flops=4, uses_exp=True),
    Formula(lambda xp, dy, y: sloped(xp, dy, y * (1 - y)), arrays=2, flops=3),
    keeps="y",
)

tanh: Final = Pointwise(
    "tanh",
    # NumPy's tanh is as quick as a kernel is on one thread.
    Formula(
        lambda xp, x: xp.tanh(x),
        flops=8,
        uses_exp=True,
        least=PARALLEL_FROM_EXP + 1,
        # the float64 kernel calls the C library number by number
        sizes=lambda x: x.dtype == FLOAT32 or chosen_engine() == KERNELS,
    ),
    Formula(lambda xp, dy, y: sloped(xp, dy, 1 - y * y), arrays=2, flops=3),
    keeps="y",
)

add: Final = Formula(lambda xp, x, other: x + other, arrays=2, least=SMALL + 1).op("add.forward")

scaled: Final = Formula(lambda xp, x, factor: x * factor, least=SMALL + 1).op("scaled")

add_scaled: Final = Formula(lambda xp, x, other, factor: x + factor * other, arrays=2, flops=2, least=SMALL + 1).op(
    "add_scaled"
)


def _shrunk(weights: Float[AnyArray, "*shape"], factor: float) -> tuple[Float[AnyArray, "*shape"]]:
    return (weights * factor,)


shrunk: Final = op("shrunk", _shrunk, flops=1, writes="weights")
