"""Arrays and annotations: the array that an annotation promises, and whether an array fits it."""

import ast
from dataclasses import replace

from mypy.nodes import TypeInfo, Var

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Context
from typednn.mypy_plugin.values import UNKNOWN, Array, Layer, Pack, Reference, Value, known, lookup
from typednn.shapes import Dim, Flow, Lookup, Shape, Unifier, parse

# jaxtyping's words for single precisions: two of one family that differ never fit. Kinds of numbers are checked by mypy.
_PRECISIONS = (
    {"Float16", "Float32", "Float64", "BFloat16"},
    {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"},
)


def same_precision(a: str, b: str) -> bool:
    """Whether arrays of two kinds may be one: Float32 is a Float, and no Float64."""
    return a == b or not any(a in family and b in family for family in _PRECISIONS)


def array(context: Context, shape: "Shape | None", kind: str = "") -> Value:
    """An array with those sizes that mean the same all through this body; the names of a layer's axes are never this body's."""
    sizes = known(shape, context.names)
    if sizes is None:
        return UNKNOWN
    flow = Flow.of(sizes)
    return Array(replace(flow, symbols={**{each: Dim.named(each) for each in context.names}, **flow.symbols}), kind)


def settled(context: Context, value: Value) -> Value:
    """What a function of NumPy gives: the names of this body stay what they are."""
    match value:
        case Array(flow=flow) if flow.axes is not None:
            return replace(value, flow=replace(flow, symbols={**{each: Dim.named(each) for each in context.names}, **flow.symbols}))
        case Pack(items=items, keys=()):
            return replace(value, items=tuple(settled(context, each) for each in items))
        case _:
            return value


def promised(context: Context, text: str, kind: str, attributes: Lookup) -> Value:
    """The array that an annotation of this body, or of a field, describes."""
    unifier = Unifier(attributes, context.comparison())
    unifier.sizes.update({name: Dim.named(name) for name in context.names})
    return array(context, unifier.result(text), kind)


def result(context: Context, unifier: Unifier, text: str, kind: str = "") -> Value:
    """The array that a return annotation describes, by what the arguments bound."""
    return array(context, unifier.result(text) if text else None, kind)


def misfit(context: Context, unifier: Unifier, text: str, value: Value, node: ast.AST) -> str | None:
    """How an array contradicts an annotation: empty where mypy reports it, None where it may fit."""
    if isinstance(value, Array):
        unifier.bind(text, known(value.flow.shape, context.names))
    if not isinstance(value, Array) or not unifier.mismatches:
        return None
    mismatch = unifier.mismatches[0]
    return mismatch.sentence(why(value, mismatch.axis_index)) if mismatch.label or context.scope.rank(node) is None else ""


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
    fields = classes.fields(info) if info is not None else {}
    if info is None or name not in fields or len(fields[name][1]) != 1:
        return UNKNOWN
    symbol = info.get(name)
    declared = symbol.node.type if symbol is not None and isinstance(symbol.node, Var) else None
    if declared is not None and not classes.is_array(declared):
        return UNKNOWN
    kind, text = fields[name][1][0]
    return promised(context, text, kind, lookup(layer.attributes))


def names_of(text: str) -> list[str]:
    """The axis names of an annotation."""
    return [slot.text for slot in parse(text) if slot.is_name]
