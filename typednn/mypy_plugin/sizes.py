"""Arrays and annotations: the array that an annotation promises, and whether an array fits it."""

import ast
from collections.abc import Sequence, Set
from dataclasses import replace

from mypy.nodes import TypeInfo, Var

from typednn.mypy_plugin import classes, libraries
from typednn.mypy_plugin.context import Context
from typednn.mypy_plugin.values import (
    DOT,
    UNKNOWN,
    Array,
    Constant,
    Layer,
    Pack,
    Reference,
    Value,
    lookup,
    written_shape,
)
from typednn.shapes import Dim, Flow, Lookup, Mismatch, Shape, Unifier, align, leave, parse, rank

# jaxtyping's words for single precisions: two of one family that differ never fit. Kinds of numbers are checked by
# mypy.
_PRECISIONS = (
    {"Float16", "Float32", "Float64", "BFloat16"},
    {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"},
)


_NO_FIELD: classes.Field = ("", [])


def same_precision(a: str, b: str) -> bool:
    """Whether arrays of two kinds may be one: Float32 is a Float, and no Float64."""
    return a == b or not any(a in family and b in family for family in _PRECISIONS)


def known(shape: Sequence[Dim | None] | None, names: frozenset[str]) -> list[Dim | None] | None:
    """A shape with only those sizes that mean the same everywhere in one function."""
    return (
        None
        if shape is None
        else [
            size if size is not None and all(name in names or DOT in name for name in size.names()) else None
            for size in shape
        ]
    )


def array(context: Context, shape: "Shape | None", kind: str = "", library: str = "numpy") -> Value:
    """An array with those sizes that mean the same all through this body; the names of a layer's axes are never this
    body's.
    """
    sizes = known(shape, context.names)
    if sizes is None:
        return UNKNOWN
    if variadic(sizes) is not None:
        certain = tuple(size for size in sizes if size is not None)
        return Array(Flow.start(None), kind, certain, library) if len(certain) == len(sizes) else UNKNOWN
    flow = Flow.of(sizes)
    return Array(replace(flow, symbols={**_symbols(context), **flow.symbols}), kind, library=library)


def _symbols(context: Context) -> dict[str, Dim]:
    return {name: Dim.named(name) for name in context.names if name[0] != "*"}


def settled(context: Context, value: Value) -> Value:
    """What a function of NumPy gives: the names of this body stay what they are."""
    match value:
        case Array(flow=flow) if flow.axes is not None:
            return replace(value, flow=replace(flow, symbols={**_symbols(context), **flow.symbols}))
        case Pack(items=items, keys=()):
            return replace(value, items=tuple(settled(context, each) for each in items))
        case _:
            return value


def promised(context: Context, said: Sequence[str], attributes: Lookup) -> Value:
    """The array that an annotation of this body, or of a field, describes."""
    kind, text, library = said
    return array(context, within(context, attributes).result(text), kind, library)


def within(context: Context, attributes: Lookup, names: Set[str] | None = None) -> Unifier:
    """The names of this body, or some of them, stand for themselves."""
    unifier = Unifier(attributes, context.comparison())
    for name in context.names if names is None else names:
        if name[0] == "*":
            unifier.groups[name[1:]] = (Dim.named(name),)
        else:
            unifier.sizes[name] = Dim.named(name)
    return unifier


def variadic(shape: Shape) -> int | None:
    """The place of ``*shape``, which stands for any number of axes."""
    return next((place for place, size in enumerate(shape) if size is not None and str(size)[:1] == "*"), None)


def bind(context: Context, unifier: Unifier, text: str, value: Array) -> None:
    """Match an array with an annotation, as far as that can be told of any number of axes."""
    shape, slots = known(value.shape, context.names), parse(text)
    if shape is None:
        leave(None, None)
        return
    place, layout, expected = variadic(shape), align(slots, len(shape)), unifier.result(text)
    groups = [unifier.groups[slot.text] for slot in slots if slot.variadic and slot.text in unifier.groups]
    if any((variadic(group) is None) is not (place is None) for group in groups):
        leave(None, None)
        return
    if place is None or (layout is not None and layout[place].variadic):
        unifier.bind(text, shape)
    elif expected is not None and variadic(expected) is not None and len(expected) != len(shape):
        unifier.mismatches.append(Mismatch(None, "", written_shape(expected, " "), written_shape(shape, " "), text))
    elif expected is None or variadic(expected) is None:
        leave(None, None)


def result(context: Context, unifier: Unifier, text: str, kind: str = "", library: str = "numpy") -> Value:
    """The array that a return annotation describes, by what the arguments bound."""
    return array(context, unifier.result(text) if text else None, kind, library)


def misfit(context: Context, unifier: Unifier, text: str, value: Value, node: ast.AST) -> str | None:
    """How an array contradicts an annotation: empty where mypy reports it, None where it may fit."""
    if isinstance(value, Array):
        bind(context, unifier, text, value)
    elif value != Constant(None):
        leave(None, None)
    if not isinstance(value, Array) or not unifier.mismatches:
        return None
    mismatch = unifier.mismatches[0]
    ranks = context.scope.rank(node), rank(text)
    told = not mismatch.label and None not in ranks and ranks[0] != ranks[1]  # mypy's own types say so too
    return "" if told else mismatch.sentence(why(value, mismatch.axis_index))


def fits(context: Context, unifier: Unifier, what: str, text: str, value: Value, node: ast.AST) -> bool:
    """Whether an array may fit an annotation; otherwise report an error that begins with ``what``."""
    wrong = misfit(context, unifier, text, value, node)
    if wrong:
        context.scope.complain(what + wrong, node)
    return wrong is None


def why(value: Value, place: int | None) -> str:
    """`` (= 5*5*16, from MaxPool2d on 10x10x16)`` of one axis of an array, or nothing."""
    axes = value.flow.axes if isinstance(value, Array) else None
    return axes[place].why if axes is not None and place is not None and place < len(axes) else ""


def class_of(context: Context, value: Layer | Pack) -> TypeInfo | None:
    """The class of a layer, or of another object, if mypy has read it."""
    module, _, name = (value.class_name if isinstance(value, Layer) else value.of).rpartition(".")
    found = context.scope.inside(module).resolve(name)
    return found.node if isinstance(found, Reference) and isinstance(found.node, TypeInfo) else None


def stored(context: Context, layer: Layer, name: str) -> Value:
    """A parameter, a buffer, or what forward kept: an array whose sizes its annotation gives."""
    info = class_of(context, layer)
    field, declared = _field(info, name), classes.member(info, name)
    known = isinstance(declared, Var) and declared.type is not None
    library = libraries.library_of(declared.type) if isinstance(declared, Var) and known else "numpy"
    if field is None or not library:
        return UNKNOWN
    return promised(context, [*field[:2], library], lookup(layer.attributes))


def _field(info: TypeInfo | None, name: str) -> list[str] | None:
    """The kind and the text of a field's annotation; None where it has none, or several."""
    _, alternatives = classes.fields(info).get(name, _NO_FIELD) if info is not None else _NO_FIELD
    return alternatives[0] if len(alternatives) == 1 else None


def keeps(context: Context, layer: Layer, name: str, value: Value, node: ast.AST) -> None:
    """``self._x = x``: an array against the annotation of the field."""
    field = _field(class_of(context, layer), name)
    if field is not None and stored(context, layer, name) is not UNKNOWN:
        what = f'{name} is "{field[1]}": '
        fits(context, within(context, lookup(layer.attributes)), what, field[1], value, node)


def names_of(text: str) -> list[str]:
    """The axis names of an annotation; ``*shape`` of any number of axes."""
    return [slot.key for slot in parse(text) if slot.key and (slot.is_name or slot.variadic)]
