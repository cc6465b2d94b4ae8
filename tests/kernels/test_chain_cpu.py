"""Convolutions and affine maps in a row as one kernel, against the maps one after another in more digits."""

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import floats, on_every_target, same_on_all_threads, widened
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import available, counting, using
from typednn.errors import ShapeError
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.chain import Layout, Map, _kernel, chain
from typednn.kernels.conv2d import Window
from typednn.kernels.conv2d import reference as conv2d
from typednn.kernels.linear import reference as linear
from typednn.kernels.linear.cpu import FEW_ROWS

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

ACTIVATIONS = [IDENTITY, RELU, Activation("leaky_relu", 0.1), Activation("sigmoid"), Activation("tanh")]
POOLING = ((2, 2), (2, 2), (1, 1))


def affine(features: tuple[int, ...], biased: tuple[bool, ...], activations: Any) -> Layout:
    shapes = zip(features[1:], features, strict=False)
    return Layout(tuple(Map(shape, *rest) for shape, *rest in zip(shapes, biased, activations, strict=True)))


CONTROL = affine((17, 256, 256, 6), (True,) * 3, (RELU, RELU, IDENTITY))
LENET5 = Layout(
    (
        Map((6, 5, 5, 1), False, RELU, Window(padding=(2, 2, 2, 2), pooling=POOLING)),
        Map((16, 5, 5, 6), False, RELU, Window(pooling=POOLING)),
        *affine((400, 120, 84, 10), (True,) * 3, (RELU, RELU, IDENTITY)).maps,
    )
)
IMAGES = 28, 28, 1


def case(
    batch: int, layout: Layout, image: tuple[int, ...] = (), seed: int = 0, dtype: Any = np.float32
) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    parameters: list[Any] = []
    for each in layout.maps:
        parameters.append(rng.standard_normal(each.weight) / np.sqrt(np.prod(each.weight[1:])))
        parameters += [rng.standard_normal(each.weight[0])] if each.biased else []
    arrays = [
        array.astype(dtype)
        for array in (rng.standard_normal((batch, *(image or layout.maps[0].weight[1:]))), *parameters)
    ]
    for array in arrays:
        array.setflags(write=False)
    return arrays[0], arrays[1:]


def one_after_another(x: Any, layout: Layout, parameters: list[Any]) -> Any:
    rest = iter(parameters)
    for each in layout.maps:
        weight, bias = next(rest), next(rest) if each.biased else None
        if each.window is None:
            x = linear.forward(x.reshape(len(x), weight.shape[1]), weight, bias, each.activation)
        else:
            x, _ = conv2d.forward(x, weight, bias, each.window, each.activation, False)
    return x


def check(batch: int, layout: Layout, image: tuple[int, ...] = (), seed: int = 0, dtype: Any = np.float32) -> None:
    x, parameters = case(batch, layout, image, seed, dtype)
    with counting() as counts:
        y = chain(x, layout, *parameters)
    assert dict(counts) == {("chain", "halide"): 1}
    assert y.dtype == dtype
    exact = one_after_another(widened(x), layout, list(map(widened, parameters)))
    # Numbers of about 1. Each map adds roundings of its sums, and passes on those before.
    np.testing.assert_allclose(y, exact, rtol=0, atol=200 * np.finfo(dtype).eps * float(1 + np.abs(exact).max()))
    with using("reference"):
        np.testing.assert_array_equal(chain(x, layout, *parameters), one_after_another(x, layout, parameters))


@expensive
@given(
    batch=st.integers(1, FEW_ROWS),
    features=st.lists(st.sampled_from([1, 2, 3, 7, 8, 9, 16, 17, 33, 67, 120]), min_size=3, max_size=5),
    choose=st.randoms(use_true_random=False),
    seed=st.integers(0, 2**31),
    dtype=floats,
)
def test_affine_maps(batch: int, features: list[int], choose: Any, seed: int, dtype: Any) -> None:
    maps = len(features) - 1
    biased, activations = (
        tuple(choose.random() < 0.7 for _ in range(maps)),
        tuple(choose.choice(ACTIVATIONS) for _ in range(maps)),
    )
    check(batch, affine(tuple(features), biased, activations), seed=seed, dtype=dtype)


@expensive
@given(
    batch=st.integers(1, FEW_ROWS),
    size=st.tuples(st.integers(5, 12), st.integers(5, 12)),
    channels=st.lists(st.sampled_from([1, 2, 3, 6, 8, 16, 20]), min_size=2, max_size=4),
    choose=st.randoms(use_true_random=False),
    seed=st.integers(0, 2**31),
    dtype=floats,
)
def test_convolutions(
    batch: int, size: tuple[int, int], channels: list[int], choose: Any, seed: int, dtype: Any
) -> None:
    """Some with affine maps after them, for which the pixels lie in a row."""
    maps: list[Map] = []
    image = (*size, channels[0])
    for before, after in pairwise(channels):
        kernel_size: tuple[int, int] = choose.choice([(1, 1), (2, 3), (3, 3)])
        window = Window(choose.choice([(1, 1), (2, 1)]), padding=choose.choice([(0, 0, 0, 0), (1, 2, 0, 1)]))
        if min(window.out(size, kernel_size)) < 1:
            window, kernel_size = Window(), (1, 1)
        pooled = window._replace(pooling=POOLING)
        window = pooled if min(pooled.out(size, kernel_size)) >= 1 and choose.random() < 0.5 else window
        maps.append(Map((after, *kernel_size, before), choose.random() < 0.5, choose.choice(ACTIVATIONS), window))
        size = window.out(size, kernel_size)
    maps += affine((size[0] * size[1] * channels[-1], 7, 3), (True, False), (RELU, IDENTITY)).maps[
        : choose.randrange(3)
    ]
    layout = Layout(tuple(maps))
    rows = layout.most_rows(image)
    assert rows > 0
    check(min(batch, rows), layout, image, seed, dtype)


@pytest.mark.parametrize(
    ("layout", "image", "rows"), [(CONTROL, (17,), FEW_ROWS), (LENET5, IMAGES, 2)], ids=["control", "LeNet5"]
)
def test_a_network(layout: Layout, image: tuple[int, ...], rows: int) -> None:
    assert layout.most_rows(image) == rows
    for batch in range(1, rows + 1):
        check(batch, layout, image)


@pytest.mark.parametrize(("layout", "image"), [(CONTROL, (17,)), (LENET5, IMAGES)], ids=["control", "LeNet5"])
def test_more_rows_go_one_map_after_another(layout: Layout, image: tuple[int, ...]) -> None:
    x, parameters = case(layout.most_rows(image) + 1, layout, image)
    with counting() as counts:
        y = chain(x, layout, *parameters)
    assert dict(counts) == {("chain", "reference"): 1}
    np.testing.assert_allclose(y[:2], chain(x[:2], layout, *parameters), atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference on infinities
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_nan_and_infinity_go_where_the_reference_sends_them(value: float, activation: Activation) -> None:
    layout = affine((5, 18, 3), (True, True), (activation, activation))
    x, parameters = case(3, layout)
    parameters = [array.copy() for array in parameters]
    x = x.copy()
    x[0, 3], parameters[1][4] = value, value
    y = chain(x, layout, *parameters)
    with using("reference"):
        np.testing.assert_allclose(y, chain(x, layout, *parameters), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_in_an_image(value: float) -> None:
    x, parameters = case(2, LENET5, IMAGES)
    x = x.copy()
    x[0, 3, 4] = value
    y = chain(x, LENET5, *parameters)
    with using("reference"):
        np.testing.assert_allclose(y, chain(x, LENET5, *parameters), rtol=1e-4, atol=1e-5)
    assert np.isfinite(y[1]).all()


def test_parameters_that_the_kernel_cannot_take() -> None:
    layout = affine((4, 6, 2), (False, True), (RELU, IDENTITY))
    x, (first, second, bias) = case(2, layout)
    right = chain(x, layout, first, second, bias)
    turned, doubled = np.asfortranarray(first), bias.astype(np.float64)
    for parameters in ((turned, second, bias), (first, second, doubled)):
        with counting() as counts:
            np.testing.assert_allclose(chain(x, layout, *parameters), right, rtol=1e-5)
            np.testing.assert_array_equal(chain(x, layout, first, second, bias), right)
        assert dict(counts) == {("chain", "reference"): 1, ("chain", "halide"): 1}
    with pytest.raises((ShapeError, ValueError)):
        chain(x, layout, first[:, :3].copy(), second, bias)
    np.testing.assert_array_equal(chain(x, layout, first, second, bias), right)


CONVOLVED = Map((16, 3, 3, 16), True, RELU, Window())


@pytest.mark.parametrize(
    ("maps", "image", "rows"),
    [
        (affine((512, 512), (True,), (RELU,)).maps, (512,), FEW_ROWS),
        (affine((512, 513), (True,), (RELU,)).maps, (512,), 0),  # threads share its weights
        ((CONVOLVED,), (14, 14, 16), 1_048_576 // (2 * 12 * 12 * 9 * 16 * 16)),
        ((CONVOLVED, CONVOLVED), (22, 22, 16), 1_048_576 // (2 * 20 * 20 * 9 * 16 * 16) or 1),
        ((CONVOLVED,), (34, 34, 16), 0),  # threads share an image
        ((CONVOLVED,), (8, 8, 15), 0),  # these don't fit
        ((CONVOLVED,), (2, 8, 16), 0),
        ((CONVOLVED,), (8 * 8 * 16,), 0),
        ((CONVOLVED, *affine((575, 3), (True,), (RELU,)).maps), (8, 8, 16), 0),
        (affine((576, 3), (True,), (RELU,)).maps, (6, 6, 16), 0),
        ((CONVOLVED._replace(window=Window(pooling=((2, 1), (1, 1), (1, 1)))),), (8, 8, 16), 0),  # not side by side
    ],
)
def test_rows_for_which_one_kernel_is_quicker(maps: tuple[Map, ...], image: tuple[int, ...], rows: int) -> None:
    assert Layout(maps).most_rows(image) == rows


def test_what_is_remembered_of_images_stays_small() -> None:
    layout = Layout((CONVOLVED,))
    for height in range(200):
        layout.most_rows((height, 2, 16))
    assert len(layout._rows) <= 64


def test_images_of_another_size() -> None:
    layout = Layout((CONVOLVED, CONVOLVED))
    for image in ((8, 8, 16), (7, 9, 16), (8, 8, 16)):
        check(1, layout, image)


def test_a_copy_of_a_layout_has_the_same_kernel() -> None:
    x, parameters = case(1, CONTROL)
    y = chain(x, CONTROL, *parameters)
    for copied in (copy.deepcopy(CONTROL), copy.copy(CONTROL)):
        np.testing.assert_array_equal(chain(x, copied, *parameters), y)
        assert copied.last[-1] is CONTROL.last[-1]


def test_results_do_not_depend_on_the_threads() -> None:
    given_cases = [(layout, *case(2, layout, image)) for layout, image in ((CONTROL, ()), (LENET5, IMAGES))]
    same_on_all_threads(lambda: (chain(x, layout, *parameters) for layout, x, parameters in given_cases))


def test_on_every_target(tmp_path: Any) -> None:
    maps = affine((17, 20, 6), (True, False), (Activation("tanh"), RELU)).maps
    for image, layout in (
        ((17,), maps),
        ((8, 7, 3), (Map((5, 3, 3, 3), True, RELU, Window()), *affine((150, 4), (True,), (RELU,)).maps)),
    ):
        made = _kernel[image, layout, np.dtype(np.float32)]
        assert made is not None
        on_every_target(made[0], tmp_path)
