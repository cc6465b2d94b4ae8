"""What is read of the processor, and the one thread setting."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from typednn import system
from typednn.engines import get_threads, processor, set_threads, threads
from typednn.errors import ArgumentError

TWO_CORES = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: A B\nflags\t\t: avx avx2 fma\n\nprocessor\t: "
    "1\nflags\t\t: avx avx2\n"
)


def test_flags_are_those_of_every_core() -> None:
    assert processor.read(TWO_CORES, "AMD64") == processor.Processor(
        "x86_64", "AuthenticAMD", "A B", frozenset({"avx", "avx2"})
    )
    arm = processor.read("processor: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n", "aarch64")
    assert (arm.vendor, arm.flags) == ("0x41", frozenset({"fp", "asimd"}))
    assert processor.read("", "arm64") == processor.Processor("aarch64", "", "", frozenset())


@pytest.mark.parametrize(
    ("flags", "lanes", "registers"),
    [
        ("", 4, 16),
        ("avx", 8, 16),
        ("avx avx2 fma f16c", 8, 16),
        (" ".join(sorted(processor.AVX512)), 16, 32),
        ("avx avx2 fma f16c avx512f", 8, 16),
    ],
)
def test_tiles_of_x86(flags: str, lanes: int, registers: int) -> None:
    assert processor.for_schedules(processor.read(f"flags : {flags}", "x86_64")) == processor.Cpu(
        "x86_64", lanes, registers
    )


def test_tiles_of_arm() -> None:
    assert processor.for_schedules(processor.read("", "aarch64")) == processor.Cpu("aarch64", 4, 32)


@pytest.mark.parametrize(
    ("target", "lanes", "registers"), [("", 16, 32), ("avx512", 16, 32), ("avx2", 8, 16), ("sse4.1", 4, 16)]
)
def test_a_target_leaves_wider_instructions_out(target: str, lanes: int, registers: int) -> None:
    flags = f"fpu sse4_1 avx512_bf16 avx_vnni amx_tile {' '.join(sorted(processor.AVX512))}"
    limited = processor.limited(processor.read(f"flags : {flags}", "x86_64"), target)
    assert processor.for_schedules(limited) == processor.Cpu("x86_64", lanes, registers)
    assert {"fpu", "sse4_1"} <= limited.flags
    assert {"avx512f", "avx512_bf16"}.isdisjoint(limited.flags) == (target in ("avx2", "sse4.1"))
    assert limited.has(processor.AVX2) == (target != "sse4.1")


@pytest.mark.parametrize("target", ["avx512", "AVX2", "neon"])
def test_a_target_that_the_processor_lacks(target: str) -> None:
    with pytest.raises(
        ArgumentError, match=r"TYPEDNN_TARGET: must be an instruction set of this processor: avx2, sse4\.1, got"
    ):
        processor.limited(processor.read("flags : sse4_1 avx avx2 fma f16c", "x86_64"), target)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="needs Linux on x86-64"
)
def test_this_machine() -> None:
    assert processor.host().has({"sse2", "fpu"})
    assert system.cores() == len(os.sched_getaffinity(0))


def said(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "TYPEDNN_THREADS"}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, check=False
    )


ASK = "from typednn.engines import get_threads; print(get_threads())"


def test_threads_at_the_start() -> None:
    assert said(ASK).stdout == f"{system.cores()}\n"
    assert said(ASK, TYPEDNN_THREADS="3").stdout == "3\n"
    assert "TYPEDNN_THREADS: must be an integer of at least 1, got 'many'" in said(ASK, TYPEDNN_THREADS="many").stderr
    assert "got '0'" in said(ASK, TYPEDNN_THREADS="0").stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity")
def test_threads_follow_the_cores_that_are_allowed() -> None:
    allowed = min(os.sched_getaffinity(0))
    assert said(f"import os; os.sched_setaffinity(0, {{{allowed}}}); {ASK}").stdout == "1\n"


def test_engines_follow_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_followers", [])
    before, heard = get_threads(), []
    threads.follow(heard.append)
    try:
        set_threads(5)
        assert get_threads() == 5
    finally:
        set_threads(before)
    assert heard == [before, 5, before]
    with pytest.raises(ArgumentError, match="count must be an integer of at least 1, got 0"):
        set_threads(0)
    assert get_threads() == before


def test_idle_workers_of_numpy_are_told_to_give_way() -> None:
    clean = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    for first, expected in (("", "16"), ("import numpy; ", "None")):
        code = f"{first}import os, typednn.engines; print(os.environ.get('OPENBLAS_THREAD_TIMEOUT'))"
        done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, check=False)
        assert done.stdout == f"{expected}\n", done.stderr


def test_half_as_many_float64_numbers_are_in_a_vector() -> None:
    cpu = processor.Cpu("x86_64", 16, 32)
    assert cpu.of("float32") == cpu
    assert cpu.of("float64") == processor.Cpu("x86_64", 8, 32)
