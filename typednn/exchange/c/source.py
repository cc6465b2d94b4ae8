"""The text of an exported model: its header, the C code that calls the kernels, an example, and what a reader needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from string import Template
from typing import Final

import numpy as np

from typednn.engines.halide.toolchain import Plan
from typednn.engines.memory.pool import ALIGNMENT
from typednn.exchange.c.recording import Buffer, Program
from typednn.version import __version__

# How C calls a dtype, and Halide: the code of its kind, its bits.
_TYPES: Final = {
    "float32": ("float", 2, 32),
    "float64": ("double", 2, 64),
    "int8": ("int8_t", 0, 8),
    "int16": ("int16_t", 0, 16),
    "int32": ("int32_t", 0, 32),
    "int64": ("int64_t", 0, 64),
    "uint8": ("uint8_t", 1, 8),
    "uint16": ("uint16_t", 1, 16),
    "uint32": ("uint32_t", 1, 32),
    "uint64": ("uint64_t", 1, 64),
    "bool": ("bool", 1, 1),
}
# What a compiler's builtin calls the instructions of Halide's targets; others come with these.
INSTRUCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "sse41": ("sse4.1",),
    "avx": ("avx",),
    "avx2": ("avx2",),
    "fma": ("fma",),
    "avx512": ("avx512f",),
    "avx512_skylake": ("avx512cd", "avx512bw", "avx512dq", "avx512vl"),
    "avx512_cannonlake": ("avx512ifma", "avx512vbmi"),
    "avx512_zen4": ("avx512vnni", "avx512bf16"),
    "avx512_sapphirerapids": ("avx512vnni", "avx512bf16"),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """The kernels for one instruction set: its name, and Halide's target."""

    name: str
    target: str

    @property
    def instructions(self) -> list[str]:
        """What the processor needs, by a C compiler's names."""
        return [name for part in self.target.split("-") for name in INSTRUCTIONS.get(part, ())]

    @property
    def said(self) -> str:
        """The instruction set, in words."""
        return f"a processor with {', '.join(self.instructions)}" if self.name == "host" else self.name

    @property
    def condition(self) -> str:
        """In C: whether this processor has it."""
        names = self.instructions
        return " && ".join(f'__builtin_cpu_supports("{name}")' for name in names) or "1"


@dataclass(frozen=True, slots=True)
class Texts:
    """What all files are written of; ``variants``: the best first, ``label``: what the model is."""

    name: str
    label: str
    program: Program
    variants: Sequence[Variant]
    classes: Sequence[str] = ()

    def symbol(self, variant: Variant, kernel: int) -> str:
        """The function of a kernel."""
        return f"{self.name}_{variant.name}_{kernel}"

    @property
    def plans(self) -> list[Plan]:
        """The different kernels."""
        return list(dict.fromkeys(call.plan for call in self.program.calls))

    @property
    def _words(self) -> dict[str, str]:
        x, y = self.program.input, self.program.output
        return {
            "name": self.name,
            "NAME": self.name.upper(),
            "label": self.label,
            "version": __version__,
            "batch": str(x.extents[0]),
            "x_type": _TYPES[x.dtype.name][0],
            "y_type": _TYPES[y.dtype.name][0],
            "x_size": str(_size(x)),
            "y_size": str(_size(y)),
            "x_shape": " x ".join(map(str, x.extents)),
            "y_shape": " x ".join(map(str, y.extents)),
            "targets": " or ".join(each.said for each in self.variants),
        }

    def header(self) -> str:
        """NAME.h."""
        count = len(self.classes)
        names = (
            f"\n/* What the numbers of an answer are for. */\nextern const char *const {self.name}_names[{count}];\n"
            if count
            else ""
        )
        return Template(_HEADER).substitute(self._words, names=names)

    def plan(self, weights: str) -> str:
        """The code of the functions in the header; ``weights``: a file of the constants."""
        program, plans = self.program, self.plans
        buffers = [each for call in program.calls for each in call.arguments if isinstance(each, Buffer)]
        numbers = [each for call in program.calls for each in call.arguments if not isinstance(each, Buffer)]
        arguments: list[int] = []
        found = [0, 0]
        for call in program.calls:
            for each in call.arguments:
                array = isinstance(each, Buffer)
                arguments.append(found[array] if array else ~found[array])
                found[array] += 1
        symbols = [[self.symbol(variant, each) + "_argv" for each in range(len(plans))] for variant in self.variants]
        calls = [[row[plans.index(call.plan)] for call in program.calls] for row in symbols]
        names = f"const char *const {self.name}_names[] = {{{', '.join(map(_quoted, self.classes))}}};\n"
        return Template(_PLAN).substitute(
            self._words,
            weights=weights,
            halide=version("halide"),
            buffers=", ".join(_row(each) for each in buffers),
            extents=_listed(extent for each in buffers for extent in reversed(each.extents)),
            ranks=sum(len(each.extents) for each in buffers) + 1,
            numbers=_listed(f"{each:#x}" for each in (*numbers, 0)),
            arguments=_listed(arguments),
            counts=_listed(len(call.arguments) for call in program.calls),
            declared="\n".join(f"extern kernel {', '.join(row)};" for row in symbols),
            kernels=",\n    ".join(f"{{{', '.join(row)}}}" for row in calls),
            variants=len(self.variants),
            supported="\n".join(
                f"    if (variant == {place}) return {each.condition};" for place, each in enumerate(self.variants)
            ),
            arena=max(program.arena, ALIGNMENT),
            result=program.output.offset,
            names=names if self.classes else "",
        )

    def example(self) -> str:
        """example.c."""
        digits = 17 if self.program.output.dtype == np.float64 else 9
        return Template(_EXAMPLE).substitute(self._words, digits=digits)

    def makefile(self) -> str:
        """Makefile."""
        return Template(_MAKEFILE).substitute(self._words)

    def readme(self, elsewhere: Sequence[str], difference: float, preparing: Sequence[str]) -> str:
        """README.md; ``elsewhere``: ops that an ordinary forward computes without kernels, and how far that is off;
        ``preparing``: what else is to be said of the numbers that it reads and gives.
        """
        program = self.program
        ops = "They are the same without it."
        if elsewhere:
            apart = f"differ by up to {difference:.0e} of the largest" if difference else "have the same bits"
            ops = f"Without it these are not computed by kernels: {', '.join(elsewhere)}; the answers {apart}."
        return Template(_README).substitute(
            self._words,
            x_size_each=_size(program.input) // program.input.extents[0],
            arena=program.arena,
            weights=len(program.weights),
            halide=version("halide"),
            elsewhere=ops,
            rounding="" if self.variants[0].name == "host" else ", up to the rounding of another processor",
            preparing="".join(f"\n  - {each}" for each in preparing),
        )


def _size(buffer: Buffer) -> int:
    return int(np.prod(buffer.extents))


def _row(buffer: Buffer) -> str:
    _, code, bits = _TYPES[buffer.dtype.name]
    return f"{{{buffer.place.name}, {code}, {bits}, {len(buffer.extents)}, {buffer.offset}}}"


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _quoted(text: str) -> str:
    """A literal of C: bytes that are no plain characters in octal, which ends after three digits."""
    return (
        '"'
        + "".join(
            chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
        )
        + '"'
    )


_README: Final = """\
# $name

A model of typednn ($label), written by typednn $version as a C library for Linux on x86-64: `$name.o` and `$name.h`.
It runs on $targets; elsewhere `${name}_new` gives NULL.

    make && ./example < samples.bin

`samples.bin` holds the inputs as they lie in memory: $batch x $x_size_each numbers ($x_type) for each forward,
$x_shape, the last axis side by side; of NumPy's arrays, `x.tofile("samples.bin")`. `example.c` is all that a program
needs. One model computes for one thread at a time, in $arena bytes of its own; make another for another thread.

- The object file needs the C library, libm and libpthread, nothing else; with a glibc before 2.34 link `-ldl` too. It
  holds the weights ($weights bytes), the kernels, and the runtime of Halide $halide, whose license (MIT) asks that its
  notice goes with it: https://github.com/halide/Halide/blob/main/LICENSE.txt
- One forward computes a batch of $batch. For other sizes: `typednn export --batch N`.
- The numbers have the bits of Python's `model.forward` within `typednn.engines.using("kernels")`$rounding.
  $elsewhere
- The model reads numbers that are prepared as in training, and answers in training's numbers: reading images, words or
  tables is not in the library, nor is scaling.$preparing
- `HL_NUM_THREADS=1`, or `${name}_threads(1)`, keeps it on one core; the numbers are the same.
"""

_HEADER: Final = """\
/* A model of typednn ($label), written by typednn $version. Link $name.o, -lm and -lpthread. */
#ifndef ${NAME}_H
#define ${NAME}_H

#ifdef __cplusplus
extern "C" {
#endif

#define ${NAME}_BATCH $batch /* samples of one forward */
#define ${NAME}_X $x_size /* numbers that it reads: $x_shape, the last axis side by side */
#define ${NAME}_Y $y_size /* numbers that it writes: $y_shape */

/* The model with its memory: one for each thread that computes. */
typedef struct ${name}_model ${name}_model;

/* NULL where there is no memory, or where the processor is not $targets. */
${name}_model *${name}_new(void);
/* y = the model's answers to x. 0, or Halide's code of an error, which is told on standard error. */
int ${name}_forward(${name}_model *model, const $x_type *x, $y_type *y);
void ${name}_free(${name}_model *model);
/* Threads that one forward may use, of all models of this process; at first HL_NUM_THREADS, or all cores. */
void ${name}_threads(int count);
$names
#ifdef __cplusplus
}
#endif

#endif
"""

_PLAN: Final = """\
#include "$name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* halide_dimension_t and halide_buffer_t of Halide $halide. */
typedef struct {
    int32_t min, extent, stride;
    uint32_t flags;
} dimension;
typedef struct {
    uint64_t device;
    const void *interface;
    uint8_t *host;
    uint64_t flags;
    uint8_t code, bits;
    uint16_t lanes;
    int32_t rank;
    dimension *dimensions;
    void *padding;
} buffer;
typedef int kernel(void **arguments);

extern void *halide_set_error_handler(void (*handler)(void *, const char *));
extern int halide_set_num_threads(int count);
extern void halide_shutdown_thread_pool(void);
$declared

enum { INPUT, WEIGHTS, ARENA };
/* The arrays of all calls: place, type, rank, and offset in bytes; their extents, the last axis first. */
static const struct {
    uint8_t place, code, bits, rank;
    uint64_t offset;
} arrays[] = {$buffers};
static const int32_t extents[] = {$extents};
static const uint64_t numbers[] = {$numbers};
/* The arguments of all calls: an array, or ~ a number. */
static const int32_t arguments[] = {$arguments};
static const int counts[] = {$counts};
static kernel *const kernels[$variants][sizeof counts / sizeof *counts] = {
    $kernels};

__asm__(".section .rodata\\n.balign 64\\n${name}_weights:\\n.incbin \\"$weights\\"\\n.text\\n");
extern const uint8_t ${name}_weights[] __attribute__((visibility("hidden")));
$names
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct ${name}_model {
    buffer buffers[COUNT(arrays)];
    dimension dimensions[$ranks];
    uint64_t numbers[COUNT(numbers)];
    void *arguments[COUNT(arguments)];
    kernel *const *kernels;
    uint8_t *arena;
};

static void tell(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "$name: %s\\n", text);
}

static int supported(int variant)
{
    __builtin_cpu_init();
$supported
    return 0;
}

${name}_model *${name}_new_of(int variant)
{
    if (!supported(variant)) return NULL;
    ${name}_model *model = calloc(1, sizeof *model);
    uint8_t *arena = aligned_alloc(64, $arena);
    if (!model || !arena) {
        free(model);
        free(arena);
        return NULL;
    }
    model->kernels = kernels[variant];
    model->arena = arena;
    memcpy(model->numbers, numbers, sizeof numbers);
    dimension *next = model->dimensions;
    const int32_t *extent = extents;
    for (size_t i = 0; i < COUNT(arrays); i++) {
        buffer *each = &model->buffers[i];
        const uint8_t *place = arrays[i].place == WEIGHTS ? ${name}_weights : arrays[i].place == ARENA ? arena : NULL;
        each->host = place ? (uint8_t *)place + arrays[i].offset : NULL;
        each->code = arrays[i].code;
        each->bits = arrays[i].bits;
        each->lanes = 1;
        each->rank = arrays[i].rank;
        each->dimensions = next;
        int32_t stride = 1;
        for (int axis = 0; axis < arrays[i].rank; axis++, next++, stride *= *extent++) {
            next->extent = *extent;
            next->stride = stride;
        }
    }
    for (size_t i = 0; i < COUNT(arguments); i++) {
        int32_t place = arguments[i];
        model->arguments[i] = place < 0 ? (void *)&model->numbers[~place] : (void *)&model->buffers[place];
    }
    halide_set_error_handler(tell);
    return model;
}

${name}_model *${name}_new(void)
{
    for (int variant = 0; variant < $variants; variant++)
        if (supported(variant)) return ${name}_new_of(variant);
    return NULL;
}

int ${name}_forward(${name}_model *model, const $x_type *x, $y_type *y)
{
    for (size_t i = 0; i < COUNT(arrays); i++)
        if (arrays[i].place == INPUT) model->buffers[i].host = (uint8_t *)x + arrays[i].offset;
    void **next = model->arguments;
    for (size_t i = 0; i < COUNT(counts); next += counts[i++]) {
        int code = model->kernels[i](next);
        if (code) return code;
    }
    memcpy(y, model->arena + $result, sizeof *y * ${NAME}_Y);
    return 0;
}

void ${name}_free(${name}_model *model)
{
    if (!model) return;
    free(model->arena);
    free(model);
}

void ${name}_threads(int count)
{
    halide_shutdown_thread_pool(); /* a running pool keeps its size */
    halide_set_num_threads(count);
}
"""

_EXAMPLE: Final = """\
/* Reads the numbers of samples from standard input, as they lie in memory, and prints a line of answers for each. */
#include <stdio.h>
#include "$name.h"

static $x_type x[${NAME}_X];
static $y_type y[${NAME}_Y];

int main(void)
{
    ${name}_model *model = ${name}_new();
    if (!model) return fputs("no memory, or not $targets\\n", stderr), 1;
    while (fread(x, sizeof x, 1, stdin) == 1) {
        if (${name}_forward(model, x, y)) return 1;
        for (int i = 0; i < ${NAME}_Y; i++)
            printf("%.${digits}g%c", (double)y[i], (i + 1) % (${NAME}_Y / ${NAME}_BATCH) ? ' ' : '\\n');
    }
    ${name}_free(model);
    return 0;
}
"""

_MAKEFILE: Final = """\
example: example.c $name.h $name.o
\t$$(CC) -O2 -o $$@ example.c $name.o -lm -lpthread
"""
