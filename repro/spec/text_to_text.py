"""Tasks as texts: how a row is written, how it is answered, which of its rows are for what.

Source: rabeehk/hyperformer, data/tasks.py, for formats, splits and metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

from repro.spec.facts import KNOWN, SETS, Facts, Metric
from repro.spec.glue import GLUE
from repro.spec.tasks import WrittenName

Division = Literal["validation-halved", "set-aside", "own"]
"""Where validation and test rows come from: the scored split in halves; training rows set aside,
and the scored split; or two splits of the set's own."""
SET_ASIDE = 1_000
"""Training rows of a large set that become its validation rows."""


@dataclass(frozen=True, slots=True)
class Written:
    """One task as text to text. `facts` say what its rows are.

    `texts`: (what stands before a text, its field), in order; before IMDB's there is nothing.
    `metrics` are those that the paper prints, in its order. `scored` names the official splits that
    are validation and test rows, or the one that is divided. `like`: the task of GLUE from which a
    few-shot run starts.
    """

    facts: Facts
    texts: tuple[tuple[str, str], ...]
    metrics: tuple[Metric, ...]
    division: Division
    scored: tuple[str, ...]
    like: WrittenName | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """What a class is written as: its number. Empty for a task that asks for a number."""
        return tuple(str(number) for number in range(len(self.facts.labels)))


def _written(
    name: WrittenName,
    before: tuple[str, ...],
    metrics: tuple[Metric, ...],
    division: Division,
    like: WrittenName | None = None,
) -> Written:
    facts = KNOWN[name]
    scored = facts.evaluation[::-1] if name == "mnli" else facts.evaluation
    texts = tuple(zip(before, facts.texts, strict=True))
    return Written(facts, texts, metrics, division, scored, like)


PAIR = ("sentence1:", "sentence2:")
ACCURACY: tuple[Metric, ...] = ("accuracy",)
BOTH: tuple[Metric, ...] = ("accuracy", "f1")

TEXT_TO_TEXT: dict[WrittenName, Written] = {
    "cola": _written("cola", ("sentence:",), ("matthews",), "validation-halved"),
    "sst2": _written("sst2", ("sentence:",), ACCURACY, "set-aside"),
    "mrpc": _written("mrpc", PAIR, BOTH, "validation-halved"),
    "qqp": _written("qqp", ("question1:", "question2:"), BOTH, "set-aside"),
    "stsb": _written("stsb", PAIR, ("pearson", "spearman"), "validation-halved"),
    "mnli": _written("mnli", ("premise:", "hypothesis:"), ACCURACY, "own"),
    "qnli": _written("qnli", ("question:", "sentence:"), ACCURACY, "set-aside"),
    "rte": _written("rte", PAIR, ACCURACY, "validation-halved"),
    "scitail": _written("scitail", PAIR, ACCURACY, "own", "mnli"),
    "cb": _written("cb", ("premise:", "hypothesis:"), ACCURACY, "validation-halved", "mnli"),
    "imdb": _written("imdb", ("",), ACCURACY, "validation-halved", "sst2"),
    "yelp-polarity": _written("yelp-polarity", ("sentence:",), ACCURACY, "set-aside", "sst2"),
    "span-corruption": Written(
        KNOWN["span-corruption"], (("", "text"),), ACCURACY, "own", ("validation", "test")
    ),
}

MIXTURE: tuple[WrittenName, ...] = tuple(name for name in TEXT_TO_TEXT if name in GLUE)
"""The eight tasks of GLUE that are trained on together."""
FEW_SHOT = cast(tuple[WrittenName, ...], tuple(SETS["few-shot"]))


def probabilities(rows: tuple[int, ...], temperature: float) -> tuple[float, ...]:
    """How often each task of a mixture is drawn: (rows / all rows)^(1 / temperature), to sum 1.

    Near temperature 0 that is the largest task alone, or the largest ones alike.
    """
    weights = [(count / sum(rows)) ** (1 / temperature) for count in rows]
    if not any(weights):  # too small to be told from 0
        weights = [(count / max(rows)) ** (1 / temperature) for count in rows]
    return tuple(weight / math.fsum(weights) for weight in weights)
