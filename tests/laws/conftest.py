import pytest
import strict_array

from tests.layer_cases import CASES, LayerCase


@pytest.fixture(params=CASES, ids=str, scope="session")
def case(request: pytest.FixtureRequest) -> LayerCase:
    found: LayerCase = request.param
    return found


@pytest.fixture(params=["cpu", "strict"], scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Where the arrays are: NumPy's, or those that refuse what CuPy refuses."""
    strict_array.register()
    found: str = request.param
    return found
