"""Sizes in mypy's own types: the last type argument of a layer, ``Linear[Literal['batch 784 -> batch 10']]``.

So mypy's rules for type arguments (joins, caches, other modules) are the rules for contracts, and a contract that mypy
drops is unknown here. An unknown contract is Any, which fits everything.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile, zip_longest
from typing import Any, TypeAlias, cast

from mypy.expandtype import expand_type
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import ARG_OPT, TypeInfo
from mypy.plugin import CheckerPluginInterface
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypeOfAny,
    TypeVarType,
    UnionType,
    get_proper_type,
)
from mypy.typevars import fill_typevars

from typednn.mypy_plugin import annotations, classes, libraries
from typednn.mypy_plugin.jax_modules import MODULES
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Entries,
    Layer,
    Many,
    Number,
    Pack,
    Value,
    layers_of,
    number,
    of_contract,
)
from typednn.shapes import Flow, parse

_PLACE = 3  # of the contract, among the type arguments of `Layer` and `FirstLayer`
LISTS = ("builtins.list", "typing.MutableSequence", "collections.deque")
MANY = (
    *LISTS,
    "builtins.tuple",
    *(f"typing.{name}" for name in ("Sequence", "Collection", "Reversible", "Iterable", "Iterator", "Generator")),
    *(f"typing.{name}" for name in ("AsyncIterable", "AsyncIterator", "AsyncGenerator")),
)
DICTS = ("builtins.dict", "typing.Mapping", "typing.MutableMapping", "collections.defaultdict")
# What stands for one value that comes later, with the place of its type.
_LATER = {
    "typing.Coroutine": 2,
    "typing.Awaitable": 0,
    "asyncio.tasks.Task": 0,
    "contextlib._GeneratorContextManager": 0,
    "contextlib._AsyncGeneratorContextManager": 0,
}
Arrays: TypeAlias = Callable[[annotations.Alternatives], Value]


def _layer_arguments(declared: Type | None) -> Sequence[Type]:
    """The type arguments of `Layer` or `FirstLayer` in the type of a layer; none for any other type."""
    layer = get_proper_type(declared)
    bases = layer.type.mro if isinstance(layer, Instance) else []
    base = next((base for base in bases if base.fullname in (classes.LAYER, classes.FIRST_LAYER)), None)
    return () if base is None or not isinstance(layer, Instance) else map_instance_to_supertype(layer, base).args


def with_contract(declared: Type, contract: str | None, api: CheckerPluginInterface) -> Type:
    """A layer's type with its contract written in, if its class has a place for it; with None, without any."""
    layer = get_proper_type(declared)
    own = get_proper_type(fill_typevars(layer.type)) if isinstance(layer, Instance) else None
    contracts = _layer_arguments(own)[_PLACE:]
    if (
        not isinstance(layer, Instance)
        or not isinstance(own, Instance)
        or not contracts
        or contracts[0] not in own.args
    ):
        return declared  # no layer, or a class whose contract is written in its header
    at = own.args.index(contracts[0])
    literal = (
        AnyType(TypeOfAny.explicit)
        if contract is None
        else LiteralType(contract, api.named_generic_type("builtins.str", []))
    )
    # defaults without types
    copy = cast("Callable[..., Instance]", layer.copy_modified)  # pyright: ignore[reportUnknownMemberType]
    return copy(args=[*layer.args[:at], literal, *layer.args[at + 1 :]])


def accepting(signature: CallableType, right: Type | None) -> CallableType:
    """``__rshift__`` for an operand that does not fit and was already refused: what follows is checked as if it did."""
    anything = AnyType(TypeOfAny.from_error)
    arguments: dict[str, Type] = dict(zip(("_", "Next", "G2"), _layer_arguments(right), strict=False))
    env: dict[Any, Type] = {variable.id: arguments.get(variable.name, anything) for variable in signature.variables}
    # defaults without types
    copy = cast("Callable[..., CallableType]", signature.copy_modified)  # pyright: ignore[reportUnknownMemberType]
    return copy(
        arg_types=[anything] * len(signature.arg_types), ret_type=expand_type(signature.ret_type, env), variables=[]
    )


def value_of(declared: Type | None, arrays: Arrays = lambda _: UNKNOWN) -> Value:
    """The value that a type alone gives: literal integers, layers with contracts, tuples and lists of them; ``arrays``
    says what annotated arrays are.
    """
    plain = awaited(declared)
    if said := said_of(plain):
        return arrays(said)
    match plain:
        case Instance(last_known_value=LiteralType() as literal):
            return value_of(literal)
        case LiteralType() as literal if literal.is_enum_literal():
            return UNKNOWN
        case LiteralType(value=bool() | str() as value):
            return Constant(value)
        case LiteralType(value=int() as value):
            return number(value)
        case TupleType(items=items, partial_fallback=Instance(type=info)):
            named = info.metadata.get("namedtuple", {}).get("fields", [])
            return Pack(
                tuple(value_of(each, of_numbers if named else arrays) for each in items),
                frozen=True,
                fields=tuple(named),
                of=info.fullname if named else "",
            )
        case Instance() as instance if classes.is_module(instance.type):
            return layer_of(instance)
        case Instance(type=info, args=[item, *_]) if info.fullname in MANY:
            inner = value_of(item, arrays)
            # a list of layers holds layers of its type, whoever changes it
            return UNKNOWN if inner is UNKNOWN else Many(inner, info.fullname not in LISTS or isinstance(inner, Layer))
        case Instance(type=info, args=[_, item]) if info.fullname in DICTS:
            inner = value_of(item, arrays)
            return UNKNOWN if inner is UNKNOWN or isinstance(inner, Layer) else Entries(inner)
        case _:
            return UNKNOWN


def of_numbers(said: annotations.Alternatives) -> Value:
    """An array that a class declares: the names of its axes mean nothing elsewhere."""
    kind, text, library = said[0]
    slots = parse(text)
    if len(said) > 1 or any(slot.variadic for slot in slots):
        return UNKNOWN
    plain = [slot.text if slot.text.isdecimal() and not slot.broadcast else "" for slot in slots]
    return Array(Flow.of([int(text) if text else None for text in plain]), kind, library=library)


def said_of(plain: ProperType | None) -> annotations.Alternatives:
    """What is said of an array's sizes by its type; nothing of a choice in which one has no annotation."""
    several = plain.items if isinstance(plain, UnionType) else [] if plain is None else [plain]
    each = [classes.alternatives_of(one) for one in several if not isinstance(get_proper_type(one), NoneType)]
    return [said for alternatives in each for said in alternatives] if all(each) else []


def awaited(declared: Type | None) -> ProperType | None:
    """A type without None, and without what it waits in: a coroutine, a context manager of a generator."""
    if isinstance(declared, TypeAliasType) and declared.is_recursive:
        return None
    match get_proper_type(declared):
        case UnionType(items=items):
            rest = [each for each in items if not isinstance(get_proper_type(each), NoneType)]
            inner = awaited(rest[0]) if len(rest) == 1 else None
            # whether a tuple is None is decided by its value
            return inner if inner is not None and not isinstance(inner, TupleType) else get_proper_type(declared)
        case Instance(type=info, args=args) if info.fullname in _LATER and _LATER[info.fullname] < len(args):
            return awaited(args[_LATER[info.fullname]])
        case plain:
            return plain


def layer_of(instance: Instance) -> Layer:
    """A layer of which only the type is known: by its contract, else by its class's strings with unknown sizes."""
    info, own = instance.type, of_class(instance.type)
    literals = map(get_proper_type, _layer_arguments(instance)[_PLACE : _PLACE + 1])
    contract = next(
        (each.value for each in literals if isinstance(each, LiteralType) and isinstance(each.value, str)), None
    )
    if contract is None:
        return own
    layer = of_contract(f"{info.name} ({contract})", info.fullname, contract)
    if len(own.inputs) != 1 or layer.contracts:
        return layer
    # The class's own axis names with the contract's numbers: "expects 256 features", not "expects axis 1 to be 256".
    pairs = list(zip_longest(own.inputs[0].split(), layer.inputs[0].split(), fillvalue=""))
    sizes = {word: int(size) for word, size in pairs if size.isdecimal() and re.fullmatch(r"\{self\.\w+\}", word)}
    if any(word != size and word not in sizes for word, size in pairs):
        return layer
    return replace(layer, inputs=own.inputs, attributes={word[6:-1]: number(size) for word, size in sizes.items()})


def of_class(info: TypeInfo, label: str = "", attributes: dict[str, Value] | None = None) -> Layer:
    """A layer by its class's own annotations."""
    if info.fullname in MODULES:
        return _of_table(info, label, attributes or {})
    forward = _called(info) or classes.Signature(parameters=[], result=[])
    places = [alternatives for name, alternatives in forward["parameters"][1:] if not name.startswith(("*", "="))]
    inputs = tuple(alternatives[0][1] if len(alternatives) == 1 else "..." for alternatives in places)
    declared = _forward(info)
    # in a stack it runs without what has a default, such as an LSTM's lengths
    if declared is not None and all(kind == ARG_OPT for kind in declared.arg_kinds[2:]):
        inputs = inputs[:1]
    outputs = forward["result"]
    output = outputs[0][0][1] if len(outputs) == 1 and len(outputs[0]) == 1 else ""
    attributes = attributes or {}
    told = attributes.get("shape_contracts", UNKNOWN)
    contracts = (
        tuple(str(each.value) for each in told.items if isinstance(each, Constant)) if isinstance(told, Pack) else ()
    )
    return Layer(
        label or info.name,
        info.fullname,
        inputs,
        output,
        attributes,
        ranks=_ranks(declared),
        inner=_inner(info, attributes),
        contracts=contracts,
        library=outputs[0][0][2] or "numpy" if output else "numpy",
    )


def _called(info: TypeInfo) -> classes.Signature | None:
    """What a call of an object takes and gives: of a module of JAX its ``__call__``."""
    return classes.method(info, "forward") or classes.method(info, "__call__")


def _of_table(info: TypeInfo, label: str, attributes: dict[str, Value]) -> Layer:
    """A layer that `MODULES` describes."""
    inputs, output = MODULES[info.fullname]
    shape = attributes.get("shape", UNKNOWN)
    axes = shape.items if isinstance(shape, Pack) else (shape,) if isinstance(shape, Number) else None
    if "{*self.shape}" in output:
        if axes is None:
            return Layer(label or info.name, info.fullname, attributes=attributes, library="jax")
        output = " ".join(f"{{self.shape[{place}]}}" for place in range(len(axes)))
        inputs, attributes = (output,), {**attributes, "shape": Pack(axes, frozen=True)}
    # in place of a size Equinox takes "scalar": no axis at all
    alone = [text[6:-1] for text in (*inputs, output) if re.fullmatch(r"\{self\.\w+\}", text)]
    if not all(isinstance(attributes.get(name, UNKNOWN), Number) for name in alone):
        inputs, output = (), ""
    return Layer(label or info.name, info.fullname, inputs, output, attributes, library="jax")


def _forward(info: TypeInfo) -> CallableType | None:
    """The type of forward."""
    symbol = info.get("forward") or info.get("__call__")
    declared = get_proper_type(symbol.type) if symbol is not None else None
    return declared if isinstance(declared, CallableType) else None


def _ranks(forward: CallableType | None) -> tuple[int, ...]:
    """2 and 3, where what forward reads is a TypeVar of a choice: ``Rows = TypeVar("Rows", Array2, Array3)``."""
    reads = get_proper_type(forward.arg_types[1]) if forward is not None and len(forward.arg_types) == 2 else None
    ranks = [rank_of(each) for each in reads.values] if isinstance(reads, TypeVarType) else []
    return () if None in ranks else tuple(each for each in ranks if each is not None)


def rank_of(declared: Type | None) -> int | None:
    """The number of axes that mypy knows of an array."""
    array = get_proper_type(declared)
    sizes = (
        get_proper_type(array.args[0])
        if isinstance(array, Instance) and array.type.fullname == libraries.NDARRAY
        else None
    )
    return len(sizes.items) if isinstance(sizes, TupleType) else None


def _inner(info: TypeInfo, attributes: Mapping[str, Value]) -> tuple[tuple[str, str, tuple[Layer, ...]], ...]:
    """The layers in a wrapper's fields, each with its contract, up to the first unknown one."""
    fields = [
        (name, contract, layers_of(attributes.get(name, UNKNOWN))) for name, contract in classes.inner(info).items()
    ]
    known = takewhile(lambda field: field[2] is not None, fields)
    return tuple((name, contract, layers or ()) for name, contract, layers in known)
