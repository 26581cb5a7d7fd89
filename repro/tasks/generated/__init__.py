"""Rows made from a seed, in the schema of every task: the data of the smoke scale.

Small sets that a frozen encoder with adapters, or a tiny T5, learns in some tens of steps; the same
on every machine. A revision names the seed and the sizes: "seed=0,train=300,validation=120".
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeVar

from repro.errors import ReproError
from repro.spec.facts import SENTENCES, Facts
from repro.spec.glue import GLUE
from repro.spec.tagging import TAGS
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.generated.questions import questions
from repro.tasks.generated.texts import (
    GLUE_MAKERS,
    T5_MAKERS,
    WORDINGS,
    WORDS,
    Made,
    glue_world,
    own,
    t5_world,
)

FORM = re.compile(r"seed=(\d+),train=(\d+),validation=(\d+)", re.ASCII)
WRITTEN = "text-to-text/"
"""Stands before the name of a task of text to text, which has rows of its own."""
FACTS: dict[str, Facts] = SENTENCES | {
    f"{WRITTEN}{name}": written.facts for name, written in TEXT_TO_TEXT.items()
}
SCORED: dict[str, tuple[str, ...]] = {
    **{name: facts.evaluation for name, facts in SENTENCES.items()},
    "squad1": ("validation",),
    "squad2": ("validation",),
    "conll2003": ("validation", "test"),
    **{f"{WRITTEN}{name}": written.scored for name, written in TEXT_TO_TEXT.items()},
}
"""Every generated set -> its scored splits."""
REPEATS = 10_000
"""Rows in a row that were there already, after which no more are looked for."""


def generate(name: str, revision: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of "train" and of every scored split, as the published set has them.

    Args:
        name: A task of one or two texts, "squad1" or "squad2" (the same rows), "conll2003", or
            "text-to-text/" and a task of text to text.
        revision: The seed and the rows of "train" and of every scored split, such as
            "seed=0,train=300,validation=120".

    Returns:
        Split -> rows: the texts, the label and `idx`; or those of SQuAD; or `tokens`, `ner_tags`.

    Raises:
        ReproError: The revision is of another form, or asks for more rows than there are.
    """
    seed, train, held = sizes(name, revision)
    counts = {"train": train} | dict.fromkeys(SCORED[name], held)
    if name in ("squad1", "squad2"):
        return {
            split: questions(random.Random(f"{seed}/{split}"), split, rows)
            for split, rows in counts.items()
        }
    if name == "conll2003":
        return {split: _tagged(seed, split, rows) for split, rows in counts.items()}
    if name in ("sick-e", "sick-r"):
        made = _sick(name, revision, seed, counts)
    elif name in GLUE:
        made = {split: _glue(name, seed, split, rows) for split, rows in counts.items()}
    elif name in SENTENCES:
        made = _classes(name, revision, seed, counts)
    else:
        made = _written(name, revision, seed, counts)
    facts = FACTS[name]
    return {
        split: [
            {**dict(zip(facts.texts, texts, strict=True)), facts.label: label, "idx": idx}
            for idx, (texts, label) in rows
        ]
        for split, rows in made.items()
    }


def default_revision(name: str) -> str:
    """The revision that stands for a set at smoke scale."""
    train, held = 240, 60
    if name in GLUE:
        train, held = 300, 120
    elif name in ("squad1", "squad2"):
        train, held = 1200, 200
    elif name.startswith(WRITTEN):
        train, held = 400, 120
    return f"seed=0,train={train},validation={held}"


def sizes(name: str, revision: str) -> tuple[int, int, int]:
    """The seed that a revision names, its training rows, and the rows of every scored split.

    Raises ReproError for a revision of another form.
    """
    found = FORM.fullmatch(revision)
    if found is None:
        raise ReproError(
            f"'{revision}' is no generated set; write it like {default_revision(name)} (numbers "
            "only)."
        )
    seed, train, held = (int(number) for number in found.groups())
    return seed, train, held


Numbered = tuple[int, Made]
Item = TypeVar("Item")


def _glue(name: str, seed: int, split: str, rows: int) -> list[Numbered]:
    world = glue_world(name, seed, split)
    return [(idx, GLUE_MAKERS[name](world)) for idx in range(rows)]


def _sick(name: str, revision: str, seed: int, counts: dict[str, int]) -> dict[str, list[Numbered]]:
    """GLUE's MNLI for entailment, its STS-B for relatedness, moved to 1..5."""
    like, split = ("mnli", "validation_matched") if name == "sick-e" else ("stsb", "validation")
    held = counts["validation"]
    scored = _glue(like, seed, split, 4 * held)
    validated = {texts for _, (texts, _) in scored[:held]}
    others = [row for row in scored[held:] if row[1][0] not in validated]
    if len(others) < held:
        raise _too_many(name, revision, len(others))
    train = _glue(like, seed, "train", counts["train"])
    found = {"train": train, "validation": scored[:held], "test": others[:held]}
    if name == "sick-e":
        return found
    least, most = FACTS[name].bounds
    ratio = (most - least) / FACTS[like].bounds[1]
    return {
        split: [(idx, (texts, least + ratio * score)) for idx, (texts, score) in rows]
        for split, rows in found.items()
    }


def _classes(
    name: str, revision: str, seed: int, counts: dict[str, int]
) -> dict[str, list[Numbered]]:
    """Sentences of a class, told by an activity and an occasion among words that say nothing."""
    draw, classes = random.Random(f"{seed}/{name}"), len(FACTS[name].labels)
    activities, occasions = WORDS["activity"], WORDS["occasion"]

    def make(number: int) -> Made:
        label = number % classes  # every class is there, however few rows there are
        first, second = divmod(label * 5, len(occasions))  # neighbours differ in both words
        text = draw.choice(WORDINGS["class"]).format(
            activity=activities[(first + second) % len(activities)],
            occasion=occasions[second],
            who=draw.choice(WORDS["who"]),
            when=draw.choice(WORDS["when"]),
        )
        return (text,), label

    rows = list(enumerate(_different(name, revision, sum(counts.values()), make)))
    draw.shuffle(rows)
    return _cut(rows, counts)


def _written(
    name: str, revision: str, seed: int, counts: dict[str, int]
) -> dict[str, list[Numbered]]:
    task = name.removeprefix(WRITTEN)
    world, make = t5_world(task, seed), T5_MAKERS[task]
    rows = _different(name, revision, sum(counts.values()), lambda _: make(world))
    return {split: list(enumerate(of)) for split, of in _cut(rows, counts).items()}


def _different(name: str, revision: str, rows: int, make: Callable[[int], Made]) -> list[Made]:
    """So many rows, no two of them with the same texts."""
    made: dict[tuple[str, ...], int | float] = {}
    repeated = 0
    while len(made) < rows:
        texts, label = make(len(made))
        repeated = repeated + 1 if texts in made else 0
        if repeated == REPEATS:
            raise _too_many(name, revision, len(made))
        made.setdefault(texts, label)
    return list(made.items())


def _cut(rows: Iterable[Item], counts: dict[str, int]) -> dict[str, list[Item]]:
    rest = iter(rows)
    return {split: list(islice(rest, count)) for split, count in counts.items()}


def _tagged(seed: int, split: str, rows: int) -> list[dict[str, Any]]:
    """Sentences with entities; a quarter of the names stands in validation and test rows only."""
    draw = random.Random(f"{seed}/conll2003/{split}")
    found = []
    for _ in range(rows):
        tokens: list[str] = []
        tags: list[int] = []
        for part in draw.choice(WORDINGS["tagged"]).split():
            kind = part.strip("{}")
            if kind == part:
                named, tag = [part], ["O"]
            else:
                names = own(kind, split) if split == "train" else WORDS[kind]
                named = draw.choice(names).split()
                tag = [f"B-{kind}", *[f"I-{kind}"] * (len(named) - 1)]
            tokens += named
            tags += map(TAGS.index, tag)
        found.append({"tokens": tokens, "ner_tags": tags})
    return found


def _too_many(name: str, revision: str, most: int) -> ReproError:
    return ReproError(
        f"The generator has no {revision} of {name}: it makes at most {most:,} different rows. "
        f"Ask for fewer, like {default_revision(name)}."
    )
