"""LeNet5 on one image, called from C beside Python's forward and ONNX Runtime: ``python -m benchmarks.from_c``.

=============  ======================================================================================================
C              a program that links what `typednn.exchange.export_c` writes
Python         ``typednn.compile(model).forward``
ONNX Runtime   the same model's ONNX file, by ``session.run`` and by ``run_with_iobinding``, which takes arrays and
               results where they lie
=============  ======================================================================================================

They take turns; in each turn a process of C times its own forwards. One thread each: no loop of this model is worth a
second one. The answers are compared first: those of C with Python's by their bits.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import absent, machine

TIMED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "lenet5.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char **arguments)
{
    static float x[LENET5_X], y[LENET5_Y];
    int calls = count > 1 ? atoi(arguments[1]) : 0;
    lenet5_model *model = lenet5_new();
    if (!model || fread(x, sizeof x, 1, stdin) != 1 || lenet5_forward(model, x, y)) return 1;
    fwrite(y, sizeof y, 1, stdout);
    for (int call = 0; call < calls; call++) {
        double began = now();
        if (lenet5_forward(model, x, y)) return 1;
        double seconds = now() - began;
        fwrite(&seconds, sizeof seconds, 1, stdout);
    }
    lenet5_free(model);
    return 0;
}
"""
CALLS = 2_000  # of a turn


def of_c(program: Path, x: np.ndarray[Any, Any], calls: int) -> tuple[np.ndarray[Any, Any], list[float]]:
    """The answer, and the seconds of each call."""
    done = subprocess.run([program, str(calls)], input=x.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout[:40], np.float32), np.frombuffer(done.stdout[40:], np.float64).tolist()


def timed(call: Callable[[], object], calls: int) -> list[float]:
    """The seconds of each call."""
    seconds: list[float] = []
    for _ in range(calls):
        began = perf_counter()
        call()
        seconds.append(perf_counter() - began)
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each way: the median and the fastest of all calls, and the ratio to ONNX Runtime."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.from_c", description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10)
    turns: int = parser.parse_args(arguments).turns
    if absent.without_compiler("from_c", "cc") or absent.without("from_c", "onnxruntime", "onnx"):
        return 0
    from typednn import compile
    from typednn.engines import set_threads
    from typednn.exchange import export_c, export_onnx
    from typednn.models import lenet5

    set_threads(1)
    runtime: Any = import_module("onnxruntime")
    model: Any = lenet5(softmax=True, rng=np.random.default_rng(0)).eval()
    x = np.random.default_rng(1).standard_normal((1, 28, 28, 1), np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = export_c(model, Path(name, "lenet5"))
        size = (folder / "lenet5.o").stat().st_size
        (folder / "timed.c").write_text(TIMED)
        command = ["cc", "-O2", "timed.c", "lenet5.o", "-o", "timed", "-lm", "-lpthread"]
        subprocess.run(command, cwd=folder, check=True)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        onnx = str(export_onnx(model, folder / "lenet5.onnx"))
        session = runtime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
        bound = session.io_binding()
        bound.bind_ortvalue_input("x", runtime.OrtValue.ortvalue_from_numpy(x))
        bound.bind_output("y")
        learner = compile(model)
        ways: dict[str, Callable[[], list[float]]] = {
            "C": lambda: of_c(folder / "timed", x, CALLS)[1],
            "Python": lambda: timed(lambda: learner.forward(x), CALLS),
            "ONNX Runtime, run": lambda: timed(lambda: session.run(None, {"x": x}), CALLS),
            "ONNX Runtime, bound arrays": lambda: timed(lambda: session.run_with_iobinding(bound), CALLS),
        }
        y = model.forward(x)
        if of_c(folder / "timed", x, 0)[0].tobytes() != y.tobytes():
            sys.exit("C gives other bits than Python")
        np.testing.assert_allclose(session.run(None, {"x": x})[0], y, atol=1e-5)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(turns + 1):
            for way, run in ways.items():
                seconds[way] += run()[CALLS // 2 :] if turn else []  # the first turn warms up
    print(machine.described())
    print(f"LeNet5, batch 1, forward, one thread; medians (fastest) of {turns} turns; lenet5.o has {size} bytes")
    least = [figure(seconds["ONNX Runtime, run"]) for figure in (median, min)]
    for way, each in seconds.items():
        middle, fastest = 1e6 * median(each), 1e6 * min(each)
        print(f"{way:28} {middle:6.1f} µs ({fastest:.1f}), of ONNX Runtime's run", end=" ")
        print(f"{1e-6 * middle / least[0]:.2f} ({1e-6 * fastest / least[1]:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
