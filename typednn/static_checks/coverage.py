"""How much of each function's sizes is known, and where the knowledge was lost."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.mypy_plugin.facts import Function, ModuleFacts


def coverage(files: Sequence[str], known: Mapping[str, "ModuleFacts"], *, as_json: bool) -> Iterator[str]:
    """A line for each function, below it one for each loss, and totals; or a JSON object each. ``known`` is by absolute
    path.
    """
    functions = [
        (file, function)
        for file in files
        if (path := os.path.abspath(file)) in known
        for function in known[path].functions
    ]
    return _objects(functions) if as_json else _lines(functions)


def _lines(functions: Sequence[tuple[str, "Function"]]) -> Iterator[str]:
    counts = {"proven": 0, "partly": 0, "unknown": 0}
    for file, function in functions:
        counts[function.verdict] += 1
        yield f"{file}:{function.line}: {function.name}: {function.verdict}"
        yield from (f"  {file}:{loss.span.line}: {loss.what}" for loss in function.losses)
    total = len(functions)
    share = f"; {100 * counts['proven'] // total} % proven" if total else ""
    yield (
        f"{total} function{'' if total == 1 else 's'}: "
        f"{', '.join(f'{count} {verdict}' for verdict, count in counts.items())}{share}"
    )


def _objects(functions: Sequence[tuple[str, "Function"]]) -> Iterator[str]:
    for file, function in functions:
        losses = [
            {"line": loss.span.line, "column": loss.span.column + 1, "what": loss.what} for loss in function.losses
        ]
        told = {
            "path": file,
            "line": function.line,
            "function": function.name,
            "verdict": function.verdict,
            "losses": losses,
        }
        yield json.dumps(told)
