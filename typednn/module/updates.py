"""What an update does: one step per parameter, each layer's own ``update`` called, a shared parameter stepped once.

An ``update`` that is inherited steps the parameters of its layer in the order of declaration, then those of its parts,
by calling each part's ``update``. Where no part has one of its own, that is one walk and one loop, or one ``step_many``
where the optimizer has it.

A parameter that several layers of one model share is stepped once, with the sum of its uses' derivatives, in the
``update`` of the layer that holds it first. That layer gets a gradient with the sum in it. In the ``update`` of a later
holder, the step of that parameter is left out; whatever else it does is done.

`update_if` asks about the derivatives first: they are gathered here anyway, and nothing is written yet.

After the update of an optimizer that is not typednn's, every parameter must have the shape, the dtype and the memory
that it had (`layouts_kept`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from typednn.arrays import AnyArray, namespace
from typednn.contracts.checks import Contract, contracted, judge, signature, switch
from typednn.contracts.derivatives import check_derivative, check_optimizer
from typednn.contracts.protocols import Optimizer
from typednn.errors import ShapeError, TypednnError, explain
from typednn.kernels.pointwise import add
from typednn.module.calls import locate
from typednn.module.gradients import Gradient, Made, with_fields
from typednn.module.state import changes
from typednn.module.tree import Node, Use, summed

Update = TypeVar("Update", bound=Callable[..., None])
Accepts: TypeAlias = Callable[[Iterable[AnyArray]], bool]


@dataclasses.dataclass(slots=True, eq=False)
class _Tie:
    """A parameter with several uses, during one update of the model."""

    holder: Node
    others: Any = None  # the sum of the other uses' derivatives; None once the holder's gradient contains it
    state: str = "waiting"  # then "stepping", then "stepped"

    def step(self, optimizer: Any, weights: Any, derivative: Any) -> None:
        """The one step, with the sum of all uses."""
        self.state = "stepping"
        optimizer.step(weights, derivative if self.others is None else add(derivative, self.others))
        self.state = "stepped"


class _Running(threading.local):
    """The outermost update of a model with shared parameters that runs in this thread."""

    ties: Mapping[int, _Tie] = MappingProxyType({})  # by cell
    members: frozenset[int] = frozenset()  # the model's modules: another model's update is its own
    accepts: Accepts | None = None  # what `update_if` asks, until it was asked


_running = _Running()


class _Refused(Exception):  # not an error: it ends an update before the first step
    """`update_if` was answered False."""


def update_if(accepts: Accepts, module: Node, optimizer: Any, grad: Any) -> bool:
    """``module.update(optimizer, grad)`` if ``accepts`` the derivatives by all parameters; if not, nothing is written.
    Which of both.
    """
    _running.accepts = accepts
    try:
        module.update(optimizer, grad)
    except _Refused:
        return False
    finally:
        _running.accepts = None
    return True


def _ask(module: Node, grad: Any, uses: Sequence[Use], by_hand: bool) -> None:
    accepts, _running.accepts = _running.accepts, None
    if not by_hand:
        derivatives: Iterable[AnyArray] = [derivative for _, _, derivative in summed(uses)]
    else:  # such a layer may keep parameters to itself, but their derivatives are in the gradient
        derivatives = (grad.leaves() if isinstance(grad, Gradient) else module.named_gradients(grad)).values()
    if accepts is not None and not accepts(derivatives):
        raise _Refused


def inherited(update: Update) -> Update:
    """Decorates the ``update`` that is `update_parts` and nothing else: it is not wrapped, as one that is written by
    hand is.
    """
    return contracted(update, Contract(update, update.__qualname__))


def update_parts(module: Node, optimizer: Any, grad: Any) -> None:
    """The inherited ``update``: ``optimizer.step(weights, derivative)`` once per parameter in the order of declaration,
    or all at once.
    """
    if id(module) in _running.members:
        _step(module, optimizer, grad)
        return
    uses, by_hand = checked_uses(module, optimizer, grad)
    with _layouts_of_uses(optimizer, module, uses):
        _update(module, optimizer, grad, uses, by_hand)


def _update(module: Node, optimizer: Any, grad: Any, uses: Sequence[Use], by_hand: bool) -> None:
    # of the class: an optimizer around another may pass on what it lacks
    many = getattr(optimizer.__class__, "step_many", None)
    if by_hand:
        with _sharing(module, uses):
            _step(module, optimizer, grad)
    elif many is not None:
        many(optimizer, [(cell.array, derivative) for _, cell, derivative in summed(uses)])
    else:
        for _, cell, derivative in summed(uses):
            optimizer.step(cell.array, derivative)


def _step(module: Node, optimizer: Any, grad: Any) -> None:
    """The parameters of ``module`` itself, then each part's ``update``."""
    optimizer = optimizer.optimizer if isinstance(optimizer, _OncePerShared) else optimizer
    for path, cell, derivative in module.own_uses(grad):
        if switch.mode != "off":
            _hold(module, path, cell.array, derivative)
        tie = _running.ties.get(id(cell))
        if tie is None:
            optimizer.step(cell.array, derivative)
        elif tie.holder is module and tie.state == "waiting":
            tie.step(optimizer, cell.array, derivative)
    for name, child in module.children():
        if child.takes_update:
            child.update(optimizer, module.part_of(grad, name))


@contextmanager
def _sharing(module: Node, uses: Sequence[Use]) -> Generator[None]:
    """While ``module`` is updated: which parameters have several uses, and what the later ones add."""
    ties: dict[int, _Tie] = {}
    for _, cell, derivative, holder in uses:
        tie = ties.get(id(cell))
        if tie is None:
            ties[id(cell)] = _Tie(holder)
        else:
            tie.others = derivative if tie.others is None else add(tie.others, derivative)
    ties = {cell: tie for cell, tie in ties.items() if tie.others is not None}
    before = _running.ties, _running.members
    _running.ties = ties
    _running.members = frozenset(id(part) for _, part in module.named_modules()) if ties else frozenset()
    try:
        yield
    finally:
        _running.ties, _running.members = before


class Around:
    """What a hand-written ``update`` gets in the place of its optimizer, which it passes on."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.optimizer, name)


class _OncePerShared(Around):
    """The optimizer that a hand-written ``update`` gets in a model with shared parameters: see the top of this file."""

    def __init__(self, optimizer: Any, module: Node, ties: Mapping[int, _Tie]) -> None:
        super().__init__(optimizer)
        parts = [part for _, part in module.named_modules()]
        self._parts = set(map(id, parts))
        self._ties = {
            id(cell.array): ties[id(cell)]
            for part in parts
            for cell in part.__typednn_storage__.cells.values()
            if id(cell) in ties
        }

    def step(self, weights: Any, grad: Any) -> None:
        tie = self._ties.get(id(weights))
        if tie is None or tie.state == "stepping":
            self.optimizer.step(weights, grad)
        elif id(tie.holder) in self._parts and tie.state == "waiting":
            tie.step(self.optimizer, weights, grad)


def enforced_update(function: Callable[..., Any], owner: type[Node]) -> Callable[..., Any]:
    """A hand-written ``update``: the gradient is checked first, shared parameters are stepped once."""

    @functools.wraps(function)
    def update(self: Node, optimizer: Any, grad: Any) -> None:
        try:
            optimizer = optimizer.optimizer if isinstance(optimizer, _OncePerShared) else optimizer
            uses, _ = checked_uses(self, optimizer, grad)
            with _layouts_of_uses(optimizer, self, uses):
                if id(self) in _running.members:
                    _by_hand(self, function, optimizer, grad)
                else:
                    with _sharing(self, uses):
                        _by_hand(self, function, optimizer, grad)
        except TypednnError as error:
            locate(error, self)
            raise

    return contracted(update, Contract(function, f"{owner.__qualname__}.update"))


def _by_hand(module: Node, function: Callable[..., Any], optimizer: Any, grad: Any) -> None:
    ties = _running.ties
    if ties:
        for name, cell, derivative in list(module.own_uses(grad)):
            tie = ties.get(id(cell))
            if tie is not None and tie.holder is module and tie.others is not None:
                grad = _replaced(grad, type(module).gradient_prefix + name, add(derivative, tie.others))
                tie.others = None
        optimizer = _OncePerShared(optimizer, module, ties)
    function(module, optimizer, grad)


def _replaced(grad: Any, path: str, derivative: Any) -> Any:
    """``grad`` with another derivative in the field ``path``."""
    first, _, rest = path.partition(".")
    return with_fields(grad, {first: _replaced(getattr(grad, first), rest, derivative) if rest else derivative})


@contextmanager
def layouts_kept(
    optimizer: Any, module: Any, parameters: Iterable[tuple[str, Any]], put: Callable[[str, Any], object]
) -> Generator[None]:
    """After the block each parameter has the shape, dtype and strides that it had, and can be written; a `ShapeError`
    if it had not.

    It is in the same array, or in another that ``put`` gets. typednn's own optimizers are known to keep them: of these,
    and where nothing is checked, ``parameters`` are not looked at.
    """
    while isinstance(optimizer, Around):
        optimizer = optimizer.optimizer
    if switch.mode == "off" or optimizer.__class__.__module__.startswith("typednn."):
        yield
        return
    held = [(path, array, _layout(array)) for path, array in parameters]
    try:
        yield
    finally:
        changed = [(path, array, before, _layout(array)) for path, array, before in held if _layout(array) != before]
        for path, array, before, _ in changed:
            restored = _restored(array, before)
            if restored is not array:
                put(path, restored)
    for path, _, before, now in changed:
        rule = (
            f"an optimizer writes numbers in place, weights[...] = ..., and leaves the array as it is, {_told(before)}"
        )
        cure = "that was undone; the layer can be used"
        raise ShapeError(
            explain(f"{type(optimizer).__qualname__}.step of {path!r} of {module.label()}", rule, _told(now), cure),
            module,
        )


def _layouts_of_uses(optimizer: Any, module: Node, uses: Sequence[Use]) -> AbstractContextManager[None]:
    def put(path: str, array: Any) -> None:
        next(cell for name, cell, _, _ in uses if name == path).put(array)

    return layouts_kept(optimizer, module, ((path, cell.array) for path, cell, _, _ in uses), put)


def _layout(array: Any) -> tuple[Any, ...]:
    return array.shape, array.dtype, array.strides, getattr(array.flags, "writeable", True)


def _told(layout: tuple[Any, ...]) -> str:
    shape, dtype, strides, writeable = layout
    return f"shape {tuple(shape)} of {dtype}, strides {strides}{'' if writeable else ', read-only'}"


def _restored(array: Any, layout: tuple[Any, ...]) -> Any:
    """``array`` with its layout back, or, where its memory is not as large as it was, another array with the numbers
    that are there.
    """
    shape, dtype, strides, writeable = layout
    if array.nbytes == math.prod(shape) * dtype.itemsize:
        with warnings.catch_warnings(), suppress(ValueError, TypeError, AttributeError):
            warnings.simplefilter("ignore")  # NumPy calls each of these bad style, which it is
            array.dtype, array.shape = dtype, shape
            if array.strides != strides:
                array.strides = strides
            if writeable:
                array.setflags(write=True)
        if _layout(array) == layout:
            return array
    xp, size = namespace(array), math.prod(shape)
    numbers = array.reshape(-1)[:size].astype(dtype)
    return xp.concatenate([numbers, xp.zeros(size - numbers.size, dtype)]).reshape(shape)


# Classes of optimizers whose instances can step: each class is checked once.
_optimizers: set[type] = set()


def checked_uses(module: Node, optimizer: Any, grad: Any) -> tuple[list[Use], bool]:
    """`Module.uses` of an optimizer that can step, every derivative held to its parameter; and whether an ``update`` is
    hand-written.
    """
    made: Made | None = getattr(grad, "_made", None)
    known = None if made is None or switch.mode == "full" else made.uses(module)
    try:
        uses, by_hand = module.uses(grad) if known is None else known
    except TypednnError as error:
        locate(error, module)
        raise
    if switch.mode != "off":
        kind: type = optimizer.__class__
        if kind not in _optimizers or switch.mode == "full":
            where = f"{module.label()}.update"
            check_optimizer(where, module, optimizer)
            judge(where, module, ["optimizer"], [Optimizer], [optimizer])
            _optimizers.add(kind)
        for path, cell, derivative, _ in uses if known is None else ():
            _hold(module, path, cell.array, derivative)
    if _running.accepts is not None:
        _ask(module, grad, uses, by_hand)
    change = next(changes)  # the caller is about to make it
    for _, cell, _, _ in uses:
        cell.changed = change
    return uses, by_hand


def _hold(module: Node, path: str, array: Any, derivative: Any) -> None:
    if not (
        derivative.__class__ is array.__class__ and derivative.shape == array.shape and derivative.dtype == array.dtype
    ):
        check_derivative(
            f"{module.label()}.update",
            module,
            f"the gradient of {path!r}",
            derivative,
            signature(array),
            "its parameter",
        )
