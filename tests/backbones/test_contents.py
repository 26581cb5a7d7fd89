"""Digests of a model's files: what was loaded, and what the hub says that it holds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from tiny_folder import write_tiny_bert

from repro.backbones.contents import files_read
from repro.backbones.describe import describe
from repro.spec.contents import Content, file_digest, unknown

ON_HUB = "tiny/bert"
NAMES = ("config.json", "model.safetensors", "tokenizer.json")
PROGRAM = f"""
import sys
from huggingface_hub import hf_hub_download
from repro.backbones.contents import hub_content, model_content
from repro.spec import Backbone

backbone = Backbone.model_validate_json(sys.argv[1])
if sys.argv[2] == "loaded":
    for name in {NAMES}:
        hf_hub_download("{ON_HUB}", name)
if sys.argv[2] == "looked up":
    print(hub_content("{ON_HUB}").model_dump_json())
else:
    print(model_content(backbone, {{}}).model_dump_json())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def hub(folder: Path) -> Iterator[Hub]:
    files = {
        f"/{ON_HUB}/resolve/{revision}/{path.name}": path.read_bytes()
        for revision in ("main", COMMIT)
        for path in folder.iterdir()
    }
    with serving(files) as server:
        yield server


def content(how: str, folder: Path, hub: Hub, home: Path, **more: str) -> Content:
    fields = {"id": ON_HUB, "revision": None}
    backbone = describe(str(folder)).model_copy(update=fields).model_dump_json()
    return Content.model_validate_json(
        run_with_hub(PROGRAM, home, hub.address, backbone, how, **more)
    )


def test_what_was_loaded_from_the_hub_is_what_the_hub_holds(
    hub: Hub, folder: Path, tmp_path: Path
) -> None:
    """SHA-256 by hashlib of the files that are served; the weights are not downloaded to ask."""
    looked_up = content("looked up", folder, hub, tmp_path / "one")
    assert looked_up.revision == COMMIT
    assert looked_up.digests == {name: file_digest(folder / name) for name in NAMES}
    assert not [line for line in hub.asked if line.startswith("GET") and "safetensors" in line]
    assert content("loaded", folder, hub, tmp_path / "two") == looked_up


def test_a_folder_in_the_place_of_a_hub_id_has_digests_and_no_commit(
    hub: Hub, folder: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    shutil.copytree(folder, models / ON_HUB)
    known = content("looked up", folder, hub, tmp_path / "hub")
    where = {"REPRO_MODELS": str(models)}
    copy = content("copied", folder, hub, tmp_path / "hub", **where)
    assert (copy.revision, unknown(copy, known, whole=True)) == (None, "")
    assert unknown(copy, None, whole=True) == "not in the lock file"
    weights = models / ON_HUB / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\x00\x00\x80\x3f")  # one weight is 1.0
    other = content("copied", folder, hub, tmp_path / "hub", **where)
    assert unknown(other, known, whole=True) == "model.safetensors is not the locked one"


@pytest.mark.parametrize(
    ("present", "read"),
    [
        (
            ["README.md", "config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5",
             "tokenizer.json", "tokenizer_config.json", "vocab.txt"],
            ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"],
        ),
        (
            ["config.json", "pytorch_model.bin", "special_tokens_map.json", "vocab.txt"],
            ["config.json", "pytorch_model.bin", "special_tokens_map.json", "vocab.txt"],
        ),
        (
            ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
             "model.safetensors.index.json", "spiece.model", "tokenizer.json"],
            ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
             "model.safetensors.index.json", "tokenizer.json"],
        ),
    ],
)  # fmt: skip
def test_the_files_that_decide_outputs_are_chosen(present: list[str], read: list[str]) -> None:
    assert files_read(present) == read


def test_locked_digests_decide_and_without_them_a_commit_of_the_hub() -> None:
    read = Content(revision=COMMIT, digests={"train": "1" * 64})
    assert unknown(read, None, whole=False) == ""
    local = read.model_copy(update={"revision": None})
    assert unknown(local, None, whole=False) == "not in the lock file"
    for revision in (None, COMMIT, "d" * 40):
        other = Content(revision=revision, digests={"train": "2" * 64})
        assert unknown(read, other, whole=False) == "train is not the locked one"
        same = Content(revision=revision, digests=read.digests)
        assert unknown(read, same, whole=False) == ""


def test_a_file_that_a_folder_lacks_is_a_difference_and_a_split_that_was_not_read_is_none() -> None:
    known = Content(digests={"config.json": "1" * 64, "tokenizer_config.json": "2" * 64})
    read = Content(digests={"config.json": "1" * 64})
    assert unknown(read, known, whole=True) == "tokenizer_config.json is not the locked one"
    assert unknown(read, known, whole=False) == ""
    assert unknown(None, known, whole=False) == "no digest was stored"
