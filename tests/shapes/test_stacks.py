"""Flows against arithmetic that knows nothing of them: the same stacks, computed size by size."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from effort import cheap
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from typednn.errors import StackError
from typednn.shapes import Dim, Flow, evaluate, split_contract, unknown

IMAGE = "batch height width channels"
Sample = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """One layer: what it declares, and what it does to the sizes of a sample; None if it does not fit."""

    label: str
    inputs: str
    output: str
    sizes: tuple[tuple[str, int], ...]
    compute: Callable[[Sample], Sample | None]

    def attributes(self, path: str) -> Dim | None:
        found = dict(self.sizes).get(path.removeprefix("self."))
        return None if found is None else Dim.of(found)

    def follow(self, flow: Flow) -> Flow:
        return flow.through(self.label, self.inputs, self.output, self.attributes)


@dataclass(frozen=True)
class Residual:
    """Two layers whose result must have the shape of what they read."""

    inner: tuple[Part, Part]
    sizes: tuple[tuple[str, int], ...]

    def follow(self, flow: Flow) -> Flow:
        keeps = ("inner", "batch *shape -> batch *shape", [part.follow for part in self.inner])
        return flow.through("Residual(...)", "batch *shape", "batch *shape", inner=[keeps])

    def compute(self, sample: Sample) -> Sample | None:
        return sample if after(self.inner, sample) == sample else None


@dataclass(frozen=True)
class PerPosition:
    """A layer applied to every row of a sample."""

    inner: Part
    sizes: tuple[tuple[str, int], ...]

    def follow(self, flow: Flow) -> Flow:
        rows = ("inner", "batch*time features -> batch*time out_features", [self.inner.follow])
        return flow.through(
            f"PerPosition({self.inner.label})", "batch time features", "batch time out_features", inner=[rows]
        )

    def compute(self, sample: Sample) -> Sample | None:
        given_row = self.inner.compute(sample[1:]) if len(sample) == 2 else None
        return given_row and (sample[0], *given_row)


Layer: TypeAlias = Part | Residual | PerPosition


def positions(size: int, window: int, step: int, padding: int = 0) -> int:
    """How many windows fit, counted one by one."""
    return len([at for at in range(-padding, size + padding + 1, step) if at + window <= size + padding])


def image(compute: Callable[[int, int, int], Sample | None]) -> Callable[[Sample], Sample | None]:
    def checked(sample: Sample) -> Sample | None:
        result = compute(*sample) if len(sample) == 3 else None
        return result if result is not None and min(result) > 0 else None

    return checked


def conv(n: int, m: int, kernel: tuple[int, int], stride: int, padding: int) -> Part:
    rows = "(height+2*{self.padding}-{self.kernel_size[0]})//{self.stride}+1"
    columns = "(width+2*{self.padding}-{self.kernel_size[1]})//{self.stride}+1"

    def compute(height: int, width: int, channels: int) -> Sample | None:
        if channels != n:
            return None
        return positions(height, kernel[0], stride, padding), positions(width, kernel[1], stride, padding), m

    sizes = {
        "n": n,
        "m": m,
        "kernel_size[0]": kernel[0],
        "kernel_size[1]": kernel[1],
        "stride": stride,
        "padding": padding,
    }
    label = f"Conv2d({n}, {m}, {kernel})"
    return Part(
        label, "batch height width {self.n}", f"batch {rows} {columns} {{self.m}}", tuple(sizes.items()), image(compute)
    )


def pool(size: int) -> Part:
    output = "batch height//{self.size} width//{self.size} channels"
    compute = image(lambda h, w, c: (positions(h, size, size), positions(w, size, size), c))
    return Part(f"MaxPool2d({size})", IMAGE, output, (("size", size),), compute)


def pad(size: int) -> Part:
    output = "batch height+2*{self.size} width+2*{self.size} channels"
    return Part(
        f"Pad2d({size})", IMAGE, output, (("size", size),), image(lambda h, w, c: (h + 2 * size, w + 2 * size, c))
    )


def linear(n: int, m: int) -> Part:
    def compute(sample: Sample) -> Sample | None:
        return (m,) if sample == (n,) else None

    return Part(f"Linear({n}, {m})", "batch {self.n}", "batch {self.m}", (("n", n), ("m", m)), compute)


FLATTEN = Part("Flatten", IMAGE, "batch height*width*channels", (), image(lambda h, w, c: (math.prod((h, w, c)),)))
RELU = Part("ReLU", "*shape", "*shape", (), lambda sample: sample)
SOFTMAX = Part("Softmax", "batch features", "batch features", (), lambda sample: sample if len(sample) == 1 else None)

small = st.integers(1, 3)
images = st.tuples(st.integers(1, 14), st.integers(1, 14), small)


def after(parts: Sequence[Layer], sample: Sample) -> Sample | None:
    result: Sample | None = sample
    for part in parts:
        result = None if result is None else part.compute(result)
    return result


@st.composite
def stacks(draw: st.DrawFn) -> tuple[Sequence[Layer], Sample]:
    """A stack, and a sample that mostly fits it: sizes are now and then a little wrong."""
    start: Sample = draw(st.one_of(images, images, images, small.map(lambda n: (n,)), st.tuples(small, small)))
    sample: Sample | None = start
    parts: list[Layer] = []
    for _ in range(draw(st.integers(1, 6))):
        wrong = draw(st.sampled_from([0] * 12 + [1, 2]))
        given_size = sample[-1] if sample else draw(st.integers(1, 40))
        fitting = {3: ["conv", "pool", "pad", "flatten", "relu", "residual"], 2: ["relu", "position"]}.get(
            len(sample or ()), ["linear", "softmax", "relu"]
        )
        anything = wrong > 0 and draw(st.booleans())
        kind = draw(
            st.sampled_from(
                ["conv", "pool", "flatten", "linear", "softmax", "residual", "position"] if anything else fitting
            )
        )
        part: Layer
        match kind:
            case "conv":
                kernel = (draw(small), draw(small))
                part = conv(given_size + wrong, draw(small), kernel, draw(st.integers(1, 2)), draw(st.integers(0, 1)))
            case "residual":
                inner = conv(given_size, given_size + wrong, (3, 3), 1, draw(st.sampled_from([1, 1, 0])))
                second = draw(st.sampled_from([RELU, RELU, pool(1), pad(1), SOFTMAX]))
                part = Residual((inner, second), inner.sizes)
            case "position":
                part = PerPosition(linear(given_size + wrong, draw(small)), (("n", given_size + wrong),))
            case "pool":
                part = pool(draw(st.integers(1, 3)))
            case "pad":
                part = pad(draw(st.integers(0, 2)))
            case "flatten":
                part = FLATTEN
            case "linear":
                part = linear(given_size + wrong, draw(st.integers(1, 20)))
            case "softmax":
                part = SOFTMAX
            case _:
                part = RELU
        parts.append(part)
        sample = None if sample is None else part.compute(sample)
    return parts, start


def flowing(parts: Sequence[Layer], flow: Flow) -> Flow | None:
    for part in parts:
        try:
            flow = part.follow(flow)
        except StackError:
            return None
    return flow


def bound(flow: Flow, sample: Sample) -> dict[str, Dim]:
    """The names in a flow's contract, as numbers."""
    inputs = flow.contract.split(" -> ")[0].split()
    return {name: Dim.of(size) for name, size in zip(inputs, (8, *sample), strict=True) if name.isidentifier()}


@cheap
@given(stacks())
def test_known_sizes_give_the_verdict_and_the_sizes_of_plain_arithmetic(stack: tuple[Sequence[Layer], Sample]) -> None:
    parts, sample = stack
    expected = after(parts, sample)
    for flow in (flowing(parts, Flow.start(sample)), flowing(parts, Flow.of((8, *sample)))):
        assert (None if flow is None else flow.sizes()) == expected
        assert flow is None or flow.open_constraints == ()


@settings(max_examples=500, suppress_health_check=[HealthCheck.filter_too_much])
@given(stacks())
def test_unknown_sizes_never_refuse_what_fits(stack: tuple[Sequence[Layer], Sample]) -> None:
    parts, sample = stack
    expected = after(parts, sample)
    assume(expected is not None)
    flow = flowing(parts, Flow.start())
    assert flow is not None
    if flow.shape is None:
        return
    sizes = bound(flow, sample)
    assert [dim and dim.substitute(sizes) for dim in flow.shape] == [Dim.of(size) for size in (8, *(expected or ()))]
    assert all(
        constraint.left.substitute(sizes) == constraint.right.substitute(sizes) for constraint in flow.open_constraints
    )


@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(stacks())
def test_what_unknown_sizes_refuse_fits_nothing(stack: tuple[Sequence[Layer], Sample]) -> None:
    parts, sample = stack
    assume(flowing(parts, Flow.start()) is None)
    channels = dict(parts[0].sizes).get("n", 1)
    for height, width in itertools.product(range(1, 18), repeat=2):
        assert after(parts, (height, width, channels)) is None
        assert after(parts, (height, width, sample[-1])) is None
    for features in range(1, 60):
        assert after(parts, (features,)) is None
        assert after(parts, (sample[0], features)) is None


@settings(max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
@given(stacks(), st.integers(1, 5))
def test_a_contract_says_what_its_stack_does(stack: tuple[Sequence[Layer], Sample], cut: int) -> None:
    parts, sample = stack
    first, second = parts[:cut], parts[cut:]
    before, inner = flowing(first, Flow.start(sample)), flowing(second, Flow.start())
    assume(before is not None and inner is not None and second)
    assert before is not None
    assert inner is not None
    inputs, output, where = split_contract(inner.contract)
    try:
        flow = before.through("Chain", inputs, output, unknown, where)
    except StackError:
        assert after(parts, sample) is None
        return
    expected = after(parts, sample)
    assert expected is None or flow.sizes() == expected


@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
@given(stacks())
def test_what_a_contract_says_can_be_read(stack: tuple[Sequence[Layer], Sample]) -> None:
    flow = flowing(stack[0], Flow.start())
    assume(flow is not None and flow.shape is not None)
    assert flow is not None
    words = flow.contract.replace(" -> ", " ").partition(" if ")[0].split()
    assert None not in [evaluate(word, Dim.named) for word in words]
    for condition in split_contract(flow.contract)[2]:
        assert None not in [evaluate(side, Dim.named) for side in condition.split("==")]
