"""What the plugin knows of a value without running the program.

`Number`     an integer, known or a symbol                  `Constant`   None, True, "same", 0.5
`Pack`       a tuple or list whose elements are known       `Many`       a collection of equal elements
`Entries`    a dict of any keys with equal entries
`Array`      an array, as a `typednn.shapes.Flow`           `Layer`      a layer, its sizes and its history
`Gradient`   a gradient, field by field                     `Reference`  a class, function or module
`DType`      a dtype, by jaxtyping's word for it            `Slice`      ``start:stop:step`` of an index
`Function`   a nested function, a lambda                      `Partial`    a function with some of its arguments
`UNKNOWN`    anything else: nothing is ever refused because of it

Integers that only a caller knows are symbols, with names that end in or contain ``·``, which no axis has:
``self·hidden`` and ``n·`` are printed without the dot.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

from typednn.errors import ShapeError, StackError
from typednn.shapes import Dim, Flow, Lookup, same, split_contract, undecided

DOT = "·"
# the attribute of an object that holds the sizes which its constructor compares: they may be equal
FLEXIBLE = "·flexible"
OWNERS = {"numpy": "Array", "torch": "torch.Tensor", "jax": "jax.Array"}  # by library
EITHER = " | "  # between the contracts of a layer that reads several ranks
OWN = "ˈ"  # suffix of a layer's own axis names while they are unified with the caller's


@dataclass(frozen=True, slots=True)
class Unknown:
    """The one value of which nothing is known."""


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Number:
    """An integer; ``positive`` where it is certainly at least 1, so that it can be a size."""

    size: Dim
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is no size."""

    value: object


@dataclass(frozen=True, slots=True)
class Pack:
    """Elements one by one; of a dict, ``keys`` in the same order. ``frozen``: no other name can change it.

    ``fields`` names the elements of a NamedTuple, ``of`` its class.
    """

    items: tuple[Value, ...]
    frozen: bool = False
    keys: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    of: str = ""


@dataclass(frozen=True, slots=True)
class Many:
    """Any number of elements with one common value; ``frozen`` as of `Pack`."""

    item: Value
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Entries:
    """A dict of any number of entries with one common value."""

    item: Value


@dataclass(frozen=True, slots=True)
class Array:
    """``flow`` is the shape with its history; ``kind`` jaxtyping's word for the dtype; ``library`` the one it is of.

    Where the number of axes is not known, ``open`` may hold the shape in names: one of its sizes is ``*shape``, any
    number of axes.
    """

    flow: Flow
    kind: str = ""
    open: tuple[Dim, ...] = ()
    library: str = "numpy"

    @property
    def shape(self) -> "Sequence[Dim | None] | None":
        """The sizes, also of any number of axes."""
        return self.open or self.flow.shape


@dataclass(frozen=True, slots=True)
class DType:
    """``np.float32``, ``"float32"`` or ``float`` where a dtype is meant; ``kind`` as in `Array`, empty where it is not
    known.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Slice:
    """``start:stop:step`` in an index; ``Constant(None)`` where nothing is written."""

    start: Value
    stop: Value
    step: Value

    @property
    def numbers(self) -> slice | None:
        """The same with numbers; None where one of them is not known."""
        ends = (self.start, self.stop, self.step)
        numbers = [integer_of(each) for each in ends]
        known = all(number is not None or end == Constant(None) for number, end in zip(numbers, ends, strict=True))
        return slice(*numbers) if known else None


@dataclass(frozen=True, slots=True)
class Gradient:
    """The result of a backward; ``owner`` is the layer that it belongs to."""

    owner: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Reference:
    """A class, a function, a module: mypy's node."""

    node: Any


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function whose source is at hand: ``body`` is an expression of a lambda; ``env`` holds the names around it."""

    name: str
    module: str
    parameters: ast.arguments
    body: Sequence[ast.stmt] | ast.expr
    env: Environment
    node: Any = None  # mypy's


@dataclass(frozen=True, slots=True)
class Partial:
    """``partial(function, *arguments, **keywords)``; a method with the object that it is called on."""

    function: Value
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer, or any other object: ``inputs`` and ``output`` are its annotations, ``attributes`` are set by its
    constructor.
    """

    shown: str  # as repr shows it
    class_name: str  # full name
    inputs: tuple[str, ...] = ()
    output: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    where: tuple[str, ...] = ()
    parts: tuple[Layer, ...] | None = None  # of a chain
    ranks: tuple[int, ...] = ()  # the ranks that it reads, where its annotation allows several
    # of a wrapper: each field's name, the contract for its layers, and they
    inner: tuple[tuple[str, str, tuple[Layer, ...]], ...] = ()
    sample: tuple[int, ...] | None = None  # of a chain: the sizes that `Input` declares
    # of a layer whose annotations cannot say what it does to shapes: one for each rank that it reads
    contracts: tuple[str, ...] = ()
    traced: Flow | None = field(default=None, compare=False)  # of a stack: its shape flow from input to output
    library: str = "numpy"  # of the arrays that it gives

    @property
    def label(self) -> str:
        return self.shown.removesuffix("()")

    def trace(self, flow: Flow) -> Flow:
        """The shape after this layer; `StackError` where it cannot fit."""
        if self.traced is not None and flow.shape is None and flow.untouched:
            return self.traced
        if self.parts is not None:
            if self.sample is not None and flow.shape is None:
                flow = Flow.start(self.sample)
            for part in self.parts:
                flow = part.trace(flow)
            return flow
        if self.contracts:
            return flow.through_one(self.label, self.contracts, lookup(self.attributes))
        if len(self.inputs) != 1 or not self.output:
            return replace(Flow.start(None), untouched=False)
        if self.ranks and flow.shape is not None and len(flow.shape) not in self.ranks:
            raise flow.wrong_rank(self.label, self.ranks)
        inner = [(name, contract, [layer.trace for layer in layers]) for name, contract, layers in self.inner]
        return flow.through(self.label, self.inputs[0], self.output, lookup(self.attributes), self.where, inner)

    @property
    def contract(self) -> str | None:
        """``batch 784 -> batch 10``; None where nothing is known."""
        if self.parts is None and not self.contracts and (len(self.inputs) != 1 or not self.output):
            return None
        if self.parts is None and not self.inner:
            sizes = tuple(
                (name, value) for name, value in self.attributes.items() if isinstance(value, Number | Pack | Layer)
            )
            try:
                return _contract(self.inputs, self.output, self.where, self.contracts, sizes)
            except TypeError:  # a layer has no hash
                pass
        return _traced(self)


@lru_cache(maxsize=4096)
def _contract(
    inputs: tuple[str, ...],
    output: str,
    where: tuple[str, ...],
    contracts: tuple[str, ...],
    sizes: tuple[tuple[str, Value], ...],
) -> str | None:
    """Of a layer with these annotations, and these among its attributes: a program has many of them."""
    return _traced(Layer("", "", inputs, output, dict(sizes), where, contracts=contracts))


def _traced(layer: Layer) -> str | None:
    try:
        each = [replace(layer, contracts=(text,)) for text in layer.contracts] or [layer]
        with undecided():  # whoever compares the layer's sizes has noted them
            return EITHER.join(written_contract(one.trace(Flow.start(None))) for one in each)
    except (StackError, ShapeError):
        return None


Value: TypeAlias = (
    Unknown
    | Number
    | Constant
    | Pack
    | Many
    | Entries
    | Array
    | DType
    | Slice
    | Function
    | Partial
    | Gradient
    | Reference
    | Layer
)
Environment: TypeAlias = dict[str, Value]  # by name; attributes of self as ``self.name``


def number(value: int) -> Number:
    """A known integer; a number below 1 is no size, but may be added to one."""
    return Number(Dim.of(value), True)


def symbol(name: str, *, positive: bool) -> Number:
    """An integer that is a symbol."""
    return Number(Dim.named(name), positive)


def integer_of(value: Value) -> int | None:
    """The number, if it is known."""
    return value.size.value if isinstance(value, Number) else None


def layers_of(value: Value) -> tuple[Layer, ...] | None:
    """A layer, the layers of a list, or no layer for None; None where one of them is not known."""
    items = () if value == Constant(None) else value.items if isinstance(value, Pack) else (value,)
    layers = tuple(each for each in items if isinstance(each, Layer))
    return layers if len(layers) == len(items) else None


def lookup(attributes: Mapping[str, Value], arguments: Mapping[str, Value] = MappingProxyType({})) -> Lookup:
    """The value in an annotation's braces: ``self.kernel_size[0]`` among the attributes that a constructor set;
    ``times`` an argument.
    """

    def ask(path: str) -> Dim | None:
        value = _walk(parsed(path), attributes, arguments)
        return value.size if isinstance(value, Number) and value.positive else None

    return ask


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """An expression that was kept as text."""
    return ast.parse(text, mode="eval").body


def _walk(node: ast.expr, attributes: Mapping[str, Value], arguments: Mapping[str, Value]) -> Value:
    match node:
        case ast.Name(id=name):
            return arguments.get(name, UNKNOWN)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return attributes.get(name, UNKNOWN)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int() as place)):
            pack = _walk(inner, attributes, arguments)
            return (
                pack.items[place] if isinstance(pack, Pack) and -len(pack.items) <= place < len(pack.items) else UNKNOWN
            )
        case ast.Attribute(value=inner, attr=name):
            layer = _walk(inner, attributes, arguments)
            return layer.attributes.get(name, UNKNOWN) if isinstance(layer, Layer) else UNKNOWN
        case _:
            return UNKNOWN


def sizes_in(value: Value, *, arrays: bool = False) -> frozenset[str]:
    """The names in a size, or in a shape; with ``arrays`` also in the shape of an array."""
    match value:
        case Number(size=size):
            return size.names()
        case Pack(items=items):
            return frozenset(name for each in items for name in sizes_in(each, arrays=arrays))
        case Many(item=item):
            return sizes_in(item, arrays=arrays)
        case Array() if arrays:
            return frozenset(name for size in value.shape or () if size is not None for name in size.names())
        case _:
            return frozenset()


def owner(value: Value) -> str:
    """What the tables call the kind of a value: ``Array``, ``torch.Tensor``, ``jax.Array``, ``Layer``, …"""
    return OWNERS[value.library] if isinstance(value, Array) else type(value).__name__


def of_library(value: Value, library: str) -> Value:
    """What a function of a library other than NumPy gives: its arrays. Of their dtypes no precision is known, as each
    library promotes numbers by rules of its own.
    """
    match value:
        case Array(kind=kind):
            known = next((family for family in ("Bool", "Int", "UInt") if kind.startswith(family)), "")
            return replace(value, library=library, kind=known)
        case Pack(items=items):
            return replace(value, items=tuple(of_library(each, library) for each in items))
        case Many(item=item):
            return replace(value, item=of_library(item, library))
        case _:
            return value


def unshared(value: Value) -> Value:
    """A value held by two names or containers: a list is then unknown, as it may be changed through either."""
    if isinstance(value, Entries) or (isinstance(value, Many) and not value.frozen):
        return UNKNOWN
    if not isinstance(value, Pack):
        return value
    if not value.frozen:
        return UNKNOWN
    return replace(value, items=tuple(map(unshared, value.items))) if holds_lists(value) else value


def holds_lists(value: Pack) -> bool:
    """Whether some of the elements are lists or dicts."""
    return any(unshared(each) is not each for each in value.items)


def join(a: Value, b: Value) -> Value:
    """What is known where either may be the case. A value that may also be None counts as the value: mypy checks for
    None.
    """
    if a == b:
        return a
    match a, b:
        case (Constant(value=None), (Layer() | Array() | Gradient()) as other) | (
            (Layer() | Array() | Gradient()) as other,
            Constant(value=None),
        ):
            return other
        case Number(), Number() if same(a.size, b.size):
            return Number(a.size, a.positive and b.positive)
        case Pack() as a, Pack() as b if len(a.items) == len(b.items):
            return (
                Pack(tuple(map(join, a.items, b.items)), frozen=a.frozen and b.frozen) if a.keys == b.keys else UNKNOWN
            )
        case Entries(), Entries():
            common = join(a.item, b.item)
            return UNKNOWN if common is UNKNOWN else Entries(common)
        case ((Pack(keys=(), frozen=False) | Many()), (Pack(keys=(), frozen=False) | Many())):
            items = [*(a.items if isinstance(a, Pack) else (a.item,)), *(b.items if isinstance(b, Pack) else (b.item,))]
            common = reduce(join, items) if items else UNKNOWN
            return Many(common) if isinstance(common, Array | Layer) else UNKNOWN
        case Array(), Array() if (
            a.library == b.library
            and a.flow.shape is not None
            and b.flow.shape is not None
            and len(a.flow.shape) == len(b.flow.shape)
        ):
            shape = [
                x if x is not None and y is not None and same(x, y) else None
                for x, y in zip(a.flow.shape, b.flow.shape, strict=True)
            ]
            return replace(a, flow=Flow.of(shape), kind=a.kind if a.kind == b.kind else "", open=())
        case Array(), Array() if a.library == b.library:
            kind, shape_in_names = a.kind if a.kind == b.kind else "", a.open if a.open == b.open else ()
            return replace(a, flow=Flow.start(None), kind=kind, open=shape_in_names)
        case Gradient(), Gradient() if a.fields.keys() == b.fields.keys():
            return Gradient(a.owner, {name: join(a.fields[name], b.fields[name]) for name in a.fields})
        case Layer(), Layer() if replace(a, shown="") == replace(b, shown=""):
            return a
        case Layer(), Layer() if a.contract is not None and a.contract == b.contract:
            return of_contract(a.shown, a.class_name, a.contract)
        case Layer(), Layer() if (
            a.class_name == b.class_name and (contract := _common(a.contract, b.contract)) is not None
        ):
            return of_contract(f"{a.class_name.rpartition('.')[2]} ({contract})", a.class_name, contract)
        case _:
            return UNKNOWN


def _common(a: str | None, b: str | None) -> str | None:
    """What two contracts agree on, axis by axis: ``batch height width 3 -> batch _ _ 64``; None where the numbers of
    axes differ.
    """
    ends = [contract.partition(" if ")[0].split() for contract in (a, b) if contract is not None]
    if (
        len(ends) != 2
        or len(ends[0]) != len(ends[1])
        or any(word[0] == "*" or word == "..." for end in ends for word in end)
    ):
        return None
    words = [one if one == other else "_" for one, other in zip(*ends, strict=True)]
    return " ".join(words) if "->" in words else None


def either(a: Environment | None, b: Environment | None) -> Environment | None:
    """The environment where two paths join."""
    if a is None or b is None:
        return b if a is None else a
    return {name: join(a[name], b[name]) if name in a and name in b else UNKNOWN for name in a.keys() | b.keys()}


def of_contract(shown: str, class_name: str, contract: str) -> Layer:
    """A layer of which only the contract in its type is known."""
    if EITHER in contract:
        return Layer(shown, class_name, contracts=tuple(contract.split(EITHER)))
    inputs, output, where = split_contract(contract)
    return Layer(shown, class_name, (inputs,), output, {}, where)


def show(value: Value) -> str:
    """A value as ``repr`` has it; ``_`` where it is not known."""
    match value:
        case Number():
            return str(value.size)
        case Constant(value=inner):
            return repr(inner)
        case Pack(items=items):
            return f"({', '.join(map(show, items))}{',' if len(items) == 1 else ''})"
        case Layer(shown=shown):
            return shown
        case _:
            return "_"


def written_shape(shape: Sequence[Dim | None] | None, between: str) -> str:
    """Sizes in a message; ``_`` where one is not known."""
    return between.join("_" if size is None else str(size) for size in shape or ())


def written_contract(flow: Flow) -> str:
    """The contract for a type: a symbol of one function means nothing in another, so it becomes ``_``."""
    text = flow.contract
    if DOT not in text:
        return text
    ends, _, conditions = text.partition(" if ")
    ends = " ".join("_" if DOT in word else word for word in ends.split())
    known_conditions = [condition for condition in conditions.split(", ") if condition and DOT not in condition]
    return f"{ends} if {', '.join(known_conditions)}" if known_conditions else ends


def printed(message: str) -> str:
    """A message with names as in the program."""
    return re.sub(rf"(\w){DOT}(\w)", r"\1.\2", message).replace(DOT, "").replace(OWN, "")
