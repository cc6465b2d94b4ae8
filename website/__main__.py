"""`python -m website`: the whole site into build/site, offline. Broken links and anchors are errors."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from website import gallery, notebooks, reference, staging
from website.staging import REPOSITORY, Section


def main(folder: Path) -> int:
    """Stage, execute, train, and let Zensical build ``folder``/site; its exit code."""
    work, site = folder / "website", folder / "site"
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "pages"
    pages.mkdir(parents=True)
    staging.stage(pages)
    navigation = [
        *staging.sections(),
        ("Gallery", gallery.write(pages)),
        ("Notebooks", notebooks.write(pages)),
        ("Reference", reference.write(pages)),
        ("The project", list(staging.AROUND[1:])),
    ]
    (work / "zensical.toml").write_text(settings(navigation), encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    build = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    code = subprocess.run(build, cwd=work, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
    if code == 0:
        shutil.rmtree(site, ignore_errors=True)
        (work / "site").rename(site)
        sys.stdout.write(f"{site / 'index.html'}\n")
    return code


def settings(navigation: list[Section]) -> str:
    """The settings for Zensical: those of zensical.toml, the navigation, and the addresses that pyproject.toml has."""
    head, project, rest = Path(__file__).with_name("zensical.toml").read_text(encoding="utf-8").partition("[project]\n")
    urls = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    entries = [(title, files[0] if len(files) == 1 else files) for title, files in navigation]
    nav = [
        '{"typednn" = "README.md"}',
        *(f"{{{json.dumps(title)} = {json.dumps(files)}}}" for title, files in entries),
    ]
    lines = [f"nav = [{', '.join(nav)}]"]
    lines += [
        f"{setting} = {json.dumps(urls[name])}"
        for setting, name in (("site_url", "Documentation"), ("repo_url", "Repository"))
        if name in urls
    ]
    return f"{head}{project}{chr(10).join(lines)}\n{rest}"


if __name__ == "__main__":
    sys.exit(main(REPOSITORY / "build"))
