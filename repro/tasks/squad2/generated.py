"""Questions made from a seed, in SQuAD 2.0's schema: the data of the smoke scale.

A passage tells a few facts of one person. A question asks for one fact. Every kind of value (an
instrument, a year, a town, ...) has two relations ("plays", "repaired"), and an unanswerable
question asks for a relation that the passage does not tell, often one whose sibling, with a value
of the same kind, it does tell. So neither the position nor the kind of a phrase gives the answer
away: a model has to match the relation. Names of people and towns differ between training and
validation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from repro.tasks.draws import generated_sizes, own
from repro.tasks.squad2.questions import Question

DEFAULT_REVISION = "seed=0,train=1200,validation=200"

VALUES: dict[str, str] = {
    "instrument": "violin piano drum flute organ guitar trumpet harp cello banjo clarinet",
    "animal": "dog cat horse cow goat pig duck goose rabbit parrot donkey sheep",
    "colour": "red blue green white black yellow brown grey pink orange purple silver",
    "job": "baker barber carpenter doctor farmer gardener judge lawyer miller nurse painter tailor",
    "flower": "roses tulips lilies daisies violets orchids poppies irises sunflowers lavender",
    "year": "",
    "town": "",
    "person": "",
}

# relation -> (sentence, questions); {p} the person, {v} the value
RELATIONS: dict[str, tuple[tuple[str, str, str, str], tuple[str, str, str, str]]] = {
    "instrument": (
        (
            "{p} plays the {v}",
            "What instrument does {p} play?",
            "Which instrument is played by {p}?",
            "What does {p} play?",
        ),
        (
            "{p} repaired a {v}",
            "What instrument did {p} repair?",
            "Which instrument was repaired by {p}?",
            "What did {p} repair?",
        ),
    ),
    "animal": (
        (
            "{p} keeps a {v}",
            "What animal does {p} keep?",
            "Which animal is kept by {p}?",
            "What pet does {p} keep?",
        ),
        (
            "{p} is afraid of every {v}",
            "What animal is {p} afraid of?",
            "Which animal frightens {p}?",
            "What animal does {p} fear?",
        ),
    ),
    "colour": (
        (
            "the house of {p} is {v}",
            "What colour is the house of {p}?",
            "What is the colour of the house?",
            "Which colour does the house have?",
        ),
        (
            "{p} wears a {v} coat",
            "What colour is the coat of {p}?",
            "What is the colour of the coat?",
            "Which colour of coat does {p} wear?",
        ),
    ),
    "job": (
        (
            "{p} works as a {v}",
            "What job does {p} have?",
            "What does {p} work as?",
            "What is the profession of {p}?",
        ),
        (
            "the father of {p} was a {v}",
            "What was the job of the father of {p}?",
            "What did the father work as?",
            "What profession did the father have?",
        ),
    ),
    "flower": (
        (
            "{p} grows {v} in the garden",
            "What flowers does {p} grow?",
            "Which flowers grow in the garden?",
            "What flowers are in the garden of {p}?",
        ),
        (
            "{p} painted a picture of {v}",
            "What flowers did {p} paint?",
            "Which flowers are in the picture?",
            "What flowers does the picture show?",
        ),
    ),
    "year": (
        (
            "{p} was born in {v}",
            "When was {p} born?",
            "In what year was {p} born?",
            "What is the year of birth of {p}?",
        ),
        (
            "{p} moved away in {v}",
            "When did {p} move away?",
            "In what year did {p} move away?",
            "Which year did {p} leave?",
        ),
    ),
    "town": (
        (
            "{p} grew up in {v}",
            "Where did {p} grow up?",
            "In which town did {p} grow up?",
            "Which town is the childhood home of {p}?",
        ),
        (
            "{p} studied in {v}",
            "Where did {p} study?",
            "In which town did {p} study?",
            "Which town was the place of study of {p}?",
        ),
    ),
    "person": (
        (
            "{p} married {v}",
            "Who did {p} marry?",
            "Who is married to {p}?",
            "Who was the wedding partner of {p}?",
        ),
        (
            "{p} was taught by {v}",
            "Who taught {p}?",
            "Who was the teacher of {p}?",
            "By whom was {p} taught?",
        ),
    ),
}

FIRST = "Ada Bruno Clara Dario Elsa Felix Greta Hugo Irene Jonas Karin Leo Mara Nils Olga Paul"
SECOND = (
    "Adler Brandt Carver Dorn Ebner Falk Garner Hoff Irving Jessen "
    "Keller Lund Marsh Norden Orth Penn"
)
TOWN_HEADS = "Ash Birch Crow Deer Elm Fern Glen Hazel Iron King Lake Mill North Oak Pine Rock"
TOWN_TAILS = "ford ton bury field wood bridge haven mouth"
FACTS = 3
BOTH_RELATIONS = 0.25
"""How often one of the facts is the sibling of another: two values of one kind in a passage."""
SIBLINGS = 0.6
"""How often the first unanswerable question of a passage asks for a told fact's sibling."""


@dataclass(frozen=True, slots=True)
class _Fact:
    kind: str
    relation: int
    value: str


def generate(revision: str) -> dict[str, list[Question]]:
    """The splits "train" and "validation" of a revision such as `DEFAULT_REVISION`.

    The same on every machine. Raises ReproError for a revision of another form.
    """
    seed, train, validation = generated_sizes(revision, DEFAULT_REVISION)
    return {
        "train": _split(seed, "train", train),
        "validation": _split(seed, "validation", validation),
    }


def _split(seed: int, name: str, rows: int) -> list[Question]:
    draw = random.Random(f"{seed}/{name}")
    questions: list[Question] = []
    number = 0
    while len(questions) < rows:
        questions += _passage(draw, name, number)
        number += 1
    return questions[:rows]


def _passage(draw: random.Random, split: str, number: int) -> list[Question]:
    """One passage with two answerable and two unanswerable questions, in random order."""
    person = draw.choice(own(FIRST.split(), split))
    facts = _facts(draw, split, person)
    context = ""
    starts = []
    for fact in facts:
        sentence = RELATIONS[fact.kind][fact.relation][0].format(p=person, v=fact.value)
        context += " " if context else ""
        starts.append(len(context) + sentence.rindex(fact.value))
        context += sentence[0].upper() + sentence[1:] + "."
    told = {(fact.kind, fact.relation): i for i, fact in enumerate(facts)}
    asked = draw.sample(sorted(told), 2) + _untold(draw, set(told))
    draw.shuffle(asked)
    questions = []
    for place, (kind, relation) in enumerate(asked):
        text = draw.choice(RELATIONS[kind][relation][1:]).format(p=person)
        fact_at = told.get((kind, relation))
        answers = () if fact_at is None else (facts[fact_at].value,)
        at = () if fact_at is None else (starts[fact_at],)
        title = f"{split.capitalize()} {number}"
        questions.append(Question(f"{split}-{number}-{place}", title, context, text, answers, at))
    return questions


def _facts(draw: random.Random, split: str, person: str) -> list[_Fact]:
    kinds = draw.sample(sorted(RELATIONS), FACTS)
    relations = [draw.randrange(2) for _ in kinds]
    if draw.random() < BOTH_RELATIONS:
        kinds[-1], relations[-1] = kinds[0], 1 - relations[0]
    facts: list[_Fact] = []
    for kind, relation in zip(kinds, relations, strict=True):
        taken = {fact.value for fact in facts}
        value = _value(draw, split, kind)
        while value in taken or person in value:
            value = _value(draw, split, kind)
        facts.append(_Fact(kind, relation, value))
    draw.shuffle(facts)
    return facts


def _untold(draw: random.Random, told: set[tuple[str, int]]) -> list[tuple[str, int]]:
    """One relation whose sibling is told, and one whose kind the passage does not have."""
    siblings = [(k, 1 - r) for k, r in sorted(told) if (k, 1 - r) not in told]
    kinds = {kind for kind, _ in told}
    absent = [(kind, r) for kind in sorted(RELATIONS) if kind not in kinds for r in (0, 1)]
    first = siblings if draw.random() < SIBLINGS else absent
    asked = [draw.choice(first)]
    return [*asked, draw.choice([pair for pair in absent if pair not in asked])]


def _value(draw: random.Random, split: str, kind: str) -> str:
    if kind == "year":
        return str(draw.randrange(1750, 2000))
    if kind == "town":
        return draw.choice(own(TOWN_HEADS.split(), split)) + draw.choice(TOWN_TAILS.split())
    if kind == "person":
        return _person(draw, split)
    return draw.choice(VALUES[kind].split())


def _person(draw: random.Random, split: str) -> str:
    return f"{draw.choice(own(FIRST.split(), split))} {draw.choice(own(SECOND.split(), split))}"
