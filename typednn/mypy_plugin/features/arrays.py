"""Arrays: NumPy's functions, methods, operators and indices, by the table in `array_functions`."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from typednn.mypy_plugin.array_functions import TABLE as ROWS
from typednn.mypy_plugin.array_functions import Misfit, apply, dtypes, random
from typednn.mypy_plugin.array_functions.rows import kind_of
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.sizes import settled, why
from typednn.mypy_plugin.syntax import COMPARISONS, OPERATORS, walk
from typednn.mypy_plugin.values import OWNERS, UNKNOWN, Array, Constant, Layer, Partial, Reference, Value, of_library
from typednn.shapes import Flow

_OPERATORS: dict[type[ast.AST], str] = {
    **{operator: sign for sign, operator in (*OPERATORS.items(), *COMPARISONS.items()) if sign in ROWS},
    ast.USub: "neg",
    ast.UAdd: "neg",
    ast.Invert: "invert",
}


_METHODS = tuple(f"{each}." for each in OWNERS.values())


def computed(call: Call, row: str, arguments: Sequence[Value], keywords: Mapping[str, Value] | None = None) -> Value:
    """The result of a function of a library, or of an operator; what does not fit is reported."""
    library = next((each for each in OWNERS if row.startswith(f"{each}.")), "")  # of a function or a method
    method = row.startswith(_METHODS)
    weak = "" if library and not method else dtypes.of_python(row, [kind_of(each) for each in arguments])
    if weak:
        # Python's own numbers; they have other methods
        return UNKNOWN if method else Array(Flow.of(()), weak)
    others = {each.library for each in arguments if isinstance(each, Array)} - {"numpy"}
    library = library or (others.pop() if len(others) == 1 else "numpy")
    row = next(name for name in (f"{OWNERS[library]}{row}", row) if name in ROWS)
    compare = call.context.comparison()
    written = row == "[]=" or row.startswith("jax.Array.at.") or "out" in (keywords or {})
    compare.numbers = not (written and _cut(getattr(call.node, "left", call.node)))
    try:
        value = settled(call.context, apply(ROWS[row], arguments, keywords or {}, compare))
    except Misfit as error:
        cure = "; give both one name if they are equal" if compare.by_luck else ""
        return call.complain(f"{error}{why(error.operand, error.axis)}{cure}")
    return value if library == "numpy" else of_library(value, library)


def function(call: Call) -> Value:
    """``np.concatenate([a, b], axis=1)``, ``x.sum(axis=0)``, ``x.T``."""
    arguments = (call.receiver, *call.arguments) if call.name.startswith(_METHODS) else call.arguments
    return computed(call, call.name, arguments, call.keywords)


def operator(call: Call, op: ast.AST, operands: Sequence[Value], *, in_place: bool = False) -> Value:
    """``a + b``, ``a @ b``, ``a < b``, ``-a``; ``a += b``, whose result must fit into a."""
    name = _OPERATORS.get(type(op), "")
    return computed(call, name, operands, {"out": operands[0]} if in_place else {}) if name else UNKNOWN


def _cut(target: ast.expr) -> bool:
    """Whether a part such as ``x[:3]`` is written: so long is what goes there, if the function is used as meant."""
    match target:
        case ast.Subscript(slice=place) | ast.Call(func=ast.Attribute(value=ast.Subscript(slice=place))):
            within = walk(place)
        case _:
            within = []
    return any(isinstance(each, ast.Slice) and (each.lower or each.upper or each.step) for each in within)


def item(call: Call, index: Value) -> Value:
    """``x[index]``."""
    return computed(call, "[]", (call.receiver, index))


def assigned(call: Call, index: Value, value: Value) -> None:
    """``x[index] = value``."""
    computed(call, "[]=", (call.receiver, index, value))


def places(call: Call) -> Value:
    """``x.at`` of JAX: ``x.at[index]`` has the array and the index."""
    return Partial(Constant("jax.Array.at"), (call.receiver,))


def updated(call: Call) -> Value:
    """``x.at[index].set(y)``."""
    match call.receiver:
        case Partial(function=Constant(value="jax.Array.at"), arguments=(Array(), _) as both):
            return computed(call, f"jax.Array.at.{call.name[8:]}", (*both, *call.arguments), call.keywords)
        case _:
            return UNKNOWN


def unchanged(call: Call) -> Value:
    """``x.setflags(…)`` and others that give nothing."""
    return Constant(None)


def namespace(call: Call) -> Value:
    """``xp = namespace(x)``: NumPy, or CuPy, whose functions give the same shapes."""
    return Reference(call.context.scope.api.modules["numpy"])


def to_numpy(call: Call) -> Value:
    """``x.numpy()`` of a tensor."""
    array: Array = call.receiver
    return replace(array, library="numpy")


def generator(call: Call) -> Value:
    """``np.random.default_rng(seed)``."""
    return Layer("Generator", random.GENERATOR)


def reshaped(call: Call) -> Value:
    """typednn's own ``reshape(x, shape)``."""
    return computed(call, "numpy.reshape", call.arguments, call.keywords)


TABLE: dict[str, Analysis] = {
    "typednn.arrays.namespace": namespace,
    "numpy.random.default_rng": generator,
    "typednn.kernels.reshape.reshape": reshaped,
    "torch.Tensor.numpy()": to_numpy,
    **{name: function for name in ROWS if name.startswith(("numpy.", "torch.", "jax.", "einops.", "Array."))},
    "jax.Array.at": places,
    **{f"Partial.{name[13:]}": updated for name in ROWS if name.startswith("jax.Array.at.")},
    **dict.fromkeys(("Array.setflags()", "Array.fill()", "Array.sort()"), unchanged),
}
