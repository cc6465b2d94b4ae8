"""A training killed by SIGKILL at random moments ends as one that was left alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL there")
def test_five_kills_change_nothing() -> None:
    """Other moments each time; the seed is printed, and ``--kills 5 --of by-hand --seed N`` repeats them."""
    command = [sys.executable, "-m", "tests.training.torture", "--kills", "5", "--of", "by-hand"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^PASS: 5 kills in \d+ runs, \d of them within the writing of a checkpoint; seed \d+$",
        done.stdout,
        re.MULTILINE,
    )
