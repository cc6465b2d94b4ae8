"""The pages as they lie in the repository, copied to where Zensical reads them, and the navigation.

Their places to each other stay the same, so that every link of the repository holds on the site too.
"""

import re
import shutil
from pathlib import Path
from typing import TypeAlias

REPOSITORY = Path(__file__).resolve().parents[1]
AROUND = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

Section: TypeAlias = tuple[str, list[str]]  # its title, and its pages


def stage(pages: Path) -> None:
    """Copy the pages and their pictures."""
    for name in AROUND:
        shutil.copy(REPOSITORY / name, pages / name)
    shutil.copytree(REPOSITORY / "docs", pages / "docs")
    shutil.copy(Path(__file__).with_name("extra.css"), pages / "extra.css")


def sections() -> list[Section]:
    """The sections of docs/index.md, each with the pages that its table lists."""
    index = (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    listed = [
        (title, [f"docs/{page}" for page in re.findall(r"^\| \[[^\]]+\]\(([a-z-]+\.md)\)", rows, re.MULTILINE)])
        for title, rows in zip(parts[::2], parts[1::2], strict=True)
    ]
    return [(title, files) for title, files in listed if files]
