"""Lets several processes write one name at once, kills some of them by SIGKILL, and looks whether what lies there is
whole.

    python -m tests.torture.writers [--rounds 2000] [--seed N] [--of KIND ...]

In each round two to eight processes write, with pauses and short writes at their calls of the system, and two fifths of
them are killed: before or after one of those calls, or when the clock says so. Meanwhile another process reads. At any
moment there is one whole version, the earlier one or one that a writer wrote; a writer that was not killed succeeds, or
gets the refusal that typednn documents; what killed ones left is gone after the next writer. Ends with 1 where that is
not so. `KINDS` says what is written.
"""

from __future__ import annotations

import argparse
import fcntl
import http.server
import json
import os
import random
import re
import shutil
import signal
import socketserver
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from tests.support import sample_op
from typednn import Input, load
from typednn.data import read_tokens, write_tokens
from typednn.data.download import fetch
from typednn.data.loader import Loader
from typednn.engines import kernel
from typednn.engines.halide import toolchain
from typednn.errors import TypednnError
from typednn.exchange import export_json, export_npz, export_onnx
from typednn.exchange.onnx import export
from typednn.layers import Linear, ReLU
from typednn.models import hub
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.runs import Run
from typednn.runs.checksums import problems
from typednn.runs.environment import environment
from typednn.runs.run import RunLocked
from typednn.runs.state import TrainingState

LAST = 9  # the number of the writer that comes after all others, alone
UNFINISHED = re.compile(r"\.new-|\.old-|(typednn-)?building-|.*\.part$")
CRITICAL = {"flock", "fsync", "rename", "replace"}
CALLS = [
    (os, "fsync"),
    (os, "open"),
    (os, "rename"),
    (os, "replace"),
    (os, "scandir"),
    (os, "unlink"),
    (os, "write"),
    (fcntl, "flock"),
]
PATIENCE = 120.0  # seconds that a writer may take


@dataclass(frozen=True, slots=True)
class Kind:
    """What is written under one name: ``write(place, number)`` writes that version, ``read(place)`` gives the number of
    the one there.
    """

    write: Callable[[Path, int], object]
    read: Callable[[Path], int]
    share: int = 20  # of the rounds
    refused: str = "$^"  # what typednn may answer a writer
    same: bool = False  # every writer writes version 1
    lasting: bool = False  # the first version stays, and later writers go on with it
    gap: bool = False  # a killed writer may leave none
    watched: bool = True  # whether it is read while it is written
    earlier: Callable[[Path], object] | None = None  # writes version 0


# ------------------------------------------------------------------ single files


@cache
def model() -> Any:
    """One of 77 kB."""
    return (Input(64) >> Linear(64, 256) >> ReLU() >> Linear(256, 10)).init(PCG32(1))


def filled(number: int) -> Any:
    """The model, every parameter of which is ``number``."""
    model().load_state_dict({name: np.full_like(array, number) for name, array in model().state_dict().items()})
    return model()


def one(arrays: Sequence[Any]) -> int:
    """The number that fills all arrays; an error where there are two."""
    found = {float(each) for array in arrays for each in np.unique(np.asarray(array))}
    assert len(found) == 1, f"a mixture of {sorted(found)}"
    return int(found.pop())


def numbers_in(value: Any) -> Iterator[list[Any]]:
    """The lists of JSON."""
    for each in value.values():
        yield from numbers_in(each) if isinstance(each, dict) else [each]


def read_json(place: Path) -> int:
    """The number in a file of `export_json`."""
    return one([np.array(each) for each in numbers_in(json.loads(place.read_bytes()))])


def read_npz(place: Path) -> int:
    """The number in a file of `export_npz`."""
    with np.load(place) as arrays:
        assert sorted(arrays) == sorted(model().state_dict())
        return one([arrays[name] for name in arrays])


def read_model(place: Path) -> int:
    """The number in a file of `save`."""
    state: dict[str, Any] = load(place).state_dict()
    return one([*state.values()])


def tokens_of(place: Path) -> int:
    """The number in a file of `write_tokens`."""
    tokens = read_tokens(place, "uint64")
    assert len(tokens) == 20_000
    return one([tokens])


def read_onnx(place: Path) -> int:
    """The number in an ONNX file, and in the one of its weights where there is one."""
    onnx: Any = import_module("onnx")
    arrays = [onnx.numpy_helper.to_array(each) for each in onnx.load(place).graph.initializer]
    return one([array for array in arrays if array.dtype == np.float32])


def write_onnx(place: Path, number: int) -> None:
    """An ONNX file, run by onnx itself: onnxruntime starts threads, so it can't be imported before the forks."""
    sys.modules["onnxruntime"] = cast("Any", None)
    export_onnx(filled(number), place)


def write_apart(place: Path, number: int) -> None:
    """An ONNX file with its weights beside it, as one of more than 2 GiB has them."""
    setattr(export, "INLINE", 0)  # noqa: B010
    write_onnx(place, number)


# ------------------------------------------------------------------ run folders


def config_of(number: int) -> str:
    """A config that names the writer."""
    return f"# {'x' * 3000}\nseed = {number}\n"


def described(number: int) -> Any:
    """A model that prints the writer's number."""
    return Input(number + 1) >> Linear(number + 1, 2)


def number_of(place: Path) -> int:
    """The number in the run's config."""
    text = (place / "config.toml").read_text()
    number = int(text.removeprefix(config_of(0)[:-2]))
    assert text == config_of(number)
    return number


def known_step(place: Path) -> int:
    """The last step whose saving has ended, of the run that is there."""
    known = place.parent.parent / f"saved-{number_of(place)}"
    return max(map(int, known.read_text().split()), default=0) if known.exists() else 0


def save_some(run: Run, steps: int) -> None:
    """Hold the run, alone, and save so many checkpoints more."""
    known = known_step(run.folder)
    latest = run.latest()
    step = 0 if latest is None else latest.state.step
    assert step >= known, f"step {known} was saved, and {step} is the last"
    optimizer = SGD(0.1).bind(model())
    loader = Loader(np.zeros((4, 64), np.float32), np.zeros(4, np.int64), batch_size=2, shuffle=False)
    run.start_metrics(0 if latest is None else latest.state.metrics_bytes)
    run.write_start(step, "cpu")
    for now in range(step + 1, step + steps + 1):
        run.write_metrics({"kind": "step", "step": now, "epoch": 1, "loss": 0.5, "lr": 0.1})
        run.save(TrainingState(step=now), filled(now), optimizer, loader)
        with (run.folder.parent.parent / f"saved-{number_of(run.folder)}").open("a") as saved:
            saved.write(f"{now}\n")


@contextmanager
def alone_in(folder: Path, enter: Callable[[], Run]) -> Generator[Run]:
    """A run that is entered, and the proof that nobody else is in it: a lock of its own, which is free before the run's
    is.
    """
    with (folder / "held").open("a") as held, enter() as run:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield run
        finally:
            fcntl.flock(held, fcntl.LOCK_UN)


def go_on(place: Path, number: int) -> None:
    """Create the run or go on with it, once it is free."""

    def enter() -> Run:
        for _ in range(30):
            try:
                return (
                    Run.open(place)
                    if (place / "config.toml").exists()
                    else Run.create(place, config_of(number), described(number))
                )
            except RunLocked:
                time.sleep(0.01)
        return Run.open(place)

    with alone_in(place.parent.parent, enter) as run:
        save_some(run, 1 + number % 2)
    if number == LAST:
        assert problems(place)[1] == []


def overwrite(place: Path, number: int) -> None:
    """A new run in the place of an earlier one."""
    with alone_in(
        place.parent.parent, lambda: Run.create(place, config_of(number), described(number), overwrite=True)
    ) as run:
        save_some(run, 1)


def read_run(place: Path) -> int:
    """The number in the run's config, where the rest of the folder belongs to it."""
    known = known_step(place)
    run = Run.open(place, lock=False)
    number = number_of(place)
    assert (place / "model.txt").read_text() == f"{described(number)}\n"
    assert json.loads((place / "environment.json").read_text()) == environment()
    latest = run.latest()
    step = 0 if latest is None else latest.state.step
    assert step >= known, f"step {known} was saved, and {step} is the last"
    if latest is not None:
        assert one([*latest.weights.values()]) == step
        lines = (place / "metrics.jsonl").read_bytes()[: latest.state.metrics_bytes].splitlines()
        assert [json.loads(line)["step"] for line in lines] == [*range(1, step + 1)]
    return number


# ------------------------------------------------------------------ kernels


def use_cache(place: Path) -> None:
    """Keep compiled kernels there, and what is not finished beside it."""
    os.environ["TYPEDNN_CACHE"] = str(place)
    beside = place.parent / "temporary"
    beside.mkdir(exist_ok=True)
    tempfile.tempdir = str(beside)


def with_runtime(place: Path) -> None:
    """A cache that holds the runtime alone: compiling a kernel takes a third of the time then."""
    kept = place.parents[2] / "runtime"
    if not kept.exists():
        from typednn.engines.halide import runtime

        use_cache(kept)
        runtime.load()
        shutil.rmtree(kept.parent / "temporary")
    shutil.copytree(kept, place)


def compute(name: str = "sample.relu") -> None:
    """Compile or load a kernel, and compare its result."""
    elements = toolchain.Array("elements", flat=True)
    x = np.linspace(-1, 1, 1001, dtype=np.float32)
    y = np.empty_like(x)
    kernel(name, sample_op.build, inputs=(elements,), outputs=(elements,))(x, y)
    assert np.array_equal(y, np.maximum(x, 0))


def compile_kernel(place: Path, number: int) -> None:
    """A kernel in the cache; the last writer comes much later, and compiles another one too."""
    use_cache(place)
    if number == LAST:
        for path in place.parent.rglob("*"):
            if UNFINISHED.match(path.name):
                os.utime(path, (0, 0))
    compute()
    if number == LAST:
        compute("sample.other")


def loaded_kernel(place: Path) -> int:
    """1 where the cache has the kernel, and it computes; nothing is compiled then."""

    def refused(*_: Any) -> None:
        raise AssertionError("the kernel was finished, and is compiled again")

    use_cache(place)
    if not [path for path in place.glob("*.so") if not path.name.startswith(kernel_of_all())]:
        return 0
    setattr(toolchain, "compile_object", refused)  # noqa: B010
    setattr(toolchain, "compile_runtime", refused)  # noqa: B010
    compute()
    return 1


def kernel_of_all() -> str:
    """The name of the runtime in the cache."""
    from typednn.engines.halide import runtime

    return runtime.key()


# ------------------------------------------------------------------ downloads

CONTENT = random.Random(1).randbytes(400_000)
BEFORE = b"before" * 50_000
FILES = {"config.json": b"{}", "merges.txt": CONTENT[:300], "model.safetensors": CONTENT[:120_000]}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Server(http.server.BaseHTTPRequestHandler):
    """/ranges/FILE and /whole/FILE are `CONTENT`, with and without Range; /api and /ann are a hub with `FILES`."""

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self) -> None:
        name = self.path.rpartition("/")[2]
        content, headers, code = CONTENT, dict[str, str](), 200
        if self.path.startswith("/api/models/ann/small/tree/"):
            listed = [
                {"type": "file", "path": path, "oid": "0" * 40, "size": len(text)} for path, text in FILES.items()
            ]
            content = json.dumps(listed).encode()
        elif self.path.startswith("/api/"):
            content = json.dumps(
                {"id": "ann/small", "sha": COMMIT, "siblings": [{"rfilename": path} for path in FILES]}
            ).encode()
        elif self.path.startswith("/ann/"):
            content = FILES[name]
            headers = {"ETag": f'"{sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if start and not self.path.startswith("/whole/"):
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            code = 206 if start < len(content) else 416
            content = content[start:]
        self.send_response(code)
        for header, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "GET":
            for piece in range(0, len(content), 40_000):
                self.wfile.write(content[piece : piece + 40_000])
                time.sleep(random.choice([0.0, 0.0, 0.002]))


class Serving(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Ends with the process that it serves."""

    daemon_threads = True
    request_queue_size = 100
    parent = os.getpid()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client was killed."""

    def service_actions(self) -> None:
        if os.getppid() != self.parent:
            os._exit(0)


@cache
def address() -> str:
    """That of a server in a process of its own, so that this one has no threads when it forks."""
    with Serving(("127.0.0.1", 0), Server) as server:
        if not os.fork():
            server.serve_forever(0.05)
        return f"http://127.0.0.1:{server.server_address[1]}"


def download(place: Path, number: int) -> None:
    """The file, from a server that knows Range or one that does not."""
    where = f"{address()}/{'ranges' if number % 2 else 'whole'}/file.bin"
    fetch(where, place, checksum=f"sha256:{sha256(CONTENT).hexdigest()}")


def downloaded(place: Path) -> int:
    """1 for the file, 0 for the one before."""
    found = place.read_bytes()
    assert found in (CONTENT, BEFORE), f"{len(found)} bytes"
    return int(found == CONTENT)


def hub_cache(place: Path) -> Any:
    """Let the cache of `huggingface_hub` be there."""
    from huggingface_hub import constants

    os.environ["HF_ENDPOINT"] = address()
    setattr(constants, "HF_HUB_CACHE", str(place))  # noqa: B010
    return constants


def download_model(place: Path, number: int) -> None:
    """The repository of the hub."""
    hub_cache(place)
    folder = hub.local_folder("writers", "hf://ann/small")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES


def downloaded_model(place: Path) -> int:
    """1 where the cache alone has all files, 0 where it has none or some; each that has its name is whole."""
    found = {path.name: path.read_bytes() for path in place.glob("models--*/snapshots/*/*")}
    assert all(FILES[name] == content for name, content in found.items())
    return int(found == FILES)


# ------------------------------------------------------------------ the table

LOCKED = "one process at a time trains|a new run needs a"
KINDS: dict[str, Kind] = {
    "model": Kind(lambda place, number: filled(number).save(place), read_model),
    "json": Kind(lambda place, number: export_json(filled(number), place), read_json, 5),
    "npz": Kind(lambda place, number: export_npz(filled(number), place), read_npz, 10),
    "tokens": Kind(lambda place, number: write_tokens(place, np.full(20_000, number), "uint64"), tokens_of, 10),
    "onnx": Kind(write_onnx, read_onnx, 1),
    "onnx-apart": Kind(write_apart, read_onnx, 1, watched=False),
    "run": Kind(go_on, read_run, 15, LOCKED, lasting=True),
    "overwrite": Kind(overwrite, read_run, 5, LOCKED, gap=True, watched=False),
    "download": Kind(
        download,
        downloaded,
        20,
        "one download of a file at a time",
        same=True,
        earlier=lambda place: place.write_bytes(BEFORE),
    ),
    "hub": Kind(download_model, downloaded_model, 1, same=True, watched=False, earlier=lambda place: place.mkdir()),
    "kernels": Kind(compile_kernel, loaded_kernel, 3, same=True, watched=False, earlier=with_runtime),
}
NEEDED = {"onnx": "onnx.reference", "onnx-apart": "onnx.reference", "hub": "huggingface_hub", "kernels": "halide"}


# ------------------------------------------------------------------ processes


def interrupted(draw: random.Random, deadly: float) -> None:
    """Pauses at this process's calls of the system, short writes, and, as likely as ``deadly``, its end before or after
    a critical one.
    """
    slow = draw.choice([0.0, 0.002, 0.01])

    def moment(name: str) -> None:
        if draw.random() < (deadly if name in CRITICAL else deadly / 8):
            os.kill(os.getpid(), signal.SIGKILL)
        if slow and draw.random() < 0.3:
            time.sleep(draw.uniform(0, slow))

    def wrapped(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            moment(name)
            if name == "write" and len(arguments[1]) > 1000:
                arguments = (arguments[0], arguments[1][: draw.randint(1, len(arguments[1]))])
            result = real(*arguments, **named)
            moment(name)
            return result

        return call

    for module, name in CALLS:
        setattr(module, name, wrapped(getattr(module, name), name))


def forked(work: Callable[[], object], said: Path, refused: str = "$^") -> int:
    """A process that does ``work``; ``said`` gets what it gives. It ends with 0, 1 after an error, 2 after one that
    ``refused`` expects.
    """
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        text = str(work())
        code = 0
    except BaseException as error:
        text = traceback.format_exc()
        if isinstance(error, TypednnError) and re.search(refused, str(error)):
            code = 2
    try:
        said.write_text(text)
    finally:
        os._exit(code)


def ended(process: int, within: float = PATIENCE) -> int:
    """How a process ended: its code, or the negative number of the signal; a `TimeoutError` where it does not."""
    until = time.monotonic() + within
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise TimeoutError(f"a process hangs for {within} s")
        time.sleep(0.0005)


def asked(work: Callable[[], object], said: Path) -> str:
    """What a process of its own gives; an `AssertionError` with its traceback where it fails."""
    said.unlink(missing_ok=True)
    code = ended(forked(work, said))
    assert code == 0, f"it ended with {code}: {last_of(said)}"
    return said.read_text()


def last_of(said: Path) -> str:
    """The last line of what a process said."""
    return said.read_text().strip().rpartition("\n")[2] if said.exists() else ""


def watch(kind: Kind, place: Path, over: Path, allowed: set[int], there: bool) -> int:
    """Read until ``over`` is there; how often something was. A version that is not whole, or none after one, is an
    error.
    """
    reads = 0
    while not over.exists():
        try:
            version = kind.read(place)
        except FileNotFoundError:
            assert not there, "there was a version, and now there is none"
            continue
        except TypednnError as error:
            if there or not re.search("no such file|No such file|a run folder holds", str(error)):
                raise
            continue
        assert version in allowed, f"version {version}"
        there = True
        reads += 1
    return reads


# ------------------------------------------------------------------ a round


@dataclass(slots=True)
class Told:
    """What came of the rounds of a kind."""

    rounds: int = 0
    writers: int = 0
    finished: int = 0
    killed: int = 0
    refused: int = 0
    reads: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])
    pace: float = 0.02  # the seconds of one writer, as far as they are known


def compete(kind: Kind, place: Path, draw: random.Random, told: Told) -> tuple[set[int], set[int], list[str]]:
    """Let writers write at once and kill some; the numbers of those that finished, of those that were killed, and what
    went wrong.
    """
    folder, numbers = place.parent.parent, range(1, draw.randint(2, 8) + 1)
    going, opening = os.pipe()

    def work(number: int, seed: int, deadly: float) -> float:
        os.close(opening)
        os.read(going, 1)
        own = random.Random(seed)
        time.sleep(own.choice([0.0, own.uniform(0, told.pace)]))
        start = time.monotonic()
        interrupted(own, deadly)
        kind.write(place, number)
        return time.monotonic() - start

    processes: dict[int, int] = {}
    deaths: list[tuple[float, int]] = []
    for number in numbers:
        doomed = draw.random() < 0.4
        deadly = draw.choice([0.02, 0.05, 0.25]) if doomed and draw.random() < 0.6 else 0.0
        processes[number] = forked(
            partial(work, number, draw.getrandbits(32), deadly), folder / f"said-{number}", kind.refused
        )
        if doomed and not deadly:
            deaths.append((draw.uniform(0, 2 * told.pace), processes[number]))
    os.close(going)
    start = time.monotonic()
    os.close(opening)
    for moment, process in sorted(deaths):
        time.sleep(max(0.0, start + moment - time.monotonic()))
        os.kill(process, signal.SIGKILL)  # it was not waited for, so the number is still its own
    finished, killed, wrong = set[int](), set[int](), list[str]()
    for number, process in processes.items():
        try:
            code = ended(process)
        except TimeoutError as error:
            wrong.append(f"writer {number}: {error}")
            continue
        if code == 0:
            finished.add(number)
            told.pace = 0.9 * told.pace + 0.1 * float((folder / f"said-{number}").read_text())
        elif code == -signal.SIGKILL:
            killed.add(number)
        elif code == 2:
            told.refused += 1
        else:
            wrong.append(f"writer {number} ended with {code}: {last_of(folder / f'said-{number}')}")
    told.writers += len(numbers)
    told.finished += len(finished)
    told.killed += len(killed)
    return finished, killed, wrong


def check(kind: Kind, place: Path, finished: set[int], killed: set[int], there: bool) -> None:
    """What lies there after a round, and after one writer more."""
    said = place.parent.parent / "said"

    def known(numbers: set[int]) -> set[int]:
        return {min(number, 1) for number in numbers} if kind.same else numbers

    assert finished or killed, "every writer was refused, and none was killed"
    allowed = {0} if kind.lasting and there else known(finished | killed)
    if not finished:
        allowed.add(0)
    version: int | None = None
    empty = not place.exists() or (place.is_dir() and "config.toml" not in os.listdir(place) and kind.read is read_run)
    if not empty:
        version = int(asked(partial(kind.read, place), said))
        assert version in allowed, (
            f"version {version} is there; {sorted(finished)} finished, {sorted(killed)} were killed"
        )
    elif finished or there:
        assert killed if kind.gap else False, f"nothing is there; {sorted(finished)} finished"
    asked(partial(kind.write, place, LAST), said)
    expected = version if kind.lasting and version is not None else int(kind.same) or LAST
    now = int(asked(partial(kind.read, place), said))
    assert now == expected, f"version {now} is there after the last writer, not {expected}"
    left = [path.name for path in place.parent.rglob("*") if UNFINISHED.match(path.name)]
    assert not left, f"left behind: {left}"


def play(kind: Kind, folder: Path, draw: random.Random, told: Told) -> None:
    """One round; an `AssertionError` or a `TimeoutError` where something is wrong."""
    place = folder / "in" / "name"
    place.parent.mkdir(parents=True)
    there = draw.random() < 0.5
    if there:
        asked(partial(kind.earlier, place) if kind.earlier else partial(kind.write, place, 0), folder / "said")
    over, seen = folder / "over", folder / "seen"
    allowed = {0} if kind.lasting and there else {*range(9)}
    watcher = forked(partial(watch, kind, place, over, allowed, there), seen) if kind.watched else 0
    try:
        finished, killed, wrong = compete(kind, place, draw, told)
    finally:
        over.touch()
        code = ended(watcher) if watcher else 0
    if code:
        wrong.append(f"who read meanwhile ended with {code}: {last_of(seen)}")
    elif watcher:
        told.reads += int(seen.read_text())
    try:
        check(kind, place, finished, killed, there)
    except AssertionError as error:
        wrong.append(f"afterwards: {error}")
    assert not wrong, "; ".join(wrong)


def torture(names: Sequence[str], rounds: int, seed: int, folder: Path) -> dict[str, Told]:
    """All rounds; the folders of those that went wrong stay."""
    told = {name: Told() for name in names}
    of_all = random.Random(seed)
    for number, name in enumerate(of_all.choices(names, [KINDS[name].share for name in names], k=rounds), 1):
        here, start, place = told[name], time.monotonic(), folder / f"{number}-{name}"
        try:
            play(KINDS[name], place, random.Random(f"{seed} {number}"), here)
            shutil.rmtree(place)
        except (AssertionError, TimeoutError) as error:
            here.wrong.append(str(error))
            print(f"round {number}, {name}: {error}; see {place}", flush=True)
        here.rounds += 1
        here.seconds += time.monotonic() - start
    return told


def main(given: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture.writers", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=2000, help="of all kinds together (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the moments; drawn anew unless told")
    parser.add_argument(
        "--of", nargs="+", choices=KINDS, metavar="KIND", help=f"of {', '.join(KINDS)}; all unless given"
    )
    options = parser.parse_args(given)
    warnings.simplefilter("error")
    os.environ["no_proxy"] = "*"
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    names = [name for name in options.of or KINDS if name not in NEEDED or find_spec(NEEDED[name].partition(".")[0])]
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    for package in {NEEDED[name] for name in names if name in NEEDED}:
        import_module(package)  # before the forks: each process needs it
    if "hub" in names:
        hub_cache(Path("unused"))
        library: Any = import_module("huggingface_hub")
        assert library.snapshot_download  # imported when it is asked for
    for begin in (model, environment, address):
        begin()  # each process has them then
    folder = Path(tempfile.mkdtemp(prefix="typednn-writers-"))
    told = torture(names, options.rounds, seed, folder)
    for name, each in told.items():
        counts = (
            f"{each.writers} writers: {each.finished} finished, {each.killed} killed, {each.refused} refused; "
            f"{each.reads} reads"
        )
        print(
            f"{name:<11} {each.rounds:>4} rounds of {counts}; {len(each.wrong)} wrong; {each.seconds:.0f} s", flush=True
        )
    wrong = sum(len(each.wrong) for each in told.values())
    killed, rounds = sum(each.killed for each in told.values()), sum(each.rounds for each in told.values())
    print(f"{'FAIL' if wrong else 'PASS'}: {killed} kills in {rounds} rounds, {wrong} of them wrong; seed {seed}")
    if not wrong:
        shutil.rmtree(folder)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
