"""The notebooks of examples/, executed as a reader executes them, as pages.

Not by nbconvert: it would bring a dozen packages for what is a page of code, and its Markdown breaks where an output's
HTML has an empty line.
"""

import tempfile
from pathlib import Path
from typing import Any

from tests.support.notebooks import execute, html, read

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


def write(pages: Path) -> list[str]:
    """Execute the notebooks and write their pages, below ``pages``."""
    (pages / "examples").mkdir()
    for name in NOTEBOOKS:
        notebook = read(name)
        with tempfile.TemporaryDirectory() as folder:
            execute(notebook, Path(folder))
        (pages / "examples" / f"{name}.md").write_text(page(notebook), encoding="utf-8")
    return [f"examples/{name}.md" for name in NOTEBOOKS]
