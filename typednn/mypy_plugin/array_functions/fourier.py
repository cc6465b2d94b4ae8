"""Discrete Fourier transforms: of real numbers half of the frequencies, and one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    certain,
    into,
    made,
    position,
    replaced,
)
from typednn.mypy_plugin.values import Constant, Number, Value
from typednn.shapes import Dim

Length: TypeAlias = Callable[[Dim], Dim]  # the size of the transformed axis, for so many points


def _same(size: Dim) -> Dim:
    return size


def _half(size: Dim) -> Dim:
    return size // Dim.of(2) + 1


def _doubled(size: Dim) -> Dim:
    return (size - 1) * 2


def _transformed(change: Length, kind: Kind) -> Rule:
    """Along one axis, of ``n`` points or of as many as there are."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("a"), kind(o.kind("a")))
        place, n = certain(o.axis("axis", shape), kind(o.kind("a"))), o["n"]
        size = n.size if isinstance(n, Number) else shape[place] if n == Constant(None) else None
        counted = change is _doubled and n == Constant(None)
        points = change(size) if counted and size is not None else size
        if points is not None and points.value is not None and points.value < 1:
            raise Misfit(f"a Fourier transform of {points} points: give 1 or more")
        numbers = points if counted or change is _doubled or points is None else change(points)
        return into(o, replaced(shape, place, numbers), kind(o.kind("a")))

    return rule


def _of_axes(change: Length, kind: Kind) -> Rule:
    """Along several axes, the last of which changes its size."""

    def rule(o: Operands) -> Value:
        shape, result = certain(o.shape("a"), kind(o.kind("a"))), kind(o.kind("a"))
        places = o.places("axes", shape) if o.given("axes") else list(range(len(shape)))
        if places is None or o.given("s") or len(set(places)) < max(1, len(places)):
            return made([None] * len(shape), result if places else "")
        if any(size is not None and size.value == 0 for size in (shape[place] for place in places)):
            raise Misfit("a Fourier transform of 0 points: give 1 or more")
        last = shape[places[-1]]
        return made(replaced(shape, places[-1], None if last is None else change(last)), result)

    return rule


def _frequencies(change: Length) -> Rule:
    def rule(o: Operands) -> Value:
        n = o["n"]
        return made([change(n.size) if isinstance(n, Number) else None], "Float64")

    return rule


def _shifted(o: Operands) -> Value:
    shape = certain(o.shape("x"), o.kind("x"))
    for place in o.places("axes", shape) or [] if o.given("axes") else []:
        position(place, len(shape), shape)
    return made(shape, o.kind("x"))


_ONE = "a, n=None, axis=-1, norm=None, out=None"
_TWO = "a, s=None, axes=(-2, -1), norm=None"
_ALL = "a, s=None, axes=None, norm=None"

TABLE: dict[str, Row] = {
    **{f"numpy.fft.{name}": Row(_ONE, _transformed(_same, dtypes.spectral)) for name in ("fft", "ifft")},
    "numpy.fft.rfft": Row(_ONE, _transformed(_half, dtypes.spectral)),
    "numpy.fft.irfft": Row(_ONE, _transformed(_doubled, dtypes.signal)),
    **{f"numpy.fft.{name}2": Row(_TWO, _of_axes(_same, dtypes.spectral)) for name in ("fft", "ifft")},
    **{f"numpy.fft.{name}n": Row(_ALL, _of_axes(_same, dtypes.spectral)) for name in ("fft", "ifft")},
    "numpy.fft.rfft2": Row(_TWO, _of_axes(_half, dtypes.spectral)),
    "numpy.fft.rfftn": Row(_ALL, _of_axes(_half, dtypes.spectral)),
    "numpy.fft.fftfreq": Row("n, d=1.0, device=None", _frequencies(_same)),
    "numpy.fft.rfftfreq": Row("n, d=1.0, device=None", _frequencies(_half)),
    **{f"numpy.fft.{name}": Row("x, axes=None", _shifted) for name in ("fftshift", "ifftshift")},
}
