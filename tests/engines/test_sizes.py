"""Sizes that change: a few of each family have kernels, a process has so many, and what has kernels keeps them."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sample_op

from typednn.engines import counting, sizes, specialised, using
from typednn.engines.halide import compiled, rehearsal, toolchain
from typednn.engines.sizes import Specialised
from typednn.kernels import conv2d, linear, max_pool2d, pad2d, softmax, softmax_cross_entropy
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window

needs_halide = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
PAIR, ONE = (2, 2), (1, 1)
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sizes, "_warned", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def counted(names: str = "image sizes") -> Specialised[tuple[Any, ...]]:
    @specialised("test", names)
    def _made(size: int, *family: Any) -> tuple[Any, ...] | None:
        return (size, *family) if size else None

    return _made


def test_a_few_sizes_of_each_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "FEW", 3)
    made = counted()
    assert [made[size, "a"] for size in (1, 2, 1, 3)] == [(1, "a"), (2, "a"), (1, "a"), (3, "a")]
    with pytest.warns(RuntimeWarning) as told:
        assert made[4, "a"] is None
    assert str(told[0].message) == (
        "test has kernels for 3 image sizes and computes others without, more slowly; "
        "resize or pad to a few sizes, or set TYPEDNN_SIZES to a larger number"
    )
    assert made[5, "a"] is made[4, "a"] is None, "told once"
    assert made[4, "b"] == (4, "b"), "another family"
    assert made[1, "a"] is made[1, "a"] == (1, "a"), "what has kernels keeps them"
    assert len(made) == 4, "nothing is kept of other sizes"


def test_what_makes_nothing_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "FEW", 1)
    made = counted()
    assert made[0, "a"] is None
    assert made[1, "a"] == (1, "a")
    assert len(made) == 1


def test_a_process_has_so_many_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted("")
    monkeypatch.setattr(sizes, "FEW", 1)
    monkeypatch.setattr(compiled, "count", lambda: 11)
    monkeypatch.setattr(sizes, "MOST", 12)
    assert made[1, "a"] == (1, "a")
    assert made[2, "a"] == (2, "a"), "a family of sizes that don't change has no limit of its own"
    monkeypatch.setattr(sizes, "MOST", 11)
    with pytest.warns(RuntimeWarning) as told:
        assert made[3, "a"] is None
    assert str(told[0].message) == "test: this process has 11 kernels and computes new sizes without, more slowly"
    assert made[4, "a"] is None, "told once"
    assert made[1, "a"] == (1, "a")


def test_a_rehearsal_takes_no_place_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which sizes have kernels depends on the calls alone, not on whether their kernels had to be compiled."""
    monkeypatch.setattr(sizes, "FEW", 2)
    made, seen = counted(), []
    noted = rehearsal.noted(lambda: seen.extend(made[size, "a"] for size in (7, 8, 9)))
    assert (noted, seen) == ([], [(7, "a"), (8, "a"), (9, "a")])
    assert [made[size, "a"] for size in (1, 2)] == [(1, "a"), (2, "a")]
    rehearsal.noted(lambda: seen.append(made[3, "a"]))
    assert seen[-1] is None, "no kernel is compiled that the calls would not get"
    with pytest.warns(RuntimeWarning, match="2 image sizes"):
        assert made[3, "a"] is None


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    full = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code, str(SUPPORT)], env=full, capture_output=True, text=True, check=False, timeout=300
    )


def test_the_setting() -> None:
    code = "from typednn.engines import sizes; print(sizes.FEW)"
    assert run(code, TYPEDNN_SIZES="").stdout == "8\n"
    assert run(code, TYPEDNN_SIZES="3").stdout == "3\n"
    assert "TYPEDNN_SIZES: must be an integer of at least 1, got '0'" in run(code, TYPEDNN_SIZES="0").stderr
    assert "TYPEDNN_SIZES: must be an integer of at least 1, got 'x'" in run(code, TYPEDNN_SIZES="x").stderr


@needs_halide
def test_different_kernels_are_counted_once() -> None:
    before = sample_op.forward_kernel()
    count = compiled.count()
    assert sample_op.forward_kernel() is before
    assert compiled.count() == count


def numbers(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def conv(image: tuple[int, int], window: Window, activation: Activation, batch: int = 2) -> list[Any]:
    """y and the derivatives of a convolution of 19 channels, which no other test has."""
    x, weight, bias = numbers(batch, *image, 3), numbers(19, 3, 2, 3), numbers(19)
    y, winners = conv2d.forward(x, weight, bias, window, activation, True)
    return [y, *conv2d.backward(numbers(*y.shape), x, weight, window, activation, y, winners)]


def pooled(image: tuple[int, int]) -> list[Any]:
    x = numbers(2, *image, 19)
    y, index = max_pool2d.forward(x, PAIR, ONE, ONE)
    return [y, max_pool2d.backward(numbers(*y.shape), index, x.shape, PAIR, ONE, ONE)]


def padded(image: tuple[int, int]) -> list[Any]:
    y = pad2d.forward(numbers(2, *image, 19), (1, 0, 2, 0), "replicate", 0.0)
    return [y, pad2d.backward(y, (1, 0, 2, 0), "replicate")]


def distributed(image: tuple[int, int]) -> list[Any]:
    y = softmax.forward(numbers(3, image[0] * image[1]))
    return [y, softmax.backward(numbers(*y.shape), y)]


def compared(image: tuple[int, int]) -> list[Any]:
    logits, labels = numbers(3, image[0] * image[1]), np.arange(3)
    return [softmax_cross_entropy.forward(logits, labels), softmax_cross_entropy.backward(logits, labels, 0.5)]


WORKS = {
    "convolution": lambda image: conv(image, Window(), IDENTITY),
    "with an activation": lambda image: conv(image, Window(padding=(1, 0, 0, 2)), Activation("tanh")),
    "with pooling": lambda image: conv(image, Window(pooling=(PAIR, PAIR, ONE)), Activation("relu")),
    "with a stride": lambda image: conv(image, Window((2, 1)), IDENTITY),
    "with a stride and pooling": lambda image: conv(
        image, Window((1, 2), pooling=(PAIR, PAIR, ONE)), Activation("relu")
    ),
    "max_pool2d": pooled,
    "pad2d": padded,
    "softmax": distributed,
    "softmax_cross_entropy": compared,
}


@needs_halide
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_ops_run_on_the_reference_after_a_few_sizes(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("conv2d", "max_pool2d", "pad2d", "softmax", "softmax_cross_entropy"):
        for name, table in list(vars(sys.modules[f"typednn.kernels.{module}.cpu"]).items()):
            if isinstance(table, Specialised):  # as before its first call, whatever other tests have called
                monkeypatch.setattr(table, "_families", type(table._families)())
                for arguments in list(table):
                    monkeypatch.delitem(table, arguments)
                assert not table, name
    monkeypatch.setattr(sizes, "FEW", 2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ran = []
        for image in ((9, 8), (11, 7), (10, 10), (12, 5), (9, 8), (10, 10), (11, 7)):
            with counting() as counts:
                results = work(image)
            ran.append({engine for _, engine in counts} - {"blas"} or {"halide"})
            with using("reference"):
                for result, right in zip(results, work(image), strict=True):
                    np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-4)
    few, many = {"halide"}, {"reference"}
    assert ran == [few, few, many, many, few, many, few]
    assert len(told) == 1
    assert "has kernels for 2 " in str(told[0].message)


@needs_halide
@pytest.mark.parametrize("first", ["fast", "reference"])
@pytest.mark.parametrize(
    "window",
    [Window(), Window(padding=(1, 1, 1, 1), pooling=(PAIR, PAIR, ONE)), Window(PAIR, pooling=((3, 3), (3, 3), ONE))],
)
def test_what_one_engine_keeps_the_other_reads(first: str, window: Window) -> None:
    x, weight, bias, activation = numbers(2, 13, 12, 3), numbers(19, 3, 2, 3), numbers(19), Activation("relu")
    with using(first):
        y, winners = conv2d.forward(x, weight, bias, window, activation, True)
    dy = numbers(*y.shape)
    with using("reference" if first == "fast" else "fast"), counting() as counts:
        mixed = conv2d.backward(dy, x, weight, window, activation, y, winners)
    assert (("conv2d.backward", "reference") in counts) == (first == "fast")
    with using("reference"):
        right = conv2d.backward(
            dy, x, weight, window, activation, *conv2d.forward(x, weight, bias, window, activation, True)
        )
    for result, expected in zip(mixed, right, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@needs_halide
def test_widths_beyond_the_limit_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST", 0)
    warnings.simplefilter("ignore")
    with counting() as counts:
        for out_features in (23, 1023):  # small, and for BLAS
            x, weight, bias = numbers(600, 29), numbers(out_features, 29), numbers(out_features)
            y = linear.forward(x, weight, bias, Activation("tanh"))
            linear.backward(y, x, weight, y, Activation("tanh"), True)
    assert {engine for _, engine in counts} == {"reference"}


FLAT = """
import sys, warnings
import numpy as np
from pathlib import Path
warnings.simplefilter("ignore")
from typednn.layers import Conv2d, Flatten, MaxPool2d, Pad2d, ReLU, Softmax

rng = np.random.default_rng(0)
layers = [Pad2d(1), Conv2d(1, 2, 3, rng=rng), ReLU(), MaxPool2d(2), Flatten(), Softmax()]

def step(height, width):
    x = np.ones((1, height, width, 1), np.float32)
    for layer in layers:
        x = layer.forward(x)
    for layer in reversed(layers):
        x = layer.backward(x).input

def held():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(Path("/proc/self/maps").read_text().splitlines()), pages * 4096

extents = [(5 + number % 100, 5 + number // 100) for number in range(10_000)]
rng.shuffle(extents)
for height, width in extents[:1000]:
    step(height, width)
maps, size = held()
entries = len(list(Path(sys.argv[2]).iterdir()))
for height, width in extents[1000:]:
    step(height, width)
now = held()
print(now[0] - maps, now[1] - size, len(list(Path(sys.argv[2]).iterdir())) - entries)
"""


@needs_halide
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ten_thousand_sizes_leave_memory_and_cache_flat(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FLAT, str(SUPPORT), str(tmp_path)]
    environment = {**os.environ, "TYPEDNN_CACHE": str(tmp_path), "TYPEDNN_SIZES": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    maps, size, entries = map(int, done.stdout.split())
    assert maps <= 20
    assert size <= 8 * 2**20
    assert entries == 0
