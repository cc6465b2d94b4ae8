"""Kernels of these tests are compiled into a folder of their own, so that no run finds what an earlier one has left."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TYPEDNN_CACHE", str(tmp_path_factory.mktemp("kernels")))
        yield
