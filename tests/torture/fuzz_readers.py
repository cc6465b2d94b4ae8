"""Fuzzing of every reader of outside bytes: only typednn's own errors come out, soon, and in characters that every file takes.

    python -m tests.torture.fuzz_readers [--mutations 20000] [--seconds 0] [--seed N] [NAME ...]

First seeded mutations that know how such files are built (`tests.torture.outside`), then, with ``--seconds``, coverage-guided ones by
atheris. Each reader runs in a process of its own: one that crashes it is told by its seed. Ends with 1 where one let another exception
out, or took more than `SLOW` seconds or `MOST` bytes. `make torture` runs it; `make test` has the short tests of the same readers.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

from tests.torture.outside import READERS, mutated
from typednn.errors import TypednnError

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
            start = time.perf_counter()
            problem = ""
            try:
                reader.read(path)
                read += 1
            except TypednnError as error:
                refused += 1
                problem = "" if str(error).isascii() or str(error).encode("utf-8", "replace").decode() == str(error) else "half a character"
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
    print(f"{name:<16} {count} mutations: {read} read, {refused} refused, {wrong} wrong; slowest {slowest:.2f} s, {most} MB", flush=True)
    return wrong


def guided(name: str, seconds: int) -> None:
    """Let atheris look for inputs that reach new code."""
    import atheris

    with atheris.instrument_imports(include=["typednn"]):
        import typednn.config
        import typednn.data
        import typednn.training.checkpoint
    assert typednn.config
    assert typednn.data
    reader = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = reader.prepare(Path(folder))

        def one(content: bytes) -> None:
            path.write_bytes(reader.finish(content))
            with suppress(TypednnError):
                reader.read(path)

        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        (corpus / "valid").write_bytes(reader.valid())
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1", str(corpus)], one)
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(READERS)}; all unless given")
    parser.add_argument("--mutations", type=int, default=20000, help="for each reader")
    parser.add_argument("--seconds", type=int, default=0, help="of coverage-guided fuzzing for each reader")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--one", choices=("mutations", "guided"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.names:
        if name not in READERS:
            parser.error(f"no reader {name!r}; there are {', '.join(READERS)}")
    if given.one == "mutations":
        return int(mutations(given.names[0], given.mutations, given.seed) > 0)
    if given.one == "guided":
        guided(given.names[0], given.seconds)
        return 0
    print(f"seed {given.seed}", flush=True)
    failed: list[str] = []
    for name in given.names or READERS:
        for way in ("mutations", "guided") if given.seconds else ("mutations",):
            command = [sys.executable, "-m", "tests.torture.fuzz_readers", "--one", way, "--seed", str(given.seed)]
            command += ["--mutations", str(given.mutations), "--seconds", str(given.seconds), name]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            runs = next((line.split(":")[-1].strip() for line in result.stderr.splitlines() if "number_of_executed_units" in line), "?")
            print(result.stdout.rstrip() if way == "mutations" else f"{name:<16} {runs} guided", flush=True)
            if result.returncode:
                failed.append(name)
                print(f"{name:<16} failed\n{result.stderr[-3000:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
