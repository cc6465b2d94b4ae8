"""--ranks and --restarts: several processes for one training, which are started again where one of them dies."""

import time
from argparse import Namespace
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from typednn.cli.interrupts import deferred
from typednn.cli.output import hint
from typednn.errors import ArgumentError, explain
from typednn.parallel.job import present, run
from typednn.parallel.ranks import Ranks, log_others, quiet_others, started
from typednn.parallel.telling import tell, watched
from typednn.recipes.plan import FILE
from typednn.runs.checkpoint import checkpoints

_State: TypeAlias = tuple[bytes, list[Path]]
_NOTHING: Final[_State] = (b"", [])


def starts_ranks(options: Namespace) -> bool:
    """Whether this process is to start ranks; those are processes with the same command line."""
    return options.ranks is not None and not started()


@contextmanager
def one_of_ranks(options: Namespace) -> Generator[None, None, None]:
    """In this block the process is a rank, and quiet unless it is the first; an error there ends the job."""
    if options.restarts and not watched():
        rule, got = "starts the ranks of a job again", "ranks that mpiexec started" if started() else "no --ranks"
        raise ArgumentError(explain("--restarts", rule, got, "give --ranks N"))
    present()
    with ExitStack() as stack:
        with deferred():  # Ctrl-C after MPI has started and outside of `together` would leave the others waiting
            quiet_others()
            ranks = Ranks()
            stack.enter_context(ranks.together())
        tell(begun=ranks.rank)
        if options.ranks not in (None, ranks.size):
            got, cure = f"{options.ranks}, where {ranks.size} were started", "leave it out"
            raise ArgumentError(explain("--ranks", "starts ranks, or says how many there are", got, cure))
        options.quiet = options.quiet or not ranks.is_first
        yield


def begins(folder: Path) -> Path:
    """The first rank's ``folder`` of the run. After a fault the process that started the ranks goes back to it; what
    other ranks have to say is logged there.
    """
    ranks = Ranks()
    folder = ranks.from_first(folder)
    if ranks.is_first:
        tell(run=str(folder))
    log_others(folder, FILE)
    return folder


def on_ranks(options: Namespace) -> int:
    """Start the ranks, and where one dies, up to ``--restarts`` times again; the exit code.

    Each job goes on from the last checkpoint, or from the start where there is none. Where not all ranks of a job have
    begun, the next has fewer: the largest number that divides it.
    """
    if options.restarts and getattr(options, "folds", None) is not None:
        got, cure = "--folds", "train each fold by itself: --set fold=1/N"
        raise ArgumentError(explain("--restarts", "goes on with one training", got, cure))
    start, count, words, restart = time.monotonic(), options.ranks, list(options.given), 0
    before = _NOTHING if options.run is None else _state(options.run)
    folder: str | None = options.run
    while True:
        ended = run(count, words)
        folder = folder or ended.run
        if not ended.failed or restart == options.restarts:
            break
        restart += 1
        if len(ended.begun) < count:
            count = next(
                (each for each in range(count - 1, 0, -1) if not count % each and not each % options.stages), count
            )
        words = [*_again(options, folder, before, time.monotonic() - start), "--ranks", str(count)]
        ranks = "1 rank" if count == 1 else f"{count} ranks"
        hint(f"typednn: {ended.cause}; restart {restart} of {options.restarts}: {_place(folder)}, on {ranks}")
    if ended.failed:
        then = f"; go on with: typednn resume {folder}" if folder and Path(folder, FILE).is_file() else ""
        hint(f"typednn: {ended.cause}{then}")
    return ended.code


def _again(options: Namespace, folder: str | None, before: _State, seconds: float) -> list[str]:
    """The words of the command that goes on with the run; the given ones where no job has begun with it: ``--epochs N``
    of resume is said once.
    """
    limit = [] if options.time_limit is None else ["--time-limit", str(max(1.0, options.time_limit - seconds))]
    if folder is None or _state(folder) in (before, _NOTHING):
        return [*options.given, *limit, *(["--run", folder] if folder and options.command == "train" else [])]
    given = {
        "--quiet": options.quiet,
        "--report": options.report,
        "--debug": options.debug,
        "--shard-optimizer": options.shard_optimizer,
    }
    words = ["resume", folder, *(flag for flag, is_given in given.items() if is_given), *limit]
    words += [] if options.stages == 1 else ["--stages", str(options.stages)]
    words += [] if options.track is None else ["--track", options.track]
    return [*words, *(word for module in options.modules for word in ("--import", module))]


def _state(folder: str) -> _State:
    """The plan and the checkpoints of a run, which change where one begins or goes on with it."""
    plan = Path(folder, FILE)
    return plan.read_bytes() if plan.is_file() else b"", checkpoints(Path(folder, "checkpoints"))


def _place(folder: str | None) -> str:
    saved = [] if folder is None else checkpoints(Path(folder, "checkpoints"))
    return f"from step {int(saved[-1].name.removeprefix('step-')):,}" if saved else "from the start"
