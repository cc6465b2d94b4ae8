"""What mkdocstrings reads of the sources: docstrings are plain text with names between backticks, not Markdown.

A layer's formulas stand in its file's docstring, which begins with the layer's name, and belong to the layer.
"""

import re
from textwrap import dedent
from typing import Any

import griffe


class PlainText(griffe.Extension):
    """Makes Markdown of docstrings, and puts that of a module behind that of the class or function that it names."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        """Griffe calls it for each object; for a module before its members."""
        if obj.docstring is None:
            return
        own = obj.docstring.value
        obj.docstring.value = markdown(own)
        if obj.is_module:
            named = re.match(r"(\w+)(?:: |,| and )", own)
            told = obj.members.get(named[1]) if named else None
            if isinstance(told, griffe.Class | griffe.Function):
                told.extra["typednn"]["module"] = own
        elif "module" in obj.extra["typednn"]:
            obj.docstring.value += f"\n\n{markdown(obj.extra['typednn']['module'])}"


def markdown(text: str) -> str:
    """Markdown that shows ``text`` as it is written: prose as prose, what is laid out in columns as it is."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text.strip()))


def _paragraph(part: str) -> str:
    if part.startswith(">>>"):
        return f"```python\n{part}\n```"
    if re.search(r"^ {2,}|\S {3,}\S|^\S+ = ", part, re.MULTILINE):  # columns and formulas
        return f"```text\n{dedent(part)}\n```"
    words = re.split(r"(``.+?``|`[^`]+`)", part, flags=re.DOTALL)
    return "".join(word if place % 2 else _escaped(word) for place, word in enumerate(words))


def _escaped(prose: str) -> str:
    return re.sub(r"([\\*_\[\]#])", r"\\\1", prose).replace("<", "&lt;")
