"""GPT-2 beside `transformers`: scores of ten random checkpoints read from its folders, greedy text, every gradient;
folders as transformers 5 writes them, in every command; ours in its hands.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.test_tokenizer import ODD, settled
from typednn.cli import main
from typednn.data import read_tokenizer, read_vocabulary, train_tokenizer
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


TEXT = ["the cat sat on the mat, the cat ate the rat", "that hat is flat; thé naïve café 12 123"]


@pytest.fixture(scope="module", params=["one file", "in pieces"])
def written(torch: Any, transformers: Any, request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder that transformers 5 wrote, in bfloat16 and with tokenizer.json alone; and the model in float32."""
    import tokenizers

    folder = tmp_path_factory.mktemp("written")
    engine = tokenizers.Tokenizer(tokenizers.models.BPE())
    engine.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<pad>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    engine.train_from_iterator(TEXT * 3, trainer)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, eos_token="<|endoftext|>", pad_token="<pad>")
    theirs.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(theirs),
        n_positions=24,
        n_embd=24,
        n_layer=2,
        n_head=3,
        activation_function="gelu_pytorch_tanh",
        bos_token_id=0,
        eos_token_id=0,
    )
    twin = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    twin = twin.to(torch.bfloat16).eval()
    twin.save_pretrained(folder, max_shard_size="20KB" if request.param == "in pieces" else "1GB")
    names = {path.name for path in folder.iterdir()}
    assert "tokenizer.json" in names
    assert not names & {"vocab.json", "merges.txt"}
    assert ("model.safetensors.index.json" in names) == (request.param == "in pieces")
    return folder, twin.float()


def test_a_folder_of_transformers_5(torch: Any, transformers: Any, written: tuple[Path, Any]) -> None:
    """Its tokens of odd texts, special ones too, and its scores for them."""
    folder, twin = written
    theirs, ours = transformers.AutoTokenizer.from_pretrained(folder), read_vocabulary(folder)
    model = load_gpt2(folder).eval()
    for text in [*ODD, *TEXT]:
        tokens = ours.encode(text)
        assert tokens.tolist() == theirs.encode(text, split_special_tokens=True), ascii(text)
        assert ours.decode(tokens) == theirs.decode(tokens.tolist(), clean_up_tokenization_spaces=False)
        part = tokens[None, : model.n_positions].astype(np.int64)
        if part.size:
            with torch.no_grad():
                expected = twin(torch.tensor(part)).logits.numpy()
            np.testing.assert_allclose(model.forward(part), expected, rtol=0, atol=1e-4)
    special = ["<|endoftext|>", "<pad>"]
    text = "the cat<pad>é<|endoftext|>"
    assert read_tokenizer(folder).encode(text, special).tolist() == theirs.encode(text)


def test_such_a_folder_in_every_command(
    transformers: Any, written: tuple[Path, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """generate draws its greedy text; train begins with it, and export writes it."""
    folder, twin = written
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ids = theirs("the cat", return_tensors="pt")
    text = twin.generate(**ids, max_new_tokens=8, min_new_tokens=8, do_sample=False, pad_token_id=1)
    capfd.readouterr()
    asked = ["generate", str(folder), "--prompt", "the cat", "--temperature", "0", "--max-tokens", "8"]
    assert main([*asked, "--stop", "<pad>"]) == 0
    assert capfd.readouterr().out.rstrip("\n") == theirs.decode(text[0])
    (tmp_path / "text.txt").write_text(" ".join(TEXT) * 40, encoding="utf-8")
    run = str(tmp_path / "run")
    train = ["train", "gpt2", "--from", str(folder), "--data", str(tmp_path / "text.txt"), "--run", run]
    assert main([*train, "--set", "max_steps=1", "--set", "batch_size=2"]) == 0, capfd.readouterr().err
    assert main(["generate", run, "--weights", "latest", "--prompt", "the", "--max-tokens", "2"]) == 0
    for name in ("gpt.c", "onnx"):
        assert main(["export", str(folder), "--to", name, "--output", str(tmp_path / f"out.{name}")]) == 0
    again = transformers.PreTrainedTokenizerFast.from_pretrained(os.path.join(run, "vocabulary"))
    assert again.encode(TEXT[1]) == theirs.encode(TEXT[1])


def test_our_vocabulary_in_its_hands(transformers: Any, tmp_path: Path) -> None:
    """With the weights beside it, and alone."""
    ours = train_tokenizer(TEXT, 280, special=("<|endoftext|>", "<pad>"), min_frequency=1)
    save_gpt2(GPT2(len(ours), 16, 24, 2, 3, rng=np.random.default_rng(0)), tmp_path)
    ours.save(tmp_path)
    for kind in (transformers.AutoTokenizer, transformers.GPT2Tokenizer, transformers.PreTrainedTokenizerFast):
        theirs = kind.from_pretrained(tmp_path)
        assert len(theirs) == len(ours)
        for text in [*ODD, *TEXT, "the cat<pad>é<|endoftext|>"]:
            tokens = ours.encode(text, ["<|endoftext|>", "<pad>"])
            assert theirs.encode(text) == tokens.tolist(), (kind, ascii(text))
            assert theirs.decode(tokens.tolist(), clean_up_tokenization_spaces=False) == text
