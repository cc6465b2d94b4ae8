"""The command that shows a page of the documentation, which comes with the package: docs."""

import re
import shutil
import sys
import textwrap
from argparse import Namespace
from pathlib import Path
from typing import NamedTuple, final

from typednn.cli.output import say
from typednn.errors import ArgumentError, explain, suggestion

# A row of the list of pages in index.md: the title, the file, what it is for.
_ROW = re.compile(r"^\| \[[^\]]+\]\(([a-z-]+)\.md\) \| (.+) \|$", re.MULTILINE)


@final
class Page(NamedTuple):
    """A page's name, without .md, and what it is for."""

    name: str
    about: str


def docs(options: Namespace) -> int:
    """The page's text, laid out on a terminal; its path; or, without a name, the list of pages."""
    if options.page is None:
        for line in _listed(pages()):
            say(line)
        return 0
    path = page_path(options.page)
    if options.path:
        say(str(path))
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console(file=sys.stdout).print(Markdown(_without_comments(path.read_text(encoding="utf-8")), hyperlinks=False))
    else:
        say(path.read_text(encoding="utf-8").rstrip("\n"))
    return 0


def folder() -> Path:
    """Where the pages are: within the package, or in the sources that are installed as they are."""
    package = Path(__file__).resolve().parents[1]
    return package / "docs" if (package / "docs").is_dir() else package.parent / "docs"


def pages() -> list[Page]:
    """The pages in the order in which index.md lists them."""
    index = (folder() / "index.md").read_text(encoding="utf-8")
    return [Page(name, about.replace("`", "")) for name, about in _ROW.findall(index)]


def page_path(name: str) -> Path:
    """The file of the page ``name``, which may be written as a file of the repository: docs/training.md."""
    names = ["index", *(page.name for page in pages())]
    plain = name.removeprefix("docs/").removesuffix(".md")
    if plain not in names:
        cure = f"{suggestion(plain, names)}; typednn docs lists the pages"
        raise ArgumentError(explain("page", "expects the name of a page", repr(name), cure), "page")
    return folder() / f"{plain}.md"


def _without_comments(page: str) -> str:
    return re.sub(r"^<!-- .* -->\n", "", page, flags=re.MULTILINE)


def _listed(found: list[Page]) -> list[str]:
    """A line for each page; on a terminal as many as fit its width."""
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    start = max(len(page.name) for page in found) + 2
    return [
        line
        for page in found
        for line in textwrap.wrap(
            page.about, most, initial_indent=f"{page.name:<{start}}", subsequent_indent=" " * start
        )
    ]
