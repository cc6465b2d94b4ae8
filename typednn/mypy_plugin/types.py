"""Sizes in mypy's own types: the last type argument of a layer, ``Linear[Literal['batch 784 -> batch 10']]``.

So mypy's rules for type arguments (joins, caches, other modules) are the rules for contracts, and a contract that mypy
drops is unknown here. An unknown contract is Any, which fits everything.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from mypy.expandtype import expand_type
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import TypeInfo
from mypy.types import AnyType, CallableType, Instance, LiteralType, TupleType, Type, TypeOfAny, TypeVarType, get_proper_type
from mypy.typevars import fill_typevars

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.values import UNKNOWN, Constant, Layer, Many, Pack, Value, number, of_contract

_PLACE = 3  # of the contract, among the type arguments of `Layer` and `FirstLayer`
_MANY = ("builtins.list", "builtins.tuple", "typing.Sequence", "typing.Iterable", "collections.abc.Sequence")


def _carrier(info: TypeInfo) -> TypeInfo | None:
    return next((base for base in info.mro if base.fullname in (classes.LAYER, classes.FIRST_LAYER)), None)


def contract_in(instance: Instance) -> str | None:
    """The contract that a layer's type carries."""
    carrier = _carrier(instance.type)
    if carrier is None:
        return None
    literal = get_proper_type(map_instance_to_supertype(instance, carrier).args[_PLACE])
    return literal.value if isinstance(literal, LiteralType) and isinstance(literal.value, str) else None


def with_contract(declared: Type, contract: str | None, api: Any) -> Type:
    """A layer's type with its contract written in, if its class has a place for it; with None, without any."""
    layer = get_proper_type(declared)
    carrier = _carrier(layer.type) if isinstance(layer, Instance) else None
    own = get_proper_type(fill_typevars(layer.type)) if isinstance(layer, Instance) else None
    if not isinstance(layer, Instance) or not isinstance(own, Instance) or carrier is None:
        return declared
    variable = map_instance_to_supertype(own, carrier).args[_PLACE]
    at = own.args.index(variable) if variable in own.args else len(layer.args)
    if at == len(layer.args):  # a class whose contract is written in its header
        return declared
    string = api.named_generic_type("builtins.str", [])
    literal = AnyType(TypeOfAny.explicit) if contract is None else LiteralType(contract, string)
    copy = cast("Callable[..., Instance]", layer.copy_modified)  # pyright: ignore[reportUnknownMemberType]  # defaults without types
    return copy(args=[*layer.args[:at], literal, *layer.args[at + 1 :]])


def accepting(signature: CallableType, right: Type | None) -> CallableType:
    """``__rshift__`` for an operand that does not fit and was already refused: what follows is checked as if it did."""
    layer, anything = get_proper_type(right), AnyType(TypeOfAny.from_error)
    base = _carrier(layer.type) if isinstance(layer, Instance) else None
    known = map_instance_to_supertype(layer, base).args if isinstance(layer, Instance) and base is not None else ()
    given: dict[str, Type] = dict(zip(("_", "Next", "G2"), known, strict=False))
    env: dict[Any, Type] = {variable.id: given.get(variable.name, anything) for variable in signature.variables}
    copy = cast("Callable[..., CallableType]", signature.copy_modified)  # pyright: ignore[reportUnknownMemberType]  # defaults without types
    return copy(arg_types=[anything] * len(signature.arg_types), ret_type=expand_type(signature.ret_type, env), variables=[])


def value_of(declared: Type | None) -> Value:
    """The value that a type alone gives: literal integers, layers with contracts, tuples and lists of them."""
    proper = get_proper_type(declared)
    if isinstance(proper, Instance) and proper.last_known_value is not None:
        proper = proper.last_known_value
    match proper:
        case LiteralType(value=bool() | str() as value):
            return Constant(value)
        case LiteralType(value=int() as value):
            return number(value)
        case TupleType(items=items):
            return Pack(tuple(map(value_of, items)))
        case Instance() if proper.type.has_base(classes.MODULE):
            return layer_of(proper)
        case Instance(args=[item, *_]) if proper.type.fullname in _MANY:
            inner = value_of(item)
            return UNKNOWN if inner is UNKNOWN else Many(inner)
        case _:
            return UNKNOWN


def layer_of(instance: Instance) -> Layer:
    """A layer of which only the type is known: by its contract, else by its class's strings with unknown sizes."""
    info = instance.type
    contract = contract_in(instance)
    if contract is None:
        return of_class(info)
    layer = of_contract(f"{info.name} ({contract})", info.fullname, contract)
    own = of_class(info)
    if len(own.inputs) != 1:
        return layer
    # The class's own axis names with the contract's numbers: "expects 256 features", not "expects axis 1 to be 256".
    words, sizes = own.inputs[0].split(), layer.inputs[0].split()
    attributes: dict[str, Value] = {}
    for word, size in zip(words, sizes, strict=False):
        attribute = re.fullmatch(r"\{self\.(\w+)\}", word)
        if attribute is not None and size.isdecimal():
            attributes[attribute[1]] = number(int(size))
        elif word != size:
            return layer
    return replace(layer, inputs=own.inputs, attributes=attributes) if len(words) == len(sizes) else layer


def of_class(info: TypeInfo, label: str = "", attributes: dict[str, Value] | None = None) -> Layer:
    """A layer by its class's own annotations."""
    forward = classes.method(info, "forward")
    if forward is None:
        return Layer(label or info.name, info.fullname, attributes=attributes or {})
    places = [alternatives for name, alternatives in forward["parameters"][1:] if not name.startswith(("*", "="))]
    inputs = [alternatives[0][1] if len(alternatives) == 1 else "..." for alternatives in places]
    outputs = forward["result"]
    output = outputs[0][0][1] if len(outputs) == 1 and len(outputs[0]) == 1 else ""
    inner = _inner(info, attributes or {})
    return Layer(label or info.name, info.fullname, tuple(inputs), output, attributes or {}, ranks=_ranks(info), inner=inner)


def _ranks(info: TypeInfo) -> tuple[int, ...]:
    """2 and 3, where what forward reads is a TypeVar of a choice: ``Rows = TypeVar("Rows", Array2, Array3)``."""
    forward = info.get("forward")
    declared = get_proper_type(forward.type) if forward is not None else None
    reads = get_proper_type(declared.arg_types[1]) if isinstance(declared, CallableType) and len(declared.arg_types) == 2 else None
    ranks = [rank_of(each) for each in reads.values] if isinstance(reads, TypeVarType) else []
    return tuple(each for each in ranks if each is not None) if None not in ranks else ()


def rank_of(declared: Type | None) -> int | None:
    """The number of axes that mypy knows of an array."""
    array = get_proper_type(declared)
    sizes = get_proper_type(array.args[0]) if isinstance(array, Instance) and array.type.fullname == classes.NDARRAY else None
    return len(sizes.items) if isinstance(sizes, TupleType) else None


def _inner(info: TypeInfo, attributes: Mapping[str, Value]) -> tuple[tuple[str, Layer], ...]:
    """The layers in a wrapper's fields, each with its contract, up to the first unknown one."""
    found: list[tuple[str, Layer]] = []
    for name, contract in classes.inner(info).items():
        held = attributes.get(name, UNKNOWN)
        layers = held.items if isinstance(held, Pack) else (held,)
        known = tuple(each for each in layers if isinstance(each, Layer))
        if len(known) < len(layers):
            break
        found.append((contract, Layer("", "", parts=known)))
    return tuple(found)
