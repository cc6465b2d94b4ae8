"""TYPEDNN_TARGET: kernels and products of an older instruction set, with the same results."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from typednn.engines import available, blas, processor
from typednn.engines.halide import runtime

RUN = """
import os, sys
import numpy as np
from typednn.engines import blas, counting, processor, using
from typednn.engines.halide import runtime, toolchain
from typednn.kernels import linear
from typednn.kernels.activations import RELU
rng = np.random.default_rng(0)
x, weight, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((37, 21), (19, 21), (19,)))
with counting() as counts:
    y = linear.forward(x, weight, bias, RELU)
assert counts == {("linear.forward", "halide"): 1}, counts
with using("reference"):
    np.testing.assert_allclose(y, linear.forward(x, weight, bias, RELU), rtol=1e-5, atol=1e-5)
key = runtime.key()
os.environ["TYPEDNN_TARGET"] = "none such"  # read once
assert processor.target() == sys.argv[1]
print(toolchain.host().text, toolchain.host().cpu.lanes, blas.why(), key, sep="; ")
"""


def ran(target: str) -> str:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "TYPEDNN_ENGINE")
    }
    command = [sys.executable, "-c", RUN, target]
    done = subprocess.run(
        command, env=environment | {"TYPEDNN_TARGET": target}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not available() or not processor.host().has(processor.AVX2), reason="needs Halide and AVX2")
@pytest.mark.parametrize(("target", "lanes", "core"), [("avx2", 8, "Haswell"), ("sse4.1", 4, "Nehalem")])
def test_kernels_and_products_are_limited(target: str, lanes: int, core: str) -> None:
    features, width, products, key = ran(target).split("; ")
    assert key != runtime.key(), "its kernels are stored apart"
    assert "sse41" in features
    assert "avx512" not in features
    assert ("avx2" in features) == (target == "avx2")
    assert int(width) == lanes
    if "OpenBLAS" in blas.why():
        assert f"with {core} kernels (TYPEDNN_TARGET={target})" in products
