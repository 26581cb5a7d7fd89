"""The files of a model of the hub that decide its outputs: fetched, found here, and by digest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from repro import hub
from repro.backbones.describe import LOCAL, TOKENIZER_OPTIONS, mirror_of
from repro.backbones.weight_files import NEEDED
from repro.errors import MissingModel, told
from repro.folders import named_by
from repro.spec.backbones import MINILM, TINY_T5
from repro.spec.contents import Content, file_digest, locked, recorded
from repro.spec.types import Backbone

V = TypeVar("V")

NAMED_OTHERWISE = (LOCAL, MINILM, TINY_T5)
"""A local folder is named by its digest, a package by its version; the tiny T5 has no files."""
CONFIG, WEIGHTS, TOKENIZER = NEEDED
OLDER = {TOKENIZER: ("vocab.txt", "spiece.model"), WEIGHTS: ("pytorch_model.bin",)}
"""What is read where a repository lacks the file of today's form."""
OPTIONAL = (*TOKENIZER_OPTIONS, "added_tokens.json")


def model_content(backbone: Backbone, folders: dict[str, str]) -> Content | None:
    """What was loaded for a hub id: from a folder below $REPRO_MODELS, or from the hub's cache.

    To be called after loading. None for a backbone that is no hub id, or without files here.
    """
    if backbone.id in NAMED_OTHERWISE:
        return None
    mirror, models = mirror_of(backbone), named_by("REPRO_MODELS")
    if mirror is not None and models is not None:
        digests = _digests(mirror)
        commit = recorded(models, "models", backbone.id, digests)
        return Content(revision=commit, digests=digests)
    found = cached(backbone)
    return content_of(found) if CONFIG in found else None


def content_of(files: Mapping[str, Path]) -> Content:
    """What the files of a model in the hub's cache hold, and their commit."""
    digests = {name: file_digest(path) for name, path in sorted(files.items())}
    return Content(revision=hub.commit_of(files[CONFIG]), digests=digests)


def fetch(backbone: Backbone, heard: hub.Heard = hub.unheard) -> dict[str, Path]:
    """Downloads the files of a hub's model that decide its outputs, or finds them in the cache.

    They lie in one folder. `heard`: see `hub.fetch`. Raises MissingModel, with the mend.
    """
    repo, revision = _repo(backbone.id), _pin(backbone)
    try:
        found = _each(lambda name: hub.fetch(repo, name, revision, heard))
    except Exception as problem:  # network, HTTP, cache and disk errors share no base class
        here = cached(backbone)  # weights come last: no other file is wanting where these are here
        if here:
            return here
        raise _missing(backbone.id, told(problem)) from problem
    lacking = _lacking(found)
    if lacking:
        raise _missing(backbone.id, f"the hub's repository has no {lacking}")
    return found


def look(backbone: Backbone) -> dict[str, hub.Remote]:
    """What the hub says of the files that `fetch` downloads. Raises what `hub.look` does."""
    return _each(lambda name: hub.look(_repo(backbone.id), name, _pin(backbone)))


def cached(backbone: Backbone) -> dict[str, Path]:
    """The files of a hub's model that are in the hub's cache; {} where it cannot be loaded."""
    found = _each(lambda name: hub.cached(_repo(backbone.id), name, _pin(backbone)))
    return {} if _lacking(found) else found


def hub_content(id: str) -> Content:
    """What the hub holds for a model today: its commit, and the digests of what decides outputs.

    Weights are not downloaded: the hub names their SHA-256. Raises MissingModel.
    """
    repo = _repo(id)

    def ask(name: str) -> tuple[str, str] | None:
        found = hub.look(repo, name, "main")
        if found is None:
            return None
        if hub.SHA256.fullmatch(found.etag):
            return found.commit, found.etag
        path = hub.fetch(repo, name, found.commit)
        return None if path is None else (found.commit, file_digest(path))

    try:
        found = _each(ask)
    except Exception as problem:  # as in `fetch`
        raise MissingModel(
            f"{id} cannot be looked up on the hub: {told(problem)}. Give the command where the hub "
            "can be reached (HF_ENDPOINT names a mirror)."
        ) from problem
    if _lacking(found):
        raise MissingModel(f"The hub's {id} has no file of a model: {_lacking(found)}.")
    digests = {name: digest for name, (_, digest) in sorted(found.items())}
    return Content(revision=found[CONFIG][0], digests=digests)


def _each(ask: Callable[[str], V | None]) -> dict[str, V]:
    """File of a model -> what `ask` gives for it; of a file's forms the first that there is."""
    found: dict[str, V] = {}
    for names in ((CONFIG,), *((name,) for name in OPTIONAL), *((n, *OLDER[n]) for n in OLDER)):
        for name in names:
            answer = ask(name)
            if answer is not None:
                found[name] = answer
                break
    return found


def _lacking(found: Collection[str]) -> str:
    """What a model cannot be loaded without and is not among the files; "" where all is."""
    needed = {CONFIG: (), **OLDER}
    absent = [(n, *needed[n]) for n in needed if not {n, *needed[n]} & set(found)]
    return " and no ".join(" or ".join(names) for names in absent)


def _repo(id: str) -> hub.Repo:
    return hub.Repo(id, "model")


def _pin(backbone: Backbone) -> str | None:
    known = locked().models.get(backbone.id)
    return backbone.revision or (None if known is None else known.revision)


def _missing(id: str, why: str) -> MissingModel:
    return MissingModel(
        f"The backbone {id} could not be loaded: {why.rstrip('.')}. Connect to the hub once "
        "(HF_ENDPOINT names a mirror, HF_HOME the cache), or put its files at "
        f"$REPRO_MODELS/{id}, or choose another with --backbone."
    )


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
    return {name: file_digest(folder / name) for name in names}
