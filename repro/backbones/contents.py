"""Digests of what a model of the hub was loaded from: weights, configuration and tokenizer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from repro.backbones.describe import LOCAL, TOKENIZER_OPTIONS, locate
from repro.backbones.weight_files import NEEDED
from repro.errors import MissingModel
from repro.spec.backbones import MINILM, TINY_T5
from repro.spec.contents import Content
from repro.spec.types import Backbone

NAMED_OTHERWISE = (LOCAL, MINILM, TINY_T5)
"""A local folder is named by its digest, a package by its version; the tiny T5 has no files."""
CONFIG, WEIGHTS, TOKENIZER = NEEDED
OLDER = {WEIGHTS: ("pytorch_model.bin",), TOKENIZER: ("vocab.txt", "spiece.model")}
"""What is read where a repository lacks the file of today's form."""
SHA256 = re.compile(r"[0-9a-f]{64}")
OPTIONAL = (*TOKENIZER_OPTIONS, "added_tokens.json")


def model_content(backbone: Backbone, folders: dict[str, str]) -> Content | None:
    """What was loaded for a hub id: from a folder below $REPRO_MODELS, or from the hub's cache.

    To be called after loading. None for a backbone that is no hub id, or without files here.
    """
    if backbone.id in NAMED_OTHERWISE:
        return None
    where = locate(backbone, folders)
    if where != backbone.id:
        return Content(digests=_digests(Path(where)))
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(backbone.id, CONFIG, revision=backbone.revision)
    if not isinstance(found, str):
        return None
    snapshot = Path(found).parent  # .../snapshots/<commit>
    return Content(revision=snapshot.name, digests=_digests(snapshot))


def hub_content(id: str) -> Content:
    """What the hub holds for a model today: its commit, and the digests of what decides outputs.

    Weights are not downloaded: the hub names their SHA-256. Raises MissingModel.
    """
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    revision: str | None = None
    etags: dict[str, str] = {}
    try:
        for name in (
            CONFIG,
            *OPTIONAL,
            *(n for pair in OLDER.items() for n in (pair[0], *pair[1])),
        ):
            try:
                url = huggingface_hub.hf_hub_url(id, name, revision=revision)
                found = huggingface_hub.get_hf_file_metadata(url)
            except EntryNotFoundError:
                continue
            revision, etags[name] = found.commit_hash, found.etag or ""
        digests = {
            name: etags[name]
            if SHA256.fullmatch(etags[name])
            else _digest(Path(huggingface_hub.hf_hub_download(id, name, revision=revision)))
            for name in files_read(etags)
        }
    except Exception as problem:  # network, HTTP, cache and disk errors share no base class
        raise MissingModel(
            f"{id} cannot be looked up on the hub: {problem}. Give the command where the hub can "
            "be reached (HF_ENDPOINT names a mirror)."
        ) from problem
    if not digests:
        raise MissingModel(f"The hub's {id} has no file of a model: {CONFIG} or {WEIGHTS}.")
    return Content(revision=revision, digests=digests)


def files_read(present: Iterable[str]) -> list[str]:
    """Of the files of a model, those that decide its outputs."""
    names = set(present)
    found = [CONFIG, *OPTIONAL]
    shards = sorted(name for name in names if ".safetensors" in name)
    for name, older in OLDER.items():
        others = (
            shards if name == WEIGHTS and shards else [other for other in older if other in names]
        )
        found += [name] if name in names else others
    return sorted(names & set(found))


def _digests(folder: Path) -> dict[str, str]:
    names = files_read(path.name for path in folder.iterdir())
    return {name: _digest(folder / name) for name in names}


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
