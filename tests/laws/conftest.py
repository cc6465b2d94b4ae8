import pytest
import strict_array

from tests.layer_cases import CASES, LayerCase


@pytest.fixture(params=CASES, ids=str, scope="session")
def case(request: pytest.FixtureRequest) -> LayerCase:
    found: LayerCase = request.param
    return found


@pytest.fixture(params=["cpu", "strict", pytest.param("cuda", marks=pytest.mark.gpu)], scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Where the arrays are: NumPy's, those that refuse what CuPy refuses, and CuPy's own where there is a GPU."""
    strict_array.register()
    found: str = request.param
    return found
