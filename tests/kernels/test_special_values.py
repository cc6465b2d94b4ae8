"""Where rounding, infinity and NaN meet: every activation says the same on every engine, alone and within another
kernel.

Each engine goes its whole way, from z to y and from its own y back: outputs that differ in the last digit must not lead
one engine to infinity and the other to NaN.
"""

from typing import Any

import numpy as np
import pytest
from fast_ops import needs_halide, quiet

from typednn.engines import using
from typednn.kernels import conv2d, linear, prelu
from typednn.kernels.activations import Activation, Name
from typednn.kernels.conv2d import Window
from typednn.kernels.pointwise import leaky_relu, relu, sigmoid, tanh

pytestmark = [needs_halide, quiet]

# Where tanh and sigmoid come to be 1, or 0, in float32; and on the way there.
SATURATED = [
    8.5,
    8.9,
    8.99,
    9.0,
    9.005,
    9.01,
    9.02,
    9.1,
    9.3,
    10.0,
    16.5,
    16.6,
    16.63,
    16.64,
    17.0,
    17.4,
    60.0,
    87.0,
    88.0,
    100.0,
    103.0,
    104.0,
    110.0,
]
ABOVE = [0.0, 1e-45, 1e-38, 1e-20, 0.3, 1.0, *SATURATED, 1e30, np.inf]
POINTS = np.array([*ABOVE, *(-value for value in ABOVE), np.nan], np.float32)
DERIVATIVES = np.array([1.0, -2.0, 0.0, np.inf, -np.inf, np.nan], np.float32)
Z, DY = (np.ascontiguousarray(each.reshape(-1, 1)) for each in np.meshgrid(POINTS, DERIVATIVES))
ONE = np.ones((1, 1), np.float32)
SLOPE = np.full(1, 0.25, np.float32)


def same(got: Any, wanted: Any) -> None:
    """NaN and infinite in the same places, and close elsewhere."""
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def alone(op: Any, *numbers: Any, from_output: bool = True) -> tuple[Any, Any]:
    y = op.forward(Z, *numbers)
    dx = op.backward(DY, y if from_output else Z, *numbers)
    return y, dx[0] if isinstance(dx, tuple) else dx


ALONE: dict[str, Any] = {
    "tanh": lambda: alone(tanh),
    "sigmoid": lambda: alone(sigmoid),
    "relu": lambda: alone(relu, from_output=False),
    "leaky_relu": lambda: alone(leaky_relu, 0.25, from_output=False),
    "leaky_relu of 0": lambda: alone(leaky_relu, 0.0, from_output=False),
    "prelu": lambda: alone(prelu, SLOPE, from_output=False),
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("times", [1, 200])
def test_alone(name: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small arrays may be left to NumPy: so many copies are not.
    monkeypatch.setitem(globals(), "Z", np.tile(Z, (times, 1)))
    monkeypatch.setitem(globals(), "DY", np.tile(DY, (times, 1)))
    got = ALONE[name]()
    with using("reference"):
        for ours, theirs in zip(got, ALONE[name](), strict=True):
            same(ours, theirs)


@pytest.mark.parametrize(
    "activation",
    [
        Activation("relu"),
        Activation("leaky_relu", 0.25),
        Activation("sigmoid"),
        Activation("tanh"),
        Activation("identity"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["linear", "conv", "conv and pool"])
def test_within_another_kernel(activation: Activation, kind: str) -> None:
    def run() -> tuple[Any, Any]:
        if kind == "linear":
            y = linear.forward(Z, ONE, None, activation)
            dx, _, _ = linear.backward(DY, ONE.repeat(len(Z), 0), ONE, y, activation)
            return y, dx
        size = 2 if kind == "conv and pool" else 1
        window = Window(pooling=((2, 2), (2, 2), (1, 1))) if size == 2 else Window()
        # Of four pixels the others are so low that z is the winner, if it is a number.
        image = np.full((len(Z), size, size, 1), -200, np.float32)
        image[:, 0, 0, 0] = Z[:, 0]
        weight, dy = ONE.reshape(1, 1, 1, 1), DY.reshape(-1, 1, 1, 1)
        y, winners = conv2d.forward(image, weight, None, window, activation)
        dx, _, _ = conv2d.backward(dy, np.ones_like(image), weight, window, activation, y, winners)
        return y, dx.sum(axis=(1, 2))  # of pixels that the activation makes equal any may be the winner

    found = run()
    with using("reference"):
        for ours, theirs in zip(found, run(), strict=True):
            same(ours, theirs)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize(("name", "z"), [("tanh", 9.0), ("tanh", -30.0), ("sigmoid", 40.0), ("sigmoid", -120.0)])
def test_an_infinite_derivative_stays_infinite(engine: str, name: Name, z: float) -> None:
    x = np.full((4000, 1), z, np.float32)
    next_grad = np.tile(np.array([[np.inf], [-np.inf], [np.nan], [1.0]], np.float32), (1000, 1))
    with using(engine):
        y = linear.forward(x, ONE, None, Activation(name))
        dx, _, _ = linear.backward(next_grad, x, ONE, y, Activation(name))
        alone = {"tanh": tanh, "sigmoid": sigmoid}[name].backward(next_grad, y)
    for found in (dx, alone):
        np.testing.assert_allclose(found[:4, 0], [np.inf, -np.inf, np.nan, 0.0], atol=1e-6)
        np.testing.assert_array_equal(found.reshape(1000, 4), np.broadcast_to(found[:4, 0], (1000, 4)))
