"""Everything that reads bytes from outside: ``tests/data/test_fuzz.py`` tries it in seconds,
`tests.torture.fuzz_readers` for longer.
"""

from tests.torture.outside import DATA, Outside
from tests.torture.outside_models import MODELS

READERS: dict[str, Outside] = {**DATA, **MODELS}
