"""Rehearsals: kernels are known before they run, nothing is computed twice, and whatever goes wrong the results are
right.
"""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sample_op

from typednn.engines import Array, counting, get_threads, kernel, set_threads
from typednn.engines.halide import cache, compiled, parallel, rehearsal, toolchain
from typednn.engines.halide.compiled import Kernel

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

X = np.linspace(-1, 1, 33, dtype=np.float32)


@pytest.fixture(autouse=True)
def two_threads(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = get_threads()
    set_threads(2)
    (tmp_path / "kernels").mkdir(mode=0o700)
    monkeypatch.setenv("TYPEDNN_CACHE", str(tmp_path / "kernels"))
    yield
    set_threads(before)


@pytest.fixture
def compiled_together(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the kernels of each parallel compilation, which is not done."""
    names: list[list[str]] = []

    @contextmanager
    def record(jobs: Any, threads: int, show: Any) -> Iterator[None]:
        names.append([job.plan.name for job in jobs if job.plan is not None])
        yield

    monkeypatch.setattr(parallel, "compiled", record)
    return names


def relu(name: str) -> Kernel:
    elements = Array("elements", flat=True)
    return Kernel(kernel(name, sample_op.build, inputs=(elements,), outputs=(elements,)).plan)


def relu_of(one: Kernel, x: Any = X) -> Any:
    y = np.full_like(x, 7)
    one.call(x, y)
    return y


def test_a_first_call_compiles_what_is_rehearsed(compiled_together: list[list[str]]) -> None:
    kernels = [relu(name) for name in ("one", "two", "three")]
    seen: list[Any] = []
    with rehearsal.expecting(lambda: seen.extend(relu_of(each) for each in (*kernels, kernels[0])), None):
        for each in kernels:
            np.testing.assert_array_equal(relu_of(each), np.maximum(X, 0))
    assert compiled_together == [["one", "two", "three"]]
    assert all((y == 0).all() for y in seen)  # nothing was computed
    assert len(seen) == 4


def test_what_is_on_disk_is_not_rehearsed(compiled_together: list[list[str]]) -> None:
    relu_of(relu("known"))
    with rehearsal.expecting(lambda: pytest.fail("nothing has to be compiled"), None):
        np.testing.assert_array_equal(relu_of(relu("known")), np.maximum(X, 0))
    assert compiled_together == []


def test_a_rehearsal_computes_with_what_is_on_disk(compiled_together: list[list[str]]) -> None:
    relu_of(relu("known"))
    known, unknown, seen = relu("known"), relu("unknown"), []
    with rehearsal.expecting(lambda: seen.append(relu_of(known)), None):
        relu_of(unknown)
    np.testing.assert_array_equal(seen[0], np.maximum(X, 0))
    assert compiled_together == [["unknown"]]


def test_an_error_ends_a_rehearsal_only(compiled_together: list[list[str]]) -> None:
    first, second, third = relu("first"), relu("second"), relu("third")

    def rehearse() -> None:
        relu_of(first)
        relu_of(second)
        raise ZeroDivisionError
        relu_of(third)

    with rehearsal.expecting(rehearse, None):
        for each in (first, second, third):
            np.testing.assert_array_equal(relu_of(each), np.maximum(X, 0))
    assert compiled_together == [["first", "second"], ["third", "first", "second"][:1]]


def test_a_rehearsal_is_not_observed(compiled_together: list[list[str]]) -> None:
    from typednn.kernels.pointwise import relu as op

    large = np.linspace(-1, 1, 5001, dtype=np.float32)
    with counting() as counts, rehearsal.expecting(lambda: op.forward(large), None):
        relu_of(relu("unseen"))
        assert not counts
        op.forward(large)
    assert counts == {("relu.forward", "halide"): 1}


def test_expectations_belong_to_a_thread_and_end(compiled_together: list[list[str]]) -> None:
    with rehearsal.expecting(lambda: None, None):
        other = threading.Thread(target=lambda: relu_of(relu("elsewhere")))
        other.start()
        other.join()
    relu_of(relu("later"))
    assert compiled_together == []
    assert rehearsal.expected() is None


def test_one_thread_compiles_alone(compiled_together: list[list[str]]) -> None:
    set_threads(1)
    with rehearsal.expecting(lambda: pytest.fail("no other process may help"), None):
        relu_of(relu("alone"))
    assert compiled_together == []


def test_without_a_linker_nothing_is_rehearsed(
    compiled_together: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "linkers", lambda: ())
    with rehearsal.expecting(lambda: pytest.fail("objects can't be loaded"), None):
        np.testing.assert_array_equal(relu_of(relu("memory")), np.maximum(X, 0))
    assert compiled_together == []


def test_several_threads_compile_together_once() -> None:
    kernels = [relu(f"several{place}") for place in range(4)]
    results: list[Any] = []

    def compute() -> None:
        with rehearsal.expecting(lambda: [relu_of(each) for each in kernels], None):
            results.extend(relu_of(each) for each in kernels)

    compiled_by_this_process: list[str] = []
    write = parallel.Job.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            parallel.Job, "write", lambda job, path: (compiled_by_this_process.append(job.symbol), write(job, path))[1]
        )
        workers = [threading.Thread(target=compute) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
    assert len(results) == 12
    for y in results:
        np.testing.assert_array_equal(y, np.maximum(X, 0))
    assert compiled_by_this_process == []  # other processes did, the runtime included


@pytest.mark.parametrize("error", [OSError("no room"), RuntimeError("can't start new thread")])
def test_without_other_processes_this_one_compiles(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(
        *((threading.Thread, "start") if isinstance(error, RuntimeError) else (parallel, "compiled")), fails
    )
    one = relu("lonely")
    with rehearsal.expecting(lambda: None, None):
        np.testing.assert_array_equal(relu_of(one), np.maximum(X, 0))


def test_what_only_the_rehearsal_calls_may_be_wrong(compiled_together: list[list[str]]) -> None:
    elements = Array("elements", flat=True)
    wrong = kernel("wrong", lambda cpu, x: [], inputs=(elements,), outputs=(elements,))
    one = relu("right")
    with rehearsal.expecting(lambda: relu_of(wrong), None):
        np.testing.assert_array_equal(relu_of(one), np.maximum(X, 0))
        with pytest.raises(compiled.EngineError, match="build gives 0 outputs, 1 are declared"):
            relu_of(wrong)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for done, name in enumerate(["", "linear.tiles", "sgd.plain"]):
        rehearsal.progress_line(done, 2, name)
    assert capsys.readouterr() == ("", "typednn compiles 2 kernels for these sizes and this processor\n")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    rehearsal.progress_line(0, 2, "")
    rehearsal.progress_line(1, 2, "linear.tiles")
    assert terminal.getvalue().endswith(
        "\r\x1b[Ktypednn compiles 2 kernels for these sizes and this processor: 1 done, linear.tiles"
    )
    rehearsal.progress_line(2, 2, "sgd.plain")
    assert terminal.getvalue().endswith("\r\x1b[K")
    monkeypatch.setattr("sys.stderr", None)
    rehearsal.progress_line(0, 2, "")


def test_has_says_what_entry_finds() -> None:
    one = relu("there")
    key = compiled._key(one.plan)
    assert not cache.has(key)
    relu_of(one)
    assert cache.has(key)
