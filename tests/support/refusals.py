"""What must be refused, as plain functions: tests/laws/test_refusals.py runs them on every layer, and once more with the
checks taken out, where every one of them must fail.

A test gets a layer and its input's shape, and is run in mode "full", in "cached" from the start, and in "cached" right
after the same call with right arrays was let through.
"""

from typing import Any

import numpy as np
from law_tools import WRONG, changed_field, gradient_fields, locked, ready, refused, values, with_changed_backward

from tests.layer_cases import LayerCase
from typednn.module import Module
from typednn.optim import SGD


def _arrays(layer: Module, shape: tuple[int, ...], device: str) -> tuple[Any, Any]:
    x = locked(values(shape, dtype=np.float32), device)
    y = layer.forward(x)
    return x, locked(values(y.shape, 4, np.float32), device)


def applies(case: LayerCase, wrong: str, what: str) -> bool:
    """Whether a kind of wrongness is one, for this layer: an elementwise layer takes any rank, size and precision."""
    layer, _ = case.example()
    anything_goes = wrong in ("dtype", "device") and not layer.num_parameters() and what == "forward"
    signature = type(layer).forward.__typednn_contract__.hints[0].dim_str  # type: ignore[attr-defined]
    if what == "forward" and wrong in ("rank", "size"):
        if "*" in signature:  # any shape, unless a part says otherwise
            return bool(layer.num_parameters()) and type(layer).__name__ not in ("PReLU", "ElementwiseChain")
        if wrong == "size":
            return "{" in signature.split()[-1] or type(layer).__name__ == "PerPosition"
    return not anything_goes


def forward(case: LayerCase, wrong: str, device: str, after_a_hit: bool) -> None:
    layer, shape = case.example()
    ready(layer, device)
    x = locked(values(shape, dtype=np.float32), device)
    if after_a_hit:
        layer.forward(x)
        layer.forward(x)
    with refused():
        layer.forward(WRONG[wrong](x))


def next_grad(case: LayerCase, wrong: str, device: str, after_a_hit: bool) -> None:
    layer, shape = case.example()
    ready(layer, device)
    _, dy = _arrays(layer, shape, device)
    if after_a_hit:
        layer.backward(dy)
        layer.backward(dy)
    with refused():
        layer.backward(WRONG[wrong](dy))


def gradient(case: LayerCase, wrong: str, device: str, after_a_hit: bool) -> None:
    """Each field that backward returns is held to its quantity."""
    layer, shape = case.example()
    ready(layer, device)
    _, dy = _arrays(layer, shape, device)
    for name in gradient_fields(layer.backward(dy)):
        spoiled: list[str] = []

        def change(gradient: Any, spoiled: list[str] = spoiled) -> Any:
            return changed_field(gradient, spoiled[0], WRONG[wrong]) if spoiled else gradient

        broken = with_changed_backward(ready(case.example()[0], device), change)
        broken.forward(locked(values(shape, dtype=np.float32), device))
        if after_a_hit:
            broken.backward(dy)
            broken.backward(dy)
        spoiled.append(name)
        with refused():
            broken.backward(dy)


def update(case: LayerCase, wrong: str, device: str, after_a_hit: bool) -> None:
    """Each derivative that update is given is held to its parameter."""
    layer, shape = case.example()
    ready(layer, device)
    _, dy = _arrays(layer, shape, device)
    good = layer.backward(dy)
    optimizer = SGD(0.1)
    if after_a_hit:
        layer.update(optimizer, good)
        layer.update(optimizer, good)
    with refused():
        layer.update(optimizer, good.map(WRONG[wrong]))


ALL = {"forward": forward, "next_grad": next_grad, "gradient": gradient, "update": update}
