"""Rows made from a seed, in the schema of every task of text to text: the data of the smoke scale.

Small sets of short texts that a tiny T5 with adapters learns, once it has been pre-trained on
`corpus`: unlike GLUE's generated rows they share their words between splits. Most tell a fact (who
did what with which thing, and where) and ask whether a second text tells the same. The few-shot
sets are like the task of GLUE that they start from, in other wordings.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from repro.errors import ReproError
from repro.spec.glue import GLUE
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.draws import generated_sizes
from repro.tasks.glue.generated import OPINIONS
from repro.tasks.sentences.rows import Row
from repro.tasks.text_to_text.formats import NAMES, answer_texts, input_text
from repro.tasks.text_to_text.words import (
    BLAME,
    DETAILS,
    FILMS,
    OPEN,
    OPPOSED,
    PEOPLE,
    PLACES,
    PRAISE,
    SAME,
    THINGS,
    VERBS,
    Fact,
    World,
)

DEFAULT_REVISION = "seed=0,train=400,validation=120"
"""Seed, training rows, rows of every scored split."""
REPEATS = 1_000
"""Rows in a row that were there already, after which no more are looked for."""
REVIEWS = (
    "i saw this {f} with a friend and the {g} was {a} , {b} and {c} .",
    "this {f} was {a} and {b} , and i found the {g} {c} .",
    "the {f} was {a} , the {g} {b} , and not {x} .",
)
VISITS = (
    "the {s} was {a} and the {p} was {b} .",
    "we found the {s} {a} , the {t} {b} and the {p} {c} .",
    "the {p} was {a} , not {x} , and the {s} was {b} .",
)
QUESTIONS = ("how can i", "what is the best way to", "which is the easiest way to")
CLAIMS = ("thinks that", "said that", "knows that")
NUMBERS = ("the {} paid {} for the {} .", "the {} asked {} for the {} .")
AMOUNTS = ("0", "1", "2", *(f"{tenth / 10:.1f}" for tenth in range(51)))
VERDICTS: dict[WrittenName, tuple[str, str]] = {
    "sst2": ("bad", "good"),
    "mrpc": ("new", "same"),
    "cola": ("wrong", "right"),
}
"""Task -> what is said of its texts, by label, in the texts for span corruption."""
NUMBER, INPUT = "number", "input"
KINDS = ("sst2", "sst2", "mrpc", "mrpc", "cola", NUMBER, INPUT, INPUT)
"""What texts for span corruption are, each as often."""
SLOTS = ["person", "verb", "thing", "place"]
MOST = ["person", "verb", "thing"]
Made = tuple[tuple[str, ...], int | float]


def generate(name: WrittenName, revision: str) -> dict[str, list[Row]]:
    """The rows of "train" and of every scored split of a revision such as `DEFAULT_REVISION`.

    The same on every machine, and no row stands twice. Raises ReproError for a revision of another
    form, or for more rows than there are.
    """
    seed, train, scored = generated_sizes(revision, DEFAULT_REVISION)
    counts = {"train": train} | dict.fromkeys(TEXT_TO_TEXT[name].scored, scored)
    rows = _different(name, seed, sum(counts.values()), revision)
    found, begin = {}, 0
    for split, count in counts.items():
        texts = rows[begin : begin + count]
        found[split] = [Row(idx, *made) for idx, made in enumerate(texts)]
        begin += count
    return found


def corpus(seed: int, rows: int) -> list[str]:
    """So many different texts for span corruption: inputs of all tasks, numbers, and opinions,
    pairs of facts and sentences with a word on whether they are good, the same or right.
    """
    revision = f"seed={seed},train={rows},validation=0"
    return [texts[0] for texts, _ in _different("span-corruption", seed, rows, revision)]


def vocabulary_text() -> list[str]:
    """Lines that hold every word of the rows, inputs, answers and texts of any seed."""
    wordings = (*OPINIONS, *REVIEWS, *VISITS, *NUMBERS)
    frames = (
        "was by never did where who a ? . this is said",
        *(re.sub(r"\{\w*\}", " ", wording) for wording in wordings),
        *QUESTIONS, *CLAIMS, *PLACES, *DETAILS,
        *(" ".join(verdicts) for verdicts in VERDICTS.values()),
    )  # fmt: skip
    kinds = (PEOPLE, THINGS, PRAISE, BLAME, FILMS, SAME, OPEN, OPPOSED)
    marks = {before for written in TEXT_TO_TEXT.values() for before, _ in written.texts}
    answers = {text for name in TEXT_TO_TEXT for text in answer_texts(name, "0.1")}
    return [
        *(" ".join(frame.split()) for frame in frames),
        *(" ".join(kind) for kind in kinds),
        *(" ".join(forms) for forms in VERBS),
        " ".join((*sorted(marks - {""}), "hypothesis", *NAMES.values())),
        " ".join(sorted({*answers, *AMOUNTS})),
    ]


def _different(name: WrittenName, seed: int, rows: int, revision: str) -> list[Made]:
    """So many rows, no two of them with the same texts."""
    world, make = World(random.Random(f"text-to-text/{seed}/{name}")), MAKERS[name]
    made: dict[tuple[str, ...], int | float] = {}
    repeated = 0
    while len(made) < rows:
        texts, label = make(world)
        repeated = repeated + 1 if texts in made else 0
        if repeated == REPEATS:
            raise ReproError(
                f"The generator has no {revision} of {TEXT_TO_TEXT[name].facts.title}: it makes "
                f"about {len(made):,} different rows. Ask for fewer, like {DEFAULT_REVISION}."
            )
        made.setdefault(texts, label)
    return list(made.items())


def _cola(world: World) -> Made:
    """Unacceptable: a verb's wrong form, or words in a wrong order."""
    fact = world.fact()
    synonym, more = world.draw.random() < 0.5, world.draw.choice(("", world.detail()))
    text = fact.told(synonym=synonym, more=more)
    if world.draw.random() < 0.6:
        return (text,), 1
    past, base = VERBS[fact.verb][2 if synonym else 0], VERBS[fact.verb][3 if synonym else 1]
    if world.draw.random() < 0.5:
        return (text.replace(f" {past} ", f" {base} "),), 0
    words = text.split()[:-1]
    first = words[:2]
    while words[:2] == first or words[0] == "the":
        world.draw.shuffle(words)
    return (f"{' '.join(words)} .",), 0


def _sst2(world: World) -> Made:
    label = world.draw.randrange(2)
    return (world.opinion(OPINIONS, label),), label


def _mrpc(world: World) -> Made:
    fact, label = world.fact(), int(world.draw.random() < 0.6)
    second = fact if label else world.changed(fact, MOST)
    marks = SAME if label else OPPOSED
    return (fact.told(), world.marked(marks, second.reworded(world.draw))), label


def _qqp(world: World) -> Made:
    fact, label = world.fact(), int(world.draw.random() < 0.4)
    second = fact if label else world.changed(fact, ["verb", "thing"])
    first, other = world.draw.sample(QUESTIONS, 2)
    asked = f"{other} {world.draw.choice(VERBS[second.verb][1::2])} a {second.thing} ?"
    marks = SAME if label else OPPOSED
    return (
        f"{first} {VERBS[fact.verb][1]} a {fact.thing} {fact.place} ?",
        world.marked(marks, asked),
    ), label


def _stsb(world: World) -> Made:
    fact, differences = world.fact(), world.draw.randrange(len(SLOTS) + 1)
    second = world.changed(fact, world.draw.sample(SLOTS, differences))
    marks = SAME if differences == 0 else OPPOSED if differences == len(SLOTS) else OPEN
    score = GLUE["stsb"].bounds[1] * (1 - differences / len(SLOTS))
    return (fact.told(), world.marked(marks, second.reworded(world.draw))), score


def _mnli(world: World) -> Made:
    """Entailed: less; neutral: a detail more; contradicted: denied."""
    fact, label = world.fact(), world.draw.randrange(3)
    return (fact.told(), world.marked(MARKS[label], _hypothesis(world, fact, label))), label


def _qnli(world: World) -> Made:
    fact, label = world.fact(), world.draw.randrange(2)
    told = world.changed(fact, ["verb", "thing"]) if label else fact
    past, base = VERBS[fact.verb][:2]
    question = world.draw.choice(
        (f"where did the {fact.person} {base} the {fact.thing} ?", f"who {past} the {fact.thing} ?")
    )
    marks = OPEN if label else SAME
    return (question, world.marked(marks, told.reworded(world.draw))), label


def _rte(world: World) -> Made:
    fact, label = world.fact(), world.draw.randrange(2)
    second = world.changed(fact, MOST) if label else fact
    marks = OPEN if label else SAME
    return (
        fact.told(more=world.detail()),
        world.marked(marks, second.told(place=False, synonym=world.draw.random() < 0.5)),
    ), label


def _scitail(world: World) -> Made:
    fact, label = world.fact(), world.draw.randrange(2)
    second = world.changed(fact, MOST) if label else fact
    premise = f"{world.detail()} , {fact.told()}"
    return (premise, world.marked(MARKS[label], second.told(place=False))), label


def _cb(world: World) -> Made:
    fact, label = world.fact(), world.draw.randrange(3)
    speaker, claim = world.draw.choice(PEOPLE), world.draw.choice(CLAIMS)
    kind = (0, 2, 1)[label]  # CB's labels stand in another order than MNLI's
    second = world.marked(MARKS[kind], _hypothesis(world, fact, kind))
    return (f"the {speaker} {claim} {fact.told()}", second), label


def _imdb(world: World) -> Made:
    label = world.draw.randrange(2)
    return (world.opinion(REVIEWS, label),), label


def _yelp(world: World) -> Made:
    label = world.draw.randrange(2)
    return (world.opinion(VISITS, label),), label


def _span(world: World) -> Made:
    """Inputs of all tasks, numbers, and texts of three tasks with what someone says of them: the
    first answers that a model learns are words of these texts, never those of a task.
    """
    kind = world.draw.choice(KINDS)
    if kind == NUMBER:
        fact, amount = world.fact(), world.draw.choice(AMOUNTS)
        paid = world.draw.choice(NUMBERS).format(fact.person, amount, fact.thing)
        return (f"{paid} {fact.told()}",), 0
    if kind == INPUT:
        name = world.draw.choice([name for name in MAKERS if name != "span-corruption"])
        return (input_text(name, MAKERS[name](world)[0]),), 0
    judged: WrittenName = kind  # type: ignore[assignment]
    texts, label = MAKERS[judged](world)
    verdict = VERDICTS[judged][int(label)]
    return (f"{' '.join(texts)} this is {verdict} , said the {world.draw.choice(PEOPLE)} .",), 0


def _hypothesis(world: World, fact: Fact, kind: int) -> str:
    """Of a fact that was told: less of it (0), more (1), or the contrary (2)."""
    if kind == 0:
        return fact.told(place=False, synonym=world.draw.random() < 0.5)
    if kind == 1:
        return fact.told(place=False, more=world.detail())
    past = VERBS[fact.verb][0]
    return fact.told(place=False).replace(f" {past} ", f" never {past} ")


MARKS = (SAME, OPEN, OPPOSED)
"""Entailed, neutral, contradicted."""
MAKERS: dict[WrittenName, Callable[[World], Made]] = {
    "cola": _cola,
    "sst2": _sst2,
    "mrpc": _mrpc,
    "qqp": _qqp,
    "stsb": _stsb,
    "mnli": _mnli,
    "qnli": _qnli,
    "rte": _rte,
    "scitail": _scitail,
    "cb": _cb,
    "imdb": _imdb,
    "yelp-polarity": _yelp,
    "span-corruption": _span,
}
