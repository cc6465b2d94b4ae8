"""A job of ranks that one command starts: what it says of a rank that dies, and how it goes on.

Truth is a training that was left alone, and what MPICH was seen to say.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tests.cli.conftest import environment, run_command
from tests.parallel.processes import in_processes, ranks_of
from typednn.parallel.job import Ended, command, mpiexec

# What MPICH 5.0.2 prints where a rank was killed.
FRAME = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 10 RUNNING AT node07
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
PRESENT = 'typednn-rank:{{"rank": {0}, "process": 1{0}, "host": "node0{0}"}}\ntypednn-rank:{{"begun": {0}}}\n'


def heard(text: str, count: int = 2) -> tuple[Ended, str]:
    """What becomes of these lines, and what of them is passed on."""
    ended = Ended(count)
    return ended, "".join(ended.hear(line) for line in text.splitlines(keepends=True))


def test_what_ranks_say_is_passed_on_without_what_only_the_job_reads() -> None:
    said = (
        'epoch 1typednn-rank:{"rank": 1, "process": 11, "host": "node01"}\n  loss 2\ntypednn-rank:{"run": "runs/a-1"}\n'
    )
    ended, shown = heard(said + FRAME)
    assert shown == "epoch 1  loss 2\n\n"
    assert (ended.ranks[1]["process"], ended.run) == (11, "runs/a-1")
    assert ended.ended_by == ("Killed", 9)


KILLED = "was ended by signal 9 (Killed), as the system does where memory runs out"


@pytest.mark.parametrize(
    ("said", "first", "code", "cause"),
    [
        (FRAME, [1], 9, f"rank 1 of 2, on node01, {KILLED}"),
        (FRAME, [0, 1], 9, f"a rank {KILLED}"),
        (FRAME.replace("Killed (signal 9)", "Aborted (signal 6)"), [], 6, "a rank was ended by signal 6 (Aborted)"),
        ("", [0], 70, "rank 0 of 2, on node00, ended with an error"),
        ("", [], 255, "mpiexec ended with 255"),
    ],
)
def test_a_fault_is_told_in_one_phrase(said: str, first: list[int], code: int, cause: str) -> None:
    ended, _ = heard(PRESENT.format(0) + PRESENT.format(1) + said)
    ended.first = first
    ended.close(code, None)
    assert (ended.failed, ended.code, ended.cause) == (True, 1, cause)


@pytest.mark.parametrize(("told", "code", "failed"), [(1, 1, False), (143, 143, False), (70, 1, True)])
def test_a_rank_that_ends_the_job_says_its_code(told: int, code: int, failed: bool) -> None:
    """mpiexec kills the others, and may tell of one of these."""
    ended, shown = heard(
        PRESENT.format(0) + PRESENT.format(1) + f'typednn-rank:{{"ends": 1, "code": {told}}}\n' + FRAME
    )
    ended.close(9, None)
    assert (ended.code, ended.failed, shown) == (code, failed, "\n")
    assert ended.cause == ("rank 1 of 2, on node01, ended with an error" if failed else "")


def test_ranks_that_have_not_begun_are_named() -> None:
    ended, _ = heard(PRESENT.format(0), count=4)
    ended.close(255, None)
    assert ended.cause == "mpiexec ended with 255; of 4 ranks there had not begun: 1, 2, 3"


@pytest.mark.parametrize(
    ("code", "stopped", "expected"),
    [(0, None, 0), (1, None, 1), (2, None, 2), (130, None, 130), (143, None, 143), (9, signal.SIGINT, 130)],
)
def test_the_end_of_a_job_that_is_no_fault(code: int, stopped: int | None, expected: int) -> None:
    """Done, an error that was told, a mistake in the command line, and stops."""
    ended = Ended(2)
    ended.close(code, stopped)
    assert (ended.failed, ended.code) == (False, expected)


# -------------------------------------------------------------- in processes

TRAIN = ("train", "mlp", "--data", "digits", "-q", "--epochs", "4", "--set", "checkpoint_every=5", "--set", "shards=8")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The last weights of one process that was left alone."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    folder = tmp_path_factory.mktemp("alone")
    done = run_command(*TRAIN, "--run", "run", cwd=folder, TYPEDNN_ENGINE="reference")
    assert done.returncode == 0, done.stderr
    return weights(folder / "run")


def weights(run: Path) -> dict[str, bytes]:
    """Of the last checkpoint, and its step."""
    last = max((run / "checkpoints").glob("step-*"))
    return {"step": last.name.encode()} | {
        name: array.tobytes() for name, array in load_file(last / "weights.safetensors").items()
    }


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "typednn", *arguments],
        cwd=folder,
        env=environment(TYPEDNN_ENGINE="reference"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(job: "subprocess.Popen[str]", run: Path, step: int) -> None:
    """Until there is a checkpoint after so many steps."""
    until = time.monotonic() + 60
    while not any(int(path.name[5:]) >= step for path in (run / "checkpoints").glob("step-*")):
        assert job.poll() is None, job.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.01)


def ended(job: "subprocess.Popen[str]", seconds: float = 60) -> tuple[int, str, str]:
    try:
        out, err = job.communicate(timeout=seconds)
    finally:
        job.kill()
    return job.returncode, out, err


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the ranks in /proc")


@in_processes
@needs_proc
def test_a_job_goes_on_where_ranks_are_killed(tmp_path: Path, alone: dict[str, bytes]) -> None:
    """Twice, another rank each time; the weights are those of one process that was left alone."""
    job = started(tmp_path, *TRAIN, "--ranks", "2", "--restarts", "2", "--run", "run")
    for step, rank in ((10, 1), (50, 0)):
        wait_for(job, tmp_path / "run", step)
        os.kill(ranks_of(job.pid)[rank], signal.SIGKILL)
    code, out, err = ended(job)
    assert code == 0, err
    assert len(out.splitlines()) == 1, "the result, and nothing that MPICH says"
    lines = err.splitlines()
    assert len(lines) == 2, err
    for number, (rank, line) in enumerate(zip((1, 0), lines, strict=True), 1):
        who = "a rank" if line.startswith("typednn: a rank ") else f"rank {rank} of 2, on {os.uname().nodename},"
        assert line.startswith(f"typednn: {who} {KILLED}; restart {number} of 2: from step ")
        assert line.endswith(", on 2 ranks")
    assert weights(tmp_path / "run") == alone


@in_processes
@needs_proc
def test_a_job_whose_ranks_did_not_all_begin_goes_on_with_fewer(tmp_path: Path, alone: dict[str, bytes]) -> None:
    """The second rank does not find a module that it needs before MPI starts, on which the first waits for ever."""
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").touch()
    (tmp_path / "mpi4py" / "MPI.py").write_text(
        "import os, sys\nif os.environ['PMI_RANK'] == '1':\n    os._exit(3)\n"
        "sys.path.remove(os.environ['BROKEN'])\ndel sys.modules['mpi4py'], sys.modules['mpi4py.MPI']\n"
        "from mpi4py import MPI\nsys.modules['mpi4py.MPI'] = MPI\n"
    )
    more = {"BROKEN": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])}
    arguments = (*TRAIN, "--ranks", "2", "--restarts", "1", "--run", "run")
    done = run_command(*arguments, cwd=tmp_path, TYPEDNN_ENGINE="reference", **more)
    assert done.returncode == 0, done.stderr
    host = os.uname().nodename
    then = "restart 1 of 1: from the start, on 1 rank"
    assert done.stderr == f"typednn: rank 1 of 2, on {host}, ended before MPI had started there; {then}\n"
    assert weights(tmp_path / "run") == alone


@in_processes
@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_job_saves_and_ends_it(tmp_path: Path, number: signal.Signals, code: int) -> None:
    pytest.importorskip("sklearn", reason="of which the digits are")
    job = started(tmp_path, *TRAIN, "--epochs", "500", "--ranks", "2", "--restarts", "2", "--run", "run")
    wait_for(job, tmp_path / "run", 5)
    job.send_signal(number)
    found, _, err = ended(job, 20)
    assert found == code, err
    assert "go on with: typednn resume run" in err
    assert "restart" not in err


@in_processes
@needs_proc
def test_a_signal_to_one_rank_before_the_training_ends_the_job(tmp_path: Path) -> None:
    """It does not know what the others do."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    program = "import os, signal\nfrom typednn.parallel import Ranks\nranks = Ranks()\nwith ranks.together():\n"
    program += (
        "    ranks.rank and os.kill(os.getpid(), signal.SIGINT)\n    ranks.from_first(1)\n    ranks.first_reason(None)"
    )
    words = [str(mpiexec()), "-n", "2", sys.executable, "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 130
    assert "typednn: rank 1 of 2, on " in done.stderr


@in_processes
def test_a_mistake_is_told_once_and_not_tried_again(tmp_path: Path) -> None:
    done = run_command(
        *TRAIN, "--lr", "1e30", "--ranks", "2", "--restarts", "2", cwd=tmp_path, TYPEDNN_ENGINE="reference"
    )
    assert done.returncode == 1
    assert done.stderr.count("must stay finite") == 1
    assert done.stderr.count("ended the job") == 1
    assert "restart" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--restarts", "1"), "--restarts: starts the ranks of a job again, got no --ranks; give --ranks N"),
        (
            ("--restarts", "1", "--ranks", "2", "--folds", "3"),
            "--restarts: goes on with one training, got --folds; train each fold by itself: --set fold=1/N",
        ),
    ],
)
def test_restarts_that_make_no_sense(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_command(*TRAIN, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"typednn train: {said}\n")


def test_what_starts_a_job() -> None:
    if mpiexec() is None or (shutil.which("mpiexec") is None and not Path(str(mpiexec())).is_file()):
        pytest.skip("needs mpiexec")
    words: Any = command(3, ["train", "mlp"])
    assert words == [mpiexec(), "-n", "3", sys.executable, "-m", "typednn", "train", "mlp"]
