"""Digests of what a model of the hub was loaded from: weights, configuration and tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from repro.backbones.describe import LOCAL, LOCAL_FILES, TOKENIZER_OPTIONS, locate
from repro.spec.backbones import MINILM, TINY_T5
from repro.spec.contents import Content
from repro.spec.types import Backbone

NAMED_OTHERWISE = (LOCAL, MINILM, TINY_T5)
"""A local folder is named by its digest, a package by its version; the tiny T5 has no files."""
CONFIG, WEIGHTS, TOKENIZER = LOCAL_FILES
OLDER = {WEIGHTS: ("pytorch_model.bin",), TOKENIZER: ("vocab.txt", "spiece.model")}
"""What is read where a repository lacks the file of today's form."""
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
    found = {}
    for name in files_read(path.name for path in folder.iterdir()):
        with (folder / name).open("rb") as stream:
            found[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found
