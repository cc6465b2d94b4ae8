"""Sizes as integer polynomials in one canonical form.

A `Dim` is a sum of products with integer coefficients: ``6*height*width-24*height+96``. The factors
are names, which stand for unknown sizes, and floor divisions that no rule divides further,
``(height-3)//2``. Every rule is exact for all integers, as Python's ``//`` is:

    (k*q + r)//k  =  q + r//k                  what the divisor divides leaves the division
    (a//m + b)//n  =  (a + b*m)//(m*n)         n > 0: divisions in a row become one
    (g*a + r)//(g*n)  =  (a + r//g)//n         g, n > 0: common factors go
    a//-n  =  -a//n

So polynomials with the same canonical form are equal, have one hash, and ``str`` gives one text for them,
which `typednn.shapes.evaluate` and jaxtyping read back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Floor:
    """``numerator//denominator``, not divisible any further."""

    numerator: Dim
    denominator: Dim

    def __str__(self) -> str:
        return f"{_operand(self.numerator)}//{_operand(self.denominator)}"


Atom: TypeAlias = "str | Floor"
Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Dim:
    """An integer polynomial; build one with `of`, `named` and arithmetic."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(value: int) -> Dim:
        """A known size."""
        return Dim((((), value),) if value else ())

    @staticmethod
    def named(name: str) -> Dim:
        """A size that is not known yet."""
        return Dim((((name,), 1),))

    @property
    def value(self) -> int | None:
        """The number, if no name is left."""
        return None if self.terms and self.terms[0][0] else self.constant

    @property
    def constant(self) -> int:
        """The constant term."""
        return self.terms[-1][1] if self.terms and not self.terms[-1][0] else 0

    def names(self) -> frozenset[str]:
        """Every name that occurs, also inside floor divisions."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                names |= {atom} if isinstance(atom, str) else atom.numerator.names() | atom.denominator.names()
        return frozenset(names)

    def __add__(self, other: Dim | int) -> Dim:
        return _polynomial([*self.terms, *_dim(other).terms])

    def __neg__(self) -> Dim:
        return _polynomial((monomial, -factor) for monomial, factor in self.terms)

    def __sub__(self, other: Dim | int) -> Dim:
        return self + -_dim(other)

    def __mul__(self, other: Dim | int) -> Dim:
        return _polynomial((a + b, m * n) for a, m in self.terms for b, n in _dim(other).terms)

    def __floordiv__(self, other: Dim | int) -> Dim:
        divisor = _dim(other)
        if not divisor.terms:
            raise ZeroDivisionError(f"{self}//0")
        if len(divisor.terms) != 1:
            return _undivided(self, divisor)
        ((unit, factor),) = divisor.terms
        if not unit and factor < 0:
            return -self // -divisor
        quotients = [(None if term[1] % factor else _without(term[0], unit), term) for term in self.terms]
        whole = _polynomial(
            [(monomial, coefficient // factor) for monomial, (_, coefficient) in quotients if monomial is not None]
        )
        rest = _polynomial([term for monomial, term in quotients if monomial is None])
        return whole + _remainder(rest, divisor)

    def substitute(self, known: Mapping[str, Dim]) -> Dim:
        """The same polynomial with sizes, or other polynomials, in place of names."""

        def put(atom: Atom) -> Dim:
            if isinstance(atom, str):
                return known.get(atom) or Dim.named(atom)
            denominator = atom.denominator.substitute(known)
            return atom.numerator.substitute(known) // denominator if denominator.terms else _polynomial([((atom,), 1)])

        return (
            self._rebuilt(put)
            if any(known.get(name, self) != Dim.named(name) for name in self.names() & known.keys())
            else self
        )

    def reduced(self) -> Dim:
        """The same polynomial with ``0 <= r < k`` in every ``(q+r)//k``: ``(height-3)//2+1`` becomes
        ``(height+1)//2-1``.

        Printed formulas keep the numbers that a layer's author wrote; comparisons use this form.
        """

        def shift(atom: Atom) -> Dim:
            if isinstance(atom, str):
                return Dim.named(atom)
            numerator, divisor = atom.numerator.reduced(), atom.denominator.value
            if divisor is None:
                return numerator // atom.denominator
            constant = numerator.constant
            return (numerator - constant + constant % divisor) // divisor + constant // divisor

        return self._rebuilt(shift)

    def _rebuilt(self, replace: Callable[[Atom], Dim]) -> Dim:
        products = (
            math.prod(map(replace, monomial), start=Dim.of(coefficient)) for monomial, coefficient in self.terms
        )
        return sum(products, start=Dim(()))

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            alone = len(monomial) == 1 and coefficient == 1
            factors = [str(atom) if alone or isinstance(atom, str) else f"({atom})" for atom in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            text += ("-" if coefficient < 0 else "+" if text else "") + "*".join(factors)
        return text or "0"


def _dim(number: Dim | int) -> Dim:
    return number if isinstance(number, Dim) else Dim.of(number)


def _polynomial(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    """Add like terms; longest products first, the constant last, names in alphabetical order."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        ordered = tuple(sorted(monomial, key=str)) if len(monomial) > 1 else monomial
        total[ordered] = total.get(ordered, 0) + coefficient
    left = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    if len(left) > 1:
        left.sort(key=lambda term: (-len(term[0]), [str(atom) for atom in term[0]]))
    return Dim(tuple(left))


def _without(monomial: Monomial, unit: Monomial) -> Monomial | None:
    """``monomial`` divided by ``unit``, if it is a multiple."""
    others = list(monomial)
    for atom in unit:
        if atom not in others:
            return None
        others.remove(atom)
    return tuple(others)


def _remainder(rest: Dim, divisor: Dim) -> Dim:
    """``rest//divisor`` where no term of ``rest`` is a multiple of ``divisor``."""
    size = divisor.value
    if size is None or not rest.terms:
        return _undivided(rest, divisor)
    if rest.value is not None:
        return Dim.of(rest.value // size)
    common = math.gcd(size, *(coefficient for monomial, coefficient in rest.terms if monomial))
    if common > 1:
        return _polynomial((monomial, coefficient // common) for monomial, coefficient in rest.terms) // (
            size // common
        )
    for monomial, coefficient in rest.terms:
        if coefficient == 1 and len(monomial) == 1 and isinstance(inner := monomial[0], Floor):
            beside = rest - _polynomial([(monomial, 1)])
            return (inner.numerator + beside * inner.denominator) // (inner.denominator * size)
    return _undivided(rest, divisor)


def _undivided(numerator: Dim, denominator: Dim) -> Dim:
    return _polynomial([((Floor(numerator, denominator),), 1)]) if numerator.terms else numerator


def _operand(dim: Dim) -> str:
    text = str(dim)
    return text if text.isalnum() or text.isidentifier() else f"({text})"


def same(a: Dim, b: Dim) -> bool:
    """True only if the two are equal whatever the sizes are."""
    return a == b or not (a - b).reduced().terms


Pair: TypeAlias = "tuple[Dim | None, Dim | None]"

_undecided: list[Pair] | None = None  # where `undecided` notes them; None: nobody asks


@contextmanager
def undecided() -> Generator[list[Pair]]:
    """The pairs of sizes that should be equal and that no comparison within decides; None stands for a size that is not
    known.

    Those of a context within this one are noted there alone.
    """
    global _undecided
    outer, _undecided = _undecided, []
    try:
        yield _undecided
    finally:
        _undecided = outer


def leave(a: Dim | None, b: Dim | None) -> None:
    """Note a pair that is not decided, if somebody asks."""
    if _undecided is not None:
        _undecided.append((a, b))


def differ(a: Dim, b: Dim) -> bool:
    """True only if the two cannot be equal, whatever positive integers the names stand for."""
    rest = (a - b).reduced()
    if rest.value is not None:
        return rest.value != 0
    certain = _certainly_not_zero(rest)
    if not certain:
        leave(a, b)
    return certain


def _certainly_not_zero(rest: Dim) -> bool:
    coefficients = [coefficient for monomial, coefficient in rest.terms if monomial]
    if rest.constant % math.gcd(*coefficients):  # the products are multiples of it, the constant is not
        return True
    if any(isinstance(atom, Floor) for monomial, _ in rest.terms for atom in monomial):
        return _more_than_its_share(rest) or _more_than_its_share(-rest)
    least = sum(coefficients) + rest.constant
    return (min(coefficients) > 0 and least > 0) or (max(coefficients) < 0 and least < 0)


def _more_than_its_share(rest: Dim) -> bool:
    """Whether ``rest`` is a size less a share of that size, such as ``n-n//2``; of other floor divisions little is
    certain.
    """
    shares = [
        (monomial[0], factor)
        for monomial, factor in rest.terms
        if len(monomial) == 1 and isinstance(monomial[0], Floor)
    ]
    match shares:
        case [(Floor(numerator=whole, denominator=parts), -1)] if (parts.value or 0) > 1:
            beside = rest + _polynomial([((shares[0][0],), 1)])
            more = beside - whole
            positive = all(
                factor > 0 and all(isinstance(atom, str) for atom in monomial) for monomial, factor in whole.terms
            )
            return positive and more.value is not None and more.value >= 0
        case _:
            return False


def solve(a: Dim, b: Dim) -> tuple[str, Dim] | None:
    """The name that ``a == b`` pins down, and the number or name it must be; None if there is no such name."""
    rest = a - b
    for monomial, coefficient in rest.terms:
        if abs(coefficient) == 1 and len(monomial) == 1 and isinstance(name := monomial[0], str):
            answer = (rest - Dim.named(name) * coefficient) * -coefficient
            if answer.value is not None or str(answer).isidentifier():
                return name, answer
    return None
