"""Annotations at run time: which of them name arrays, whether they can be checked, and what their strings read."""

import functools
import inspect
import re
from collections.abc import Callable
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from jaxtyping import AbstractArray

from typednn import shapes
from typednn.errors import DefinitionError, explain


def is_array_hint(hint: Any) -> bool:
    """Whether ``hint`` is a jaxtyping annotation such as ``Float[Array2, "batch features"]``."""
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def without_markers(hint: Any) -> Any:
    """The annotation without the markers of ``Annotated``."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def members(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the hint alone."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def check_hint(where: str, hint: Any) -> Any:
    """``hint`` itself, if its alias and its string agree; otherwise `DefinitionError`."""
    hint = without_markers(hint)
    if is_array_hint(hint):
        for hole in re.findall(r"\{([^{}]*)\}", hint.dim_str):
            # A call could give another size each time, and the shape algebra, which reads the same text, never runs
            # code.
            if re.search(r"[\w\])]\s*\(", re.sub(r"\b(min|max|abs)\s*\(", "((", hole)):
                raise DefinitionError(
                    explain(where, "braces read attributes", f"a call in {{{hole}}}", "keep the size in an attribute")
                )
        check_rank(where, hint.array_type, hint.dim_str, f"the string {hint.dim_str!r}")
    else:
        for argument in get_args(hint):
            if not isinstance(argument, (list, tuple)):
                check_hint(where, argument)
    return hint


def check_rank(where: str, array_type: Any, axes: str, place: str) -> None:
    """`DefinitionError` where ``array_type`` promises another number of axes than the string ``axes`` names."""
    promised, written = getattr(array_type, "rank", None), shapes.rank(axes)
    if promised is not None and written is not None and promised != written:
        promises, got = shapes.number_of_axes(promised), f"{shapes.number_of_axes(written)} in {place}"
        kind = array_type.__name__.removeprefix("Int")[:-1]  # "Array", or "Tensor"
        cure = f"write {kind}{written} or name {promises}"
        raise DefinitionError(explain(where, f"{array_type.__name__} promises {promises}", got, cure))


def resolved_hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    """Every annotation of ``function`` as a real object: none missing, none that cannot be resolved."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise DefinitionError(
            explain(
                where,
                "every annotation must be resolvable at run time",
                str(error),
                "import or define the name at module level",
            )
        ) from None
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(
                explain(where, "takes a fixed list of parameters", f"*{name}", "name every parameter")
            )
        if name not in hints:
            raise DefinitionError(
                explain(
                    where,
                    "every parameter must be annotated",
                    f"{name!r} without",
                    'such as Float[Array2, "batch features"]',
                )
            )
    if "return" not in hints:
        raise DefinitionError(
            explain(where, "the result must be annotated", "no '->'", 'such as -> Float[Array2, "batch features"]')
        )
    return {name: check_hint(f"{where}, {name!r}", hint) for name, hint in hints.items()}


def array_hints(hint: Any) -> list[Any]:
    """The array annotations inside ``hint``: itself, or the members of a union or tuple."""
    return [hint] if is_array_hint(hint) else [inner for argument in get_args(hint) for inner in array_hints(argument)]


def is_open(hint: Any) -> bool:
    """True for a type variable without bound or constraints; beartype on Python 3.13 would otherwise enforce its
    default.
    """
    return isinstance(hint, TypeVar) and not hint.__bound__ and not hint.__constraints__


def is_memorable(hint: Any) -> bool:
    """Whether class, dtype and shape alone decide about a value; others are judged on every call."""
    return is_open(hint) or all(
        is_array_hint(option)
        or option is None
        or (isinstance(option, type) and not get_args(option))
        or (
            get_origin(option) is tuple
            and Ellipsis not in get_args(option)
            and all(map(is_memorable, get_args(option)))
        )
        for option in members(hint)
    )


def read(instance: Any, path: str) -> Any:
    """The value behind ``self.path``, where a path has names, dots and integer subscripts only."""
    value: Any = instance
    for name, subscript in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = getattr(value, name, None) if name else value[int(subscript)]
    return value


def attribute_lookup(instance: Any) -> Callable[[str], shapes.Dim | None]:
    """Looks up ``{self.x}`` for the shape algebra on an instance."""

    def lookup(path: str) -> shapes.Dim | None:
        value = read(instance, path.removeprefix("self."))
        return shapes.Dim.of(value) if isinstance(value, int) else None

    return lookup


@functools.cache
def fits_dtype(kind: Any, dtype: Any) -> bool:
    """Whether a kind of number, such as ``Float``, allows the dtype of an array."""
    return isinstance(SimpleNamespace(dtype=dtype, shape=()), kind[SimpleNamespace, ""])


def fits_kind(hint: Any, value: Any) -> bool:
    """Whether dtype and rank of an array fit ``hint``."""
    return fits_dtype(hint.dtype, value.dtype) and shapes.rank(hint.dim_str) in (None, len(value.shape))
