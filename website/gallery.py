"""Reports of real runs: short trainings, made while the site is built, each by the command that its page shows."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, final

from website.staging import REPOSITORY


@final
class Piece(NamedTuple):
    """A run of the gallery: its name, title, what it shows, and the command that trains it."""

    name: str
    title: str
    about: str
    command: str


PIECES = (
    Piece(
        "images",
        "A classification of images",
        "LeNet5 on scikit-learn's digits, with the images that it gets wrong",
        "typednn train lenet5 --data digits --epochs 10 --run images --report",
    ),
    Piece(
        "numbers",
        "A regression",
        "Prices of invented houses, by area and year",
        "typednn train --data houses.csv --target price --task regression --set max_steps=500 --run numbers --report",
    ),
    Piece(
        "language",
        "A language model",
        "A small GPT-2 learns the page on training of this documentation, character by character",
        "typednn train gpt2 --data training.md --set max_steps=150 --set model.n_embd=32 --run language --report",
    ),
)


def write(pages: Path) -> list[str]:
    """Train, and write the gallery's page and the reports, below ``pages``."""
    gallery = pages / "gallery"
    gallery.mkdir()
    parts = [
        "# Gallery",
        "What `typednn train … --report` writes: one self-contained page for each run. [Reports](../docs/reports.md) "
        "says how to read the pictures.",
    ]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _houses(place)
        shutil.copy(REPOSITORY / "docs" / "training.md", place)
        for piece in PIECES:
            _train(piece, place)
            shutil.copy(place / piece.name / "report.html", gallery / f"{piece.name}.html")
            shutil.copy(place / piece.name / "plots" / "curves.png", gallery / f"{piece.name}.png")
            parts += [
                f"## {piece.title}",
                f"{piece.about}. [The report]({piece.name}.html)",
                f"```bash\n{piece.command}\n```",
                f"![Loss by step, of training and validation]({piece.name}.png)",
            ]
    (gallery / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return ["gallery/index.md"]


def _houses(folder: Path) -> None:
    """The table of docs/command-line.md, written by the program that stands there."""
    page = (REPOSITORY / "docs" / "command-line.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


def _train(piece: Piece, folder: Path) -> None:
    command = [sys.executable, "-m", *shlex.split(piece.command)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{piece.command} fails:\n{done.stderr}")
