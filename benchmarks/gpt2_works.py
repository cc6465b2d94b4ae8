"""What `benchmarks.gpt2` measures: GPT-2 in typednn and in `transformers`, with the same weights, which travel through
a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

RATE = 1e-4
STEPS = 3  # whose losses are compared: the later ones depend on the optimizer


@dataclass(frozen=True, slots=True)
class Size:
    """The arguments of `GPT2`, and the batch of a training step."""

    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    n_head: int

    @property
    def products(self) -> list[tuple[int, int, int]]:
        """(count, out_features, in_features) of the matrices that every position is multiplied by."""
        wide, layers = self.n_embd, self.n_layer
        block = [(4 * layers, wide, wide), (layers, 4 * wide, wide), (layers, wide, 4 * wide)]
        return [*block, (1, self.vocab_size, wide)]

    def attention(self, batch: int, time: int) -> float:
        """Operations of one causal product of all queries and keys, or weights and values, of all blocks."""
        return self.n_layer * batch * self.n_embd * time * (time + 1)

    @property
    def parameters(self) -> int:
        """The head's matrix is that of the tokens."""
        wide = self.n_embd
        return (self.vocab_size + self.n_positions + 2) * wide + self.n_layer * (12 * wide * wide + 13 * wide)

    @property
    def read(self) -> int:
        """The numbers that a generated token reads: all but the rows of other tokens and positions, which the head
        reads.
        """
        return self.parameters - self.n_positions * self.n_embd


SIZES = {"124M": Size(50257, 1024, 768, 12, 12), "tiny": Size(101, 256, 32, 2, 2)}


def tokens(size: Size, batch: int, time: int, seed: int = 0) -> Any:
    """Tokens (batch, time)."""
    return np.random.default_rng([seed, batch, time]).integers(0, size.vocab_size, (batch, time))


class Contestant(Protocol):
    """One library with one GPT-2."""

    def results(self, x: Any, labels: Any) -> dict[str, Any]:
        """The loss, and the gradient by each parameter under its name and in its layout of `transformers`."""
        ...

    def step(self, x: Any, labels: Any) -> float:
        """A training step; the loss before it."""
        ...

    def text(self, prompt: Any, count: int) -> Any:
        """The prompt and ``count`` more tokens, each the likeliest."""
        ...


class Ours:
    """typednn, by a plan, but with ``checkpointing`` layer by layer; with random weights, or those of a folder."""

    def __init__(self, size: Size, folder: Path | None = None, checkpointing: bool = False) -> None:
        import typednn
        from typednn.losses import SoftmaxCrossEntropy
        from typednn.models import GPT2, load_gpt2
        from typednn.optim import AdamW

        self.model: Any = (
            load_gpt2(folder)
            if folder
            else GPT2(*astuple(size), checkpointing=checkpointing, rng=np.random.default_rng(0))
        )
        self.compiled: Any = self.model if checkpointing else typednn.compile(self.model)
        self.loss, self.optimizer = SoftmaxCrossEntropy(), AdamW(RATE)

    def _derived(self, x: Any, labels: Any) -> tuple[float, Any]:
        value, next_grad = self.loss.loss_and_grad(self.compiled.forward(x), labels)
        return float(value), self.compiled.backward(next_grad)

    def results(self, x: Any, labels: Any) -> dict[str, Any]:
        value, gradient = self._derived(x, labels)
        self.model.free_cache()
        return {"loss": np.array(value), **dict(enumerate_names(self.model.named_gradients(gradient).values()))}

    def step(self, x: Any, labels: Any) -> float:
        value, gradient = self._derived(x, labels)
        self.model.update(self.optimizer, gradient)
        return value

    def text(self, prompt: Any, count: int) -> Any:
        from typednn.models import generate

        return generate(self.model, prompt, count, temperature=0)


class Theirs:
    """`transformers`, in eager mode or compiled, as its users write it."""

    def __init__(self, size: Size, folder: Path | None = None, compiled: bool = False) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        quiet: dict[str, Any] = {
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "bos_token_id": None,
            "eos_token_id": None,
        }
        kind = transformers.GPT2LMHeadModel
        if folder is None:
            names = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
            self.model = kind(transformers.GPT2Config(**dict(zip(names, astuple(size), strict=True)), **quiet))
        else:
            self.model = kind.from_pretrained(folder, **quiet)
        self.model.train()
        self.call = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), RATE, fused=True)

    def _derived(self, x: Any, labels: Any) -> Any:
        import torch

        self.optimizer.zero_grad()
        scores = self.call(torch.tensor(x), use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), torch.tensor(labels).flatten())
        loss.backward()
        return loss.detach()

    def results(self, x: Any, labels: Any) -> dict[str, Any]:
        value = self._derived(x, labels)
        # `transformers` keeps these weights as (in, out).
        turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
        gradients = [
            each.grad.T if name.endswith(turned) else each.grad for name, each in self.model.named_parameters()
        ]
        return {"loss": value.numpy(), **dict(enumerate_names(each.numpy().copy() for each in gradients))}

    def step(self, x: Any, labels: Any) -> float:
        value = self._derived(x, labels)
        self.optimizer.step()
        return float(value)

    def text(self, prompt: Any, count: int) -> Any:
        import torch

        self.model.eval()
        with torch.inference_mode():
            text = self.model.generate(
                torch.tensor(prompt), max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0
            )
        return text.numpy()


class Compact:
    """typednn's model with its matrices in ``kind``; only for text."""

    def __init__(self, ours: Ours, kind: Any) -> None:
        from typednn.models import compact

        self.model, self.kind = compact(ours.model, kind), kind

    def text(self, prompt: Any, count: int) -> Any:
        from typednn.models import generate

        return generate(self.model, prompt, count, temperature=0)

    def apart(self, ours: Ours, prompt: Any) -> tuple[float, str]:
        """How far its scores are from those of a float32 model with the numbers that its matrices stand for."""
        from typednn.kernels.compact_linear import packed, widened
        from typednn.models import GPT2

        names = ("in_proj_weight", "out_proj_weight", "c_fc.weight", "c_proj.weight", "wte.weight")
        bits = {"bfloat16": 16, "int8": 8}[self.kind]
        twin: Any = GPT2(*(getattr(ours.model, name) for name in Size.__slots__))
        arrays = ours.model.named_parameters()
        twin.load_state_dict(
            {name: widened(*packed(x, bits)) if name.endswith(names) else x for name, x in arrays.items()}
        )
        scores, expected = (each.eval().read(prompt)[0] for each in (self.model, twin))
        return _apart(scores, expected), "scores"


CONTESTANTS: dict[str, Any] = {
    "typednn": Ours,
    "typednn-checkpointing": lambda size: Ours(size, checkpointing=True),
    "torch": Theirs,
    "torch-compiled": lambda size, folder=None: Theirs(size, folder, compiled=True),
}


def enumerate_names(gradients: Any) -> Iterator[tuple[str, Any]]:
    """Both libraries have the parameters of GPT-2 in one order."""
    return ((f"gradient {place}", array) for place, array in enumerate(gradients))


def apart(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, str]:
    """The largest difference in norm, as a part of the norm of theirs, and of what."""
    if ours.keys() != theirs.keys():
        return np.inf, "the number of gradients"
    found = [(_apart(ours[name], theirs[name]), name) for name in ours]
    return max(found, key=lambda each: np.inf if np.isnan(each[0]) else each[0])


def _apart(ours: Any, theirs: Any) -> float:
    if ours.shape != theirs.shape:
        return float(np.inf)
    return float(np.linalg.norm(ours - theirs)) / max(float(np.linalg.norm(theirs)), 1e-30)


def losses(contestant: Contestant, batches: Sequence[tuple[Any, Any]]) -> list[float]:
    """The loss before each of some steps."""
    return [contestant.step(*batch) for batch in batches]
