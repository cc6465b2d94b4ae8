"""The laws of layers and models: functions of a `Subject` that raise an error if the law is broken."""

# What a user's formula gives may be anything.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import gc
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, get_args

import numpy as np

from typednn import config
from typednn.arrays import is_array, is_floating
from typednn.backends import to_numpy
from typednn.config.registry import LAYERS
from typednn.contracts.checks import Mode, checking, contract_of
from typednn.contracts.hints import array_hints
from typednn.engines import using
from typednn.errors import ArgumentError, NotForwarded, NotInitialised, ShapeError, explain
from typednn.graph import Tape, Tensor, realize, tensor
from typednn.layer import FirstChain, FirstLayer, Input, MultiInput, Sequential
from typednn.module.module import Module
from typednn.shapes import Flow, parse
from typednn.testing import refusals
from typednn.testing.drawing import Shapes, for_drawn
from typednn.testing.gradcheck import gradcheck
from typednn.testing.subject import Subject, broken, check_laws, chosen_laws, copied, locked, raises, same, unwritten

FORMULA_TOLERANCE: Final = 1e-6


def derivatives(subject: Subject) -> None:
    """The derivatives of backward by every float input and every parameter agree with central
    differences, in float64.
    """
    layer = subject.ready()
    inputs = subject.arrays(np.float64)
    report = gradcheck(layer, *inputs, most=40, seed=subject.seed)
    gradient = _run(layer, subject)[1]
    names = [name for name, x in zip(gradient.__inputs__, inputs, strict=True) if is_array(x) and is_floating(x.dtype)]
    expected, compared = {*names, *layer.named_parameters()}, {quantity.name for quantity in report.quantities}
    if expected != compared:
        raise broken(f"there are derivatives by {sorted(expected)}", str(sorted(compared)))


def by_formula(subject: Subject) -> None:
    """Where there is a formula: the output, and the derivatives by every float input and every parameter, are the
    graph's, to 1e-6.
    """
    if subject.formula is None:
        return
    layer, inputs = subject.ready(np.float64), subject.arrays(np.float64)
    learnt: dict[str, Any] = {
        name.replace(".", "_"): tensor(to_numpy(array).copy()) for name, array in layer.named_parameters().items()
    }
    given: list[Any] = [None if x is None else tensor(to_numpy(x)) for x in inputs]
    output = layer.forward(*inputs)
    next_grad = subject.next_grad(output)
    gradient = layer.backward(next_grad)
    named = zip(gradient.__inputs__, given, strict=True)
    sources: dict[str, Any] = {name: x for name, x in named if x is not None and is_floating(x.dtype)} | learnt
    with Tape() as tape:
        y: Any = subject.formula(*given, **learnt)
        if not isinstance(y, Tensor) or y.shape != tuple(output.shape):
            got = str(getattr(y, "shape", type(y).__name__))
            raise broken(f"the formula gives a tensor of the output's shape {tuple(output.shape)}", got)
        found: dict[str, Any] = tape.gradient((y * to_numpy(next_grad)).sum(), sources, zeros=True)
    realize(y, found.values())
    own: dict[str, Any] = {name.replace(".", "_"): array for name, array in layer.named_gradients(gradient).items()}
    own |= {name: getattr(gradient, name) for name in gradient.__inputs__}
    compared: list[tuple[str, Any, Any]] = [("the output", output, y)]
    compared += [(f"the derivative by {name!r}", own[name], found[name]) for name in sources]
    for name, ours, graphs in compared:
        expected: Any = graphs.numpy()
        apart = float(np.abs(to_numpy(ours) - expected).max(initial=0.0)) / max(
            1.0, float(np.abs(expected).max(initial=0.0))
        )
        if not apart <= FORMULA_TOLERANCE:
            raise broken(f"{name} is the formula's, to {FORMULA_TOLERANCE:g}", f"a difference of {apart:.1e}")


def purity(subject: Subject) -> None:
    """Backward gives equal results twice and changes nothing; no argument is written."""
    layer = subject.ready()
    for array in layer.to("cpu").parameters():  # read-only, if the device supports it
        array.flags.writeable = False
    layer.to(subject.device)
    inputs = subject.arrays()
    originals, parameters = copied(inputs), copied(layer.named_parameters())
    with unwritten():
        output = layer.forward(*inputs)
        next_grad = subject.next_grad(output)
        before = copied([_kept(layer), layer.state_dict(), next_grad])
        first = copied(layer.backward(next_grad))
        second = copied(layer.backward(next_grad))
    cure = "backward reads what forward kept, and gives a value"
    same("forward and backward leave their inputs as they are", originals, inputs, cure)
    same("forward and backward leave the parameters as they are", parameters, layer.named_parameters(), cure)
    same("backward gives the same twice", first, second, cure)
    same("backward changes nothing", before, copied([_kept(layer), layer.state_dict(), next_grad]), cure)


def batch(subject: Subject) -> None:
    """Outputs and derivatives have as many rows as the input: one row, unless the layer rejects it, and one more than
    drawn; checks off.
    """
    inputs = subject.arrays()
    slots = [parse(array_hints(hint)[0].dim_str)[0].source for hint in subject.hints]
    for more in (False, True):
        cut = [
            locked(_rows(to_numpy(x), more), subject.device) if x is not None and slot == slots[0] else x
            for slot, x in zip(slots, inputs, strict=True)
        ]
        rows = next(len(x) for x in cut if x is not None)
        layer = subject.ready()
        with checking("off"):
            try:
                output = layer.forward(*cut)
            except ShapeError:
                if more:
                    raise
                continue  # a single row has no variance, for example
            if tuple(output.shape)[:1] != (rows,):
                raise broken(f"{rows} rows in give {rows} rows out", f"an output of shape {tuple(output.shape)}")
            gradient = layer.backward(subject.next_grad(output))
        for name, x in zip(gradient.__inputs__, cut, strict=True):
            derivative = getattr(gradient, name)
            if derivative is not None and x is not None and tuple(derivative.shape) != tuple(x.shape):
                raise broken(f"the derivative by {name!r} has its shape {tuple(x.shape)}", str(tuple(derivative.shape)))


def precision(subject: Subject) -> None:
    """float32 gives float32 and float64 gives float64: outputs, derivatives and the results of `astype`."""
    for dtype in (np.float32, np.float64):
        layer = subject.ready(dtype)
        output, gradient = _run(layer, subject, dtype)
        inputs = {name: getattr(gradient, name) for name in gradient.__inputs__}
        for name, array in {
            "the output": output,
            **inputs,
            **layer.named_gradients(gradient),
            **layer.state_dict(),
        }.items():
            if array is not None and is_floating(array.dtype) and array.dtype != dtype:
                raise broken(f"{name} stays {np.dtype(dtype)}", str(array.dtype), "keep the dtype: Python floats do")


def state(subject: Subject) -> None:
    """The `state_dict` holds a layer's whole state: an instance that loads it behaves identically."""
    fresh = subject.fresh()
    shapes = fresh.parameter_shapes()
    count = fresh.num_parameters()
    empty = raises(NotInitialised, fresh.state_dict) and count > 0
    if empty and not raises(NotInitialised, fresh.to(subject.device).forward, *subject.arrays()):
        raise broken("a layer that was never filled raises NotInitialised", "an output")
    layer = subject.ready()
    actual = {name: tuple(array.shape) for name, array in layer.named_parameters().items()}
    if actual != shapes or sum(map(np.prod, actual.values())) != count:
        raise broken(f"parameters are as declared, {shapes}", str(actual))
    for seed in (1, 2):
        _run(layer, subject, seed=seed)  # training has now changed the state
    saved = copied(layer.state_dict())
    by_name, by_order, unfilled = subject.ready(seed=7), subject.ready(seed=8), subject.fresh().to(subject.device)
    by_name.load_state_dict(layer.state_dict())
    by_order.load_state_dict(list(layer.state_dict().values()))
    unfilled.load_state_dict(layer.state_dict())
    expected = _results(layer, subject)
    for how, other in (("by name", by_name), ("by order", by_order), ("into an empty one", unfilled)):
        same(f"load_state_dict {how} brings every array", saved, other.state_dict())
        cure = "hold what changes in a Parameter or a Buffer"
        same(f"an instance that was loaded {how} computes the same", expected, _results(other, subject), cure)


def evaluation(subject: Subject) -> None:
    """In eval, forward keeps and writes nothing. backward without a forward in training raises an error."""
    layer = subject.ready()
    inputs = subject.arrays()
    output = layer.forward(*inputs)
    next_grad = subject.next_grad(output)
    layer.free_cache()
    _not_forwarded(layer, next_grad, "after free_cache()")
    layer.eval()
    before = copied(layer.state_dict()), _attributes(layer)
    bases = [None if x is None else x[...] for x in inputs]
    alive: list[Any] = [weakref.ref(x) for x in bases if type(x) is np.ndarray]
    output = layer.forward(*bases)
    same("forward in eval changes no parameter and no buffer", before[0], layer.state_dict(), "ask self.training first")
    if _attributes(layer) != before[1] or any(module.__typednn_calls__.kept for _, module in layer.named_modules()):
        raise broken("forward in eval writes no attribute", "one that was written", "ask self.training first")
    del output, bases
    if any(reference() is not None for reference in alive):
        # what a circle of the layer's own objects holds; a collection takes seconds where there are many objects
        gc.collect()
    if any(reference() is not None for reference in alive):
        raise broken("forward in eval keeps nothing", "a reference to an input", "declare what backward needs as Kept")
    _not_forwarded(layer, next_grad, "in eval")


def update(subject: Subject) -> None:
    """Every parameter is stepped once, in the order of declaration, with its own derivative; the derivative is not
    written.
    """
    layer = subject.ready()
    gradient = _run(layer, subject)[1]
    before = copied(gradient)
    recorder = _Recorder()
    names = {id(array): name for name, array in layer.named_parameters().items()}
    expected = layer.named_gradients(gradient)
    layer.update(recorder, gradient)
    stepped = [names.get(id(weights), "an array that is no parameter") for weights, _ in recorder]
    if stepped != list(names.values()):
        raise broken(f"update steps {', '.join(names.values()) or 'nothing'}", ", ".join(stepped) or "no step")
    for name, (_, derivative) in zip(stepped, recorder, strict=True):
        same(f"{name!r} is stepped with its own derivative", expected[name], derivative)
    same("update leaves the gradient as it is", before, gradient)


def modes(subject: Subject) -> None:
    """Results are equal in the modes ``full``, ``cached`` and ``off``."""
    outcomes: dict[str, Any] = {}
    for mode in get_args(Mode):
        with checking(mode):
            layer = subject.ready()
            outcomes[mode] = [copied(_run(layer, subject)) for _ in range(2)]  # the second call uses cached verdicts
    for name, outcome in outcomes.items():
        same(f"checks {name!r} and 'full' compute the same", outcomes["full"], outcome)


def trace(subject: Subject) -> None:
    """The output's sizes that are computed from the annotations are those of the actual output."""
    layer = subject.ready()
    if isinstance(layer, MultiInput):
        return
    inputs = subject.arrays()
    output = tuple(layer.forward(*inputs).shape)
    for flow in (Flow.of(tuple(inputs[0].shape)), Flow.start(tuple(inputs[0].shape)[1:])):
        traced = layer.trace(flow).sizes()
        if traced is not None and tuple(traced) != output[1:]:
            raise broken(f"the output has the sizes that its annotation tells, {traced}", str(output[1:]))


def configured(subject: Subject) -> None:
    """A registered layer that is written to a config and read again is equal bit by bit: names, weights, outputs,
    derivatives.
    """
    layer: Any = subject.fresh()
    x = to_numpy(subject.arrays()[0])
    tokens = isinstance(layer, FirstLayer)
    if type(layer) not in LAYERS.values() or not 2 <= x.ndim <= (2 if tokens else 4):
        return
    sizes: Any = x.shape[1:]
    sample: Any = Input(*sizes, dtype=int) if tokens else Input(*sizes)
    alone: Any = FirstChain if tokens else Sequential
    model: Any = (
        layer if getattr(layer, "sample", None) else alone([layer], sample) if tokens else alone([layer], input=sample)
    )
    read = config.loads(config.dumps(model), name="round.toml").built()
    for built in (model, read):
        built.init(np.random.default_rng(5))
    if list(read.parameter_shapes()) != list(model.parameter_shapes()):
        raise broken(f"parameters are named {list(model.parameter_shapes())}", str(list(read.parameter_shapes())))
    cure = "give every constructor argument's value back to the config"
    same("one generator fills both with the same weights", model.state_dict(), read.state_dict(), cure)
    output = model.forward(x)
    rows = read.forward(x if tokens else x.reshape(len(x), -1))
    next_grad = subject.next_grad(output)
    gradient: Any = model.backward(next_grad)
    of_rows: Any = read.backward(next_grad.reshape(rows.shape))
    arrays: tuple[tuple[str, Any, Any], ...] = (
        ("output", output, rows),
        *([("derivative by the input", gradient.input, of_rows.input)] if not tokens else ()),
        *(
            (name, array, read.named_gradients(of_rows)[name])
            for name, array in model.named_gradients(gradient).items()
        ),
    )
    for what, original, loaded in arrays:
        if to_numpy(original).tobytes() != to_numpy(loaded).tobytes():
            raise broken(f"the layer from the config gives the same {what}", "another")


LAYER_LAWS: Final[Mapping[str, Callable[[Subject], None]]] = {
    "derivatives": derivatives,
    "formula": by_formula,
    "purity": purity,
    "batch": batch,
    "precision": precision,
    "state": state,
    "eval": evaluation,
    "update": update,
    "refusals": refusals.all_refused,
    "modes": modes,
    "trace": trace,
    "config": configured,
}


def check_layer(
    layer: Module | Callable[[], Module],
    *inputs: Any,
    laws: Iterable[str] | None = None,
    examples: int = 10,
    seed: int = 0,
    device: str = "cpu",
    vocab: int = 2,
    formula: Callable[..., Any] | None = None,
) -> None:
    """Check the laws of a layer or model at ``inputs``, each an array, a shape, or None; `LawBroken` if a law is
    broken.

    ``layer`` is an instance that has not run, or a function that builds one. The check runs a copy of it. Without
    ``inputs``, sizes are drawn from the annotations of forward, ``examples`` times. Integer inputs are drawn below
    ``vocab``. ``formula`` gives the output in operations of `typednn.graph`: of a tensor for each input, and one for
    each parameter by its name, with ``_`` for a dot. Then forward and backward must agree with it and its derivative.
    """
    prototype: object = layer if isinstance(layer, Module) else layer()
    if not isinstance(prototype, Module):
        raise ArgumentError(
            explain("check_layer", "takes a layer or a function that builds one", type(prototype).__name__), "layer"
        )
    chosen = chosen_laws(LAYER_LAWS, laws)
    if laws is not None and "formula" in chosen and formula is None:
        raise ArgumentError(
            explain("check_layer", "the law 'formula' needs a formula", "none", "pass formula="), "formula"
        )

    def at(laws: Sequence[str], inputs: tuple[Any, ...], seed: int) -> None:
        subject = Subject(prototype, inputs, seed, device, vocab, formula)
        check_laws(LAYER_LAWS, laws, subject.label, subject, f"repeat it with check_layer({subject.described()}")

    def fits(shapes: Shapes, seed: int) -> bool:
        return not refusals.refused_by_trace(prototype, shapes[0] or ())

    if inputs:
        _ = Subject(prototype, inputs).hints  # raises if the number of inputs is wrong
        at(chosen, inputs, seed)
    else:
        # Refusals depend on the annotations, not on sizes. Two examples suffice; they take as long as all other laws.
        contract: Any = contract_of(type(prototype), "forward")
        hints = contract.hints
        for part, times in (
            ([law for law in chosen if law != "refusals"], examples),
            ([law for law in chosen if law == "refusals"], 2),
        ):
            if part:
                with using("reference"):  # no kernels are compiled for sizes that occur once
                    for_drawn("check_layer", hints, prototype, fits, partial(at, part), times)


def layer_test(
    layer: Module | Callable[[], Module],
    *inputs: Any,
    laws: Iterable[str] | None = None,
    examples: int = 10,
    vocab: int = 2,
    formula: Callable[..., Any] | None = None,
) -> Callable[[], None]:
    """A test function for pytest: ``test_scale = layer_test(Scale(4))``. Arguments are those of `check_layer`."""
    return partial(check_layer, layer, *inputs, laws=laws, examples=examples, vocab=vocab, formula=formula)


# ------------------------------------------------------------------ shared by the laws


class _Recorder(list[tuple[Any, Any]]):
    """An optimizer that only records its steps."""

    def step(self, weights: Any, grad: Any) -> None:
        self.append((weights, grad))


def _run(layer: Any, subject: Subject, dtype: Any = np.float32, seed: int = 0) -> tuple[Any, Any]:
    output = layer.forward(*subject.arrays(dtype, seed))
    return output, layer.backward(subject.next_grad(output))


def _results(layer: Any, subject: Subject) -> list[dict[str, Any]]:
    """The results of two training forwards, because the first may change the layer, and of one in eval."""
    layer.train()
    results = [copied(_run(layer, subject)) for _ in range(2)]  # a gradient is read before the next forward
    results.append(copied([layer.eval().forward(*subject.arrays())]))
    layer.train()
    return results


def _rows(x: Any, more: bool) -> Any:
    """``x`` with one more row, or only its first row."""
    return np.concatenate([x, x[:1]]) if more else x[:1]


def _kept(layer: Module) -> dict[str, Any]:
    return {path: dict(module.__typednn_calls__.kept) for path, module in layer.named_modules()}


def _attributes(layer: Module) -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(module).items()} for _, module in layer.named_modules()]


def _not_forwarded(layer: Any, next_grad: Any, when: str) -> None:
    if not raises(NotForwarded, layer.backward, next_grad):
        raise broken(f"backward {when} raises NotForwarded", "a gradient", "declare what backward needs as Kept")
