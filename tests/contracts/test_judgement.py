"""A child judges, whatever the parent's other threads were doing when it was forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# beartype asks for a hint's hash while it holds a lock; this hint does not answer before the fork is under way.
FORK_WHILE_JUDGING = """
import os, signal, sys, threading
import beartype.door
from typednn.contracts import judgement

asked, answer = threading.Event(), threading.Event()

class Slow(type):
    def __hash__(cls):
        asked.set()
        answer.wait()
        return 1

class Hint(metaclass=Slow): ...

judge = beartype.door.is_bearable if sys.argv[1] == "beartype" else judgement.is_bearable
thread = threading.Thread(target=judge, args=(1, Hint))
thread.start()
asked.wait()
threading.Timer(0.5, answer.set).start()
child = os.fork()
if not child:
    signal.alarm(2 if sys.argv[1] == "beartype" else 60)
    os._exit(0 if judgement.is_bearable([1], list[int]) and not judgement.is_bearable([1], list[str]) else 1)
print(os.waitpid(child, 0)[1])
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("judge", "ending"), [("typednn", 0), ("beartype", signal.SIGALRM)])
def test_fork_while_another_thread_judges(judge: str, ending: int) -> None:
    """By beartype alone the child hangs, until the alarm: the lock is held indeed."""
    command = [sys.executable, "-c", FORK_WHILE_JUDGING, judge]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == f"{int(ending)}\n", done.stderr
