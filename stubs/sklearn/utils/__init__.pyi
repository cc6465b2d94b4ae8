from numpy import float32
from numpy.random import RandomState
from numpy.typing import NDArray

class TargetTags:
    multi_output: bool

class Tags:
    target_tags: TargetTags

def check_array(array: object, *, dtype: type[float32], ensure_2d: bool, input_name: str) -> NDArray[float32]: ...
def check_random_state(seed: object) -> RandomState: ...
