"""The notebooks of examples/, executed as a reader executes them, as pages.

Not by nbconvert: it would bring a dozen packages for what is a page of code, and its Markdown breaks where an output's
HTML has an empty line.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from website.staging import REPOSITORY

NOTEBOOKS = ("first_steps", "own_layer")


def page(notebook: Any) -> str:
    """The Markdown of an executed notebook: its cells, each with what it shows."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [_shown(output) for output in cell.outputs]
    return "\n\n".join(parts) + "\n"


def _shown(output: Any) -> str:
    if markup := html(output):
        # Markdown ends HTML at an empty line
        lines = "\n".join(line for line in markup.splitlines() if line.strip())
        return f'<div class="shown">{lines}</div>'
    said = output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
    return f"```text\n{said.rstrip()}\n```"


def read(name: str) -> Any:
    """The notebook ``examples/NAME.ipynb``, which is stored without anything that a run leaves."""
    notebook: Any = nbformat.read(REPOSITORY / "examples" / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None), (
            f"{name}: store it without outputs"
        )
    return notebook


def execute(notebook: Any, folder: Path, **environment: str) -> list[list[Any]]:
    """Run the cells in ``folder``; the outputs of each that holds code. An error in a cell is raised."""
    paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    common = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": paths,
        "IPYTHONDIR": str(folder / "ipython"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    # of the file system, which no other machine reaches; their paths must be short
    with tempfile.TemporaryDirectory() as sockets:
        settings = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        resources = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, kernel_name="python3", timeout=300, resources=resources, config=settings)
        client.execute(env={**os.environ, **common, **environment})
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def text(outputs: list[Any]) -> str:
    """What a cell printed."""
    return "".join(output.text for output in outputs if output.output_type == "stream")


def html(output: Any) -> str:
    """What an output shows as HTML; "" where it is none."""
    return "".join(output.get("data", {}).get("text/html", ""))


def write(pages: Path) -> list[str]:
    """Execute the notebooks and write their pages, below ``pages``."""
    (pages / "examples").mkdir()
    for name in NOTEBOOKS:
        notebook = read(name)
        with tempfile.TemporaryDirectory() as folder:
            execute(notebook, Path(folder))
        (pages / "examples" / f"{name}.md").write_text(page(notebook), encoding="utf-8")
    return [f"examples/{name}.md" for name in NOTEBOOKS]
