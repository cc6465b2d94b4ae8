"""``reveal_type`` in readable lines: mypy's own message with the names that a program imports.

mypy has no hook for ``reveal_type``. But each message passes its filters, which hide the messages of its trials. One
more filter hides nothing, and shortens what mypy reveals.
"""

import re
from collections.abc import Callable
from typing import Any

from mypy.checker import TypeChecker
from mypy.errors import ErrorInfo, ErrorWatcher

_REVEALED = "Revealed type is "
_ARRAY = re.compile(
    r"numpy\.ndarray\[(?:builtins\.)?tuple\[([^\[\]]*)\], numpy\.dtype\[numpy\.(floating|integer)\[Any\]\]\]"
)
_OWN = re.compile(r"\btypednn(?:\.\w+)+\.(?=\w)")


class Reveals:
    """What mypy reveals during its runs. ``found`` is called where it does."""

    def __init__(self, found: Callable[[], object]) -> None:
        self.found = found
        self.filter: ErrorWatcher | None = None

    def watch(self, api: TypeChecker) -> None:
        """See what is revealed from now on."""
        errors: Any = api.msg.errors  # whose list of watchers is private
        if self.filter not in errors._watchers:
            self.filter = ErrorWatcher(errors, filter_errors=self._seen)
            errors._watchers.insert(0, self.filter)  # below mypy's own, which come and go

    def _seen(self, file: str, info: ErrorInfo) -> bool:
        """Called for each message; whether it is hidden, as none is."""
        if info.message.startswith(_REVEALED):
            info.message = short(info.message)
            self.found()
        return False


def short(message: str) -> str:
    """A message about types of typednn in which they, and the arrays in them, have the names that a program imports."""
    return _OWN.sub("", _ARRAY.sub(_array, message)) if _OWN.search(message) else message


def _array(found: re.Match[str]) -> str:
    axes, kind = found[1].replace("builtins.", ""), "Int" if found[2] == "integer" else ""
    if axes == "Any, ...":
        return f"Any{kind}Array"
    sizes = [] if axes == "()" else axes.split(", ")
    return f"{kind}Array{len(sizes)}" if set(sizes) <= {"int"} and len(sizes) <= (3 if kind else 4) else found[0]
