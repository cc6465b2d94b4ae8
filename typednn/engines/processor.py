"""The processor: its instruction sets, the width and number of its vector registers.

A kernel's tiles follow from these: accumulators have to stay in registers, and lanes to fill a vector. Flags are what
Linux tells, without loading a compiler; elsewhere the minimum of the architecture is assumed. ``TYPEDNN_TARGET`` limits
kernels and matrix products to an older instruction set.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from typednn import system
from typednn.errors import ArgumentError, explain

AVX2 = frozenset({"avx", "avx2", "fma", "f16c"})
# The sets that compilers call Skylake: AVX-512 kernels of OpenBLAS and Halide need all of them.
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}

# What TYPEDNN_TARGET may be: the flags that it needs, and the beginnings of the flags that are then left out.
_TARGETS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "avx512": (AVX512, ()),
    "avx2": (AVX2, ("avx512", "avx10", "avx_vnni", "avxvnni", "amx")),
    "sse4.1": (frozenset({"sse4_1"}), ("avx", "f16c", "fma", "amx")),
}


@dataclass(frozen=True, slots=True)
class Cpu:
    """What a schedule needs: ``lanes`` numbers in a vector, float32 unless it is `of` another dtype, and the number of
    ``registers``.
    """

    machine: str
    lanes: int
    registers: int

    def of(self, dtype: str) -> Cpu:
        """The same for numbers of ``dtype``: half as many float64 numbers as float32 ones are in a vector."""
        return replace(self, lanes=self.lanes // 2) if dtype == "float64" else self


@dataclass(frozen=True, slots=True)
class Processor:
    """The machine that runs this process."""

    machine: str
    vendor: str
    model: str
    flags: frozenset[str]

    def has(self, flags: Iterable[str]) -> bool:
        """Whether the processor has all of ``flags``."""
        return self.flags.issuperset(flags)


@cache
def host() -> Processor:
    """This machine, read once."""
    return limited(read(system.processor_text(), platform.machine()), target())


@cache
def target() -> str:
    """``TYPEDNN_TARGET``, read once; empty where every instruction of the processor may be used."""
    return os.environ.get("TYPEDNN_TARGET", "")


def left_out(flag: str, target: str) -> bool:
    """Whether a flag, or a compiler's name for it, belongs to none of the instruction sets of ``target``."""
    return bool(target) and flag.startswith(_TARGETS[target][1])


def limited(processor: Processor, target: str) -> Processor:
    """``processor`` without the flags beyond ``target``, if there is one."""
    if not target:
        return processor
    if target not in _TARGETS or not processor.has(_TARGETS[target][0]):
        known = [name for name, (needed, _) in _TARGETS.items() if processor.has(needed)]
        rule = f"must be an instruction set of this processor: {', '.join(known) or 'there is none to choose'}"
        raise ArgumentError(explain("TYPEDNN_TARGET", rule, repr(target)))
    return replace(processor, flags=frozenset(flag for flag in processor.flags if not left_out(flag, target)))


def read(cpuinfo: str, machine: str) -> Processor:
    """A processor from Linux's text (`typednn.system.processor_text`); flags that not every core has don't count."""
    lines = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in cpuinfo.splitlines())]
    facts = dict(reversed(lines))  # those of the first core
    flags = [frozenset(value.split()) for name, value in lines if name in ("flags", "Features")] or [frozenset[str]()]
    return Processor(
        machine={"AMD64": "x86_64", "arm64": "aarch64"}.get(machine, machine),
        vendor=facts.get("vendor_id", facts.get("CPU implementer", "")),
        model=facts.get("model name", facts.get("CPU part", "")),
        flags=flags[0].intersection(*flags),
    )


def for_schedules(processor: Processor) -> Cpu:
    """The vectors of float32 numbers that kernels are scheduled for on ``processor``."""
    if processor.machine != "x86_64":
        return Cpu(processor.machine, 4, 32)
    if processor.has(AVX512):
        return Cpu(processor.machine, 16, 32)
    return Cpu(processor.machine, 8 if processor.has({"avx"}) else 4, 16)
