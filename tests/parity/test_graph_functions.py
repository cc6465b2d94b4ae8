"""Functions of the graph that are PyTorch's give PyTorch's values."""

from typing import Any

import numpy as np
import pytest

from typednn import graph as ops

pytestmark = [pytest.mark.parity, pytest.mark.usefixtures("few_kernels")]


@pytest.mark.parametrize(
    ("old", "names"),
    [((5,), ("nearest", "linear")), ((4, 3), ("nearest", "bilinear")), ((2, 3, 4), ("nearest", "trilinear"))],
)
@pytest.mark.parametrize("how", [{"size": 7}, {"size": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6}])
def test_interpolate(torch: Any, old: tuple[int, ...], names: tuple[str, str], how: dict[str, Any]) -> None:
    """X-A15: nearest and linear, by size and by factor, with aligned corners and without; channels are last here."""
    x = np.random.default_rng(0).standard_normal((2, *old, 3))
    first = torch.from_numpy(np.moveaxis(x, -1, 1).copy())
    for name, align in ((names[0], None), (names[1], False), (names[1], True)):
        want = torch.nn.functional.interpolate(first, **how, mode=name, align_corners=align).numpy()
        mine = "nearest" if name == "nearest" else "linear"
        got = ops.interpolate(ops.tensor(x), **how, mode=mine, align_corners=bool(align)).numpy()
        np.testing.assert_allclose(np.moveaxis(got, -1, 1), want, rtol=1e-12, atol=1e-13)


def test_sort_and_erfinv(torch: Any) -> None:
    """Z-T7, X-A15: orders of equal numbers and NaN, both ways; erfinv near its ends."""
    x = np.random.default_rng(0).integers(-2, 3, (4, 9)).astype(np.float32)
    x[0, 3] = np.nan
    for descending in (False, True):
        want = torch.sort(torch.from_numpy(x), dim=1, descending=descending, stable=True)
        np.testing.assert_array_equal(ops.sort(ops.tensor(x), 1, descending).numpy(), want.values.numpy())
        np.testing.assert_array_equal(ops.argsort(ops.tensor(x), 1, descending).numpy(), want.indices.numpy())
    z = np.array([-0.999999, -0.3, 0.0, 0.9, 1.0])
    np.testing.assert_allclose(ops.erfinv(ops.tensor(z)).numpy(), torch.erfinv(torch.from_numpy(z)).numpy(), rtol=1e-13)
