"""Tasks as texts: how a row is written, how it is answered, which of its rows are for what.

Sources: rabeehk/hyperformer, data/tasks.py, for formats, splits and metrics; the cards of the data
sets for fields, label order and rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from repro.spec.facts import Facts, Metric
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
    scored: tuple[str, ...] = ("validation",)
    like: WrittenName | None = None
    folder: str = ""
    """Local folder, of a task that is not of GLUE."""
    hub: tuple[str, str] = field(default=("", ""))
    """Hub id and configuration, of a task that is not of GLUE."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What a class is written as: its number. Empty for a task that asks for a number."""
        return tuple(str(number) for number in range(len(self.facts.labels)))


def _glue(
    name: str, texts: dict[str, str], metrics: tuple[Metric, ...], division: Division
) -> Written:
    scored: tuple[str, ...] = ("validation",)
    if name == "mnli":
        scored = ("validation_mismatched", "validation_matched")
    facts = GLUE[name]  # type: ignore[index]
    return Written(facts, tuple(texts.items()), metrics, division, scored)


PAIR = {"sentence1:": "sentence1", "sentence2:": "sentence2"}
SPAN_FACTS = Facts("Span corruption", ("text",), (), ("accuracy",), "accuracy", {})

TEXT_TO_TEXT: dict[WrittenName, Written] = {
    "cola": _glue("cola", {"sentence:": "sentence"}, ("matthews",), "validation-halved"),
    "sst2": _glue("sst2", {"sentence:": "sentence"}, ("accuracy",), "set-aside"),
    "mrpc": _glue("mrpc", PAIR, ("accuracy", "f1"), "validation-halved"),
    "qqp": _glue(
        "qqp", {"question1:": "question1", "question2:": "question2"}, ("accuracy", "f1"),
        "set-aside",
    ),
    "stsb": _glue("stsb", PAIR, ("pearson", "spearman"), "validation-halved"),
    "mnli": _glue(
        "mnli", {"premise:": "premise", "hypothesis:": "hypothesis"}, ("accuracy",), "own"
    ),
    "qnli": _glue(
        "qnli", {"question:": "question", "sentence:": "sentence"}, ("accuracy",), "set-aside"
    ),
    "rte": _glue("rte", PAIR, ("accuracy",), "validation-halved"),
    "scitail": Written(
        Facts(
            "SciTail", ("premise", "hypothesis"), ("entails", "neutral"), ("accuracy",),
            "accuracy", {"train": 23_596, "validation": 1_304, "test": 2_126}, placed=True,
        ),
        (("sentence1:", "premise"), ("sentence2:", "hypothesis")),
        ("accuracy",), "own", ("validation", "test"), "mnli", "scitail",
        ("allenai/scitail", "tsv_format"),
    ),
    "cb": Written(
        Facts(
            "CB", ("premise", "hypothesis"), ("entailment", "contradiction", "neutral"),
            ("accuracy",), "accuracy", {"train": 250, "validation": 56, "test": 250}, placed=True,
        ),
        (("premise:", "premise"), ("hypothesis:", "hypothesis")),
        ("accuracy",), "validation-halved", ("validation",), "mnli", "super_glue_cb",
        ("aps/super_glue", "cb"),
    ),
    "imdb": Written(
        Facts(
            "IMDB", ("text",), ("negative", "positive"), ("accuracy",), "accuracy",
            {"train": 25_000, "test": 25_000}, placed=True,
        ),
        (("", "text"),), ("accuracy",), "validation-halved", ("test",), "sst2", "imdb",
        ("stanfordnlp/imdb", "plain_text"),
    ),
    "yelp-polarity": Written(
        Facts(
            "Yelp polarity", ("text",), ("negative", "positive"), ("accuracy",), "accuracy",
            {"train": 560_000, "test": 38_000}, placed=True,
        ),
        (("sentence:", "text"),), ("accuracy",), "set-aside", ("test",), "sst2", "yelp_polarity",
        ("fancyzhx/yelp_polarity", "plain_text"),
    ),
    "span-corruption": Written(
        SPAN_FACTS, (("", "text"),), ("accuracy",), "own", ("validation", "test")
    ),
}  # fmt: skip

MIXTURE: tuple[WrittenName, ...] = tuple(name for name in TEXT_TO_TEXT if name in GLUE)
"""The eight tasks of GLUE that are trained on together."""
FEW_SHOT: tuple[WrittenName, ...] = ("scitail", "cb", "imdb", "yelp-polarity")


def probabilities(rows: tuple[int, ...], temperature: float) -> tuple[float, ...]:
    """How often each task of a mixture is drawn: (rows / all rows)^(1 / temperature), to sum 1.

    Near temperature 0 that is the largest task alone, or the largest ones alike.
    """
    weights = [(count / sum(rows)) ** (1 / temperature) for count in rows]
    if not any(weights):  # too small to be told from 0
        weights = [(count / max(rows)) ** (1 / temperature) for count in rows]
    return tuple(weight / math.fsum(weights) for weight in weights)
