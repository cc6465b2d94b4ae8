"""Convolutions and affine maps in a row, whose intermediate results are not needed: one kernel for a few samples.

y = map_n(… map_1(x) …), where a map is an activation of x weightᵀ + bias, or of a convolution with ``window``, its
pooling last.

x (batch, *image), where an image is (height, width, channels), or (features) if all maps are affine; ``parameters`` are
weight_1, bias_1 where the layout says that there is one, weight_2 and so on. An affine map after a convolution reads
its pixels in a row, as `typednn.layers.Flatten` lays them out. One sample is computed after the other, by one thread;
what lies between the maps stays in its cache. As many flops as the maps alone.
Source: "Deep Learning Implementation With Rust", eqs 22, 25-27 and 30-33, chained.
"""

import math
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any, Final, NamedTuple, TypeAlias, cast, final

from typednn.arrays import AnyArray
from typednn.engines import Array, Cpu, Kernel, empty, fast, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels import conv2d, linear
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d import Window, direct
from typednn.kernels.conv2d.geometry import Geometry
from typednn.kernels.conv2d.images import store
from typednn.kernels.linear import schedules
from typednn.kernels.linear.cpu import FEW_ROWS
from typednn.kernels.op import Engine, flops_of, op

MAPS = 8  # in a kernel: one takes some tenths of a second to compile
_REMEMBERED = 64  # images of which a layout knows the number of rows

Image: TypeAlias = tuple[int, ...]


class Map(NamedTuple):
    """An affine map, or the convolution of a window: the shape of its weights, whether it has a bias, and its
    activation.
    """

    weight: tuple[int, ...]
    biased: bool
    activation: Activation
    window: Window | None = None


@final
class Layout:
    """The maps of a chain, and the kernel of its last call."""

    def __init__(self, maps: tuple[Map, ...]) -> None:
        self.maps: tuple[Map, ...] = maps
        # Shape and dtype of x and the parameters of the last call of the kernel, and this. Replaced whole: threads may
        # call at once.
        self.last: tuple[Image, Any, tuple[Any, ...], tuple[Kernel, Image] | None] = ((), FLOAT32, (None,), None)
        self._rows: dict[Image, int] = {}

    def __reduce__(self) -> Any:
        return Layout, (self.maps,)

    def takes(self, shape: Image) -> bool:
        """Whether one kernel is quicker for x of this shape."""
        return shape == self.last[0] or shape[0] <= self.most_rows(shape[1:])

    def most_rows(self, image: Image) -> int:
        """Rows up to which one kernel is quicker than one for each map; 0 where there is none for such an image."""
        found = self._rows.get(image)
        if found is None:
            if len(self._rows) >= _REMEMBERED:
                self._rows.clear()
            rows = _most_rows(image, self.maps)
            found = self._rows[image] = rows if rows and _kernel[image, self.maps, FLOAT32] else 0
        return found


def _steps(image: Image, maps: Sequence[Map]) -> Iterator[tuple[Map, Image, Geometry | None, Image]]:
    """Each map, the shape of a sample before it, its sizes if it is a convolution, and the shape after it."""
    before: Any = image
    for each in maps:
        out, *kernel = each.weight
        geometry: Geometry | None = None
        after: Image = (out,)
        if each.window is not None:
            (height, width, channels), (down, across, _) = before, kernel
            geometry = Geometry((height, width), channels, out, (down, across), each.window)
            after = (*geometry.out(), out)
        yield each, before, geometry, after
        before = after


def _most_rows(image: Image, maps: tuple[Map, ...]) -> int:
    """0 where a map does not fit, or threads would share its weights or each image."""
    if (len(image) == 3) != (maps[0].window is not None):
        return 0
    rows = FEW_ROWS
    for each, before, geometry, after in _steps(image, maps):
        if geometry is None:
            if math.prod(before) != each.weight[1] or math.prod(each.weight) > schedules.WEIGHTS:
                return 0
        elif (
            each.weight[3] != before[2]
            or not geometry.window.side_by_side
            or min(after) < 1
            or geometry.flops() >= direct.SHARED
        ):
            return 0
        else:
            rows = min(rows, max(1, direct.TASK // geometry.flops()))
    return rows


@specialised("chain", "image sizes")
def _kernel(image: Image, maps: tuple[Map, ...], dtype: Any) -> tuple[Kernel, Image]:
    """The kernel, and the shape of one sample of y."""
    *_, (_, _, _, end) = _steps(image, maps)
    parameters = [
        shape for each in maps for shape in ((each.weight, each.weight[:1]) if each.biased else (each.weight,))
    ]
    inputs = (Array("batch", *image), *(Array(*shape, parameter=True) for shape in parameters))
    return kernel(
        "chain",
        _build,
        inputs=inputs,
        outputs=(Array("batch", *end),),
        options={"image": image, "maps": maps},
        dtype=dtype,
    ), end


def _build(cpu: Cpu, x: "hl.ImageParam", *parameters: "hl.ImageParam", image: Image, maps: Sequence[Map]) -> "hl.Func":
    """Each map as its own kernel computes it, for the sample that the last one is about to read."""
    y: hl.ImageParam | hl.Func = x
    between: list[tuple[hl.Func, int]] = []
    rest, loop = iter(parameters), hl.Var("n")
    for place, (each, before, geometry, after) in enumerate(_steps(image, maps)):
        weight, bias = next(rest), [next(rest)] if each.biased else []
        if geometry is not None:
            y = direct.forward(cpu, y, weight, *bias, geometry=geometry, activation=each.activation)
        else:
            if len(before) == 3:
                y = _flattened(cpu, y, before)
                between.append((y, math.prod(before)))
            out_features, in_features = each.weight
            y, _, loop = schedules.row_products(
                cpu, f"y{place}", y, weight, bias, in_features, out_features, each.activation
            )
        between.append((y, math.prod(after)))
    last, _ = between.pop()
    for stage, size in between:
        store(stage.compute_at(last, loop), size)
    return last


def _flattened(cpu: Cpu, image: "hl.ImageParam | hl.Func", shape: Image) -> "hl.Func":
    """The pixels of an image in a row."""
    _, width, channels = shape
    i, n, flat = hl.Var("i"), hl.Var("n"), hl.Func("flat")
    flat[i, n] = image[i % channels, (i // channels) % width, i // (channels * width), n]
    lanes = next(count for count in (cpu.lanes, cpu.lanes // 2, cpu.lanes // 4, 1) if count and channels % count == 0)
    return flat.bound(i, 0, math.prod(shape)).vectorize(i, lanes)


def _reference(x: AnyArray, layout: Layout, *parameters: Any) -> AnyArray:
    """y (batch, *image)."""
    y: Any = x
    rest = iter(parameters)
    for each in layout.maps:
        weight, bias = next(rest), next(rest) if each.biased else None
        if each.window is None:
            y = linear.reference.forward(y.reshape(len(y), -1), weight, bias, each.activation)
        else:
            y, _ = conv2d.reference.forward(y, weight, bias, each.window, each.activation, False)
    return cast("AnyArray", y)


def _plan(x: AnyArray, layout: Layout, *parameters: Any) -> tuple[Kernel, Image] | None:
    """The kernel, where it is quicker and takes the parameters. Parameters are checked only when they are not those of
    the last call.
    """
    shape = x.shape
    last_shape, dtype, last_parameters, compiled = layout.last
    if shape != last_shape or x.dtype is not dtype or not all(map(is_, parameters, last_parameters)):
        if not layout.takes(shape) or not fast(x, *parameters):
            return None
        compiled = _kernel[shape[1:], layout.maps, x.dtype]
        if compiled is not None:
            layout.last = shape, x.dtype, parameters, compiled
    return compiled


def _run(planned: tuple[Kernel, Image], x: AnyArray, layout: Layout, *parameters: Any) -> AnyArray:
    """y, by one kernel."""
    kernel, end = planned
    y: AnyArray = empty((x.shape[0], *end), x.dtype)
    kernel.call(x, *parameters, y)
    return y


def _flops(x: AnyArray, layout: Layout) -> int:
    steps = _steps(x.shape[1:], layout.maps)
    times = [
        (each.weight, 1 if geometry is None else math.prod(geometry.convolved())) for each, _, geometry, _ in steps
    ]
    return 2 * len(x) * sum(math.prod(weight) * count for weight, count in times)


chain: Final = op(
    "chain",
    _reference,
    Engine("halide", _run, "x", plan=_plan),
    flops=flops_of(_reference, lambda x, layout, *parameters: _flops(x, layout)),
)
