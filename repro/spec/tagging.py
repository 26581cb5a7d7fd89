"""CoNLL-2003 (Tjong Kim Sang and De Meulder 2003): its tags and published sizes."""

from __future__ import annotations

from repro.spec.facts import KNOWN

CONLL = KNOWN["conll2003"]
TAGS = CONLL.labels
"""In the order of the hub's numbers."""
UNTAGGED = -100
"""The target of a token without a tag of its own: special, padding, or a word's later piece."""
SENTENCES_PUBLISHED = CONLL.rows
