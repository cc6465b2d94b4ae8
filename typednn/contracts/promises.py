"""A class that derives from a Protocol has to keep its promises: checked when it is defined, and when its methods are
called.

===============  =====================================================================================================
when defined     every method is written, with an annotation wherever the Protocol has one: arrays with named axes, as
                 many as ``Forward[Array2, Array2]`` says; a gradient names the derivative by its input; ``update``
                 takes what ``backward`` returns
when called      the implementer's annotations and the Protocol's, each in one scope (so the batch is kept);
                 ``next_grad`` is shaped as the last forward's output, ``grad.input`` as its input, ``grad.weight`` as
                 ``self.weight``
===============  =====================================================================================================

A `typednn.Module` has wrappers of its own for the calls (`typednn.module.calls`); definitions are checked here for
both. The record of an instance between its calls is kept outside of it, and is freed with it.
"""

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from typednn import shapes
from typednn.contracts.checks import Contract, Facts, contracted, enforced, remembered, switch
from typednn.contracts.derivatives import GradientContract, GradientType, Record, backwards, check_optimizer
from typednn.contracts.hints import array_hints, check_hint, is_array_hint, without_markers
from typednn.errors import DefinitionError, explain

# The methods of a part of a model. A backward is checked against its forward, an update against its backward, in this
# order.
METHODS = ("forward", "backward", "update")


def enforce_class(cls: type) -> None:
    """Wrap every method of ``cls`` that a Protocol promises, or whose own annotations name an array.

    A class that has a ``wrap_method`` of its own promises all of `METHODS`.
    """
    wrap: Callable[[str, Any], Any] = getattr(cls, "wrap_method", functools.partial(_wrapped, cls))
    protocols = [base for base in cls.__mro__ if getattr(base, "_is_protocol", False)]
    members = [member for base in protocols for member in vars(base).items()]
    promised = {name for name, member in members if inspect.isfunction(member) and not name.startswith("_")}
    promised.update(METHODS if hasattr(cls, "wrap_method") else ())
    own = [name for name in vars(cls) if name not in promised]
    for name in [*METHODS, *sorted(promised.difference(METHODS)), *own]:
        member = inspect.getattr_static(cls, name, None) if name in promised else vars(cls).get(name)
        if getattr(member, "__isabstractmethod__", False) or hasattr(member, "__typednn_contract__"):
            continue
        if inspect.isfunction(member):
            # A method that no Protocol promises is enforced where its annotations name arrays.
            arrays = any(is_array_hint(without_markers(hint)) for hint in member.__annotations__.values())
            if name in promised or (arrays and not name.startswith("_")):
                setattr(cls, name, wrap(name, member))
        elif name in promised and name in vars(cls):
            raise DefinitionError(
                explain(
                    f"{cls.__qualname__}.{name}",
                    "what a Protocol promises is a method, written with def",
                    type(member).__name__,
                )
            )
    for base in protocols:
        _hold(cls, base)


def _wrapped(cls: type, name: str, function: Callable[..., Any]) -> Any:
    """A method of a class that derives from Protocols alone."""
    if not any(name in vars(base) for base in cls.__mro__ if getattr(base, "_is_protocol", False)):
        return enforced(function, cls)
    recorded = functools.partial(enforced, note=_note)  # what backward is checked against
    wrap: dict[str, Any] = {"forward": recorded, "backward": _enforced_backward, "update": _enforced_update}
    return wrap.get(name, enforced)(function, cls)


# ------------------------------------------------------------------ when a class is defined


def _hold(cls: type, protocol: type) -> None:
    """Compare the annotations of ``cls`` with those of one Protocol, with its type arguments; they become laws of the
    calls.
    """
    arguments = {
        variable.__name__: argument
        for variable, argument in type_arguments(cls, protocol).items()
        # an array type, or a choice between several
        if all(hasattr(option, "rank") for option in get_args(argument) or (argument,))
    }
    if "input" in inspect.get_annotations(protocol):
        _hold_gradient(cls, protocol, arguments)
    for name, member in vars(protocol).items():
        contract: Contract | None = getattr(vars(cls).get(name), "__typednn_contract__", None)
        if contract is None or not inspect.isfunction(member):
            continue
        hints = get_type_hints(member, localns=arguments)
        result = hints.pop("return")
        if len(contract.names) < len(hints):
            raise DefinitionError(
                explain(contract.where, f"takes {' and '.join(hints)}", f"{', '.join(contract.names) or 'nothing'}")
            )
        for parameter, hint, promised in zip(contract.names, contract.hints, hints.values(), strict=False):
            _compare(f"{contract.where}, {parameter!r}", hint, promised, gives=False)
        _compare(f"{contract.where}, the result", contract.result, result, gives=True)
        gradient: GradientType | None = getattr(vars(cls)[name], "__typednn_gradient__", None)
        if gradient is not None and array_hints(gradient.fields.get("input")):
            kind: Any = get_origin(result)
            inner = {
                variable.__name__: argument
                for variable, argument in zip(kind.__parameters__, get_args(result), strict=True)
            }
            promised = get_type_hints(kind, localns=inner)["input"]
            _compare(f"{gradient.type.__qualname__}.input", gradient.fields["input"], promised, gives=True)
        if any(map(_is_law, (*hints.values(), result))):
            contract.laws.append(
                (
                    tuple(hint if _is_law(hint) else object for hint in hints.values()),
                    result if _is_law(result) else object,
                )
            )


def _is_law(hint: Any) -> bool:
    """Whether a Protocol's hint names an array."""
    return bool(array_hints(hint)) and not getattr(get_origin(hint), "_is_protocol", False)


def _compare(where: str, hint: Any, promised: Any, *, gives: bool) -> None:
    """Raise where the Protocol names an array, and the implementer none, or one of another rank."""
    if not _is_law(promised):
        return
    if get_origin(promised) is tuple:  # several results: each on its own
        parts, several = get_args(hint), get_args(promised)
        if get_origin(hint) is not tuple or len(parts) != len(several) or Ellipsis in parts:
            raise DefinitionError(explain(where, f"is a tuple of {len(several)}", getattr(hint, "__name__", str(hint))))
        for place, pair in enumerate(zip(parts, several, strict=True)):
            _compare(f"{where}[{place}]", *pair, gives=gives)
        return
    if not all(map(is_array_hint, get_args(hint) or (hint,))):  # an array with axes, or a choice between several
        got = getattr(hint, "__name__", str(hint))
        raise DefinitionError(
            explain(where, "is an array with named axes", got, 'such as Float[Array2, "batch features"]')
        )
    ranks: set[Any] = {
        rank
        for array in array_hints(promised)
        for rank in (getattr(array.array_type, "rank", None), shapes.rank(array.dim_str))
    } - {None}
    written = {shapes.rank(array.dim_str) for array in array_hints(hint)}
    if ranks and not (written <= ranks if gives else ranks <= written):
        rule = f"the Protocol promises {' or '.join(map(shapes.number_of_axes, sorted(ranks)))}"
        got = " or ".join(repr(array.dim_str.strip()) for array in array_hints(hint))
        raise DefinitionError(explain(where, rule, got, "name as many, or change the type arguments of the base class"))


def type_arguments(cls: type, base: type) -> dict[Any, Any]:
    """The type arguments of ``cls`` for ``base``, through every class between them."""

    def below(kind: Any, arguments: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        for parent in kind.__dict__.get("__orig_bases__", kind.__bases__):
            origin: Any = get_origin(parent) or parent
            if base in getattr(origin, "__mro__", ()):
                variables = takewhile(
                    lambda variable: isinstance(variable, TypeVar), getattr(origin, "__parameters__", ())
                )
                values = [arguments.get(argument, argument) for argument in get_args(parent)]
                own = dict(zip(variables, values, strict=False))
                yield from [own] if origin is base else below(origin, own)

    return next(below(cls, {}), dict[Any, Any]())


# ------------------------------------------------------------------ between the calls of one instance


# The record of an instance's last forward, and the weak reference that removes it with the instance. By identity: an
# instance may have no hash, and a copy begins without a record.
_records: dict[int, tuple[Any, Record | None]] = {}


def _note(instance: Any, record: Record | None) -> None:
    key = id(instance)
    with suppress(TypeError):  # slots without a weak reference: its backward is judged by its annotations alone
        reference = _records[key][0] if key in _records else weakref.ref(instance, lambda _: _records.pop(key, None))
        _records[key] = (reference, record)


# ------------------------------------------------------------------ when it is called


def _enforced_backward(function: Callable[..., Any], cls: type) -> Callable[..., Any]:
    """``backward`` with ``next_grad`` and every field of the gradient checked against their quantities, as far as
    known.
    """
    gradient = GradientContract(cls, function)

    @functools.wraps(function)
    def backward(self: Any, *args: Any, **named: Any) -> Any:
        (next_grad,) = args if len(args) == 1 and not named else gradient.contract.in_order(self, args, named)
        backwards.running.append(self)
        try:
            if switch.mode == "off":
                return function(self, next_grad)
            return gradient.held(self, next_grad, _records.get(id(self), (None, None))[1], function)
        finally:
            backwards.running.pop()

    return contracted(backward, gradient.contract, gradient)


def _enforced_update(function: Callable[..., Any], cls: type) -> Callable[..., Any]:
    """``update`` with the gradient checked against its own annotations, and each derivative against the array of
    ``self`` with its name.
    """
    contract = Contract(function, f"{cls.__qualname__}.update")
    if len(contract.hints) != 2:
        raise DefinitionError(explain(contract.where, "takes an optimizer and a gradient", ", ".join(contract.names)))
    returned: GradientType | None = getattr(getattr(cls, "backward", None), "__typednn_gradient__", None)
    promises = [
        vars(base)["update"] for base in cls.__mro__ if getattr(base, "_is_protocol", False) and "update" in vars(base)
    ]
    if contract.hints[1] is Any and all(_second(each) is Any for each in promises):  # as in `DynLayer`
        promise = returned or GradientType(TypeVar("G"), contract.where)
    else:
        promise = GradientType(
            contract.hints[1], contract.where, "grad must be what backward returns, a gradient dataclass"
        )
    if returned is not None and returned.known and promise.known and promise.type not in returned.type.__mro__:
        raise DefinitionError(
            explain(
                contract.where,
                f"grad must be what backward returns, {returned.type.__qualname__}",
                promise.type.__qualname__,
            )
        )
    kinds: tuple[Callable[..., bool], ...] = ()

    @functools.wraps(function)
    def update(self: Any, *args: Any, **named: Any) -> Any:
        nonlocal kinds
        if switch.mode == "off":
            return function(self, *args, **named)
        if named or len(args) != 2:
            args = contract.in_order(self, args, named)
        if switch.mode == "full" or not any(fits(self, *args) for fits in kinds):
            optimizer, grad = args
            where = contract.described(self)
            check_optimizer(where, self, optimizer)
            contract.check_arguments(self, args)
            facts = Facts("self, optimizer, gradient")
            facts.note("optimizer", optimizer)
            facts.note("gradient", grad)
            promise.check_held(where, self, grad, facts)
            promise.check_annotations(where, self, grad, facts)
            kinds = remembered(kinds, facts.compiled())
        return function(self, *args)

    return contracted(update, contract)


def _second(update: Callable[..., Any]) -> Any:
    """What an ``update`` says of its gradient, whatever it calls it."""
    hints = get_type_hints(update)
    return next((hints.get(name, Any) for name in [*inspect.signature(update).parameters][2:3]), Any)


# ------------------------------------------------------------------ gradients that derive from InputGrad


def _hold_gradient(cls: Any, protocol: type, arguments: dict[str, Any]) -> None:
    """``input`` of a class on ``InputGrad[Array2]``: annotated as such; a property is enforced, a dataclass's fields
    when one is made.
    """
    where = f"{cls.__qualname__}.input"
    promised = get_type_hints(protocol, localns=arguments)["input"]
    member = inspect.getattr_static(cls, "input", None)
    if isinstance(member, property):
        if member.fget is not None and not hasattr(member.fget, "__typednn_contract__"):
            cls.input = property(enforced(member.fget, cls))
            _compare(f"{where}, the result", member.fget.__annotations__["return"], promised, gives=True)
        return
    if not any(
        "input" in inspect.get_annotations(base) for base in cls.__mro__ if not getattr(base, "_is_protocol", False)
    ):
        rule, cure = "names the derivative by the input", 'declare it, such as input: Float[Array2, "batch features"]'
        raise DefinitionError(explain(cls.__qualname__, rule, "no field 'input'", cure))
    _compare(where, check_hint(where, get_type_hints(cls, include_extras=True)["input"]), promised, gives=True)
    _check_when_made(cls)


def _check_when_made(cls: Any) -> None:
    """Judge a dataclass's fields in ``__post_init__``, at the end of its ``__init__``."""
    after: Callable[..., None] = getattr(cls, "__post_init__", lambda *_: None)
    if hasattr(after, "__typednn_checked__"):
        return

    def checked(self: Any, *args: Any) -> None:
        after(self, *args)
        if switch.mode != "off" and hasattr(self, "__dataclass_fields__"):
            kind = self.__class__
            _gradient_type(kind, kind.__qualname__).check_annotations(kind.__qualname__, self, self, Facts("gradient"))

    checked.__typednn_checked__ = True  # type: ignore[attr-defined]
    cls.__post_init__ = checked


# Bounded, so that classes made at run time can be freed.
_gradient_type = functools.lru_cache(maxsize=256)(GradientType)
