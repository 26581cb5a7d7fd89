"""A T5: made from its configuration, loaded from a folder as the hub has it, given new weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_hub import COMMIT, run_with_hub, serving
from run_samples import changed
from safetensors.torch import load_file, save_file
from tiny_folder import tokenizer_file
from torch import Tensor

from repro.backbones.describe import describe
from repro.backbones.load import Encoder, load_encoder
from repro.backbones.tiny_t5 import tiny_model, tiny_tokenizer, vocabulary
from repro.errors import MissingModel, ReproError
from repro.spec.backbones import KNOWN, T5_BASE, T5_SMALL, TINY_T5, TINY_T5_VOCABULARY
from repro.tasks.sentences.rows import generated_rows

CPU = torch.device("cpu")
TINY = KNOWN[TINY_T5]
ODD = "Größe – 日本語 ### x## \u200b {a} don't 3.8%"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 as the hub's folder of google-t5/t5-small holds one, with weights of its own."""
    path: Path = tmp_path_factory.mktemp("models") / "small"
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model: Any = tiny_model(TINY)
        for parameter in model.parameters():
            parameter.data.normal_(0, 0.1)
    model.save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def load(path: Path) -> Encoder:
    backbone = describe(str(path))
    return load_encoder(backbone, {backbone.revision or "": str(path)}, CPU)


def logits(encoder: Encoder) -> Tensor:
    ids = encoder.tokenizer("premise: the nurse bought the lamp", return_tensors="pt").input_ids
    with torch.no_grad():
        found: Tensor = encoder.model(input_ids=ids, labels=torch.tensor([[5, 1]])).logits
    return found


def test_published_sizes_have_their_parameters() -> None:
    """Counted on the published checkpoints: 60,506,624 and 222,903,552."""
    assert KNOWN[T5_SMALL].parameters == 60_506_624
    assert KNOWN[T5_BASE].parameters == 222_903_552
    model = tiny_model(TINY)
    assert sum(p.numel() for p in model.parameters()) == TINY.parameters


def test_the_tiny_one_is_the_same_each_time_and_leaves_the_generators_alone() -> None:
    state = torch.get_rng_state()
    first, second = tiny_model(TINY).state_dict(), tiny_model(TINY).state_dict()
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_its_vocabulary_holds_every_generated_word_and_any_text_comes_back() -> None:
    tokenizer = tiny_tokenizer()
    assert len(vocabulary()) <= TINY_T5_VOCABULARY
    assert tokenizer.convert_tokens_to_ids(["<pad>", "</s>", "<unk>"]) == [0, 1, 2]
    assert tokenizer.convert_tokens_to_ids("<extra_id_0>") == len(tokenizer) - 1
    made = [
        *generated_rows("text-to-text/span-corruption", "seed=3,train=300,validation=0")["train"],
        *generated_rows("text-to-text/cb", "seed=3,train=50,validation=5")["train"],
    ]
    texts = [text for row in made for text in row.texts]
    for text in [*texts, ODD]:
        ids = tokenizer(text).input_ids
        assert ids[-1] == 1
        assert 2 not in ids
        assert tokenizer.decode(ids, skip_special_tokens=True).strip() == text
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(" ".join(texts)).input_ids)
    assert not any(piece.startswith("##") for piece in pieces)  # whole words only


def test_a_folder_is_described_by_its_shape_and_loaded_whole(folder: Path) -> None:
    backbone = describe(str(folder))
    assert (backbone.family, backbone.id) == ("t5", "local")
    assert (backbone.layers, backbone.hidden_size, backbone.intermediate_size) == (2, 64, 256)
    assert backbone.parameters == TINY.parameters
    encoder = load(folder)
    assert not encoder.model.training
    assert not any(p.requires_grad for p in encoder.model.parameters())
    stored = load_file(folder / "model.safetensors")
    state = encoder.model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in stored.items())
    assert torch.equal(state["lm_head.weight"], state["shared.weight"])


def test_a_folder_whose_weights_lack_a_tensor_is_refused(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    tensors = load_file(broken / "model.safetensors")
    lost = "decoder.block.1.layer.1.EncDecAttention.q.weight"
    del tensors[lost]
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(MissingModel, match=rf"lack {lost}"):
        load(broken)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "its tokenizer has tokens up to number 30,521, and its vocabulary is 1,024"),
        ("{}", "tokenizer.json holds no tokenizer"),
        ("no json", "tokenizer.json holds no tokenizer"),
    ],
)
def test_a_folder_whose_tokenizer_is_none_of_a_t5_is_refused(
    folder: Path, tmp_path: Path, content: str | None, told: str
) -> None:
    """Nothing, or BERT's word pieces, stand where T5's unigrams are read."""
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("config.json", "model.safetensors"):
        (broken / name).write_bytes((folder / name).read_bytes())
    written = tokenizer_file().read_text("utf-8") if content is None else content
    (broken / "tokenizer.json").write_text(written, encoding="utf-8")
    with pytest.raises(MissingModel, match=told):
        describe(str(broken))


def test_another_version_of_t5_is_refused(folder: Path, tmp_path: Path) -> None:
    """v1.1 was not trained on GLUE before, as the published models were."""
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["feed_forward_proj"] = "gated-gelu"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ReproError, match=r"T5 v1\.1: the published numbers are of T5 v1\.0"):
        describe(str(tmp_path))


def test_weights_of_a_run_take_the_place_of_the_first_ones(tmp_path: Path) -> None:
    """As a fine-tuned run stores them: every parameter once, "model." before its name."""
    model = tiny_model(TINY)
    tuned = {f"model.{name}": p.detach() + 0.25 for name, p in model.named_parameters()}
    save_file(tuned, tmp_path / "adapter.safetensors")
    encoder = load_encoder(TINY, {}, CPU, pretrained=tmp_path / "adapter.safetensors")
    for name, parameter in encoder.model.named_parameters():
        assert torch.equal(parameter, tuned[f"model.{name}"]), name
    output = encoder.model.get_submodule("lm_head").get_parameter("weight")
    assert torch.equal(output, tuned["model.shared.weight"])
    assert not torch.equal(logits(encoder), logits(load_encoder(TINY, {}, CPU)))


PROGRAM = """
import sys, torch
from repro.backbones.load import load_encoder
from repro.spec import Backbone
encoder = load_encoder(Backbone.model_validate_json(sys.argv[1]), {}, torch.device("cpu"))
ids = encoder.tokenizer("premise: the nurse bought the lamp", return_tensors="pt").input_ids
with torch.no_grad():
    found = encoder.model(input_ids=ids, labels=torch.tensor([[5, 1]])).logits
print([round(x, 4) for x in found[0, 1, :5].tolist()])
"""


def test_a_t5_comes_from_the_endpoint_at_its_revision(folder: Path, tmp_path: Path) -> None:
    """google-t5/t5-small's layout: config, weights and tokenizer beside each other."""
    on_hub = f"/tiny/t5/resolve/{COMMIT}"
    described = changed(describe(str(folder)), ("id",), "tiny/t5")
    described = changed(described, ("revision",), COMMIT)
    expected = [round(x, 4) for x in logits(load(folder))[0, 1, :5].tolist()]
    with serving({f"{on_hub}/{p.name}": p.read_bytes() for p in folder.iterdir()}) as hub:
        said = run_with_hub(PROGRAM, tmp_path, hub.address, described.model_dump_json())
        assert f"GET {on_hub}/model.safetensors" in hub.asked
    assert said == str(expected)
