"""Layers one after another: ``Input(28, 28, 1) >> a >> b``, `Sequential`, `Stack`."""

import ast
import math
from collections.abc import Callable
from dataclasses import replace

from typednn.errors import TypednnError
from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.sizes import class_of
from typednn.mypy_plugin.values import UNKNOWN, Layer, Number, Pack, Sample, Value, integer_of
from typednn.shapes import Dim, Flow


def declared(call: Call) -> Value:
    """``Input(28, 28, 1)``."""
    numbers = [integer_of(each) for each in call.arguments]
    return Sample(None if None in numbers else tuple(each or 0 for each in numbers))


def stacked(call: Call) -> Value:
    """``a >> b``."""
    left, right = call.arguments
    at = call.node.right if isinstance(call.node, ast.BinOp) else call.node
    if isinstance(left, Sample) and isinstance(right, Layer):
        shown = f"Input({', '.join(map(str, left.sizes or ()))}) >> {right.shown}"
        return traced(call, Layer(shown, classes.CHAIN, parts=(right,), sample=left), at)
    if not isinstance(left, Layer) or not isinstance(right, Layer):
        return UNKNOWN
    kinds = _kinds(call, left), _kinds(call, right)
    name = next((chain for kind, chain in classes.KINDS.items() if all(kind in each for each in kinds)), classes.CHAIN)
    parts = left.parts if left.parts is not None and left.class_name in (*classes.CHAINS, name) else (left,)
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
        return call.complain(str(error), at)
    if flow.open_constraints:
        call.context.scope.lost(f"whether {layer.shown} fits depends on {', '.join(map(str, flow.open_constraints))}", at)
    return replace(layer, traced=flow)


def sequential(call: Call) -> Value:
    """``Sequential([a, b, c], input=Input(28, 28, 1))``, flat as the chains it is made from."""
    given, sample = call.argument(0, "layers"), call.keywords.get("input")
    layers = _layers(given)
    if layers is None or not isinstance(given, Pack):
        return UNKNOWN
    parts: list[Layer] = []
    for each in layers:
        flat = each.class_name in classes.CHAINS and not given.keys
        parts += each.parts if flat and each.parts is not None and each.sample is None else (each,)
    shown = " >> ".join(part.shown for part in parts)
    return traced(call, Layer(shown, call.name, parts=tuple(parts), sample=sample if isinstance(sample, Sample) else None), call.node)


def rows(call: Call) -> Value:
    """``Stack([a, b, c], input=(28, 28, 1))``: between rows, with the layers' own shapes inside."""
    layers, sample = _layers(call.argument(0, "layers")), call.argument(1, "input")
    if isinstance(sample, Pack):
        numbers = [integer_of(each) for each in sample.items]
        sample = Sample(None if None in numbers else tuple(each or 0 for each in numbers))
    if not isinstance(sample, Sample) or sample.sizes is None or not layers:
        return UNKNOWN
    chain = traced(call, Layer(" >> ".join(part.shown for part in layers), classes.CHAIN, parts=layers, sample=sample), call.node)
    sizes = chain.trace(Flow.start(None)).sizes() if isinstance(chain, Layer) else None
    if sizes is None:
        return UNKNOWN
    ends = {"in_features": math.prod(sample.sizes), "out_features": math.prod(sizes)}
    attributes: dict[str, Value] = {name: Number(Dim.of(size)) for name, size in ends.items()}
    return Layer("Stack", call.name, ("batch {self.in_features}",), "batch {self.out_features}", attributes)


def _layers(given: Value) -> tuple[Layer, ...] | None:
    """The layers of a list; None where not every one is known."""
    items = given.items if isinstance(given, Pack) else (UNKNOWN,)
    layers = tuple(each for each in items if isinstance(each, Layer))
    return layers if len(layers) == len(items) else None


TABLE: dict[str, Analysis] = {
    classes.INPUT: declared,
    classes.SEQUENTIAL: sequential,
    classes.STACK: rows,
    "Sample >> Layer": stacked,
    "Layer >> Layer": stacked,
}
