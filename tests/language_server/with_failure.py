"""Starts ``typednn lsp``; a text with ``# boom`` makes it fail within."""

import sys

from typednn.cli import main
from typednn.language_server.session import Session
from typednn.mypy_plugin.facts import ModuleFacts

found = Session.facts


def failing(self: Session, path: str, text: str) -> ModuleFacts | None:
    if "# boom" in text:
        raise RuntimeError("on purpose")
    return found(self, path, text)


if __name__ == "__main__":
    Session.facts = failing  # type: ignore[method-assign]
    sys.exit(main(["lsp"]))
