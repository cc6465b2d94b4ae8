"""Kernels: right numbers from every shape, wrong arguments refused, and nothing that ends the process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sample_op
from fast_ops import TARGETS

from typednn.engines import Array, EngineError, Scalar, hl, kernel, set_threads, threads
from typednn.engines.halide import compiled, sources, toolchain
from typednn.engines.halide.compiled import Kernel
from typednn.errors import DTypeError, ShapeError
from typednn.optim import SGD, Adam

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

SIZES = [1, 3, 15, 16, 17, 63, 64, 65, 1000, 65536, 65537, 200_001]


@pytest.fixture(params=["linked", "in memory"])
def relu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """The kernel as it is everywhere with a linker, and as it is without."""
    if request.param == "in memory":
        monkeypatch.setattr(toolchain, "linkers", lambda: ())
    return Kernel(sample_op.forward_kernel().plan)


@pytest.mark.parametrize("size", SIZES)
def test_any_size(relu: Kernel, size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    x[size // 2] = np.nan
    y = np.full_like(x, 7)
    relu(x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def unaligned(array: Any) -> Any:
    """The same numbers, one byte off."""
    moved = np.frombuffer(bytearray(array.nbytes + 1), array.dtype, array.size, 1).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    return moved


def test_unaligned_inputs(relu: Kernel) -> None:
    x = np.linspace(-1, 1, 100, dtype=np.float32).reshape(4, 25)
    y = np.empty_like(x)
    relu(unaligned(x), y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    with pytest.raises(ShapeError, match="must be C-contiguous, aligned and writeable"):
        relu(x, unaligned(y))


@pytest.mark.parametrize("make", [lambda: SGD(0.1), lambda: SGD(0.1, momentum=0.9), lambda: Adam(0.1)])
def test_unaligned_weights_are_stepped_by_the_reference(make: Any) -> None:
    weights, grad = np.linspace(-1, 1, 3000, dtype=np.float32), np.ones(3000, np.float32)
    moved, optimizer, other = unaligned(weights), make(), make()
    for _ in range(2):
        optimizer.step(weights, grad)
        other.step(moved, unaligned(grad))
    np.testing.assert_allclose(moved, weights, rtol=1e-6, atol=1e-7)  # another order of the same roundings


def test_sizes_change_from_call_to_call(relu: Kernel) -> None:
    for size in [5, 1000, 5, 64, 1]:
        x = np.linspace(-1, 1, size, dtype=np.float32)
        guarded = np.full(size + 2, 9, np.float32)
        relu(x, guarded[1:-1])
        np.testing.assert_array_equal(guarded[1:-1], np.maximum(x, 0))
        assert guarded[0] == guarded[-1] == 9


def test_any_rank_where_flat(relu: Kernel) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    y = np.empty_like(x)
    relu(x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


X = np.ones((4, 6), np.float32)
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        pytest.param(
            (X, X[:2].copy()),
            ShapeError,
            r"sample.relu: output 0: must have the shape \(elements\)",
            id="smaller output",
        ),
        pytest.param((X.astype(np.float64), X), DTypeError, "argument 0: must be float32, got float64", id="dtype"),
        pytest.param((X.astype(">f4"), X), DTypeError, "argument 0: must be float32, got >f4", id="byte order"),
        pytest.param((X[:, ::2], X[:, :3].copy()), ShapeError, "argument 0: must be C-contiguous", id="strides"),
        pytest.param(
            (X, READ_ONLY), ShapeError, "output 0: must be C-contiguous, aligned and writeable", id="read-only output"
        ),
        pytest.param(([1.0], X), DTypeError, "argument 0: must be a numpy.ndarray, got list", id="list"),
        pytest.param((None, X), DTypeError, "must be a numpy.ndarray, got NoneType", id="None"),
        pytest.param((X, np.ma.masked_array(X)), DTypeError, "got MaskedArray", id="subclass"),
    ],
)
def test_wrong_arguments_are_refused(
    relu: Kernel, arguments: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    before = X.copy()
    with pytest.raises(error, match=says):
        relu(*arguments)
    np.testing.assert_array_equal(X, before)
    y = np.empty_like(X)
    relu(X, y)  # usable afterwards
    np.testing.assert_array_equal(y, X)


def test_wrong_number_of_arguments(relu: Kernel) -> None:
    relu(X, np.empty_like(X))
    with pytest.raises((TypeError, EngineError)):
        relu(X)


def scaled_rows(cpu: Any, x: Any, by: Any, shift: Any, *, twice: bool) -> Any:
    column, row = hl.Var("column"), hl.Var("row")
    y, total = hl.Func("y"), hl.Func("total")
    over = hl.RDom([(0, x.dim(0).extent())])
    y[column, row] = x[column, row] * by * hl.f32(2 if twice else 1)
    total[row] = hl.sum(hl.cast(hl.Float(64), x[over.x, row])) + shift
    y.vectorize(column, cpu.lanes, hl.TailStrategy.GuardWithIf)
    return [y, total]


@pytest.mark.parametrize("twice", [False, True])
def test_scalars_options_and_several_outputs(twice: bool) -> None:
    rows = Array("batch", 5)
    each = kernel(
        "test.scaled_rows",
        scaled_rows,
        inputs=(rows, Scalar(), Scalar("int32")),
        outputs=(rows, Array("batch", dtype="float64")),
        options={"twice": twice},
    )
    for batch in (1, 2, 33):
        x = np.random.default_rng(batch).standard_normal((batch, 5)).astype(np.float32)
        y, total = np.empty_like(x), np.empty(batch)
        each(x, 0.5, -3, y, total)
        np.testing.assert_array_equal(y, x * np.float32(1.0 if twice else 0.5))
        np.testing.assert_allclose(total, x.astype(np.float64).sum(axis=1) - 3, rtol=1e-12)
        with pytest.raises(ShapeError, match=r"output 1: must have the shape \(batch\)"):
            each(x, 0.5, -3, y, np.empty(batch + 1))


def with_tuple(cpu: Any, x: Any) -> Any:
    i = hl.Var("i")
    y = hl.Func("y")
    y[i] = hl.Tuple([x[i] * hl.f32(3), hl.cast(hl.UInt(8), x[i] > 0)])
    return y.vectorize(i, cpu.lanes, hl.TailStrategy.GuardWithIf)


def summed(cpu: Any, x: Any) -> Any:
    total, out = hl.Func("total"), hl.Func("out")
    over = hl.RDom([(0, x.dim(0).extent())])
    total[()] = hl.f32(0)
    total[()] += hl.cast(hl.Float(32), x[over.x])
    out[()] = total[()]
    total.compute_root()
    return out


def test_tuple_bytes_integers_and_rank_0() -> None:
    x = np.linspace(-1, 1, 37, dtype=np.float32)
    y, positive = np.empty_like(x), np.empty(37, np.uint8)
    kernel("test.tuple", with_tuple, inputs=(Array("n"),), outputs=(Array("n"), Array("n", dtype="uint8")))(
        x, y, positive
    )
    np.testing.assert_array_equal(y, x * np.float32(3))
    np.testing.assert_array_equal(positive, x > 0)
    total = np.zeros((), np.float32)
    kernel("test.sum", summed, inputs=(Array("n", dtype="int64"),), outputs=(Array(),))(np.arange(10), total)
    assert total == 45


def failing(cpu: Any, x: Any) -> Any:
    i = hl.Var("i")
    y = hl.Func("y")
    # Reads past the end of what every caller gives: Halide's own check has to complain.
    y[i] = x[i] + x[i + 1000]
    return y


def test_failure_while_running_is_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = kernel("test.failing", failing, inputs=(Array("n"),), outputs=(Array("n"),)).plan
    for linkers in (toolchain.linkers(), ()):
        monkeypatch.setattr(toolchain, "linkers", lambda linkers=linkers: linkers)
        broken = Kernel(plan)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"test.failing failed.*accessed at"):
                broken(np.ones(8, np.float32), np.ones(8, np.float32))


def misspelt(cpu: Any, x: Any) -> Any:
    y = hl.Func("y")
    y[hl.Var("i")] = x[hl.Var("i")]
    return y.vectorize(hl.Var("no_such_variable"), 8)


def test_bad_schedule_is_reported_under_the_kernels_name() -> None:
    broken = kernel("test.misspelt", misspelt, inputs=(Array("n"),), outputs=(Array("n"),))
    with pytest.raises(EngineError, match=r"test.misspelt can't be compiled: .*no_such_variable"):
        broken(X[0], X[1])


def test_wrong_number_of_outputs_is_reported() -> None:
    broken = kernel("test.outputs", with_tuple, inputs=(Array("n"),), outputs=(Array("n"),))
    with pytest.raises(EngineError, match="build gives 2 outputs, 1 are declared"):
        broken(X[0], X[1])


def test_one_plan_is_one_kernel() -> None:
    def ask(**changed: Any) -> Kernel:
        return kernel(
            **{"name": "a", "build": sample_op.build, "inputs": (Array("n"),), "outputs": (Array("n"),), **changed}
        )

    assert ask() is ask()
    assert (
        len(
            {
                id(each)
                for each in (
                    ask(),
                    ask(inputs=(Array(4),)),
                    ask(options={"k": 1}),
                    ask(options={"k": 2}),
                    ask(name="b"),
                )
            }
        )
        == 5
    )


def test_source_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "edited_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tiles.py").write_text("WIDTH = 8\ndef width():\n    return WIDTH\n")
    (package / "op.py").write_text("from edited_package.tiles import width\ndef build():\n    return width()\n")
    (package / "aside.py").write_text("")
    import edited_package.op as op

    def key() -> str:
        sources._digest_of_modules.cache_clear()
        return sources.digest_of(op.build)

    first = key()
    (package / "aside.py").write_text("x = 1\n")
    assert key() == first
    (package / "tiles.py").write_text("WIDTH = 16\ndef width():\n    return WIDTH\n")
    second = key()
    assert second != first
    (package / "op.py").write_text("from edited_package.tiles import width\ndef build():\n    return 2 * width()\n")
    assert key() != second


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_gets_an_object(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    toolchain.compile_object(sample_op.forward_kernel().plan, tmp_path / "kernel.o", "symbol", target)
    content = (tmp_path / "kernel.o").read_bytes()
    assert content[:4] == b"\x7fELF"
    assert b"symbol_argv" in content
    assert int.from_bytes(content[18:20], "little") == (183 if target.cpu.machine == "aarch64" else 62)
    assert hl.Target(target.text).natural_vector_size(hl.Float(32)) == target.cpu.lanes


def test_lanes_are_halides_own_opinion() -> None:
    assert toolchain.host().cpu.lanes == hl.get_host_target().natural_vector_size(hl.Float(32))


def test_threads_do_not_mix_their_arrays() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        mine = kernel("test.tuple", with_tuple, inputs=(Array("n"),), outputs=(Array("n"), Array("n", dtype="uint8")))
        size = 100 + number
        x = np.full(size, number, np.float32)
        for _ in range(2000):
            y, positive = np.empty_like(x), np.empty(size, np.uint8)
            mine(x, y, positive)
            z = sample_op.forward(x)
            if not ((y == 3 * number).all() and (z == number).all()):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_first_calls_from_several_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Any] = []
    load = compiled._load
    monkeypatch.setattr(compiled, "_load", lambda plan: (loads.append(plan), time.sleep(0.05), load(plan))[-1])
    fresh = Kernel(sample_op.forward_kernel().plan)
    workers = [threading.Thread(target=fresh, args=(X, np.empty_like(X))) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert len(loads) == 1


def big_relu(_: object = None) -> bool:
    x = np.linspace(-1, 1, 3_000_000, dtype=np.float32)
    return bool((sample_op.forward(x) == np.maximum(x, 0)).all())


def _in_child(context: str) -> None:
    with multiprocessing.get_context(context).Pool(2) as pool:
        assert pool.map_async(big_relu, range(4)).get(timeout=120) == [True] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("other", ["no other thread", "waiting", "computing"])
def test_fork_after_use(other: str) -> None:
    before = threads.get_threads()
    set_threads(2)
    assert big_relu()
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            big_relu()

    others = (
        [] if other == "no other thread" else [threading.Thread(target=compute if other == "computing" else stop.wait)]
    )
    for thread in others:
        thread.start()
    child = os.fork()
    if child == 0:
        right = big_relu()
        set_threads(3)
        right = right and big_relu()
        # Alone at the fork, the child has a pool of its own; beside other threads it computes on one core.
        workers = len(os.listdir("/proc/self/task")) - 1 if os.path.isdir("/proc/self/task") else 1
        os._exit(0 if right and (workers or others) else 1)
    stop.set()
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    for thread in others:
        thread.join()
    assert ended[1] == 0
    assert big_relu()
    set_threads(before)


def test_spawn() -> None:
    assert big_relu()
    _in_child("spawn")


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_threads_reach_the_kernels_pool() -> None:
    code = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, sample_op
from typednn.engines import set_threads
x = np.ones(3_000_000, np.float32)
found = []
for count in (1, 3, 2, 1):
    set_threads(count)
    sample_op.forward(x)
    found.append(len(os.listdir("/proc/self/task")))
print([tasks - found[0] for tasks in found])
"""
    command = [sys.executable, "-c", code, str(Path(sample_op.__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "[0, 2, 1, 0]\n", done.stdout + done.stderr
