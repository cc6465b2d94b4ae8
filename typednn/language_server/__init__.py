"""A language server: in the editor, as one types, the size mistakes, the sizes, where they come from, and cures.

It speaks the Language Server Protocol on standard input and output, through pygls. `session` checks the texts that the
editor has open, `shown` says what the editor shows of it, `server` answers the editor.
"""

import sys

from typednn.errors import optional
from typednn.static_checks import KeptMypy

__all__ = ["serve"]


def serve() -> int:
    """Serve an editor on standard input and output, until it is gone. The process ends where the editor ends the
    session.
    """
    optional("pygls", "lsp", "needs pygls and mypy", "pip install 'typednn[lsp]'")
    KeptMypy().close()  # or its error, before an editor waits
    from typednn.language_server.server import run

    output, sys.stdout = sys.stdout, sys.stderr  # whatever is printed must not stand between the answers
    try:
        run(sys.stdin.buffer, output.buffer)
    finally:
        sys.stdout = output
    return 0
