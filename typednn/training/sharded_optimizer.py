"""ShardedOptimizer: each rank keeps the optimizer's arrays of its slices of the parameters, and steps these.

    sum of the gradient's slices (all-to-all)  →  step of the own slices  →  all slices of the weights (all-gather)

The bytes are those of an all-reduce. The rules are elementwise, so the weights are those of whole steps, bit for bit.
Memory of the optimizer's arrays: a rank's share. Source: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
Training Trillion Parameter Models", stage 1.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.contracts.protocols import Optimizer
from typednn.errors import ArgumentError, explain
from typednn.module.module import Module
from typednn.optim.ema import put
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import DataParallel, Ranks
from typednn.parallel.slices import complete, gathered, part, scattered


def check_sharded(parallel: DataParallel | None, optimizer: Optimizer) -> None:
    """An `ArgumentError` for an optimizer that is to be shared out, and whose slices can't be stepped apart."""
    if parallel is None or not parallel.shard_optimizer:
        return
    if not isinstance(optimizer, GradientOptimizer) or not optimizer.elementwise:
        rule, got = "shard_optimizer needs an optimizer that steps each number by itself", type(optimizer).__qualname__
        cure = "take one of typednn.optim, or set elementwise = True in the class of yours"
        raise ArgumentError(explain("fit", rule, got, cure), "parallel")


@final
class Slices(Module):
    """This rank's slice of each parameter of a model, flat, under the parameter's name.

    A slice is a view of the parameter; of one that is not C-contiguous it is a copy. Slices without numbers have a
    shape, and are no parameters.
    """

    def __init__(self, model: Module, rank: int, size: int) -> None:
        self._whole: Callable[[], dict[str, AnyArray]] = model.named_parameters
        self._of: tuple[int, int] = (rank, size)
        self._known: dict[int, tuple[Any, Any]] = {}  # of a parameter's id: the parameter and its slice
        self.refresh()

    def refresh(self) -> dict[str, AnyArray]:
        """The slice of each parameter as it is now, also those without numbers."""
        found = self._whole()
        self._known = {
            id(array): self._known.get(id(array)) or (array, part(array, *self._of)) for array in found.values()
        }
        return {name: self._known[id(array)][1] for name, array in found.items()}

    def named_parameters(self) -> dict[str, AnyArray]:
        return {name: own for name, own in self.refresh().items() if own.size}

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: own.shape for name, own in self.refresh().items()}

    def of(self, weights: AnyArray) -> AnyArray:
        """The slice of this parameter, with the numbers that it has now."""
        if id(weights) not in self._known:
            self.refresh()
        known = self._known.get(id(weights))
        own: AnyArray = part(weights, *self._of) if known is None else known[1]  # the optimizer refuses an unknown one
        if not weights.flags.c_contiguous:
            own[...] = part(weights, *self._of)
        return own

    def of_gradient(self, derivative: AnyArray) -> AnyArray:
        """The slice of a derivative."""
        return part(derivative, *self._of)


@final
class ShardedOptimizer(Optimizer):
    """``optimizer``, which goes over to this rank's slices of the model; all ranks make it at once.

    Its state is that of the first rank. What travels: `whole`, `share`, `accepts`, `averaged`, `whole_state` and
    `give_back` are calls that all ranks make.
    """

    def __init__(self, ranks: Ranks, model: Module, optimizer: GradientOptimizer) -> None:
        self.ranks: Ranks = ranks
        self._model: Module = model
        self._optimizer: GradientOptimizer = optimizer
        self._slices: Slices = Slices(model, ranks.rank, ranks.size)
        plain, arrays = ranks.from_first(self._described(optimizer.state_dict()))
        whole = optimizer.kept()
        optimizer.hand_over(self._slices, {})
        narrow: dict[str, Any] = {}
        for name, key, dtype in arrays:
            given = whole[name][1].pop(key) if ranks.is_first else None
            numbers = model.named_parameters()[name].size
            narrow[f"{name}.{key}"] = scattered(ranks, given, numbers, dtype)
        optimizer.load_state_dict(plain | narrow)

    def _described(self, state: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str, Any]]]:
        """The state without the parameters' arrays; of each of these the parameter's name, its own, and its type."""
        arrays = [
            (name, key, array.dtype)
            for name, (_, kept) in self._optimizer.kept().items()
            for key, array in kept.items()
        ]
        names = {f"{name}.{key}" for name, key, _ in arrays}
        return {key: value for key, value in state.items() if key not in names}, arrays

    # -------------------------------------------------------------- a step

    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
        self.step_many(((weights, grad),))

    def step_many(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Step this rank's slices; `share` sends them to the others."""
        own = [(self._slices.of(weights), self._slices.of_gradient(grad)) for weights, grad in pairs]
        self._optimizer.step_many([(weights, grad) for weights, grad in own if weights.size])

    def share(self) -> None:
        """The weights of all slices, on each rank."""
        names = self._model.named_parameters()
        own = self._slices.refresh()
        complete(self.ranks, list(names.values()), [own[name] for name in names])

    def accepts(self, accept: Callable[[Iterable[AnyArray]], bool]) -> Callable[[Iterable[AnyArray]], bool]:
        """Whether all ranks ``accept`` their slices of some derivatives."""
        return lambda derivatives: self.ranks.all(accept(map(self._slices.of_gradient, derivatives)))

    def whole(self, grad: Any) -> Any:
        """The gradient with the slices of all ranks."""
        leaves = [np.array(leaf, order="C") for leaf in grad.leaves().values()]
        complete(self.ranks, leaves, [self._slices.of_gradient(leaf) for leaf in leaves])
        found = iter(leaves)

        def taken(_: Any) -> Any:
            return next(found)

        return grad.map(taken)

    # -------------------------------------------------------------- what all slices make

    def averages(self) -> dict[str, Any]:
        """The average of each parameter, whole, on each rank."""
        _, arrays = self.ranks.from_first(self._described({}))
        parameters, kept = self._model.named_parameters(), self._optimizer.kept()
        made = {name: np.empty(parameters[name].shape, dtype) for name, key, dtype in arrays if key == "ema"}
        own = [kept[name][1].get("ema", array.reshape(-1)[:0]) for name, array in made.items()]
        complete(self.ranks, list(made.values()), own)
        return made

    @contextmanager
    def averaged(self) -> Generator[None]:
        """In this block the model has the averaged weights."""
        before = put(self._model, self.averages())
        try:
            yield
        finally:
            put(self._model, before)

    @contextmanager
    def whole_state(self, *, wanted: bool) -> Generator[None]:
        """In this block the first rank's optimizer is as on one process, to be saved, where that rank has it
        ``wanted``. The others send it an array after the other.
        """
        own = self._optimizer.kept()
        if self.ranks.from_first(wanted):
            whole = self._gathered()
            if self.ranks.is_first:
                self._optimizer.hand_over(self._model, whole)
        try:
            yield
        finally:
            self._optimizer.hand_over(self._slices, own)

    def give_back(self) -> None:
        """The optimizer is the model's again: on the first rank with the whole state, on the others a new one."""
        self._optimizer.hand_over(self._model, self._gathered())

    def _gathered(self) -> dict[str, tuple[int, dict[str, Any]]]:
        """`GradientOptimizer.kept` of the whole parameters on the first rank; nothing on the others."""
        _, arrays = self.ranks.from_first(self._described({}))
        parameters, kept = self._model.named_parameters(), self._optimizer.kept()
        whole: dict[str, tuple[int, dict[str, Any]]] = {name: (step, {}) for name, (step, _) in kept.items()}
        for name, key, dtype in arrays:
            own = kept[name][1].get(key, np.empty(0, dtype))
            array = gathered(self.ranks, own, parameters[name].size)
            if array is not None:
                whole[name][1][key] = array.reshape(parameters[name].shape)
        return whole if self.ranks.is_first else {}
