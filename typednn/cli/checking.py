"""check, once or whenever a file changes, and lsp, which does so within an editor."""

import gc
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from typednn.cli.output import hint, say
from typednn.config import load
from typednn.errors import ArgumentError, ConfigError, TypednnError, explain
from typednn.runs.checksums import is_run, problems
from typednn.static_checks import (
    Finding,
    KeptMypy,
    coverage,
    findings,
    is_installed,
    known_facts,
    python_files,
    written_as,
)

_PAUSE = 0.3  # seconds between two looks at the files


def check(options: Namespace) -> int:
    """Check files. A config: its model, or a `ConfigError` with line, column and caret. Python: what the mypy plugin
    finds.

    Of a run's folder: whether its files are what was written.
    """
    if options.coverage and (options.watch or options.format in ("github", "sarif")):
        other = "--watch" if options.watch else f"--format {options.format}"
        raise ArgumentError(explain("--coverage", "writes text or JSON, once", other))
    if options.watch and options.format == "sarif":
        raise ArgumentError(
            explain("--watch", "writes text, JSON or GitHub's annotations", "--format sarif, one document")
        )
    return _watch(options) if options.watch else _checked(options)


def lsp(options: Namespace) -> int:
    """Serve an editor until it ends the session."""
    from typednn.language_server import serve

    return serve()


def _checked(options: Namespace, mypy: KeptMypy | None = None) -> int:
    runs = [target for target in options.targets if is_run(target)]
    damages = [finding for run in runs for finding in _damages(run, options)]
    targets = {target: python_files(target) for target in options.targets if target not in runs}
    refused = [_refusal(target, options) for target, files in targets.items() if files is None]
    files = list(dict.fromkeys(os.path.normpath(file) for files in targets.values() for file in files or ()))
    mistakes: list[Finding] = []
    facts: dict[str, Any] = {}
    if files and options.coverage:
        mistakes, facts = known_facts(files)
    elif files:
        mistakes = findings(files, mypy)
    shown = (
        mistakes
        if options.format == "text"
        else [*damages, *(finding for finding in refused if finding is not None), *mistakes]
    )
    for line in written_as(options.format, shown):
        say(line)
    if options.coverage:
        for line in coverage(files, facts, as_json=options.format == "json"):
            say(line)
    elif files and options.format == "text":
        say(_verdict(mistakes, len(files)))
    return 1 if mistakes or damages or refused.count(None) < len(refused) else 0


def _damages(run: str, options: Namespace) -> list[Finding]:
    """The files of a run that are not what was written; in a text they are told here."""
    count, found = problems(Path(run))
    if options.format == "text":
        for line in found:
            say(os.path.join(run, line))
        say(
            f"{run}: {_counted(len(found), 'problem')} in {_counted(count, 'file')}"
            if found
            else f"{run}: all of {count} files are what was written"
        )
    return [
        Finding(os.path.join(run, line.partition(":")[0]), 1, 1, line.partition(": ")[2], "damage") for line in found
    ]


def _refusal(path: str, options: Namespace) -> Finding | None:
    """What is wrong with a config, after its model or its error is shown; the error of a single one is raised for
    `run`.
    """
    try:
        model = load(path, imports=options.modules).built()
    except ConfigError as error:
        if options.format == "text":
            if options.debug or (len(options.targets) == 1 and not options.watch):
                raise
            hint(f"typednn check: {error}")
        message = error.message.splitlines()[0].removeprefix(f"{path}: ")
        return Finding(path, max(1, error.line), max(1, error.column), message, "config")
    if options.format == "text":
        say(f"{model}")
    return None


def _verdict(mistakes: Sequence[Finding], checked: int) -> str:
    if not mistakes:
        return f"no size mistakes found in {_counted(checked, 'file')}"
    return f"{_counted(len(mistakes), 'finding')} in {_counted(len({finding.path for finding in mistakes}), 'file')}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _watch(options: Namespace) -> int:
    """Check whenever a file changes, also one that the targets import. A mistake in the settings is told, and may be
    mended.

    Of an installed package mypy is silent once it has changed: that is refused.
    """
    mypy = KeptMypy()
    try:
        while True:
            if (installed := next(filter(is_installed, _files(options.targets)), None)) is not None:
                got = f"{installed}, of an installed package"
                raise ArgumentError(explain("--watch", "watches files that you write", got, "check it once"))
            before = _stamps(_watched(options.targets, mypy))
            try:
                _checked(options, mypy)
            except (TypednnError, OSError) as error:
                if options.debug:
                    raise
                hint(f"typednn check: {error}")
            sys.stdout.flush()
            # Of files that are read for the first time, the state after the check; a change during the check of any
            # other counts.
            before = _stamps(_watched(options.targets, mypy)) | before
            while _stamps(_watched(options.targets, mypy)) == before:
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        return 130
    finally:
        mypy.close()
        gc.freeze()  # the process ends here: to take apart what mypy kept would take seconds


def _watched(targets: Iterable[str], mypy: KeptMypy) -> set[str]:
    """The files of the targets, and those that they import."""
    return {os.path.abspath(file) for file in (*mypy.paths(), *targets, *_files(targets))}


def _files(targets: Iterable[str]) -> Iterator[str]:
    """The Python files of the targets."""
    for target in targets:
        with suppress(TypednnError):  # nothing there yet, or settings that cannot be read: the check says so
            yield from python_files(target) or ()


def _stamps(files: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    """Time and size of each file; None of one that is not there."""
    stamps: dict[str, tuple[int, int] | None] = {}
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            stamps[file] = None
        else:
            stamps[file] = None if os.path.isdir(file) else (status.st_mtime_ns, status.st_size)
    return stamps
