"""Every kernel goes through NVIDIA's compilers, as CuPy hands it over: nvcc to machine code, NVRTC, which knows no
headers, likewise.
"""

import ctypes
import importlib
import importlib.util
import pkgutil
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cuda_on_cpu
import numpy as np
import pytest
from effort import LONG
from strict_array import to_strict

import typednn.kernels
from typednn.engines.cuda import CudaKernel
from typednn.engines.cuda_formula import CudaColumnSums, CudaFormula
from typednn.kernels import (
    attention,
    class_targets,
    conv2d,
    layer_norm,
    linear,
    max_pool2d,
    pad2d,
    softmax_cross_entropy,
    update_rules,
)
from typednn.kernels.activations import RELU
from typednn.kernels.op import OPS

OLD, NEW = 70, 90  # architectures that kernels are compiled for, or those next to them that a compiler knows

pytestmark = pytest.mark.skipif(
    not cuda_on_cpu.RUNS_HERE, reason="what is compiled is recorded on a stand-in, which needs a C++ compiler"
)


def launched(dtype: Any) -> set[tuple[str, tuple[str, ...]]]:
    """The texts and options of one call of every kernel."""

    def array(*shape: int) -> Any:
        return to_strict(np.ones(shape, dtype))

    window: Any = ((3, 3), (2, 1), (1, 2))
    every = written()
    cuda_on_cpu.launches.clear()
    with cuda_on_cpu.strict_arrays_on_cuda():
        for kernel_size in ((3, 3), (17, 17)):  # winners in a byte, and in four
            y, index = max_pool2d.forward(array(1, 17, 17, 2), kernel_size, (2, 1), (1, 1))
            max_pool2d.backward(y, index, (1, 17, 17, 2), kernel_size, (2, 1), (1, 1))
        x, weight = array(1, 7, 7, 2), array(4, *window[0], 2)
        steps = conv2d.Window(*window[1:], padding=(1, 0, 0, 2))
        conv2d.backward(conv2d.forward(x, weight, array(4), steps)[0], x, weight, steps)
        pad2d.backward(pad2d.forward(x, (1, 1, 2, 0), "constant", 0.0), (1, 1, 2, 0), "constant")
        pad2d.backward(pad2d.forward(x, (1, 1, 2, 0), "replicate", 0.0), (1, 1, 2, 0), "replicate")
        labels = to_strict(np.array([1, 2]))
        _, scale = class_targets.counted(labels, None, -1, 1, np.dtype(dtype))
        softmax_cross_entropy.forward(array(2, 10), array(2, 10))
        softmax_cross_entropy.backward(array(2, 300), array(2, 300), 0.5)
        softmax_cross_entropy.forward(array(2, 300), labels, summed=True)
        softmax_cross_entropy.backward(array(2, 300), labels, scale)
        for rows in (2, 3000):
            y = linear.forward(array(rows, 3), array(4, 3), array(4), RELU)
            linear.backward(y, array(rows, 3), array(4, 3), y, RELU)
        RELU.with_bias(y, None)
        for parameters, centred in (((array(5), array(5)), True), ((None, None), False)):
            layer_norm.forward(array(3, 5), *parameters, 1e-5, centred)
            layer_norm.backward(array(3, 5), array(3, 5), parameters[0], 1e-5, centred)
        layer_norm.backward(array(3000, 5), array(3000, 5), None, 1e-5)
        q = array(2, 3, 2, 4)
        for causal in (True, False):
            attention.backward(q, q, q, q, None, *attention.forward(q, q, q, None, causal), causal)
        for formula in formulas():
            formula.run(*(array(3) for _ in range(formula.arrays)), *[0.5] * formula.numbers)
            if formula.numbers:
                formula.run(*(array(3) for _ in range(formula.arrays)), *[array()] * formula.numbers)
        for rule in vars(update_rules).values():
            if isinstance(rule, update_rules.Rule):
                rule.step(*[array(3)] * len(rule.arrays), *[0.5] * (len(rule.step.op.names) - len(rule.arrays)))  # type: ignore[attr-defined]
    names = {launch.name.removesuffix("_held") for launch in cuda_on_cpu.launches}
    of_activations = {"identity_with_bias", "relu_with_bias", "relu_alone", "relu_derivative"}
    assert names - of_activations == every, "every kernel is launched above"
    return joined({(launch.code, launch.options) for launch in cuda_on_cpu.launches})


def joined(sources: set[tuple[str, tuple[str, ...]]]) -> set[tuple[str, tuple[str, ...]]]:
    """The same, with all kernels of formulas as one text: each run of a compiler takes half a second."""
    of_formulas = {
        (code, options)
        for code, options in sources
        if "#if" not in code and "__device__" not in code and len(options) == 1
    }
    return sources - of_formulas | {("\n".join(sorted(code for code, _ in of_formulas)), next(iter(of_formulas))[1])}


def formulas() -> list[CudaFormula]:
    """Those of all pointwise ops."""
    engines = [engine for op in OPS.values() for engine in op.engines if engine.name == "cuda"]
    owners = [getattr(engine.run, "__self__", None) for engine in engines]
    return [owner for owner in owners if isinstance(owner, CudaFormula) and owner.traceable]


def written() -> set[str]:
    """The names of all kernels that there are, but for those of activations, which are made as they are used."""
    found = pkgutil.walk_packages(typednn.kernels.__path__, "typednn.kernels.")
    values = [value for module in found for value in vars(importlib.import_module(module.name)).values()]
    rules = [f"{value.name}_step" for value in values if isinstance(value, update_rules.Rule)]
    of_sums = [kernel for value in values if isinstance(value, CudaColumnSums) for kernel in vars(value).values()]
    return {
        *rules,
        *(value.name for value in [*values, *of_sums, *formulas()] if isinstance(value, CudaKernel | CudaFormula)),
    }


def architectures(known: Iterable[int]) -> set[int]:
    sorts = sorted(known)
    return {min(max(sorts[0], OLD), sorts[-1]), min(NEW, sorts[-1])}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nvcc(dtype: Any, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc")
    known = subprocess.run([nvcc, "--list-gpu-arch"], check=True, capture_output=True, text=True).stdout.split()
    for number, (code, options) in enumerate(sorted(launched(dtype))):
        source = tmp_path / f"{number}.cu"
        source.write_text(code)
        sorts = sorted(architectures(int(name.removeprefix("compute_")) for name in known))
        for architecture in sorts if LONG else sorts[:1] if dtype == np.float32 else sorts[-1:]:
            to_machine_code = ("-cubin", f"-arch=sm_{architecture}", "-o", str(tmp_path / "out"))
            command = [
                nvcc,
                *to_machine_code,
                "--Werror=all-warnings",
                "-Wno-deprecated-gpu-targets",
                *options,
                str(source),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def nvrtc() -> ctypes.CDLL:
    """The compiler that CuPy uses, out of NVIDIA's package."""
    found = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in (found.submodule_search_locations or [] if found else [])]
    libraries = [library for place in places for library in sorted(place.glob("*/lib/libnvrtc.so.*"))]
    if not libraries:
        pytest.skip("needs NVRTC, as pip install nvidia-cuda-nvrtc-cu12 brings it")
    return ctypes.CDLL(str(libraries[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nvrtc(dtype: Any) -> None:
    library = nvrtc()
    count = ctypes.c_int()
    assert library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    known = (ctypes.c_int * count.value)()
    assert library.nvrtcGetSupportedArchs(known) == 0
    for code, options in sorted(launched(dtype)):
        for architecture in architectures(known):
            complaint = complaints(
                library, code, (*options, f"-arch=sm_{architecture}", "--device-as-default-execution-space")
            )
            assert complaint == ""
    assert "undefined" in complaints(library, 'extern "C" __global__ void wrong() { nothing(); }', ())


def complaints(library: ctypes.CDLL, code: str, options: tuple[str, ...]) -> str:
    """What the compiler says of ``code`` that it refuses; nothing where it compiles."""
    program, length = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernel.cu", 0, None, None) == 0
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), words)
    assert library.nvrtcGetProgramLogSize(program, ctypes.byref(length)) == 0
    log = ctypes.create_string_buffer(length.value)
    assert library.nvrtcGetProgramLog(program, log) == 0
    assert library.nvrtcDestroyProgram(ctypes.byref(program)) == 0
    return (log.value.decode() or f"error {failed}") if failed else ""
