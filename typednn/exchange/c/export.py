"""A model as a C library for x86-64: one object file with the kernels, the weights and the code that calls them.

The forward is recorded as calls of kernels (`recording`), for one size of a batch. Halide compiles the kernels again,
for the processors asked for, and a C compiler the code around them (`source`); what comes out needs neither Python nor
Halide. Before a file has its name, the library is loaded and its results are compared with the model's own on inputs
that the recording has not seen: so arithmetic that no kernel did cannot pass as a constant.
"""

from __future__ import annotations

import copy
import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from typednn.arrays import is_floating
from typednn.engines import observing, processor, using
from typednn.engines.counters import Ran
from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import toolchain
from typednn.engines.halide.toolchain import Target
from typednn.errors import ArgumentError, EngineError, LocatedError, NotInitialised, explain, installing
from typednn.exchange.c.recording import WHERE, record
from typednn.exchange.c.source import Texts, Variant
from typednn.exchange.checked import check_model
from typednn.exchange.tracing import example
from typednn.files import path_of, write_whole
from typednn.module.module import Module

Processors: TypeAlias = Literal["host", "avx512", "avx2", "both"]
TARGETS: Final[tuple[Processors, ...]] = ("host", "avx512", "avx2", "both")
TOLERANCE: Final = 1e-5  # of the largest number, between two instruction sets, whose sums have other orders
_SCALES: Final = (1.0, 1.0, 1.0, 0.01, 100.0)  # of inputs: two that are recorded, the others compared
WARNINGS: Final[tuple[str, ...]] = ()  # options of the C compiler, which tests set
_AVX512: Final = "avx512_skylake"  # Halide's name for what processors with AVX-512 have, but for the Xeon Phi


def export_c(
    model: Module,
    folder: str | os.PathLike[str],
    inputs: Any = None,
    *,
    batch: int = 1,
    target: Processors = "host",
    name: str = "",
    names: Sequence[str] = (),
    preparing: Sequence[str] = (),
) -> Path:
    """Write ``model``, in eval, as a C library for x86-64 and Linux into ``folder``; the path of the folder.

    ``NAME.o`` and ``NAME.h`` compute ``batch`` samples a call; ``example.c``, a ``Makefile`` and ``README.md`` say how.
    NAME is ``name``, or else the folder's; its functions begin with it. ``inputs`` is an example batch, which a model
    needs that declares no input. ``target``: the processors that run it: those like this one, all with AVX-512, all
    with AVX2, or "both", where the one that runs it decides. ``names`` are those of a classifier's outputs;
    ``preparing``: lines for README.md on the numbers that go in and come out.

    The results have the bits of ``model.forward`` within ``typednn.engines.using("kernels")``; those for another
    processor than this one differ from them by rounding. An `ArgumentError` where something in the forward is computed
    by no compiled kernel; an `EngineError` where there is no Halide or no C compiler.
    """
    place = path_of(WHERE, folder)
    check_model(WHERE, model)
    if target not in TARGETS:
        raise ArgumentError(explain(WHERE, f"target must be one of {', '.join(TARGETS)}", repr(target)), "target")
    if type(batch) is not int or batch < 1:
        raise ArgumentError(explain(WHERE, "batch must be a whole number from 1", repr(batch)), "batch")
    compiler = _compiler()
    targets = _targets(target)
    shapes = example(WHERE, model, inputs)
    if len(shapes) != 1:
        raise ArgumentError(explain(WHERE, "model must have one input", f"{len(shapes)} arrays"), "model")
    rng = np.random.default_rng(0)
    given = [_like(shapes[0], batch, rng, scale) for scale in _SCALES]
    try:
        program = record(model, given[:2])
    except NotInitialised:
        raise
    except LocatedError as error:
        raise ArgumentError(
            explain(f"{model.label()}.forward", "must take the example", str(error)), "inputs"
        ) from None
    texts = Texts(
        _identifier(name or place.resolve().name),
        re.sub(r"[^ -~]|\*/", "?", model.label()),
        program,
        [Variant(each.name, each.target.text) for each in targets],
        tuple(names),
    )
    with on_disk.build_folder() as build:
        content = _built(texts, targets, compiler, build)
        found = _compared(texts, targets, compiler, build, model, given[2:])
    files = {
        f"{texts.name}.o": content,
        f"{texts.name}.h": texts.header().encode(),
        "example.c": texts.example().encode(),
        "Makefile": texts.makefile().encode(),
        "README.md": texts.readme(found.elsewhere, found.difference, preparing).encode(),
    }
    for file, text in files.items():
        write_whole(place / file, text)
    return place


@dataclass(frozen=True, slots=True)
class _Compiled:
    """What is compiled: a name for C, and the machine."""

    name: str
    target: Target


def _compiler() -> str:
    """The C compiler."""
    found = next((path for each in ("cc", "gcc", "clang") if (path := shutil.which(each))), None)
    if not toolchain.available() or toolchain.fingerprint()[2] != "linux" or processor.host().machine != "x86_64":
        raise EngineError(installing(f"{WHERE} needs Halide, on Linux and x86-64: pip install 'typednn[fast]'"))
    if found is None:
        raise EngineError(explain(WHERE, "needs a C compiler", "none of cc, gcc and clang", "install gcc"))
    return found


def _targets(target: Processors) -> list[_Compiled]:
    """What to compile for, the best first."""
    if target == "host":
        return [_Compiled("host", toolchain.host())]
    result: list[_Compiled] = []
    for each in ("avx512", "avx2") if target == "both" else (target,):
        try:
            part = toolchain.part_of_host(each)
        except ArgumentError as error:
            raise ArgumentError(
                explain(WHERE, f"target {target} needs a processor with {each}", str(error).rpartition(", got ")[0]),
                "target",
            ) from None
        if each == "avx512":
            names = part.text.split("-")
            kept = [name for name in names if not name.startswith(("avx512_", "avx10", "avxvnni", "tune"))]
            part = Target("-".join([*kept, _AVX512]), part.cpu)
        result.append(_Compiled(each, part))
    return result


def _identifier(name: str) -> str:
    """``name`` as the beginning of names in C."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() else f"model_{plain}"


def _like(sample: np.ndarray[Any, Any], batch: int, rng: np.random.Generator, scale: float) -> np.ndarray[Any, Any]:
    """``batch`` samples of the kind of ``sample``, in an array that owns its memory."""
    shape = (batch, *sample.shape[1:])
    if is_floating(sample.dtype):
        return (scale * rng.standard_normal(shape)).astype(sample.dtype)
    return rng.choice(sample.reshape(-1), shape)


# ------------------------------------------------------------------ the object file


def _built(texts: Texts, targets: Sequence[_Compiled], compiler: str, folder: Path) -> bytes:
    """The object file, compiled in ``folder``."""
    objects: list[str] = []
    for variant, each in zip(texts.variants, targets, strict=True):
        for number, plan in enumerate(texts.plans):
            symbol = texts.symbol(variant, number)
            toolchain.compile_object(plan, folder / f"{symbol}.o", symbol, each.target)
            objects.append(f"{symbol}.o")
    # the runtime has to run wherever one of the kernels does
    toolchain.compile_runtime(folder / "runtime.o", targets[-1].target)
    (folder / "weights.bin").write_bytes(texts.program.weights)
    (folder / f"{texts.name}.h").write_text(texts.header())
    (folder / "plan.c").write_text(texts.plan("weights.bin"))
    _run([compiler, "-O2", "-std=gnu11", "-fPIC", *WARNINGS, "-c", "plan.c", "-o", "plan.o"], folder)
    _run([compiler, "-r", "-nostdlib", "-o", f"{texts.name}.o", "plan.o", "runtime.o", *objects], folder)
    return (folder / f"{texts.name}.o").read_bytes()


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(explain(WHERE, f"{' '.join(command)} must succeed", done.stderr.strip()))


# ------------------------------------------------------------------ its results


@dataclass(frozen=True, slots=True)
class Found:
    """Beside an ordinary forward: the ops that it computes without kernels, and the largest difference."""

    elsewhere: tuple[str, ...]
    difference: float


def _compared(
    texts: Texts,
    targets: Sequence[_Compiled],
    compiler: str,
    folder: Path,
    model: Module,
    given: Sequence[np.ndarray[Any, Any]],
) -> Found:
    """Compare the library in ``folder`` with the model, on each of ``given``; an `ArgumentError` where they differ."""
    library = folder / "check.so"
    _run([compiler, "-shared", "-Wl,-Bsymbolic", "-o", library.name, f"{texts.name}.o", "-lm", "-lpthread"], folder)
    loaded: Any = ctypes.CDLL(str(library))
    new, forward, free = (getattr(loaded, f"{texts.name}_{name}") for name in ("new_of", "forward", "free"))
    new.restype = ctypes.c_void_p
    forward.argtypes, free.argtypes = [ctypes.c_void_p] * 3, [ctypes.c_void_p]
    other: Any = copy.copy(model)
    other.eval()
    ran: list[Ran] = []
    with observing(ran.append):
        ordinary = [other.forward(x) for x in given]
    with using("kernels"):
        expected = [other.forward(x) for x in given]
    for number, each in enumerate(targets):
        made = new(number)
        if made is None:
            raise EngineError(explain(WHERE, f"{each.name} must run on this processor", "a refusal"))
        try:
            for x, y in zip(given, expected, strict=True):
                found = np.full_like(y, 77)
                code = forward(made, x.ctypes.data, found.ctypes.data)
                same = found.tobytes() == y.tobytes()
                if code or not (same if each.target == toolchain.host() else _difference(found, y) <= TOLERANCE):
                    got = f"code {code}" if code else f"a difference of {_difference(found, y):.3g}"
                    rule = "must be computed by compiled kernels alone, and give the same numbers in C"
                    cure = "export it to ONNX, or look for arithmetic of NumPy between its layers"
                    raise ArgumentError(explain(f"{WHERE}: {model.label()}", rule, got, cure), "model")
        finally:
            free(made)
    elsewhere = {f"{each.op.name} ({_LIBRARIES[each.engine]})" for each in ran if each.engine in _LIBRARIES}
    kept = {each for each in elsewhere if not each.startswith(_VIEWS)}
    difference = max(_difference(a, b) for a, b in zip(ordinary, expected, strict=True))
    return Found(tuple(sorted(kept)), difference)


_LIBRARIES: Final = {"reference": "NumPy", "blas": "OpenBLAS", "winograd": "Winograd's convolution"}
_VIEWS: Final = ("reshape", "split")


def _difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The largest difference, of the largest number, or of 1 where that is smaller; infinite where only one is NaN."""
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        return float("inf")
    apart = np.nan_to_num(np.abs(found.astype(np.float64) - expected))
    return float(apart.max() / max(1.0, float(np.nan_to_num(np.abs(expected)).max())))
