"""Starts the language server with facts that are told instead of found.

A line's comment ``# size: x = batch 10; why`` stands for what the plugin knows. Mistakes are the plugin's own; the cure of each is read
from its message.
"""

import re
import sys

from typednn.language_server import serve
from typednn.language_server.session import Session
from typednn.mypy_plugin.facts import Fix, ModuleFacts, Problem, Size, Span


def told(self: Session, path: str, text: str) -> ModuleFacts | None:
    if "# boom" in text:
        raise RuntimeError("on purpose")
    if self.checked.get(path) != text or any(one.code != "shape" for one in self.found.get(path, ())):
        return None
    facts = ModuleFacts(path)
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(r"# size: (\w+) = ([^;]+); (.*)", line):
            start = len(line[: line.index(match[1])].encode())
            facts.sizes.append(Size(Span(number, start, number, start + len(match[1])), "assignment", match[1], match[2], match[3]))
    for one in self.found.get(path, ()):
        match = re.match(r"(\w+\((\d+), \d+\)) .* gets (\d+)", one.message)
        assert match is not None
        start = one.column - 1
        first = start + match[1].index("(") + 1
        fix = Fix(Span(one.line, first, one.line, first + len(match[2])), match[2], match[3], f"Expect {match[3]} features")
        facts.problems.append(Problem(Span(one.line, start, one.line, start + len(match[1])), one.message, fix))
    return facts


if __name__ == "__main__":
    Session.facts = told  # type: ignore[method-assign]
    sys.exit(serve())
