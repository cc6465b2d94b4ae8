"""Findings and facts as the protocol's diagnostics, hints, hovers and actions.

mypy counts columns in bytes of UTF-8; the editor says how it counts them.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, final

from lsprotocol import types
from pygls.workspace import PositionCodec

from typednn.static_checks import Finding, end_of

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.static_checks import ModuleFacts, Problem, Span


@final
class Page:
    """A text, and how its editor counts columns."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text: str = text
        self.lines: list[str] = text.splitlines(keepends=True)
        self._codec = codec

    def position(self, line: int, column: int) -> types.Position:
        """Of a line from 1 and a column of bytes from 0."""
        if not 0 < line <= len(self.lines):
            return types.Position(max(0, min(line - 1, len(self.lines))), 0)
        characters = len(self.lines[line - 1].rstrip("\r\n").encode()[:column].decode(errors="ignore"))
        return self._codec.position_to_client_units(self.lines, types.Position(line - 1, characters))

    def range_of(self, span: "Span") -> types.Range:
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def part(self, span: "Span") -> str:
        """The text of a span within one line."""
        line = self.lines[span.line - 1] if 0 < span.line <= len(self.lines) else ""
        return (
            line.encode()[span.column : span.end_column].decode(errors="ignore") if span.line == span.end_line else ""
        )


def diagnostics(page: Page, found: Iterable[Finding], facts: "ModuleFacts | None") -> list[types.Diagnostic]:
    """A mistake is underlined where its expression stands."""
    spans = {(one.span.line, one.message): one.span for one in facts.problems} if facts else {}
    return [
        types.Diagnostic(
            range=page.range_of(spans[key])
            if (key := (finding.line, finding.message)) in spans
            else _range(page, finding),
            message=finding.message,
            severity=types.DiagnosticSeverity.Error,
            code=finding.code,
            source="typednn",
        )
        for finding in found
    ]


def _range(page: Page, finding: Finding) -> types.Range:
    if finding.code == "syntax":  # Python counts characters here
        line = page.lines[finding.line - 1] if 0 < finding.line <= len(page.lines) else ""
        column = len(line[: finding.column - 1].encode())
    else:
        column = finding.column - 1
    line_end, column_end = end_of(page.text, finding.line, column + 1)
    return types.Range(page.position(finding.line, column), page.position(line_end, column_end - 1))


def hints(page: Page, facts: "ModuleFacts", within: types.Range) -> Iterator[types.InlayHint]:
    """Sizes behind assignments, layers and calls; a call that is assigned has its variable's."""
    assigned = {(size.span.line, size.text) for size in facts.sizes if size.kind == "assignment"}
    for size in sorted(facts.sizes, key=lambda size: (size.span.end_line, size.span.end_column)):
        if size.kind != "assignment" and (size.span.line, size.text) in assigned:
            continue
        place = page.position(size.span.end_line, size.span.end_column)
        if within.start.line <= place.line <= within.end.line:
            yield types.InlayHint(
                place, size.text, types.InlayHintKind.Type, tooltip=size.why or None, padding_left=True
            )


def lenses(page: Page, facts: "ModuleFacts") -> Iterator[types.CodeLens]:
    """Above each function that has arrays: what it gives, and how much of it is proven."""
    for function in sorted(facts.functions, key=lambda each: each.line):
        lost = len(function.losses)
        proof = (
            "proven"
            if function.verdict == "proven"
            else f"{lost} {'place is' if lost == 1 else 'places are'} not proven"
            if lost
            else "does not fit"
        )
        title = f"gives {function.result}, {proof}" if function.result else proof
        place = page.position(function.line, 0)
        yield types.CodeLens(types.Range(place, place), types.Command(title, command=""))


def hover(page: Page, facts: "ModuleFacts", at: types.Position) -> types.Hover | None:
    """The smallest expression at this place whose sizes are known, and where they come from."""
    covering = [(page.range_of(size.span), size) for size in facts.sizes]
    covering = [(place, size) for place, size in covering if place.start <= at <= place.end]
    if not covering:
        return None
    place, size = min(covering, key=lambda one: _extent(one[0]))
    told = f"{size.name}: {size.text}" if size.name else size.text
    return types.Hover(
        types.MarkupContent(types.MarkupKind.PlainText, f"{told}\n\n{size.why}" if size.why else told), place
    )


def _extent(place: types.Range) -> tuple[int, int]:
    return place.end.line - place.start.line, place.end.character - place.start.character


def cures(
    page: Page, uri: str, facts: "ModuleFacts", within: types.Range, shown: Iterable[types.Diagnostic]
) -> Iterator[types.CodeAction]:
    """A quick fix for each mistake here that has one cure."""
    shown = list(shown)
    for problem in facts.problems:
        fix, place = problem.fix, page.range_of(problem.span)
        if fix is None or page.part(fix.span) != fix.old or place.end < within.start or within.end < place.start:
            continue
        yield types.CodeAction(
            title=fix.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[one for one in shown if _is_of(one, problem)],
            is_preferred=True,
            edit=types.WorkspaceEdit(changes={uri: [types.TextEdit(page.range_of(fix.span), fix.new)]}),
        )


def _is_of(diagnostic: types.Diagnostic, problem: "Problem") -> bool:
    return diagnostic.message == problem.message and diagnostic.range.start.line == problem.span.line - 1
