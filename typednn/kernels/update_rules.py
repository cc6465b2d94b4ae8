"""Update rules of optimizers: a table of formulas, and the driver that runs each as one pass over memory, written in
place.

========  =============================================================================================
sgd       velocity ← grad at the first step, then momentum·velocity + (1 - dampening)·grad
          move = grad without momentum, velocity with it, grad + momentum·velocity with Nesterov's
          weights ← weights - lr·move
adam      m ← m + (1 - beta1)·(grad - m);  v ← beta2·v + (1 - beta2)·grad²
          weights ← weights - lr/(1 - beta1ᵗ) · m / (√v/√(1 - beta2ᵗ) + eps), t the number of the step, from 1
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

Before each rule but the last comes weight decay, coupled or decoupled:    grad ← grad + coupled·weights,
weights ← weights·shrink.

A rule is one function: ``xp`` is NumPy, CuPy, `Expressions`, in which the CPU's kernel is described, or the trace of
which a GPU's is made (`typednn.engines.cuda_formula`). All arrays share one shape. An array that a setting does not
need is None, before and after. Differences such as 1 - alpha are handed in, so that they have all their digits.

Sources: torch.optim.SGD, Adam, RMSprop, Adagrad and Adadelta, whose order of operations this is; "Deep Learning
Implementation With Rust", eqs 44-47; Sutskever et al., "On the importance of initialization and momentum in deep
learning", 2013; Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1; Loshchilov and Hutter,
"Decoupled Weight Decay Regularization", 2019; Hinton, "Neural Networks for Machine Learning", lecture 6, 2012; Duchi,
Hazan and Singer, "Adaptive Subgradient Methods", 2011; Zeiler, "ADADELTA", 2012; Reddi, Kale and Kumar, "On the
Convergence of Adam and Beyond", 2018; Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023 (Lion).
"""

import ctypes
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from typednn.arrays import at_least_float32, namespace
from typednn.engines import Array, Cpu, Kernel, Scalar, hl, kernel, type_of
from typednn.engines.cuda import on_gpu
from typednn.engines.cuda_formula import CudaFormula
from typednn.engines.halide import runtime
from typednn.engines.halide.frames import Frame, failure
from typednn.engines.memory.addresses import address
from typednn.generated import execute
from typednn.kernels.expressions import Expressions
from typednn.kernels.in_place import in_place
from typednn.kernels.lerp import lerp, lerp_of_expressions
from typednn.kernels.op import Engine, op

Function = Callable[..., tuple[Any, ...]]


class How(NamedTuple):
    """What has kernels of its own: which arrays there are, the flags, and whether the weights decay in either way."""

    present: tuple[bool, ...]
    flags: tuple[bool, ...]
    couples: bool
    shrinks: bool


@final
class Numbers:
    """The numbers of a step, in memory where the kernels of several parameters read them.

    ``kind``: what these kernels have in common; ``now``: what the numbers were computed of.
    """

    def __init__(self, kind: tuple[Any, ...], dtype: np.dtype[Any], count: int) -> None:
        self.kind: tuple[Any, ...] = kind
        self.now: tuple[Any, ...] = ()
        self._words: Any = (ctypes.c_uint64 * count)()
        real = ctypes.c_float if dtype.itemsize == 4 else ctypes.c_double
        self._apart: int = 8 // dtype.itemsize
        self._places: Any = (real * (count * self._apart)).from_buffer(self._words)
        self.addresses: tuple[int, ...] = tuple(ctypes.addressof(self._words) + 8 * place for place in range(count))

    def put(self, values: Sequence[float]) -> None:
        """These from now on."""
        for place, value in enumerate(values):
            self._places[place * self._apart] = value


@final
class Prepared:
    """A rule's step of one parameter, with everything filled in but the gradient: its arrays stay where they are. A
    copy of it is None, as a copy of the parameter lies elsewhere.
    """

    __slots__ = ("_address", "_dtype", "_function", "_held", "_name", "_shape", "_slot", "_words", "numbers")

    def __init__(self, kernel: Kernel, frame: Frame, arrays: Sequence[Any], numbers: Numbers) -> None:
        """``arrays``: the parameter, a gradient, and what the optimizer keeps."""
        for place, at in enumerate(numbers.addresses, len(arrays)):
            frame.words[place] = at
        self.numbers: Numbers = numbers
        self._name: str = kernel.plan.name
        self._shape: tuple[int, ...] = arrays[0].shape
        self._dtype: np.dtype[Any] = arrays[0].dtype
        self._held: tuple[Any, ...] = (arrays[0], *arrays[2:])
        self._function: Any = kernel.function
        self._address: int = frame.address
        self._words: Any = frame.words
        self._slot: int = frame.slot(1)

    def run(self, grad: Any) -> bool:
        """The step; False, and nothing done, for a gradient that the kernel doesn't take."""
        if (
            grad.__class__ is not np.ndarray
            or grad.dtype is not self._dtype
            or grad.shape != self._shape
            or not grad.flags.c_contiguous
        ):
            return False
        self._words[self._slot] = address(grad)
        if code := self._function(self._address):
            raise failure(self._name, code, runtime.complaint())
        return True

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@final
class Rule:
    """One rule: ``formula(xp, *arrays, *numbers, *flags)`` gives the new arrays named in ``writes``, in the order of
    the arguments.

    ``read`` names the others. Flags are the arguments that the formula annotates as ``bool``; each has kernels of its
    own. A rule with a gradient gets ``coupled`` and ``shrink``, the weight decay, after its own arguments. ``flops`` of
    a number, without and with the last array. ``name`` is that of the variable which holds the rule.
    """

    def __init__(
        self, name: str, formula: Function, writes: str, read: str = "grad", *, flops: int | tuple[int, int]
    ) -> None:
        parameters = dict([*inspect.signature(formula).parameters.items()][1:])
        written = writes.split()
        self.name: str = name
        self.formula: Function = formula
        self.arrays: tuple[str, ...] = tuple(each for each in parameters if each in (*written, read))
        self.flags: tuple[str, ...] = tuple(
            each for each, parameter in parameters.items() if parameter.annotation is bool
        )
        self.numbers: int = len(parameters) - len(self.arrays) - len(self.flags)
        self.decays: bool = read == "grad"
        self.written: tuple[bool, ...] = tuple(each in written for each in self.arrays)
        self._on_gpu: dict[Any, CudaFormula] = {}
        self.__module__: str = formula.__module__  # the source of this module is part of the kernel's key
        reference: Callable[..., Any] = self.reference
        few, many = flops if isinstance(flops, tuple) else (flops, flops)

        def counted(*arguments: Any) -> int:
            size: int = arguments[0].size
            return (few if arguments[len(self.arrays) - 1] is None else many) * size

        names = [*parameters, *(["coupled", "shrink"] if self.decays else [])]
        self.step: Callable[..., None] = op(
            f"{name}.step",
            reference,
            Engine("halide", self._running(names), " ".join(self.arrays), aligned=True),
            Engine("cuda", self.run_on_gpu, " ".join(self.arrays), same_shape=True, on=on_gpu),
            flops=counted,
            writes=writes,
            names=names,
        )

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # the variable of that name in its module

    def after(self, xp: Any, arrays: Sequence[Any], numbers: Sequence[Any], how: How) -> tuple[Any, ...]:
        """The new arrays, weight decay included. A decay that is not wanted is not computed: 0 times an infinite weight
        would be NaN.
        """
        if self.decays:
            (weights, grad, *state), (*numbers, coupled, shrink) = arrays, numbers
            arrays = (
                weights * shrink if how.shrinks else weights,
                grad + coupled * weights if how.couples else grad,
                *state,
            )
        return self.formula(xp, *arrays, *numbers, *how.flags)

    def reference(self, *arguments: Any) -> tuple[Any, ...]:
        """The rule on arrays of any dtype, computed at least in float32."""
        arrays, numbers, how = self._split(arguments)
        wide = [*map(at_least_float32, arrays)]
        return self.after(namespace(wide[0]), wide, numbers, how)

    def _running(self, names: Sequence[str]) -> Callable[..., None]:
        """The rule in a kernel. Its source is generated: for a small parameter a loop over arguments would take as long
        as the step.
        """
        kept = [f"{name} is None" for name in self.arrays[2:]]
        key = [*kept, *self.flags, *(["coupled != 0", "shrink != 1"] if self.decays else []), f"{names[0]}.dtype"]
        arrays, numbers = (
            ", ".join(self.arrays),
            ", ".join(name for name in names if name not in (*self.arrays, *self.flags)),
        )
        source = f"""
def run({", ".join(names)}):
    key = ({", ".join(key)},)
    found = kernels.get(key) or kernels.setdefault(key, made({", ".join(names)}))
    if {" or ".join(kept) or False}:
        found.call(*[array for array in ({arrays}) if array is not None], {numbers})
    else:
        found.call({arrays}, {numbers})
"""

        def made(*given: Any) -> Kernel:
            return self.kernel(self._split(given)[2], given[0].dtype)

        scope: dict[str, Any] = {"kernels": {}, "made": made}
        execute(source, f"{self.name}'s step in a kernel", scope)
        run: Callable[..., None] = scope["run"]
        return run

    def prepared(self, numbers: Numbers, *arguments: Any) -> Prepared | None:
        """The step of these arrays again and again, with other gradients and ``numbers``; None where no kernel computes
        it. ``arguments`` are those of `step`, which has run with them.
        """
        step: Any = self.step
        engine = step.op.engine(*arguments)
        if engine is None or engine.name != "halide":
            return None
        arrays, given, how = self._split(arguments)
        there = [array for array in arrays if array is not None]
        found = self.kernel(how, there[0].dtype)
        frame = found.prepared(*there, *given)
        return None if frame is None else Prepared(found, frame, there, numbers)

    def run_on_gpu(self, *arguments: Any) -> None:
        """The rule in a kernel of a GPU."""
        arrays, numbers, how = self._split(arguments)
        found = self._on_gpu.get(how) or self._on_gpu.setdefault(how, self.cuda_formula(how))
        found.run(*[array for array in arrays if array is not None], *numbers)

    def _split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], How]:
        """Arrays, numbers with those of weight decay, and what has kernels of its own."""
        count, flags = len(self.arrays), len(self.flags)
        arrays, rest = arguments[:count], arguments[count:]
        numbers, own, decay = (
            rest[: self.numbers],
            rest[self.numbers : self.numbers + flags],
            rest[self.numbers + flags :],
        )
        couples, shrinks = (decay[0] != 0, decay[1] != 1) if self.decays else (False, False)
        return (
            arrays,
            (*numbers, *decay),
            How(tuple([array is not None for array in arrays]), tuple(own), couples, shrinks),
        )

    def kernel(self, how: How, dtype: Any) -> Kernel:
        """The CPU's kernel."""
        written = [each for each, there in zip(self.written, how.present, strict=True) if there]
        array = Array("size", flat=True)
        return kernel(
            f"{self.name}.step",
            _build,
            inputs=(*[array] * len(written), *[Scalar()] * (self.numbers + 2 * self.decays)),
            outputs=(array,) * sum(written),
            written=tuple(place for place, each in enumerate(written) if each),
            options={"rule": self, "how": tuple(how)},
            dtype=np.dtype(dtype),
        )

    def cuda_formula(self, how: How) -> CudaFormula:
        """The GPU's kernel."""
        written = [each for each, there in zip(self.written, how.present, strict=True) if there]
        writes = [place for place, each in enumerate(written) if each]
        numbers = self.numbers + 2 * self.decays
        return CudaFormula(f"{self.name}.step", self.formula_of(how), len(written), numbers=numbers, writes=writes)

    def formula_of(self, how: How) -> Function:
        """`after` of the arrays that there are, then the numbers: the new ones of those that there are."""

        def formula(xp: Any, *given: Any) -> tuple[Any, ...]:
            rest = iter(given)
            arrays = [next(rest) if there else None for there in how.present]
            return tuple(value for value in self.after(xp, arrays, list(rest), how) if value is not None)

        return formula


def _build(cpu: Cpu, *inputs: Any, rule: Rule, how: tuple[Any, ...]) -> "hl.Func":
    i, way = hl.Var("i"), How(*how)
    arrays, numbers = inputs[: sum(way.present)], inputs[sum(way.present) :]
    given = [*(array[i] for array in arrays), *numbers]
    values = Expressions(type_of(given[0]).bits()).of(rule.formula_of(way), given)
    return in_place(cpu, i, values, inputs[0].dim(0).extent())


# ------------------------------------------------------------------ the table


def _lerp(xp: Any, start: Any, end: Any, share: Any) -> Any:
    return (
        lerp(start, end, share) if isinstance(share, float | int) else lerp_of_expressions(xp.where, start, end, share)
    )


def _sgd(
    xp: Any, weights: Any, grad: Any, velocity: Any, lr: Any, momentum: Any, taken: Any, nesterov: bool, first: bool
) -> tuple[Any, ...]:
    """``taken`` is 1 - dampening. ``velocity`` is None without momentum; at the first step it is not read."""
    if velocity is None:
        return weights - lr * grad, None
    velocity = grad if first else velocity * momentum + taken * grad
    return weights - lr * (grad + momentum * velocity if nesterov else velocity), velocity


def _adam(
    xp: Any,
    weights: Any,
    grad: Any,
    m: Any,
    v: Any,
    lr: Any,
    mean_rate: Any,
    beta2: Any,
    square_rate: Any,
    inverse_root: Any,
    eps: Any,
) -> tuple[Any, ...]:
    """``lr`` is divided by 1 - beta1ᵗ already; ``inverse_root`` is 1/√(1 - beta2ᵗ), the rates 1 - beta1
    and 1 - beta2.
    """
    m = _lerp(xp, m, grad, mean_rate)
    v = v * beta2 + square_rate * grad * grad
    return weights - lr * m / (xp.sqrt(v) * inverse_root + eps), m, v


def _rmsprop(
    xp: Any,
    weights: Any,
    grad: Any,
    square: Any,
    mean: Any,
    velocity: Any,
    lr: Any,
    alpha: Any,
    taken: Any,
    eps: Any,
    momentum: Any,
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


def _adadelta(
    xp: Any, weights: Any, grad: Any, square: Any, moved: Any, lr: Any, rho: Any, taken: Any, eps: Any
) -> tuple[Any, ...]:
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


sgd: Final = Rule("sgd", _sgd, "weights velocity", flops=(2, 4))
adam: Final = Rule("adam", _adam, "weights m v", flops=12)
rmsprop: Final = Rule("rmsprop", _rmsprop, "weights square mean velocity", flops=12)
adagrad: Final = Rule("adagrad", _adagrad, "weights total", flops=7)
adadelta: Final = Rule("adadelta", _adadelta, "weights square moved", flops=14)
amsgrad: Final = Rule("amsgrad", _amsgrad, "weights m v largest", flops=13)
lion: Final = Rule("lion", _lion, "weights m", flops=9)
ema: Final = Rule("ema", _ema, "average", "weights", flops=3)
