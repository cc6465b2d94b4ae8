"""GPT-2 beside `transformers`: scores of ten random checkpoints read from its folders, greedy text, every gradient;
ours in its hands.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.test_tokenizer import ODD, settled
from typednn.data import read_tokenizer
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, generate, load_gpt2, probabilities, save_gpt2
from typednn.models.gpt2_weights import _own_name

pytestmark = pytest.mark.parity

# vocab_size, n_positions, n_embd, n_layer, n_head
CONFIGURATIONS = [
    (11, 7, 8, 1, 1),
    (65, 16, 24, 2, 3),
    (257, 33, 64, 3, 4),
    (100, 20, 12, 1, 12),
    (19, 64, 32, 4, 2),
    (1000, 24, 48, 2, 6),
    (2, 5, 4, 6, 2),
    (130, 40, 128, 2, 2),
    (63, 65, 16, 3, 1),
    (512, 17, 96, 1, 8),
]


def peer(transformers: Any, torch: Any, sizes: tuple[int, ...]) -> Any:
    """A random GPT-2, with weights far from initial values; nothing is dropped."""
    names = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
    given = dict(zip(names, sizes, strict=True))
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": None, "eos_token_id": None}
    torch.manual_seed(sum(sizes))
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**given, **quiet))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


@pytest.fixture(scope="module")
def transformers() -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


@pytest.mark.parametrize("sizes", CONFIGURATIONS)
def test_scores_and_greedy_text(torch: Any, transformers: Any, tmp_path: Path, sizes: tuple[int, ...]) -> None:
    """C-D1, C-R2, C-R3, C-R8."""
    vocabulary, positions = sizes[:2]
    twin = peer(transformers, torch, sizes)
    twin.save_pretrained(tmp_path)
    model = load_gpt2(tmp_path).eval()
    tokens = np.random.default_rng(0).integers(0, vocabulary, (2, positions))
    with torch.no_grad():
        expected = twin(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(model.forward(tokens), expected, rtol=0, atol=1e-4)
    prompt, count = tokens[:1, :2], positions - 2
    text = twin.generate(
        torch.tensor(prompt), max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0
    )
    np.testing.assert_array_equal(generate(model, prompt, count, temperature=0), text.numpy())


def test_tokens_and_scores_of_any_text(torch: Any, transformers: Any, tmp_path: Path, data_dir: Path) -> None:
    """C-D1: transformers' tokens of odd texts, and its scores for them, from a folder with GPT-2's vocabulary and
    random weights.
    """
    if not (data_dir / "gpt2-bpe").exists():
        pytest.skip("needs gpt2-bpe; set TYPEDNN_DATA")
    theirs = transformers.GPT2Tokenizer.from_pretrained(data_dir / "gpt2-bpe")
    ours = read_tokenizer(data_dir / "gpt2-bpe")
    twin = peer(transformers, torch, (50_257, 512, 8, 2, 2))
    twin.save_pretrained(tmp_path)
    model = load_gpt2(tmp_path).eval()
    draws = np.random.default_rng(0)
    points = [number for number in range(1, 0x30000) if settled(chr(number)) and not 0xD800 <= number < 0xE000]
    texts = ODD + ["".join(map(chr, draws.choice(points, 20))) for _ in range(40)]
    for text in texts:
        tokens = ours.encode(text)
        assert tokens.tolist() == theirs.encode(text, split_special_tokens=True), ascii(text)
        with torch.no_grad():
            expected = twin(torch.tensor(tokens[None].astype(np.int64))).logits.numpy()
        np.testing.assert_allclose(model.forward(tokens[None]), expected, rtol=0, atol=1e-3)
    special = ours.encode("a<|endoftext|>b", ["<|endoftext|>"])
    assert special.tolist() == theirs.encode("a<|endoftext|>b")


def test_gradients(torch: Any, transformers: Any, tmp_path: Path) -> None:
    """In double precision."""
    twin = peer(transformers, torch, (19, 9, 24, 3, 4))
    twin.save_pretrained(tmp_path)
    model, loss = load_gpt2(tmp_path).astype("float64"), SoftmaxCrossEntropy()
    twin = twin.double()
    tokens, labels = np.random.default_rng(0).integers(0, 19, (2, 3, 9))
    value, next_grad = loss.loss_and_grad(model.forward(tokens), labels)
    expected = torch.nn.functional.cross_entropy(
        twin(torch.tensor(tokens)).logits.flatten(0, 1), torch.tensor(labels).flatten()
    )
    expected.backward()
    assert value == pytest.approx(expected.item(), rel=1e-10)
    gradients = model.named_gradients(model.backward(next_grad))
    for name, parameter in twin.named_parameters():
        theirs = parameter.grad.numpy()
        ours = gradients[_own_name(name)]
        np.testing.assert_allclose(ours, theirs.T if "c_" in name else theirs, rtol=1e-8, atol=1e-12)


def test_ours_in_its_hands(torch: Any, transformers: Any, tmp_path: Path) -> None:
    model: GPT2 = GPT2(65, 16, 24, 2, 3, rng=np.random.default_rng(0)).eval()
    save_gpt2(model, tmp_path)
    twin = transformers.GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    tokens = np.random.default_rng(1).integers(0, 65, (2, 16))
    with torch.no_grad():
        np.testing.assert_allclose(model.forward(tokens), twin(torch.tensor(tokens)).logits.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [
        (1.0, None, None),
        (0.7, None, None),
        (1.5, 40, None),
        (1.0, 1, None),
        (1.0, None, 0.9),
        (0.8, None, 0.3),
        (1.3, 20, 0.6),
        (1.0, 999, 1.0),
    ],
)
def test_probabilities(
    torch: Any, transformers: Any, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    """C-R5, Z-N5: those of transformers' own warpers, in the order in which its `generate` applies them."""
    scores = 3 * np.random.default_rng(0).standard_normal((5, 300))
    warped = torch.from_numpy(scores) / temperature
    if top_k is not None:
        warped = transformers.TopKLogitsWarper(top_k)(None, warped)
    if top_p is not None:
        warped = transformers.TopPLogitsWarper(top_p)(None, warped)
    expected = torch.softmax(warped, dim=1).numpy()
    np.testing.assert_allclose(
        probabilities(scores, temperature=temperature, top_k=top_k, top_p=top_p), expected, rtol=1e-9, atol=1e-15
    )
