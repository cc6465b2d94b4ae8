"""Models as C libraries: what a C compiler makes of them computes the bits of Python's forward."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Elementwise, ElementwiseGrad, GraphElementwise, Input
from typednn.engines import EngineError, available, blas, processor, using
from typednn.errors import ArgumentError, DataError, NotInitialised
from typednn.exchange import export_c
from typednn.exchange.c import export, recording, source
from typednn.graph import sigmoid
from typednn.graph.tensor import AnyTensor
from typednn.kernels.op import Engine, Op
from typednn.kernels.pointwise import relu
from typednn.layer import A
from typednn.layers import (
    GELU,
    LSTM,
    BatchNorm2d,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Flatten,
    GlobalAvgPool2d,
    LayerNorm,
    LeakyReLU,
    Linear,
    MaxPool2d,
    MultiHeadAttention,
    ReLU,
    Residual,
    SequenceLinear,
    Tanh,
)
from typednn.models import GPT2, BasicBlock, LeNet5, lenet5

RNG = np.random.default_rng
AVX512 = processor.host().has(processor.AVX512)

pytestmark = pytest.mark.skipif(
    not available() or sys.platform != "linux" or not processor.host().has(processor.AVX2) or not shutil.which("cc"),
    reason="needs Halide, a C compiler, and Linux on x86-64 with AVX2",
)


class Swish(GraphElementwise[None]):
    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return x * sigmoid(x)


def normed() -> Any:
    """With statistics of its own."""
    model: Any = Input(10, 10, 3) >> Conv2d(3, 8, 3, bias=True) >> BatchNorm2d(8) >> ReLU() >> MaxPool2d(2) >> Flatten()
    model = (model >> Dropout(0.5) >> Linear(128, 5)).init(RNG(0))
    model.forward(RNG(1).standard_normal((4, 10, 10, 3), np.float32) + 1)
    return model


def blocks() -> Any:
    model: Any = Input(8, 8, 16) >> BasicBlock(16, 16) >> BasicBlock(16, 32, 2) >> GlobalAvgPool2d() >> Linear(32, 4)
    return model.init(RNG(0))


def mlp(*after: Any, dtype: Any = np.float32) -> Any:
    model: Any = Input(17) >> Linear(17, 64) >> Tanh() >> Linear(64, 9) >> GELU() >> Swish() >> LayerNorm(9)
    for each in (Linear(9, 6), *after):
        model = model >> each
    return model.init(RNG(0)).astype(dtype)


def encoder() -> Any:
    block = Residual(MultiHeadAttention(16, 2, causal=True)) >> Residual(
        SequenceLinear(16, 32) >> GELU() >> SequenceLinear(32, 16)
    )
    return (Input(20, 16) >> block).init(RNG(0))


MODELS: dict[str, tuple[Callable[[], Any], int]] = {
    "mlp": (mlp, 1),
    "float64": (lambda: mlp(dtype=np.float64), 3),
    "lenet5": (lambda: lenet5(softmax=True, rng=RNG(0)), 1),
    "LeNet5": (lambda: LeNet5(rng=RNG(0)), 2),
    "normed": (normed, 3),
    "blocks": (blocks, 1),
    "attention": (encoder, 2),
    # by OpenBLAS in an ordinary forward
    "wide": (lambda: (Input(500) >> Linear(500, 410) >> ReLU() >> Linear(410, 12)).init(RNG(0)), 24),
}


def built(folder: Path, *flags: str) -> Path:
    """The example in ``folder``, without a warning."""
    command = ["make", "-s", f"CC=cc -Wall -Wextra -Wpedantic -Werror {' '.join(flags)}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "example"


def answers(program: Path, x: np.ndarray[Any, Any], like: np.ndarray[Any, Any], **variables: str) -> Any:
    """What the example prints for the samples ``x``, read again exactly, in the shape and dtype of ``like``."""
    environment = os.environ | variables
    done = subprocess.run([program], input=x.tobytes(), capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return np.array(done.stdout.split(), like.dtype).reshape(like.shape)


def expected(model: Any, x: np.ndarray[Any, Any], batch: int, engine: str = "kernels") -> np.ndarray[Any, Any]:
    """Python's forward, so many samples at a time."""
    model.eval()
    with using(engine):
        return np.concatenate([model.forward(x[start : start + batch]) for start in range(0, len(x), batch)])


@pytest.mark.parametrize("name", MODELS)
def test_the_bits_of_python(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a program that a C compiler alone makes, for inputs that the export has not seen."""
    monkeypatch.setattr(export, "WARNINGS", ("-Wall", "-Wextra", "-Wpedantic", "-Werror"))
    make, batch = MODELS[name]
    model = make()
    training = model.training
    state = {key: value.copy() for key, value in model.state_dict().items()}
    folder = export_c(model, tmp_path / name, batch=batch)
    assert model.training is training
    assert all(np.array_equal(value, state[key]) for key, value in model.state_dict().items())
    assert {each.name for each in folder.iterdir()} == {
        f"{name}.o",
        f"{name}.h",
        "example.c",
        "Makefile",
        "README.md",
    }
    program = built(folder)
    sizes = (28, 28, 1) if name == "LeNet5" else model.sample.sizes
    x = RNG(7).standard_normal((3 * batch, *sizes)).astype(model.dtype)
    y = expected(model, x, batch)
    assert np.array_equal(answers(program, x, y), y)
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = {line.split()[0].rpartition("/")[2].partition(".")[0] for line in needed.splitlines()}
    assert libraries <= {"linux-vdso", "libc", "libm", "libpthread", "ld-linux-x86-64"}
    text = (folder / "README.md").read_text()
    ordinary = expected(model, x, batch, "fast")
    if "the same without it" in text or "same bits; " in text:
        assert np.array_equal(ordinary, y)
    np.testing.assert_allclose(ordinary, y, rtol=1e-5, atol=1e-5)
    assert ("linear.forward (OpenBLAS)" in text) == (name == "wide")
    if name == "lenet5":
        assert (folder / "lenet5.o").stat().st_size < 1_000_000


@pytest.mark.parametrize("make", [lenet5, LeNet5])
def test_a_convolution_takes_what_stands_around_it(make: Any) -> None:
    """Zeros, activation and pooling; an affine map takes the activation: so two, three, and softmax."""
    inputs = [RNG(seed).standard_normal((1, 28, 28, 1), np.float32) for seed in range(2)]
    model = make(softmax=True, rng=RNG(0)) if make is lenet5 else make(rng=RNG(0))
    calls = recording.record(model, inputs).calls
    names = ["conv2d.forward", "conv2d.forward", "linear.rows", "linear.rows", "linear.rows", "softmax.forward"]
    assert [call.plan.name for call in calls] == names


def test_threads_leave_the_bits(tmp_path: Path) -> None:
    """And memory is used again: a batch of images needs less than all that lies between the layers."""
    model = lenet5(softmax=True, rng=RNG(0))
    program = built(export_c(model, tmp_path / "m", batch=64))
    x = RNG(7).standard_normal((64, 28, 28, 1), np.float32)
    y = expected(model, x, 64)
    for count in "1", "2", "5":
        assert np.array_equal(answers(program, x, y, HL_NUM_THREADS=count), y)


CODE = """
import sys
import numpy as np
from typednn.models import lenet5
model = lenet5(softmax=True, rng=np.random.default_rng(0)).eval()
x = np.random.default_rng(7).standard_normal((3, 28, 28, 1), np.float32)
sys.stdout.buffer.write(np.concatenate([model.forward(x[i : i + 1]) for i in range(3)]).tobytes())
"""


@pytest.mark.parametrize("target", ["avx2", *(["avx512", "both"] if AVX512 else [])])
def test_other_processors(target: export.Processors, tmp_path: Path) -> None:
    """The bits of a Python that is held to these instructions, where no sum has another order."""
    model = lenet5(softmax=True, rng=RNG(0))
    folder = export_c(model, tmp_path / "m", target=target)
    x = RNG(7).standard_normal((3, 28, 28, 1), np.float32)
    used = "avx512" if target == "both" else target
    environment = os.environ | {"TYPEDNN_TARGET": used}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, env=environment, check=True)
    y = np.frombuffer(done.stdout, np.float32).reshape(3, 10)
    assert np.array_equal(answers(built(folder), x, y), y)
    symbols = subprocess.run(["nm", folder / "m.o"], capture_output=True, text=True, check=True).stdout
    assert ("m_avx2_0" in symbols) == (target != "avx512")
    assert ("m_avx512_0" in symbols) == (target != "avx2")
    wide = subprocess.run(["objdump", "-d", folder / "m.o"], capture_output=True, text=True, check=True).stdout
    assert ("%zmm" in wide) == (target != "avx2")


def test_another_processor_gets_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``NAME_new`` gives NULL where an instruction set is missing, and the example says so."""
    monkeypatch.setitem(source.INSTRUCTIONS, "avx2", ("avx2", "sse4a", "avx5124fmaps"))  # no processor has both
    monkeypatch.setattr(export, "_compared", lambda *_: export.Found((), 0.0))
    program = built(export_c(mlp(), tmp_path / "m", target="avx2"))
    done = subprocess.run([program], input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "no memory, or not avx2\n")


def test_names_and_two_models_in_one_cpp_program(tmp_path: Path) -> None:
    """Names that C would take for its own, and one kernel in both libraries."""
    models = [(Input(4) >> Linear(4, 3)).init(RNG(seed)) for seed in range(2)]
    names = ['a "b"\n', "c\\d?", "é"]
    for model, name in zip(models, ("int", "2-b.c"), strict=True):
        export_c(model, tmp_path, name=name, names=names if name == "int" else (), preparing=["first", "then"])
    assert (tmp_path / "README.md").read_text().count("\n  - then\n") == 1
    (tmp_path / "main.cc").write_text("""
#include <cstdio>
#include "int.h"
#include "model_2_b_c.h"
int main()
{
    const float x[INT_X] = {1, 2, 3, 4};
    float y[2 * INT_Y];
    int_model *one = int_new();
    model_2_b_c_model *other = model_2_b_c_new();
    int_threads(1);
    if (int_forward(one, x, y) || model_2_b_c_forward(other, x, y + INT_Y)) return 1;
    std::fwrite(y, sizeof y, 1, stdout);
    for (const char *name : int_names) std::fprintf(stderr, "%s|", name);
    int_free(one);
    model_2_b_c_free(other);
    model_2_b_c_free(nullptr);
}
""")
    command = ["c++", "-Wall", "-Wextra", "-Werror", "main.cc", "int.o", "model_2_b_c.o", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, check=True)
    x = np.array([[1, 2, 3, 4]], np.float32)
    assert np.array_equal(
        np.frombuffer(done.stdout, np.float32).reshape(2, 3),
        np.concatenate([expected(model, x, 1) for model in models]),
    )
    assert done.stderr.decode() == "|".join([*names, ""])


# ------------------------------------------------------------------ what is refused


def _doubled(x: Any) -> Any:
    return relu.formulas[0].run(x + x)


def _product(x: Any) -> Any:
    y = np.empty_like(x)
    blas.gemm(x, np.eye(x.shape[1], dtype=x.dtype), y)
    return y


def _over(x: Any) -> None:
    relu.formulas[0].kernels[x.dtype].call(x, x)


def _op(name: str, run: Any, writes: str = "") -> Op:
    return Op(name, run, (Engine("halide", run, "x"),), 1, "", None, writes, ("x",))


OPS = {
    "partly": _op("doubled", _doubled),
    "a product": _op("product", _product),
    "over the input": _op("over", _over, "x"),
}


class OfNumPy(Elementwise[None]):
    """A layer that computes without ops, in one way or another."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.dropout = Dropout(0.5)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        y: Any = x
        if self.how == "a result":
            y = x + 1
        elif self.how == "in place":
            y += 1
        elif self.how == "a rounding":
            y *= np.nextafter(np.float32(1), np.float32(2))
        elif self.how == "random":
            y = self.dropout.train().forward(x)
        elif self.how in OPS:
            found = OPS[self.how].run(x)
            y = x if found is None else found
        elif self.how == "a number":
            y = LeakyReLU(float(np.abs(np.asarray(x).flat[0]))).eval().forward(x)
        elif self.how == "a rare number" and float(np.max(np.asarray(x))) > 20:
            y = ReLU().eval().forward(x)
        result: A = y
        return result

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        raise NotImplementedError


def with_numpy(how: str, *after: Any) -> Any:
    model: Any = Input(4) >> Linear(4, 20) >> OfNumPy(how)
    for each in after:
        model = model >> each
    return model.init(RNG(0))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a result": (
        lambda: with_numpy("a result", Linear(20, 3)),
        r'export_c: Linear\(20, 3\), layer "2": must be computed by compiled kernels alone, got arithmetic outside',
    ),
    "the last result": (lambda: with_numpy("a result"), "alone, got an output that no kernel wrote; export this"),
    "in place": (lambda: with_numpy("in place", Linear(20, 3)), "and give the same numbers in C, got a difference of"),
    "a rounding": (lambda: with_numpy("a rounding", Linear(20, 3)), "the same numbers in C, got a difference of"),
    "a number": (
        lambda: with_numpy("a number", Linear(20, 3)),
        "alone, got calls of kernels that depend on the numbers of the input",
    ),
    "NumPy within an op": (
        lambda: with_numpy("partly", Linear(20, 3)),
        r"export_c: OfNumPy.*, layer \"1\": .*, got doubled partly by NumPy; export this",
    ),
    "random": (lambda: with_numpy("random"), "got dropout of random numbers; export this"),
    "over the input": (
        lambda: (Input(4) >> OfNumPy("over the input") >> Linear(4, 3)).init(RNG(0)),
        "got over, which writes into the model or its input; export this",
    ),
    "a product": (lambda: with_numpy("a product"), "got product by OpenBLAS; export this"),
    "a rare number": (lambda: with_numpy("a rare number", Linear(20, 3)), "the same numbers in C, got a difference of"),
    "an op of NumPy": (
        lambda: Input(6, dtype=int) >> GPT2(11, n_positions=6, n_embd=8, n_layer=1, n_head=2, rng=RNG(0)),
        r'Embedding\(11, 8\), layer "0.wte": .*, got embedding.forward by NumPy; export this',
    ),
    "partly": (
        lambda: (Input(8, 8, 3) >> ConvTranspose2d(3, 4, 3)).init(RNG(0)),
        r'ConvTranspose2d\(3, 4, 3\), layer "0": .*, got conv_transpose2d.forward partly by NumPy; export this',
    ),
    "recurrent": (lambda: (Input(5, 7) >> LSTM(7, 4)).init(RNG(0)), r'LSTM\(7, 4\), layer "0": '),
    "no arithmetic": (lambda: Input(2, 3) >> Flatten(), "export_c: .*, got .*reshape by NumPy; export this"),
    "two inputs": (
        lambda: MultiHeadAttention(4, 2, rng=RNG(0)),
        "export_c: .* declares none; begin the model with Input",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_kernel_computes(name: str, tmp_path: Path) -> None:
    make, message = REFUSED[name]
    with pytest.raises(ArgumentError, match=message):
        export_c(make(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, wrong = mlp(), np.zeros((2, 16), np.float32)
    with pytest.raises(ArgumentError, match="batch must be a whole number from 1, got 0"):
        export_c(model, tmp_path / "m", batch=0)
    with pytest.raises(ArgumentError, match="target must be one of host, avx512, avx2, both, got 'arm'"):
        export_c(model, tmp_path / "m", target="arm")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="must take the example"):
        export_c(model, tmp_path / "m", wrong)
    with pytest.raises(ArgumentError, match="model must have one input, got 2 arrays"):
        export_c(model, tmp_path / "m", [wrong, wrong])
    with pytest.raises(NotInitialised):
        export_c(Input(4) >> Linear(4, 2), tmp_path / "m")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        export_c(model, tmp_path / "file" / "m")
    monkeypatch.setattr(export.shutil, "which", lambda _: None)
    with pytest.raises(EngineError, match="needs a C compiler, got none of cc, gcc"):
        export_c(model, tmp_path / "m")
    monkeypatch.setattr(export.toolchain, "available", lambda: False)
    with pytest.raises(EngineError, match="export_c needs Halide"):
        export_c(model, tmp_path / "m")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
