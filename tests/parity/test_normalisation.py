"""Normalisation and dropout beside PyTorch's: outputs, gradients, running statistics, and ten steps of training."""

from typing import Any

import numpy as np
import pytest
from effort import LONG, expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn import Input
from typednn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    GroupNorm,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
)
from typednn.losses import SoftmaxCrossEntropy
from typednn.module.running_statistics import divided
from typednn.optim import SGD
from typednn.parallel import DataParallel

pytestmark = [pytest.mark.parity, pytest.mark.usefixtures("few_kernels")]

# The fixture `dtype` is the same for all examples of one test, as it should be.
compiling = settings(expensive if LONG else settings(), suppress_health_check=[HealthCheck.function_scoped_fixture])
sizes, seeds = st.integers(1, 6), st.integers(0, 2**32 - 1)


def random_layer(layer: Any, seed: int, dtype: Any) -> Any:
    """With parameters that are neither 1 nor 0."""
    rng = np.random.default_rng(seed)
    layer.init(rng).astype(dtype)
    for array in layer.parameters():
        array += rng.standard_normal(array.shape).astype(dtype)
    return layer


def numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def first(x: Any) -> Any:
    """Channels first, as PyTorch wants them, of images and of sequences."""
    return x.movedim(-1, 1)


def last(x: Any) -> Any:
    return x.movedim(1, -1)


@compiling
@given(batch=st.integers(3, 6), time=st.one_of(st.none(), sizes), features=sizes, affine=st.booleans(), seed=seeds)
def test_batch_norm1d(
    peer: Any, dtype: Any, batch: int, time: int | None, features: int, affine: bool, seed: int
) -> None:
    """Z-F3: with other arguments than PyTorch's defaults; then the running statistics, and eval."""
    layer = random_layer(BatchNorm1d(features, 2e-5, 0.2, affine), seed, dtype)
    theirs = peer.torch.nn.BatchNorm1d(features, 2e-5, 0.2, affine).to(peer.tensor(np.zeros(1, dtype)).dtype)
    compare(peer, layer, theirs, numbers(seed, (batch, *([] if time is None else [time]), features), dtype))


@compiling
@given(batch=sizes, height=st.integers(2, 5), width=st.integers(2, 5), channels=sizes, tracks=st.booleans(), seed=seeds)
def test_batch_norm2d(
    peer: Any, dtype: Any, batch: int, height: int, width: int, channels: int, tracks: bool, seed: int
) -> None:
    """Z-F3."""
    layer = random_layer(BatchNorm2d(channels, 1e-3, track_running_stats=tracks), seed, dtype)
    theirs = peer.torch.nn.BatchNorm2d(channels, 1e-3, track_running_stats=tracks).to(
        peer.tensor(np.zeros(1, dtype)).dtype
    )
    compare(peer, layer, theirs, numbers(seed, (batch, height, width, channels), dtype))


def compare(peer: Any, layer: Any, theirs: Any, x: Any) -> None:
    """Training, what it leaves, and eval. State goes from one to the other under its own names."""
    assert list(layer.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict(
        {name: peer.tensor(array).reshape(array.shape) for name, array in layer.state_dict().items()}
    )

    def formula(x: Any, **parameters: Any) -> Any:
        return last(peer.torch.func.functional_call(theirs, parameters, (first(x),)))

    peer.compare(layer, x, formula)
    for name, value in theirs.state_dict().items():
        ours = layer.state_dict()[name]
        assert ours.dtype == value.numpy().dtype
        np.testing.assert_allclose(
            ours, value.numpy(), rtol=20 * np.finfo(x.dtype).eps, atol=20 * np.finfo(x.dtype).eps
        )
    layer.load_state_dict({name: value.detach().numpy() for name, value in theirs.state_dict().items()})
    expected = last(theirs.eval()(first(peer.tensor(x)))).detach().numpy()
    found = layer.eval().forward(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=64 * np.finfo(x.dtype).eps * max(1, abs(expected).max()))


@compiling
@given(
    leading=st.lists(sizes, min_size=1, max_size=3),
    features=st.integers(2, 40),
    affine=st.booleans(),
    bias=st.booleans(),
    seed=seeds,
)
def test_layer_norm(
    peer: Any, dtype: Any, leading: list[int], features: int, affine: bool, bias: bool, seed: int
) -> None:
    """G-L3: eps 1e-5, the variance without Bessel's correction."""
    layer = random_layer(LayerNorm(features, 1e-3, affine, bias), seed, dtype)

    def formula(x: Any, weight: Any = None, bias: Any = None) -> Any:
        return peer.torch.nn.functional.layer_norm(x, (features,), weight, bias, 1e-3)

    x = numbers(seed, (*leading, features), dtype)
    if features == 2:
        # Mean and direction are all that two numbers have, so their derivative is what eps leaves of terms that cancel;
        # where the numbers are close, both engines lose the same 50 eps against long doubles. So they are kept apart.
        x += np.array([-3, 3], dtype) * np.where(x[..., :1] < x[..., 1:], 1, -1).astype(dtype)
    peer.compare(layer, x, formula)


@compiling
@given(
    leading=st.lists(sizes, min_size=1, max_size=3),
    features=st.integers(1, 40),
    eps=st.sampled_from([None, 1e-6]),
    seed=seeds,
)
def test_rms_norm(peer: Any, dtype: Any, leading: list[int], features: int, eps: float | None, seed: int) -> None:
    layer = random_layer(RMSNorm(features, eps), seed, dtype)
    # Away from 0, where one number alone divided by its own size has no derivative.
    x = numbers(seed, (*leading, features), dtype)
    x += np.where(x < 0, -0.3, 0.3).astype(dtype)
    peer.compare(layer, x, lambda x, weight: peer.torch.nn.functional.rms_norm(x, (features,), weight, eps))


@compiling
@given(batch=sizes, side=st.integers(2, 4), groups=st.integers(1, 3), each=sizes, affine=st.booleans(), seed=seeds)
def test_group_norm(
    peer: Any, dtype: Any, batch: int, side: int, groups: int, each: int, affine: bool, seed: int
) -> None:
    layer = random_layer(GroupNorm(groups, groups * each, 1e-3, affine), seed, dtype)

    def formula(x: Any, weight: Any = None, bias: Any = None) -> Any:
        return last(peer.torch.nn.functional.group_norm(first(x), groups, weight, bias, 1e-3))

    peer.compare(layer, numbers(seed, (batch, side, side + 1, groups * each), dtype), formula)


@pytest.mark.parametrize(
    "layer", [BatchNorm1d(3), LayerNorm(3), RMSNorm(3), GroupNorm(3, 6), LayerNorm(3, bias=False)], ids=repr
)
def test_initial_state_is_pytorchs(torch: Any, layer: Any) -> None:
    """Names, shapes and values."""
    arguments = {"GroupNorm": (3, 6)}.get(type(layer).__name__, (3,))
    options = {"bias": False} if repr(layer) == repr(LayerNorm(3, bias=False)) else {}
    theirs = getattr(torch.nn, type(layer).__name__)(*arguments, **options).state_dict()
    ours = layer.init(np.random.default_rng(0)).state_dict()
    assert list(ours) == list(theirs)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name].numpy())


@pytest.mark.parametrize("shards", [0, 2, 8])
def test_ten_steps_of_training(torch: Any, shards: int) -> None:
    """Z-F3: a network with batch and layer normalisation: losses, weights and running statistics, then eval. In shards,
    too, most of one row.
    """
    rng = np.random.default_rng(0)
    model = (
        Input(6, 6, 2) >> Conv2d(2, 4, 3) >> BatchNorm2d(4) >> ReLU() >> Flatten() >> Linear(64, 8) >> BatchNorm1d(8)
            >> ReLU()
        >> LayerNorm(8) >> Dropout(0.0) >> Linear(8, 3)
    ).init(rng)  # fmt: skip
    nn = torch.nn
    parts = (
        nn.Conv2d(2, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
    )
    theirs = nn.Sequential(*parts, nn.LayerNorm(8), nn.Dropout(0.0), nn.Linear(8, 3))
    order = np.arange(64).reshape(4, 4, 4).transpose(2, 0, 1).ravel()  # of the flattened columns, channels first

    def to_theirs(name: str, array: Any) -> Any:
        return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array[:, order] if name == "4.weight" else array

    start = {name: array for name, array in model.state_dict().items() if name != "8.seed"}
    theirs.load_state_dict(
        {
            name: torch.tensor(np.ascontiguousarray(to_theirs(name, array)).reshape(to_theirs(name, array).shape))
            for name, array in start.items()
        }
    )
    ours_step, theirs_step = SGD(0.1, momentum=0.9), torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9)
    loss, parallel = SoftmaxCrossEntropy(), DataParallel(shards or 1, sync_batchnorm=True)

    def compute(x: Any, labels: Any, weight: Any) -> Any:
        scores = model.forward(x)
        divided(len(x))
        value, derivative = loss.loss_and_grad(scores, labels)
        return model.backward(derivative), float(len(x)), float(value)

    for _ in range(10):
        x, labels = rng.standard_normal((9, 6, 6, 2)).astype(np.float32), rng.integers(0, 3, 9)
        computed = compute(x, labels, None) if not shards else parallel.computed(model, compute, x, labels, None)
        grad, _, value = computed
        model.update(ours_step, grad)
        theirs_step.zero_grad()
        expected = nn.functional.cross_entropy(theirs(torch.tensor(x).permute(0, 3, 1, 2)), torch.tensor(labels))
        expected.backward()
        theirs_step.step()
        assert value == pytest.approx(expected.item(), abs=2e-4)
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(to_theirs(name, model.state_dict()[name]), value.numpy(), atol=5e-3, err_msg=name)
    output = theirs.eval()(torch.tensor(x).permute(0, 3, 1, 2)).detach().numpy()
    np.testing.assert_allclose(model.eval().forward(x), output, atol=5e-3)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(torch: Any, p: float) -> None:
    """Z-F4: as many zeros, the same scale; the bits are another generator's."""
    x = np.ones((200, 300), np.float32)
    ours, theirs = Dropout(p, rng=np.random.default_rng(0)).forward(x), torch.nn.Dropout(p)(torch.tensor(x)).numpy()
    np.testing.assert_array_equal(np.unique(ours), np.unique(theirs))
    assert abs((ours == 0).mean() - (theirs == 0).mean()) < 0.02


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout2d(torch: Any, p: float) -> None:
    """Whole channels of an image, as many, the same scale."""
    x = np.ones((40, 2, 3, 500), np.float32)
    ours = Dropout2d(p, rng=np.random.default_rng(0)).forward(x)
    theirs = torch.nn.Dropout2d(p)(torch.tensor(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1).numpy()
    for y in (ours, theirs):
        np.testing.assert_array_equal(y, np.broadcast_to(y[:, :1, :1], y.shape))
    np.testing.assert_array_equal(np.unique(ours), np.unique(theirs))
    assert abs((ours == 0).mean() - (theirs == 0).mean()) < 0.03
