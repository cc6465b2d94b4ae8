"""Layers and losses whose formula is written in operations of `typednn.graph`; their derivatives are the graph's.

    class Swish(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return x * sigmoid(x)

================  ===================================================================  =================================
class             formula                                                              gives
================  ===================================================================  =================================
GraphLayer        one tensor in, one out; reads the layer's parameters as tensors      a `Layer`: forward and backward
GraphElementwise  the same for any rank and shape                                      an `Elementwise`
GraphMultiInput   several tensors in, one out                                          a `MultiInput`
GraphLoss         a prediction and a target in, one number out                         a `Loss`: loss and loss_grad
================  ===================================================================  =================================

The annotations of ``formula`` are the contract: forward, backward and their checks have them, with arrays for tensors.
A formula is recorded, not run: it sees no numbers, and Python's branches may depend on shapes and on the layer's
attributes only.

Each formula is recorded once for each combination of attributes, shapes and dtypes; then a call computes the recorded
programs on its own arrays. A formula that makes tensors of arrays of its own (a random mask, say) is recorded at each
call, unless these are the same read-only arrays each time, as those of `arange` are. So is one of a layer whose
attributes are not numbers, strings, booleans, None or tuples of them: nobody could tell whether it would be the same.

Kept for backward: the input, by reference, and the results of sums and of other reductions. What is computed number by
number from these is computed again. About 10 µs a call beside the computation, checks included.

Where nobody who calls backward reads the derivative by the input of a `GraphLayer`, as in a model that begins with it,
it is computed when it is read, as a chain's is: before the weights change, and before another forward.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import MISSING, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, cast, get_origin
from weakref import ref

from jaxtyping import Float, Shaped
from typing_extensions import TypeVar

from typednn.arrays import AnyArray, Array0, Array1, Array2, Array3, Array4, is_floating
from typednn.contracts.checks import Contract, contracted
from typednn.contracts.derivatives import gradient_fields
from typednn.contracts.hints import array_hints, is_array_hint
from typednn.contracts.promises import type_arguments
from typednn.contracts.protocols import Loss
from typednn.errors import DefinitionError, StateError, explain
from typednn.graph.interpreter import interpret
from typednn.graph.tensor import AnyTensor, Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4
from typednn.module.chain import input_is_read
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad, Gradient, agrees, deferred, unreadable
from typednn.module.layer import A, Elementwise, G, In, Layer, MultiInput, Out, P, S
from typednn.module.recording import Recording, Step, key_of, record, recording_of
from typednn.module.state import CallState, Cell, changes

Prediction = TypeVar("Prediction")
Target = TypeVar("Target", contravariant=True)

# in the axes of an annotation: one that follows from others
_COMPUTED: Final = re.compile(r"[^\s{][*+/%-]|[*+/%-]\s*\(")


# ------------------------------------------------------------------ from a formula to methods

# An annotation of a tensor as that of an array.
_ARRAYS: Final[dict[Any, Any]] = {
    Tensor: AnyArray,
    Tensor0: Array0,
    Tensor1: Array1,
    Tensor2: Array2,
    Tensor3: Array3,
    Tensor4: Array4,
}


def _of_arrays(where: str, hint: Any) -> Any:
    if not is_array_hint(hint) or hint.array_type not in _ARRAYS:
        rule, cure = "inputs and result are tensors with named axes", 'such as Float[Tensor2, "batch features"]'
        raise DefinitionError(explain(where, rule, getattr(hint, "__name__", str(hint)), cure))
    return hint.dtype[_ARRAYS[hint.array_type], hint.dim_str]


class Formula:
    """What has a formula. A class that defines one gets the methods that compute it."""

    _takes: ClassVar[int] = 1  # so many tensors; 0: any number

    formula: Callable[..., Any]  # what is computed, in operations of the graph

    @classmethod
    def _methods(cls, inputs: Sequence[Any], result: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
        """The methods by name, each with its annotations."""
        raise NotImplementedError

    def __init_subclass__(cls, **keywords: Any) -> None:
        formula = vars(cls).get("formula")
        if formula is not None:
            where = f"{cls.__qualname__}.formula"
            contract = Contract(formula, where)
            contracted(formula, contract)
            if len(contract.hints) != cls._takes and (cls._takes or not contract.hints):
                raise DefinitionError(
                    explain(where, f"takes tensors: {cls._takes or 'one or more'}", ", ".join(contract.names) or "none")
                )
            *inputs, result = (_of_arrays(where, hint) for hint in (*contract.hints, contract.result))
            for name, (method, annotations) in cls._methods(inputs, result).items():
                method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
                method.__module__, method.__doc__, method.__annotations__ = cls.__module__, formula.__doc__, annotations
                setattr(cls, name, method)
        super().__init_subclass__(**keywords)


def _argument(cls: type, base: type, name: str) -> Any:
    """What ``cls`` puts in for the type variable ``name`` of ``base``."""
    found = next(
        (argument for variable, argument in type_arguments(cls, base).items() if variable.__name__ == name), None
    )
    if found is None or isinstance(found, TypeVar):
        cure = f"write class {cls.__name__}({base.__name__}[...]) with all of them"
        raise DefinitionError(
            explain(cls.__qualname__, f"names its gradient among the type arguments of {base.__name__}", "none", cure)
        )
    return found


# ------------------------------------------------------------------ layers


class _GraphModule(Formula):
    """A layer with a formula: what `GraphLayer`, `GraphElementwise` and `GraphMultiInput` share."""

    _recorded: Kept[Any]  # the recording of the last forward
    _inputs: Kept[tuple[Any, ...]]
    _reduced: Kept[Any]  # what forward computed and backward reads

    @classmethod
    def _methods(cls, inputs: Sequence[Any], result: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
        gradient, made, waits = cls._gradient()

        def forward(self: Any, x: Any) -> Any:
            return _forward(self, (x,), waits)

        def backward(self: Any, next_grad: Any) -> Any:
            (dx,), by_name = _backward(self, next_grad)
            return made(dx, by_name)

        backward.defers = waits  # type: ignore[attr-defined]
        return {
            "forward": (forward, {"x": inputs[0], "return": result}),
            "backward": (backward, {"next_grad": result, "return": gradient}),
        }

    @classmethod
    def _gradient(cls) -> tuple[Any, Callable[[Any, dict[str, Any]], Any], bool]:
        """The gradient's type, what makes one of the derivatives by the input and by the parameters, and whether the
        first may wait.
        """
        raise NotImplementedError


class GraphLayer(_GraphModule, Layer[In, Out, G, S], Generic[In, Out, G, S]):
    """One array in, one out. Derive, declare fields and a gradient, annotate ``formula``; everything
    else is inherited.
    """

    if TYPE_CHECKING:  # each class with a formula gets these

        def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
            raise NotImplementedError

        def backward(self, next_grad: Shaped[Out, "batch *output"]) -> G:
            raise NotImplementedError

    @classmethod
    def _gradient(cls) -> tuple[Any, Callable[[Any, dict[str, Any]], Any], bool]:
        gradient = _argument(cls, GraphLayer, "G")

        def made(dx: Any, by_name: dict[str, Any]) -> Any:
            return deferred(gradient, dx, by_name) if callable(dx) else gradient(input=dx, **by_name)

        return gradient, made, _may_wait(gradient)


class GraphElementwise(_GraphModule, Elementwise[P], Generic[P]):
    """Keeps rank and shape of its input; ``P`` is the dataclass of its parameters' gradients, or None."""

    if TYPE_CHECKING:

        def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
            raise NotImplementedError

        def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, P]:
            raise NotImplementedError

    @classmethod
    def _gradient(cls) -> tuple[Any, Callable[[Any, dict[str, Any]], Any], bool]:
        parameters = _argument(cls, GraphElementwise, "P")
        gradient: Any = ElementwiseGrad
        if parameters in (None, type(None)):
            return gradient[AnyArray, None], lambda dx, _: gradient(dx, None), False
        return gradient[AnyArray, parameters], lambda dx, by_name: gradient(dx, parameters(**by_name)), False


class GraphMultiInput(_GraphModule, MultiInput[Out, P], Generic[Out, P]):
    """Several arrays in, one out; ``P`` is its gradient, which names them: ``class PairGrad(Gradient, inputs=("left",
    "right"))``.
    """

    _takes = 0

    if TYPE_CHECKING:

        def backward(self, next_grad: Shaped[Out, "batch *output"]) -> P:
            raise NotImplementedError

    @classmethod
    def _methods(cls, inputs: Sequence[Any], result: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
        gradient, signature = _argument(cls, GraphMultiInput, "P"), inspect.signature(cls.formula)
        names = tuple(signature.parameters)[1:]

        def forward(self: Any, *arrays: Any) -> Any:
            return _forward(self, arrays, False)

        def backward(self: Any, next_grad: Any) -> Any:
            derivatives, by_name = _backward(self, next_grad)
            return gradient(**dict(zip(names, derivatives, strict=True)), **by_name)

        forward.__signature__ = signature  # type: ignore[attr-defined]
        return {
            "forward": (forward, {**dict(zip(names, inputs, strict=True)), "return": result}),
            "backward": (backward, {"next_grad": result, "return": gradient}),
        }


def _may_wait(gradient: Any) -> bool:
    """Whether a gradient of this class can be made and checked without its ``input``: an axis ``3*width`` needs it to
    know the width.
    """
    kind: Any = get_origin(gradient) or gradient
    fields: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    return (
        Gradient in kind.__mro__
        and kind.__post_init__ is Gradient.__post_init__
        and kind.__inputs__ == ("input",)
        and "input" in fields
        and fields["input"].default is MISSING
        and not any(
            _COMPUTED.search(each.dim_str)
            for hint in gradient_fields(kind, kind.__qualname__).values()
            for each in array_hints(hint)
        )
    )


def _forward(layer: Any, inputs: tuple[Any, ...], waits: bool) -> Any:
    """The result of the formula; the derivative by the first input may be computed later than the others, where it
    ``waits``.
    """
    recording, arrays = _recorded(layer, inputs, waits)
    results = recording.forward(arrays)
    layer._recorded, layer._inputs = recording, inputs
    layer._reduced = _Reduced(results if recording.keeps_result else results[1:])
    return results[0]


def interpreted(layer: Any, *inputs: Any) -> Any:
    """The result of a layer's formula, one function of NumPy for each instruction: for arrays that only note what is
    done.
    """
    recording, arrays = _recorded(layer, inputs, False)
    step = recording.forward
    return interpret(step.program, [arrays[each] if each.__class__ is int else each for each in step.reads])[0]


def _recorded(layer: Any, inputs: tuple[Any, ...], waits: bool) -> tuple[Recording, list[Any]]:
    """The recording of a layer's formula for arrays like ``inputs``, and the arrays that it reads."""
    stored = [(name, getattr(layer, name)) for name, _ in layer.stored_fields()]
    training: bool = layer.training
    many = len(inputs)

    def make() -> Recording:
        where = f"{layer.label()}.formula"
        if next(layer.children(), None) is not None:
            cure = "write the inner formula as a function, or forward and backward by hand"
            raise DefinitionError(explain(where, "has parameters, and no layers inside", "a layer inside", cure))
        learnt = [place for place, (name, _) in enumerate(stored, many) if layer.fields[name].kind == "parameter"]
        sources = [*(place for place, x in enumerate(inputs) if is_floating(x.dtype)), *learnt] if training else []

        def formula(*tensors: AnyTensor) -> Any:
            names = (name for name, _ in stored)
            return layer.__class__.formula(
                _with_tensors(layer, dict(zip(names, tensors[many:], strict=True))), *tensors[:many]
            )

        named = ["x"] if many == 1 else [f"x{place}" for place in range(many)]
        given = [*zip(named, inputs, strict=True), *stored]
        return record(
            where, formula, given, sources, is_loss=False, waits=waits and sources[:1] == [0] and bool(learnt)
        )

    key = key_of(layer, inputs, layer.dtype, tuple(name for name, _ in stored), waits)
    return recording_of(key, make), [*inputs, *(array for _, array in stored)]


def _backward(layer: Any, next_grad: Any) -> tuple[list[Any], dict[str, Any]]:
    """The derivatives by the inputs, of which the first may be what computes it when it is read; and that by each
    parameter.
    """
    recording: Recording = layer._recorded
    inputs = layer._inputs
    stored = [getattr(layer, name) for name, _ in layer.stored_fields()]
    given = [*inputs, *stored, *layer._reduced, next_grad]
    absent = layer.__typednn_storage__.absent
    learnt = [name for name, _ in layer.__class__.learnt if name not in absent]
    if recording.parted is not None and not input_is_read():
        now, _ = recording.parted
        found = now(given)
        by_inputs: list[Any] = [_later(layer, found[len(learnt) :])]
    else:
        found = recording.backward(given)
        by_inputs = [found.pop(0) if is_floating(x.dtype) else None for x in inputs]
    return by_inputs, {**dict.fromkeys(absent), **dict(zip(learnt, found, strict=False))}


def _later(layer: Any, between: Sequence[Any]) -> Callable[[], Any]:
    """What computes the derivative by the input, from what backward has computed on the way; it holds nothing that
    forward kept.
    """
    moment, last = next(changes), ref(layer._reduced)

    def refusal(got: str) -> StateError:
        return unreadable(layer, "formula", got, "read it before update and before another forward")

    @cache
    def later() -> Any:
        kept = layer.__typednn_calls__.kept
        reduced = last()
        if reduced is None or kept.get("_reduced") is not reduced:
            raise refusal("arrays that another forward, free_cache() or eval() dropped")
        if any(field.cell(layer).changed > moment for _, field in layer.stored_fields()):
            raise refusal("changed weights")
        recording: Recording = kept["_recorded"]
        given = [*kept["_inputs"], *(getattr(layer, name) for name, _ in layer.stored_fields())]
        again = recording.forward(given)[1:]
        if not all(map(agrees, reduced[len(reduced) - len(again) :], again)):
            raise refusal("weights or an input that were written into")
        _, step = cast("tuple[Step, Step]", recording.parted)
        return step([*given, *reduced, None, *between])[0]

    return later


class _Reduced(list[Any]):
    """What forward computed and backward reads. A list that can be told from others, and that goes when nobody needs
    it.
    """


def _with_tensors(layer: Any, tensors: dict[str, AnyTensor]) -> Any:
    """The layer with tensors where its arrays are."""
    other = object.__new__(layer.__class__)
    other.__dict__.update(layer.__dict__)
    cells = defaultdict(Cell, {name: Cell(tensor) for name, tensor in tensors.items()})
    other.__typednn_storage__ = replace(layer.__typednn_storage__, cells=cells)
    other.__typednn_calls__ = CallState()
    return other


# ------------------------------------------------------------------ losses


class GraphLoss(Formula, Loss[Prediction, Target], Generic[Prediction, Target]):
    """A loss from the formula of one number: ``formula(self, prediction, target)`` gives a tensor without axes."""

    _takes = 2

    if TYPE_CHECKING:

        def loss(
            self, prediction: Shaped[Prediction, "batch *features"], target: Shaped[Target, "batch *target"]
        ) -> float:
            """The loss."""
            raise NotImplementedError

        def loss_grad(
            self, prediction: Shaped[Prediction, "batch *features"], target: Shaped[Target, "batch *target"]
        ) -> Shaped[Prediction, "batch *features"]:
            """The loss's derivative by the prediction."""
            raise NotImplementedError

        def loss_and_grad(
            self, prediction: Shaped[Prediction, "batch *features"], target: Shaped[Target, "batch *target"]
        ) -> tuple[float, Shaped[Prediction, "batch *features"]]:
            """Both, computed together."""
            raise NotImplementedError

    @classmethod
    def _methods(cls, inputs: Sequence[Any], result: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
        def loss(self: Any, prediction: Any, target: Any) -> Any:
            return float(_loss(self, prediction, target).forward([prediction, target])[0])

        def loss_grad(self: Any, prediction: Any, target: Any) -> Any:
            return _loss(self, prediction, target).backward([prediction, target])[0]

        def loss_and_grad(self: Any, prediction: Any, target: Any) -> Any:
            value, gradient = _loss(self, prediction, target).both([prediction, target])
            return float(value), gradient

        pair: dict[str, Any] = {"prediction": inputs[0], "target": inputs[1]}
        several: Any = tuple
        return {
            "loss": (loss, {**pair, "return": float}),
            "loss_grad": (loss_grad, {**pair, "return": inputs[0]}),
            "loss_and_grad": (loss_and_grad, {**pair, "return": several[float, inputs[0]]}),
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _loss(loss: Any, prediction: Any, target: Any) -> Recording:
    def make() -> Recording:
        where = f"{loss!r}.formula"
        return record(where, loss.formula, [("prediction", prediction), ("target", target)], [0], is_loss=True)

    return recording_of(key_of(loss, (prediction, target)), make)
