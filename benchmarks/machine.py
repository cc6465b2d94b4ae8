"""The measured machine, and its load by other work during the measurement."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

# The processor features that determine the speed of a matrix product.
_FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "asimd", "sve")

# Variables that would change the choices of the measured libraries.
LEFT_OUT = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_THREAD_TIMEOUT",
    "MKL_DEBUG_CPU_TYPE",
    "TYPEDNN_ENGINE",
    "TYPEDNN_TARGET",
    "TYPEDNN_CHECKS",
    "PYTHONDONTWRITEBYTECODE",
)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def described() -> str:
    """Cores, processor and system in one line."""
    processor = {"name": platform.processor() or platform.machine(), "flags": ""}
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                processor["name"] = value.strip()
            elif key.strip() in ("flags", "Features"):
                processor["flags"] = " ".join(flag for flag in _FEATURES if flag in value.split())
    flags = f" ({processor['flags']})" if processor["flags"] else ""
    return (
        f"{cores()} cores, {processor['name']}{flags}, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}"
    )


# The variables that hold each library to an instruction set: typednn, OpenBLAS, PyTorch, oneDNN, MKL, JAX. ONNX Runtime
# has none.
TARGETS = {
    "avx2": {
        "TYPEDNN_TARGET": "avx2",
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    }
}


@dataclass(frozen=True, slots=True)
class How:
    """How libraries are measured: with so many threads, and held to an instruction set of `TARGETS` if one is named."""

    threads: int
    target: str = ""


def has_avx512(how: How) -> bool:
    """Whether libraries may use AVX-512."""
    return not how.target and "avx512f" in described()


def environment(how: How) -> dict[str, str]:
    """The environment of the measured processes: equal numbers of threads, without variables that select kernels."""
    names = (
        "TYPEDNN_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NPROC",
    )
    inherited = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    return inherited | dict.fromkeys(names, str(how.threads)) | TARGETS.get(how.target, {})


@dataclass(frozen=True, slots=True)
class Noise:
    """The machine's CPU time counters at one moment; the difference of two gives the load in between."""

    busy: int
    stolen: int
    total: int

    @classmethod
    def now(cls) -> Noise:
        stat = Path("/proc/stat")
        if not stat.is_file():
            return cls(0, 0, 0)
        user, nice, system, idle, wait, irq, softirq, steal, *_ = map(
            int, stat.read_text(encoding="ascii").splitlines()[0].split()[1:]
        )
        return cls(
            user + nice + system + irq + softirq, steal, user + nice + system + irq + softirq + steal + idle + wait
        )

    def until_now(self) -> str:
        """The load of all cores since then, as text."""
        now = Noise.now()
        if now.total == self.total:
            return "load unknown"
        busy, stolen = (
            100 * (after - before) / (now.total - self.total)
            for before, after in ((self.busy, now.busy), (self.stolen, now.stolen))
        )
        return (
            f"meanwhile the cores were {busy:.0f} % busy, {stolen:.0f} % taken by other machines; load average "
            f"{os.getloadavg()[0]:.1f}"
        )
