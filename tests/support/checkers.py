"""The type checkers, as the tests of types run them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# pyright asks the first Python on the path where packages are.
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def mypy(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """mypy, strict and without the plugin."""
    settings = ["--config-file", str(ROOT / "tests" / "typing" / "plain.ini"), "--cache-dir", str(cache)]
    command = [sys.executable, "-m", "mypy", *settings, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def pyright(project: Path) -> subprocess.CompletedProcess[str]:
    """pyright on a project's settings, to JSON."""
    return subprocess.run(
        [sys.executable, "-m", "pyright", "-p", str(project), "--outputjson"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
