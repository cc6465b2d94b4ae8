"""Fuzzing of every reader of outside bytes: only typednn's own errors come out, soon, and in characters that every file
takes.

    python -m tests.torture.fuzz_readers [--mutations 20000] [--seconds 0] [--seed N] [NAME ...]

First seeded mutations that know how such files are built (`tests.torture.outside`), then, with ``--seconds``,
coverage-guided ones by atheris. Each reader runs in a process of its own: one that crashes it is told by its seed. Ends
with 1 where one let another exception out, or took more than `SLOW` seconds or `MOST` bytes. `make torture` runs it;
`make test` has the short tests of the same readers.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.torture.outside import mutated
from tests.torture.readers import READERS
from typednn.errors import TypednnError, printable

SLOW = 5.0
MOST = 2 << 30


def mutations(name: str, count: int, seed: int) -> int:
    """Try ``count`` mutations, each by a generator of its own; the number of those that were answered wrong."""
    reader = READERS[name]
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    told: set[str] = set()
    read = refused = wrong = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path, valid = reader.prepare(Path(folder)), reader.valid()
        path.write_bytes(reader.finish(valid))
        reader.read(path)
        for number in range(seed, seed + count):
            print(f"at {number}", end="\r", file=sys.stderr, flush=True)  # the last one is what crashed it
            path.write_bytes(reader.finish(mutated(valid, random.Random(number))))
            signal.alarm(60)  # ends a process that hangs
            start = time.perf_counter()
            problem = ""
            try:
                reader.read(path)
                read += 1
            except TypednnError as error:
                refused += 1
                problem = "" if printable(str(error)) == str(error) else "half a character in a message"
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"[:200]
            seconds = time.perf_counter() - start
            slowest = max(slowest, seconds)
            if seconds > SLOW:
                problem = problem or f"{seconds:.1f} s"
            if problem:
                wrong += 1
                kind = re.sub(r"\d+", "0", problem)
                if kind not in told:
                    told.add(kind)
                    print(f"    --seed {number} --mutations 1 {name!r}: {problem}", flush=True)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{name:<16} {count} mutations: {read} read, {refused} refused, {wrong} wrong; slowest {slowest:.2f} s, "
        f"{most} MB",
        flush=True,
    )
    return wrong


def _went(name: str, *module: str) -> bool:
    """Whether a process of its own ended well; what it says is told."""
    result = subprocess.run([sys.executable, "-m", *module], capture_output=True, text=True, check=False)
    units = re.search(r"number_of_executed_units: (\d+)", result.stderr)
    print(result.stdout.rstrip() or f"{name:<16} {units[1] if units else 'no'} inputs guided by coverage", flush=True)
    if result.returncode:
        print(f"{name:<16} failed", *result.stderr.splitlines()[-20:], sep="\n", flush=True)
    return result.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(READERS)}; all unless given")
    parser.add_argument(
        "--mutations", type=int, default=20000, help="for each reader; a twentieth where each starts a process"
    )
    parser.add_argument("--seconds", type=int, default=0, help="of coverage-guided fuzzing for each reader")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.names:
        if name not in READERS:
            parser.error(f"no reader {name!r}; there are {', '.join(READERS)}")
    if given.here:
        return int(mutations(given.names[0], given.mutations, given.seed) > 0)
    print(f"seed {given.seed}", flush=True)
    failed: list[str] = []
    for name in given.names or READERS:
        count, seed = str(-(-given.mutations // READERS[name].share)), str(given.seed)
        if not _went(name, "tests.torture.fuzz_readers", "--here", "--mutations", count, "--seed", seed, name):
            failed.append(name)
        with tempfile.TemporaryDirectory() as folder:
            if given.seconds and not _went(name, "tests.torture.guided", name, str(given.seconds), folder):
                failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
