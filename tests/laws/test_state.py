"""What a layer holds, and everything that follows from walking it, for every layer."""

import copy
import gc
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from law_tools import bits, locked, ready, values
from two_calls import Twice

from tests.layer_cases import LayerCase
from typednn.backends import to_numpy
from typednn.errors import CheckError, LayerReused, NotForwarded, NotInitialised, StateDictError
from typednn.gradients import Gradient
from typednn.layers import Linear
from typednn.module import Module
from typednn.optim import GradientOptimizer


class Counting(GradientOptimizer):
    """An optimizer that only notes what it was asked to step."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.seen: list[tuple[Any, Any]] = []

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        self.seen.append((state.weights, grad))


def stepped(layer: Module, shape: tuple[int, ...], device: str = "cpu") -> Any:
    y = layer.forward(locked(values(shape, dtype=np.float32), device))
    return layer.backward(locked(values(y.shape, 5, np.float32), device))


def test_update_steps_each_parameter_once_in_order(case: LayerCase, device: str) -> None:
    """P-P5, P-P6, G-D1: one step per parameter, in the order of declaration, paired with its gradient."""
    layer, shape = case.example()
    ready(layer, device)
    gradient = stepped(layer, shape, device)
    optimizer = Counting()
    layer.update(optimizer, gradient)
    assert len(optimizer.seen) == len(layer.parameters())
    for (weights, derivative), parameter, expected in zip(optimizer.seen, layer.parameters(), layer.gradients(gradient), strict=True):
        assert weights is parameter
        assert bits(derivative) == bits(expected)
        assert weights.shape == derivative.shape


def test_parameters_are_references(case: LayerCase) -> None:
    """G-D4: writing into a listed parameter changes the layer."""
    layer, shape = case.example()
    ready(layer)
    if not layer.parameters():
        return
    before = bits(layer.forward(values(shape, dtype=np.float32)))
    for array in layer.parameters():
        array *= -2.0
    assert bits(layer.eval().forward(values(shape, dtype=np.float32))) != before


def test_counts_without_allocating(case: LayerCase) -> None:
    """Z-D6: names, shapes and counts come from declarations; the arrays agree once they exist."""
    layer, _ = case.example()
    shapes, count = layer.parameter_shapes(), layer.num_parameters()
    ready(layer)
    assert {name: array.shape for name, array in layer.named_parameters().items()} == shapes
    assert sum(array.size for array in layer.parameters()) == count


def test_a_huge_layer_is_counted_at_once() -> None:
    tracemalloc.start()
    layer = Linear(10**6, 10**6)
    assert layer.num_parameters() == 10**12 + 10**6
    assert "1,000,001,000,000" in str(layer)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_state_round_trip(case: LayerCase, device: str) -> None:
    """G-D7, G-D8: by name and by order, state moves to another instance, by copy."""
    layer, shape = case.example()
    ready(layer, device)
    by_name, by_order = (ready(case.example()[0], device, seed=2) for _ in range(2))
    by_name.load_state_dict(layer.state_dict())
    by_order.load_state_dict(list(layer.state_dict().values()))
    for other in (by_name, by_order):
        assert bits(tuple(other.parameters())) == bits(tuple(layer.parameters()))
        assert all(mine is not theirs for mine, theirs in zip(other.parameters(), layer.parameters(), strict=True))
    fresh = case.example()[0].to(device)
    fresh.load_state_dict(layer.state_dict())
    x = locked(values(shape, dtype=np.float32), device)
    assert bits(fresh.forward(x)) == bits(layer.forward(x))


def test_state_that_does_not_fit_changes_nothing(case: LayerCase) -> None:
    """G-D7, G-D8: every misfit is named (by index from a list), and the layer is as before."""
    layer, _ = case.example()
    ready(layer)
    names = list(layer.state_dict())
    if not names:
        with pytest.raises(StateDictError, match="unexpected 'x'"):
            layer.load_state_dict({"x": np.zeros(1, np.float32)})
        return
    before = bits(tuple(layer.parameters()))
    good = {name: array + 1 for name, array in layer.state_dict().items()}
    last = names[-1]
    with pytest.raises(StateDictError, match=f"missing '{last}'"):
        layer.load_state_dict({name: good[name] for name in names[:-1]})
    with pytest.raises(StateDictError, match=r"has shape \(7,\), the model"):
        layer.load_state_dict(good | {last: np.zeros(7, np.float32)})
    with pytest.raises(StateDictError, match="is float64, the model float32"):
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
    layer, _ = case.example()
    ready(layer)
    before, names = bits(tuple(layer.parameters())), list(layer.named_parameters())
    layer.to("strict")
    assert all(type(array) is strict_array.StrictArray for array in layer.parameters())
    layer.to("cpu")
    assert (bits(tuple(layer.parameters())), list(layer.named_parameters())) == (before, names)


def test_backward_needs_forward(case: LayerCase) -> None:
    """P-P2: before forward, after free_cache and in eval, backward says what is missing."""
    layer, shape = case.example()
    ready(layer)
    x = values(shape, dtype=np.float32)
    with pytest.raises(NotForwarded, match="call forward first"):
        layer.backward(x)
    y = layer.forward(x)
    layer.backward(y)
    layer.free_cache()
    with pytest.raises(NotForwarded, match="call forward first"):
        layer.backward(y)
    layer.eval().forward(x)
    with pytest.raises(NotForwarded, match=r"call train\(\) before forward"):
        layer.backward(y)
    layer.train().forward(x)
    layer.backward(y)


def test_free_cache_lets_the_input_go(case: LayerCase) -> None:
    """G-D2, G-D3, G-D5: what forward keeps is kept by reference; free_cache drops all of it, twice without harm."""
    layer, shape = case.example()
    ready(layer)
    base = values(shape, dtype=np.float32)
    x = base[...]
    alive = weakref.ref(x)
    layer.forward(x)
    parameters = bits(tuple(layer.parameters()))
    del x
    layer.free_cache()
    layer.free_cache()
    gc.collect()
    assert alive() is None
    assert all(not module._kept and module._record is None for _, module in layer.named_modules())
    assert bits(tuple(layer.parameters())) == parameters


def test_the_input_is_kept_by_reference() -> None:
    """G-D2: no copy of the input is made."""
    layer = ready(Linear(300, 2))
    x = values((2000, 300), dtype=np.float32)
    layer.forward(x)
    assert layer._kept["_x"] is x


def test_eval_writes_nothing(case: LayerCase) -> None:
    """A forward in eval leaves every attribute as it was."""
    layer, shape = case.example()
    ready(layer).eval()
    before = [{name: id(value) for name, value in vars(module).items()} for _, module in layer.named_modules()]
    layer.forward(values(shape, dtype=np.float32))
    assert [{name: id(value) for name, value in vars(module).items()} for _, module in layer.named_modules()] == before
    assert all(not module._kept for _, module in layer.named_modules())


def test_forward_needs_init(case: LayerCase) -> None:
    layer, shape = case.example()
    if layer.num_parameters():
        with pytest.raises(NotInitialised, match=r"call model\.init\(rng\)"):
            layer.forward(values(shape, dtype=np.float32))
    layer.init(np.random.default_rng(0)).forward(values(shape, dtype=np.float32))


def test_a_layer_holds_one_forward(case: LayerCase) -> None:
    """Called twice within one outer forward: LayerReused; a shared() twin computes the same and sums its gradients."""
    layer, shape = case.example()
    ready(layer)
    x, z = values(shape, 1, np.float32), values(shape, 2, np.float32)
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
    layer, _ = case.example()
    twin = layer.shared()
    ready(layer).astype(np.float64).to("strict").to("cpu")
    layer.load_state_dict({name: array * 2 for name, array in layer.state_dict().items()})
    assert all(mine is theirs for mine, theirs in zip(layer.parameters(), twin.parameters(), strict=True))
    assert bits(tuple(map(to_numpy, layer.parameters()))) == bits(tuple(map(to_numpy, twin.parameters())))


def test_a_gradient_is_a_value(case: LayerCase) -> None:
    """Sum, multiple, map and norm concern the parameters, at any depth."""
    layer, shape = case.example()
    ready(layer)
    gradient = stepped(layer, shape)
    assert isinstance(gradient, Gradient)
    leaves = gradient.leaves()
    assert len(leaves) == len(layer.parameters())
    doubled = (gradient + gradient).leaves()
    for name, leaf in (gradient * 2.0).leaves().items():
        np.testing.assert_array_equal(leaf, doubled[name])
        np.testing.assert_array_equal(leaf, 2 * leaves[name])
    squares = sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in leaves.values())
    assert gradient.norm() == pytest.approx(squares**0.5, rel=1e-12)
    assert (gradient * 0.5).input is gradient.input
