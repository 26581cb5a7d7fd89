"""The metric of SQuAD 2.0 (Rajpurkar, Jia and Liang 2018; the official evaluation script v2.0).

A text is compared in lower case, without ASCII punctuation, without articles, with single spaces.
Exact match asks for equality with one gold answer; F1 is the harmonic mean of precision and recall
over the bag of words, the best over the gold answers. A question without an answer, and a
prediction without words, score 1 with each other and 0 with anything else.

What training calls; it does not import `evaluate`, which takes seconds. `squad_v2.py` is the
module.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

Answers = Mapping[str, tuple[str, ...]]
"""The gold answers of each question, by its id; none for a question without an answer."""
Groups = dict[str, dict[str, float]]
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """The text as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


# The same predictions meet the same answers in every epoch and protocol.
@lru_cache(maxsize=1 << 18)
def exact_and_f1(prediction: str, answers: tuple[str, ...]) -> tuple[float, float]:
    """Exact match (0 or 1) and F1 (0 to 1) of one prediction; no answers: the question has none."""
    text, words, count = _words(prediction)
    golds = _golds(answers)
    exact = float(any(text == gold for gold, _, _ in golds))
    return exact, max(_f1(words, count, gold, size) for _, gold, size in golds)


def score(
    predictions: Mapping[str, str],
    answers: Answers,
    margins: Mapping[str, float] | None = None,
    candidates: Mapping[str, str] | None = None,
    withheld: Collection[str] = (),
) -> Groups:
    """Scores in percent for the groups ALL, HasAns and NoAns; a group without questions is absent.

    `predictions` has every question's answer by id, "" for none. Each group gets "em", "f1" and "n"
    (its questions); with `margins`, ALL also gets what `best_thresholds` finds for `candidates`
    (texts before the null decision; the predictions where None). `withheld`: questions whose answer
    a threshold took away, which is wrong at an answerable one even if its answers are articles
    alone. Raises ValueError when a prediction is missing.
    """
    _check_complete(predictions, answers)
    raw = {
        id: (0.0, 0.0) if golds and id in withheld else exact_and_f1(predictions[id], golds)
        for id, golds in answers.items()
    }
    parts = {
        "ALL": list(raw.values()),
        "HasAns": [pair for id, pair in raw.items() if answers[id]],
        "NoAns": [pair for id, pair in raw.items() if not answers[id]],
    }
    groups = {name: _averages(part) for name, part in parts.items() if part}
    if margins is not None and answers:
        found = best_thresholds(predictions if candidates is None else candidates, margins, answers)
        groups["ALL"].update(found)
    return groups


def best_thresholds(
    candidates: Mapping[str, str], margins: Mapping[str, float], answers: Answers
) -> dict[str, float]:
    """The best scores that any null threshold reaches: the candidate is predicted iff its margin is
    at most the threshold, else nothing.

    `answers` is not empty. Returns "best_em", "best_f1" in percent and "best_em_threshold",
    "best_f1_threshold". The official script's search with three differences. Equal margins are
    decided together, since no threshold can part them. Answering nothing has a threshold below
    every margin (the script says 0 even where that would answer). An answer of articles or
    punctuation alone scores at an unanswerable question what it scores at a fixed threshold, which
    is 1, as it normalises to no answer (the script's search counts it as wrong). Of equal scores
    the lowest threshold is kept.
    Raises ValueError when a candidate is missing.
    """
    _check_complete(candidates, answers)
    _check_complete(margins, answers)
    gains = sorted((margins[id], *_gain(candidates[id], golds)) for id, golds in answers.items())
    nothing = float(sum(not golds for golds in answers.values()))
    lowest = gains[0][0]
    # (score, threshold) so far; nothing is answered at 0 too where every margin is above it
    em = f1 = (nothing, 0.0 if lowest > 0 else lowest - 1)
    exact_sum = f1_sum = nothing
    following = [margin for margin, _, _ in gains[1:]] + [None]
    for (margin, exact, part), after in zip(gains, following, strict=True):
        exact_sum, f1_sum = exact_sum + exact, f1_sum + part
        if margin != after:
            em = em if em[0] >= exact_sum else (exact_sum, margin)
            f1 = f1 if f1[0] >= f1_sum else (f1_sum, margin)
    return {
        "best_em": 100 * em[0] / len(gains),
        "best_em_threshold": em[1],
        "best_f1": 100 * f1[0] / len(gains),
        "best_f1_threshold": f1[1],
    }


def _gain(candidate: str, golds: tuple[str, ...]) -> tuple[float, float]:
    """What predicting the candidate changes in the sums, against predicting nothing."""
    exact, f1 = exact_and_f1(candidate, golds)
    null = 0.0 if golds else 1.0
    return exact - null, f1 - null


def _averages(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    count = len(pairs)
    em, f1 = (math.fsum(values) for values in zip(*pairs, strict=True))
    return {"em": 100 * em / count, "f1": 100 * f1 / count, "n": count}


def _words(text: str) -> tuple[str, Counter[str], int]:
    normal = normalise(text)
    words = normal.split()
    return normal, Counter(words), len(words)


@lru_cache(maxsize=1 << 18)
def _golds(answers: tuple[str, ...]) -> tuple[tuple[str, Counter[str], int], ...]:
    """The distinct gold answers that have words; the empty one where there is none."""
    texts = dict.fromkeys(text for text in map(normalise, answers) if text)
    return tuple(map(_words, texts or ("",)))


def _f1(words: Counter[str], count: int, gold: Counter[str], size: int) -> float:
    if not count or not size:
        return float(count == size)
    common = sum(min(number, gold[word]) for word, number in words.items() if word in gold)
    # 2PR / (P + R) with P = common / count and R = common / size
    return 2 * common / (count + size)


def _check_complete(given: Mapping[str, object], answers: Answers) -> None:
    missing = [id for id in answers if id not in given]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(answers)} questions have no prediction, the first is "
            f"{missing[0]}. Predict every question, '' for no answer."
        )
