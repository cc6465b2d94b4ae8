"""The reference: a page for each package, with every name that it gives its users."""

from importlib import import_module
from inspect import ismodule
from pathlib import Path

from typednn.errors import habits
from website.docstrings import markdown

# Packages that are documented beside those whose names most programs use.
FURTHER = (
    "typednn.plans",
    "typednn.backends",
    "typednn.engines",
    "typednn.errors",
    "typednn.graph_layer",
    "typednn.layer",
    "typednn.serving",
    "typednn.shapes",
    "typednn.sklearn",
)
PACKAGES = (*habits.PACKAGES, *FURTHER)


def names(package: str) -> list[str]:
    """What ``package`` gives its users, in the order in which a reader meets it."""
    return list(getattr(import_module(package), "__all__", None) or habits.public_names(package))


def page(package: str) -> str:
    """The Markdown from which mkdocstrings makes the page of ``package``."""
    module = import_module(package)
    modules = [name for name in names(package) if ismodule(getattr(module, name))]
    within = [f"{package}.{name}" for name in modules]
    listed = [f"[{each}]({each}.md)" if each in PACKAGES else f"`{each}`, a module" for each in within]
    parts = [f"# {package}", markdown(module.__doc__ or ""), " · ".join(listed)]
    parts += [f"::: {package}.{name}" for name in names(package) if name not in modules]
    return "\n\n".join(part for part in parts if part) + "\n"


def write(pages: Path) -> list[str]:
    """The files of all packages, below ``pages``."""
    (pages / "reference").mkdir()
    for package in PACKAGES:
        (pages / "reference" / f"{package}.md").write_text(page(package), encoding="utf-8")
    return [f"reference/{package}.md" for package in PACKAGES]
