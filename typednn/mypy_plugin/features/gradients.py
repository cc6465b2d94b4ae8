"""``layer.backward(next_grad)``, ``layer.update(optimizer, grad)``, and the gradients between: ``LinearGrad(dx,
dweight, dbias)``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call, Comparison, Context
from typednn.mypy_plugin.sizes import array, class_of, fits, misfit, stored
from typednn.mypy_plugin.values import (
    FLEXIBLE,
    OWN,
    UNKNOWN,
    Array,
    Constant,
    Gradient,
    Layer,
    Pack,
    Value,
    layers_of,
    lookup,
    sizes_in,
    written_shape,
)
from typednn.shapes import Dim, Lookup, Shape, Unifier, leave, parse, same, unknown


def backward(call: Call) -> Value:
    """The gradient of a layer: its input as large as what forward read, each parameter's as large as the parameter."""
    layer: Layer = call.receiver
    fields, ends = gradient_of(call.context, layer).fields, _ends(layer)
    next_grad = (*call.arguments, *call.keywords.values(), UNKNOWN)[0]
    return Gradient(
        layer.label, fields if ends is None else {**fields, "input": _input_gradient(call, layer, *ends, next_grad)}
    )


def _ends(layer: Layer) -> tuple[str, str, Lookup] | None:
    if layer.parts is None and not layer.inner:
        return (
            (layer.inputs[0], layer.output, lookup(layer.attributes))
            if len(layer.inputs) == 1 and layer.output
            else None
        )
    contract = layer.contract
    if contract is None or "..." in contract:
        return None
    inputs, _, output = contract.partition(" if ")[0].partition(" -> ")
    return inputs, output, unknown


def _input_gradient(call: Call, layer: Layer, inputs: str, output: str, attributes: Lookup, next_grad: Value) -> Value:
    if inputs.split() == output.split() and all(slot.text and slot.variadic for slot in parse(inputs)):
        return next_grad if isinstance(next_grad, Array) and next_grad.shape is not None else UNKNOWN
    unifier = Unifier(attributes, call.context.comparison())
    unifier.sizes.update({slot.text: Dim.named(slot.text + OWN) for slot in parse(inputs) if slot.is_name})
    wrong = misfit(call.context, unifier, output, next_grad, call.first)
    if wrong is not None:
        return call.complain(f"{_owner(layer.label)}.backward: {wrong}") if wrong else UNKNOWN
    # batchˈ is the caller's batch.
    own = {name: size for name, size in unifier.refined.items() if name.endswith(OWN)}
    others = {str(size): Dim.named(name) for name, size in unifier.refined.items() if name not in own}
    own |= {name: size for name, size in others.items() if name.endswith(OWN) and name.isidentifier()}
    expected = unifier.result(inputs)
    shape = None if expected is None else [None if size is None else size.substitute(own) for size in expected]
    return array(call.context, shape)


def gradient_of(context: Context, layer: Layer) -> Gradient:
    """What a layer's gradient certainly holds: an array as large as each parameter, and the same of
    each layer within.
    """
    return context.cached(("gradient", id(layer)), (layer,), lambda: _gradient_of(context, layer))


def _gradient_of(context: Context, layer: Layer) -> Gradient:
    if layer.parts is not None:
        parts = tuple(gradient_of(context, part) for part in layer.parts)
        return Gradient(layer.label, {"parts": Pack(parts, frozen=True)})
    info = class_of(context, layer)
    parameters = (
        [] if info is None else [name for name, (word, _) in classes.fields(info).items() if word == "Parameter"]
    )
    arrays = {name: stored(context, layer, name) for name in parameters}
    layers: dict[str, Value] = {}
    for name, value in layer.attributes.items():
        found = layers_of(value) if isinstance(value, Layer | Pack) else None
        gradients = tuple(gradient_of(context, each) for each in found or ())
        if gradients:
            layers[name] = Pack(gradients, frozen=True) if isinstance(value, Pack) else gradients[0]
    return Gradient(layer.label, {**arrays, **layers})


def update(call: Call) -> Value:
    """The gradient has the sizes of the layer's own parameters."""
    label, grad = call.receiver.label, call.argument(1, "grad")
    wrong = _other_sizes(gradient_of(call.context, call.receiver), grad, call.context.comparison())
    if isinstance(grad, Gradient) and wrong is not None:
        of = "" if grad.owner in ("", label) else f" (the gradient of {grad.owner})"
        call.complain(f"{_owner(label)}.update: {wrong}{of}")
    return Constant(None)


def gradient(call: Call) -> Value:
    """A gradient class: the fields' sizes agree, and each part belongs to the layer of its name."""
    info: TypeInfo = call.receiver.node
    if call.spread:
        return UNKNOWN
    declared = [name for _, facts in classes.all_facts(info) for name, _ in facts["dataclass"]]
    values: dict[str, Value] = {**dict(zip(dict.fromkeys(declared), call.arguments, strict=False)), **call.keywords}
    unifier = Unifier(differs=call.context.comparison())
    for name, (_, alternatives) in classes.fields(info).items():
        if (
            len(alternatives) == 1
            and name in values
            and not fits(call.context, unifier, f"{info.name}: {name}: ", alternatives[0][1], values[name], call.node)
        ):
            return UNKNOWN
    layer = call.context.own
    own: Mapping[str, Value] = {} if layer is None else gradient_of(call.context, layer).fields
    differs = call.context.comparison()
    # Of another layer it is no gradient, even where the sizes of both are equal by luck.
    of_layers = replace(differs, rigid=(*differs.rigid, _free(layer, own.values())))
    for name, value in values.items():
        compared = differs if isinstance(value, Array) else of_layers
        wrong = _other_sizes(own[name], value, compared, name) if name in own else None
        if wrong is not None:
            of = f" (the gradient of {value.owner})" if isinstance(value, Gradient) and value.owner else ""
            call.complain(f"{info.name}: {wrong}{of}")
            break
    return Gradient(info.name, values) if declared else UNKNOWN


def _free(layer: Layer | None, gradients: Iterable[Value]) -> frozenset[str]:
    """The sizes of a model's layers that are symbols, and that its constructor does not compare."""
    names = frozenset(name for each in gradients for name in _sizes_in(each))
    compared = UNKNOWN if layer is None else layer.attributes.get(FLEXIBLE, UNKNOWN)
    items = compared.items if isinstance(compared, Pack) else ()
    return names - {str(each.value) for each in items if isinstance(each, Constant)}


def _sizes_in(gradient: Value) -> frozenset[str]:
    match gradient:
        case Gradient(fields=fields):
            return frozenset(name for each in fields.values() for name in _sizes_in(each))
        case Pack(items=items):
            return frozenset(name for each in items for name in _sizes_in(each))
        case _:
            return sizes_in(gradient, arrays=True)


def _other_sizes(expected: Value, gradient: Value, differs: Comparison, path: str = "") -> str | None:
    """The first parameter whose gradient certainly has other sizes: its name, its sizes, the gradient's."""
    pairs: Iterable[tuple[str, Value, Value]] = ()
    match expected, gradient:
        case Gradient(fields=fields), Gradient(fields=others):
            pairs = (
                (f"{path}.{name}".removeprefix("."), value, others.get(name, UNKNOWN)) for name, value in fields.items()
            )
        case Pack(items=items), Pack(items=other_items) if len(items) == len(other_items):
            pairs = ((f"{path}[{place}]", *both) for place, both in enumerate(zip(items, other_items, strict=True)))
        case Array(), Array() if _differ(expected.flow.shape, gradient.flow.shape, differs):
            sizes = written_shape(expected.flow.shape, "x"), written_shape(gradient.flow.shape, "x")
            return f"{path} is {sizes[0]}, but its gradient is {sizes[1]}"
        case _:
            if gradient is not expected or not isinstance(gradient, Constant):
                leave(None, None)
            return None
    return next((wrong for name, a, b in pairs if (wrong := _other_sizes(a, b, differs, name)) is not None), None)


def _differ(a: "Shape | None", b: "Shape | None", differs: Comparison) -> bool:
    if a is None or b is None:
        leave(None, None)
        return False
    if len(a) != len(b):
        return True
    pairs = list(zip(a, b, strict=True))
    for x, y in pairs:
        if x is None or y is None:
            leave(x, y)
    return any(x is not None and y is not None and not same(x, y) and differs(x, y) for x, y in pairs)


def _owner(label: str) -> str:
    """A stack in brackets, so that what follows belongs to all of it."""
    return f"({label})" if " >> " in label else label


TABLE: dict[str, Analysis] = {
    "Layer.backward()": backward,
    "Layer.update()": update,
    "(typednn.module.gradients.Gradient)": gradient,
}
