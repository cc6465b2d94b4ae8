"""The processor: what it can do, how wide its vectors are, how many registers hold them, how many cores are ours.

A kernel's tiles follow from these: accumulators have to stay in registers, and lanes to fill a vector. Flags come from
``/proc/cpuinfo``, so that asking loads no compiler; where there is no such file, the least that the architecture promises.
"""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

AVX2 = frozenset({"avx", "avx2", "fma", "f16c"})
# The sets that compilers call Skylake: what an AVX-512 kernel of OpenBLAS or Halide takes for granted.
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


@dataclass(frozen=True, slots=True)
class Cpu:
    """What a schedule has to know: ``lanes`` float32 numbers in a vector, ``registers`` vectors at hand."""

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
        """Whether every one of ``flags`` is there."""
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
    facts: dict[str, str] = {}
    flags: frozenset[str] | None = None
    for line in cpuinfo.splitlines():
        name, _, value = map(str.strip, line.partition(":"))
        facts.setdefault(name, value)
        if name in ("flags", "Features"):
            flags = frozenset(value.split()) if flags is None else flags.intersection(value.split())
    vendor = facts.get("vendor_id", facts.get("CPU implementer", ""))
    model = facts.get("model name", facts.get("CPU part", ""))
    return Processor({"AMD64": "x86_64", "arm64": "aarch64"}.get(machine, machine), vendor, model, flags or frozenset())


def for_schedules(of: Processor) -> Cpu:
    """What kernels are scheduled for on ``of``."""
    if of.machine != "x86_64":
        return Cpu(of.machine, 4, 32)
    if of.has(AVX512):
        return Cpu(of.machine, 16, 32)
    return Cpu(of.machine, 8 if of.has({"avx"}) else 4, 16)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
