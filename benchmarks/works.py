"""The networks that `benchmarks.kernels` measures, written once for every engine, with the same weights and data.

A `Work` is a network, a batch, and the computation: only forward, or a whole training step. A `Contestant` is an engine
that computes it:

===================  ===================================================================================================
typednn              a chain of layers, run layer by layer
typednn-planned      the same chain by a plan: ``typednn.compile``
torch                PyTorch eager, as its users write it; forward alone under ``inference_mode``, optimizers in their
                     fused variants
torch-channels-last  the same in PyTorch's other memory layout
onnxruntime          ONNX Runtime, forward only
jax                  JAX jit: the step is one compiled function that reuses the memory of its parameters
===================  ===================================================================================================

A forward is inference. A step is forward, the loss's value, backward, and the optimizer's step of every parameter.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, Protocol

import numpy as np

from benchmarks import absent

Part = tuple[str, tuple[int, ...]]
Results = dict[str, Any]

SGD_RATE, ADAM_RATE = 0.01, 1e-4
STEPS = 3  # before the weights are compared
PLANNED = 5  # calls after which there is a plan
PEERS = ("torch", "torch-channels-last", "onnxruntime", "jax")
ENGINES = ("typednn", "typednn-planned", *PEERS)


def conv(channels: int, out_channels: int, kernel: int) -> Part:
    """A convolution."""
    return "conv", (channels, out_channels, kernel)


def linear(features: int, out_features: int) -> Part:
    """An affine map."""
    return "linear", (features, out_features)


RELU, FLATTEN, HALVED = ("relu", ()), ("flatten", ()), ("pool", (2,))

LENET5 = (
    ("pad", (2,)),
    *(conv(1, 6, 5), RELU, HALVED, conv(6, 16, 5), RELU, HALVED, FLATTEN),
    *(linear(400, 120), RELU, linear(120, 84), RELU, linear(84, 10)),
)
CONTROL = (linear(17, 256), RELU, linear(256, 256), RELU, linear(256, 6))
MLP = (linear(784, 1024), RELU, linear(1024, 1024), RELU, linear(1024, 10))


def _vgg() -> tuple[Part, ...]:
    parts: list[Part] = []
    for channels, out_channels in ((3, 64), (64, 128), (128, 256)):
        for inner in (channels, out_channels):
            parts += [("pad", (1,)), conv(inner, out_channels, 3), RELU]
        parts.append(HALVED)
    return (*parts, FLATTEN, linear(4 * 4 * 256, 10))


@dataclass(frozen=True, slots=True)
class Work:
    """The computation to measure. ``loss`` is the cross entropy of class labels, or the mean squared error."""

    title: str
    sample: tuple[int, ...]
    parts: tuple[Part, ...]
    batch: int
    optimizer: Literal["", "SGD", "Adam"]
    """Empty for forward only."""
    loss: Literal["labels", "mse"]
    engines: tuple[str, ...]
    slack: float = 1.0
    """A factor on the tolerance of gradients: of millions of ReLU inputs, rounding changes the sign of a few."""

    @property
    def images(self) -> bool:
        """Whether samples have height, width and channels."""
        return len(self.sample) == 3


BOTH = ("typednn", "typednn-planned")
LAYOUTS = ("torch", "torch-channels-last")


def _vgg_step(batch: int) -> Work:
    title = f"VGG-like 3x3 stack, batch {batch}, step with SGD"
    return Work(title, (32, 32, 3), _vgg(), batch, "SGD", "labels", (*BOTH, *LAYOUTS), slack=100.0)


WORKS: dict[str, Work] = {
    "lenet5-forward": Work(
        "LeNet5, batch 600, forward", (28, 28, 1), LENET5, 600, "", "labels", (*BOTH, *LAYOUTS, "onnxruntime")
    ),
    "lenet5-step": Work("LeNet5, batch 600, step with SGD", (28, 28, 1), LENET5, 600, "SGD", "labels",
        (*BOTH, *LAYOUTS, "jax")),
    "lenet5-one": Work("LeNet5, batch 1, forward", (28, 28, 1), LENET5, 1, "", "labels",
        (*BOTH, *LAYOUTS, "onnxruntime")),
    "control-one": Work("MLP 17-256-256-6, batch 1, forward", (17,), CONTROL, 1, "", "mse", (*BOTH, "torch")),
    "control-step": Work("MLP 17-256-256-6, batch 256, step with Adam", (17,), CONTROL, 256, "Adam", "mse",
        (*BOTH, "torch")),
    "mlp-step": Work("MLP 784-1024-1024-10, batch 256, step with Adam", (784,), MLP, 256, "Adam", "labels",
        (*BOTH, "torch")),
    "vgg-step": _vgg_step(32),
    "vgg-step-8": _vgg_step(8),
    "vgg-step-1": _vgg_step(1),
}  # fmt: skip


# --------------------------------------------------------------------------------------------- the same numbers for all


def weights(work: Work) -> dict[str, Any]:
    """Every parameter under typednn's name and in its layout."""
    rng = np.random.default_rng(42)
    parameters: dict[str, Any] = {}
    for place, (kind, sizes) in enumerate(work.parts):
        if kind not in ("conv", "linear"):
            continue
        shape = (sizes[1], sizes[2], sizes[2], sizes[0]) if kind == "conv" else sizes[::-1]
        scale = math.sqrt(2 / math.prod(shape[1:]))
        parameters[f"{place}.weight"] = (rng.standard_normal(shape) * scale).astype(np.float32)
        parameters[f"{place}.bias"] = (rng.standard_normal(sizes[1]) * 0.1).astype(np.float32)
    return parameters


def samples(work: Work) -> tuple[Any, Any]:
    """Inputs, and labels or target numbers."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((work.batch, *work.sample), dtype=np.float32)
    outputs = work.parts[-1][1][1]
    if work.loss == "labels":
        return x, rng.integers(0, outputs, work.batch)
    return x, rng.standard_normal((work.batch, outputs), dtype=np.float32)


def flattened(work: Work) -> tuple[str, Any] | None:
    """The name of the weight that reads flattened images, and the order of its columns with channels first."""
    places = [place for place, (kind, _) in enumerate(work.parts) if kind == "flatten"]
    if not places:
        return None
    channels = next(sizes[1] for kind, sizes in reversed(work.parts[: places[0]]) if kind == "conv")
    features = work.parts[places[0] + 1][1][0]
    side = math.isqrt(features // channels)
    return f"{places[0] + 1}.weight", np.arange(features).reshape(side, side, channels).transpose(2, 0, 1).ravel()


def channels_first(work: Work, name: str, array: Any) -> Any:
    """A parameter in the layout of PyTorch and ONNX."""
    if array.ndim == 4:
        return np.ascontiguousarray(array.transpose(0, 3, 1, 2))
    columns = flattened(work)
    return array[:, columns[1]] if columns is not None and columns[0] == name else array


def channels_last(work: Work, name: str, array: Any) -> Any:
    """The inverse of `channels_first`."""
    if array.ndim == 4:
        return array.transpose(0, 2, 3, 1)
    columns = flattened(work)
    return array[:, np.argsort(columns[1])] if columns is not None and columns[0] == name else array


# ---------------------------------------------------------------------------------------------------- the contestants


class Contestant(Protocol):
    """One engine that computes one work."""

    def results(self) -> Results:
        """Output, loss and gradients of the first step, and each parameter's change after `STEPS` steps. Call it once,
        before `run`.
        """
        ...

    def run(self, times: int) -> None:
        """Do the work ``times`` times."""
        ...

    def described(self) -> str: ...


class Typednn:
    """typednn."""

    def __init__(self, work: Work, planned: bool) -> None:
        from typednn import Input, compile
        from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU
        from typednn.losses import MSE, SoftmaxCrossEntropy
        from typednn.optim import SGD, Adam

        kinds: dict[str, Callable[..., Any]] = {
            "pad": Pad2d, "conv": partial(Conv2d, bias=True), "relu": ReLU, "pool": MaxPool2d, "flatten": Flatten,
                "linear": Linear,
        }  # fmt: skip
        model: Any = Input(*work.sample)
        for kind, sizes in work.parts:
            model = model >> kinds[kind](*sizes)
        model.load_state_dict(weights(work))
        self.planned = planned
        self.model: Any = model if work.optimizer else model.eval()
        self.learner: Any = compile(model) if planned else model
        self.loss: Any = SoftmaxCrossEntropy() if work.loss == "labels" else MSE()
        self.optimizer: Any = Adam(ADAM_RATE) if work.optimizer == "Adam" else SGD(SGD_RATE)
        self.work = work
        self.x, self.y = samples(work)

    def step(self) -> tuple[Any, float, Any]:
        """Output, loss and gradient of one training step."""
        output = self.learner.forward(self.x)
        loss, derivative = self.loss.loss_and_grad(output, self.y)
        grad = self.learner.backward(derivative)
        self.model.update(self.optimizer, grad)
        return output, loss, grad

    def run(self, times: int) -> None:
        if self.work.optimizer:
            for _ in range(times):
                self.step()
        else:
            forward, x = self.learner.forward, self.x
            for _ in range(times):
                forward(x)

    def results(self) -> Results:
        if not self.work.optimizer:
            return {"output": self.learner.forward(self.x)}
        before = weights(self.work)
        output, loss, grad = self.step()
        results = {"output": output.copy(), "loss": np.array(loss)}
        results |= {f"gradient {name}": array.copy() for name, array in self.model.named_gradients(grad).items()}
        for _ in range(STEPS - 1):
            self.step()
        return results | {f"way {name}": array - before[name] for name, array in self.model.named_parameters().items()}

    def described(self) -> str:
        typednn, engines = import_module("typednn"), import_module("typednn.engines")
        blas = import_module("typednn.engines.blas")
        kind = "by a plan" if self.planned else "layer by layer"
        return (
            f"typednn {typednn.__version__}, {kind}, checks {typednn.get_checks()!r}, {engines.get_threads()} "
            f"threads; {blas.why()}"
        )

    def ran(self) -> Counter[tuple[str, str]]:
        """The engine of each op: those of a plan, or counted in one more run, which is layer by layer."""
        if self.planned:
            self.run(PLANNED)
            return Counter((line.name, line.engine) for line in self.learner.explain(times=1).lines)
        with import_module("typednn.engines").counting() as counts:
            self.run(1)
        return Counter(counts)


class Torch:
    """PyTorch, eager."""

    def __init__(self, work: Work, layout: Literal["contiguous_format", "channels_last"]) -> None:
        import torch
        from torch import nn

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.torch: Any = torch
        self.layout = layout
        self.work = work
        parts: list[Any] = []
        self.names: dict[str, str] = {}
        padding = 0
        for place, (kind, sizes) in enumerate(work.parts):
            if kind in ("conv", "linear"):
                self.names |= {f"{place}.{what}": f"{len(parts)}.{what}" for what in ("weight", "bias")}
            match kind:
                case "pad":
                    padding = sizes[0]
                case "conv":
                    parts.append(nn.Conv2d(*sizes, padding=padding))
                    padding = 0
                case "relu":
                    parts.append(nn.ReLU())
                case "pool":
                    parts.append(nn.MaxPool2d(*sizes))
                case "flatten":
                    parts.append(nn.Flatten())
                case _:
                    parts.append(nn.Linear(*sizes))
        self.model: Any = nn.Sequential(*parts)
        initial = weights(work)
        self.model.load_state_dict(
            {self.names[name]: torch.tensor(channels_first(work, name, initial[name])) for name in initial}
        )
        x, y = samples(work)
        self.x: Any = torch.tensor(x)
        self.y: Any = torch.tensor(y)
        if work.images:
            self.model = self.model.to(memory_format=getattr(torch, layout))
            self.x = self.x.permute(0, 3, 1, 2).contiguous(memory_format=getattr(torch, layout))
        if not work.optimizer:
            self.model.eval()
        self.loss: Any = nn.CrossEntropyLoss() if work.loss == "labels" else nn.MSELoss()
        kind, rate = (torch.optim.Adam, ADAM_RATE) if work.optimizer == "Adam" else (torch.optim.SGD, SGD_RATE)
        self.optimizer: Any = kind(self.model.parameters(), rate, fused=True)

    def step(self) -> tuple[Any, Any]:
        """Output and loss of one training step; gradients stay until the next."""
        self.optimizer.zero_grad()
        output = self.model(self.x)
        loss = self.loss(output, self.y)
        loss.backward()
        self.optimizer.step()
        return output, loss

    def run(self, times: int) -> None:
        if self.work.optimizer:
            for _ in range(times):
                self.step()
        else:
            model, x = self.model, self.x
            with self.torch.inference_mode():
                for _ in range(times):
                    model(x)

    def results(self) -> Results:
        if not self.work.optimizer:
            with self.torch.inference_mode():
                return {"output": self.model(self.x).numpy()}
        before = weights(self.work)
        output, loss = self.step()
        results = {"output": output.detach().numpy(), "loss": loss.detach().numpy()}
        named = dict(self.model.named_parameters())
        for ours, theirs in self.names.items():
            results[f"gradient {ours}"] = channels_last(self.work, ours, named[theirs].grad.contiguous().numpy().copy())
        for _ in range(STEPS - 1):
            self.step()
        for ours, theirs in self.names.items():
            results[f"way {ours}"] = (
                channels_last(self.work, ours, named[theirs].detach().contiguous().numpy()) - before[ours]
            )
        return results

    def described(self) -> str:
        layout = f", {self.layout}" if self.work.images else ""
        return (
            f"PyTorch {self.torch.__version__} eager{layout}, {self.torch.get_num_threads()} threads, "
            f"{_capability(self.torch)}"
        )


def _capability(torch: Any) -> str:
    return f"{torch.backends.cpu.get_cpu_capability()}, MKL and oneDNN as they choose"


class OnnxRuntime:
    """ONNX Runtime on one graph, channels first."""

    def __init__(self, work: Work) -> None:
        runtime: Any = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.threads: int = options.intra_op_num_threads
        self.session: Any = runtime.InferenceSession(_onnx(work), options, providers=["CPUExecutionProvider"])
        self.feed = {"x": np.ascontiguousarray(samples(work)[0].transpose(0, 3, 1, 2))}

    def run(self, times: int) -> None:
        session, feed = self.session, self.feed
        for _ in range(times):
            session.run(None, feed)

    def results(self) -> Results:
        return {"output": self.session.run(None, self.feed)[0]}

    def described(self) -> str:
        return f"ONNX Runtime {version('onnxruntime')}, CPUExecutionProvider, {self.threads} threads"


def _onnx(work: Work) -> bytes:
    """The network as an ONNX file."""
    onnx: Any = import_module("onnx")
    helper = onnx.helper
    parameters = {name: channels_first(work, name, array) for name, array in weights(work).items()}
    nodes: list[Any] = []
    padding, last = 0, "x"
    for place, (kind, sizes) in enumerate(work.parts):
        name = f"y{place}"
        learned = [last, f"{place}.weight", f"{place}.bias"]
        match kind:
            case "pad":
                padding = sizes[0]
                continue
            case "conv":
                node = helper.make_node("Conv", learned, [name], kernel_shape=[sizes[2]] * 2, pads=[padding] * 4)
                padding = 0
            case "relu":
                node = helper.make_node("Relu", [last], [name])
            case "pool":
                node = helper.make_node("MaxPool", [last], [name], kernel_shape=[sizes[0]] * 2, strides=[sizes[0]] * 2)
            case "flatten":
                node = helper.make_node("Flatten", [last], [name])
            case _:
                node = helper.make_node("Gemm", learned, [name], transB=1)
        nodes.append(node)
        last = name
    height, width, channels = work.sample
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [work.batch, channels, height, width])
    y = helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, [work.batch, work.parts[-1][1][1]])
    constants = [onnx.numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in parameters.items()]
    graph = helper.make_graph(nodes, "network", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


class Jax:
    """JAX, the whole step under jit, channels last."""

    def __init__(self, work: Work, platform: str = "cpu") -> None:
        jax: Any = import_module("jax")
        jax.config.update("jax_platforms", platform)
        if platform != "cpu":
            jax.config.update("jax_default_matmul_precision", "highest")  # no TF32
        self.platform = platform
        numbers: Any = import_module("jax.numpy")
        self.jax = jax
        self.work = work
        # JAX's layouts: kernels are height, width, in, out; matrices are in, out.
        self.parameters = {name: numbers.array(_transposed(array)) for name, array in weights(work).items()}
        x, y = samples(work)
        self.x, self.y = numbers.array(x), numbers.array(y.astype(np.int32))

        def network(parameters: Any, x: Any) -> Any:
            for place, (kind, sizes) in enumerate(work.parts):
                weight, bias = parameters.get(f"{place}.weight"), parameters.get(f"{place}.bias")
                match kind:
                    case "pad":
                        x = numbers.pad(x, ((0, 0), (sizes[0],) * 2, (sizes[0],) * 2, (0, 0)))
                    case "conv":
                        x = (
                            jax.lax.conv_general_dilated(
                                x, weight, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
                            )
                            + bias
                        )
                    case "relu":
                        x = jax.nn.relu(x)
                    case "pool":
                        window = (1, sizes[0], sizes[0], 1)
                        x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")
                    case "flatten":
                        x = x.reshape(x.shape[0], -1)
                    case _:
                        x = x @ weight + bias
            return x

        def loss(parameters: Any, x: Any, y: Any) -> Any:
            output = network(parameters, x)
            return -numbers.mean(numbers.take_along_axis(jax.nn.log_softmax(output), y[:, None], 1)), output

        def step(parameters: Any, x: Any, y: Any) -> Any:
            (value, output), grad = jax.value_and_grad(loss, has_aux=True)(parameters, x, y)
            return jax.tree.map(lambda weight, slope: weight - SGD_RATE * slope, parameters, grad), value, output

        self.step: Any = jax.jit(step, donate_argnums=0)
        self.slopes: Any = jax.jit(jax.grad(loss, has_aux=True))

    def run(self, times: int) -> None:
        for _ in range(times):
            self.parameters, value, _ = self.step(self.parameters, self.x, self.y)
            value.block_until_ready()
            self.jax.block_until_ready(self.parameters)

    def results(self) -> Results:
        before = weights(self.work)
        grad, _ = self.slopes(self.parameters, self.x, self.y)
        self.parameters, value, output = self.step(self.parameters, self.x, self.y)
        results = {"output": np.array(output), "loss": np.array(value)}
        results |= {f"gradient {name}": turned_back(np.array(array)) for name, array in grad.items()}
        self.run(STEPS - 1)
        return results | {
            f"way {name}": turned_back(np.array(array)) - before[name] for name, array in self.parameters.items()
        }

    def described(self) -> str:
        return f"JAX {version('jax')} jit, {self.platform}, NPROC={os.environ.get('NPROC', 'not set')} threads"


def _transposed(array: Any) -> Any:
    return array.transpose(1, 2, 3, 0) if array.ndim == 4 else array.T


def turned_back(array: Any) -> Any:
    """An array of JAX's layout in typednn's."""
    return array.transpose(3, 0, 1, 2) if array.ndim == 4 else array.T


def missing(engine: str) -> str:
    """The reason why an engine cannot be measured; empty if it can."""
    needs = {
        "typednn": (), "typednn-planned": (), "torch": ("torch",), "torch-channels-last": ("torch",),
        "onnxruntime": ("onnxruntime", "onnx"), "jax": ("jax",),
    }  # fmt: skip
    reason = absent.why_not(*needs[engine])
    if reason:
        return reason
    if engine == "onnxruntime" and os.environ.get("TYPEDNN_TARGET"):
        return "it can't be held to an instruction set"
    return ""


def new_contestant(engine: str, work: Work) -> Contestant:
    """An engine for a work."""
    match engine:
        case "typednn" | "typednn-planned":
            return Typednn(work, engine == "typednn-planned")
        case "torch":
            return Torch(work, "contiguous_format")
        case "torch-channels-last":
            return Torch(work, "channels_last")
        case "onnxruntime":
            return OnnxRuntime(work)
        case _:
            return Jax(work)


# ---------------------------------------------------------------------------------------------------- do they agree?

# float32 has 7 digits; sums of 5·10⁵ terms in another order agree to 4. The change of weights ("way") is a small
# difference of large numbers. Adam divides gradients by their own size, so a gradient that is only rounding error may
# have another sign in another engine.
AGREEMENT = {"output": 1e-4, "loss": 1e-5, "gradient": 1e-4, "way": 1e-2}


def difference(ours: Mapping[str, Any], theirs: Mapping[str, Any], slack: float = 1.0) -> tuple[float, str]:
    """The largest difference of two results, in units of the tolerance, and the array's name; above 1 they disagree.

    The difference is the norm of the arrays' difference over the norm of ``theirs``. It is infinite if names or shapes
    differ, or if a number is not finite.
    """
    if set(ours) != set(theirs):
        return math.inf, f"other results: {', '.join(sorted(set(ours) ^ set(theirs)))}"
    worst, where = 0.0, "output"
    for name, actual in ours.items():
        expected = theirs[name]
        if actual.shape != expected.shape or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
            return math.inf, f"{name}: another shape, or not finite"
        kind = name.partition(" ")[0]
        norm = float(np.linalg.norm(expected.astype(np.float64)))
        relative = float(np.linalg.norm(actual.astype(np.float64) - expected)) / (norm or 1.0)
        excess = relative / (AGREEMENT[kind] * (slack if kind in ("gradient", "way") else 1.0))
        if excess > worst:
            worst, where = excess, name
    return worst, where


# ---------------------------------------------------------------------------------------------------- what it takes


def needed(work: Work) -> tuple[float, float]:
    """The operations of one run, as counted by the steps of the plan, the loss and the optimizer, and the bytes that
    must be read from and written to memory.

    These bytes are the input, the parameters and what else is no result of an op in the run, once each, and everything
    that the optimizer reads and writes.
    """
    contestant = Typednn(work, True)
    contestant.run(PLANNED)
    runs: list[Any] = []
    outside: dict[int, int] = {id(each): each.nbytes for each in (contestant.x, *contestant.model.parameters())}
    results: set[int] = set()
    stepped = 0
    if work.optimizer:
        observing: Any = import_module("typednn.engines").observing
        output = contestant.learner.forward(contestant.x)
        with observing(runs.append):
            _, derivative = contestant.loss.loss_and_grad(output, contestant.y)
        grad = contestant.learner.backward(derivative)
        with observing(runs.append):
            contestant.model.update(contestant.optimizer, grad)
        results = {id(output), *map(id, contestant.model.named_gradients(grad).values())}
    planned = sum(line.flops for line in contestant.learner.explain(times=1).lines)
    for ran in runs:
        arrays = _arrays(ran.arguments)
        outside |= {id(array): array.nbytes for array in arrays if id(array) not in results}
        if ran.op.writes:
            stepped += sum(array.nbytes for array in arrays if id(array) in results)
            stepped += sum(ran.arguments[place].nbytes for place in ran.op.writes if ran.arguments[place] is not None)
        results |= set(map(id, _arrays((ran.result,))))
    return float(planned + sum(ran.op.flops(*ran.arguments) for ran in runs)), float(sum(outside.values()) + stepped)


def _arrays(values: tuple[Any, ...]) -> list[Any]:
    """The arrays in ``values`` and in tuples inside it."""
    arrays: list[Any] = []
    for value in values:
        arrays += _arrays(value) if isinstance(value, tuple) else [value] * hasattr(value, "nbytes")
    return arrays


# -------------------------------------------------------------------------------------------------- where the time goes


@contextmanager
def profiled() -> Generator[dict[str, list[float]]]:
    """The seconds of each op within the block."""
    seconds: dict[str, list[float]] = {}
    with import_module("typednn.engines").observing(
        lambda ran: seconds.setdefault(ran.op.name, []).append(ran.seconds)
    ):
        yield seconds
