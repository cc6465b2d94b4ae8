"""How hard tests search: Hypothesis's profiles, and the smaller number of examples where each of them is expensive."""

import os
import subprocess
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings

# "default" gives the same verdict each time; "ci" draws fewer, but others in each run, "long" many. Both print the seed
# that repeats them.
settings.register_profile("default", deadline=None, max_examples=25, derandomize=True, print_blob=True)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=False, print_blob=True, database=None)
# no smallest example
settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate])
settings.register_profile(
    "long", settings.get_profile("ci"), max_examples=500, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("mutants"))
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)
SAME_EACH_TIME = settings().derandomize

# Whether what takes minutes is wanted too: `make torture` asks for it.
LONG = PROFILE == "long" or bool(os.environ.get("TYPEDNN_LONG"))

# The share of its examples that each property has, whatever its own settings say: "ci" draws others in each run;
# "quick" is `make quick`.
SHARE = {"ci": 0.4, "quick": 0.2}.get(PROFILE, 1.0)


# The tests that take turns in "ci": those of 5 seconds or more, all their parameters together, by name.
SLOW = frozenset(Path(__file__).parent.parent.joinpath("slow.txt").read_text(encoding="utf-8").split())
TURNS = 3


@cache
def commit() -> str:
    """What is checked out: whatever differs between runs of CI is drawn by this, so that all processes of a run draw
    the same.
    """
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()


def runs(test: str) -> bool:
    """Whether this profile runs a test, with its parameters."""
    if PROFILE == "quick":
        return test.partition("[")[0] not in SLOW
    return PROFILE != "ci" or has_turn(test, commit())


def has_turn(test: str, at: str) -> bool:
    """Whether a test runs in CI at the commit ``at``: a slow one, with its parameters, at a third of them."""
    return test.partition("[")[0] not in SLOW or zlib.crc32(f"{at} {test}".encode()) % TURNS == 0


def with_examples(function: Any, count: Callable[[int], int]) -> settings:
    """The settings of a property with ``count`` of the examples that it has; `OWN` is where Hypothesis reads them."""
    said: settings = getattr(function, OWN)
    return settings(said, max_examples=count(said.max_examples))


OWN = "_hypothesis_internal_use_settings"  # no public name: a decorator comes too late once the tests are collected

# For a test each of whose examples compiles kernels, trains a model or starts a process: 6 of them, and 125 in "long".
expensive = settings(deadline=None, max_examples=settings().max_examples // 4)
# For a test each of whose examples compiles the dozens of kernels of a whole model: 3, and 62 in "long".
very_expensive = settings(deadline=None, max_examples=settings().max_examples // 8)
# For a test whose examples take microseconds: 400, and 8,000 in "long".
cheap = settings(deadline=None, max_examples=16 * settings().max_examples)
