"""Arrays and annotations: the array that an annotation promises, and whether an array fits it."""

import ast
from dataclasses import replace

from mypy.nodes import TypeInfo

from typednn.errors import TypednnError
from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Context
from typednn.mypy_plugin.values import UNKNOWN, Array, Layer, Reference, Value, known, lookup
from typednn.shapes import Dim, Flow, Lookup, Shape, Unifier, evaluate, parse

# jaxtyping's words for single precisions: two of one family that differ never fit. Kinds of numbers are checked by mypy.
_PRECISIONS = (
    {"Float16", "Float32", "Float64", "BFloat16"},
    {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"},
)


def same_precision(a: str, b: str) -> bool:
    """Whether arrays of two kinds may be one: Float32 is a Float, and no Float64."""
    return a == b or not any(a in family and b in family for family in _PRECISIONS)


def array(context: Context, shape: Shape, kind: str = "") -> Array:
    """An array of this body's own axes: no layer's own name is one of them."""
    flow = Flow.of(shape)
    return Array(replace(flow, symbols={**{each: Dim.named(each) for each in context.names}, **flow.symbols}), kind)


def promised(context: Context, text: str, kind: str, attributes: Lookup) -> Value:
    """The array that an annotation of this body, or of a field, describes."""
    try:
        slots = parse(text)
    except TypednnError:
        return UNKNOWN
    if any(slot.variadic for slot in slots):
        return UNKNOWN
    names = {each: Dim.named(each) for each in context.names}
    sizes = [None if not slot.text or slot.broadcast else evaluate(slot.text, names.get, attributes) for slot in slots]
    return array(context, sizes, kind)


def result(context: Context, unifier: Unifier, text: str, kind: str = "") -> Value:
    """The array that a return annotation describes, by what the arguments bound."""
    shape = known(unifier.result(text) if text else None, context.names)
    return UNKNOWN if shape is None else Array(Flow.of(shape), kind)


def misfit(context: Context, unifier: Unifier, text: str, given: Value, node: ast.AST) -> str | None:
    """How an array contradicts an annotation: empty where mypy reports it, None where it may fit."""
    if not isinstance(given, Array):
        return None
    unifier.bind(text, known(given.flow.shape, context.names))
    if not unifier.mismatches:
        return None
    mismatch = unifier.mismatches[0]
    return mismatch.sentence(why(given, mismatch.axis_index)) if mismatch.label or context.scope.rank(node) is None else ""


def fits(context: Context, unifier: Unifier, what: str, text: str, given: Value, node: ast.AST) -> bool:
    """Whether an array may fit an annotation; otherwise report an error that begins with ``what``."""
    wrong = misfit(context, unifier, text, given, node)
    if wrong:
        context.scope.complain(what + wrong, node)
    return wrong is None


def why(given: Value, place: int | None) -> str:
    """`` (= 5*5*16, from MaxPool2d on 10x10x16)`` of one axis of an array, or nothing."""
    axes = given.flow.axes if isinstance(given, Array) else None
    return axes[place].why if axes is not None and place is not None and place < len(axes) else ""


def class_of(context: Context, layer: Layer) -> TypeInfo | None:
    """A layer's class, if mypy has read it."""
    module, _, name = layer.class_name.rpartition(".")
    found = context.scope.inside(module).resolve(name)
    return found.node if isinstance(found, Reference) and isinstance(found.node, TypeInfo) else None


def stored(context: Context, layer: Layer, name: str) -> Value:
    """A parameter, a buffer, or what forward kept: an array whose sizes its annotation gives."""
    info = class_of(context, layer)
    declared = classes.fields(info).get(name) if info is not None else None
    if declared is None or len(declared[1]) != 1:
        return UNKNOWN
    kind, text = declared[1][0]
    return promised(context, text, kind, lookup(layer.attributes))


def names_of(text: str) -> list[str]:
    """The axis names of an annotation."""
    try:
        return [slot.text for slot in parse(text) if slot.is_name]
    except TypednnError:
        return []
