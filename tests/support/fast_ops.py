"""How the tests of kernels/<op>/cpu.py compare: with the reference in float32 and float64, on one thread and two, for
every target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from effort import LONG
from hypothesis import strategies as st

from typednn.engines import counting, get_threads, processor, set_threads, using
from typednn.engines.halide import toolchain
from typednn.engines.halide.compiled import Kernel
from typednn.engines.halide.toolchain import Argument, Array, Target
from typednn.engines.processor import Cpu
from typednn.kernels.op import OPS, Op, op

SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 88.7, -88.7, 1e30, -1e30], np.float32)

# Machines that every kernel has to compile for: from the oldest x86-64 to a phone.
_X86 = "x86-64-linux"
TARGETS = {
    "x86-64": Target(_X86, Cpu("x86_64", 4, 16)),
    "sse4.1": Target(f"{_X86}-sse41", Cpu("x86_64", 4, 16)),
    "avx2": Target(f"{_X86}-sse41-avx-avx2-f16c-fma", Cpu("x86_64", 8, 16)),
    "avx512": Target(f"{_X86}-sse41-avx-avx2-f16c-fma-avx512-avx512_skylake", Cpu("x86_64", 16, 32)),
    "arm64": Target("arm-64-linux", Cpu("aarch64", 4, 32)),
}

needs_halide = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference on infinities

seeds = st.integers(0, 2**32 - 1)
floats = st.sampled_from([np.float32, np.float64])
# Around vectors of any machine, and around the sizes from which several threads and pieces are used.
sizes = st.one_of(
    st.integers(1, 70), st.sampled_from([127, 1000, 32767, 32768, 49153, 131071, 131072, 131073, 200_001])
)
batches = st.one_of(st.integers(1, 20), st.sampled_from([64, 1700]))


def numbers(seed: int, *shape: int, special: bool = False, scale: float = 3.0, dtype: Any = np.float32) -> Any:
    """Read-only numbers of both signs; if ``special``, a fifth of them NaN, infinite, zero or large."""
    rng = np.random.default_rng([seed, *shape])
    array = (rng.standard_normal(shape) * scale).astype(dtype)
    if special:
        array = np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape).astype(dtype), array)
    array.setflags(write=False)
    return array


def special_pairs() -> tuple[Any, Any]:
    """Every special number with every other, in two arrays."""
    first, second = np.array([(x, y) for x in SPECIAL for y in SPECIAL], np.float32).T
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def widened(argument: Any) -> Any:
    """In a dtype of more digits, if it is an array of floats: the reference there is the judge of kernels."""
    wider = {"float32": np.float64, "float64": np.longdouble}.get(str(getattr(argument, "dtype", "")))
    return argument if wider is None or not isinstance(argument, np.ndarray) else argument.astype(wider)


def _results(outcome: Any) -> tuple[Any, ...]:
    return outcome if isinstance(outcome, tuple) else (outcome,)


def _declared(function: Callable[..., Any]) -> Op:
    declared: Op = getattr(function, "op")  # noqa: B009
    return declared


def same_on_all_threads(computed: Callable[[], Iterable[Any]], counts: Sequence[int] = (1, 2, 2)) -> list[Any]:
    """Assert that ``computed`` gives arrays of the same bits on so many threads, and again; the first ones."""
    before, found = get_threads(), []
    try:
        for count in counts:
            set_threads(count)
            found.append([array for array in computed() if array is not None])
    finally:
        set_threads(before)
    bits = [[array.tobytes() for array in each] for each in found]
    assert all(each == bits[0] for each in bits)
    return found[0]


def agree(
    function: Callable[..., Any],
    *arguments: Any,
    magnitude: Callable[..., Any] | None = None,
    ulps: float = 8,
    least: float = 2e-38,
) -> tuple[Any, ...]:
    """Assert that Halide ran an op, alike on one thread and two, and gave the reference's results, which are returned.

    Without ``magnitude`` to the bit (but for the sign of 0). With it, within ``ulps`` roundings of its size (magnitude
    takes the arguments `widened`; it may give one for each result), and NaN and infinite exactly where the reference
    is.
    """

    def computed() -> tuple[Any, ...]:
        with counting() as counts:
            results = _results(function(*arguments))
        assert dict(counts) == {(_declared(function).name, "halide"): 1}
        return results

    found = tuple(same_on_all_threads(computed, (1, 2)))
    with using("reference"):
        expected = _results(function(*arguments))
        exact = _results(function(*map(widened, arguments))) if magnitude else expected
    sizes = magnitude(*map(widened, arguments)) if magnitude else None
    each = sizes if isinstance(sizes, tuple) else (sizes,) * len(expected)
    for one, wanted, true, its_size in zip(found, expected, exact, each, strict=True):
        assert one.dtype == wanted.dtype
        assert one.flags.c_contiguous
        assert not any(isinstance(argument, np.ndarray) and np.shares_memory(one, argument) for argument in arguments)
        if magnitude is None:
            np.testing.assert_array_equal(one, wanted)
        else:
            assert one.shape == wanted.shape
            finite = np.isfinite(wanted)
            np.testing.assert_array_equal(one[~finite], wanted[~finite])
            bound = np.broadcast_to(ulps * np.finfo(one.dtype).eps * its_size + least, one.shape)
            excess = np.abs(one.astype(true.dtype) - true)[finite] - bound[finite]
            assert excess.max(initial=-1) <= 0, f"{excess.max()} over the bound"
    return found


def at_any_size(function: Callable[..., Any]) -> Callable[..., Any]:
    """An op that leaves small arrays, or some dtypes, to NumPy, without that choice."""
    declared = _declared(function)
    engines = [copy(engine) for engine in declared.engines]
    for engine in engines:
        engine.least, engine.sizes = 1, None
    one: Callable[..., Any] = op(
        declared.name, declared.reference, *engines, flops=declared.flops, names=declared.names
    )
    OPS[declared.name] = declared
    return one


def by_reference(function: Callable[..., Any]) -> Callable[..., Any]:
    """An op on its reference."""

    def called(*arguments: Any, **named: Any) -> Any:
        with using("reference"):
            return function(*arguments, **named)

    return called


def judged_targets() -> dict[str, Target]:
    """All of them where much is wanted. Else without ARM, whose objects nothing here can run; without SSE 4.1, whose
    schedules are those before it; and without AVX-512 on a machine that has it, as all other tests run its schedules.
    """
    left_out = {
        "arm64",
        "sse4.1",
        *(["avx512"] if TARGETS["avx512"].cpu == processor.for_schedules(processor.host()) else []),
    }
    return {name: target for name, target in TARGETS.items() if LONG or name not in left_out}


def every_target(
    kernel: Kernel, arguments: Sequence[Any], shapes: Sequence[tuple[Any, ...]], folder: Path, rtol: float = 1e-5
) -> None:
    """Assert that ``kernel`` compiles for each target of `judged_targets`, and that x86 ones give here what this
    machine's gives.

    ``shapes`` holds the shape and dtype of each output.
    """
    wanted = [np.empty(*shape) for shape in shapes]
    kernel(*arguments, *wanted)
    for name, found in _on_targets(kernel, arguments, shapes, folder):
        for here, there in zip(wanted, found, strict=True):
            np.testing.assert_allclose(there, here, rtol=rtol, atol=1e-6, err_msg=name)


def on_every_target(kernel: Kernel, folder: Path, extent: int = 3, least: float = -1.0) -> None:
    """`every_target` with random arguments from ``least`` to 1, bytes up to 3, integers of 2³⁰, ``extent`` for every
    extent of a call.
    """
    rng = np.random.default_rng(0)

    def shape(argument: Array) -> tuple[Any, ...]:
        return tuple(extent if isinstance(size, str) else size for size in argument.shape), argument.dtype

    def drawn(argument: Argument) -> Any:
        if not isinstance(argument, Array):
            return 1 << 30 if argument.dtype == "int32" else 0.25
        sizes, dtype = shape(argument)
        return (
            rng.integers(0, 4, sizes).astype(dtype) if dtype == "uint8" else rng.uniform(least, 1, sizes).astype(dtype)
        )

    arguments = [drawn(argument) for argument in kernel.plan.inputs]
    ran = _on_targets(kernel, arguments, [shape(argument) for argument in kernel.plan.outputs], folder)
    first, wanted = next(ran)
    for name, found in ran:
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            apart = np.abs(one.astype(np.float64) - other).max()
            assert apart <= 1e-5 * max(np.abs(one).max(), 1e-3), (
                f"{kernel.plan.name}, output {number}: {name} is {apart} from {first}"
            )


def _on_targets(
    kernel: Kernel, arguments: Sequence[Any], shapes: Sequence[tuple[Any, ...]], folder: Path
) -> Iterator[tuple[str, list[Any]]]:
    """Compile for each target; the outputs of those that run here."""
    flat = [getattr(argument, "flat", False) for argument in (*kernel.plan.inputs, *kernel.plan.outputs)]
    here = processor.host()
    for name, target in judged_targets().items():
        if (
            target.cpu.machine != here.machine
            or {"avx2": "avx2", "avx512": "avx512vl"}.get(name, "fpu") not in here.flags
        ):
            toolchain.compile_object(kernel.plan, folder / f"{name}.o", "symbol", target)
            assert (folder / f"{name}.o").stat().st_size > 0
            continue
        found = [np.empty(*shape) for shape in shapes]
        with mock.patch.object(toolchain, "host", lambda target=target: target):
            run = toolchain.compile_in_memory(kernel.plan)
        run(
            *(
                value.reshape(-1) if is_flat else value
                for value, is_flat in zip((*arguments, *found), flat, strict=True)
            )
        )
        yield name, found
