"""CoNLL-2003: what tags there are (Tjong Kim Sang and De Meulder 2003) and the published sizes."""

from __future__ import annotations

TAGS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
"""In the order of the hub's numbers."""
UNTAGGED = -100
"""The target of a token without a tag of its own: special, padding, or a word's later piece."""
SENTENCES_PUBLISHED = {"train": 14_041, "validation": 3_250, "test": 3_453}
