from collections.abc import Mapping
from typing import Any

from numpy import float64
from numpy.typing import NDArray

def compute_class_weight(
    class_weight: Mapping[Any, float], *, classes: NDArray[Any], y: NDArray[Any]
) -> NDArray[float64]: ...
