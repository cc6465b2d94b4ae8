"""The names that typednn gives its users: one that comes, goes or is renamed changes the list on purpose.

`tests/golden/public_names.txt` holds them; TYPEDNN_RECORD=1 in the environment writes it anew. A name that goes gets a
row in `typednn.errors.habits.RENAMED` first, for one minor version.
"""

import os
from pathlib import Path

from typednn.errors import habits

LIST = Path(__file__).parents[1] / "golden" / "public_names.txt"


def test_the_names_are_those_of_the_list() -> None:
    text = "".join(f"{package}: {', '.join(habits.public_names(package))}\n" for package in sorted(habits.PACKAGES))
    if os.environ.get("TYPEDNN_RECORD"):
        LIST.write_text(text, "utf-8")
    known = dict(line.split(": ", 1) for line in LIST.read_text("utf-8").splitlines())
    now = dict(line.split(": ", 1) for line in text.splitlines())
    assert known.keys() == now.keys()
    for package, names in now.items():
        gone = sorted(set(known[package].split(", ")) - set(names.split(", ")))
        come = sorted(set(names.split(", ")) - set(known[package].split(", ")))
        assert not gone, (
            f"{package} has lost {gone}: keep the old name for a minor version (typednn.errors.habits.RENAMED)"
        )
        assert not come, f"{package} has new names {come}: TYPEDNN_RECORD=1 pytest {__file__} writes them into the list"


def test_a_renamed_name_is_gone_and_its_successor_is_there() -> None:
    for old, (new, until) in habits.RENAMED.items():
        package, _, name = old.rpartition(".")
        assert name not in habits.public_names(package)
        home, _, successor = new.rpartition(".")
        assert successor in habits.public_names(home)
        assert until.count(".") == 1
