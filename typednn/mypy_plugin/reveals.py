"""``reveal_type`` in readable lines: mypy's own with short names, and one with a model's layers, or with an array's sizes.

mypy has no hook for ``reveal_type``. But each message passes its filters, which hide the messages of its trials. One more filter hides
nothing, and sees what mypy reveals, wherever it stands.
"""

import ast
import re
import traceback
from collections.abc import Callable
from typing import Any

from mypy.errors import ErrorInfo, ErrorWatcher
from mypy.nodes import CallExpr, RevealExpr

from typednn.mypy_plugin import syntax
from typednn.mypy_plugin.body import Body
from typednn.mypy_plugin.values import Array, Layer, Value, written_shape
from typednn.shapes import Flow

_REVEALED = "Revealed type is "
_ARRAY = re.compile(r"numpy\.ndarray\[(?:builtins\.)?tuple\[([^\[\]]*)\], numpy\.dtype\[numpy\.(floating|integer)\[Any\]\]\]")
_OWN = re.compile(r"\btypednn(?:\.\w+)+\.(?=\w)")


class Reveals:
    """What mypy reveals during its runs. ``body`` gives the scope that mypy is in."""

    def __init__(self, body: Callable[[Any], Body], *, debug: bool) -> None:
        self.body = body
        self.debug = debug
        self.api: Any = None  # of the module that was checked last
        self.filter: ErrorWatcher | None = None

    def watch(self, api: Any) -> None:
        """See what is revealed from now on."""
        errors = api.msg.errors
        self.api = api
        if self.filter not in errors._watchers:
            self.filter = ErrorWatcher(errors, filter_errors=self._seen)
            errors._watchers.insert(0, self.filter)  # below mypy's own, which come and go

    def _seen(self, file: str, info: ErrorInfo) -> bool:
        """Called for each message; whether it is hidden, as none is."""
        if info.message.startswith(_REVEALED):
            try:
                info.message = short(info.message)
                if info.module == self.api.tree.fullname:
                    self._reveal(info)
            except Exception:  # an error of the plugin, not of the user's program
                info.message += f"\n{traceback.format_exc()}" if self.debug else ""
        return False

    def _reveal(self, info: ErrorInfo) -> None:
        body = self.body(self.api)
        walked = (each for statement in body.statements for each in ast.walk(statement))
        node = next((each for each in walked if _stands_at(syntax.origin(each), info.line, info.column)), None)
        if node is not None and (text := described(body.value(syntax.origin(node)))):
            body.note(text, node)


def _stands_at(node: Any, line: int, column: int) -> bool:
    revealed = node.analyzed.expr if isinstance(node, CallExpr) and isinstance(node.analyzed, RevealExpr) else None
    return revealed is not None and (revealed.line, revealed.column) == (line, column)


def short(message: str) -> str:
    """A message about types of typednn in which they, and the arrays in them, have the names that a program imports."""
    return _OWN.sub("", _ARRAY.sub(_array, message)) if _OWN.search(message) else message


def _array(found: re.Match[str]) -> str:
    axes, kind = found[1].replace("builtins.", ""), "Int" if found[2] == "integer" else ""
    if axes == "Any, ...":
        return f"Any{kind}Array"
    sizes = [] if axes == "()" else axes.split(", ")
    return f"{kind}Array{len(sizes)}" if set(sizes) <= {"int"} and len(sizes) <= (3 if kind else 4) else found[0]


def described(value: Value) -> str:
    """What is known of a value that was revealed; nothing for most."""
    match value:
        case Array(flow=flow) if flow.shape is not None:
            return f'Revealed sizes are "{written_shape(flow.shape, " ")}"'
        case Layer(shown=shown):
            contract = value.contract and value.trace(Flow.start(None)).contract
            return f'Revealed model is "{shown}"' if contract is None or contract in shown else f'Revealed model is "{shown}: {contract}"'
        case _:
            return ""
