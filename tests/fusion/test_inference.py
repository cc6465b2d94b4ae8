"""A chain in eval: linear layers in a row as one kernel, whatever becomes of their parameters."""

import copy
import threading
from typing import Any

import numpy as np
import pytest
from effort import LONG

from tests.support.fused_twin import fused_twin
from typednn import Input, checking
from typednn.engines import available, counting, using
from typednn.errors import DTypeError, NotInitialised
from typednn.layers import LeakyReLU, Linear, PReLU, ReLU, Sigmoid, Softmax, Tanh
from typednn.optim import SGD

LAYERS = (ReLU(), LeakyReLU(0.1), LeakyReLU(0.0), LeakyReLU(-0.1), Sigmoid(), Tanh(), PReLU())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def control(*activations: Any, bias: bool = True) -> Any:
    first, second = activations or (ReLU(), ReLU())
    return Input(17) >> Linear(17, 25, bias=bias) >> first >> Linear(25, 30) >> second >> Linear(30, 6, bias=bias)


def samples(batch: int, seed: int = 1) -> Any:
    return rng(seed).standard_normal((batch, 17), dtype=np.float32)


def same(fused: Any, model: Any, batches: tuple[int, ...] = (1, 3, 9)) -> None:
    for batch in batches:
        x = samples(batch)
        np.testing.assert_allclose(fused.forward(x), model.forward(x), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not available(), reason="Halide is not installed")
def test_one_kernel() -> None:
    fused = control().init(rng())
    with counting() as trained:
        fused.forward(samples(1))
    fused.eval()
    with counting() as few:
        fused.forward(samples(1))
    with counting() as many:
        fused.forward(samples(9))
    assert dict(trained) == {("linear.forward", "halide"): 3}
    assert dict(few) == {("chain", "halide"): 1}
    assert dict(many) == dict(trained)


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_model(mode: Any, bias: bool) -> None:
    model = control(bias=bias).init(rng())
    fused = fused_twin(model).eval()
    with checking(mode):
        for _ in range(2):
            same(fused, model)


# Each at both places, beside two others; all pairs where much is wanted.
PAIRS = [
    (first, LAYERS[(place + more) % len(LAYERS)])
    for place, first in enumerate(LAYERS)
    for more in (range(7) if LONG else (1, 3))
]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=repr)
def test_every_activation(first: Any, second: Any) -> None:
    """In eval and in training, forward and backward; a falling LeakyReLU and PReLU run alone."""
    model = control(first, second.shared()).init(rng())
    fused = fused_twin(model)
    x = samples(5)
    next_grad = rng(2).standard_normal((5, 6), dtype=np.float32)
    np.testing.assert_allclose(fused.forward(x), model.forward(x), rtol=1e-4, atol=1e-5)
    right, grad = model.backward(next_grad), fused.backward(next_grad)
    for name, derivative in model.named_gradients(right).items():
        np.testing.assert_allclose(fused.named_gradients(grad)[name], derivative, rtol=1e-3, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(grad.input, right.input, rtol=1e-3, atol=1e-5)
    fused.eval()
    same(fused, model)


def test_parameters_that_change_and_arrays_that_are_replaced() -> None:
    model = control().init(rng())
    fused = fused_twin(model).eval()
    same(fused, model)
    model.forward(samples(9))
    model.update(SGD(0.1), model.backward(rng(3).standard_normal((9, 6), dtype=np.float32)))
    same(fused, model)
    model.load_state_dict({name: array - 1 for name, array in model.state_dict().items()})
    same(fused, model)
    model.init(rng(7))
    same(fused, model)
    model[0].weight = np.asfortranarray(rng(8).standard_normal((25, 17), dtype=np.float32))
    same(fused, model)
    model.astype(np.float64)
    doubled = fused_twin(model).eval()
    np.testing.assert_allclose(
        doubled.forward(samples(2).astype(np.float64)), model.forward(samples(2).astype(np.float64)), rtol=1e-12
    )
    fused.astype(np.float32)
    same(fused, fused_twin(model.astype(np.float32)))


def test_a_parameter_that_is_tied_after_a_call() -> None:
    fused = (Input(17) >> Linear(17, 17) >> ReLU() >> Linear(17, 17) >> Linear(17, 3)).init(rng()).eval()
    fused.forward(samples(1))
    fused[2].tie(fused[0], weight="weight")
    same(fused, fused.shared().fuse(False))


def test_a_slope_that_is_changed_after_a_call() -> None:
    fused = control(LeakyReLU(0.1), ReLU()).init(rng()).eval()
    fused.forward(samples(1))
    for slope in (0.9, -0.5):
        fused[1].negative_slope = slope
        same(fused, fused.shared().fuse(False))


def test_copies_and_twins() -> None:
    model = control().init(rng())
    fused = fused_twin(model).eval()
    x = samples(2)
    y = fused.forward(x)
    twin, apart = fused.shared(), copy.deepcopy(fused)
    model.load_state_dict({name: array * 2 for name, array in model.state_dict().items()})
    np.testing.assert_array_equal(twin.forward(x), fused.forward(x))
    assert not np.allclose(fused.forward(x), y)
    np.testing.assert_array_equal(apart.forward(x), y)


def test_without_parameters() -> None:
    model = control()
    fused = fused_twin(model).eval()
    with pytest.raises(NotInitialised, match=r"Linear\(17, 25\).weight"):
        fused.forward(samples(1))
    model.init(rng())
    same(fused, model)


def test_on_the_reference() -> None:
    model = control().init(rng())
    fused = fused_twin(model).eval()
    with using("reference"):
        same(fused, model)
    same(fused, model)


def test_wide_layers_and_other_parts_between() -> None:
    model: Any = (
        Input(17) >> Linear(17, 700) >> Tanh() >> Linear(700, 500) >> Softmax() >> Linear(500, 4) >> Sigmoid()
    ).init(rng())
    same(fused_twin(model).eval(), model)


def test_what_a_caller_holds_stays() -> None:
    fused = control().init(rng()).eval()
    held = [fused.forward(samples(1, seed)) for seed in range(40)]
    copies = [array.copy() for array in held]
    for seed in range(40, 60):
        fused.forward(samples(1, seed))
    for array, copied in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_one_model_serves_several_threads() -> None:
    fused = control().init(rng()).eval()
    inputs = [samples(1 + seed % 5, seed) for seed in range(12)]
    right = [fused.forward(x) for x in inputs]
    wrong: list[int] = []
    fresh = fused.shared()

    def work(start: int) -> None:
        for turn in range(400):
            place = (start + turn) % len(inputs)
            if not np.array_equal(fresh.forward(inputs[place]), right[place]):
                wrong.append(place)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert wrong == []


@pytest.mark.parametrize(("dtype", "other"), [(np.float64, np.float32), (np.float32, np.float64)])
@pytest.mark.parametrize("training", [True, False])
def test_another_dtype_after_astype_is_refused_at_any_call(dtype: Any, other: Any, training: bool) -> None:
    """Also of inputs whose kind and sizes were seen before."""
    fused = control().init(rng()).astype(dtype).train(training)
    x = samples(2).astype(dtype)
    for _ in range(2):
        fused.forward(x)
    fused.astype(other)
    with pytest.raises(DTypeError, match=f"x must have the model's dtype {np.dtype(other)}, got {np.dtype(dtype)}"):
        fused.forward(x)
