"""What every test shares: how hard Hypothesis searches, and where data sets are."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# "default" gives the same verdict on every machine; "long" searches for new counterexamples.
settings.register_profile("default", deadline=None, max_examples=25, derandomize=True, print_blob=True)
settings.register_profile("long", deadline=None, max_examples=500, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets; tests that need one skip where there is none."""
    told = os.environ.get("TYPEDNN_DATA")
    places = [Path(told)] if told else []
    places.append(REPOSITORY.parent / "shared" / "data")
    for place in places:
        if place.is_dir():
            return place
    pytest.skip(f"needs data sets, which are not part of the repository; looked in {', '.join(map(str, places))}; set TYPEDNN_DATA")
