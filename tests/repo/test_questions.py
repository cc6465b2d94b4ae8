"""The questions by which docs/design.md and the tree are tried have answers that exist."""

import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_each_answer_is_in_the_tree() -> None:
    questions = tomllib.loads((REPOSITORY / "tests/repo/questions.toml").read_text(encoding="utf-8"))["question"]
    assert len({each["change"] for each in questions}) == 20
    assert [path for each in questions for path in each["answers"] if not (REPOSITORY / path).exists()] == []
