"""Nets of PyTorch for every layer that typednn has, and what PyTorch's default exporter wrote of them.

`python -m tests.parity.onnx_nets` writes tests/golden/pytorch_dynamo.npz: of each net the file of
``torch.onnx.export(…, dynamo=True)``, without what it notes of the machine, an input, and PyTorch's output. Written
with PyTorch 2.13.0, onnxscript 0.7.2, onnx_ir 1.1.0, ONNX 1.23.2.
"""

# Nets are PyTorch's, whose types are not known without it.
# pyright: basic, reportMissingImports=false, reportOptionalMemberAccess=false

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

GOLDEN = Path(__file__).parent.parent / "golden" / "pytorch_dynamo.npz"

F = torch.nn.functional


class Of(nn.Module):
    """A function of modules and of an input."""

    def __init__(self, f, *mods):
        super().__init__()
        self.f = f
        self.m = nn.ModuleList(mods)

    def forward(self, *x):
        return self.f(*self.m, *x)


class Block(nn.Module):
    """A block of GPT-2."""

    def __init__(self, d, h):
        super().__init__()
        self.l1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)
        self.l2 = nn.LayerNorm(d)
        self.f = nn.Linear(d, 4 * d)
        self.p = nn.Linear(4 * d, d)
        self.h = h

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = [t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.qkv(self.l1(x)).split(C, dim=2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
        x = x + self.o(y)
        return x + self.p(F.gelu(self.f(self.l2(x)), approximate="tanh"))


class Res(nn.Module):
    """A block of a ResNet."""

    def __init__(self, c, o, s):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, o, 3, s, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.short = nn.Conv2d(c, o, 1, s, bias=False) if s > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + self.short(x))


IMAGE = (3, 8, 8)
NETS: dict[str, Any] = {
    "linear": (nn.Linear(4, 3), (4,)),
    "linear of sequences": (nn.Linear(4, 3), (5, 4)),
    "linear without bias": (nn.Linear(4, 3, bias=False), (4,)),
    "conv2d": (nn.Conv2d(3, 4, 3, 2, 1), IMAGE),
    "conv2d groups same": (nn.Conv2d(4, 6, 3, padding="same", groups=2, dilation=2), (4, 8, 7)),
    "conv1d": (nn.Conv1d(3, 4, 3, 2, 1), (3, 9)),
    "conv1d same": (nn.Conv1d(3, 4, 4, padding="same"), (3, 9)),
    "conv2d replicate": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), IMAGE),
    "conv transpose": (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), IMAGE),
    "conv transpose1d": (nn.ConvTranspose1d(3, 4, 3, 2, 1, 1), (3, 9)),
    "max pool": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "max pool ceil": (nn.MaxPool2d(3, 2, ceil_mode=True), IMAGE),
    "max pool dilated": (nn.MaxPool2d(2, 1, dilation=2), IMAGE),
    "max pool1d": (nn.MaxPool1d(2), (3, 9)),
    "avg pool": (nn.AvgPool2d(2), IMAGE),
    "avg pool border": (nn.AvgPool2d(3, 2, 1), IMAGE),
    "avg pool without border": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "avg pool ceil": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    "adaptive 1": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive 4": (nn.AdaptiveAvgPool2d(4), IMAGE),
    "mean": (Of(lambda x: x.mean((2, 3))), IMAGE),
    "amax": (Of(lambda x: x.amax((2, 3))), IMAGE),
    "upsample": (nn.Upsample(scale_factor=2), IMAGE),
    "upsample bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "upsample corners": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), IMAGE),
    "upsample to": (nn.Upsample(size=(11, 5)), IMAGE),
    "upsample to bilinear": (nn.Upsample(size=(11, 5), mode="bilinear"), IMAGE),
    "upsample cubic": (nn.Upsample(scale_factor=2, mode="bicubic"), IMAGE),
    "zero pad": (nn.ZeroPad2d((1, 2, 0, 3)), IMAGE),
    "constant pad": (nn.ConstantPad2d(1, -1.5), IMAGE),
    "replicate pad": (nn.ReplicationPad2d((1, 2, 0, 3)), IMAGE),
    "reflect pad": (nn.ReflectionPad2d(1), IMAGE),
    "batch norm": (nn.BatchNorm2d(3), IMAGE),
    "batch norm 1d": (nn.BatchNorm1d(4), (4,)),
    "batch norm sequences": (nn.BatchNorm1d(4), (4, 6)),
    "batch norm plain": (nn.BatchNorm2d(3, affine=False), IMAGE),
    "group norm": (nn.GroupNorm(2, 4), (4, 5, 6)),
    "instance norm": (nn.InstanceNorm2d(3, affine=True), IMAGE),
    "layer norm": (nn.LayerNorm(4), (5, 4)),
    "layer norm of images": (nn.LayerNorm([3, 8, 8]), IMAGE),
    "layer norm plain": (nn.LayerNorm(4, elementwise_affine=False), (5, 4)),
    "rms norm": (nn.RMSNorm(4), (5, 4)),
    "dropout": (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3)), (4,)),
    "dropout2d": (nn.Sequential(nn.Conv2d(3, 3, 1), nn.Dropout2d(0.3)), IMAGE),
    "flatten": (nn.Sequential(nn.Flatten(), nn.Linear(192, 3)), IMAGE),
    "flatten of images": (nn.Flatten(), IMAGE),
    "flatten pixels": (nn.Flatten(2), IMAGE),
    "unflatten": (nn.Unflatten(1, (3, 4)), (12,)),
    "view": (Of(lambda x: x.view(x.size(0), -1)), IMAGE),
    "reshape images": (nn.Sequential(nn.Linear(12, 12), nn.Unflatten(1, (3, 2, 2)), nn.Conv2d(3, 2, 1)), (12,)),
    "softmax": (nn.Softmax(1), (4,)),
    "softmax of images": (nn.Softmax(1), IMAGE),
    "log softmax": (nn.LogSoftmax(-1), (4,)),
    "relu": (nn.ReLU(), IMAGE),
    "relu6": (nn.ReLU6(), IMAGE),
    "leaky relu": (nn.LeakyReLU(0.2), (4,)),
    "prelu": (nn.PReLU(), (4,)),
    "prelu of channels": (nn.PReLU(3), IMAGE),
    "sigmoid": (nn.Sigmoid(), (4,)),
    "tanh": (nn.Tanh(), (5, 4)),
    "gelu": (nn.GELU(), (5, 4)),
    "gelu of tanh": (nn.GELU(approximate="tanh"), (4,)),
    "silu": (nn.SiLU(), (4,)),
    "softplus": (nn.Softplus(), (4,)),
    "softplus beta": (nn.Softplus(2.0, 3.0), (4,)),
    "elu": (nn.ELU(0.7), (4,)),
    "celu": (nn.CELU(0.7), (4,)),
    "selu": (nn.SELU(), (4,)),
    "hardswish": (nn.Hardswish(), (4,)),
    "hardsigmoid": (nn.Hardsigmoid(), (4,)),
    "hardtanh": (nn.Hardtanh(-2, 2), (4,)),
    "mish": (nn.Mish(), (4,)),
    "softsign": (nn.Softsign(), (4,)),
    "glu": (nn.GLU(), (5, 4)),
    "logsigmoid": (nn.LogSigmoid(), (4,)),
    "tanhshrink": (nn.Tanhshrink(), (4,)),
    "threshold": (nn.Threshold(0.1, 0.5), (4,)),
    "residual": (
        nn.Sequential(
            nn.Conv2d(3, 4, 3, 1, 1), Res(4, 4, 1), Res(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
        ),
        IMAGE,
    ),
    "concat": (
        Of(lambda a, b, x: torch.cat([a(x), b(x), x], 1), nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 3, padding=1)),
        IMAGE,
    ),
    "arithmetic": (Of(lambda x: (x * 2 - x.mean(-1, keepdim=True)).clamp(-1, 1) + x**2 / (1 + x.abs())), (5, 4)),
    "clamp min": (Of(lambda x: x.clamp(min=0.1)), (4,)),
    "where": (Of(lambda x: torch.where(x > 0, x.exp(), x.sin())), (4,)),
    "attention": (
        Of(lambda m, x: m(x, x, x, need_weights=False)[0], nn.MultiheadAttention(6, 3, batch_first=True)),
        (5, 6),
    ),
    "encoder layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (5, 8)),
    "encoder layer time first": (
        Of(lambda m, x: m(x.transpose(0, 1)).transpose(0, 1), nn.TransformerEncoderLayer(8, 2, 16)),
        (5, 8),
    ),
    "gpt block": (Block(8, 2), (5, 8)),
    "rnn": (Of(lambda m, x: m(x)[0], nn.RNN(3, 4, batch_first=True)), (5, 3)),
    "rnn relu": (Of(lambda m, x: m(x)[0], nn.RNN(3, 4, nonlinearity="relu", batch_first=True)), (5, 3)),
    "lstm": (Of(lambda m, x: m(x)[0], nn.LSTM(3, 4, batch_first=True)), (5, 3)),
    "lstm last": (
        Of(lambda m, head, x: head(m(x)[0][:, -1]), nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)),
        (5, 3),
    ),
    "lstm state": (Of(lambda m, x: m(x)[1][0][-1], nn.LSTM(3, 4, batch_first=True)), (5, 3)),
    "lstm two layers both ways": (
        Of(lambda m, x: m(x)[0], nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)),
        (5, 3),
    ),
    "gru": (Of(lambda m, x: m(x)[0], nn.GRU(3, 4, batch_first=True)), (5, 3)),
    "gru without bias": (Of(lambda m, x: m(x)[0], nn.GRU(3, 4, bias=False, batch_first=True)), (5, 3)),
    "embedding": (nn.Embedding(7, 4), ("int", 5)),
    "tokens to classes": (
        nn.Sequential(
            nn.Embedding(7, 4), Of(lambda m, x: m(x)[0][:, -1], nn.LSTM(4, 5, batch_first=True)), nn.Linear(5, 2)
        ),
        ("int", 5),
    ),
    "tokens to means": (nn.Sequential(nn.Embedding(7, 4), Of(lambda x: x.mean(1)), nn.Linear(4, 2)), ("int", 5)),
    "gpt": (
        Of(
            lambda e, p, b, n, x: n(b(e(x) + p(torch.arange(x.shape[1])))) @ e.weight.T,
            nn.Embedding(7, 8),
            nn.Embedding(5, 8),
            Block(8, 2),
            nn.LayerNorm(8),
        ),
        ("int", 5),
    ),
}


def net_of(name: str) -> tuple[Any, Any]:
    """A net in eval, with parameters of its own, and an input."""
    torch.manual_seed(0)
    net, sizes = NETS[name]
    net = net.eval()
    with torch.no_grad():
        for array in [*net.parameters(), *(each for each in net.buffers() if each.dtype.is_floating_point)]:
            array.add_(torch.rand_like(array) * 0.2)
    return net, torch.randint(0, 7, (3, *sizes[1:])) if sizes[0] == "int" else torch.randn(3, *sizes)


def record() -> None:
    """Write the golden file; a net that the exporter refuses has none."""
    import onnx

    found: dict[str, Any] = {}
    for name in NETS:
        net, x = net_of(name)
        batch = {0: torch.export.Dim("batch")}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                free = [(batch,)] if isinstance(net, Of) else [batch]
                program = torch.onnx.export(
                    net, (x,), dynamo=True, input_names=["x"], dynamic_shapes=free, verbose=False
                )
        except Exception as error:  # of whatever the exporter meets
            print(f"{name}: {type(error).__name__}", file=sys.stderr)
            continue
        with torch.no_grad():
            found |= stored(name, onnx, program.model_proto, x, net(x))
    np.savez_compressed(GOLDEN, **found)


def stored(name: str, onnx: Any, whole: Any, x: Any, y: Any) -> dict[str, Any]:
    """The arrays of one net."""
    for each in (
        whole,
        whole.graph,
        *whole.graph.node,
        *whole.graph.input,
        *whole.graph.output,
        *whole.graph.value_info,
        *whole.graph.initializer,
    ):
        each.ClearField("doc_string")
        each.ClearField("metadata_props")
    del whole.functions[:], whole.graph.value_info[:]
    onnx.checker.check_model(whole)
    return {
        f"{name}/file": np.frombuffer(whole.SerializeToString(), np.uint8),
        f"{name}/x": x.numpy(),
        f"{name}/y": y.numpy(),
    }


if __name__ == "__main__":
    record()
