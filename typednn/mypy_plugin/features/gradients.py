"""``layer.backward(next_grad)``, ``layer.update(optimizer, grad)``, and the gradients between: ``LinearGrad(dx, dweight, dbias)``."""

from collections.abc import Mapping

from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call, Context
from typednn.mypy_plugin.sizes import class_of, fits, misfit, stored
from typednn.mypy_plugin.values import OWN, UNKNOWN, Array, Constant, Gradient, Layer, Pack, Reference, Value, known, lookup
from typednn.shapes import Dim, Flow, Lookup, Shape, Unifier, differ, parse, unknown


def backward(call: Call) -> Value:
    """The gradient of a layer: its input as large as what forward read, each parameter's as large as the parameter."""
    layer = call.receiver
    if not isinstance(layer, Layer):
        return UNKNOWN
    fields: dict[str, Value] = dict(gradient_of(call.context, layer).fields)
    ends = _ends(layer)
    if ends is not None:
        given = (*call.arguments, *call.keywords.values(), UNKNOWN)[0]
        fields["input"] = _input_gradient(call, layer, *ends, given)
    return Gradient(layer.label, fields)


def _ends(layer: Layer) -> tuple[str, str, Lookup] | None:
    if layer.parts is None and not layer.inner:
        return (layer.inputs[0], layer.output, lookup(layer.attributes)) if len(layer.inputs) == 1 and layer.output else None
    contract = layer.contract
    if contract is None or "..." in contract:
        return None
    inputs, _, output = contract.partition(" if ")[0].partition(" -> ")
    return inputs, output, unknown


def _input_gradient(call: Call, layer: Layer, inputs: str, output: str, attributes: Lookup, given: Value) -> Value:
    if inputs.split() == output.split() and all(slot.text and slot.variadic for slot in parse(inputs)):
        return given if isinstance(given, Array) and given.flow.shape is not None else UNKNOWN
    unifier = Unifier(attributes)
    unifier.sizes.update({slot.text: Dim.named(slot.text + OWN) for slot in parse(inputs) if slot.is_name})
    wrong = misfit(call.context, unifier, output, given, call.first)
    if wrong is not None:
        return call.complain(f"{_owner(layer.label)}.backward: {wrong}") if wrong else UNKNOWN
    found: dict[str, Dim] = {}
    for name, size in unifier.refined.items():  # batchˈ is the caller's batch
        if name.endswith(OWN):
            found[name] = size
        elif str(size).endswith(OWN) and str(size).isidentifier():
            found[str(size)] = Dim.named(name)
    expected = unifier.result(inputs)
    if expected is None:
        return UNKNOWN
    return Array(Flow.of(known([None if size is None else size.substitute(found) for size in expected], call.context.names) or []))


def gradient_of(context: Context, layer: Layer) -> Gradient:
    """What a layer's gradient certainly holds: an array as large as each parameter, and the same of each layer within."""
    return context.cached(("gradient", id(layer)), (layer,), lambda: _gradient_of(context, layer))


def _gradient_of(context: Context, layer: Layer) -> Gradient:
    if layer.parts is not None:
        parts = tuple(gradient_of(context, part) for part in layer.parts)
        return Gradient(layer.label, {"parts": Pack(parts, frozen=True)})
    info = class_of(context, layer)
    parameters = [] if info is None else [name for name, (kind, _) in classes.fields(info).items() if kind == "Parameter"]
    found: dict[str, Value] = {name: stored(context, layer, name) for name in parameters}
    found |= {name: gradient_of(context, value) for name, value in layer.attributes.items() if isinstance(value, Layer)}
    return Gradient(layer.label, found)


def update(call: Call) -> Value:
    """The gradient has the sizes of the layer's own parameters."""
    layer, given = call.receiver, call.argument(1, "grad")
    wrong = _other(gradient_of(call.context, layer), given) if isinstance(layer, Layer) else None
    if isinstance(layer, Layer) and isinstance(given, Gradient) and wrong is not None:
        of = "" if given.owner in ("", layer.label) else f" (the gradient of {given.owner})"
        call.complain(f"{_owner(layer.label)}.update: {wrong}{of}")
    return Constant(None)


def gradient(call: Call) -> Value:
    """A gradient class: the fields' sizes agree, and each part belongs to the layer of its name."""
    if call.spread or not isinstance(call.receiver, Reference) or not isinstance(info := call.receiver.node, TypeInfo):
        return UNKNOWN
    declared = [name for _, facts in classes.all_facts(info) for name, _ in facts["dataclass"]]
    values: dict[str, Value] = {**dict(zip(dict.fromkeys(declared), call.arguments, strict=False)), **call.keywords}
    unifier = Unifier()
    for name, (_, alternatives) in classes.fields(info).items():
        if (
            len(alternatives) == 1
            and name in values
            and not fits(call.context, unifier, f"{info.name}: {name}: ", alternatives[0][1], values[name], call.node)
        ):
            return UNKNOWN
    own: Mapping[str, Value] = {} if call.context.own is None else gradient_of(call.context, call.context.own).fields
    for name, value in values.items():
        wrong = _other(Gradient("", {name: own[name]}), Gradient("", {name: value})) if name in own else None
        if wrong is not None:
            of = f" (the gradient of {value.owner})" if isinstance(value, Gradient) and value.owner else ""
            call.complain(f"{info.name}: {wrong}{of}")
            break
    return Gradient(info.name, values) if declared else UNKNOWN


def _other(mine: Gradient, given: Value, path: str = "") -> str | None:
    """The first parameter whose gradient certainly has other sizes: its name, its sizes, the gradient's."""
    if not isinstance(given, Gradient):
        return None
    for name, own in mine.fields.items():
        other, whole = given.fields.get(name, UNKNOWN), f"{path}{name}"
        pairs: list[tuple[str, Value, Value]] = [(whole, own, other)]
        if isinstance(own, Pack) and isinstance(other, Pack) and len(own.items) == len(other.items):
            pairs = [(f"{whole}[{place}]", *both) for place, both in enumerate(zip(own.items, other.items, strict=True))]
        for at, first, second in pairs:
            if isinstance(first, Gradient) and (found := _other(first, second, f"{at}.")) is not None:
                return found
            if isinstance(first, Array) and isinstance(second, Array) and _differ(first.flow.shape, second.flow.shape):
                return f"{at} is {_product_text(first.flow.shape)}, but its gradient is {_product_text(second.flow.shape)}"
    return None


def _differ(a: "Shape | None", b: "Shape | None") -> bool:
    if a is None or b is None or len(a) != len(b):
        return a is not None and b is not None
    return any(x is not None and y is not None and differ(x, y) for x, y in zip(a, b, strict=True))


def _owner(label: str) -> str:
    """A stack in brackets, so that what follows belongs to all of it."""
    return f"({label})" if " >> " in label else label


def _product_text(shape: "Shape | None") -> str:
    return "x".join("_" if size is None else str(size) for size in shape or ())


TABLE: dict[str, Analysis] = {
    "Layer.backward()": backward,
    "Layer.update()": update,
    "(typednn.module.gradients.Gradient)": gradient,
}
