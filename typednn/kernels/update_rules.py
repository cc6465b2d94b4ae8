"""Update rules of optimizers: a table of formulas, and the driver that runs each as one pass over memory, written in place.

========  =============================================================================================
rmsprop   square ← alpha·square + (1 - alpha)·grad²;  if centered: mean ← mean + (1 - alpha)·(grad - mean)
          move = grad / (√square + eps),  if centered grad / (√(square - mean²) + eps)
          with momentum: velocity ← momentum·velocity + move, which then is the move
          weights ← weights - lr·move
adagrad   total ← total + grad²
          weights ← weights - lr·grad / (√total + eps)
adadelta  square ← rho·square + (1 - rho)·grad²;  move = √(moved + eps) / √(square + eps) · grad
          moved ← rho·moved + (1 - rho)·move²
          weights ← weights - lr·move
amsgrad   m ← m + (1 - beta1)·(grad - m);  v ← beta2·v + (1 - beta2)·grad²;  largest ← max(largest, v)
          weights ← weights - lr·m / (√largest / root + eps)
lion      weights ← weights - lr·sign(beta1·m + (1 - beta1)·grad)
          m ← beta2·m + (1 - beta2)·grad
ema       average ← average + (1 - decay)·(weights - average)
========  =============================================================================================

Before each rule but the last comes weight decay, coupled or decoupled:  grad ← grad + coupled·weights,  weights ← weights·shrink.

A rule is one function: ``xp`` is NumPy, CuPy, `Expressions`, in which the CPU's kernel is described, or the trace of which a GPU's is
made (`typednn.engines.cuda_formula`). All arrays share one shape. An array that a setting does not need is None, before and after.
Differences such as 1 - alpha are handed in, so that they have all their digits.

SGD and Adam are in folders of their own.

Sources: torch.optim.RMSprop, Adagrad, Adadelta and Adam, whose order of operations this is; Hinton, "Neural Networks for Machine
Learning", lecture 6, 2012; Duchi, Hazan and Singer, "Adaptive Subgradient Methods", 2011; Zeiler, "ADADELTA", 2012; Reddi, Kale and
Kumar, "On the Convergence of Adam and Beyond", 2018; Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023 (Lion).
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from typednn.arrays import AnyArray, at_least_float32, namespace
from typednn.engines import Array, Cpu, Kernel, Scalar, kernel, nan
from typednn.engines.cuda import on_gpu
from typednn.engines.cuda_formula import CudaFormula
from typednn.kernels.in_place import in_place
from typednn.kernels.lerp import lerp, lerp_of_expressions
from typednn.kernels.op import Engine, op

Function = Callable[..., tuple[Any, ...]]


@final
class Rule:
    """One rule: ``formula(xp, *arrays, *numbers)`` gives the new arrays named in ``writes``, in the order of the arguments.

    ``read`` names the others. A rule with a gradient gets ``coupled`` and ``shrink``, the weight decay, after its own numbers.
    ``name`` is that of the variable which holds the rule.
    """

    def __init__(self, name: str, formula: Function, writes: str, read: str = "grad", *, flops: int) -> None:
        names = list(inspect.signature(formula).parameters)[1:]
        written = writes.split()
        self.name: str = name
        self.formula: Function = formula
        self.arrays: tuple[str, ...] = tuple(each for each in names if each in (*written, read))
        self.decays: bool = read == "grad"
        self.written: tuple[bool, ...] = tuple(each in written for each in self.arrays)
        self._kernels: dict[Any, Kernel] = {}
        self._on_gpu: dict[Any, CudaFormula] = {}
        self.__module__: str = formula.__module__  # the source of this module is part of the kernel's key
        reference: Callable[..., Any] = self.reference

        def counted(weights: AnyArray, *_: Any) -> int:
            return flops * weights.size

        self.step: Callable[..., None] = op(
            f"{name}.step",
            reference,
            Engine("halide", self.run, " ".join(self.arrays), aligned=True),
            Engine("cuda", self.run_on_gpu, " ".join(self.arrays), same_shape=True, on=on_gpu),
            flops=counted,
            writes=writes,
            names=[*names, *(["coupled", "shrink"] if self.decays else [])],
        )

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # the variable of that name in its module

    def after(self, xp: Any, arrays: Sequence[Any], numbers: Sequence[Any], couples: bool, shrinks: bool) -> tuple[Any, ...]:
        """The new arrays, weight decay included. A decay that is not wanted is not computed: 0 times an infinite weight would be NaN."""
        if self.decays:
            (weights, grad, *state), (*numbers, coupled, shrink) = arrays, numbers
            arrays = (weights * shrink if shrinks else weights, grad + coupled * weights if couples else grad, *state)
        return self.formula(xp, *arrays, *numbers)

    def reference(self, *arguments: Any) -> tuple[Any, ...]:
        """The rule on arrays of any dtype, computed at least in float32."""
        arrays, numbers = [*map(at_least_float32, arguments[: len(self.arrays)])], arguments[len(self.arrays) :]
        return self.after(namespace(arrays[0]), arrays, numbers, *self._decay(numbers))

    def run(self, *arguments: Any) -> None:
        """The rule in a kernel."""
        arrays, numbers = arguments[: len(self.arrays)], arguments[len(self.arrays) :]
        key = (*[array is not None for array in arrays], *self._decay(numbers), arrays[0].dtype)
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = self.kernel(*key)
        found.call(*[array for array in arrays if array is not None], *numbers)

    def run_on_gpu(self, *arguments: Any) -> None:
        """The rule in a kernel of a GPU."""
        arrays, numbers = arguments[: len(self.arrays)], arguments[len(self.arrays) :]
        key = (*[array is not None for array in arrays], *self._decay(numbers))
        found = self._on_gpu.get(key) or self._on_gpu.setdefault(key, self.cuda_formula(len(numbers), *key))
        found.run(*[array for array in arrays if array is not None], *numbers)

    def cuda_formula(self, numbers: int, *key: bool) -> CudaFormula:
        """The kernel for: which arrays are not None, whether weight decay is coupled, whether it shrinks."""
        *present, couples, shrinks = key
        written = [each for each, there in zip(self.written, present, strict=True) if there]

        def formula(xp: Any, *given: Any) -> tuple[Any, ...]:
            rest = iter(given)
            arrays = [next(rest) if there else None for there in present]
            return tuple(value for value in self.after(xp, arrays, list(rest), couples, shrinks) if value is not None)

        writes = [place for place, each in enumerate(written) if each]
        return CudaFormula(f"{self.name}.step", formula, len(written), numbers=numbers, writes=writes)

    def _decay(self, numbers: Sequence[Any]) -> tuple[bool, bool]:
        return (numbers[-2] != 0, numbers[-1] != 1) if self.decays else (False, False)

    def kernel(self, *key: Any) -> Kernel:
        """The kernel for: which arrays are not None, whether weight decay is coupled, whether it shrinks, the dtype."""
        *present, couples, shrinks, dtype = key
        written = [each for each, there in zip(self.written, present, strict=True) if there]
        array, numbers = Array("size", flat=True), len(inspect.signature(self.formula).parameters) - 1 - len(self.arrays) + 2 * self.decays
        return kernel(
            f"{self.name}.step",
            _build,
            inputs=(*[array] * len(written), *[Scalar()] * numbers),
            outputs=(array,) * sum(written),
            written=tuple(place for place, each in enumerate(written) if each),
            options={"rule": self, "present": tuple(present), "couples": couples, "shrinks": shrinks},
            dtype=np.dtype(dtype),
        )


@final
class Expressions:
    """The functions of NumPy that rules use, for Halide's expressions; each keeps NaN."""

    def __init__(self, hl: Any) -> None:
        self.hl: Any = hl
        self.where: Callable[[Any, Any, Any], Any] = hl.select
        self.sqrt: Callable[[Any], Any] = hl.sqrt

    def maximum(self, x: Any, y: Any) -> Any:
        return nan.maximum(self.hl, x, y)

    def sign(self, x: Any) -> Any:
        hl = self.hl
        return hl.select(nan.is_nan(hl, x), x, hl.cast(nan.type_of(x), hl.select(x > 0, 1, hl.select(x < 0, -1, 0))))


def _build(hl: Any, cpu: Cpu, *inputs: Any, rule: Rule, present: Sequence[bool], couples: bool, shrinks: bool) -> Any:
    i, given = hl.Var("i"), iter(inputs)
    arrays = [next(given)[i] if there else None for there in present]
    values = rule.after(Expressions(hl), arrays, list(given), couples, shrinks)
    return in_place(hl, cpu, i, [value for value in values if value is not None], inputs[0].dim(0).extent())


# ------------------------------------------------------------------ the table


def _lerp(xp: Any, start: Any, end: Any, share: Any) -> Any:
    return lerp(start, end, share) if isinstance(share, float | int) else lerp_of_expressions(xp.where, start, end, share)


def _rmsprop(
    xp: Any, weights: Any, grad: Any, square: Any, mean: Any, velocity: Any, lr: Any, alpha: Any, taken: Any, eps: Any, momentum: Any
) -> tuple[Any, ...]:
    """``taken`` is 1 - alpha. ``mean`` is None unless centered, ``velocity`` without momentum."""
    square = alpha * square + taken * grad * grad
    mean = None if mean is None else _lerp(xp, mean, grad, taken)
    move = grad / (xp.sqrt(square if mean is None else square - mean * mean) + eps)
    velocity = None if velocity is None else momentum * velocity + move
    return weights - lr * (move if velocity is None else velocity), square, mean, velocity


def _adagrad(xp: Any, weights: Any, grad: Any, total: Any, lr: Any, eps: Any) -> tuple[Any, ...]:
    total = total + grad * grad
    return weights - lr * grad / (xp.sqrt(total) + eps), total


def _adadelta(xp: Any, weights: Any, grad: Any, square: Any, moved: Any, lr: Any, rho: Any, taken: Any, eps: Any) -> tuple[Any, ...]:
    """``taken`` is 1 - rho."""
    square = rho * square + taken * grad * grad
    move = xp.sqrt(moved + eps) / xp.sqrt(square + eps) * grad
    return weights - lr * move, square, rho * moved + taken * move * move


def _amsgrad(
    xp: Any,
    weights: Any,
    grad: Any,
    m: Any,
    v: Any,
    largest: Any,
    lr: Any,
    mean_rate: Any,
    beta2: Any,
    square_rate: Any,
    root: Any,
    eps: Any,
) -> tuple[Any, ...]:
    """``lr`` is divided by 1 - beta1ᵗ already; ``root`` is √(1 - beta2ᵗ), the rates 1 - beta1 and 1 - beta2."""
    m = _lerp(xp, m, grad, mean_rate)
    v = v * beta2 + square_rate * grad * grad
    largest = xp.maximum(largest, v)
    return weights - lr * m / (xp.sqrt(largest) / root + eps), m, v, largest


def _lion(
    xp: Any, weights: Any, grad: Any, m: Any, lr: Any, beta1: Any, direction_rate: Any, beta2: Any, mean_rate: Any
) -> tuple[Any, ...]:
    """The rates are 1 - beta1 and 1 - beta2."""
    return weights - lr * xp.sign(beta1 * m + direction_rate * grad), beta2 * m + mean_rate * grad


def _ema(xp: Any, average: Any, weights: Any, rate: Any) -> tuple[Any, ...]:
    """``rate`` is 1 - decay."""
    return (_lerp(xp, average, weights, rate),)


rmsprop: Final = Rule("rmsprop", _rmsprop, "weights square mean velocity", flops=12)
adagrad: Final = Rule("adagrad", _adagrad, "weights total", flops=7)
adadelta: Final = Rule("adadelta", _adadelta, "weights square moved", flops=14)
amsgrad: Final = Rule("amsgrad", _amsgrad, "weights m v largest", flops=13)
lion: Final = Rule("lion", _lion, "weights m", flops=9)
ema: Final = Rule("ema", _ema, "average", "weights", flops=3)
