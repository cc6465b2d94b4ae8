"""Where an expression ends: mypy says only where it begins."""

import ast
from contextlib import suppress


def end_of(text: str, line: int, column: int) -> tuple[int, int]:
    """The line and column behind the expression at ``line`` and ``column``, which count from 1; those of the line's end
    if there is none.

    Of several that begin there it is the largest on that line. mypy counts columns in bytes of UTF-8, and so does this.
    """
    lines = text.encode().splitlines()
    with suppress(SyntaxError, ValueError, RecursionError):
        ends = [
            node.end_col_offset
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.expr)
            and (node.lineno, node.col_offset, node.end_lineno) == (line, column - 1, line)
            if node.end_col_offset is not None
        ]
        if ends:
            return line, max(ends) + 1
    return line, max(column, len(lines[line - 1].rstrip()) + 1 if 0 < line <= len(lines) else 1)


def in_characters(text: str, line: int, column: int) -> int:
    """A column of bytes, from 1, as a column of characters, from 1."""
    lines = text.splitlines()
    return len(lines[line - 1].encode()[: column - 1].decode(errors="ignore")) + 1 if 0 < line <= len(lines) else column
