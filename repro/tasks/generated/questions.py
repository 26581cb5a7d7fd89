"""Generated questions in SQuAD 2.0's schema.

A passage tells a few facts of one person. A question asks for one fact. Every kind of value (an
instrument, a year, a town, ...) has two relations ("plays", "repaired"), and an unanswerable
question asks for a relation that the passage does not tell, often one whose sibling, with a value
of the same kind, it does tell. So neither the position nor the kind of a phrase gives the answer
away: a model has to match the relation. Names of people and towns differ between training and
validation.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from repro.tasks.generated.texts import RELATIONS, WORDS, own

FACTS = 3
BOTH_RELATIONS = 0.25
"""How often one of the facts is the sibling of another: two values of one kind in a passage."""
SIBLINGS = 0.6
"""How often the first unanswerable question of a passage asks for a told fact's sibling."""
Relation = tuple[str, int]
"""Kind of value, and which of its two relations."""


def questions(draw: random.Random, split: str, rows: int) -> list[dict[str, Any]]:
    """So many questions, four a passage."""
    found: list[dict[str, Any]] = []
    while len(found) < rows:
        found += _passage(draw, split, len(found) // 4)
    return found[:rows]


def _passage(draw: random.Random, split: str, number: int) -> list[dict[str, Any]]:
    """One passage with two answerable and two unanswerable questions, in random order."""
    person = draw.choice(own("first-name", split))
    context, told = "", dict[Relation, tuple[str, int]]()
    for (kind, relation), value in _facts(draw, split, person):
        sentence = RELATIONS[kind][relation][0].format(p=person, v=value)
        context += " " if context else ""
        told[kind, relation] = value, len(context) + sentence.rindex(value)
        context += f"{sentence[0].upper()}{sentence[1:]}."
    asked = draw.sample(sorted(told), 2) + _untold(draw, told)
    draw.shuffle(asked)
    found = []
    for place, (kind, relation) in enumerate(asked):
        question = draw.choice(RELATIONS[kind][relation][1:]).format(p=person)
        answers = [told[kind, relation]] if (kind, relation) in told else []
        found.append(
            {
                "id": f"{split}-{number}-{place}",
                "title": f"{split.capitalize()} {number}",
                "context": context,
                "question": question,
                "answers": {
                    "text": [text for text, _ in answers],
                    "answer_start": [start for _, start in answers],
                },
            }
        )
    return found


def _facts(draw: random.Random, split: str, person: str) -> list[tuple[Relation, str]]:
    kinds = draw.sample(sorted(RELATIONS), FACTS)
    relations = [draw.randrange(2) for _ in kinds]
    if draw.random() < BOTH_RELATIONS:
        kinds[-1], relations[-1] = kinds[0], 1 - relations[0]
    values: list[str] = []
    for kind in kinds:
        value = _value(draw, split, kind)
        while value in values or person in value:
            value = _value(draw, split, kind)
        values.append(value)
    facts = list(zip(zip(kinds, relations, strict=True), values, strict=True))
    draw.shuffle(facts)
    return facts


def _untold(draw: random.Random, told: Collection[Relation]) -> list[Relation]:
    """One relation whose sibling is told, and one whose kind the passage does not have."""
    siblings = [(kind, 1 - r) for kind, r in sorted(told) if (kind, 1 - r) not in told]
    kinds = {kind for kind, _ in told}
    absent = [(kind, r) for kind in sorted(RELATIONS) if kind not in kinds for r in (0, 1)]
    asked = draw.choice(siblings if draw.random() < SIBLINGS else absent)
    return [asked, draw.choice([pair for pair in absent if pair != asked])]


def _value(draw: random.Random, split: str, kind: str) -> str:
    if kind == "year":
        return str(draw.randrange(1750, 2000))
    if kind == "town":
        return draw.choice(own("town-head", split)) + draw.choice(WORDS["town-tail"])
    if kind == "person":
        return " ".join(draw.choice(own(part, split)) for part in ("first-name", "last-name"))
    return draw.choice(WORDS[kind])
