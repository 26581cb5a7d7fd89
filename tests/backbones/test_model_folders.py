"""Model folders that go wrong in one way each: a sentence when they are described, and the mend."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tiny_folder import change_file, change_weights, write_tiny_bert
from transformers.activations import ACT2FN

from repro.backbones.checks import ACTIVATIONS
from repro.backbones.describe import describe
from repro.backbones.load import load_encoder
from repro.backbones.tiny_t5 import tiny_model, tiny_tokenizer
from repro.errors import MissingModel
from repro.spec.backbones import KNOWN, TINY_T5

HIDDEN, PIECES, POSITIONS = 16, 60, 20
GENERIC = {"tokenizer_class": "PreTrainedTokenizerFast"}
NAMED = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
Spoil = Callable[[Path], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good BERT folder of three layers with four heads."""
    path = tmp_path / "mine"
    return write_tiny_bert(path, hidden=HIDDEN, pieces=PIECES, positions=POSITIONS)


@pytest.fixture(scope="module")
def t5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good T5 folder, as transformers writes it."""
    path: Path = tmp_path_factory.mktemp("t5") / "small"
    model: Any = tiny_model(KNOWN[TINY_T5])
    model.save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def config(**changes: Any) -> Spoil:
    return lambda at: change_file(at / "config.json", **changes)


def tokens(**changes: Any) -> Spoil:
    return lambda at: change_file(at / "tokenizer_config.json", **changes)


def weights(**changes: Any) -> Spoil:
    return lambda at: change_weights(at, **changes)


def pieces(path: str, value: Any) -> Spoil:
    """Another value at a path of tokenizer.json."""

    def spoil(at: Path) -> None:
        found = json.loads((at / "tokenizer.json").read_text())
        *way, last = path.split(".")
        inner = found
        for name in way:
            inner = inner[name]
        inner[last] = value
        (at / "tokenizer.json").write_text(json.dumps(found))

    return spoil


def both(*spoils: Spoil) -> Spoil:
    return lambda at: [spoil(at) for spoil in spoils]


def ones(*shape: int, of: float = 1.0) -> Any:
    return np.full(shape, of, np.float32)


def distances(at: Path) -> None:
    """The tensors of relative positions, without a word of them in the configuration."""
    name = "bert.encoder.layer.{}.attention.self.distance_embedding.weight"
    change_weights(at, **{name.format(layer): ones(2 * POSITIONS - 1, 4) for layer in range(3)})


def cut_off(at: Path) -> None:
    path = at / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


WORDS = "embeddings_word_embeddings_weight"
BERT_CASES: dict[str, tuple[Spoil, str]] = {
    "no model_type": (config(model_type=None), 'names no model_type. .* "model_type": "bert"'),
    "another family": (config(model_type="gpt2"), "is of a 'gpt2' model"),
    "relative positions": (
        both(config(position_embedding_type="relative_key"), distances),
        "position_embedding_type 'relative_key', and the installed transformers",
    ),
    "weights of relative positions": (
        distances,
        r"hold bert.encoder.layer.0.attention.self.distance_embedding.weight and 2 other tensors, "
        "which the model of its config.json has no place for",
    ),
    "a decoder": (config(is_decoder=True), "asks for is_decoder"),
    "cross attention": (config(add_cross_attention=True), "asks for add_cross_attention"),
    "pruned heads": (config(pruned_heads={"0": [1]}), "asks for pruned_heads"),
    "quantised": (config(quantization_config={"bits": 4}), "asks for quantization_config"),
    "code of its own": (config(auto_map={"AutoModel": "x.Y"}), "asks for auto_map"),
    "unknown activation": (config(hidden_act="geglu"), "hidden_act 'geglu', which is unknown"),
    "activation of a wrong type": (config(hidden_act=["gelu"]), "which is unknown"),
    "number in quotes": (
        config(hidden_size="16"), "hidden_size '16', which is not a whole number .* without quotes"
    ),
    "a share in quotes": (
        config(hidden_dropout_prob="0.1"), "hidden_dropout_prob '0.1', which is not a number"
    ),
    "yes as a number": (config(num_hidden_layers=True), "num_hidden_layers True, which is not"),
    "no layer": (config(num_hidden_layers=0), "num_hidden_layers 0, which is not a whole number"),
    "a list": (config(vocab_size=[60]), r"vocab_size \[60\], which is not a whole number"),
    "no vocabulary size": (config(vocab_size=None), "config.json lacks vocab_size"),
    "padding outside": (config(pad_token_id=60), "pad_token_id 60, which is no number of its 60"),
    "heads do not divide": (
        config(num_attention_heads=7), "7 attention heads do not divide the hidden size 16"
    ),
    "vocabulary differs": (
        config(vocab_size=67), "word_embeddings.weight of 60 x 16, and config.json makes it 67 x 16"
    ),
    "positions differ": (
        config(max_position_embeddings=64), "position_embeddings.weight of 20 x 16, .* 64 x 16"
    ),
    "width differs": (config(hidden_size=32), "embeddings.* of .*16"),
    "feed-forward differs": (config(intermediate_size=64), "intermediate.dense.* of 32 x 16"),
    "fewer layers in the configuration": (
        config(num_hidden_layers=2), "hold encoder.layer.2.* no place for"
    ),
    "more layers in the configuration": (
        config(num_hidden_layers=4), "lack encoder.layer.3.* and 15 other tensors"
    ),
    "a lost tensor": (
        weights(encoder_layer_1_attention_self_query_weight=None),
        r"lack encoder.layer.1.attention.self.query.weight. Replace them",
    ),
    "a tensor of another part": (
        weights(**{"encoder.layer.1.adapter.weight": ones(3)}),
        "hold encoder.layer.1.adapter.weight, which",
    ),
    "NaN": (weights(pooler_dense_bias=ones(HIDDEN, of=np.nan)), "pooler.dense.bias that is not f"),
    "infinity": (
        weights(encoder_layer_0_output_dense_bias=ones(HIDDEN, of=-np.inf)),
        "encoder.layer.0.output.dense.bias that is not finite",
    ),
    "infinity in fp16": (
        weights(encoder_layer_0_output_dense_bias=np.full(HIDDEN, np.inf, np.float16)),
        "encoder.layer.0.output.dense.bias that is not finite",
    ),
    "whole numbers as weights": (
        weights(encoder_layer_0_output_dense_bias=np.ones(HIDDEN, np.int8)),
        "output.dense.bias as I8",
    ),
    "cut off": (cut_off, "model.safetensors is damaged"),
    "no weights at all": (
        lambda at: (at / "model.safetensors").write_bytes(b"weights"), "is damaged"
    ),
    "vocabulary too small": (
        both(config(vocab_size=20), weights(**{WORDS: ones(20, HIDDEN)})),
        "tokens up to number 59, and its vocabulary is 20 .* largest number is 19",
    ),
    "no padding token": (tokens(**GENERIC), "has no padding token. Name it in tokenizer_config"),
    "a padding token that is none": (
        tokens(**GENERIC, **NAMED | {"pad_token": "<pad>"}),
        "its pad_token '<pad>' is not in tokenizer.json",
    ),
    "a first token that is none": (
        tokens(**GENERIC, **NAMED | {"cls_token": {"content": "<s>"}}),
        "its cls_token '<s>' is not in tokenizer.json",
    ),
    "no special tokens around a text": (
        both(tokens(**GENERIC, **NAMED), pieces("post_processor", None)),
        "does not begin a text with a special token",
    ),
    "one type of texts": (
        both(config(type_vocab_size=1),
             weights(embeddings_token_type_embeddings_weight=ones(1, HIDDEN))),
        "gives a second text the type 1, and config.json has a type_vocab_size of 1",
    ),
    "no tokenizer": (
        lambda at: (at / "tokenizer.json").write_text("{}"), "tokenizer.json holds no tokenizer"
    ),
    "settings that are no JSON": (
        lambda at: (at / "tokenizer_config.json").write_text("{"), "tokenizer_config.json cannot be"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BERT_CASES)
def test_a_folder_that_does_not_fit_is_refused_with_its_mend(folder: Path, case: str) -> None:
    spoil, said = BERT_CASES[case]
    spoil(folder)
    with pytest.raises(MissingModel) as caught:
        describe(str(folder))
    text = str(caught.value)
    assert re.search(said, text), text
    assert str(folder) in text
    assert text.endswith((".", '"'))
    assert "\n" not in text
    assert "onnect to the hub" not in text


GOOD_CASES: dict[str, Spoil] = {
    "as written": lambda at: None,
    "with heads": weights(
        **{"cls.predictions.bias": ones(PIECES), "classifier.weight": ones(2, 2)}
    ),
    "with its buffers": weights(**{"embeddings.position_ids": np.arange(POSITIONS)[None]}),
    "without a pooler": weights(pooler_dense_weight=None, pooler_dense_bias=None),
    "a larger vocabulary": both(config(vocab_size=64), weights(**{WORDS: ones(64, HIDDEN)})),
    "a generic tokenizer": tokens(**GENERIC, **NAMED),
    "absolute positions": config(position_embedding_type="absolute", pruned_heads={}),
}


@pytest.mark.parametrize("case", GOOD_CASES)
def test_a_folder_that_fits_is_described_and_loaded(folder: Path, case: str) -> None:
    GOOD_CASES[case](folder)
    backbone = describe(str(folder))
    encoder = load_encoder(backbone, {backbone.revision or "": str(folder)}, torch.device("cpu"))
    pair = encoder.tokenizer(["ab c", "de"], ["f", "a b c"], padding=True, return_tensors="pt")
    states = encoder.states(pair.input_ids, pair.attention_mask, torch.zeros_like(pair.input_ids))
    assert torch.isfinite(states[-1]).all()


def test_a_checkpoint_of_2018_is_read(folder: Path) -> None:
    """The names of BERT's first release: "bert." before them, gamma and beta of a norm."""
    path = folder / "model.safetensors"
    old = {
        "bert." + name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): t
        for name, t in load_file(path).items()
    }
    before = describe(str(folder))
    save_file(old, path, metadata={"format": "pt"})
    after = describe(str(folder))
    assert after.parameters == before.parameters
    load_encoder(after, {after.revision or "": str(folder)}, torch.device("cpu"))


T5_CASES: dict[str, tuple[Spoil, str]] = {
    "number in quotes": (config(d_model="64"), "d_model '64', which is not a whole number"),
    "no model_type": (config(model_type=None), 'names no model_type. .* "model_type": "t5"'),
    "heads of another width": (config(d_kv=8), "heads are 32 wide together and d_model is 64"),
    "a shallow decoder": (config(num_decoder_layers=1), "decoder has 1 layers and its encoder 2"),
    "other buckets": (config(relative_attention_num_buckets=16), "16 buckets"),
    "no first token": (config(decoder_start_token_id=None), "lacks decoder_start_token_id"),
    "vocabulary differs": (config(vocab_size=1_000), "shared.weight of 1024 x 64, .* 1000 x 64"),
    "a lost tensor": (
        weights(decoder_block_1_layer_1_EncDecAttention_q_weight=None),
        "lack decoder.block.1.layer.1.EncDecAttention.q.weight",
    ),
    "a tensor of another model": (
        weights(**{"encoder.block.0.layer.1.DenseReluDense.wi_1.weight": ones(256, 64)}),
        "hold encoder.block.0.layer.1.DenseReluDense.wi_1.weight",
    ),
    "NaN": (
        weights(**{"encoder_final_layer_norm_weight": ones(64, of=np.nan)}),
        "encoder.final_layer_norm.weight that is not finite",
    ),
    "no end of a text": (
        both(tokens(**GENERIC), pieces("post_processor", None)),
        "does not end a text with a spec",
    ),
}


@pytest.mark.parametrize("case", T5_CASES)
def test_a_t5_that_does_not_fit_is_refused_with_its_mend(
    t5_folder: Path, tmp_path: Path, case: str
) -> None:
    spoil, said = T5_CASES[case]
    folder = tmp_path / "small"
    shutil.copytree(t5_folder, folder)
    spoil(folder)
    with pytest.raises(MissingModel) as caught:
        describe(str(folder))
    assert re.search(said, str(caught.value)), caught.value
    assert str(folder) in str(caught.value)


def test_a_t5_whose_output_layer_is_its_own_is_refused(t5_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    shutil.copytree(t5_folder, folder)
    change_weights(folder, **{"lm_head.weight": ones(1_024, 64)})
    backbone = describe(str(folder))
    with pytest.raises(MissingModel, match=r"several embeddings .* T5 v1\.0 has one"):
        load_encoder(backbone, {backbone.revision or "": str(folder)}, torch.device("cpu"))


def test_every_activation_is_one_of_the_library() -> None:
    assert set(ACTIVATIONS) <= set(ACT2FN)


# -- weights in other files --------------------------------------------------------------------


def shard(folder: Path) -> list[str]:
    """Cuts the weights in two files with an index, as transformers writes a large model."""
    found = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    parts: list[dict[str, Any]] = [{}, {}]
    for number, (name, tensor) in enumerate(found.items()):
        parts[number % 2][name] = tensor
    for name, part in zip(names, parts, strict=True):
        save_file(part, folder / name, metadata={"format": "pt"})
    index = {tensor: name for name, part in zip(names, parts, strict=True) for tensor in part}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": index})
    )
    return names


def test_weights_in_shards_are_those_of_one_file(folder: Path) -> None:
    def states() -> torch.Tensor:
        backbone = describe(str(folder))
        folders = {backbone.revision or "": str(folder)}
        encoder = load_encoder(backbone, folders, torch.device("cpu"))
        ids = torch.tensor([[2, 5, 6, 3]])
        return encoder.states(ids, torch.ones_like(ids), torch.zeros_like(ids))[-1]

    whole = states()
    shard(folder)
    assert torch.equal(states(), whole)


def test_every_shard_is_part_of_the_identity_and_checked(folder: Path) -> None:
    names = shard(folder)
    revisions = {describe(str(folder)).revision}
    for name in names:
        tensors = load_file(folder / name)
        first = next(iter(tensors))
        save_file(tensors | {first: tensors[first] + 1}, folder / name)
        revisions.add(describe(str(folder)).revision)
    assert len(revisions) == 3
    save_file(tensors | {first: tensors[first] * np.float32(np.nan)}, folder / names[1])
    with pytest.raises(MissingModel, match=f"{first} that is not finite"):
        describe(str(folder))
    (folder / names[1]).unlink()
    with pytest.raises(MissingModel, match=f"lacks {names[1]}, which model.safetensors.index.json"):
        describe(str(folder))


@pytest.mark.parametrize("files", [1, 2])
def test_pickled_weights_get_the_command_that_converts_them(folder: Path, files: int) -> None:
    """The printed command is run: the weights are the same tensors, and no pooler is made up."""
    change_weights(folder, pooler_dense_weight=None, pooler_dense_bias=None)
    before = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = list(before)
    for part in range(files):
        kept = {name: torch.from_numpy(before[name]) for name in names[part::files]}
        ending = "" if files == 1 else f"-0000{part + 1}-of-00002"
        torch.save(kept, folder / f"pytorch_model{ending}.bin")
    with pytest.raises(MissingModel, match=r"no model\.safetensors but PyTorch's") as caught:
        describe(str(folder))
    command = str(caught.value).split("Convert them: ")[1]
    assert command.startswith('python -c "')
    program = command.removeprefix('python -c "').removesuffix('"')
    exec(program, {})  # in this process, which has torch
    after = load_file(folder / "model.safetensors")
    assert after.keys() == before.keys()
    assert all(np.array_equal(after[name], before[name]) for name in names)
    describe(str(folder))


def test_a_vocabulary_without_a_tokenizer_gets_the_command_that_writes_it(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
    )
    with pytest.raises(MissingModel, match=r"holds no tokenizer\.json\. .* from vocab\.txt"):
        describe(str(folder))


def test_weights_of_another_framework_are_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "tf_model.h5")
    with pytest.raises(MissingModel, match="weights of TensorFlow or JAX"):
        describe(str(folder))


def test_a_folder_is_checked_without_torch(folder: Path) -> None:
    program = (
        "import sys; from repro.backbones.describe import describe; describe(sys.argv[1]); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
