"""info: versions, machine, BLAS, threads, devices, extras."""

import os
import platform
import re
from argparse import Namespace
from contextlib import suppress
from importlib import metadata

import numpy as np

import typednn
from typednn import system
from typednn.backends import available
from typednn.cli.output import say_fitted
from typednn.engines import available as kernels_run
from typednn.engines import blas, get_threads, processor
from typednn.errors import installing
from typednn.parallel.job import found_mpi

_REQUIREMENT = re.compile(r"^([\w.-]+).*?(?:extra\s*==\s*['\"]([\w-]+)['\"])?\s*$")


def info(options: Namespace) -> int:
    """What a bug report needs, a line per fact."""
    threads = [
        f"{name}={os.environ[name]}"
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        if name in os.environ
    ]
    required, extras = _requirements()
    facts = {
        "typednn": typednn.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "machine": f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs",
        "numpy": np.__version__,
        "processor": _processor(),
        "kernels": f"Halide {metadata.version('halide')}, compiled for each shape and kept on disk"
        if kernels_run()
        else installing("NumPy's, as Halide is not installed or switched off; pip install 'typednn[fast]'"),
        "products": blas.why(),
        "threads": f"{get_threads()} for typednn's kernels and products; TYPEDNN_THREADS or "
        "typednn.engines.set_threads "
        "sets this",
        "numpy's blas": blas.numpy_blas() + (f" with {', '.join(threads)}" if threads else ""),
        "mpi": found_mpi(),
        "devices": ", ".join(available()),
        "needs": ", ".join(map(_installed, required)) or "unknown: typednn is not installed",
        **{f"[{extra}]": ", ".join(map(_installed, names)) for extra, names in extras.items()},
    }
    for name, fact in facts.items():
        say_fitted(f"{name:<14}{fact}")
    return 0


def _processor() -> str:
    here = processor.host()
    widest = "AVX-512" if here.has(processor.AVX512) else "AVX2" if here.has({"avx2", "fma"}) else here.machine
    if processor.target():
        widest += f" (TYPEDNN_TARGET={processor.target()})"
    return (
        f"{here.model or 'unknown'}: {widest}, {processor.for_schedules(here).lanes} float32 lanes, "
        f"{system.cores()} cores to use"
    )


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The packages that typednn needs, and the packages of each extra."""
    packages: dict[str, list[str]] = {"": []}
    with suppress(metadata.PackageNotFoundError):
        for line in metadata.requires("typednn") or []:
            match = _REQUIREMENT.match(line)
            if match and match[2] not in (
                "bench",
                "dev",
                "docs",
                "parity",
                "torture",
            ):  # those are for developers of typednn
                packages.setdefault(match[2] or "", []).append(match[1])
    return packages.pop(""), packages


def _installed(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"{name} not installed"
