"""The words and wordings of generated rows, read from `words.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_DATA = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORDS: dict[str, list[str]] = {kind: words.split(", ") for kind, words in _DATA["words"].items()}
WORDINGS: dict[str, list[str]] = _DATA["wordings"]
RELATIONS: dict[str, list[list[str]]] = _DATA["relations"]
"""Kind of value -> its two relations: a sentence, then three questions."""


def own(kind: str, split: str) -> list[str]:
    """Three quarters of the words of a kind for training, the others for every other split."""
    return [word for i, word in enumerate(WORDS[kind]) if (i % 4 == 3) == (split != "train")]
