"""An op: one piece of arithmetic, declared once, run by the first of its engines that covers the arrays.

    forward = op(
        "relu.forward",
        reference.forward,                                  # any array, any float dtype: NumPy and CuPy; the oracle
        Engine("halide", cpu.forward, "x", least=2048),
        flops=lambda x: x.size,
        keeps="x",                                          # what the derivative needs of arguments and result
        backward=backward,                                  # the op of the derivative
    )

What `op` returns is called as the reference is, quickest with all arguments by position; ``forward.op`` is the declaration. The
reference writes into no array that it was given, and calls no engine and no other op. Every engine agrees with it to rounding. Which
engine ran is told by `typednn.engines.counting`, and all that an op was given and gave by `typednn.engines.observing`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from time import perf_counter
from types import MappingProxyType
from typing import Any, TypeVar, cast, final

import numpy as np

from typednn.engines import fast
from typednn.engines.counters import Ran, observers

F = TypeVar("F", bound=Callable[..., Any])

OPS: dict[str, Op] = {}


@final
class Engine:
    """What computes an op faster than its reference, and the arrays that it covers.

    ``arrays``, named as in the reference's signature, are all of one float dtype that the engine has, C-contiguous and not empty, or None;
    ``others``: further arrays, and what dtypes they may have, ``{"index": "uint8 uint32"}``. ``least``: numbers in the first array from
    which the engine is quicker. ``alike``: all ``arrays`` have one shape. ``sizes`` is asked last, with all arguments: whether kernels
    take these sizes. ``aligned``: the first array is written in place, in whole vectors. ``on``: `fast`, or `engines.cuda.on_gpu`.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        arrays: str,
        *,
        others: Mapping[str, str] = MappingProxyType({}),
        least: int = 1,
        alike: bool = False,
        aligned: bool = False,
        sizes: Callable[..., bool] | None = None,
        on: Callable[..., bool] = fast,
    ) -> None:
        self.name: str = name
        self.run: Callable[..., Any] = run
        self.arrays: tuple[str, ...] = tuple(arrays.split())
        self.others: dict[str, tuple[np.dtype[Any], ...]] = {each: tuple(map(np.dtype, text.split())) for each, text in others.items()}
        self.least: int = least
        self.alike: bool = alike
        self.aligned: bool = aligned
        self.sizes: Callable[..., bool] | None = sizes
        self.on: Callable[..., bool] = on

    def covers(self, names: Sequence[str]) -> Callable[[tuple[Any, ...]], bool]:
        """Whether this engine computes the arguments of an op that are called ``names``."""
        places = [names.index(name) for name in self.arrays]
        others = [(names.index(name), dtypes) for name, dtypes in self.others.items()]
        pick: Any = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))
        least, on, sizes = self.least, self.on, self.sizes

        def further(arguments: tuple[Any, ...], arrays: tuple[Any, ...]) -> bool:
            if self.alike and any(array is not None and array.shape != arrays[0].shape for array in arrays[1:]):
                return False
            if self.aligned and not arrays[0].flags.aligned:
                return False
            return all(on(arguments[place], dtypes=dtypes) for place, dtypes in others)

        more = self.alike or self.aligned or bool(others)

        def covered(arguments: tuple[Any, ...]) -> bool:
            arrays = pick(arguments)
            if arrays[0].size < least or not on(*arrays) or (more and not further(arguments, arrays)):
                return False
            return sizes is None or sizes(*arguments)

        return covered


@final
class Op:
    """A declared op: see `op`."""

    def __init__(self, name: str, reference: Callable[..., Any], engines: Sequence[Engine], names: Sequence[str]) -> None:
        self.name: str = name
        self.reference: Callable[..., Any] = reference
        self.engines: tuple[Engine, ...] = tuple(engines)
        self.names: tuple[str, ...] = tuple(names)
        self.keeps: tuple[str, ...] = ()
        self.writes: tuple[int, ...] = ()
        self.backward: Op | None = None
        self.flops: Callable[..., int]
        self.run: Callable[..., Any]
        self.choices: list[tuple[Callable[[tuple[Any, ...]], bool], Callable[..., Any]]] = [
            (engine.covers(self.names), engine.run) for engine in self.engines
        ]

    def referred(self, *arguments: Any) -> Any:
        """What the reference gives; written over the arguments that the op writes."""
        result = self.reference(*arguments)
        if not self.writes:
            return result
        for place, value in zip(self.writes, result, strict=True):
            if value is not None:
                arguments[place][...] = value
        return None

    def observed(self, *arguments: Any) -> Any:
        """A call of which observers are told."""
        began = perf_counter()
        chosen = next((place for place, (covers, _) in enumerate(self.choices) if covers(arguments)), None)
        run = self.referred if chosen is None else self.engines[chosen].run
        result = run(*arguments)
        ran = Ran(self, "reference" if chosen is None else self.engines[chosen].name, arguments, result, perf_counter() - began)
        for observer in tuple(observers):
            observer(ran)
        return result

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def op(
    name: str,
    reference: F,
    *engines: Engine,
    flops: Callable[..., int],
    keeps: str = "",
    backward: Any = None,
    writes: str = "",
    names: Sequence[str] = (),
) -> F:
    """Declare an op. ``flops`` counts the operations of a call from its arguments.

    ``keeps`` names what ``backward``, the op of the derivative, needs besides ``next_grad``: arguments, and ``y``, the result.
    ``writes`` names the arguments that the op writes (an optimizer's); then the reference gives their new values, in this order.
    ``names`` of the arguments, where the reference's signature doesn't tell.
    """
    signature = inspect.signature(reference)
    declared = OPS[name] = Op(name, reference, engines, names or list(signature.parameters))
    declared.flops = flops
    declared.keeps = tuple(keeps.split())
    declared.writes = tuple(map(declared.names.index, writes.split()))
    declared.backward = getattr(backward, "op", None)
    choices, fallback, given = declared.choices, declared.referred if writes else reference, 0 if names else len(declared.names)

    def run(*arguments: Any, **named: Any) -> Any:
        if named or len(arguments) < given:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        if observers:
            return declared.observed(*arguments)
        for covers, engine in choices:
            if covers(arguments):
                return engine(*arguments)
        return fallback(*arguments)

    run.__doc__ = reference.__doc__
    run.op = declared  # type: ignore[attr-defined]
    declared.run = run
    return cast(F, run)


__all__ = ["OPS", "Engine", "Op", "op"]
