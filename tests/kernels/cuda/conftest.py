"""Where CUDA kernels are tested: on a stand-in that runs them on the CPU, and on a GPU where there is one (``make
gpu``).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import cuda_on_cpu
import numpy as np
import pytest
import strict_array

from typednn.engines import counting, using


class Gpu(NamedTuple):
    """A device for arrays, and the ways to it and back."""

    put: Callable[[Any], Any]
    get: Callable[[Any], Any]
    contracts: bool
    """Whether a product and a sum may be joined, and so be rounded once: a GPU's compiler does that."""

    def run(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        """``function``, an op, on this device, from and to NumPy arrays, which it
        may write; asserts that a CUDA kernel did it.
        """
        there = [self.put(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
        with counting() as counts:
            outcome = function(*there, **keywords)
        assert dict(counts) == {(function.op.name, "cuda"): 1}
        for here, written in zip(arguments, there, strict=True):
            if isinstance(here, np.ndarray) and here.flags.writeable:
                here[...] = self.get(written)
        if outcome is None:
            return None
        if isinstance(outcome, tuple):
            return tuple(None if array is None else self.get(array) for array in outcome)
        return self.get(outcome)

    @staticmethod
    def reference(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """What the reference says of the same arguments, on NumPy."""
        with using("reference"), np.errstate(all="ignore"):
            return function(*arguments, **keywords)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def gpu(request: pytest.FixtureRequest) -> Iterator[Gpu]:
    if request.param == "cuda":
        from typednn.backends import to_device, to_numpy

        yield Gpu(lambda host: to_device(host, "cuda"), to_numpy, contracts=True)
        return
    if not cuda_on_cpu.RUNS_HERE:
        pytest.skip("the stand-in for a GPU needs Linux and a C++ compiler")
    with cuda_on_cpu.strict_arrays_on_cuda():
        yield Gpu(strict_array.to_strict, strict_array.to_numpy, contracts=False)
