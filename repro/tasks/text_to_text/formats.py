"""How a row is written for T5, and how what T5 writes is read.

After rabeehk/hyperformer, data/tasks.py and data/postprocessors.py: the texts of a row, each behind
its name, joined by blanks; a class is written as its number, a similarity with one decimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT

INVALID = -1
"""What an answer counts as that is no label, or no number."""
NAMES: dict[WrittenName, str] = {name: name for name in TEXT_TO_TEXT} | {
    "cb": "superglue-cb",
    "yelp-polarity": "yelp_polarity",
}
"""Task -> what an input with a prefix begins with."""
STEPS = {"0.2": 5, "0.1": 10}
"""Grid -> its points from one whole number to the next."""
MOST = 5.0
"""The largest similarity of STS-B."""


def input_text(
    name: WrittenName, texts: Sequence[str], *, prefix: bool = False, colon: bool = True
) -> str:
    """'premise: A hypothesis: B'; with the task's name first, or MNLI without its second colon."""
    parts = [NAMES[name]] if prefix else []
    for (before, _), text in zip(TEXT_TO_TEXT[name].texts, texts, strict=True):
        bare = name == "mnli" and not colon and before == "hypothesis:"
        parts += [before.removesuffix(":") if bare else before, text]
    return " ".join(part for part in parts if part)


def answer_text(name: WrittenName, label: int | float, grid: Literal["0.2", "0.1"]) -> str:
    """The number of a class, or STS-B's similarity on its grid.

    The released code means to round to fifths, but (5 y) / 5 undoes itself, and its answers lie on
    the grid of one decimal.
    """
    if TEXT_TO_TEXT[name].labels:
        return str(int(label))
    steps = STEPS[grid]
    return f"{round(label * steps) / steps:.1f}"


def answer_texts(name: WrittenName, grid: Literal["0.2", "0.1"]) -> tuple[str, ...]:
    """Every right answer of a task; none of span corruption, whose answers have no end."""
    written = TEXT_TO_TEXT[name]
    if written.labels or name == "span-corruption":
        return written.labels
    return tuple(f"{point / STEPS[grid]:.1f}" for point in range(round(MOST * STEPS[grid]) + 1))


def parsed_class(name: WrittenName, text: str) -> int:
    """The class that an answer is, blanks around it aside; INVALID for any other text."""
    labels, answer = TEXT_TO_TEXT[name].labels, text.strip()
    return labels.index(answer) if answer in labels else INVALID


def parsed_number(text: str) -> float:
    """The number that an answer is; INVALID for any other text, and for one that is not finite."""
    try:
        number = float(text)
    except ValueError:
        return float(INVALID)
    return number if math.isfinite(number) else float(INVALID)
