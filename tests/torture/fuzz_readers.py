"""Coverage-guided fuzzing of every reader, with atheris: only typednn's own errors come out.

    python -m tests.torture.fuzz_readers [--seconds 60] [NAME ...]

Each reader runs in a process of its own. Ends with 1 where one let another exception out; the input that did is kept beside.
`make torture` runs it; `make test` has the Hypothesis tests of the same readers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

READERS = ("config", "csv", "idx", "npy", "image", "checkpoint")


def reader(name: str, folder: Path) -> Callable[[bytes], object]:
    """What reads the bytes, as a user's file would be read."""
    from typednn import config, data
    from typednn.training import checkpoint

    if name == "config":
        return lambda content: config.loads(content.decode("utf-8", "replace"), name="fuzz.toml")
    path = folder / {"csv": "x.csv", "idx": "x-idx", "npy": "x.npy", "image": "x.png", "checkpoint": "state.json"}[name]
    if name == "checkpoint":
        path = folder / "step-00000001" / "state.json"
        path.parent.mkdir()
        for other in ("weights.safetensors", "optimizer.safetensors"):
            (path.parent / other).write_bytes(b"")
    readers: dict[str, Callable[[], object]] = {
        "csv": lambda: data.read_csv(path),
        "idx": lambda: data.read_idx(path),
        "npy": lambda: data.read_npy(path),
        "image": lambda: data.read_image(path),
        "checkpoint": lambda: checkpoint.read_checkpoint(path.parent),
    }
    read = readers[name]

    def written(content: bytes) -> object:
        path.write_bytes(content)
        return read()

    return written


def fuzz(name: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["typednn"]):
        import typednn.config
        import typednn.data
        import typednn.training.checkpoint
    from typednn.errors import TypednnError

    assert typednn.config
    assert typednn.data
    with tempfile.TemporaryDirectory() as folder:
        read = reader(name, Path(folder))

        def one(content: bytes) -> None:
            with suppress(TypednnError):
                read(content)

        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1"], one)
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(READERS)}; all unless given")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        fuzz(arguments.one, arguments.seconds)
        return 0
    failed: list[str] = []
    for name in arguments.names or READERS:
        if name not in READERS:
            parser.error(f"no reader {name!r}; there are {', '.join(READERS)}")
        command = [sys.executable, "-m", "tests.torture.fuzz_readers", "--one", name, "--seconds", str(arguments.seconds)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        runs = next((line.split(":")[-1].strip() for line in result.stderr.splitlines() if "number_of_executed_units" in line), "?")
        print(f"{name:<12} {'failed' if result.returncode else 'ok'}  {runs} inputs", flush=True)
        if result.returncode:
            failed.append(name)
            print(result.stdout[-2000:], result.stderr[-3000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
