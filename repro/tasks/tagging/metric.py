"""Entity scores as the shared task defines them (Tjong Kim Sang and De Meulder 2003, section 3).

An entity is right only if its first word, its last word and its type are.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.spec.tagging import TAGS

Entity = tuple[int, int, str]
"""First word, last word, type."""


def entities(tags: Sequence[int]) -> set[Entity]:
    """The entities of one sentence. An I- tag that continues nothing begins an entity."""
    found: set[Entity] = set()
    begin, kind = 0, ""
    for place, tag in enumerate([*(TAGS[number] for number in tags), "O"]):
        continues = tag.startswith("I-") and tag[2:] == kind
        if kind and not continues:
            found.add((begin, place - 1, kind))
            kind = ""
        if tag != "O" and not continues:
            begin, kind = place, tag[2:]
    return found


def scores(predicted: Sequence[Sequence[int]], gold: Sequence[Sequence[int]]) -> dict[str, float]:
    """Entity precision, recall and F1, and the accuracy of words, in percent; 0 where undefined."""
    pairs = [(entities(p), entities(g)) for p, g in zip(predicted, gold, strict=True)]
    right = sum(len(p & g) for p, g in pairs)
    precision = _percent(right, sum(len(p) for p, _ in pairs))
    recall = _percent(right, sum(len(g) for _, g in pairs))
    both = precision + recall
    words = [
        (p, g) for ps, gs in zip(predicted, gold, strict=True) for p, g in zip(ps, gs, strict=True)
    ]
    return {
        "f1": 2 * precision * recall / both if both else 0.0,
        "precision": precision,
        "recall": recall,
        "accuracy": _percent(sum(p == g for p, g in words), len(words)),
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
