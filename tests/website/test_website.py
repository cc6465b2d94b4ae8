"""The site: no public name is missing, the pictures are those of today, and every link of the whole leads somewhere."""

import re
import subprocess
import tomllib
from importlib import import_module
from inspect import ismodule
from pathlib import Path
from pkgutil import iter_modules

import nbformat.v4
import pytest
from markdown import Markdown

import typednn
from website import __main__ as building
from website import docstrings, notebooks, pictures, reference, staging

REPOSITORY = Path(__file__).resolve().parents[2]
# Packages with an `__all__` that is for typednn itself.
WITHIN = {"cli", "language_server", "nn", "static_checks"}


@pytest.mark.parametrize("package", reference.PACKAGES)
def test_a_page_has_every_name_of_its_package(package: str) -> None:
    module = import_module(package)
    shown = re.findall(rf"^::: {re.escape(package)}\.(\w+)$", reference.page(package), re.MULTILINE)
    linked = re.findall(rf"[\[`]{re.escape(package)}\.(\w+)(?:\]\(|`, a module)", reference.page(package))
    exported = list(getattr(module, "__all__", shown))
    assert len(exported) > 0
    assert sorted(shown + linked) == sorted(exported)
    assert all(ismodule(getattr(module, name)) for name in linked)


def test_every_public_package_has_a_page() -> None:
    public = {
        f"typednn.{each.name}"
        for each in iter_modules(typednn.__path__)
        if each.name not in WITHIN | {"__main__"} and getattr(import_module(f"typednn.{each.name}"), "__all__", [])
    }
    assert public <= set(reference.PACKAGES)
    assert {name for name in typednn.__all__ if ismodule(getattr(typednn, name))} <= {
        package.removeprefix("typednn.") for package in reference.PACKAGES
    }


def test_a_name_that_is_added_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = import_module("typednn.losses")
    monkeypatch.setattr(losses, "Hinge", object, raising=False)
    monkeypatch.setattr(losses, "__all__", [*losses.__all__, "Hinge"])
    assert "\n::: typednn.losses.Hinge\n" in reference.page("typednn.losses")


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_the_one_of_today(name: str) -> None:
    """`python -m website.pictures` draws them anew."""
    assert (pictures.IMAGES / name).read_text(encoding="utf-8") == pictures.PICTURES[name]()


def test_the_floors_are_those_of_the_design() -> None:
    """Names as docs/design.md has them; modules as the contract has them."""
    page = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ((?:`\w+` ?)+) \|", page.partition("Where to look")[0], re.MULTILINE)
    assert [name for name, _ in rows] == list(pictures.FLOORS)
    assert [set(re.findall(r"`(\w+)`", modules)) for _, modules in rows] == [set(row) for row in pictures.contract()]
    assert all(f">{name}<" in pictures.floors() for name in pictures.FLOORS)


def test_a_call_goes_through_files_that_there_are() -> None:
    assert [file for file, _ in pictures.CALL if not (REPOSITORY / "typednn" / file).is_file()] == []


def test_every_page_has_its_place_in_the_navigation() -> None:
    listed = [page for _, pages in staging.sections() for page in pages]
    there = {f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")} - {"docs/index.md"}
    assert sorted(listed) == sorted(there)


def test_the_address_is_one_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`[project.urls]` of pyproject.toml, where there is none today."""
    assert {"site_url", "repo_url"} & set(tomllib.loads(building.settings([]))["project"]) == set()
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    urls = '\n[project.urls]\nDocumentation = "https://docs.invalid/"\nRepository = "https://code.invalid/"\n'
    (tmp_path / "pyproject.toml").write_text(project + urls, encoding="utf-8")
    monkeypatch.setattr(building, "REPOSITORY", tmp_path)
    settings = tomllib.loads(building.settings([("One", ["a.md"]), ("Two", ["b.md", "c.md"])]))["project"]
    assert (settings["site_url"], settings["repo_url"]) == ("https://docs.invalid/", "https://code.invalid/")
    assert settings["nav"] == [{"typednn": "README.md"}, {"One": "a.md"}, {"Two": ["b.md", "c.md"]}]


@pytest.mark.parametrize(
    "text",
    [
        "x[i][j] is a_name_ and *all* of them, with <no> tag, # no heading",
        "`a_b` and ``c*d`` stay",
        "y = x weightᵀ + bias",
        "x (batch, in)   y (batch, out)\nweight (out, in)",
        ">>> model.num_parameters()\n101770",
        "    indented = code\n    more",
    ],
)
def test_a_docstring_is_shown_as_it_is_written(text: str) -> None:
    shown = Markdown(extensions=["pymdownx.superfences"]).convert(docstrings.markdown(text))
    plain = re.sub(r"<[^>]+>", "", shown).replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    assert plain.split() == text.replace("`", "").split()
    assert "<em>" not in shown
    assert "<a " not in shown


def test_what_cells_show_stays_whole() -> None:
    """HTML with an empty line, text, and a cell that shows nothing."""
    shown = [
        nbformat.v4.new_output("stream", text="said\n"),
        nbformat.v4.new_output("execute_result", data={"text/html": "<b>\n\n*one*</b>", "text/plain": "one"}),
    ]
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# Title"),
            nbformat.v4.new_code_cell("a = 1", outputs=shown),
            nbformat.v4.new_code_cell("b = 2"),
        ]
    )
    assert notebooks.page(book) == (
        "# Title\n\n```python\na = 1\n```\n\n```text\nsaid\n```\n\n"
        '<div class="shown"><b>\n*one*</b></div>\n\n```python\nb = 2\n```\n'
    )


def test_every_notebook_is_a_page() -> None:
    assert {path.stem for path in (REPOSITORY / "examples").glob("*.ipynb")} == set(notebooks.NOTEBOOKS)


def test_the_whole_site(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Strict: a link or an anchor that leads nowhere would end it. Nothing is loaded from elsewhere."""
    assert building.main(tmp_path) == 0, capfd.readouterr().out
    site = tmp_path / "site"
    files = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert files >= {f"docs/{path.stem}.html" for path in (REPOSITORY / "docs").glob("*.md")}
    assert files >= {"index.html", "gallery/images.html", "gallery/numbers.html", "gallery/language.html"}
    for package in reference.PACKAGES:
        page = (site / "reference" / f"{package}.html").read_text(encoding="utf-8")
        linked = set(re.findall(rf'href="[^"]*{re.escape(package)}\.(\w+)\.html"', page))
        anchors = set(re.findall(rf'id="{re.escape(package)}\.(\w+)"', page))
        modules = set(re.findall(rf">{re.escape(package)}\.(\w+)</code>, a module", page))
        assert set(reference.names(package)) <= anchors | linked | modules, package
    for file in files:
        page = (site / file).read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|iframe|link rel="stylesheet")[^>]+(?:src|href)="(?:https?:)?//', page), (
            file
        )
    assert "clip_grad_norm" in (site / "search.json").read_text(encoding="utf-8")
    steps = (site / "examples" / "first_steps.html").read_text(encoding="utf-8")
    assert "24 × 24 × 8" in steps, "the notebook was executed"


def test_a_broken_link_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without trainings and the reference: they take a minute."""

    def stage(pages: Path) -> None:
        (pages / "README.md").write_text(
            "# Title\n\n[a page](missing.md) and [a heading](#nowhere)\n", encoding="utf-8"
        )
        (pages / "extra.css").write_text("", encoding="utf-8")

    monkeypatch.setattr(staging, "stage", stage)
    monkeypatch.setattr(staging, "sections", list)
    for part in (building.gallery, building.notebooks, building.reference):
        monkeypatch.setattr(part, "write", lambda pages: ["README.md"])
    monkeypatch.setattr(staging, "AROUND", ("README.md", "README.md"))
    run, said = subprocess.run, []

    def heard(*command: object, **options: object) -> object:
        done = run(*command, **options, capture_output=True, text=True)  # type: ignore[call-overload]
        said.append(done.stdout + done.stderr)
        return done

    monkeypatch.setattr(subprocess, "run", heard)
    assert building.main(tmp_path) != 0
    assert "2 issues found" in said[0], said[0]
    assert not (tmp_path / "site").exists()
