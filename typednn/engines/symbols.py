"""Symbols: what a formula computes with where a kernel is made of it.

A formula is one function ``formula(xp, *arrays, *numbers)``, of operators, `abs`, and functions of ``xp``. ``xp`` is
NumPy or CuPy for arrays, and a `Language` for symbols: a kernel's text is made of the calls.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, final

# With their signs in C.
OPERATORS: Final = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "and": "&&", "or": "||"}
COMPARISONS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class Language:
    """The language of a kernel. Stands for the module of arrays while a formula is called with symbols.

    ``functions`` are those that it has, by the names of operators and of NumPy.
    """

    def __init__(self, name: str, functions: Mapping[str, Any]) -> None:
        self.name: str = name
        self.functions: Mapping[str, Any] = functions

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function not in self.functions:
            raise AttributeError(f"no {self.name} for {function}")
        return partial(self.apply, function)

    def apply(self, function: Any, *arguments: Any) -> Any:
        """One more value: the symbol of this function of symbols and numbers."""
        raise NotImplementedError

    def has(self, formula: Callable[..., Any], count: int) -> bool:
        """Whether ``formula``, of so many arguments, uses nothing else."""
        try:
            formula(self, *[Symbol(self, None)] * count)
        except (AttributeError, TypeError):
            return False
        return True


@final
class Symbol:
    """A number of a kernel: ``value`` is what its language has for it."""

    def __init__(self, language: Language, value: Any) -> None:
        self.language: Language = language
        self.value: Any = value

    def __bool__(self) -> bool:
        raise TypeError(f"no {self.language.name} for a choice that the host makes: use xp.where")


def _operator(name: str, order: int) -> Callable[..., Any]:
    def compute(*numbers: Any) -> Any:
        return numbers[0].language.apply(name, *numbers[::order])

    return compute


for _name in (*OPERATORS, *COMPARISONS, "neg", "abs"):
    setattr(Symbol, f"__{_name}__", _operator(_name, 1))
for _name in OPERATORS:  # of a number and a symbol; comparisons Python turns round itself
    setattr(Symbol, f"__r{_name}__", _operator(_name, -1))
