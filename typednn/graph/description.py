"""Description: what a kernel of the graph computes, without sizes and constants, so that equal kernels are one; a
group has them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from typednn.graph.coordinates import UNBOUNDED
from typednn.graph.graph import Shape
from typednn.graph.operations import Binary, Reduce, Unary

Node: TypeAlias = tuple[Any, ...]
# of one kernel, as `work` counts it: the compiler takes seconds for that, and minutes for ten times as much
MOST_WORK: Final = 256
# Functions that are many operations each, and how many.
COSTLY: Final = frozenset(each for each in Unary if each.row.weight > 1)
COST: Final = 4


class Description(NamedTuple):
    """What a kernel computes, without sizes and constants. Equal descriptions are one kernel.

    ``arrays``: of each input its dtype and the names of its sizes. ``scalars``: the dtypes of the numbers, the extents
    of the space first. ``nodes``, operands first: ``("read", input, coordinates)``, ``("number", dtype, scalar)``,
    ``("true",)`` and ``("false",)``, ``("inside", tests, of)`` which is 0 where a coordinate is outside, ``("unary",
    operation, dtype, of)``, ``("binary", operation, dtype, of, and)``, ``("power", exponent, dtype, of)``, ``("cast",
    dtype, of)`` and ``("reduce", operation, dtype, of)``. In coordinates and tests, numbers other than axes are places
    of scalars. ``outputs``: nodes, with their dtypes and the names of their sizes. ``is_long``: few rows of many
    columns.
    """

    kind: str
    rank: int
    arrays: tuple[tuple[str, tuple[str, ...]], ...]
    scalars: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[int, str, tuple[str, ...]], ...]
    is_long: bool


class Group(NamedTuple):
    """Instructions that one kernel computes: it reads and gives stored values, in the shapes that the kernel sees them
    in.
    """

    description: Description
    inputs: tuple[tuple[int, Shape], ...]
    scalars: tuple[float, ...]
    outputs: tuple[tuple[int, Shape], ...]


def work(node: Node) -> int:
    """What a node costs the compiler, in additions. A number that may lie outside an array is read alone, not with its
    neighbours.
    """
    if node[0] == "read":
        return 12 if any(bound != UNBOUNDED for _, _, bound in node[2]) else 1
    return COST if node[0] == "unary" and node[1] in COSTLY else 1


def operands(node: Any) -> list[int]:
    """The nodes that a node reads."""
    kind = node[0]
    if kind in ("read", "number", "true", "false"):
        return []
    return list(node[3:]) if kind != "cast" else [node[2]]


def dtype_of(how: Description, number: int) -> str:
    """The dtype of a node's value."""
    node = how.nodes[number]
    if node[0] == "read":
        array: int = node[1]
        return how.arrays[array][0]
    return "bool" if node[0] in ("true", "false") else str(node[1] if node[0] in ("number", "cast") else node[2])


def described(group: Group) -> str:
    """A kernel as text, a node on each line."""
    how = group.description
    names: dict[str, Any] = {"unary": Unary, "binary": Binary, "reduce": Reduce}
    lines = [f"{how.kind} of {how.rank} axes, extents {group.scalars[: how.rank]}{', long' if how.is_long else ''}"]
    for number, node in enumerate(how.nodes):
        word = names[node[0]](node[1]).title if node[0] in names else " ".join(map(str, node[:2]))
        lines.append(f"  ${number} = {word} {' '.join(map(str, node[2:]))}")
    results = [
        f"${node} {dtype} {shape}" for (node, dtype, _), (_, shape) in zip(how.outputs, group.outputs, strict=True)
    ]
    return "\n".join([*lines, f"  results {' '.join(results)}"])
