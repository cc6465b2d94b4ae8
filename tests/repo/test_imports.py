"""What an import brings with it: optional packages stay out until they are used."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "PIL",
    "cupy",
    "google",
    "halide",
    "huggingface_hub",
    "hypothesis",
    "matplotlib",
    "pandas",
    "scipy",
    "sklearn",
    "tensorboardX",
    "tokenizers",
    "torch",
}


def _loaded_by(statement: str) -> set[str]:
    """The top-level modules that a new interpreter holds after ``statement``."""
    program = (
        f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("import typednn", id="the package"),
        pytest.param("from typednn import *", id="every public name"),
        pytest.param(
            "import typednn.layers, typednn.losses, typednn.optim, typednn.backends, typednn.testing", id="the parts"
        ),
    ],
)
def test_nothing_optional_is_loaded(statement: str) -> None:
    """P-P11: a handful of dependencies."""
    assert not _loaded_by(statement) & HEAVY


@pytest.mark.parametrize("module", ["typednn", "typednn.shapes", "typednn.errors"])
def test_shapes_and_errors_load_no_arrays(module: str) -> None:
    assert not _loaded_by(f"import {module}") & (HEAVY | {"numpy", "jaxtyping", "beartype"})


def test_probe_sees_what_is_loaded() -> None:
    assert "numpy" in _loaded_by("import numpy")
