"""Rows made from a seed, in the schema of every GLUE task: the data of the smoke scale.

Small sets that a frozen encoder with adapters learns in some tens of steps. Most tell a fact (who
did what with which thing, and where) in one of several wordings, and ask whether a second text
tells the same. People, things and the words that a task is about differ between training and
validation; MNLI's mismatched rows have a genre of things of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName
from repro.tasks.draws import generated_sizes, own
from repro.tasks.sentences.rows import Row

DEFAULT_REVISION = "seed=0,train=300,validation=120"

PEOPLE = (
    "nurse farmer painter miller teacher judge sailor baker tailor lawyer gardener singer "
    "butcher doctor porter hunter"
)
HOME = (
    "chair lamp kettle basket mirror table blanket candle clock bucket carpet piano "
    "cupboard teapot broom drum"
)
SEA = "anchor sail compass oar rope canoe telescope lantern raft fishing-net rudder barrel"
PLACES = (
    "in the kitchen",
    "near the river",
    "behind the church",
    "at the market",
    "in the garden",
    "on the bridge",
    "in the cellar",
    "beside the road",
)
# (past, to ...) and a synonym; every past form is the participle too
VERBS = (
    ("bought", "buy", "purchased", "purchase"),
    ("repaired", "repair", "fixed", "fix"),
    ("cleaned", "clean", "washed", "wash"),
    ("carried", "carry", "transported", "transport"),
    ("found", "find", "discovered", "discover"),
    ("built", "build", "constructed", "construct"),
    ("inspected", "inspect", "examined", "examine"),
    ("packed", "pack", "wrapped", "wrap"),
    ("stored", "store", "kept", "keep"),
    ("moved", "move", "shifted", "shift"),
)
THING_LIKE = "heavy cheap empty broken fragile wooden rusty costly"
PERSON_LIKE = "tired hungry angry bored proud jealous lonely curious"
DETAILS = (
    "for a friend",
    "for the third time",
    "to earn some money",
    "without any help",
    "before breakfast",
    "out of boredom",
    "as a birthday surprise",
    "during a storm",
)
PRAISE = (
    "wonderful brilliant charming delightful moving funny superb gripping beautiful clever "
    "pleasant fresh touching perfect lovely splendid"
)
BLAME = (
    "terrible boring clumsy lousy dull stupid tiresome tedious hideous pointless "
    "lifeless stale shallow dreadful messy horrible"
)
FILMS = "film story plot acting dialogue music ending comedy drama script cast camera work"
OPINIONS = (
    "the {f} is {a} and {b} .",
    "the {f} is not {x} and the {g} never {y} .",
    "a {a} {f} with a {b} {g} .",
    "what a {a} , {b} {f} !",
    "i found the {f} {a} and the {g} {b} .",
    "{a} from the first minute , with {b} {f} .",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Someone did something with a thing somewhere. `verb` is a position in `VERBS`."""

    person: str
    verb: int
    thing: str
    place: str

    def active(self, *, place: bool = True) -> str:
        """'The nurse bought the lamp at the market.'"""
        where = f" {self.place}" if place else ""
        return f"The {self.person} {VERBS[self.verb][0]} the {self.thing}{where}."

    def reworded(self, draw: random.Random) -> str:
        """The same fact with a synonym, in the passive or in another order."""
        other = VERBS[self.verb][2]
        active = f"the {self.person} {other} the {self.thing}"
        forms = (
            f"T{active[1:]} {self.place}.",
            f"{self.place[0].upper()}{self.place[1:]}, {active}.",
            f"The {self.thing} was {other} by the {self.person} {self.place}.",
        )
        return draw.choice(forms)


@dataclass(frozen=True, slots=True)
class _World:
    """The words of one split and its random numbers."""

    draw: random.Random
    people: list[str]
    things: list[str]
    split: str

    def fact(self) -> Fact:
        return Fact(
            self.draw.choice(self.people),
            self.draw.randrange(len(VERBS)),
            self.draw.choice(self.things),
            self.draw.choice(PLACES),
        )

    def changed(self, fact: Fact, slots: list[str]) -> Fact:
        """The fact with another value in every one of the slots."""
        new = self.fact()
        while any(getattr(new, slot) == getattr(fact, slot) for slot in slots):
            new = self.fact()
        return replace(fact, **{slot: getattr(new, slot) for slot in slots})


SLOTS = ["person", "verb", "thing", "place"]
ASKED_ABOUT = (["verb"], ["thing"], ["verb", "thing"])
Made = tuple[tuple[str, ...], int | float]


def generate(name: GlueName, revision: str) -> dict[str, list[Row]]:
    """The rows of "train" and of every scored split of a revision such as `DEFAULT_REVISION`.

    The same on every machine; MNLI's validation splits have as many rows each. Raises ReproError
    for a revision of another form.
    """
    seed, train, validation = generated_sizes(revision, DEFAULT_REVISION)
    counts = {"train": train} | dict.fromkeys(GLUE[name].evaluation, validation)
    return {split: _split(name, seed, split, rows) for split, rows in counts.items()}


def _split(name: GlueName, seed: int, split: str, rows: int) -> list[Row]:
    part = "train" if split == "train" else "validation"
    things = SEA.split() if split == "validation_mismatched" else own(HOME.split(), part)
    world = _World(random.Random(f"{seed}/{name}/{split}"), own(PEOPLE.split(), part), things, part)
    return [Row(idx, *MAKERS[name](world)) for idx in range(rows)]


def _cola(world: _World) -> Made:
    sentence = world.fact().active()
    if world.draw.random() < 0.6:
        return (sentence,), 1
    words = sentence[0].lower() + sentence[1:-1]
    shuffled = words.split()
    while _may_be_grammatical(shuffled):
        shuffled = words.split()
        if world.draw.random() < 0.5:
            world.draw.shuffle(shuffled)
        else:
            place = world.draw.randrange(len(shuffled) - 1)
            shuffled[place : place + 2] = shuffled[place + 1], shuffled[place]
    text = " ".join(shuffled)
    return (f"{text[0].upper()}{text[1:]}.",), 0


def _may_be_grammatical(words: list[str]) -> bool:
    """Whether a noun stands after every 'the'."""
    nouns = {*f"{PEOPLE} {HOME}".split(), *(place.split()[-1] for place in PLACES)}
    after = zip(words, [*words[1:], ""], strict=True)
    return all(second in nouns for first, second in after if first == "the")


def _sst2(world: _World) -> Made:
    label = world.draw.randrange(2)
    said, denied = (PRAISE, BLAME) if label else (BLAME, PRAISE)
    a, b = world.draw.sample(own(said.split(), world.split), 2)
    x, y = world.draw.sample(own(denied.split(), world.split), 2)
    f, g = world.draw.sample(FILMS.split(), 2)
    return (world.draw.choice(OPINIONS).format(a=a, b=b, x=x, y=y, f=f, g=g),), label


def _mrpc(world: _World) -> Made:
    fact, label = world.fact(), int(world.draw.random() < 0.6)
    second = fact if label else world.changed(fact, world.draw.sample(SLOTS, 2))
    return (fact.active(), second.reworded(world.draw)), label


def _stsb(world: _World) -> Made:
    fact, differences = world.fact(), world.draw.randrange(len(SLOTS) + 1)
    second = world.changed(fact, world.draw.sample(SLOTS, differences))
    score = GLUE["stsb"].bounds[1] * (1 - differences / len(SLOTS))
    return (fact.active(), second.reworded(world.draw)), score


def _qqp(world: _World) -> Made:
    fact, label = world.fact(), int(world.draw.random() < 0.4)
    second = fact if label else world.changed(fact, world.draw.choice(ASKED_ABOUT))
    first = f"How can I {VERBS[fact.verb][1]} a {fact.thing} {fact.place}?"
    asked = world.draw.choice(("What is the best way to", "Which is the easiest way to"))
    return (first, f"{asked} {VERBS[second.verb][3]} a {second.thing}?"), label


def _mnli(world: _World) -> Made:
    """Entailed: less detail; neutral: more; contradicted: denied. Words alone do not tell."""
    fact, detail = world.fact(), world.draw.choice(own(DETAILS, world.split))
    past = VERBS[fact.verb][0]
    denied, told = world.draw.random() < 0.25, world.draw.random() < 0.25
    told_detail = f" {detail}" if told else ""
    start = f"The {fact.person} {'never ' if denied else ''}{past} the {fact.thing}"
    premise = f"{start} {fact.place}{told_detail}."
    label = world.draw.randrange(3)
    if label == 2:
        opposite = f"The {fact.person} {'' if denied else 'never '}{past} the {fact.thing}"
        return (premise, f"{opposite} {fact.place}."), 2
    if label == 0:
        return (premise, f"{start} {fact.place}."), 0
    others = [other for other in own(DETAILS, world.split) if other != detail]
    return (premise, f"{start} {world.draw.choice(others)}."), 1


def _qnli(world: _World) -> Made:
    fact, label = world.fact(), world.draw.randrange(2)
    told = world.changed(fact, ["verb", "thing"]) if label else fact
    person, base = fact.person, VERBS[fact.verb][1]
    question = world.draw.choice(
        (
            f"Where did the {person} {base} the {fact.thing}?",
            f"Who {VERBS[fact.verb][0]} the {fact.thing}?",
        )
    )
    return (question, told.reworded(world.draw)), label


def _rte(world: _World) -> Made:
    fact, label = world.fact(), world.draw.randrange(2)
    second = world.changed(fact, ["person", "verb", "thing"]) if label else fact
    detail = world.draw.choice(own(DETAILS, world.split))
    return (f"{fact.active()[:-1]} {detail}.", second.active(place=False)), label


def _wnli(world: _World) -> Made:
    """Sentence 2 names the one that a pronoun means, or another of its kind."""
    fact, label = world.fact(), world.draw.randrange(2)
    of_thing = world.draw.random() < 0.5
    adjective = world.draw.choice((THING_LIKE if of_thing else PERSON_LIKE).split())
    first = f"{fact.active()[:-1]} because {'it' if of_thing else 'he'} was {adjective}."
    meant = fact if label else world.changed(fact, ["person", "thing"])
    return (first, f"The {meant.thing if of_thing else meant.person} was {adjective}."), label


MAKERS: dict[GlueName, Callable[[_World], Made]] = {
    "cola": _cola,
    "sst2": _sst2,
    "mrpc": _mrpc,
    "stsb": _stsb,
    "qqp": _qqp,
    "mnli": _mnli,
    "qnli": _qnli,
    "rte": _rte,
    "wnli": _wnli,
}
