"""ConvTranspose2d by conv2d's kernels: dx's forward, and those of forward and dweight backward."""

from typing import Any

from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY
from typednn.kernels.conv2d import cpu as conv2d
from typednn.kernels.conv2d.geometry import Window


def plan(x: Any, weight: Any, bias: Any, window: Window, shape: tuple[int, ...]) -> Any:
    """The kernel of `forward` for these sizes; None where there is none."""
    return conv2d.plan_dx(x, weight, window, shape) if _consistent(x, weight, bias, window, shape) else None


def forward(planned: Any, x: Any, weight: Any, bias: Any, window: Window, shape: tuple[int, ...]) -> Any:
    """y."""
    return _with_bias(conv2d.dx(planned, x, weight, shape), bias)


def plan_by_products(x: Any, weight: Any, bias: Any, window: Window, shape: tuple[int, ...]) -> Any:
    """The kernels of `forward_by_products`; None where there are none."""
    return conv2d.plan_dx_by_products(x, weight, window, shape) if _consistent(x, weight, bias, window, shape) else None


def forward_by_products(planned: Any, x: Any, weight: Any, bias: Any, window: Window, shape: tuple[int, ...]) -> Any:
    """y: each pixel times the weights, then for each pixel of y the sum over its windows."""
    return _with_bias(conv2d.dx_by_products(planned, x, weight, shape), bias)


def plan_backward(next_grad: Any, x: Any, weight: Any, window: Window) -> Any:
    """The kernels of `backward`; None where there are none."""
    if not _consistent(x, weight, None, window, next_grad.shape):
        return None
    of_input = conv2d.plan(next_grad, weight, None, window, IDENTITY, False)
    of_weight = conv2d.plan_backward(x, next_grad, weight, window, IDENTITY, None, None, False, False)
    return None if of_input is None or of_weight is None else (of_input, of_weight)


def backward(planned: Any, next_grad: Any, x: Any, weight: Any, window: Window) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias)."""
    of_input, of_weight = planned
    dx, _ = conv2d.forward(of_input, next_grad, weight, None, window, IDENTITY, False)
    _, dweight, _ = conv2d.backward(of_weight, x, next_grad, weight, window, IDENTITY, None, None, False, False)
    return dx, dweight, sums.over(next_grad, (0, 1, 2))


def _consistent(x: Any, weight: Any, bias: Any, window: Window, shape: tuple[int, ...]) -> bool:
    """Whether conv2d would make x's sizes of ``shape``."""
    if not x.ndim == weight.ndim == len(shape) == 4 or (bias is not None and bias.shape != shape[3:]):
        return False
    batch, height, width, _ = shape
    expected: tuple[int, ...] = (batch, *window.convolved((height, width), weight.shape[1:3]), len(weight))
    return expected == tuple(x.shape)


def _with_bias(y: Any, bias: Any) -> Any:
    if bias is not None:
        y += bias
    return y
