"""PyTorch's own answer to a call."""

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tests.mypy_plugin.array_functions.comparison import IN_PLACE, OPERATORS, Case, Library
from typednn.mypy_plugin.values import of_library

ABOUT_DTYPES = re.compile(
    r"not implemented for|dtype|data type|scalar type|must be (a )?(float|integ|bool)|Bool|Long|Int|result type"
    r"|not supported|complex|floating|Integer|boolean|uint8"
)


@cache
def _torch() -> Any:
    import torch

    return torch


def function_of(name: str) -> Callable[..., Any]:
    """The function that a row is about; of a method with the array first."""
    torch = _torch()
    if name in ("torch.Tensor[]", "torch.Tensor[]="):
        return OPERATORS["[]"] if name == "torch.Tensor[]" else _assigned
    if (sign := name.removeprefix("torch.Tensor")) in OPERATORS:
        return OPERATORS[sign]
    if name.endswith(".forward()"):
        return lambda *arguments, **keywords: _of_module(name.split(".")[2], arguments, keywords)
    if name.startswith("torch.Tensor."):
        method = name.removeprefix("torch.Tensor.").removesuffix("()")
        if not name.endswith("()"):
            return lambda x: getattr(x, method)
        return lambda x, *arguments, **keywords: getattr(x, method)(*arguments, **keywords)
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    result: Callable[..., Any] = found
    return result


def _of_module(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call of a module; of the keywords its constructor has its own."""
    inputs = {each: keywords.pop(each) for each in ("hx", "need_weights") if each in keywords}
    heads = {"num_heads": 1} if name == "MultiheadAttention" else {}
    return getattr(_torch().nn, name)(**keywords, **heads)(*arguments, **inputs)


def _assigned(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def held(value: Any) -> Any:
    """An argument with tensors in place of arrays."""
    torch = _torch()
    match value:
        case np.ndarray():
            return torch.from_numpy(value.copy())
        case list():
            return [held(each) for each in value]
        case tuple():
            return tuple(held(each) for each in value)
        case _:
            return value


def plain(result: Any) -> Any:
    """A result with arrays in place of tensors."""
    torch = _torch()
    match result:
        case torch.Tensor():
            return np.broadcast_to(np.zeros((), _name(result.dtype)), tuple(result.shape))
        case tuple() | list():
            return tuple(map(plain, result))
        case torch.dtype():
            return np.dtype(_name(result))
        case _:
            return result


def _name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return "float16" if name == "bfloat16" else name


def computed(name: str, case: Case) -> Any:
    """What PyTorch gives; `ValueError` where it refuses."""
    arguments = [each if name == "torch.from_numpy" else held(each) for each in case.arguments]
    keywords = {key: held(each) for key, each in case.keywords.items()}
    function = function_of(name)
    if keywords.pop("out", None) is not None:
        function = IN_PLACE[name.removeprefix("torch.Tensor")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(function(*arguments, **keywords))
        except (RuntimeError, NotImplementedError, AssertionError) as error:
            raise ValueError(str(error)) from error


TORCH = Library(
    "PyTorch",
    computed,
    lambda error: bool(ABOUT_DTYPES.search(str(error))),
    lambda value: of_library(value, "torch"),
)
