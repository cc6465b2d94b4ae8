"""docs/proven.md says of which of typednn's own functions the plugin does not know all sizes."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("typednn/layers", "typednn/models/gpt2.py", "typednn/losses", "typednn/optim", "typednn/kernels")
OTHER_ENGINES = ("cpu.py", "cuda.py", "blocks.py", "schedules.py")


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The report, a row for each function."""
    command = [sys.executable, "-m", "typednn", "check", "--coverage", "--json", *PARTS]
    environment = os.environ | {"MYPY_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if not row["path"].endswith(OTHER_ENGINES)]


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "proven.md").read_text(encoding="utf-8")


def test_each_function_that_is_not_proven_is_listed_with_a_reason(functions: list[dict[str, Any]], page: str) -> None:
    listed = {(file, function): why for file, function, why in re.findall(r"^\| (\S+\.py) \| (\S+) \| (.+) \|$", page, re.MULTILINE)}
    lost = {(row["path"].removeprefix("typednn/"), row["function"]) for row in functions if row["verdict"] != "proven"}
    assert listed.keys() == lost
    assert all(len(why) > 10 for why in listed.values())


def test_the_counts(functions: list[dict[str, Any]], page: str) -> None:
    part_of = {row["path"]: next(part for part in PARTS if row["path"].startswith(part)) for row in functions}
    every = Counter(part_of[row["path"]] for row in functions)
    proven = Counter(part_of[row["path"]] for row in functions if row["verdict"] == "proven")
    for part in PARTS:
        assert re.search(rf"`{re.escape(part)}` \| {every[part]} \| {proven[part]} \|", page), (part, every[part], proven[part])


def test_gpt2_is_proven_to_its_last_line(functions: list[dict[str, Any]]) -> None:
    verdicts = [row["verdict"] for row in functions if row["path"] == "typednn/models/gpt2.py"]
    assert len(verdicts) >= 8
    assert set(verdicts) == {"proven"}
