"""ONNX files: read within a limit of memory, with the weights that lie in others, and written with weights beside them;
run by ONNX Runtime, or by ONNX's own reference.
"""

# ONNX's own package says nothing of its types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from typednn import system
from typednn.errors import DataError, explain
from typednn.files import File, opened, remove_leftovers, temporary_name, writing

# operators: each takes a millisecond or two, and the largest models that are exported have half of that
NODES: Final = 10_000
TOLERANCE: Final = 1e-5  # of the largest number, or of 1 where that is smaller
EXTRA: Final = "pip install 'typednn[onnx]'"


def read(onnx: Any, place: Path, limit: int | None) -> tuple[Any, File]:
    """The file, with the weights that lie in others of its folder; and what is left of the memory that its reader may
    take.
    """
    with opened("import_onnx", place, limit) as file:
        content = bytes(file.exactly(file.stream, file.size))
        whole: Any = None
        try:
            whole = onnx.load_model_from_string(content)
            problem = "" if whole.graph.output and whole.opset_import else "a file without outputs or operators"
        except Exception as error:  # of protobuf, whose errors have no class that its package promises
            problem = str(error).strip().partition("\n")[0][:80] or type(error).__name__
        if problem:
            raise DataError(explain(str(place), "must be an ONNX file", problem))
        _prune(place, whole.graph)
        helper = onnx.external_data_helper
        elsewhere = [each.external_data for each in helper._get_all_tensors(whole) if helper.uses_external_data(each)]
        for location in {
            next((entry.value for entry in entries if entry.key == "location"), "") for entries in elsewhere
        }:
            _check_location(place, location, limit)
        try:
            onnx.external_data_helper.load_external_data_for_model(whole, str(place.parent))
            onnx.checker.check_model(whole)
        except Exception as error:  # a ValidationError, or what reading the other file met
            got = str(error).strip().partition("\n")[0][:160] or type(error).__name__
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
    return whole, file


def _prune(place: Path, graph: Any) -> None:
    """Leave out the nodes that the output does not need; more than `NODES` others are refused."""
    needed, kept = {each.name for each in graph.output}, list[Any]()
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            needed.update(node.input)
    if len(kept) > NODES:
        got, cure = f"{len(kept):,}", "build the model by hand"
        raise DataError(explain(str(place), f"a model has at most {NODES:,} operators", got, cure))
    if len(kept) < len(graph.node):
        nodes = kept[::-1]
        del graph.node[:]
        graph.node.extend(nodes)


def _check_location(place: Path, location: str, limit: int | None) -> None:
    """Raise unless a file of weights is a plain file of the folder, which may take as much memory as
    the file itself.
    """
    parts = PurePosixPath(location.replace("\\", "/")).parts
    inside = bool(parts) and ".." not in parts and not Path(location).is_absolute() and not {":", "\0"} & {*location}
    target = place.parent / location
    if not inside or not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(place.parent)):
        rule = "weights in another file lie in the folder of the file, or below it"
        raise DataError(explain(str(place), rule, repr(location[:80]), "put both into one folder"))
    with opened("import_onnx", target, limit) as file:
        file.take(file.size)


def write_apart(onnx: Any, whole: Any, place: Path, check: Callable[[Path], None]) -> None:
    """Write a file and one of its weights beside it, ``NAME.….data``, once ``check`` has passed.

    Each version has a file of weights of its own, which is there before the graph that names it. The one before goes
    afterwards.
    """
    data, folder = f"{place.name}.{secrets.token_hex(4)}.data", temporary_name(place)
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place)
        folder.mkdir()
        try:
            onnx.save_model(
                whole, str(folder / place.name), save_as_external_data=True, location=data, size_threshold=1024
            )
            check(folder / place.name)
            before = _weights_of(onnx, place)
            system.rename(folder / data, place.with_name(data))
            system.rename(folder / place.name, place)
            system.sync_folder(place.parent)
            for name in before:
                place.with_name(name).unlink(missing_ok=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _weights_of(onnx: Any, place: Path) -> set[str]:
    """The files of weights that an earlier export of this name has; none where there is another file, or no file."""
    try:
        tensors = onnx.load_model(str(place), load_external_data=False).graph.initializer
    except Exception:  # of whatever reads it
        return set()
    names = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return {name for name in names if re.fullmatch(rf"{re.escape(place.name)}(\.[0-9a-f]{{8}})?\.data", name)}


# ------------------------------------------------------------------ results


def opened_onnx(content: bytes | str, *, strict: bool = False) -> Callable[[Mapping[str, Any]], Any]:
    """What runs a file, from its bytes or its path: ONNX Runtime, or where that is not installed ONNX's reference.

    So does one that ONNX Runtime cannot run, such as an operator without a kernel, unless ``strict``.
    """
    # Otherwise the import writes an id of the device and a database of events into the user's home folder.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        return _in_the_reference(content)
    options: Any = runtime.SessionOptions()
    options.log_severity_level = 4

    @cache
    def session() -> Any:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(feeds: Mapping[str, Any]) -> Any:
        try:
            return session().run(None, dict(feeds))[0]
        except Exception:  # its errors have no common class of their own
            if strict:
                raise
        return _in_the_reference(content)(feeds)

    return run


def _in_the_reference(content: bytes | str) -> Callable[[Mapping[str, Any]], Any]:
    evaluator: Any = import_module("onnx.reference").ReferenceEvaluator(content)

    def run(feeds: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):  # ONNX Runtime says nothing of numbers that are not finite either
            return evaluator.run(None, dict(feeds))[0]

    return run


def difference(found: Any, expected: Any) -> float:
    """How far two arrays are apart, in units of the largest number, or of 1 where that is smaller; infinite where one
    is not finite.
    """
    finite = np.isfinite(expected)
    if found.shape != expected.shape or not np.array_equal(finite, np.isfinite(found)):
        return math.inf
    return float(
        np.abs(found[finite] - expected[finite]).max(initial=0.0) / max(1.0, np.abs(expected[finite]).max(initial=0.0))
    )
