"""JAX's own answer to a call: shapes and dtypes alone, by abstract evaluation where the elements do not matter."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from tests.mypy_plugin.array_functions.comparison import OPERATORS, Case, Library
from tests.mypy_plugin.array_functions.jax_calls import Key
from typednn.mypy_plugin.values import of_library

# What JAX refuses for another reason than a shape: a dtype, a list in place of an array.
ABOUT_DTYPES = re.compile(
    r"dtype|does not accept|requires integer|must be integer|complex|not supported|integral|incompatible with"
    r"|real valued|not inexact|requires ndarray or scalar arguments|not iterable"
)
_CONCRETE = ("shape", "ndim", "size", "dtype", "block_until_ready()")  # tracing knows no such thing


@cache
def _jax() -> Any:
    import jax
    import jax.scipy.special

    return jax


def function_of(name: str) -> Callable[..., Any]:
    """The function that a row is about; of a method with the array first."""
    jax = _jax()
    if name == "jax.Array[]":
        return OPERATORS["[]"]
    if name.startswith("jax.Array.at."):
        update = name.removeprefix("jax.Array.at.").removesuffix("()")
        return lambda x, index, *values, **keywords: getattr(x.at[index], update)(*values, **keywords)
    if name.startswith("jax.Array."):
        method = name.removeprefix("jax.Array.").removesuffix("()")
        if not name.endswith("()"):
            return lambda x: getattr(x, method)
        return lambda x, *arguments, **keywords: getattr(x, method)(*arguments, **keywords)
    found: Any = jax
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def computed(name: str, case: Case) -> Any:
    """What JAX gives, as arrays of NumPy's with no elements of interest."""
    jax = _jax()
    function = function_of(name)
    arrays: list[Any] = []

    def held(value: Any) -> Any:
        """The argument with places of arrays instead of them."""
        match value:
            case Key():
                return value
            case np.ndarray() | np.generic():
                arrays.append(np.asarray(value))
                return _Place(len(arrays) - 1)
            case list():
                return [held(each) for each in value]
            case tuple():
                return tuple(held(each) for each in value)
            case slice():
                return slice(value.start, value.stop, value.step)
            case _:
                return value

    def filled(value: Any, given: Any) -> Any:
        match value:
            case _Place(place=place):
                return given[place]
            case Key():
                return jax.random.key(0)
            case list():
                return [filled(each, given) for each in value]
            case tuple():
                return tuple(filled(each, given) for each in value)
            case _:
                return value

    arguments = [held(each) for each in case.arguments]
    keywords = {key: held(each) for key, each in case.keywords.items()}

    def call(given: Any) -> Any:
        return function(
            *(filled(each, given) for each in arguments), **{key: filled(each, given) for key, each in keywords.items()}
        )

    with _quiet():
        if name == "jax.lax.reshape" or name.rpartition(".")[2] in _CONCRETE:  # reshape is checked when it is compiled
            return _plain(call([jax.numpy.asarray(each) for each in arrays]))
        try:
            return _plain(jax.eval_shape(call, arrays))
        except AssertionError as error:  # such as glu's
            raise ValueError(str(error)) from error
        except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError):  # elements do matter
            return _plain(call([jax.numpy.asarray(each) for each in arrays]))


class _Place:
    """Where an array stands among the arguments."""

    __match_args__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def _plain(result: Any) -> Any:
    """A result with NumPy's arrays in place of JAX's."""
    match result:
        case tuple() | list():
            return tuple(map(_plain, result))
        case np.dtype() | int() | str() | None:
            return result
        case _ if hasattr(result, "shape"):
            dtype = result.dtype if isinstance(result.dtype, np.dtype) else np.dtype("uint32")
            return np.broadcast_to(np.zeros((), dtype), result.shape)
        case _:
            return result


JAX = Library(
    "JAX",
    computed,
    lambda error: bool(ABOUT_DTYPES.search(str(error))),
    lambda value: of_library(value, "jax"),
)
