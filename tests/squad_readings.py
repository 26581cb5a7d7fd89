"""A second reading of SQuAD 2.0's official evaluation script, and texts that test it."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from itertools import groupby

PIECES = [
    "the", "The", "THE", "a", "an", "An", "theatre", "banana", "1,000", "1000", "U.S.", "us",
    "don't", "dont", "co-op", "coop", "état", "ÉTAT", "naïve", "東京", "Straße", "STRASSE", "ſ",
    "İ", "…", "—", "a—b", "the—cat", "“the”", "'a'", "a.", ".", "_", "a_an", "\u00a0", "\u200b",
    "cat", "Cat", "cats", "dog", "the-dog", "$5", "5", "½", "x²",
]  # fmt: skip
GAPS = [" ", "  ", "\t", "\n", "", " \u2003"]


def normal(text: str) -> str:
    """Lower case, without punctuation, words that are articles blanked, spaces squeezed."""
    kept = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    runs = ["".join(run) for _, run in groupby(kept, key=lambda sign: sign.isalnum())]
    return " ".join("".join(" " if run in ("a", "an", "the") else run for run in runs).split())


def exact(prediction: str, answers: Sequence[str]) -> float:
    golds = [answer for answer in answers if normal(answer)] or [""]
    return float(any(normal(gold) == normal(prediction) for gold in golds))


def f1(prediction: str, answers: Sequence[str]) -> float:
    golds = [answer for answer in answers if normal(answer)] or [""]
    return max(_f1_of_one(normal(prediction).split(), normal(gold).split()) for gold in golds)


def _f1_of_one(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    left, common = list(gold), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            common += 1
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def phrase(draw: random.Random) -> str:
    return "".join(draw.choice(PIECES) + draw.choice(GAPS) for _ in range(draw.randint(0, 5)))
