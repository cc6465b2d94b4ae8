"""Findings for other programs: one JSON object a line, GitHub's annotations, SARIF 2.1.0."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from typednn.static_checks.findings import Finding
from typednn.static_checks.places import end_of, in_characters
from typednn.version import __version__

_RULES = {
    "shape": "Sizes of arrays and layers that do not fit together.",
    "syntax": "Python that cannot be parsed.",
    "damage": "A file of a run that is not what was written.",
    "hidden": "A file with the name of a package that sizes are known by, such as numpy.py: nothing can be checked.",
    "config": "A mistake in a model's config.",
}


def written_as(form: str, found: Sequence[Finding]) -> Iterator[str]:
    """The lines of the output in that format, one of `FORMATS`."""
    return FORMATS[form](found)


def _text(found: Sequence[Finding]) -> Iterator[str]:
    yield from map(str, found)


def _json(found: Sequence[Finding]) -> Iterator[str]:
    yield from (finding.as_json() for finding in found)


def _github(found: Sequence[Finding]) -> Iterator[str]:
    for finding in found:
        place = _region(finding)
        properties = {
            "file": finding.path.replace(os.sep, "/"),
            "line": place["startLine"],
            "col": place["startColumn"],
            "endLine": place["endLine"],
            "endColumn": place["endColumn"],
            "title": f"typednn {finding.code}",
        }
        listed = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items())
        yield f"::error {listed}::{_escaped(finding.message)}"


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\r\n{more}":  # the percent sign first: it begins what the others become
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _sarif(found: Sequence[Finding]) -> Iterator[str]:
    codes = sorted({*_RULES, *(finding.code for finding in found)})
    rules = [{"id": code, "shortDescription": {"text": _RULES.get(code, "What mypy says.")}} for code in codes]
    driver = {"name": "typednn", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": "error",
            "message": {"text": finding.message},
            "locations": [
                {"physicalLocation": {"artifactLocation": {"uri": _address(finding.path)}, "region": _region(finding)}}
            ],
        }
        for finding in found
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps(
        {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}, indent=2
    )


def _address(path: str) -> str:
    """Relative paths stay so: those who read the file know where the repository is."""
    return (
        Path(path).as_uri() if Path(path).is_absolute() else quote(path.replace(os.sep, "/"), errors="surrogateescape")
    )


def _region(finding: Finding) -> dict[str, Any]:
    """Lines and columns, in characters, from 1; the end is behind the last character."""
    text = ""
    with suppress(OSError, UnicodeDecodeError):
        text = Path(finding.path).read_text(encoding="utf-8")
    column = in_characters(text, finding.line, finding.column) if finding.code == "shape" else finding.column
    if finding.code == "config":
        return {"startLine": finding.line, "startColumn": column, "endLine": finding.line, "endColumn": column}
    line, end = end_of(text, finding.line, finding.column)
    return {
        "startLine": finding.line,
        "startColumn": column,
        "endLine": line,
        "endColumn": max(column, in_characters(text, line, end)),
    }


FORMATS: Final[dict[str, Callable[[Sequence[Finding]], Iterator[str]]]] = {
    "text": _text,
    "github": _github,
    "json": _json,
    "sarif": _sarif,
}
