"""Runs every benchmark, or the one that is named: ``python -m benchmarks``, ``python -m benchmarks gpt2 --eager``.

One that fails is told, and the others still run; the exit code is the greatest of all.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

ALL = (
    "checks",
    "lenet5",
    "kernels",
    "layers",
    "graph",
    "generated",
    "plans",
    "gpt2",
    "mixed",
    "shakespeare",
    "from_c",
    "serving",
    "parallel",
    "clusters",
    "first_results",
)


def run(name: str, options: Sequence[str]) -> int:
    """One benchmark's exit code."""
    return int(import_module(f"benchmarks.{name}").main(options))


def guarded(name: str) -> int:
    """The same without options; 1 for one that ends in an error, which is printed."""
    try:
        return run(name, [])
    except SystemExit as end:
        print(f"benchmarks.{name}: {end}", file=sys.stderr)
        return 1
    except Exception:  # whatever it is, the others are still measured
        traceback.print_exc()
        return 1


def main(arguments: Sequence[str]) -> int:
    """Run what is named, or all."""
    if not arguments:
        results: list[int] = []
        for name in ALL:
            results.append(guarded(name))
            print(flush=True)
        return max(results)
    name, *options = arguments
    if name not in ALL:
        sys.exit(f"no benchmark {name!r}; there are {', '.join(ALL)}")
    return run(name, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
