"""Entity scores as the shared task defines them (Tjong Kim Sang and De Meulder 2003, section 3).

An entity is right only if its first word, its last word and its type are. Which entities tags say
is read by `seqeval`, whose default mode is that of conlleval.

What training calls; it does not import `evaluate`, which takes seconds. `conll.py` is the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from seqeval.metrics.sequence_labeling import get_entities

Tags = Sequence[list[str]]


# The same gold tags, and mostly the same predictions, come in every epoch.
@lru_cache(maxsize=1 << 16)
def entities(tags: tuple[str, ...]) -> frozenset[tuple[str, int, int]]:
    """Type, first and last word of each entity. An I- tag that continues nothing begins one."""
    return frozenset(get_entities(list(tags)))


def scores(predicted: Tags, gold: Tags) -> dict[str, float]:
    """Entity F1, precision and recall, and the accuracy of words, in percent; 0 if undefined.

    Raises ValueError if sentences or words are missing on one side.
    """
    pairs = [(entities(tuple(p)), entities(tuple(g))) for p, g in zip(predicted, gold, strict=True)]
    right = sum(len(p & g) for p, g in pairs)
    precision = _percent(right, sum(len(p) for p, _ in pairs))
    recall = _percent(right, sum(len(g) for _, g in pairs))
    both = precision + recall
    words = [
        p == g for ps, gs in zip(predicted, gold, strict=True) for p, g in zip(ps, gs, strict=True)
    ]
    return {
        "f1": 2 * precision * recall / both if both else 0.0,
        "precision": precision,
        "recall": recall,
        "accuracy": _percent(sum(words), len(words)),
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
