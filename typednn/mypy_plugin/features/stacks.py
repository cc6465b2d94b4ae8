"""Layers one after another: ``Input(28, 28, 1) >> a >> b``, `Sequential`, `Stack`."""

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from mypy.nodes import FuncDef, TypeInfo

from typednn.errors import StackError, TypednnError
from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.sizes import class_of
from typednn.mypy_plugin.values import UNKNOWN, Layer, Pack, Reference, Value, integer_of, layers_of, number
from typednn.shapes import Flow


def declared(call: Call) -> Value:
    """``Input(28, 28, 1)``: a chain without layers."""
    sizes = _integers(call.arguments)
    keywords = call.node.keywords if isinstance(call.node, ast.Call) else []
    shown = [*map(str, sizes or ()), *(each for each in map(ast.unparse, keywords) if each == "dtype=int")]
    return Layer(f"Input({', '.join(shown)})", call.name, parts=(), sample=sizes)


def _integers(values: Sequence[Value]) -> tuple[int, ...] | None:
    numbers = tuple(number for each in values if (number := integer_of(each)) is not None)
    return numbers if len(numbers) == len(values) else None


def _chain(layers: Sequence[Layer], name: str, sample: tuple[int, ...] | None) -> Layer:
    return Layer(" >> ".join(layer.shown for layer in layers), name, parts=tuple(layers), sample=sample)


def stacked(call: Call) -> Value:
    """``a >> b``."""
    left, right = call.arguments
    at = call.node.right if isinstance(call.node, ast.BinOp) else call.node
    if not isinstance(left, Layer) or not isinstance(right, Layer):
        return UNKNOWN
    kinds = _kinds(call, left), _kinds(call, right)
    name = next((chain for kind, chain in classes.KINDS.items() if all(kind in each for each in kinds)), classes.CHAIN)
    parts = (
        left.parts if left.parts is not None and left.class_name in (classes.INPUT, *classes.CHAINS, name) else (left,)
    )
    chain = Layer(f"{left.shown} >> {right.shown}", name, parts=(*parts, right), sample=left.sample)
    refused = left.parts is not None and left.traced is None
    return traced(call, chain, at, None if refused else lambda: right.trace(left.trace(Flow.start(None))))


def _kinds(call: Call, layer: Layer) -> list[str]:
    """A layer's kinds: an elementwise layer is positionwise too."""
    info, kinds = class_of(call.context, layer), list(classes.KINDS)
    own = next((place for place, kind in enumerate(kinds) if info is not None and info.has_base(kind)), len(kinds))
    return kinds[own:]


def traced(call: Call, layer: Layer, at: ast.AST, trace: Callable[[], Flow] | None = None) -> Value:
    """A stack or a wrapper that was just built; what does not fit is reported."""
    try:
        flow = layer.trace(Flow.start(None)) if trace is None else trace()
    except TypednnError as error:
        return call.complain(str(error), at, _cure(call, error, at))
    return replace(layer, traced=flow)


def _cure(call: Call, error: TypednnError, at: ast.AST) -> tuple[ast.AST, str] | None:
    """The argument of the layer at ``at`` that does not fit, where it is a number, and the number that fits."""
    if (
        not isinstance(error, StackError)
        or not error.argument
        or not error.got.isdecimal()
        or not isinstance(at, ast.Call)
    ):
        return None
    info = call.context.evaluate(at.func, call.env)
    owner = (
        classes.constructor_owner(info.node.mro)
        if isinstance(info, Reference) and isinstance(info.node, TypeInfo)
        else None
    )
    symbol = owner.names["__init__"].node if owner is not None else None
    names = symbol.arg_names[1:] if isinstance(symbol, FuncDef) else []
    given = dict(zip(names, at.args, strict=False)) | {each.arg: each.value for each in at.keywords}
    argument = given.get(error.argument)
    return (
        (argument, error.got) if isinstance(argument, ast.Constant) and str(argument.value) == error.expected else None
    )


def sequential(call: Call) -> Value:
    """``Sequential([a, b, c], input=Input(28, 28, 1))``, flat as the chains it is made from."""
    container, example = call.argument(0, "layers"), call.keywords.get("input")
    layers = layers_of(container)
    if layers is None or not isinstance(container, Pack):
        return UNKNOWN
    chains = () if container.keys else classes.CHAINS
    flat = [
        each.parts if each.class_name in chains and each.parts and each.sample is None else (each,) for each in layers
    ]
    sample = example.sample if isinstance(example, Layer) else None
    return traced(call, _chain([part for parts in flat for part in parts], call.name, sample), call.node)


def rows(call: Call) -> Value:
    """``Stack([a, b, c], input=(28, 28, 1))``: between rows, with the layers' own shapes inside."""
    layers, example = layers_of(call.argument(0, "layers")), call.argument(1, "input")
    sample = (
        _integers(example.items)
        if isinstance(example, Pack)
        else example.sample
        if isinstance(example, Layer)
        else None
    )
    if sample is None or not layers:
        return UNKNOWN
    chain = traced(call, _chain(layers, classes.CHAIN, sample), call.node)
    sizes = chain.trace(Flow.start(None)).sizes() if isinstance(chain, Layer) else None
    if sizes is None:
        return UNKNOWN
    attributes: dict[str, Value] = {"in_features": number(math.prod(sample)), "out_features": number(math.prod(sizes))}
    return Layer("Stack", call.name, ("batch {self.in_features}",), "batch {self.out_features}", attributes)


TABLE: dict[str, Analysis] = {
    classes.INPUT: declared,
    classes.SEQUENTIAL: sequential,
    classes.STACK: rows,
    "Layer >> Layer": stacked,
}
