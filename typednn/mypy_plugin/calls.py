"""What calls and ``>>`` do to sizes, and what is said when they cannot.

Every rule is `typednn.shapes`'s, which definition time and the config loader ask too: a layer's forward is
`Flow.through`, a function's arguments are unified one after another with its parameters' axes.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mypy.nodes import TypeInfo

from typednn.errors import StackError, TypednnError
from typednn.mypy_plugin import classes, python
from typednn.mypy_plugin.arrays import same_precision, why
from typednn.mypy_plugin.syntax import Alternatives
from typednn.mypy_plugin.values import (
    OWN,
    UNKNOWN,
    Array,
    Constant,
    Gradient,
    Layer,
    Number,
    Pack,
    Reference,
    Sample,
    Value,
    integer_of,
    known,
    lookup,
)
from typednn.shapes import Dim, Flow, Lookup, Shape, Unifier, differ, parse, unknown

if TYPE_CHECKING:
    from typednn.mypy_plugin.evaluator import Evaluator

_CHAIN = "typednn.layer.Chain"


class Calls:
    """The calls of one body."""

    def __init__(self, body: Evaluator) -> None:
        self.body = body
        self.own: Layer | None = None  # self, in a method of a layer
        self._gradients: dict[int, tuple[Layer, Gradient]] = {}
        self._last: dict[tuple[int, str], tuple[ast.AST, tuple[Value, ...], Value]] = {}

    def again(self, what: str, node: ast.AST, given: tuple[Value, ...], compute: Callable[[], Value]) -> Value:
        """The answer of the last look at the same call, if it is given the very same values: a body is followed many times."""
        key = (id(node), what)
        last = self._last.get(key)
        if last is not None and last[0] is node and len(last[1]) == len(given) and all(map(operator.is_, last[1], given)):
            return last[2]
        answer = compute()
        self._last[key] = (node, given, answer)
        return answer

    # ------------------------------------------------------------------ layers

    def forward(self, layer: Layer, arguments: Sequence[Value], node: ast.Call) -> Value:
        """``layer.forward(x)``: the array after the layer."""
        return self.again("forward", node, (layer, *arguments), lambda: self._forward(layer, arguments, node))

    def _forward(self, layer: Layer, arguments: Sequence[Value], node: ast.Call) -> Value:
        if len(layer.inputs) > 1:
            return self._several(layer, arguments, node)
        given = arguments[0] if arguments else UNKNOWN
        before = given.flow if isinstance(given, Array) else Flow.start(None)
        try:
            after = layer.trace(before)
        except TypednnError as error:
            told = isinstance(error, StackError) and error.reason == "rank"  # by the array types, where these are known
            if not told or self.body.world.rank(node.args[0] if node.args else node) is None:
                self.body.world.complain(str(error), node)
            return UNKNOWN
        if after.shape is None:
            return UNKNOWN
        if not isinstance(given, Array):
            self.body.world.lost(f"{layer.label} is given an array of which no size is known", node)
            return Array(Flow.of([size if size is not None and size.value is not None else None for size in after.shape]))
        return Array(after)

    def _several(self, layer: Layer, arguments: Sequence[Value], node: ast.Call) -> Value:
        unifier = Unifier(lookup(layer.attributes))
        info = self.class_of(layer)
        said = classes.method(info, "forward") if info is not None else None
        names = [name for name, _ in said["parameters"][1:]] if said is not None else []
        for place, (text, given) in enumerate(zip(layer.inputs, arguments, strict=False)):
            what = f"{layer.label}: {names[place]}" if place < len(names) else layer.label
            if not self._fits(unifier, what, text, given, node):
                return UNKNOWN
        return self._result(unifier, layer.output, "")

    def _fits(self, unifier: Unifier, what: str, text: str, given: Value, node: ast.AST) -> bool:
        if not isinstance(given, Array):
            return True
        unifier.bind(text, known(given.flow.shape, self.body.names))
        if unifier.mismatches:
            mismatch = unifier.mismatches[0]
            if mismatch.label or self.body.world.rank(node) is None:
                self.body.world.complain(f"{what}: {mismatch.sentence(why(given, mismatch))}", node)
            return False
        return True

    def _result(self, unifier: Unifier, text: str, kind: str) -> Value:
        shape = unifier.result(text) if text else None
        shape = known(shape, self.body.names)
        return UNKNOWN if shape is None else Array(Flow.of(shape), kind)

    def backward(self, layer: Layer, given: Value, node: ast.Call) -> Value:
        """``layer.backward(next_grad)``: the gradient, its input as large as what forward read."""
        return self.again("backward", node, (layer, given), lambda: self._backward(layer, given, node))

    def _backward(self, layer: Layer, given: Value, node: ast.Call) -> Value:
        fields: dict[str, Value] = dict(self.gradient_of(layer).fields)
        ends = _ends(layer)
        if ends is not None:
            fields["input"] = self._input_gradient(layer.label, *ends, given, node)
        return Gradient(layer.label, fields)

    def _input_gradient(self, label: str, inputs: str, output: str, attributes: Lookup, given: Value, node: ast.Call) -> Value:
        if not isinstance(given, Array):
            given = Array(Flow.start(None))
        shape = known(given.flow.shape, self.body.names)
        if inputs.split() == output.split() and all(slot.text for slot in parse(inputs)) and all(slot.variadic for slot in parse(inputs)):
            return given if given.flow.shape is not None else UNKNOWN
        unifier = Unifier(attributes)
        own = {slot.text: Dim.named(slot.text + OWN) for slot in parse(inputs) if slot.is_name}
        unifier.sizes.update(own)
        unifier.bind(output, shape)
        if unifier.mismatches:
            mismatch = unifier.mismatches[0]
            if mismatch.label or self.body.world.rank(node.args[0] if node.args else node) is None:
                self.body.world.complain(f"{_owner(label)}.backward: {mismatch.sentence(why(given, mismatch))}", node)
            return UNKNOWN
        found: dict[str, Dim] = {}
        for name, size in unifier.refined.items():  # batchˈ is the caller's batch
            if name.endswith(OWN):
                found[name] = size
            elif str(size).endswith(OWN) and str(size).isidentifier():
                found[str(size)] = Dim.named(name)
        wanted = unifier.result(inputs)
        if wanted is None:
            return UNKNOWN
        return Array(Flow.of(known([None if size is None else size.substitute(found) for size in wanted], self.body.names) or []))

    def gradient_of(self, layer: Layer) -> Gradient:
        """What a layer's gradient surely holds: an array as large as each parameter, and the same of each layer within."""
        known = self._gradients.get(id(layer))
        if known is None or known[0] is not layer:
            self._gradients[id(layer)] = known = (layer, self._gradient_of(layer))
        return known[1]

    def _gradient_of(self, layer: Layer) -> Gradient:
        if layer.parts is not None:
            return Gradient(layer.label, {"parts": Pack(tuple(map(self.gradient_of, layer.parts)), frozen=True)})
        if layer.inner is not None:
            return Gradient(layer.label, {"inner": self.gradient_of(layer.inner)})
        found: dict[str, Value] = {name: self.body.stored(layer, name) for name in self._parameters(layer)}
        for name, value in layer.attributes.items():
            if isinstance(value, Layer):
                found[name] = self.gradient_of(value)
        return Gradient(layer.label, found)

    def _parameters(self, layer: Layer) -> list[str]:
        info = self.class_of(layer)
        return [] if info is None else [name for name, (kind, _) in classes.fields(info).items() if kind == "Parameter"]

    def class_of(self, layer: Layer) -> TypeInfo | None:
        """The class, if mypy has read it."""
        module, _, name = layer.class_name.rpartition(".")
        found = self.body.world.inside(module).resolve(name)
        return found.node if isinstance(found, Reference) and isinstance(found.node, TypeInfo) else None

    def update(self, layer: Layer, given: Value, node: ast.Call) -> Value:
        """``layer.update(optimizer, grad)``: the gradient has the sizes of the layer's own parameters."""
        if isinstance(given, Gradient):
            wrong = _other(self.gradient_of(layer), given)
            if wrong is not None:
                name, expected, got = wrong
                of = "" if given.owner in ("", layer.label) else f" (the gradient of {given.owner})"
                self.body.world.complain(f"{_owner(layer.label)}.update: {name} is {expected}, but its gradient is {got}{of}", node)
        return Constant(None)

    # ------------------------------------------------------------------ stacks

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.BinOp) -> Value:
        """``>>`` of layers, and what arrays, and Python's own integers and lists, do with an operator."""
        match left, right:
            case ((Layer() | Sample()), Layer()) if isinstance(op, ast.RShift):
                return self._stacked(left, right, node.right)
            case (Array(), _) | (_, Array()):
                return self.body.arrays.binary(op, left, right, node)
            case _:
                return python.binary(op, left, right)

    def _stacked(self, left: Layer | Sample, right: Layer, node: ast.AST) -> Value:
        if isinstance(left, Sample):
            chain = Layer(f"{_sample(left)} >> {right.shown}", _CHAIN, parts=(right,), sample=left)
        else:
            parts = left.parts if left.parts is not None and left.class_name in classes.CHAINS else (left,)
            both = all("Elementwise" in each.class_name or self._keeps(each) for each in (left, right))
            name = classes.ELEMENTWISE_CHAIN if both else _CHAIN
            chain = Layer(f"{left.shown} >> {right.shown}", name, parts=(*parts, right), sample=left.sample)
            if left.parts is None or left.traced is not None:
                return self._built(chain, node, lambda: right.trace(left.trace(Flow.start(None))))
        return self._built(chain, node)

    def _keeps(self, layer: Layer) -> bool:
        info = self.class_of(layer)
        return info is not None and info.has_base(classes.ELEMENTWISE)

    def _built(self, layer: Layer, node: ast.AST, trace: Callable[[], Flow] | None = None) -> Value:
        try:
            flow = layer.trace(Flow.start(None)) if trace is None else trace()
        except TypednnError as error:
            self.body.world.complain(str(error), node)
            return UNKNOWN
        if flow.open_constraints:
            self.body.world.lost(f"whether {layer.shown} fits depends on {', '.join(map(str, flow.open_constraints))}", node)
        return replace(layer, traced=flow)

    def sequential(
        self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call, *, spread: bool
    ) -> Value:
        """``Sequential([a, b, c], input=Input(28, 28, 1))``, flat as the chains it is made from."""
        given = arguments[0] if arguments else keywords.get("layers", UNKNOWN)
        sample = keywords.get("input")
        if info.fullname != classes.SEQUENTIAL or spread or not isinstance(given, Pack):
            return UNKNOWN
        parts: list[Layer] = []
        for each in given.items:
            if not isinstance(each, Layer):
                return UNKNOWN
            flat = each.class_name in classes.CHAINS and each.class_name != classes.ELEMENTWISE_CHAIN and not given.keys
            parts += each.parts if flat and each.parts is not None and each.sample is None else (each,)
        shown = " >> ".join(part.shown for part in parts)
        return self._built(Layer(shown, info.fullname, parts=tuple(parts), sample=sample if isinstance(sample, Sample) else None), node)

    def rows(self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call, *, spread: bool) -> Value:
        """``Stack([a, b, c], input=(28, 28, 1))``: between rows, with the layers' own shapes inside."""
        given = arguments[0] if arguments else keywords.get("layers", UNKNOWN)
        sample = arguments[1] if len(arguments) > 1 else keywords.get("input", UNKNOWN)
        if isinstance(sample, Pack):
            numbers = [integer_of(each) for each in sample.items]
            sample = Sample(tuple(each for each in numbers if each is not None) if None not in numbers else None)
        parts = given.items if isinstance(given, Pack) else ()
        if (
            spread
            or not isinstance(sample, Sample)
            or sample.sizes is None
            or not parts
            or not all(isinstance(part, Layer) for part in parts)
        ):
            return UNKNOWN
        layers = tuple(part for part in parts if isinstance(part, Layer))
        chain = Layer(" >> ".join(part.shown for part in layers), _CHAIN, parts=layers, sample=sample)
        if self._built(chain, node) is UNKNOWN:
            return UNKNOWN
        sizes = chain.trace(Flow.start(None)).sizes()
        if sizes is None:
            return UNKNOWN
        attributes: dict[str, Value] = {
            "in_features": Number(Dim.of(math.prod(sample.sizes))),
            "out_features": Number(Dim.of(math.prod(sizes))),
        }
        return Layer("Stack", info.fullname, ("batch {self.in_features}",), "batch {self.out_features}", attributes)

    def wrapped(self, info: TypeInfo, arguments: Sequence[Value], node: ast.Call) -> Value:
        """``Residual(inner)`` and ``PerPosition(inner)``."""
        inner = arguments[0] if arguments else UNKNOWN
        if not isinstance(inner, Layer):
            return UNKNOWN
        wrapper = "residual" if info.fullname == classes.RESIDUAL else "per_position"
        layer = Layer(f"{info.name}({inner.shown})", info.fullname, attributes={"inner": inner}, inner=inner, wrapper=wrapper)
        return self._built(layer, node)

    # ------------------------------------------------------------------ functions and gradients

    def function(
        self,
        name: str,
        said: classes.Signature,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        node: ast.Call,
        receiver: Value | None,
    ) -> Value:
        """A call of a function whose parameters are annotated."""
        parameters = said["parameters"]
        bound = receiver is not None and not isinstance(receiver, Reference)
        if parameters and parameters[0][0] in ("self", "cls") and (bound or parameters[0][0] == "cls"):
            parameters = parameters[1:]
        unifier = Unifier(lookup(receiver.attributes) if isinstance(receiver, Layer) else unknown)
        nodes: dict[int | str | None, ast.expr] = {**dict(enumerate(node.args)), **{each.arg: each.value for each in node.keywords}}
        for place, parameter, alternatives in _matched(parameters, len(arguments), keywords):
            given = keywords[place] if isinstance(place, str) else arguments[place]
            if not isinstance(given, Array) or not alternatives:
                continue
            at = nodes.get(place, node)
            fitting = [text for kind, text in alternatives if self._would_fit(unifier, kind, text, given)]
            if len(alternatives) == 1 or not fitting:
                kind, text = alternatives[0]
                if not same_precision(kind, given.kind):
                    self.body.world.complain(f"{name}: {parameter} expects {kind}, gets {given.kind}", at)
                    return UNKNOWN
                if not self._fits(unifier, f"{name}: {parameter}", text, given, at):
                    return UNKNOWN
            elif len(fitting) == 1:
                unifier.bind(fitting[0], known(given.flow.shape, self.body.names))
        results = [
            self._result(unifier, alternatives[0][1], alternatives[0][0]) if len(alternatives) == 1 else UNKNOWN
            for alternatives in said["result"]
        ]
        return results[0] if len(results) == 1 else Pack(tuple(results), frozen=True)

    def _would_fit(self, unifier: Unifier, kind: str, text: str, given: Array) -> bool:
        trial = Unifier(unifier.attributes)
        trial.sizes, trial.groups, trial.refined = dict(unifier.sizes), dict(unifier.groups), dict(unifier.refined)
        trial.bind(text, known(given.flow.shape, self.body.names))
        return not trial.mismatches and same_precision(kind, given.kind)

    def gradient(self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call, *, spread: bool) -> Value:
        """``LinearGrad(dx, dweight, dbias)``: the fields' sizes agree, and each part belongs to the layer of its name."""
        declared = [name for base in reversed(info.mro) for name, _ in (classes.facts_of(base) or {"dataclass": []})["dataclass"]]
        order = list(dict.fromkeys(declared))
        if spread or not order:
            return UNKNOWN
        values = {**dict(zip(order, arguments, strict=False)), **keywords}
        unifier = Unifier()
        own: Mapping[str, Value] = {} if self.own is None else self.gradient_of(self.own).fields
        for name, (_, alternatives) in classes.fields(info).items():
            if (
                len(alternatives) == 1
                and name in values
                and not self._fits(unifier, f"{info.name}: {name}", alternatives[0][1], values[name], node)
            ):
                return UNKNOWN
        for name, value in values.items():
            mine = own.get(name)
            wrong = None if mine is None else _other(Gradient("", {name: mine}), Gradient("", {name: value}))
            if wrong is not None:
                path, expected, got = wrong
                of = f" (the gradient of {value.owner})" if isinstance(value, Gradient) and value.owner else ""
                self.body.world.complain(f"{info.name}: {path} is {expected}, but its gradient is {got}{of}", node)
                break
        return Gradient(info.name, values)


# ------------------------------------------------------------------ pieces


def _matched(
    parameters: Sequence[tuple[str, Alternatives]], count: int, keywords: Mapping[str, Value]
) -> Iterator[tuple[int | str, str, Alternatives]]:
    """Which argument meets which parameter: by place, by name, by ``*`` or ``**``."""
    positional = [each for each in parameters if not each[0].startswith(("*", "="))]
    stars = {name: alternatives for name, alternatives in parameters if name.startswith("*")}
    nothing: Alternatives = []
    star = next((each for name, each in stars.items() if not name.startswith("**")), nothing)
    star2 = next((each for name, each in stars.items() if name.startswith("**")), nothing)
    for place in range(count):
        name, alternatives = positional[place] if place < len(positional) else ("*", star)
        yield place, name, alternatives
    named = {name.lstrip("="): alternatives for name, alternatives in parameters if not name.startswith("*")}
    for name in keywords:
        yield name, name, named.get(name, star2)


def _ends(layer: Layer) -> tuple[str, str, Lookup] | None:
    if layer.parts is None and not layer.wrapper:
        return (layer.inputs[0], layer.output, lookup(layer.attributes)) if len(layer.inputs) == 1 and layer.output else None
    contract = layer.contract
    if contract is None or "..." in contract:
        return None
    inputs, _, output = contract.partition(" if ")[0].partition(" -> ")
    return inputs, output, unknown


def _other(mine: Gradient, given: Value, path: str = "") -> tuple[str, str, str] | None:
    """The first parameter whose gradient surely has other sizes: its name, its sizes, the gradient's."""
    if not isinstance(given, Gradient):
        return None
    for name, own in mine.fields.items():
        other = given.fields.get(name, UNKNOWN)
        whole = f"{path}{name}"
        match own, other:
            case Array(), Array():
                a, b = own.flow.shape, other.flow.shape
                if (
                    a is not None
                    and b is not None
                    and (len(a) != len(b) or any(x is not None and y is not None and differ(x, y) for x, y in zip(a, b, strict=True)))
                ):
                    return whole, _product_text(a), _product_text(b)
            case Gradient(), Gradient():
                found = _other(own, other, f"{whole}.")
                if found is not None:
                    return found
            case Pack(items=mine_items), Pack(items=items) if len(mine_items) == len(items):
                for place, (first, second) in enumerate(zip(mine_items, items, strict=True)):
                    found = _other(first, second, f"{whole}[{place}].") if isinstance(first, Gradient) else None
                    if found is not None:
                        return found
            case _:
                pass
    return None


def _owner(label: str) -> str:
    """A stack in brackets, so that what follows belongs to all of it."""
    return f"({label})" if " >> " in label else label


def _product_text(shape: Shape) -> str:
    return "x".join("_" if size is None else str(size) for size in shape)


def _sample(sample: Sample) -> str:
    return f"Input({', '.join(map(str, sample.sizes or ()))})"
