"""A training step of GPT-2 (124M) on a GPU, beside PyTorch on the same GPU: ``python -m benchmarks.gpu_gpt2``. Needs
CuPy.

The peer is the GPT-2 of `transformers`, with the same weights and tokens, eager and compiled, in float32 without TF32,
with AdamW. The losses of `STEPS` steps are compared before the clock starts: no step of typednn may be off by more than
`AGREEMENT`. A step waits for the GPU once, at its end; times are medians of `SAMPLES` steps.

gpt.c publishes 98 ms for batch 8 and 128 positions, on another GPU, and 74 ms for PyTorch.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from typednn.backends import select, synchronize, to_device, to_numpy
from typednn.errors import DeviceError, MissingExtra
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, save_gpt2
from typednn.optim import AdamW

SHAPES = ((8, 128), (4, 64))  # batch and positions
STEPS, SAMPLES = 5, 20
AGREEMENT = 1e-3  # of a loss of 5 to 11, after up to 4 steps
RATE, DECAY = 3e-4, 0.01


def ours(model: GPT2, x: Any, y: Any) -> Callable[[], float]:
    """One step of typednn; it gives the loss before it."""
    loss, optimizer = SoftmaxCrossEntropy(), AdamW(lr=RATE, weight_decay=DECAY).bind(model)

    def step() -> float:
        scores = model.forward(x)
        value = loss.loss_array(scores, y)
        model.update(optimizer, model.backward(loss.loss_grad(scores, y)))
        return float(to_numpy(value))

    return step


def theirs(folder: str, x: Any, y: Any, compiled: bool) -> Callable[[], float]:
    """One step of PyTorch."""
    import torch
    from transformers import GPT2LMHeadModel

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model: Any = GPT2LMHeadModel.from_pretrained(folder, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0).cuda().train()
    run: Any = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    tokens, targets = (torch.from_numpy(array).cuda() for array in (x, y))

    def step() -> float:
        logits = run(tokens).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        value = float(loss)
        torch.cuda.synchronize()
        return value

    return step


def clocked(step: Callable[[], float]) -> float:
    """The median of the seconds of a step."""
    seconds: list[float] = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        step()
        synchronize("cuda")
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def compared(gpu: Any, batch: int, length: int) -> bool:
    """Print losses, times and memory for one shape; whether the losses agree. ``gpu`` is CuPy."""
    gpu.get_default_memory_pool().free_all_blocks()
    rng = np.random.default_rng(0)
    model: GPT2 = GPT2(rng=rng)
    tokens = rng.integers(0, 50257, (batch, length + 1))
    x, y = np.ascontiguousarray(tokens[:, :-1]), np.ascontiguousarray(tokens[:, 1:])
    with tempfile.TemporaryDirectory() as folder:
        save_gpt2(model, folder)
        model.to("cuda")
        engines = {"typednn": ours(model, to_device(x, "cuda"), to_device(y, "cuda"))}
        engines |= {f"PyTorch {kind}": theirs(folder, x, y, kind == "compiled") for kind in ("eager", "compiled")}
    losses = {name: [step() for _ in range(STEPS)] for name, step in engines.items()}
    for name, found in losses.items():
        print(f"  {batch} x {length}  {name:18} losses {' '.join(f'{loss:.4f}' for loss in found)}", flush=True)
    apart = float(np.abs(np.array([*losses.values()]) - losses["typednn"]).max())
    if not apart <= AGREEMENT:  # nor where one is NaN
        print(f"  {batch} x {length}  losses differ by {apart:.2g}: not timed")
        return False
    for name, step in engines.items():
        print(f"  {batch} x {length}  {name:18} {clocked(step) * 1e3:8.1f} ms", flush=True)
    print(
        f"  {batch} x {length}  held by CuPy       {gpu.get_default_memory_pool().total_bytes() / 2**30:8.2f} GiB",
        flush=True,
    )
    return True


def main() -> int:
    """Run the benchmark; 0 if there is a GPU and the losses agree."""
    try:
        gpu: Any = select("cuda").namespace
    except (DeviceError, MissingExtra) as error:
        print(f"nothing measured: {error}")
        return 1
    print(f"{gpu.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {gpu.__version__}")
    agreed = [compared(gpu, batch, length) for batch, length in SHAPES]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
