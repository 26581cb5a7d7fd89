"""Tagged sentences and their files for the tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tiny_models import minilm_tokenizer

from repro.spec import TaggingTask
from repro.spec.tagging import TAGS
from repro.tasks.tagging import Sentence, TaggingData, load_tagging

SPLITS = ("train", "validation", "test")
GOOD: dict[str, Any] = {
    "tokens": ["Wolff", ",", "currently", "a", "journalist", "in", "Argentina"],
    "ner_tags": ["B-PER", "O", "O", "O", "O", "O", "B-LOC"],
}
"""The example of Tjong Kim Sang and De Meulder 2003, section 2, in IOB2."""


def numbers(names: str) -> list[int]:
    """Tags by their names, as numbers."""
    return [TAGS.index(name) for name in names.split()]


def sentence(words: str, names: str, idx: int = 0) -> Sentence:
    """One sentence from words and names of tags."""
    return Sentence(idx, tuple(words.split()), tuple(numbers(names)))


def write_lines(root: Path, split: str, lines: Sequence[bytes]) -> Path:
    """Writes a split under the data folder `root`."""
    folder = root / "conll2003"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{split}.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))
    return path


def write_splits(root: Path, rows: Sequence[Mapping[str, Any]], **others: Any) -> None:
    """The same rows as all three splits; `others` are lines of a split of its own."""
    for split in SPLITS:
        write_lines(root, split, others.get(split) or [json.dumps(row).encode() for row in rows])


def tagging_task(
    revision: str | None = "seed=0,train=40,validation=12", **changes: Any
) -> TaggingTask:
    """A generated task."""
    return TaggingTask(**({"source": "generated", "revision": revision} | changes))


@lru_cache
def tagging_data(train: int = 40, held: int = 12) -> TaggingData:
    """Generated sentences, cut by MiniLM's tokenizer."""
    return load_tagging(tagging_task(f"seed=0,train={train},validation={held}"), minilm_tokenizer())
