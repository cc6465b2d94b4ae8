"""gradcheck: does a layer's backward agree with what its forward does?

For the scalar L = Σ w·forward(x), with fixed random w, every derivative that ``backward(w)`` gives is compared with the
central difference (L(q + eps) - L(q - eps))/(2 eps), one coordinate q at a time, in float64 on a copy of the layer.
Where the function has a kink within eps (ReLU at 0, two equal numbers under a max) no derivative exists: such a
coordinate is recognised from forward alone, left out, and counted.

Both sides are taken in training, where backward belongs. What a forward changes there (a buffer such as running
statistics, a random generator, a counter) is put back before each forward, so that all of them see the same.

The error of a coordinate is |backward - difference| / max(1, largest difference of that quantity).
Cost: two forwards per coordinate.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn.arguments import integer, number
from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.engines import using
from typednn.errors import ArgumentError, TypednnError, explain, listed
from typednn.module.module import Module
from typednn.module.state import Stateful

_KINK = 1e-3


class GradcheckError(TypednnError, AssertionError):
    """A derivative disagrees with finite differences."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """How one quantity's derivative compared."""

    name: str
    compared: int
    kinks: int
    error: float


@dataclass(slots=True)
class GradcheckReport:
    """What was compared, quantity by quantity; printing it gives a table."""

    layer: str
    quantities: list[Quantity]

    @property
    def error(self) -> float:
        """The largest error of all."""
        return max((quantity.error for quantity in self.quantities), default=0.0)

    def __str__(self) -> str:
        width = max(len(quantity.name) for quantity in self.quantities)
        lines = [
            f"  {quantity.name:<{width}}  error {quantity.error:.1e} over {quantity.compared} coordinates"
            + (f", {quantity.kinks} at a kink left out" if quantity.kinks else "")
            for quantity in self.quantities
        ]
        return "\n".join([self.layer, *lines])


@using("reference")
def gradcheck(
    layer: Module, *inputs: Any, eps: float = 1e-6, tolerance: float = 1e-6, most: int = 2000, seed: int = 0
) -> GradcheckReport:
    """Compare every derivative of ``layer`` at ``inputs`` with central differences; `GradcheckError` where one
    disagrees.

    It runs on the reference, and so do other threads meanwhile: the sizes of a check are often used once, and kernels
    take seconds to compile. ``layer`` is initialised and is left as it is; ``inputs`` are arrays, one for most layers;
    those that are no floats have no derivative. Of a quantity with more than ``most`` coordinates a random selection is
    compared.
    """
    number("gradcheck", "eps", eps, least=1e-12, below=1.0)
    number("gradcheck", "tolerance", tolerance, least=0.0)
    integer("gradcheck", "most", most)
    if not isinstance(layer, Module):
        raise ArgumentError(explain("gradcheck", "takes a layer or model", type(layer).__name__), "layer")
    if not inputs:
        raise ArgumentError(explain("gradcheck", "needs the layer's input", "none", "gradcheck(layer, x)"), "inputs")
    model = copy.deepcopy(layer).to("cpu").astype(np.float64).train()
    points = [
        None if x is None else np.array(to_numpy(x), np.float64 if is_floating(x.dtype) else None) for x in inputs
    ]
    rng = np.random.default_rng(seed)
    restore = _saved_state(model)

    shape: tuple[int, ...] = model.forward(*points).shape
    weights = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    gradient = model.backward(weights)
    names = getattr(gradient, "__inputs__", ("input",))
    by_inputs = [  # read here: one that was put off can't be computed after another forward
        (name, point, getattr(gradient, name))
        for name, point in zip(names, points, strict=True)
        if point is not None and is_floating(point.dtype)
    ]

    def loss() -> float:
        restore()
        return float(np.sum(weights * model.forward(*points), dtype=np.float64))

    if loss() != loss():
        rule = f"{layer.label()}.forward must give the same from the same state, and no NaN"
        raise ArgumentError(
            explain(
                "gradcheck", rule, "two different results", "draw from a generator that the layer holds in a field"
            ),
            "layer",
        )
    derivatives = model.named_gradients(gradient)
    where = f"{layer.label()}.backward"
    parameters = model.named_parameters()
    missing = [name for name in parameters if name not in derivatives]
    if missing:
        cure = "name the gradient's field after the array, or declare what is not learnt as Buffer[...]"
        raise GradcheckError(
            explain(
                where, f"gives a derivative by {missing[0]!r}", f"those by {listed(list(derivatives)) or 'none'}", cure
            )
        )
    by_parameters = [(name, weight, derivatives[name]) for name, weight in parameters.items()]
    return GradcheckReport(
        layer.label(), [compare(where, *each, loss, eps, tolerance, most, rng) for each in (*by_inputs, *by_parameters)]
    )


def _saved_state(model: Module) -> Callable[[], None]:
    """Save what forward may change besides what it keeps; the result restores all of it, shared objects
    as shared ones.
    """
    modules = [module for _, module in model.named_modules()]
    # Modules and cells stay who they are; parameters are moved by hand, so only buffers' arrays are put back.
    same = {id(thing): thing for module in modules for thing in (module, *module.__typednn_storage__.cells.values())}
    # also of parts that keep theirs in fields of their own
    same |= {id(array): array for array in model.named_parameters().values()}
    buffers = [cell for *_, cell in model.named_fields("buffer")]
    before = [_attributes(module) for module in modules]
    changing = [
        {name: value for name, value in own.items() if copy.deepcopy(value, dict(same)) is not value} for own in before
    ]
    saved = copy.deepcopy((changing, [cell.array for cell in buffers]), dict(same))

    def restore() -> None:
        fresh, arrays = copy.deepcopy(saved, dict(same)) if buffers or any(changing) else saved
        for module, own, copies in zip(modules, before, fresh, strict=True):
            for name in _attributes(module).keys() - own.keys():
                delattr(module, name)
            vars(module).update(own | copies)
        for cell, array in zip(buffers, arrays, strict=True):
            cell.array = array

    return restore


def _attributes(module: Module) -> dict[str, Any]:
    """The attributes that the module's class declares, without those that every module has."""
    return {name: value for name, value in vars(module).items() if name not in Stateful.__annotations__}


def compare(
    where: str,
    name: str,
    quantity: Any,
    derivative: Any,
    loss: Callable[[], float],
    eps: float = 1e-6,
    tolerance: float = 1e-6,
    most: int = 2000,
    rng: np.random.Generator | None = None,
) -> Quantity:
    """Compare a derivative with central differences of ``loss``, which reads ``quantity`` in place; ``where`` names its
    function.
    """
    places: list[int] = (
        list(range(quantity.size))
        if quantity.size <= most
        else sorted(map(int, (rng or np.random.default_rng(0)).choice(quantity.size, most, replace=False)))
    )
    middle = loss()
    differences: dict[int, float] = {}
    for place in places:
        index = np.unravel_index(place, quantity.shape)
        before = quantity[index]
        quantity[index] = before + eps
        above = loss()
        quantity[index] = before - eps
        below = loss()
        quantity[index] = before
        # At a kink the slopes on the two sides differ; elsewhere only by eps times the curvature and by rounding.
        right, left = (above - middle) / eps, (middle - below) / eps
        noise = 1e-12 * max(1.0, abs(middle)) / eps
        if abs(right - left) <= max(_KINK * max(1.0, abs(right), abs(left)), noise):
            differences[place] = (above - below) / (2 * eps)
    if not differences:
        raise ArgumentError(
            explain(
                "gradcheck",
                f"{where}: {name!r} needs a point without kinks",
                "a kink in every coordinate",
                "try another x",
            ),
            "inputs",
        )
    scale = max(1.0, *(abs(difference) for difference in differences.values()))
    errors = {
        place: abs(float(derivative.flat[place]) - difference) / scale for place, difference in differences.items()
    }
    # A NaN compares as false with everything: it must lose here.
    worst = max(errors, key=lambda place: np.inf if np.isnan(errors[place]) else errors[place])
    if not errors[worst] <= tolerance:
        coordinate = tuple(int(place) for place in np.unravel_index(worst, quantity.shape))
        raise GradcheckError(
            explain(
                where,
                f"the derivative by {name!r} at {coordinate} must be {differences[worst]:.9g}",
                f"{float(derivative.flat[worst]):.9g}",
                f"error {errors[worst]:.1e} is over the tolerance {tolerance:g}",
            )
        )
    return Quantity(name, len(differences), len(places) - len(differences), errors[worst])
