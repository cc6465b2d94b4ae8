"""What a layer holds, and everything that follows from walking it, for every layer."""

import copy
import dataclasses
import gc
import re
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from two_calls import Twice

from tests.layer_cases import LayerCase
from typednn import Gradient
from typednn.backends import to_numpy
from typednn.errors import CheckError, LayerReused, NotForwarded, NotInitialised, StateDictError
from typednn.layers import BatchNorm1d, LayerNorm, Linear, Residual
from typednn.optim import clip_grad_norm
from typednn.testing import LAYER_LAWS
from typednn.testing.subject import bits, values


def test_update_steps_each_parameter_once_in_order(case: LayerCase, device: str) -> None:
    """P-P5, P-P6, G-D1: one step per parameter, in the order of declaration, paired with its gradient."""
    LAYER_LAWS["update"](case.subject(device))


def test_parameters_are_references(case: LayerCase) -> None:
    """G-D4: writing into a listed parameter changes the layer."""
    subject = case.subject()
    layer = subject.ready()
    if not layer.parameters():
        return
    before = bits(layer.forward(*subject.arrays()))
    for array in layer.parameters():
        array *= -2.0
    assert bits(layer.eval().forward(*subject.arrays())) != before


def test_a_huge_layer_is_counted_at_once() -> None:
    tracemalloc.start()
    layer = Linear(10**6, 10**6)
    assert layer.num_parameters() == 10**12 + 10**6
    assert "1,000,001,000,000" in str(layer)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_state_round_trip(case: LayerCase, device: str) -> None:
    """G-D7, G-D8, Z-D6: as declared; by name and by order, state moves to another instance, which goes on alike."""
    LAYER_LAWS["state"](case.subject(device))


def test_nested_layers_are_listed_in_the_order_of_their_parts() -> None:
    """G-D8: by the order of the constructor and of `>>`, a part's own arrays before those of its parts."""
    inner = LayerNorm(3) >> Linear(3, 5) >> BatchNorm1d(5) >> Linear(5, 3, bias=False)
    model = (Linear(2, 3) >> Residual(inner) >> Linear(3, 1)).init(np.random.default_rng(0))
    first, second, last = ["0.weight", "0.bias"], ["0.weight", "0.bias", "1.weight", "1.bias"], ["2.weight", "2.bias"]
    norm = [f"2.{name}" for name in ("weight", "bias")]
    assert list(model.named_parameters()) == [
        *first,
        *(f"1.inner.{name}" for name in (*second, *norm, "3.weight")),
        *last,
    ]
    assert [array.shape for array in model.parameters()] == [
        *((3, 2), (3,), (3,), (3,), (5, 3), (5,), (5,), (5,), (3, 5), (1, 3), (1,))
    ]


def test_a_loaded_state_is_a_copy(case: LayerCase) -> None:
    """G-D7: what is done to the arrays afterwards changes no layer, whether it had weights before or not."""
    subject = case.subject()
    for layer in (subject.ready(), subject.fresh()):
        state = {name: np.array(array) for name, array in subject.ready().state_dict().items()}
        layer.load_state_dict(state)
        before = bits(tuple(layer.state_dict().values()))
        for array in state.values():
            array += 1
        assert bits(tuple(layer.state_dict().values())) == before


def test_state_that_does_not_fit_changes_nothing(case: LayerCase) -> None:
    """G-D7, G-D8, G-L15: every misfit is named (by index from a list), with both shapes, and the layer is as before."""
    layer = case.subject().ready()
    names = list(layer.state_dict())
    if not names:
        with pytest.raises(StateDictError, match="unexpected 'x'"):
            layer.load_state_dict({"x": np.zeros(1, np.float32)})
        return
    before = bits(tuple(layer.parameters()))
    good = {name: np.asarray(array + 1) for name, array in layer.state_dict().items()}
    last = names[-1]
    with pytest.raises(StateDictError, match=f"missing '{last}'"):
        layer.load_state_dict({name: good[name] for name in names[:-1]})
    with pytest.raises(
        StateDictError, match=rf"'{last}' has shape \(7,\), the model {re.escape(str(good[last].shape))}"
    ):
        layer.load_state_dict(good | {last: np.zeros(7, np.float32)})
    with pytest.raises(StateDictError, match=f"is float64, the model {good[last].dtype}"):
        layer.load_state_dict(good | {last: good[last].astype(np.float64)})
    with pytest.raises(StateDictError, match="is a list, not an array"):
        layer.load_state_dict(good | {last: [1.0]})
    with pytest.raises(StateDictError, match=rf"\[{len(names) - 1}\] '{last}' has shape"):
        layer.load_state_dict([*list(good.values())[:-1], np.zeros((9, 9, 9), np.float32)])
    with pytest.raises(StateDictError, match=f"expects {len(names)} arrays, got {len(names) + 1}"):
        layer.load_state_dict([*good.values(), np.zeros(1, np.float32)])
    assert bits(tuple(layer.parameters())) == before


def test_device_round_trip(case: LayerCase) -> None:
    import strict_array

    strict_array.register()
    layer = case.subject().ready()
    before, names = bits(tuple(layer.parameters())), list(layer.named_parameters())
    layer.to("strict")
    assert all(type(array) is strict_array.StrictArray for array in layer.parameters())
    layer.to("cpu")
    assert (bits(tuple(layer.parameters())), list(layer.named_parameters())) == (before, names)


def test_eval_keeps_nothing(case: LayerCase, device: str) -> None:
    """P-P2: forward in eval writes and keeps nothing; after it, and after free_cache, backward says what is missing."""
    LAYER_LAWS["eval"](case.subject(device))


def test_backward_needs_forward(case: LayerCase) -> None:
    """P-P2: before forward, after free_cache and in eval, backward says what is missing."""
    subject = case.subject()
    layer = subject.ready()
    y = subject.ready().forward(*subject.arrays())
    with pytest.raises(NotForwarded, match="call forward first"):
        layer.backward(y)
    layer.eval().forward(*subject.arrays())
    with pytest.raises(NotForwarded, match=r"call train\(\) before forward"):
        layer.backward(y)


def still_alive(references: list[weakref.ref[Any]]) -> int:
    """How many of the objects there still are. Circles are collected only where that may matter: it takes seconds among
    many objects.
    """
    if any(reference() is not None for reference in references):
        gc.collect()
    return sum(reference() is not None for reference in references)


def test_free_cache_lets_the_input_go(case: LayerCase) -> None:
    """G-D2, G-D3, G-D5: what forward keeps is kept by reference; free_cache drops all of it, twice without harm."""
    subject = case.subject()
    layer = subject.ready()
    inputs = [None if x is None else x[...] for x in subject.arrays()]
    alive = [weakref.ref(x) for x in inputs if x is not None]
    layer.forward(*inputs)
    parameters = bits(tuple(layer.parameters()))
    del inputs
    layer.free_cache()
    layer.free_cache()
    assert still_alive(alive) == 0
    assert all(
        not module.__typednn_calls__.kept and module.__typednn_calls__.record is None
        for _, module in layer.named_modules()
    )
    assert bits(tuple(layer.parameters())) == parameters


def test_close_lets_everything_go(case: LayerCase) -> None:
    """G-D6: parameters, buffers and what was kept, of every part; twice without harm, and before any of it is there;
    init begins anew.
    """
    subject = case.subject()
    layer = subject.ready()
    case.subject().fresh().close()
    inputs = [None if x is None else x[...] for x in subject.arrays()]
    state = layer.state_dict()
    alive = [weakref.ref(array) for array in (*state.values(), *inputs) if array is not None]
    saved = {name: np.array(to_numpy(array)) for name, array in state.items()}  # dropout draws from a buffer
    before = bits(layer.forward(*inputs))
    del state, inputs
    layer.close()
    layer.close()
    assert still_alive(alive) == 0
    if saved:
        with pytest.raises(NotInitialised):
            layer.forward(*subject.arrays())
        layer.init(np.random.default_rng(1))
    layer.load_state_dict(saved)
    assert bits(layer.forward(*subject.arrays())) == before


def test_the_input_is_kept_by_reference() -> None:
    """G-D2: no copy of the input is made."""
    layer = Linear(300, 2).init(np.random.default_rng(0))
    x = values((2000, 300), dtype=np.float32)
    layer.forward(x)
    assert layer.__typednn_calls__.kept["_x"] is x


def test_forward_needs_init(case: LayerCase) -> None:
    subject = case.subject()
    layer = subject.fresh()
    if layer.num_parameters():
        with pytest.raises(NotInitialised, match=r"call model\.init\(rng\)"):
            layer.forward(*subject.arrays())
    layer.init(np.random.default_rng(0)).forward(*subject.arrays())


def test_a_layer_holds_one_forward(case: LayerCase) -> None:
    """Called twice within one outer forward: LayerReused; a shared() twin computes the same and sums its gradients."""
    subject = case.subject()
    if not case.stackable:
        return  # the model that calls it twice has one input for each
    layer = subject.ready()
    (x, *_), (z, *_) = subject.arrays(seed=1), subject.arrays(seed=2)
    with pytest.raises(LayerReused, match=r'layer "first": .* use a second instance, or layer\.shared\(\)'):
        Twice(layer, layer)(x, z)
    twin = layer.shared()
    model = Twice(layer, twin)
    for _ in range(3):  # a verdict that is known
        total = model(x, z)
    gradient = model.backward(total * 0 + 1)
    alone = copy.deepcopy(layer)
    parts = []
    for point in (x, z):
        y = alone.forward(point)
        parts.append(alone.named_gradients(alone.backward(y * 0 + 1)))
    assert list(model.named_parameters()) == [f"first.{name}" for name in layer.named_parameters()]
    for name, summed in model.named_gradients(gradient).items():
        short = name.removeprefix("first.")
        np.testing.assert_array_equal(summed, parts[0][short] + parts[1][short])
    for wrong in (values((3, 3), 1, np.float32)[:, :, None, None, None], [1.0]):
        with pytest.raises(CheckError):
            model(x, wrong)  # right after a hit
    model.eval()(x, z)  # in eval nothing is held, so nothing can be overwritten
    Twice(layer.eval(), layer)(x, z)


def test_sharing_survives_astype_to_and_load(case: LayerCase) -> None:
    import strict_array

    strict_array.register()
    layer = case.layer()
    twin = layer.shared()
    layer.init(np.random.default_rng(0)).astype(np.float64).to("strict").to("cpu")
    layer.load_state_dict({name: np.asarray(array * 2) for name, array in layer.state_dict().items()})
    assert all(mine is theirs for mine, theirs in zip(layer.parameters(), twin.parameters(), strict=True))
    assert bits(tuple(map(to_numpy, layer.parameters()))) == bits(tuple(map(to_numpy, twin.parameters())))


def test_a_gradient_is_a_value(case: LayerCase) -> None:
    """A frozen dataclass; sum, multiple, map and norm concern the parameters, at any depth."""
    subject = case.subject()
    layer = subject.ready()
    gradient = layer.backward(subject.next_grad(layer.forward(*subject.arrays())))
    assert isinstance(gradient, Gradient)
    for field in dataclasses.fields(gradient):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(gradient, field.name, None)
    leaves = gradient.leaves()
    assert len(leaves) == len(layer.parameters())
    before = bits(gradient)
    doubled = (gradient + gradient).leaves()
    for name, leaf in (gradient * 2.0).leaves().items():
        np.testing.assert_array_equal(leaf, doubled[name])
        np.testing.assert_array_equal(leaf, 2 * leaves[name])
    squares = sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in leaves.values())
    assert gradient.norm() == pytest.approx(squares**0.5, rel=1e-12)
    for name in gradient.__inputs__:
        assert getattr(gradient * 0.5, name) is getattr(gradient, name)
    clip_grad_norm(gradient, 0.01)
    gradient.map(lambda leaf: leaf * 2)
    assert bits(gradient) == before
