"""An op: one piece of arithmetic, declared once, run by the first of its engines that covers the arrays.

    forward = op(
        "relu.forward",
        reference.forward,                                  # any array, any float dtype: NumPy and CuPy; the oracle
        Engine("halide", cpu.forward, "x", least=2048),
        flops=1,                                            # for each number of the first argument
        keeps="x",                                          # what the derivative needs of arguments and result
        backward=backward,                                  # the op of the derivative
    )

`op` returns a function with the reference's arguments; ``forward.op`` is the declaration. The reference writes into
none of its arguments, and calls no engine and no other op. Its annotations name the axes of the arrays: by them mypy's
plugin knows the sizes of a result. Every engine agrees with it to rounding. `typednn.engines.counting` counts which
engine ran; `typednn.engines.observing` shows each run with its arguments and result.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from time import perf_counter
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, cast, final

import numpy as np

from typednn.engines import fast
from typednn.engines.counters import Ran, observers, running
from typednn.engines.dispatch import KERNELS, chosen_engine
from typednn.engines.halide.rehearsal import rehearsing
from typednn.generated import execute

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")

OPS: dict[str, Op] = {}


@final
class Engine:
    """A faster way to compute an op, and the arrays that it covers.

    ``arrays``, named as in the reference's signature, are all of one float dtype that the engine has, C-contiguous and
    not empty, or None; ``others``: further arrays or None, and what dtypes they may have, ``{"index": "uint8
    uint32"}``. ``least``: numbers in the first array from which the engine is quicker. ``same_shape``: all ``arrays``
    have one shape. ``sizes``, called last with all arguments, says whether kernels take these sizes. ``plan`` instead
    returns what runs them, or None; ``run`` gets it first. ``aligned``: the first array is written in place, in whole
    vectors. ``on``: `fast`, or `engines.cuda.on_gpu`. ``trusts`` is for an engine that looks at numbers: whether what
    its compiled code alone makes of these arguments, the results, is what the op gives. A plan asks it each time.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        arrays: str,
        *,
        others: Mapping[str, str] = MappingProxyType({}),
        least: int = 1,
        same_shape: bool = False,
        aligned: bool = False,
        sizes: Callable[..., bool] | None = None,
        plan: Callable[..., Any] | None = None,
        on: Callable[..., bool] = fast,
        trusts: Callable[[Sequence[Any], Sequence[Any]], bool] | None = None,
    ) -> None:
        self.name: str = name
        self.run: Callable[..., Any] = run
        self.arrays: tuple[str, ...] = tuple(arrays.split())
        self.others: dict[str, tuple[np.dtype[Any], ...]] = {
            each: tuple(map(np.dtype, text.split())) for each, text in others.items()
        }
        self.least: int = least
        self.same_shape: bool = same_shape
        self.aligned: bool = aligned
        self.sizes: Callable[..., bool] | None = sizes
        self.plan: Callable[..., Any] | None = plan
        self.on: Callable[..., bool] = on
        self.trusts: Callable[[Sequence[Any], Sequence[Any]], bool] | None = trusts

    def from_one(self) -> Engine:
        """The same for one number and more."""
        other = copy.copy(self)
        other.least = 1
        return other

    def condition(self, scope: dict[str, Any], call: str) -> str:
        """A Python expression: whether this engine computes the op for the arguments ``call``. Its names are put in
        ``scope``.
        """
        first, *rest = self.arrays
        on, sizes, plan = f"{self.name}_on", f"{self.name}_sizes", f"{self.name}_plan"
        scope |= {on: self.on, sizes: self.sizes, plan: self.plan}
        scope |= {f"{self.name}_{array}": dtypes for array, dtypes in self.others.items()}
        terms = [
            (self.least > 1, f"{first}.size >= {self.least}"),
            (True, f"{on}({', '.join(self.arrays)})"),
            *((self.same_shape, f"({array} is None or {array}.shape == {first}.shape)") for array in rest),
            (self.aligned, f"{first}.flags.aligned"),
            *((True, f"({array} is None or {on}({array}, dtypes={self.name}_{array}))") for array in self.others),
            (self.sizes is not None, f"{sizes}({call})"),
            (self.plan is not None, f"(planned := {plan}({call})) is not None"),
        ]
        return " and ".join(term for needed, term in terms if needed)


@final
class Op:
    """A declared op: see `op`."""

    def __init__(
        self,
        name: str,
        reference: Callable[..., Any],
        engines: tuple[Engine, ...],
        flops: Callable[..., int] | int,
        keeps: str,
        backward: Op | None,
        writes: str,
        names: Sequence[str],
    ) -> None:
        self.signature: Mapping[str, inspect.Parameter] = {} if names else inspect.signature(reference).parameters
        self.name: str = name
        self.reference: Callable[..., Any] = reference
        self.engines: tuple[Engine, ...] = engines
        self.flops: Callable[..., int] = partial(_for_each_number, flops) if isinstance(flops, int) else flops
        self.keeps: tuple[str, ...] = tuple(keeps.split())
        self.backward: Op | None = backward
        self.names: tuple[str, ...] = tuple(names or self.signature)
        self.writes: tuple[int, ...] = tuple(map(self.names.index, writes.split()))
        functions = _dispatching(self, self.signature, engines)
        self.engine: Callable[..., Engine | None] = functions[0]
        self.run: Callable[..., Any] = functions[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self  # a copy of what is computed by an op is computed by the same one

    @cached_property
    def kernel(self) -> Callable[..., Engine | None]:
        """As `engine`, for ``using("kernels")``: also where NumPy, BLAS or Winograd's convolution is quicker."""
        kernels = tuple(each.from_one() for each in self.engines if each.name not in ("blas", "winograd"))
        return _dispatching(self, self.signature, kernels)[0]

    def chosen(self, *arguments: Any) -> Engine | None:
        """The engine that covers them, of those that may run now."""
        return (self.kernel if chosen_engine() == KERNELS else self.engine)(*arguments)

    def run_reference(self, *arguments: Any) -> Any:
        """The reference's result, written over the arguments that the op writes."""
        result = self.reference(*arguments)
        if not self.writes:
            return result
        for place, value in zip(self.writes, result, strict=True):
            if value is not None:
                arguments[place][...] = value
        return None

    def observed(self, *arguments: Any) -> Any:
        """Run the op and report the run to all observers."""
        began = perf_counter()
        engine = self.chosen(*arguments)
        engine_arguments = arguments if engine is None or engine.plan is None else (engine.plan(*arguments), *arguments)
        running.ops += 1
        try:
            result = self.run_reference(*arguments) if engine is None else engine.run(*engine_arguments)
        finally:
            running.ops -= 1
        ran = Ran(self, "reference" if engine is None else engine.name, arguments, result, perf_counter() - began)
        if not rehearsing():
            for observer in tuple(observers):
                observer(ran)
        return result

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def op(
    name: str,
    reference: F,
    *engines: Engine,
    flops: Callable[..., int] | int,
    keeps: str = "",
    backward: Any = None,
    writes: str = "",
    names: Sequence[str] = (),
) -> F:
    """Declare an op. ``flops`` counts the operations of a call from its arguments; a number: for each number of the
    first argument.

    ``keeps`` names what ``backward``, the op of the derivative, needs besides ``next_grad``: arguments, and ``y``, the
    result. ``writes`` names the arguments that the op writes (an optimizer's); then the reference gives their new
    values, in this order. ``names`` of the arguments, where the reference's signature doesn't give them.
    """
    declared = OPS[name] = Op(name, reference, engines, flops, keeps, getattr(backward, "op", None), writes, names)
    run: Any = declared.run
    run.__doc__ = reference.__doc__
    run.op = declared
    return cast(F, run)


def flops_of(reference: Callable[P, Any], flops: Callable[P, int]) -> Any:  # mypy would take P from what `op` expects
    """``flops`` itself: type checkers know its arguments by those of ``reference``."""
    return flops


def _for_each_number(flops: int, first: Any, *_: Any) -> int:
    return flops * np.size(first)


def _dispatching(
    of: Op, signature: Mapping[str, inspect.Parameter], engines: Sequence[Engine]
) -> tuple[Callable[..., Engine | None], Callable[..., Any]]:
    """Two functions of the op's arguments: the engine that covers them, or None; and the result.

    Their source is generated, one line for each engine: a loop over engines would take as long as a small kernel.
    """
    call = ", ".join(
        f"*{name}" if name in signature and signature[name].kind is inspect.Parameter.VAR_POSITIONAL else name
        for name in of.names
    )
    defaults = {
        f"{name}_default": each.default
        for name, each in signature.items()
        if each.default is not inspect.Parameter.empty
    }
    head = ", ".join(f"{name}={name}_default" if f"{name}_default" in defaults else name for name in call.split(", "))
    scope: dict[str, Any] = {
        "observers": observers,
        "observed": of.observed,
        "reference": of.run_reference if of.writes else of.reference,
    }
    scope |= defaults
    engine, run = [f"def engine({head}):"], [f"def run({head}):", f"    if observers: return observed({call})"]
    for each in engines:
        scope |= {each.name: each, f"{each.name}_run": each.run}
        condition = each.condition(scope, call)
        engine.append(f"    if {condition}: return {each.name}")
        run.append(f"    if {condition}: return {each.name}_run({'planned, ' if each.plan else ''}{call})")
    source = "\n".join([*engine, "    return None", *run, f"    return reference({call})"])
    execute(source, f"dispatch of {of.name}", scope)
    return scope["engine"], scope["run"]
