"""The processor: its instruction sets, the width and number of its vector registers, the cores of this process.

A kernel's tiles follow from these: accumulators have to stay in registers, and lanes to fill a vector. Flags are read from
``/proc/cpuinfo``, without loading a compiler; where there is no such file, the minimum of the architecture is assumed.
"""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

AVX2 = frozenset({"avx", "avx2", "fma", "f16c"})
# The sets that compilers call Skylake: AVX-512 kernels of OpenBLAS and Halide need all of them.
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


@dataclass(frozen=True, slots=True)
class Cpu:
    """What a schedule needs: ``lanes`` float32 numbers in a vector, and the number of vector ``registers``."""

    machine: str
    lanes: int
    registers: int


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
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return read(text, platform.machine())


def read(cpuinfo: str, machine: str) -> Processor:
    """A processor from the text of ``/proc/cpuinfo``; flags that not every core has don't count."""
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
    """The vectors that kernels are scheduled for on ``processor``."""
    if processor.machine != "x86_64":
        return Cpu(processor.machine, 4, 32)
    if processor.has(AVX512):
        return Cpu(processor.machine, 16, 32)
    return Cpu(processor.machine, 8 if processor.has({"avx"}) else 4, 16)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
