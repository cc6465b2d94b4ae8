"""Which engine runs: the question, the switch, the counters, and what happens where a package or the
linker is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.engines import counters, counting, dispatch, fast, observing, using
from typednn.engines.halide import toolchain
from typednn.errors import ArgumentError
from typednn.kernels import adaptive_avg_pool2d, conv2d, linear
from typednn.kernels.activations import IDENTITY
from typednn.kernels.conv2d import Window
from typednn.kernels.op import OPS, Engine, Op, op
from typednn.kernels.pointwise import relu

SUPPORT = Path(__file__).parents[1] / "support"
X = np.ones((4, 6), np.float32)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    full = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code, str(SUPPORT)], env=full, capture_output=True, text=True, check=False, timeout=120
    )


class Subclass(np.ndarray):  # type: ignore[type-arg]
    pass


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
@pytest.mark.parametrize(
    ("array", "answer"),
    [
        pytest.param(X, True, id="plain"),
        pytest.param(X[0], True, id="row"),
        pytest.param(np.ones((), np.float32), True, id="rank 0"),
        pytest.param(X.T, False, id="transposed"),
        pytest.param(X[:, 1:], False, id="strided"),
        pytest.param(X[:0], False, id="empty"),
        pytest.param(X.astype(np.float16), False, id="float16"),
        pytest.param(X.astype(np.int32), False, id="int32"),
        pytest.param(X.astype(X.dtype.newbyteorder()), False, id="byte order"),
        pytest.param(X.view(Subclass), False, id="subclass"),
        pytest.param(X.tolist(), False, id="list"),
        pytest.param(np.float32(1), False, id="number"),
        pytest.param(None, True, id="an optional array that is not there"),
        pytest.param(np.broadcast_to(np.float32(1), (2**16, 2**16)), False, id="more than 32 bits count"),
    ],
)
def test_what_the_fast_path_covers(array: Any, answer: bool) -> None:
    assert fast(array) is answer
    assert fast(X, array) is answer
    assert fast(array, X, X) is answer


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_an_equal_dtype_of_its_own_is_covered() -> None:
    other = X.astype(np.dtype("f4", metadata={"from": "a file"}))
    assert other.dtype is not X.dtype
    assert fast(other)


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_the_arrays_have_one_dtype() -> None:
    wide = X.astype(np.float64)
    assert fast(wide)
    assert fast(wide, None, wide)
    assert fast(wide, wide.astype(np.dtype("f8", metadata={"from": "a file"})))
    assert not fast(X, wide)
    assert not fast(wide, X)
    assert not fast(wide, wide.T)
    assert not fast(wide, wide, X.astype(np.int64))
    assert not fast(wide, dtypes=(X.dtype,))


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_other_dtypes_can_be_asked_about() -> None:
    int64 = (np.dtype(np.int64),)
    assert fast(np.arange(3), dtypes=int64)
    assert fast(np.arange(3, dtype=np.int32), dtypes=(*int64, np.dtype(np.int32)))
    assert not fast(np.arange(3, dtype=np.int32), dtypes=int64)
    assert not fast(np.arange(6)[::2], dtypes=int64)
    assert not fast(np.arange(3), np.arange(0), dtypes=int64)


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_using() -> None:
    with using("reference"):
        assert not fast(X)
        assert not fast(np.arange(3), dtypes=(np.dtype(np.int64),))
        with using("fast"):
            assert fast(X)
        assert not fast(X)
    assert fast(X)
    with (
        pytest.raises(ArgumentError, match="using: must be one of fast, reference, kernels, got 'halide'"),
        using("halide"),
    ):
        pass
    assert fast(X)


def engines_of(call: Callable[[], object]) -> set[tuple[str, str]]:
    with counting() as counts:
        call()
    return set(counts)


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_kernels_alone() -> None:
    """Where NumPy, OpenBLAS or Winograd's convolution is quicker too; what has no kernel stays with NumPy."""
    rng = np.random.default_rng(0)
    few = rng.standard_normal((2, 3), np.float32)
    wide = [rng.standard_normal(shape, np.float32) for shape in ((64, 500), (450, 500), (450,))]
    images = rng.standard_normal((8, 16, 16, 32), np.float32), rng.standard_normal((32, 3, 3, 32), np.float32)
    window = Window(padding=(1, 1, 1, 1))
    calls: dict[tuple[str, str], Callable[[], Any]] = {
        ("relu.forward", "reference"): lambda: relu.forward(few),
        ("linear.forward", "blas"): lambda: linear.forward(*wide, IDENTITY),
        ("conv2d.forward", "winograd"): lambda: conv2d.forward(*images, None, window)[0],
    }
    for (name, engine), call in calls.items():
        ordinary = call()
        assert engines_of(call) == {(name, engine)}
        with using("kernels"):
            assert engines_of(call) == {(name, "halide")}
            np.testing.assert_allclose(call(), ordinary, rtol=1e-4, atol=1e-4)
            with using("reference"):
                assert engines_of(call) == {(name, "reference")}
        assert engines_of(call) == {(name, engine)}
    with using("kernels"):
        assert engines_of(lambda: adaptive_avg_pool2d.forward(images[0], (2, 2))) == {
            ("adaptive_avg_pool2d.forward", "reference")
        }
    assert not counters.observers


def test_environment_forces_the_reference() -> None:
    code = "import numpy as np; from typednn.engines import fast; print(fast(np.ones(3, np.float32)))"
    assert run(code, TYPEDNN_ENGINE="reference").stdout == "False\n"
    wrong = run(code, TYPEDNN_ENGINE="fastest")
    assert "TYPEDNN_ENGINE: must be one of fast, reference, got 'fastest'" in wrong.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_counting_in_a_child_forked_while_another_thread_counts() -> None:
    code = """
import os, signal, threading
import numpy as np
from typednn.engines import counters, counting
from typednn.kernels.reshape import reshape
held, release = threading.Event(), threading.Event()
def hold():
    with counters.observers[0].lock():
        held.set()
        release.wait()
thread = threading.Thread(target=hold)
with counting() as counts:
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)
        reshape(np.ones(2), (2, 1))
        os._exit(counts["reshape", "reference"])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    release.set()
"""
    done = run(code)
    assert done.stdout == "1\n", done.stderr


@pytest.fixture
def doubled() -> Any:
    """An op of the tests: two engines, the first for floats of at least four, the second for two arrays alike."""
    before = dict(OPS)

    def reference(x: Any, other: Any = None, factor: float = 2.0) -> Any:
        return x * factor

    def engine(x: Any, other: Any = None, factor: float = 2.0) -> Any:
        return x * factor

    yield op(
        "doubled",
        reference,
        Engine("first", engine, "x", least=4, sizes=lambda x, other, factor: other is None),
        Engine("second", engine, "x other", same_shape=True, aligned=True),
        flops=lambda x, other, factor: x.size,
    )
    OPS.clear()
    OPS.update(before)


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_the_first_engine_that_covers_the_arrays_runs(doubled: Any) -> None:
    """X-A12: engines in order, each for the arrays that it supports."""

    def ran(*arguments: Any, **named: Any) -> str:
        with counting() as counts:
            doubled(*arguments, **named)
        ((name, engine),) = counts
        assert name == "doubled"
        return engine

    unaligned = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(1, 6)
    assert not unaligned.flags.aligned
    assert ran(X) == "first"
    assert ran(X, factor=3.0) == "first"
    assert ran(X[:1, :3].copy()) == "second"  # too few numbers for the first
    assert ran(X, X) == "second"
    assert ran(X, X[:1]) == "reference"  # not alike
    assert ran(unaligned, X[:1]) == "reference"
    assert ran(X.astype(np.float64)) == "first"
    assert ran(X.astype(np.float16)) == "reference"
    assert ran(X.T) == "reference"
    with using("reference"):
        assert ran(X) == "reference"


def test_an_op_writes_what_its_reference_gives() -> None:
    before = dict(OPS)
    step = op(
        "step", lambda weights, grad: (weights - grad,), flops=lambda weights, grad: weights.size, writes="weights"
    )
    OPS.clear()
    OPS.update(before)
    weights, grad = np.ones(3), np.full(3, 0.25)
    assert step(weights, grad) is None
    np.testing.assert_array_equal(weights, [0.75, 0.75, 0.75])
    np.testing.assert_array_equal(grad, [0.25, 0.25, 0.25])


def test_observing(doubled: Any) -> None:
    ran: list[Any] = []
    with observing(ran.append):
        y = doubled(X)
    doubled(X)
    (one,) = ran
    assert isinstance(one.op, Op)
    assert one.op.name == "doubled"
    assert one.arguments[0] is X
    assert one.result is y
    assert one.op.flops(*one.arguments) == 24
    assert 0 < one.seconds < 1


def test_counting(doubled: Any) -> None:
    with using("reference"):
        doubled(X)
        with counting() as outer:
            doubled(X)
            with counting() as inner:
                doubled(X)
            doubled(X)
        doubled(X)
    assert inner == {("doubled", "reference"): 1}
    assert outer == {("doubled", "reference"): 3}
    assert counters.observers == []


def test_report_at_exit() -> None:
    code = (
        "import numpy as np; from typednn.kernels.reshape import reshape; [reshape(np.ones(2), (2, 1)) for _ in "
        "range(2)]"
    )
    assert (
        " ".join(run(code, TYPEDNN_ENGINES="report").stderr.split())
        == "typednn: which engine ran each op 2 reshape reference"
    )
    assert run(code).stderr == ""


MISSING = """
import sys, warnings
from importlib.abc import MetaPathFinder
class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("halide", "scipy_openblas32"):
            raise ModuleNotFoundError(name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("halide", "scipy_openblas32") else found(name, *rest)
sys.meta_path.insert(0, Hidden())
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numpy as np
    from typednn.engines import available, blas, fast, gemm
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert not seen
    assert [fast(x) for _ in range(3)] == [False] * 3 and not available()
    out = np.ones((2, 2), np.float32)
    gemm(x, x, out, transpose_b=True)
    assert (out == x @ x.T).all()
print(*[warning.message for warning in seen], blas.why(), sep="|")
"""


def test_missing_packages() -> None:
    """X-A12: an engine that is not there is passed over."""
    done = run(MISSING)
    assert done.returncode == 0, done.stderr
    warning, why = done.stdout.strip().split("|")
    assert (
        warning == "typednn runs its slow reference ops, because Halide is not installed: pip install 'typednn[fast]'"
    )
    assert why == "NumPy multiplies: scipy-openblas32 is not installed (pip install 'typednn[fast]')"


@pytest.mark.skipif(not toolchain.available(), reason="needs Halide")
def test_missing_linker(tmp_path: Path) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, sample_op
from typednn.engines.halide import runtime
x = np.linspace(-1, 1, 1001, dtype=np.float32)
assert (sample_op.forward(x) == np.maximum(x, 0)).all()
print(runtime._library)
"""
    done = run(code, PATH=str(tmp_path), TYPEDNN_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    assert not (tmp_path / "cache").exists()


def test_import_loads_no_compiler() -> None:
    code = (
        "import sys, typednn.engines; print([name for name in ('halide', 'scipy_openblas32') if name in sys.modules])"
    )
    assert run(code).stdout == "[]\n"


def test_blocks_of_several_threads_overlap() -> None:
    """A block that ends while a later one runs takes its own choice back, not the later one's; the last to end leaves
    what was before.
    """
    before = dispatch.chosen_engine()
    first, second = using("reference"), using("fast")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert dispatch.chosen_engine() == "fast"
    third = using("reference")
    third.__enter__()
    second.__exit__(None, None, None)
    assert dispatch.chosen_engine() == "reference"
    third.__exit__(None, None, None)
    assert dispatch.chosen_engine() == before
    assert fast(X) == (before == "fast" and toolchain.available())


def test_dispatch_starts_undecided() -> None:
    assert run("from typednn.engines import dispatch; print(dispatch._on)").stdout == "None\n"
    assert np.dtype("float32") == dispatch.FLOAT32
