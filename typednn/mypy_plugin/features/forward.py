"""``layer.forward(x)`` and ``layer(x)``: the array after the layer, by `Flow.through`, as when a stack is built."""

from dataclasses import replace

from mypy.nodes import FuncDef, OverloadedFuncDef

from typednn.errors import StackError, TypednnError
from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.features import functions, torch_modules
from typednn.mypy_plugin.sizes import class_of, fits, result
from typednn.mypy_plugin.values import UNKNOWN, Array, Layer, Value, lookup
from typednn.shapes import Dim, Flow, Unifier, leave, same


def forward(call: Call) -> Value:
    """The output of a layer for its arguments: by its annotations; and by its source, if it is at hand."""
    by_row = torch_modules.called(call, call.receiver)
    if by_row is not None:
        return by_row
    info = class_of(call.context, call.receiver)
    names = (
        ("forward", "__call__")
        if info is not None and classes.is_module(info)
        else (call.name.removeprefix("Layer.")[:-2],)
    )
    function = next((found for name in names if (found := classes.member(info, name)) is not None), None)
    function = function.impl if isinstance(function, OverloadedFuncDef) else function
    value = _through(call)
    source = functions.at_hand(call.context, function) if isinstance(function, FuncDef) else None
    if value is None or source is None:
        return value or UNKNOWN
    return functions.better(
        value, functions.followed(replace(call, arguments=(call.receiver, *call.arguments)), source)
    )


def _through(call: Call) -> Value | None:
    """By annotations; None where something does not fit, which is reported."""
    layer: Layer = call.receiver
    arguments = _placed(call, layer)
    if len(layer.inputs) > 1 or (arguments and isinstance(arguments[0], Array) and arguments[0].open and _plain(layer)):
        return _several(call, layer, arguments)
    x = arguments[0] if arguments else UNKNOWN
    if layer.library == "torch" and isinstance(x, Array) and Dim.of(0) in (x.flow.shape or ()):
        return UNKNOWN  # PyTorch's modules take arrays without elements
    try:
        after = layer.trace(x.flow if isinstance(x, Array) else Flow.start(None))
    except TypednnError as error:
        if isinstance(x, Array) and _by_columns(layer, x):
            return UNKNOWN
        # by the array types, where these are known
        rank_error = isinstance(error, StackError) and error.reason == "rank"
        if not rank_error or call.context.scope.rank(call.first) is None:
            call.complain(str(error))
        return None
    if after.shape is None or isinstance(x, Array):
        return UNKNOWN if after.shape is None else Array(after, library=layer.library)
    leave(None, None)  # an array of which no size is known
    sizes = [size if size is not None and size.value is not None else None for size in after.shape]
    return Array(Flow.of(sizes), library=layer.library)


def _placed(call: Call, layer: Layer) -> tuple[Value, ...]:
    """The arguments in the order of the parameters."""
    info = class_of(call.context, layer)
    signature = None if info is None else classes.method(info, "forward") or classes.method(info, "__call__")
    names = [name for name, _ in signature["parameters"][1:]] if signature is not None else []
    rest = dict(call.keywords)
    placed = [*call.arguments, *(rest.pop(name, UNKNOWN) for name in names[len(call.arguments) :] if rest)]
    return (*placed, *(() if names else rest.values()))


def _by_columns(layer: Layer, x: Array) -> bool:
    """Whether a product of a weight and a vector takes columns too: ``Linear(4, 3)(x)`` of Equinox with x of (4, 7)."""
    sizes = (
        Unifier(lookup(layer.attributes)).result(layer.inputs[0]) if layer.library == "jax" and layer.inputs else None
    )
    shape = x.flow.shape
    if not sizes or len(sizes) != 1 or not shape or len(shape) < 2:
        return False
    return shape[-2] is None or sizes[0] is None or same(shape[-2], sizes[0])


def _plain(layer: Layer) -> bool:
    """Whether its annotations say what it does."""
    return (
        len(layer.inputs) == 1
        and bool(layer.output)
        and not (layer.parts or layer.inner or layer.contracts or layer.where)
    )


def _several(call: Call, layer: Layer, arguments: tuple[Value, ...]) -> Value | None:
    """Several arrays in, one out: unified one after another."""
    unifier = Unifier(lookup(layer.attributes), call.context.comparison())
    info = class_of(call.context, layer)
    signature = None if info is None else classes.method(info, "forward") or classes.method(info, "__call__")
    names = [f": {name}" for name, _ in signature["parameters"][1:]] if signature is not None else []
    for place, (text, argument) in enumerate(zip(layer.inputs, arguments, strict=False)):
        what = f"{layer.label}{names[place] if place < len(names) else ''}: "
        if not fits(call.context, unifier, what, text, argument, call.node):
            return None
    return result(call.context, unifier, layer.output, library=layer.library)


def same_layer(call: Call) -> Value:
    """``layer.init(rng)`` and other methods that return the layer."""
    layer: Layer = call.receiver
    return layer


_ITSELF = ("named", "init", "train", "eval", "to", "astype", "shared", "load_state_dict", "requires_grad")

TABLE: dict[str, Analysis] = {
    "Layer.forward()": forward,
    "Layer.__call__()": forward,
    **dict.fromkeys((f"Layer.{name}()" for name in _ITSELF), same_layer),
}
