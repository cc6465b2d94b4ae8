"""`make quick`: the tests nearest to what was changed, until two minutes are up.

What was changed: the files that git says are not committed; if all are, those of the last commit. SINCE=COMMIT says
otherwise.

=====  ==========================================================================================================
order  tests
=====  ==========================================================================================================
0      that were changed; for a page, pyproject.toml or another file that is no Python: those of tests/repo
1      whose file is called as a changed one is: tests/graph/test_program.py, tests/kernels/test_linear_cpu.py; that
       import a changed helper
2      that import a changed module, or a package that does
3      that import a module which imports a changed one; 4 and so on: over one more
=====  ==========================================================================================================

Slow ones (tests/slow.txt) are left out, and each property has a fifth of its examples. What has no time is counted as
skipped.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 115
MOST_FILES = 150  # to collect the tests of more takes too long


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"make quick: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def changed(since: str) -> list[str]:
    """The files that differ from the commit ``since``; without one from the last commit, or this from
    the one before.
    """
    named = _git("diff", "--name-only", since or "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    return named or _git("diff", "--name-only", "HEAD~1")


def module_of(file: str) -> str:
    """``typednn.layers.linear`` for typednn/layers/linear.py; "" for a file that is no module of the package."""
    path = Path(file)
    if path.parts[0] != "typednn" or path.suffix != ".py":
        return ""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


_IMPORT = re.compile(r"^ *(?:from|import) +([\w.]+)(?: +import +(\([^)]*\)|.*))?", re.MULTILINE)


def imports(source: str) -> set[str]:
    """What a test imports, each by its longest name; ``from typednn.layers import Linear`` may be two."""
    found = set[str]()
    for module, names in _IMPORT.findall(source):
        found |= {module, *(f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", names.partition("#")[0]))}
    return found


@cache
def _imports(file: Path) -> set[str]:
    return imports(file.read_text(encoding="utf-8"))


def _used(test: Path) -> set[str]:
    """What a test imports, itself or by the helpers beside it and in tests/support."""
    found = _imports(test)
    return found.union(*(_imports(_helpers()[helper]) for helper in helpers_in(found)))


def helpers_in(found: set[str]) -> set[str]:
    """The helpers among what is imported: ``effort``, or layer_cases of ``tests.layer_cases.LayerCase``."""
    parts = {part for name in found if name.partition(".")[0] != "typednn" for part in name.split(".")}
    return parts & _helpers().keys()


@cache
def _helpers() -> dict[str, Path]:
    """Files that tests import, by their names."""
    found = [*(ROOT / "tests").glob("*.py"), *(ROOT / "tests").glob("*/*.py")]
    return {path.stem: path for path in found if not path.name.startswith(("test_", "conftest", "__init__"))}


def distances(modules: Iterable[str]) -> dict[str, int]:
    """Of each module of typednn that imports one of these, over others too, how many imports lead there."""
    graph = grimp.build_graph("typednn", cache_dir=None)
    found = {module: 0 for module in modules if module in graph.modules}
    reached = list(found)
    while reached:
        importers = {importer for module in reached for importer in graph.find_modules_that_directly_import(module)}
        reached = [importer for importer in importers if importer not in found]
        found |= dict.fromkeys(reached, max(found.values()) + 1)
    return found


def nearest(files: Iterable[str], tests: Iterable[Path]) -> list[Path]:
    """The tests in the table's order."""
    files = list(files)
    modules = {module for file in files if (module := module_of(file))}
    others = any(
        not module_of(file) and Path(file).parts[0] not in ("tests", "benchmarks", "examples") for file in files
    )
    far = distances(modules)
    names = {Path(file).stem for file in files if file.endswith(".py")} | {
        each.split(".")[-2] for each in modules if each.count(".") > 1
    }
    order: dict[Path, int] = {}
    for test in tests:
        place = str(test.relative_to(ROOT))
        own = test.stem.removeprefix("test_")
        if place in files or (others and place.startswith("tests/repo/")):
            order[test] = 0
        elif own in names or any(own.startswith(f"{name}_") for name in names) or helpers_in(_imports(test)) & names:
            order[test] = 1
        elif near := [far[name] for name in _used(test) if name in far]:
            order[test] = 2 + min(near)
    return sorted(order, key=lambda test: order[test])[:MOST_FILES]


def main() -> int:
    """Run them."""
    files = changed(os.environ.get("SINCE", ""))
    tests = nearest(files, sorted((ROOT / "tests").rglob("test_*.py")))
    if not tests:
        print(f"no test imports what was changed: {', '.join(files) or 'nothing'}")
        return 0
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    print(f"changed: {', '.join(files[:5])}{more}; {len(tests)} files of tests, nearest first", flush=True)
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "TYPEDNN_TESTS_UNTIL": str(time.time() + SECONDS)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "auto",
        "--dist",
        "load",
        "--maxschedchunk",
        "4",
        "-q",
        *map(str, tests),
    ]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return 0 if code == 5 else code  # none was left to run: all are slow


if __name__ == "__main__":
    sys.exit(main())
