"""The GPU: CuPy's arrays. The only module that imports CuPy, and not before it is needed."""

# pyright: reportMissingModuleSource=false
# CuPy need not be installed for the types to be checked: stubs/cupy stands for it.

import sys
from types import ModuleType
from typing import Any, ClassVar, final

from typednn.backends.backend import A, Backend
from typednn.errors import DeviceError, MissingExtra, explain


def _cupy() -> ModuleType:
    try:
        import cupy
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            cure = "pip install 'typednn[gpu]'"
            raise MissingExtra(
                explain('device "cuda"', "needs CuPy", "no module named 'cupy'", cure), name="cupy"
            ) from None
        raise _unusable(error) from error
    return cupy


def nccl() -> ModuleType:
    """CuPy's wrapper of NCCL, by which GPUs exchange arrays; a `MissingExtra` without it."""
    _cupy()
    from cupy.cuda import nccl

    if not nccl.available:
        got, cure = "a CuPy without it", "pip install nvidia-nccl-cu12, or the one of your CUDA"
        raise MissingExtra(explain("DataParallel", "needs NCCL to sum over GPUs", got, cure), name="cupy.cuda.nccl")
    return nccl


def _unusable(reason: Exception) -> DeviceError:
    return DeviceError(
        explain(
            'device "cuda"',
            "needs a GPU that CuPy can use",
            f"{type(reason).__name__}: {reason}",
            'check the driver with nvidia-smi and CuPy with python -c "import cupy; cupy.show_config()", or use '
            'device "cpu"',
        )
    )


@final
class CupyBackend(Backend):
    """One GPU: the one that CuPy calls current, or that of a ``number``, from the first use on."""

    device = "cuda"
    number: ClassVar[int | None] = None  # of a process among those of its job on its machine, which take GPUs in turn
    _works = False

    @property
    def array_type(self) -> type:
        array_type: type = _cupy().ndarray
        return array_type

    @property
    def namespace(self) -> Any:
        return _cupy()

    def owns(self, array: object) -> bool:
        return type(array) is getattr(sys.modules.get("cupy"), "ndarray", None)

    def from_numpy(self, host: A) -> A:
        array: A = _cupy().asarray(host)
        return array

    def to_numpy(self, array: A) -> A:
        host: A = _cupy().asnumpy(array)
        return host

    def require(self) -> None:
        """Once: compute one number, which finds a missing driver, a missing GPU and a missing compiler alike."""
        if self._works:
            return
        cupy = _cupy()
        try:
            count = cupy.cuda.runtime.getDeviceCount()
            if count == 0:
                raise RuntimeError("no CUDA device found")
            if self.number is not None:
                cupy.cuda.Device(self.number % count).use()
            cupy.add(cupy.ones(1, dtype=cupy.float32), 1)
            cupy.cuda.Device().synchronize()
        except Exception as error:
            # CuPy's errors share no base: RuntimeError, ImportError, OSError, CompileException, …
            raise _unusable(error) from error
        self._works = True

    def synchronize(self) -> None:
        _cupy().cuda.Device().synchronize()

    def described(self) -> str:
        cupy = _cupy()
        name: bytes = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
        return name.decode(errors="replace")
