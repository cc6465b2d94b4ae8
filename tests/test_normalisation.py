"""What normalisation and dropout do beyond the laws of every layer: running statistics, masks and their generators,
chains, resuming.
"""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import typednn
from typednn import Input
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError, ShapeError, StackError
from typednn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    GroupNorm,
    LayerNorm,
    LeakyReLU,
    Linear,
    ReLU,
    RMSNorm,
)
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.runs import Run
from typednn.training import fit
from typednn.training.callbacks import Callback

X = np.random.default_rng(0).standard_normal((6, 5, 4, 3), dtype=np.float32) * 2 + 5


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# --------------------------------------------------------------------------------------------------- running statistics


def test_running_statistics_by_hand() -> None:
    """Z-F3: decay 0.9, the variance with m/(m - 1); eval uses them and changes nothing."""
    layer: BatchNorm2d = BatchNorm2d(3, eps=2e-5, momentum=0.1, rng=rng())
    mean, variance = np.zeros(3), np.ones(3)
    for factor in (1.0, 2.0):
        x = (X * factor).astype(np.float64)
        layer.forward(x.astype(np.float32))
        mean = 0.9 * mean + 0.1 * x.mean((0, 1, 2))
        variance = 0.9 * variance + 0.1 * x.var((0, 1, 2), ddof=1)
    np.testing.assert_allclose(layer.running_mean, mean, rtol=1e-6)
    np.testing.assert_allclose(layer.running_var, variance, rtol=1e-6)
    assert layer.num_batches_tracked.tolist() == 2
    before = {name: array.copy() for name, array in layer.state_dict().items()}
    np.testing.assert_allclose(layer.eval().forward(X), (X - mean) / np.sqrt(variance + 2e-5), rtol=1e-4, atol=1e-5)
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_statistics_are_no_parameters() -> None:
    layer: BatchNorm2d = BatchNorm2d(3)
    assert layer.num_parameters() == 6
    assert list(layer.init(rng()).state_dict()) == [
        "weight",
        "bias",
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]
    assert BatchNorm1d(3, affine=False, track_running_stats=False).num_parameters() == 0


def test_without_running_statistics_eval_normalises_by_its_batch() -> None:
    layer: BatchNorm2d = BatchNorm2d(3, track_running_stats=False, rng=rng())
    y = layer.forward(X)
    np.testing.assert_array_equal(layer.eval().forward(X), y)


@pytest.mark.parametrize(
    "layer",
    [LayerNorm(3, 1e-5), RMSNorm(3, 1e-5), GroupNorm(1, 3), BatchNorm2d(3)],
    ids=lambda layer: type(layer).__name__,
)
def test_float16_has_room_for_numbers_whose_squares_it_lacks(layer: Any) -> None:
    """Deviations of about 600: their squares are beyond float16's 65,504."""
    x, next_grad = (300 * X).astype(np.float16), np.random.default_rng(1).standard_normal(X.shape).astype(np.float16)
    y = layer.init(rng()).astype("float16").forward(x)
    dx = layer.backward(next_grad).input
    exact = layer.astype("float64").forward(x.astype(np.float64))
    assert (y.dtype, dx.dtype) == (np.float16, np.float16)
    np.testing.assert_allclose(y, exact, rtol=4e-3, atol=4e-3)
    exact_dx = layer.backward(next_grad.astype(np.float64)).input
    np.testing.assert_allclose(dx, exact_dx, rtol=0, atol=4e-3 * abs(exact_dx).max())


def test_one_number_in_a_channel_is_refused() -> None:
    model = (Linear(3, 4) >> BatchNorm1d(4) >> ReLU()).init(rng())
    one = np.ones((1, 3), np.float32)
    with pytest.raises(
        ShapeError,
        match=r"at least two numbers for each channel, got shape \(1, 4\); use a larger batch, or call eval\(\)",
    ):
        model.forward(one)
    assert model.eval().forward(one).shape == (1, 4)
    images: BatchNorm2d = BatchNorm2d(3, rng=rng())
    assert np.isfinite(images.forward(X[:1])).all()  # one image has many pixels


# -------------------------------------------------------------------------------------------------- arguments and sizes


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: BatchNorm2d(0), "BatchNorm2d: num_features must be an integer of at least 1, got 0"),
        (
            lambda: BatchNorm1d(3, momentum=1.5),
            "BatchNorm1d: momentum must be a finite number with 0 <= momentum <= 1, got 1.5",
        ),
        (lambda: BatchNorm1d(3, eps=-1), "BatchNorm1d: eps must be a finite number with 0 <= eps < inf, got -1"),
        (lambda: LayerNorm(2.0), "LayerNorm: normalized_shape must be an integer of at least 1, got 2.0"),  # type: ignore[arg-type]
        (lambda: RMSNorm((3, 4)), r"RMSNorm: normalized_shape must be an integer of at least 1, got \(3, 4\)"),  # type: ignore[arg-type]
        (lambda: GroupNorm(2, 5), "GroupNorm: num_groups must divide num_channels, got num_groups=2, num_channels=5"),
        (lambda: Dropout(1.5), "Dropout: p must be a finite number with 0 <= p <= 1, got 1.5"),
        (lambda: Dropout2d(float("nan")), "Dropout2d: p must be a finite number with 0 <= p <= 1, got nan"),
    ],
)
def test_arguments(build: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build()


def test_sizes_are_followed() -> None:
    """Where stacked, before any arithmetic."""
    with pytest.raises(StackError, match=r"BatchNorm2d\(8\) cannot follow .*Conv2d\(3, 6, 3\).*expects 8 .*gets 6"):
        Input(8, 8, 3) >> Conv2d(3, 6, 3) >> BatchNorm2d(8)
    with pytest.raises(StackError, match=r"LayerNorm\(5\) cannot follow .*expects normalized_shape to be 5, gets 4"):
        Input(7, 4) >> LayerNorm(5)
    with pytest.raises(StackError, match="BatchNorm1d"):
        Input(8, 8, 3) >> BatchNorm1d(3)


# ---------------------------------------------------------------------------------------------------- dropout


def test_nothing_is_dropped_in_eval() -> None:
    """Z-F4: the same array."""
    for layer in (Dropout(0.5, rng=rng()), Dropout2d(0.5, rng=rng())):
        assert layer.eval().forward(X) is X
        assert layer.seed[1] == 0


def test_each_forward_and_each_layer_has_a_mask_of_its_own() -> None:
    model = (Dropout(0.5) >> Dropout(0.5)).init(rng())
    first, second = model.parts
    masks = [first.forward(X) != 0, first.forward(X) != 0, second.forward(X) != 0]
    for place, one in enumerate(masks):
        for other in masks[:place]:
            assert 0.3 < (one == other).mean() < 0.7


def test_backward_has_the_mask_of_its_forward() -> None:
    for layer in (Dropout(0.3, rng=rng()), Dropout2d(0.3, rng=rng())):
        layer.forward(X)
        y, ones = layer.forward(X), np.ones_like(X)
        np.testing.assert_allclose(layer.backward(ones).input * X, y, rtol=1e-6)


def test_copies_go_on_alike_and_shared_layers_do_not() -> None:
    layer = Dropout(0.5, rng=rng())
    twin, shared = copy.deepcopy(layer), layer.shared()
    y = layer.forward(X)
    np.testing.assert_array_equal(twin.forward(X), y)
    assert (shared.forward(X) != y).any()
    assert (layer.seed.tolist(), twin.seed[1]) == (shared.seed.tolist(), 1)


# ---------------------------------------------------------------------------------------------------- chains


CHAINS = {
    "images": lambda: (
        Input(5, 4, 3) >> BatchNorm2d(3) >> ReLU() >> Conv2d(3, 2, 2) >> BatchNorm2d(2) >> LeakyReLU(0.1) >> Flatten()
    ),
    "no parameters": lambda: BatchNorm2d(3, affine=False) >> ReLU(),
    "no statistics": lambda: BatchNorm2d(3, track_running_stats=False) >> ReLU(),
    "neither": lambda: BatchNorm2d(3, affine=False, track_running_stats=False) >> ReLU(),
    "rows": lambda: Input(5, 4, 3) >> Flatten() >> Linear(60, 4) >> BatchNorm1d(4) >> ReLU() >> Linear(4, 2),
}


@pytest.mark.parametrize("build", CHAINS.values(), ids=CHAINS)
def test_a_plan_computes_them_as_one_op(build: Any) -> None:
    """With the bits of each layer alone: outputs, gradients, running statistics."""
    planned = build().init(rng())
    alone = copy.deepcopy(planned)
    compiled: Any = typednn.compile(planned)
    for _ in range(5):
        y, expected = compiled.forward(X), alone.forward(X)
        np.testing.assert_array_equal(y, expected)
        next_grad = np.random.default_rng(1).standard_normal(y.shape).astype(np.float32)
        grad, by_part = compiled.backward(next_grad), alone.backward(next_grad)
        for one, other in zip(planned.gradients(grad), alone.gradients(by_part), strict=True):
            np.testing.assert_array_equal(one, other)
        for name, array in planned.state_dict().items():
            np.testing.assert_array_equal(array, alone.state_dict()[name])
    found = {line.name for line in compiled.explain(times=1).lines}
    assert not any("relu" in name for name in found)


# ---------------------------------------------------------------------------------------------------- resuming


class Ending(Callback):
    """Ends the training at a step."""

    def on_step(self, step: Any) -> str | None:
        return "enough" if step.step == 9 else None


def test_a_resumed_training_draws_the_same_masks(tmp_path: Path) -> None:
    """State, masks and running statistics are those of a training that nothing interrupted, bit for bit."""
    x = X.reshape(30, 12)
    y = (x[:, 0] > x[:, 1]).astype(np.int64)

    def trained(folder: Path, *callbacks: Callback) -> Any:
        model = (
            Input(12) >> Linear(12, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.3) >> LayerNorm(8) >> Linear(8, 2)
        ).init(PCG32(0))
        loader = Loader(x, y, batch_size=8, rng=PCG32(1))
        with Run.open(folder) if folder.exists() else Run.create(folder, "", model) as run:
            fit(model, SoftmaxCrossEntropy(), SGD(0.1), loader, epochs=4, run=run, callbacks=callbacks, progress=False)
        return model

    ended = trained(tmp_path / "run", Ending())
    assert ended[3].seed[1] == 9
    resumed, undisturbed = trained(tmp_path / "run"), trained(tmp_path / "other")
    assert resumed[3].seed[1] == 16
    for name, array in undisturbed.state_dict().items():
        assert resumed.state_dict()[name].tobytes() == array.tobytes(), name


# ---------------------------------------------------------------------------------------------------- eps


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("eps", [1e-5, 1e-12])
@pytest.mark.parametrize("build", [BatchNorm1d, BatchNorm2d, LayerNorm, RMSNorm, lambda n, eps: GroupNorm(1, n, eps)])
def test_inputs_without_spread_are_divided_by_eps(build: Any, eps: float, dtype: Any, engine: Any) -> None:
    """h = 0 and dx = (dy - mean of dy)·weight/√eps, or what the dtype makes of it; never NaN, in
    training and in eval.
    """
    shape = (2, 2, 2, 4) if build is BatchNorm2d or build.__name__ == "<lambda>" else (8, 4)
    with using(engine):
        layer = build(4, eps=eps).init(rng()).astype(dtype)
        x = np.zeros(shape, dtype)
        np.testing.assert_array_equal(layer.forward(x), np.zeros_like(x))
        gradient = layer.backward(np.zeros(shape, dtype))
        for derivative in (gradient.input, *gradient.leaves().values()):
            np.testing.assert_array_equal(derivative, np.zeros_like(derivative))
        small = np.full(shape, 1e-3, dtype)
        # dy has no spread either; RMSNorm does not look at it
        expected = 1e-3 / np.sqrt(eps) if build is RMSNorm else 0.0
        with np.errstate(over="ignore"):
            expected = np.full(shape, expected).astype(dtype)
        layer.forward(x)
        with np.errstate(over="ignore"):
            found = layer.backward(small).input
        rounding = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(found, expected, rtol=4 * rounding, atol=rounding * 1e-3 / np.sqrt(eps))
        if hasattr(layer, "running_var"):
            layer.running_var = np.zeros(4, dtype)
            layer.running_mean = np.zeros(4, dtype)
        np.testing.assert_array_equal(layer.eval().forward(x), np.zeros_like(x))
