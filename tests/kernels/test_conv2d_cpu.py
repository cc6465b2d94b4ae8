"""Conv2d's kernels against the reference in float64: any sizes, strides, dilations and thread counts; NaN, infinities,
dispatch.
"""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from effort import expensive
from fast_ops import on_every_target, quiet, widened
from hypothesis import example, given
from hypothesis import strategies as st

from typednn import engines
from typednn.engines import processor
from typednn.engines.halide import toolchain
from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY
from typednn.kernels.conv2d import Window, cpu, direct, reference

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

FLOATS = [np.float32, np.float64]
seeds = st.integers(0, 2**32 - 1)
channels = st.sampled_from([1, 2, 3, 5, 6, 7, 15, 16, 17, 20, 32, 33])


@pytest.fixture(scope="module", autouse=True)
def own_threads() -> Iterator[None]:
    before = engines.get_threads()
    yield
    engines.set_threads(before)


@st.composite
def problems(draw):
    """(image, weight, stride, dilation): extents of 1 and odd ones, more or fewer than a vector, strides with a
    remainder.
    """
    kernel, stride, dilation = (draw(st.tuples(st.integers(1, most), st.integers(1, most))) for most in (5, 3, 2))
    spare = draw(st.tuples(st.integers(0, 6), st.integers(0, 36)))
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    inward = draw(channels)
    return (*size, inward), (draw(channels), *kernel, inward), stride, dilation


@st.composite
def in_groups(draw):
    """The same with groups: their channels are fewer than a vector, a part of one, or several, and not as many out as
    in.
    """
    (height, width, _), (_, *kernel, _), stride, dilation = draw(problems())
    groups, inward, outward = draw(
        st.sampled_from([(2, 3, 5), (5, 4, 4), (3, 8, 12), (2, 16, 48), (2, 32, 16), (4, 6, 2), (2, 2, 1)])
    )
    return (height, width, groups * inward), (groups * outward, *kernel, inward), stride, dilation


def normal(seed, *shape, dtype=np.float32):
    array = np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)
    array.setflags(write=False)
    return array


def forward(x, weight, bias, stride, dilation):
    """y of a convolution alone; asserts that a kernel computes it."""
    with engines.counting() as counts:
        y, winners = conv2d.forward(x, weight, bias, Window(stride, dilation))
    assert winners is None
    assert set(counts) == {("conv2d.forward", "halide")}
    return y


def backward(next_grad, x, weight, stride, dilation):
    """Its derivatives; asserts that not the reference computes them."""
    with engines.counting() as counts:
        gradients = conv2d.backward(next_grad, x, weight, Window(stride, dilation))
    assert not counts["conv2d.backward", "reference"]
    return gradients


def right(x, weight, bias, stride, dilation):
    """y by the reference."""
    return reference.forward(x, weight, bias, Window(stride, dilation))[0]


def right_back(next_grad, x, weight, stride, dilation):
    return reference.backward(next_grad, x, weight, Window(stride, dilation))


def assert_close(got, exact, magnitudes, terms):
    """Within what rounding ``terms`` products and their sum may cost, and a fresh array."""
    assert widened(got).dtype == exact.dtype
    assert got.shape == exact.shape
    assert got.flags.c_contiguous
    assert (np.abs(got - exact) <= (terms + 8) * np.finfo(got.dtype).eps * magnitudes).all()


drawn = {
    "batch": st.sampled_from([1, 2, 3, 9, 17]),
    "biased": st.booleans(),
    "threads": st.integers(1, 2),
    "seed": seeds,
    "dtype": st.sampled_from(FLOATS),
}


@expensive
@given(problem=problems(), **drawn)
def test_forward_and_backward_are_the_reference(problem, batch, biased, threads, seed, dtype):
    assert_is_the_reference(problem, batch, biased, threads, seed, dtype)


ALONE = (5, 6, 128), (128, 3, 3, 16), (1, 1), (1, 1)  # threads share each image
ADDED = (3, 2, 8), (8, 2, 2, 4), (1, 1), (1, 1)  # of so many images that they are added in double precision


@expensive
@given(problem=in_groups(), **drawn)
@example(problem=ALONE, batch=2, biased=False, threads=2, seed=0, dtype=np.float32)
@example(problem=ADDED, batch=2100, biased=True, threads=2, seed=0, dtype=np.float32)
def test_groups_are_the_reference(problem, batch, biased, threads, seed, dtype):
    """X-N1."""
    assert_is_the_reference(problem, batch, biased, threads, seed, dtype)


def assert_is_the_reference(problem, batch, biased, threads, seed, dtype):
    image, shape, stride, dilation = problem
    x, weight = normal(seed, batch, *image, dtype=dtype), normal(seed, *shape, dtype=dtype)
    bias = normal(seed, shape[0], dtype=dtype) if biased else None
    wide = [widened(array) for array in (x, weight, bias)]
    sizes = [None if array is None else np.abs(array) for array in wide]
    engines.set_threads(threads)
    y = forward(x, weight, bias, stride, dilation)
    assert_close(y, right(*wide, stride, dilation), right(*sizes, stride, dilation), np.prod(shape[1:]) + 1)

    next_grad = normal(seed + 1, *y.shape, dtype=dtype)
    got = backward(next_grad, x, weight, stride, dilation)
    exact = right_back(widened(next_grad), wide[0], wide[1], stride, dilation)
    bounds = right_back(np.abs(widened(next_grad)), sizes[0], sizes[1], stride, dilation)
    pixels = np.prod(next_grad.shape[:3])
    of_pixel = np.prod(shape[:3]) * shape[3] // image[2]
    for one, expected, bound, terms in zip(got, exact, bounds, (of_pixel, pixels, pixels), strict=True):
        assert_close(one, expected, bound, terms)


def test_so_many_weights_that_threads_share_them():
    """More than two million: each is summed over the whole batch, here two groups of images, the second one smaller."""
    x, shape, window = normal(0, 70, 4, 4, 512), (456, 3, 3, 512), Window(padding=(1, 1, 1, 1))
    next_grad = normal(1, 70, 4, 4, 456)
    found = []
    for threads in (1, 2):
        engines.set_threads(threads)
        found.append(conv2d.backward(next_grad, x, np.zeros(shape, np.float32), window, wants_input=False)[1])
    np.testing.assert_array_equal(*found)
    wide = widened(x), widened(next_grad)
    zeros = np.zeros(shape)
    exact, bounds = (
        reference.backward(change(wide[1]), change(wide[0]), zeros, window, wants_input=False)[1]
        for change in (np.asarray, np.abs)
    )
    assert_close(found[0], exact, bounds, 70 * 16)


# One for each way: lanes along output channels, along pixels, along input channels, along taps; with a tail or not;
# strided, dilated; many channels, laid out anew by blocks; images so small that a tile takes several; groups, of fewer
# channels than a vector, or of three.
WAYS = {
    "channels": ((9, 11, 16), (16, 3, 3, 16), (1, 1), (1, 1)),
    "channels with a tail": ((7, 9, 3), (18, 3, 2, 3), (1, 1), (1, 2)),
    "pixels": ((6, 21, 1), (3, 2, 5, 1), (1, 1), (1, 1)),
    "planes of pixels": ((6, 41, 3), (3, 2, 3, 3), (1, 2), (1, 1)),
    "input channels": ((5, 7, 32), (3, 3, 3, 32), (1, 1), (1, 1)),
    "taps": ((9, 8, 6), (16, 5, 5, 6), (1, 1), (1, 1)),
    "blocks of channels": ((9, 8, 64), (48, 3, 2, 64), (1, 1), (1, 1)),
    "small images": ((4, 3, 33), (70, 3, 2, 33), (1, 1), (1, 1)),
    "strided": ((7, 9, 5), (20, 3, 3, 5), (2, 3), (1, 1)),
    "groups": ((7, 9, 12), (24, 3, 2, 4), (1, 1), (1, 2)),
    "groups of vectors": ((5, 6, 32), (96, 3, 3, 16), (1, 1), (1, 1)),
    "strided groups": ((7, 9, 32), (16, 3, 3, 16), (2, 3), (1, 1)),
}


@pytest.mark.parametrize(("image", "shape", "stride", "dilation"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # the reference's
def test_nan_and_infinity_are_the_reference_s(image, shape, stride, dilation, bad):
    """Each in turn in x, in a weight, in the next gradient: not one element more or fewer is NaN or infinite."""
    rng = np.random.default_rng(0)
    for spoiled in range(3):
        x, weight = rng.normal(size=(3, *image)).astype(np.float32), rng.normal(size=shape).astype(np.float32)
        next_grad = rng.normal(size=right(x, weight, None, stride, dilation).shape).astype(np.float32)
        array = (x, weight, next_grad)[spoiled]
        array.reshape(-1)[rng.integers(array.size)] = bad
        pairs = zip(
            (forward(x, weight, None, stride, dilation), *backward(next_grad, x, weight, stride, dilation)),
            (right(x, weight, None, stride, dilation), *right_back(next_grad, x, weight, stride, dilation)),
            strict=True,
        )
        for got, expected in pairs:
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("image", "shape", "stride", "dilation"), WAYS.values(), ids=WAYS)
def test_threads_and_repetition_change_no_bit(image, shape, stride, dilation):
    x, weight = normal(0, 19, *image), normal(1, *shape)
    next_grad = normal(2, *right(x, weight, None, stride, dilation).shape)
    results = []
    for threads in (1, 2, 2):
        engines.set_threads(threads)
        results.append((forward(x, weight, None, stride, dilation), *backward(next_grad, x, weight, stride, dilation)))
    for result in results[1:]:
        for one, first in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(one, first)


def test_kept_results_keep_their_values():
    x, weight = normal(0, 40, 12, 12, 4), normal(1, 5, 3, 3, 4)
    y = forward(x, weight, None, (1, 1), (1, 1))
    kept = [y, *backward(y, x, weight, (1, 1), (1, 1))]
    copies = [array.copy() for array in kept]
    backward(forward(2 * x, weight, None, (1, 1), (1, 1)), 2 * x, weight, (1, 1), (1, 1))
    for one, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(one, copy)


def test_who_runs_what():
    """float32 or float64 in C order run on kernels, anything else on the reference."""
    x, weight = normal(0, 2, 6, 7, 3), normal(1, 4, 3, 3, 3)
    for strange in (x.astype(np.float64), x[:, :, ::-1], x[:0], np.asfortranarray(x)):
        with engines.counting() as counts:
            y, _ = conv2d.forward(strange, weight, None, Window())
            conv2d.backward(y, strange, weight, Window())
        assert set(counts) == {("conv2d.forward", "reference"), ("conv2d.backward", "reference")}
    for dtype in FLOATS:
        image, bank = x.astype(dtype), weight.astype(dtype)
        with engines.counting() as counts:
            conv2d.backward(conv2d.forward(image, bank, None, Window())[0], image, bank, Window())
        assert set(counts) == {("conv2d.forward", "halide"), ("conv2d.backward", "halide")}


@quiet
@pytest.mark.parametrize("way", ["channels", "pixels", "taps", "groups"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_infinite_weights_meet_no_zeros(way, dtype):
    """The zeros around dy would make NaN of them; lanes along taps need no such zeros."""
    image, shape, stride, dilation = WAYS[way]
    x, weight = normal(0, 2, *image, dtype=dtype), normal(1, *shape, dtype=dtype).copy()
    weight[0, 0, 0, 0] = np.inf
    next_grad = np.ones_like(right(x, weight, None, stride, dilation))
    with engines.counting() as counts:
        dx, *_ = conv2d.backward(next_grad, x, weight, Window(stride, dilation))
    here = processor.for_schedules(processor.host()).of(weight.dtype.name)
    lanes_along = direct.dx_lanes(here, cpu.geometry_of(image, shape, Window(stride, dilation)))
    assert set(counts) == {("conv2d.backward", "halide" if lanes_along == "taps" else "blas")}
    expected, *_ = right_back(next_grad, x, weight, stride, dilation)
    np.testing.assert_array_equal(np.isposinf(dx), np.isposinf(expected))
    assert not np.isnan(dx).any()


def test_kernels_on_disk_need_no_compiler():
    """Loading Halide would take 36 MB."""
    script = """
import sys
import numpy as np
from typednn.kernels import conv2d
from typednn.kernels.activations import RELU
x, weight = np.ones((2, 9, 8, 6), np.float32), np.ones((16, 5, 5, 6), np.float32)
for window in conv2d.Window(), conv2d.Window(pooling=((2, 2), (2, 2), (1, 1))):
    y, winners = conv2d.forward(x, weight, None, window, RELU)
    conv2d.backward(y, x, weight, window, RELU, y, winners)
print("halide" in sys.modules)
"""
    said = [
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert said[1].strip() == "False"


@pytest.mark.parametrize(
    "way",
    [
        "channels with a tail",
        "pixels",
        "planes of pixels",
        "input channels",
        "taps",
        "small images",
        "strided",
        "groups",
        "strided groups",
    ],
)
def test_on_every_target(way, tmp_path):
    image, shape, stride, dilation = WAYS[way]
    geometry = cpu.geometry_of(image, shape, Window(stride, dilation))
    kernels = [cpu.forward_kernel(geometry, True, IDENTITY), cpu.dweight_kernel(geometry, IDENTITY)]
    if stride == (1, 1):
        kernels.append(cpu.dx_kernel(geometry, IDENTITY))
    if stride != (1, 1) or way == "groups":
        kernels.append(cpu.gather_kernel(geometry))
    if way == "taps":
        kernels.append(cpu.forward_kernel(geometry, False, IDENTITY))
    for each in kernels:
        on_every_target(each, tmp_path)
