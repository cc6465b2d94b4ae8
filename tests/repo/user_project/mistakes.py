"""What mypy must refuse in a user's code, read but never run: an ignore that is not needed is an error too."""

from typednn.layers import Conv2d, Flatten, Linear

Conv2d(1, 6, 5) >> Flatten() >> Linear(3456, 10)
Conv2d(1, 6, 5) >> Linear(6, 10)  # type: ignore[operator]
Linear("784", 128)  # type: ignore[arg-type]
weight = Linear(784, 128).wieght  # type: ignore[attr-defined]
