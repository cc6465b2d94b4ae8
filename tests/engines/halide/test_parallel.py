"""Object files by several processes: what they make is what one process makes, and what they can't is left to the
caller.
"""

import copy
import pickle  # noqa: TID251  # what jobs go through
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_op

from typednn.engines.halide import parallel, toolchain
from typednn.engines.halide.parallel import Job
from typednn.kernels.op import OPS
from typednn.kernels.pointwise import Formula

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

PLAN = sample_op.forward_kernel().plan
MANY = [Job(f"typednn_{place}", PLAN) for place in range(12)]
JOBS = MANY[:4]


def objects(folder: Path, *, threads: int = 2, jobs: Any = JOBS, show: Any = None) -> list[bool]:
    """Whether each job's object is made by another process, which then is a right one."""
    made: list[bool] = []
    with parallel.compiled(jobs, threads, show):
        for job in jobs:
            own = parallel.object_of(job, folder)
            made.append(own.parent != folder)
            assert f"{job.symbol}_argv".encode() in own.read_bytes()
    for job in jobs:
        assert parallel.object_of(job, folder).parent == folder
    return made


def test_processes_write_what_this_one_would(tmp_path: Path) -> None:
    shown: list[tuple[int, int, str]] = []
    assert objects(tmp_path, show=lambda *values: shown.append(values)) == [True] * 4
    assert shown[0] == (0, 4, "")
    assert shown[1:] == [(done, 4, "sample.relu") for done in (1, 2, 3, 4)]


@pytest.mark.parametrize("threads", [1, 2])
def test_few_jobs_start_no_process(tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel.subprocess, "Popen", None)
    assert objects(tmp_path, threads=threads, jobs=JOBS[: 2 + (threads == 1)]) == [False] * (2 + (threads == 1))


@pytest.mark.parametrize("executable", ["", "/bin/false", "/bin/true"])
def test_processes_that_do_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    shown: list[tuple[int, int, str]] = []
    assert objects(tmp_path, show=lambda *values: shown.append(values)) == [False] * 4
    assert shown == ([(0, 4, ""), (4, 4, "")] if executable else []), "a terminal's line goes away"


def test_a_process_that_can_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError), parallel.compiled(JOBS, 2, None):
        pass


def test_a_frozen_program_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert objects(tmp_path) == [False] * 4


def wrong(cpu: Any, x: Any) -> Any:
    """One output more than is declared."""
    return [sample_op.build(cpu, x), sample_op.build(cpu, x)]


def test_jobs_that_fail_elsewhere_leave_the_others(tmp_path: Path) -> None:
    def local(*arguments: Any) -> Any:  # no other process can import it
        return sample_op.build(*arguments)

    jobs = [*JOBS, Job("typednn_local", replace(PLAN, build=local)), Job("typednn_wrong", replace(PLAN, build=wrong))]
    with parallel.compiled(jobs, 2, None):
        assert [parallel.object_of(job, tmp_path).parent != tmp_path for job in jobs[:5]] == [True] * 4 + [False]
        with pytest.raises(toolchain.EngineError, match="build gives 2 outputs, 1 are declared"):
            parallel.object_of(jobs[5], tmp_path)


def test_an_interrupt_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    begin = parallel.subprocess.Popen

    def popen(*arguments: Any, **named: Any) -> Any:
        started.append(begin(*arguments, **named))
        return started[-1]

    def interrupt(done: int, total: int, name: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(parallel.subprocess, "Popen", popen)
    with pytest.raises(KeyboardInterrupt), parallel.compiled(MANY, 2, interrupt):
        pass
    assert len(started) == 2
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


@pytest.mark.parametrize(
    "name",
    [name for name, op in OPS.items() if op.engines and isinstance(getattr(op.engines[0].run, "__self__", 0), Formula)],
)
def test_formulas_survive_the_way(name: str) -> None:
    formula = OPS[name].engines[0].run.__self__  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(formula)) is formula


def test_a_formula_without_a_kernel_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a layer of one's own that holds its op."""
    formula = Formula(lambda xp, x: 2 * x)
    monkeypatch.setitem(OPS, "test.doubled", OPS["relu.forward"])  # which `op` replaces
    formula.op("test.doubled")
    assert copy.deepcopy([formula])[0] is formula


def test_the_environment_of_a_process_finds_the_same_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not a file of the current folder that is called as a module."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    assert objects(tmp_path / "out") == [True] * 4
