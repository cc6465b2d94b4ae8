"""All that the bits of a training depend on besides its config: versions, machine, threads, engine; and how a process
started it.
"""

import math
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np

from typednn import system
from typednn.backends import select
from typednn.engines import blas, fast, get_threads, processor
from typednn.runs.state import Json
from typednn.version import __version__

_COMMAND = 2000  # characters of a command line that are kept
_SECRET = r"(?i)((?:password|passwd|token|secret|api[-_]?key)(?:=|'?\s+)'?)[^\s']+|(?<=://)[^/@\s']+(?=@)"


def environment() -> Json:
    """The facts that must be equal for equal bits: versions, machine, threads, engine."""
    kernels = f"Halide {metadata.version('halide')}; {blas.why()}" if fast() else "reference kernels"
    limits = {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "typednn": __version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor.host().model or platform.processor(),
        "threads": {"cores": system.cores(), "kernels": get_threads(), **limits},
        "engine": f"{kernels}; NumPy with {blas.numpy_blas()}",
    }


def start(step: int, device: str) -> Json:
    """How this process begins to train: after which step, when (UTC), by which command, from which git commit, on what.

    The command line is its arguments only, without passwords in addresses; no variable of the environment but the
    numbers of threads. ``git`` is absent outside a repository, and ``gpu`` on a CPU.
    """
    code, gpu = git_state(Path.cwd()), select(device).described()
    return {
        "step": step,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command_line(sys.orig_argv),
        **({"git": code} if code else {}),
        **environment(),
        **({"gpu": gpu} if gpu else {}),
    }


def command_line(arguments: Sequence[str]) -> str:
    """``arguments`` as they would be typed, the program without its folder; passwords, tokens, and users of addresses
    become ``…``.
    """
    program, *others = arguments or [sys.executable]  # where Python is embedded there are none
    line = shlex.join([Path(program).name, *others]).encode(errors="replace").decode()
    return re.sub(_SECRET, r"\1…", line)[:_COMMAND]


def git_state(folder: Path) -> Json | None:
    """The commit that ``folder`` has checked out, and whether tracked files differ from it; None without a repository,
    a commit or git.
    """
    # Nothing in the repository is written, and no program is run that its settings name: no monitor, no filter, no
    # module's settings.
    variables = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        names = _git(["config", "--list", "--name-only", "-z"], folder, variables).split("\0")
        off = {"core.fsmonitor": "false"}
        for name in names:
            driver, _, key = name.rpartition(".")
            if driver.startswith("filter.") and key in ("clean", "smudge", "process", "required"):
                off[name] = "false" if key == "required" else ""
        for place, (name, value) in enumerate(off.items()):
            variables |= {f"GIT_CONFIG_KEY_{place}": name, f"GIT_CONFIG_VALUE_{place}": value}
        variables["GIT_CONFIG_COUNT"] = str(len(off))
        status = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all"]
        lines = _git(status, folder, variables).splitlines()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "")
    return (
        {"commit": commit, "changed": any(not line.startswith("#") for line in lines)}
        if re.fullmatch("[0-9a-f]{40,64}", commit)
        else None
    )


def _git(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    done = subprocess.run(["git", *command], cwd=folder, env=variables, capture_output=True, check=True, timeout=10)
    return done.stdout.decode(errors="surrogateescape")


def differences(before: Mapping[str, Any], now: Mapping[str, Any], dtype: str = "float32") -> list[str]:
    """The differences between two environments that can change the bits of a model of ``dtype``, a phrase each."""
    then, present = _deciding(before, dtype), _deciding(now, dtype)
    return [
        f"{key} was {str(then.get(key))[:100]}, is {str(present.get(key))[:100]}"
        for key in dict.fromkeys([*then, *present])
        if then.get(key) != present.get(key)
    ]


def _deciding(facts: Mapping[str, Any], dtype: str) -> Json:
    """The facts that decide the bits: Python without its micro version, the engine without the reasons for it, the
    threads in use.

    Compiled kernels compute float32 and float64, with products of the separate OpenBLAS package. NumPy multiplies
    without that package, and other dtypes. It uses as many threads as its environment variable says, or cores.
    """
    engine, threads = str(facts.get("engine", "")), facts.get("threads")
    deciding: Json = {
        **facts,
        "python": ".".join(str(facts.get("python", "")).split(".")[:2]),
        "engine": re.sub(r" \([^)]*\)", "", engine),
    }
    if isinstance(threads, dict):
        counts, compiled = cast("Json", threads), engine.startswith("Halide")
        del deciding["threads"]
        if compiled:
            deciding["the kernels' number of threads"] = counts.get("kernels")
        if dtype not in ("float32", "float64") or not compiled or "OpenBLAS multiplies" not in engine:
            names = ("MKL_NUM_THREADS" if "mkl" in engine.lower() else "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
            limit = next(
                (int(counts[name]) for name in names if str(counts.get(name, "")).isdecimal() and int(counts[name])),
                math.inf,
            )
            cores = counts.get("cores")
            deciding["the number of threads of NumPy's products"] = (
                min(limit, cores) if isinstance(cores, int) else limit
            )
    return deciding
