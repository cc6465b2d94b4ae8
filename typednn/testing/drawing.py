"""Sizes drawn from annotations: 1, even, odd and prime sizes, so that strides and blocks have remainders."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from typednn.contracts.hints import array_hints, attribute_lookup
from typednn.errors import ArgumentError, explain, optional
from typednn.shapes import Dim, evaluate, parse

_SIZES = (1, 2, 3, 4, 5, 7)
Shapes = tuple[tuple[int, ...] | None, ...]


def hypothesis(where: str) -> Any:
    """The package hypothesis; `MissingExtra` if it is not installed."""
    cure = "install it with: pip install 'typednn[testing]', or give the inputs"
    return optional("hypothesis", where, "drawing sizes needs the package hypothesis", cure)


def shapes_of(hints: Sequence[Any], instance: Any, draw: Callable[[Sequence[Any]], Any]) -> Shapes:
    """A shape for each annotation, with one size per axis name; None for some of the inputs that may be None."""
    names: dict[str, Dim] = {}
    groups: dict[str, tuple[int, ...]] = {}

    def size(text: str) -> int:
        known = evaluate(text, names.get, attribute_lookup(instance)) if text else None
        if known is not None and known.value is not None:
            return known.value
        drawn: int = draw(_SIZES)
        if text.isidentifier():
            names[text] = Dim.of(drawn)
        return drawn

    def shape(hint: Any) -> tuple[int, ...] | None:
        if not array_hints(hint) or (type(None) in getattr(hint, "__args__", ()) and draw((False, True))):
            return None
        slots = parse(draw(array_hints(hint)).dim_str)
        least = int(bool(slots) and slots[0].variadic)  # the first axis is the batch
        sizes: list[int] = []
        for slot in slots:
            if not slot.variadic:
                sizes.append(size(slot.text))
            else:
                if slot.text not in groups:
                    groups[slot.text] = tuple(draw(_SIZES) for _ in range(draw(range(least, 3))))
                sizes += groups[slot.text]
        return tuple(sizes)

    return tuple(map(shape, hints))


def for_drawn(
    where: str,
    hints: Sequence[Any],
    instance: Any,
    fits: Callable[[Shapes, int], bool],
    check: Callable[..., None],
    examples: int,
) -> None:
    """Call ``check`` with drawn shapes and a seed, ``examples`` times; a failing example is shrunk before it is
    reported.
    """
    library = hypothesis(where)
    st = importlib.import_module("hypothesis.strategies")

    def example(data: Any) -> None:
        shapes = shapes_of(hints, instance, lambda options: data.draw(st.sampled_from(list(options))))
        seed: int = data.draw(st.integers(0, 99))
        if not fits(shapes, seed):
            library.reject()
        check(shapes, seed)

    # The shapes and the seed of the smallest example describe a failure: no database or explanation is needed.
    phases, checks = (library.Phase.generate, library.Phase.shrink), list(library.HealthCheck)
    settings = library.settings(
        max_examples=examples, deadline=None, database=None, phases=phases, suppress_health_check=checks
    )
    try:
        settings(library.given(st.data())(example))()
    except library.errors.Unsatisfiable:
        rule, cure = "sizes must be found that fit", f"give the inputs' shapes: {where}(..., (2, 5))"
        raise ArgumentError(explain(where, rule, "none among 1 to 7", cure), "inputs") from None
