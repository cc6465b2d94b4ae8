"""What a flow knows after each layer, and every sentence it says, word for word."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from typednn.errors import StackError
from typednn.shapes import Axis, Dim, Flow, split_contract, unknown

Step = Callable[[Flow], Flow]


def lookup(**sizes: int) -> Callable[[str], Dim | None]:
    return lambda path: Dim.of(sizes[path.removeprefix("self.")]) if path.removeprefix("self.") in sizes else None


def linear(n: int, m: int) -> Step:
    sizes = lookup(in_features=n, out_features=m)
    return lambda flow: flow.through(
        f"Linear({n}, {m})", "batch {self.in_features}", "batch {self.out_features}", sizes
    )


def conv(n: int, m: int, kernel: int, stride: int = 1, padding: int = 0) -> Step:
    sizes = {"in_channels": n, "out_channels": m, "kernel_size[0]": kernel, "kernel_size[1]": kernel}
    sizes |= {"stride": stride, "padding": padding, "dilation": 1}
    rows = "(height+2*{self.padding}-{self.dilation}*({self.kernel_size[0]}-1)-1)//{self.stride}+1"
    columns = "(width+2*{self.padding}-{self.dilation}*({self.kernel_size[1]}-1)-1)//{self.stride}+1"
    return lambda flow: flow.through(
        f"Conv2d({n}, {m}, {kernel})",
        "batch height width {self.in_channels}",
        f"batch {rows} {columns} {{self.out_channels}}",
        lookup(**sizes),
    )


def pool(size: int) -> Step:
    output = "batch height//{self.size} width//{self.size} channels"
    return lambda flow: flow.through(f"MaxPool2d({size})", "batch height width channels", output, lookup(size=size))


def layer(label: str, inputs: str, output: str, **sizes: int) -> Step:
    return lambda flow: flow.through(label, inputs, output, lookup(**sizes))


FLATTEN = layer("Flatten", "batch height width channels", "batch height*width*channels")
RELU = layer("ReLU", "*shape", "*shape")
SOFTMAX = layer("Softmax", "batch features", "batch features")
SUM = layer("Sum", "batch features", "batch")
OPAQUE = layer("Opaque", "batch *input", "batch *output")
LENET = [conv(1, 6, 5), pool(2), conv(6, 16, 5), pool(2), FLATTEN]


def residual(*inner: Step) -> Step:
    keeps = "batch *shape -> batch *shape"
    return lambda flow: flow.through("Residual(...)", "batch *shape", "batch *shape", inner=[("inner", keeps, inner)])


def per_position(inner: Step, label: str = "PerPosition(Linear(5, 3))") -> Step:
    rows = "batch*time features -> batch*time out_features"
    return lambda flow: flow.through(
        label, "batch time features", "batch time out_features", inner=[("inner", rows, [inner])]
    )


def bottleneck(down: Step, up: Step) -> Step:
    inner = [("down", "batch features -> batch hidden", [down]), ("up", "batch hidden -> batch features", [up])]
    return lambda flow: flow.through("Bottleneck", "batch features", "batch features+hidden", inner=inner)


def branches(first: Step, second: Step) -> Step:
    inner = [(name, "batch *shape -> batch *shape", [step]) for name, step in (("first", first), ("second", second))]
    return lambda flow: flow.through("Branches", "batch *shape", "batch *shape", inner=inner)


def gated(value: Step, gate: Step) -> Step:
    inner = [(name, "batch features -> batch hidden", [step]) for name, step in (("value", value), ("gate", gate))]
    return lambda flow: flow.through("Gated", "batch features", "batch hidden", inner=inner)


def run(steps: list[Step] | tuple[Step, ...], flow: Flow) -> Flow:
    for step in steps:
        flow = step(flow)
    return flow


def start(*sample: int) -> Flow:
    return Flow.start(sample)


def refusal(flow: Flow, *steps: Step) -> StackError:
    """The error of the last step; all before it must fit."""
    before = run(steps[:-1], flow)
    with pytest.raises(StackError) as error:
        steps[-1](before)
    return error.value


# -------------------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("flow", "steps", "message"),
    [
        pytest.param(
            start(32, 32, 1),
            [*LENET, linear(256, 120)],
            "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 400 (= 5*5*16, from MaxPool2d "
            "on 10x10x16)",
            id="provenance",
        ),
        pytest.param(
            start(32, 32, 1),
            [*LENET[:4], RELU, FLATTEN, RELU, SOFTMAX, linear(256, 120)],
            "Linear(256, 120) cannot follow Softmax: expects 256 features, gets 400 (= 5*5*16, from MaxPool2d "
            "on 10x10x16)",
            id="provenance skips layers that keep the shape",
        ),
        pytest.param(
            start(10, 10, 16),
            [pool(2), FLATTEN, layer("LayerNorm(400)", "batch {self.n}", "batch {self.n}", n=400), linear(256, 120)],
            "Linear(256, 120) cannot follow LayerNorm(400): expects 256 features, gets 400 (= 5*5*16, from "
            "MaxPool2d on 10x10x16)",
            id="provenance passes layers that know the size they keep",
        ),
        pytest.param(
            start(4, 4, 3),
            [
                layer("Rows", "batch height width channels", "batch height width*channels"),
                per_position(RELU, "PerPosition(ReLU)"),
                layer("Join", "batch time features", "batch time*features"),
                linear(5, 3),
            ],
            "Linear(5, 3) cannot follow Join: expects 5 features, gets 48 (= 4*12, from Rows on 4x4x3)",
            id="provenance skips wrappers of layers that keep the shape",
        ),
        pytest.param(
            start(28, 28, 1),
            [RELU, FLATTEN, linear(256, 120)],
            "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 784 (= 28*28*1, from Input(28, 28, 1))",
            id="provenance of a first layer, declared",
        ),
        pytest.param(
            Flow.of((8, 28, 28, 1)),
            [FLATTEN, linear(256, 120)],
            "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 784 (= 28*28*1)",
            id="provenance of a first layer, not declared",
        ),
        pytest.param(
            start(12, 12, 1),
            [
                pool(2),
                layer("Channels", "batch height width channels", "batch channels height*width"),
                layer("Keep", "a b c", "a c b"),
                SOFTMAX,
            ],
            "Softmax cannot follow Keep: expects 2 axes (batch, features), gets 3 axes (batch, 36, 1)",
            id="rank, three axes",
        ),
        pytest.param(
            start(12, 12, 1),
            [
                pool(2),
                layer("Mix", "batch height width channels", "batch channels height*width"),
                layer("Swap", "a b c", "a c b"),
                layer("Conv1d(5)", "batch {self.n} channels", "batch channels", n=5),
            ],
            "Conv1d(5) cannot follow Swap: expects n to be 5, gets 36 (= 6*6, from MaxPool2d on 12x12x1)",
            id="axes that are passed on keep their provenance",
        ),
        pytest.param(
            Flow.start(),
            [linear(784, 128), linear(127, 10)],
            "Linear(127, 10) cannot follow Linear(784, 128): expects 127 features, gets 128",
            id="features",
        ),
        pytest.param(
            Flow.start(),
            [conv(1, 6, 5), conv(3, 8, 5)],
            "Conv2d(3, 8, 5) cannot follow Conv2d(1, 6, 5): expects 3 channels, gets 6",
            id="channels",
        ),
        pytest.param(
            start(784),
            [linear(256, 10)],
            "Linear(256, 10) cannot follow Input(784): expects 256 features, gets 784",
            id="declared input",
        ),
        pytest.param(
            Flow.of((8, 783)),
            [linear(784, 10)],
            "Linear(784, 10) cannot follow an array of shape (8, 783): expects 784 features, gets 783",
            id="array",
        ),
        pytest.param(
            Flow.start(),
            [conv(1, 6, 5), linear(3, 4)],
            "Linear(3, 4) cannot follow Conv2d(1, 6, 5): expects 2 axes (batch, in_features=3), "
            "gets 4 axes (batch, height-4, width-4, 6); put Flatten() between them",
            id="rank, with Flatten",
        ),
        pytest.param(
            start(7, 5),
            [linear(5, 3)],
            "Linear(5, 3) cannot follow Input(7, 5): expects 2 axes (batch, in_features=5), gets 3 axes (batch, 7, 5)",
            id="rank, without Flatten",
        ),
        pytest.param(
            Flow.start(),
            [linear(3, 4), FLATTEN],
            "Flatten cannot follow Linear(3, 4): expects 4 axes (batch, height, width, channels), gets 2 axes "
            "(batch, 4)",
            id="rank, the other way round",
        ),
        pytest.param(
            Flow.start(),
            [conv(1, 6, 5), FLATTEN, linear(3, 10)],
            "Linear(3, 10) cannot follow Flatten: expects 3 features, gets 6*height*width-24*height-24*width+96 "
            "(= (height-4)*(width-4)*6, from Conv2d on height x width x 1)",
            id="proven with unknown sizes",
        ),
        pytest.param(
            start(4, 4, 1),
            [conv(1, 6, 5)],
            "Conv2d(1, 6, 5) cannot follow Input(4, 4, 1): kernel does not fit: height-4 is 0 (= 4-5+1); height "
            "must be at least 5",
            id="kernel does not fit",
        ),
        pytest.param(
            start(9, 3, 1),
            [conv(1, 6, 5, stride=2, padding=0)],
            "Conv2d(1, 6, 5) cannot follow Input(9, 3, 1): kernel does not fit: (width-5)//2+1 is 0 (= (3-5)//2+1); "
            "width must be at least 5",
            id="kernel with a stride does not fit",
        ),
        pytest.param(
            start(5, 5, 1),
            [conv(1, 6, 5), pool(2)],
            "MaxPool2d(2) cannot follow Conv2d(1, 6, 5): input is too small: height//2 is 0 (= 1//2); height "
            "must be at least 2",
            id="nothing left to pool",
        ),
        pytest.param(
            start(3, 3),
            [layer("Odd", "batch height width", "batch height-width")],
            "Odd cannot follow Input(3, 3): input is too small: height-width is 0 (= 3-3); every size must be "
            "at least 1",
            id="no single size to blame",
        ),
        pytest.param(
            Flow.start(),
            [layer("Crop(3)", "batch {self.n}", "batch {self.n}-{self.n}", n=3)],
            "Crop(3): output is empty: n-n is 0; every size must be at least 1",
            id="nothing to follow",
        ),
        pytest.param(
            start(12, 12, 1),
            [conv(1, 6, 5), residual(conv(6, 16, 3, padding=1))],
            "Residual(...): the inner layer must keep the shape: gets 8x8x6, gives 8x8x16",
            id="residual",
        ),
        pytest.param(
            Flow.start(),
            [residual(conv(6, 8, 3, padding=1))],
            "Residual(...): the inner layer must keep the shape: gets height x width x 6, gives height x width x 8",
            id="residual first",
        ),
        pytest.param(
            Flow.start(),
            [pool(2), residual(conv(6, 8, 3, padding=1))],
            "Residual(...): the inner layer must keep the shape: gets height//2 x width//2 x 6, gives height//2 "
            "x width//2 x 8",
            id="residual, once the inner layer has told the channels",
        ),
        pytest.param(
            Flow.of((4, 6)),
            [residual(layer("Half", "batch features", "batch//2 features"))],
            "Residual(...): the inner layer must keep the shape: gets 4x6, gives 2x6",
            id="residual, batch",
        ),
        pytest.param(
            start(7, 6),
            [per_position(linear(5, 3))],
            "Linear(5, 3) cannot follow Input(7, 6): expects 5 features, gets 6",
            id="per position, size",
        ),
        pytest.param(
            start(7),
            [per_position(linear(5, 3))],
            "PerPosition(Linear(5, 3)) cannot follow Input(7): expects 3 axes (batch, time, features), gets 2 "
            "axes (batch, 7)",
            id="per position, rank",
        ),
        pytest.param(
            start(7, 6),
            [per_position(SUM, "PerPosition(Sum)")],
            "PerPosition(Sum): the inner layer must give 2 axes (7*batch, out_features), gives 1 axis (7*batch)",
            id="per position, inner rank",
        ),
        pytest.param(
            start(6),
            [bottleneck(linear(6, 3), linear(3, 5))],
            "Bottleneck: the inner layer must give features=6, gives 5",
            id="a name that is bound",
        ),
        pytest.param(
            start(6),
            [bottleneck(linear(6, 3), linear(4, 6))],
            "Linear(4, 6) cannot follow Input(6): expects 4 features, gets 3",
            id="a name that the inner layer before bound",
        ),
        pytest.param(
            start(6),
            [bottleneck(linear(6, 3), linear(3, 6)), linear(8, 2)],
            "Linear(8, 2) cannot follow Bottleneck: expects 8 features, gets 9 (= 6+3, from Input(6))",
            id="names of inner layers in what a wrapper gives",
        ),
        pytest.param(
            Flow.start(),
            [branches(linear(3, 3), linear(4, 4))],
            "Linear(4, 4): expects 4 features, gets 3",
            id="two branches of one input",
        ),
        pytest.param(
            Flow.start(),
            [gated(linear(4, 3), linear(5, 3))],
            "Linear(5, 3): expects 5 features, gets 4",
            id="what one inner layer tells of a name, another reads",
        ),
        pytest.param(
            start(4, 5),
            [layer("Square", "batch side side", "batch side")],
            "Square cannot follow Input(4, 5): expects side to be 4, gets 5",
            id="two axes of one name",
        ),
        pytest.param(
            start(4, 5),
            [layer("Grid", "batch 4 6", "batch 24")],
            "Grid cannot follow Input(4, 5): expects axis 2 to be 6, gets 5",
            id="a number",
        ),
    ],
)
def test_message(flow: Flow, steps: list[Step], message: str) -> None:
    assert str(refusal(flow, *steps)) == message


def test_an_error_carries_its_parts() -> None:
    error = refusal(start(28, 28, 1), pool(2), RELU, FLATTEN, linear(256, 10))
    trace = ("MaxPool2d(2)  28x28x1 -> 14x14x1", "ReLU  14x14x1 -> 14x14x1", "Flatten  14x14x1 -> 196")
    assert vars(error) == {
        "reason": "size",
        "axis": "features",
        "expected": "256",
        "got": "196",
        "argument": "in_features",
        "trace": trace,
        "layers": [],
    }


@pytest.mark.parametrize(
    ("flow", "step", "parts"),
    [
        (start(7, 5), linear(5, 3), ("rank", "", "2 axes (batch, in_features=5)", "3 axes (batch, 7, 5)", "")),
        (start(4, 4, 3), conv(1, 6, 5), ("size", "channels", "1", "3", "in_channels")),
        (start(4, 4, 1), conv(1, 6, 5), ("empty", "height", "at least 1", "0", "kernel_size")),
        (
            start(1, 2, 1),
            layer("Cut", "batch height width 1", "batch height-1 width 1"),
            ("empty", "height", "at least 1", "0", ""),
        ),
        (start(6), residual(linear(6, 5)), ("shape", "", "6", "5", "")),
        (
            start(7, 5),
            per_position(layer("Sum", "batch features", "batch")),
            ("rank", "", "2 axes (7*batch, out_features)", "1 axis (7*batch)", ""),
        ),
        (start(4, 5), layer("Same", "batch side side", "batch side"), ("size", "side", "4", "5", "")),
    ],
)
def test_every_error_carries_its_parts(flow: Flow, step: Step, parts: tuple[str, ...]) -> None:
    error = refusal(flow, step)
    assert (error.reason, error.axis, error.expected, error.got, error.argument) == parts
    assert isinstance(error.trace, tuple)


# -------------------------------------------------------------------------------------------------- what is known


def test_a_declared_input_makes_every_size_known() -> None:
    flow = run([*LENET, linear(400, 120), RELU, linear(120, 10)], start(32, 32, 1))
    assert flow.shape == [Dim.named("batch"), Dim.of(10)]
    assert flow.sizes() == (10,)
    assert flow.contract == str(flow) == "batch 32 32 1 -> batch 10"
    assert flow.open_constraints == ()
    assert flow.trace[2:6] == (
        "Conv2d(6, 16, 5)  14x14x6 -> 10x10x16",
        "MaxPool2d(2)  10x10x16 -> 5x5x16",
        "Flatten  5x5x16 -> 400",
        "Linear(400, 120)  400 -> 120",
    )


def test_flows_do_not_change() -> None:
    flow = start(4)
    linear(4, 5)(flow)
    assert flow == start(4)
    with pytest.raises(AttributeError):
        flow.axes = None  # type: ignore[misc]


def test_provenance_of_an_axis() -> None:
    flow = run([pool(2), FLATTEN], start(4, 4, 3))
    assert flow.axes == (Axis(Dim.named("batch")), Axis(Dim.of(12), "2*2*3", "from MaxPool2d on 4x4x3"))


@pytest.mark.parametrize(
    ("steps", "contract"),
    [
        ([], "*shape -> *shape"),
        ([RELU], "*shape -> *shape"),
        ([RELU, linear(3, 4)], "batch 3 -> batch 4"),
        ([conv(1, 6, 5)], "batch height width 1 -> batch height-4 width-4 6"),
        ([conv(3, 8, 3, stride=2)], "batch height width 3 -> batch (height-3)//2+1 (width-3)//2+1 8"),
        ([conv(3, 8, 3, 2, 1), pool(2)], "batch height width 3 -> batch (height+1)//4 (width+1)//4 8"),
        ([pool(2), conv(6, 8, 3)], "batch height width 6 -> batch height//2-2 width//2-2 8"),
        ([SOFTMAX, linear(3, 4)], "batch 3 -> batch 4"),
        ([FLATTEN, linear(400, 120)], "batch height width channels -> batch 120 if channels*height*width==400"),
        (
            [conv(1, 6, 5), FLATTEN, linear(96, 120)],
            "batch height width 1 -> batch 120 if 6*height*width-24*height-24*width+96==96",
        ),
        (
            [layer("Square", "batch a b", "batch a b"), layer("Diagonal", "batch side side", "batch side")],
            "batch b b -> batch b",
        ),
        ([OPAQUE], "... -> ..."),
        ([OPAQUE, linear(3, 4)], "... -> batch 4"),
        ([linear(3, 4), OPAQUE], "batch 3 -> ..."),
        ([layer("Drop", "_ {self.n}", "_ {self.n}", n=3)], "_ 3 -> _ 3"),
        ([layer("Find", "batch features", "batch found"), linear(3, 4)], "batch features -> batch 4 if found==3"),
        (
            [layer("Find", "batch features", "batch found"), layer("Find", "batch features", "batch found"), SOFTMAX],
            "batch features -> batch found_2",
        ),
        (
            [layer("Grow", "batch features", "batch height features"), per_position(linear(5, 3))],
            "batch 5 -> batch height 3",
        ),
        ([per_position(linear(5, 3))], "batch time 5 -> batch time 3"),
        (
            [layer("Outer", "batch features", "batch features features"), per_position(linear(5, 3))],
            "batch 5 -> batch 5 3",
        ),
        ([per_position(RELU)], "batch time features -> batch time features"),
        ([per_position(OPAQUE)], "batch time features -> batch time out_features"),
        ([residual(conv(6, 6, 3, padding=1))], "batch height width 6 -> batch height width 6"),
        ([pool(2), residual(conv(6, 6, 3, padding=1))], "batch height width 6 -> batch height//2 width//2 6"),
        ([residual(RELU)], "*shape -> *shape"),
        ([residual(OPAQUE)], "*shape -> *shape"),
        ([OPAQUE, residual(linear(3, 3))], "... -> batch 3"),
        ([bottleneck(linear(6, 3), linear(3, 6))], "batch 6 -> batch 9"),
        ([bottleneck(SOFTMAX, SOFTMAX)], "batch features -> batch 2*features"),
        ([branches(OPAQUE, linear(4, 4))], "batch 4 -> batch 4"),
        ([branches(conv(6, 6, 3, padding=1), RELU)], "batch height width 6 -> batch height width 6"),
        ([linear(3, 4), residual(OPAQUE)], "batch 3 -> batch 4"),
        (
            [residual(conv(6, 6, 3, padding=1), layer("Half", "batch h w c", "batch 2*(h//2) w c"))],
            "batch height width 6 -> batch height width 6 if 2*(height//2)==height",
        ),
    ],
)
def test_contract(steps: list[Step], contract: str) -> None:
    assert run(steps, Flow.start()).contract == contract


def test_open_constraints_are_decided_by_what_comes_later() -> None:
    steps = [layer("Fold", "batch a b", "batch a b 2*(a//2)"), layer("Check", "batch a b a", "batch a b")]
    flow = run(steps, Flow.start())
    assert [str(constraint) for constraint in flow.open_constraints] == ["2*(a//2)==a"]
    assert run([layer("Even", "batch 4 b", "batch b")], flow).open_constraints == ()
    error = refusal(flow, layer("Odd", "batch 5 b", "batch b"))
    assert str(error) == "Odd cannot follow Check: expects 2*(a//2) to be 5, gets 4"


def test_a_name_of_a_layer_is_not_the_name_of_another() -> None:
    swap = layer("Swap", "batch width height", "batch height width")
    assert run([swap, swap], Flow.start()).contract == "batch width height -> batch width height"


def test_a_name_that_a_layer_brings_is_not_the_name_of_a_given_size() -> None:
    given_names = Flow.of([Dim.named("batch"), Dim.named("found")])
    assert run([layer("Find", "batch features", "batch found")], given_names).contract == "batch found -> batch found_2"


def test_what_binds_nothing_is_not_passed_on() -> None:
    assert run([layer("Any", "_ features", "_ features")], Flow.of((2, 3))).contract == "2 3 -> _ 3"
    assert run([layer("Spread", "batch #n", "batch n")], Flow.of((2, 1))).contract == "2 1 -> 2 n"


def test_one_constraint_is_told_once() -> None:
    check = layer("Check", "batch a b a", "batch a b b")
    fold = layer("Fold", "batch a b *rest", "batch a b 2*(a//2)")
    flow = run([fold, check, fold, check], Flow.of([Dim.named(name) for name in ("batch", "a", "b", "c")]))
    assert [str(constraint) for constraint in flow.open_constraints] == ["2*(a//2)==a"]


def test_wrappers_are_what_the_next_layer_follows() -> None:
    flow = run([pool(2), residual(conv(3, 3, 3, padding=1)), FLATTEN], start(4, 4, 3))
    assert flow.trace[1:3] == ("Conv2d(3, 3, 3)  2x2x3 -> 2x2x3", "Residual(...)  2x2x3 -> 2x2x3")
    assert str(refusal(flow, linear(5, 3))).endswith("gets 12 (= 2*2*3, from MaxPool2d on 4x4x3)")
    flow = run([per_position(linear(5, 3))], start(7, 5))
    assert flow.trace == ("Linear(5, 3)  5 -> 3", "PerPosition(Linear(5, 3))  7x5 -> 7x3")
    assert str(refusal(flow, linear(5, 3))).startswith("Linear(5, 3) cannot follow PerPosition(Linear(5, 3)): ")


def test_shapes_of_arrays() -> None:
    flow = run([linear(3, 4)], Flow.of([Dim.named("n") * 2, 3]))
    assert flow.contract == "2*n 3 -> 2*n 4"
    flow = run([RELU], Flow.of([None, 3]))
    assert (flow.contract, flow.sizes()) == ("_ 3 -> _ 3", (3,))
    assert run([layer("Sum", "batch features", "batch")], start(3)).sizes() == ()
    assert run([conv(1, 6, 5)], Flow.start()).sizes() is None
    assert Flow.start().sizes() is None
    assert Flow.start().shape is None


def test_empty_batches_pass() -> None:
    assert run([linear(3, 4)], Flow.of((0, 3))).shape == [Dim.of(0), Dim.of(4)]


def test_a_size_that_an_annotation_reveals_is_kept() -> None:
    assert run([linear(3, 4)], Flow.of([2, None])).contract == "2 _ -> 2 4"
    assert run([layer("Norm(3)", "batch {self.n}", "batch {self.n}", n=3)], Flow.of([2, None])).shape == [
        Dim.of(2),
        Dim.of(3),
    ]


def test_a_stack_can_be_one_layer_of_another() -> None:
    inner = run([pool(2), FLATTEN, linear(75, 10)], Flow.start())
    inputs, output, where = split_contract(inner.contract)
    assert (inputs, output) == ("batch height width channels", "batch 10")
    assert where == ("channels*(height//2)*(width//2)==75",)
    assert split_contract("batch 3 -> batch 4") == ("batch 3", "batch 4", ())
    fits = start(10, 11, 3).through("Chain", inputs, output, unknown, where)
    assert fits.contract == "batch 10 11 3 -> batch 10"
    with pytest.raises(StackError) as error:
        start(10, 11, 4).through("Chain", inputs, output, unknown, where)
    assert (
        str(error.value)
        == "Chain cannot follow Input(10, 11, 4): expects channels*(height//2)*(width//2) to be 75, gets 100"
    )


def test_the_algebra_loads_no_array_library() -> None:
    program = "import sys, typednn.shapes; print(sorted({'numpy', 'jaxtyping', 'beartype', 'mypy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
