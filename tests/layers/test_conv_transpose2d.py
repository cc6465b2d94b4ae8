"""ConvTranspose2d with an output_padding that the dilation allows and the stride does not, against windows added one by
one.
"""

from typing import Any

import numpy as np
import pytest

from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.graph import conv_transpose2d, tensor
from typednn.layers import ConvTranspose2d
from typednn.testing import check_layer

# stride, padding, output_padding, dilation: rows that no window reaches, rows that padding would cut off, and both.
CASES: list[tuple[Any, ...]] = [
    (1, 0, 1, 2),
    (1, 1, 1, 2),
    (1, 2, 1, 3),
    (2, 1, 2, 3),
    (2, 0, (1, 2), (1, 3)),
    ((1, 2), (2, 1), (2, 2), (3, 4)),
]


def _by_hand(x: Any, layer: ConvTranspose2d[Any]) -> Any:
    (batch, height, width, _), (kernel_height, kernel_width) = x.shape, layer.kernel_size
    (down, across), (hole_down, hole_across) = layer.stride, layer.dilation
    full = np.zeros((batch, *(2 * max(height, width) * 9,) * 2, layer.out_channels), x.dtype)
    for r in range(height):
        for c in range(width):
            for k in range(kernel_height):
                for j in range(kernel_width):
                    full[:, r * down + k * hole_down, c * across + j * hole_across] += (
                        x[:, r, c] @ layer.weight[:, k, j]
                    )
    sizes = [
        (size - 1) * stride + dilation * (taps - 1) + more + 1 - 2 * padding
        for size, stride, dilation, taps, more, padding in zip(
            x.shape[1:3],
            layer.stride,
            layer.dilation,
            layer.kernel_size,
            layer.output_padding,
            layer.padding,
            strict=True,
        )
    ]
    top, left = layer.padding
    return full[:, top : top + sizes[0], left : left + sizes[1]] + layer.bias


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_padding_below_the_dilation(case: tuple[Any, ...], engine: str) -> None:
    stride, padding, more, dilation = case
    layer: Any = ConvTranspose2d(
        2, 3, (3, 2), stride, padding, more, dilation=dilation, rng=np.random.default_rng(0)
    ).astype(np.float64)
    x = np.random.default_rng(1).standard_normal((2, 4, 3, 2))
    wanted = _by_hand(x, layer)
    with using(engine):
        np.testing.assert_allclose(layer.forward(x), wanted, rtol=1e-12, atol=1e-12)
        check_layer(layer, x.shape, laws=["derivatives"])
    sides = tuple((zeros, zeros) for zeros in layer.padding)
    of_graph = conv_transpose2d(*map(tensor, (x, layer.weight, layer.bias)), stride, sides, more, dilation=dilation)
    np.testing.assert_allclose(of_graph.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_output_padding_above_both_is_refused() -> None:
    with pytest.raises(ArgumentError, match="output_padding must be less than stride or dilation, got"):
        ConvTranspose2d(2, 3, 3, stride=2, output_padding=3, dilation=3)
