"""The size of a slice of an axis whose size is a name: ``x[:2]`` has two elements, or fewer."""

import re

from typednn.mypy_plugin.values import DOT
from typednn.shapes import Dim


def at_most(size: Dim, bound: int) -> Dim:
    """The size of ``x[:bound]`` and of ``x[-bound:]``: a symbol that says what it may be."""
    return Dim.named(f"min({size},{bound}){DOT}")


def beyond(a: Dim, b: Dim) -> frozenset[str]:
    """The names in a slice's size where the other one is a number that it never reaches; none elsewhere."""
    for slice_, other in ((str(a), b.value), (str(b), a.value)):
        match = re.fullmatch(rf"min\((.+),(\d+)\){DOT}", slice_)
        if match and other is not None and other > int(match[2]):
            return frozenset(re.findall(rf"[^\W\d][\w{DOT}]*", match[1]))
    return frozenset()
