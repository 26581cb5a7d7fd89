"""Generated rows of GLUE and of the tasks of text to text.

Most tasks tell a fact (who did what with which thing, and where) in one of several wordings, and
ask whether a second text tells the same. In a wording `{...}` is a slot, and `|` stands between
alternatives, one of which is drawn.

GLUE's rows are for encoders: people, things and the words that a task is about differ between
training and validation. Those of text to text are for a tiny T5 that knows nothing else: all splits
and tasks share a few hundred words, in small letters, with blanks around punctuation.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.spec.glue import GLUE
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.text_to_text.formats import NAMES, answer_texts, input_text

_DATA = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORDS: dict[str, list[str]] = {kind: words.split(", ") for kind, words in _DATA["words"].items()}
WORDINGS: dict[str, list[str]] = _DATA["wordings"]
RELATIONS: dict[str, list[list[str]]] = _DATA["relations"]
"""Kind of value -> its two relations: a sentence, then three questions."""
SLOTS = ("person", "verb", "thing", "place")
Fact = dict[str, str]
"""Slot -> words. A verb is four of them: past, infinitive, and those of a synonym."""
Made = tuple[tuple[str, ...], int | float]
"""The texts of a row, and its label."""

FEWER = {
    "person": 12, "thing": 12, "verb": 8, "place": 6, "detail": 6, "claim": 3, "praise": 12,
    "blame": 12, "film": 8,
}  # fmt: skip
"""Kind -> how many of its words text to text has."""
T5_WORDS = {kind: WORDS[kind][:count] for kind, count in FEWER.items()}
T5_WORDS["speaker"] = T5_WORDS["person"]
SAME, OPEN, OPPOSED = "indeed|thus", "perhaps|maybe", "however|instead"
MARKED = 0.75
"""Share of T5's second texts that begin with a word that tells how they stand to the first one.
Real entailment sets have such words too; of the other rows only a comparison of both texts tells.
"""


def own(kind: str, split: str) -> list[str]:
    """Three quarters of the words of a kind for training, the others for every other split."""
    return [word for i, word in enumerate(WORDS[kind]) if (i % 4 == 3) == (split != "train")]


@dataclass(frozen=True, slots=True)
class World:
    """Random numbers, and the words that they draw from."""

    draw: random.Random
    words: Mapping[str, list[str]]

    def word(self, kind: str) -> str:
        """Any word of a kind."""
        return self.draw.choice(self.words[kind])

    def fact(self) -> Fact:
        """Any fact."""
        return {slot: self.word(slot) for slot in SLOTS}

    def changed(self, fact: Fact, *slots: str) -> Fact:
        """The fact with another value in every one of the slots."""
        new = self.fact()
        while any(new[slot] == fact[slot] for slot in slots):
            new = self.fact()
        return fact | {slot: new[slot] for slot in slots}

    def one_of(self, alternatives: str) -> str:
        """Any of the alternatives; no random number is drawn for a single one."""
        found = alternatives.split("|")
        return self.draw.choice(found) if len(found) > 1 else found[0]

    def tell(self, fact: Fact, wording: str) -> str:
        """The fact in words."""
        return self.one_of(wording).format_map(_Slots(self, fact))

    def marked(self, marks: str, text: str) -> str:
        """The text, in most rows behind one of the marks."""
        return f"{self.one_of(marks)} {text}" if self.draw.random() < MARKED else text


class _Slots(dict[str, str]):
    """What fills a wording: a fact's words and forms of its verb; other words are drawn."""

    def __init__(self, world: World, fact: Fact) -> None:
        past, base, synonym, synonym_base = fact["verb"].split()
        forms = {"past": past, "base": base, "synonym": synonym, "synonym_base": synonym_base}
        super().__init__(fact | forms, Place=fact["place"].capitalize())
        self.world = world

    def __missing__(self, kind: str) -> str:
        if kind == "either":
            return self["synonym" if self.world.draw.random() < 0.5 else "past"]
        return self.world.word(kind)


@dataclass(frozen=True, slots=True)
class Pair:
    """A task of two texts: the second one tells the fact of the first, or a changed one."""

    labels: int | float
    """How many, each as often; or the share of label 1."""
    changed: Mapping[int, int | str]
    """Label -> the slots that change, or how many of the four do."""
    first: str
    """Wording of the first text."""
    second: str | tuple[str, ...]
    """Wording of the second text; a tuple has one for each label."""
    marks: tuple[str, ...] = ()
    """Label -> what the second text may begin with."""
    similarity: bool = False
    """The label is how many slots differ, and becomes a score from 5 down to 0."""

    def __call__(self, world: World) -> Made:
        """Draws a row."""
        draw, fact = world.draw, world.fact()
        if isinstance(self.labels, int):
            label = draw.randrange(self.labels)
        else:
            label = int(draw.random() < self.labels)
        told, slots = fact, self.changed.get(label)
        if isinstance(slots, int):
            told = world.changed(fact, *draw.sample(SLOTS, slots))
        elif slots:
            told = world.changed(fact, *world.one_of(slots).split())
        first = world.tell(fact, self.first)
        second = world.tell(
            told, self.second if isinstance(self.second, str) else self.second[label]
        )
        if self.marks:
            second = world.marked(self.marks[label], second)
        if self.similarity:
            return (first, second), GLUE["stsb"].bounds[1] * (1 - label / len(SLOTS))
        return (first, second), label


@dataclass(frozen=True, slots=True)
class Opinion:
    """A task of one text: praise (1) or blame (0)."""

    wordings: str
    slots: str
    """For words of the label, for contrary ones, for films and, of text to text, for things."""

    def __call__(self, world: World) -> Made:
        """Draws a row."""
        label, kinds = world.draw.randrange(2), ["blame", "praise", "film", "thing"]
        if label:
            kinds[:2] = "praise", "blame"
        found: dict[str, str] = {}
        for slots, kind in zip(self.slots.split(), kinds, strict=False):
            found |= zip(slots, world.draw.sample(world.words[kind], len(slots)), strict=True)
        wording = world.draw.choice(WORDINGS[self.wordings])
        if "s" in found:  # rows with things have a person, too
            found["p"] = world.word("person")
        return (wording.format(**found),), label


TOLD = "The {person} {past} the {thing} {place}."
REWORDED = (
    "The {person} {synonym} the {thing} {place}.|"
    "{Place}, the {person} {synonym} the {thing}.|"
    "The {thing} was {synonym} by the {person} {place}."
)
NOUNS = {place.split()[-1] for place in WORDS["place"]}.union(WORDS["person"], WORDS["thing"])


def _cola(world: World) -> Made:
    """Unacceptable: words in an order in which an article has no noun."""
    sentence = world.tell(world.fact(), TOLD)
    if world.draw.random() < 0.6:
        return (sentence,), 1
    words = (sentence[0].lower() + sentence[1:-1]).split()
    shuffled = words
    while all(b in NOUNS for a, b in zip(shuffled, [*shuffled[1:], ""], strict=True) if a == "the"):
        shuffled = words.copy()
        if world.draw.random() < 0.5:
            world.draw.shuffle(shuffled)
        else:
            place = world.draw.randrange(len(shuffled) - 1)
            shuffled[place : place + 2] = shuffled[place + 1], shuffled[place]
    text = " ".join(shuffled)
    return (f"{text[0].upper()}{text[1:]}.",), 0


def _mnli(world: World) -> Made:
    """Entailed: less detail; neutral: more; contradicted: denied. Words alone do not tell."""
    fact, detail = world.fact(), world.word("detail")
    denied, detailed = world.draw.random() < 0.25, world.draw.random() < 0.25
    label = world.draw.randrange(3)
    plain = world.tell(fact, "The {person} {past} the {thing}")
    never = world.tell(fact, "The {person} never {past} the {thing}")
    told, contrary = (never, plain) if denied else (plain, never)
    premise = f"{told} {fact['place']}{f' {detail}' if detailed else ''}."
    if label == 1:
        others = [other for other in world.words["detail"] if other != detail]
        return (premise, f"{told} {world.draw.choice(others)}."), label
    return (premise, f"{contrary if label else told} {fact['place']}."), label


def _wnli(world: World) -> Made:
    """Sentence 2 names the one that a pronoun means, or another of its kind."""
    fact, label = world.fact(), world.draw.randrange(2)
    meant, pronoun = ("thing", "it") if world.draw.random() < 0.5 else ("person", "he")
    adjective = world.word(f"like-{meant}")
    named = (fact if label else world.changed(fact, "person", "thing"))[meant]
    first = f"{world.tell(fact, TOLD)[:-1]} because {pronoun} was {adjective}."
    return (first, f"The {named} was {adjective}."), label


MOST = "person verb thing"
EACH = {number: number for number in range(len(SLOTS) + 1)}
GLUE_MAKERS: dict[str, Callable[[World], Made]] = {
    "cola": _cola,
    "sst2": Opinion("opinion", "ab xy fg"),
    "mrpc": Pair(0.6, {0: 2}, TOLD, REWORDED),
    "stsb": Pair(5, EACH, TOLD, REWORDED, similarity=True),
    "qqp": Pair(
        0.4, {0: "verb|thing|verb thing"},
        "How can I {base} a {thing} {place}?",
        "What is the best way to {synonym_base} a {thing}?|"
        "Which is the easiest way to {synonym_base} a {thing}?",
    ),
    "mnli": _mnli,
    "qnli": Pair(
        2, {1: "verb thing"},
        "Where did the {person} {base} the {thing}?|Who {past} the {thing}?",
        REWORDED,
    ),
    "rte": Pair(
        2, {1: MOST},
        "The {person} {past} the {thing} {place} {detail}.",
        "The {person} {past} the {thing}.",
    ),
    "wnli": _wnli,
}  # fmt: skip


def glue_world(name: str, seed: int, split: str) -> World:
    """The words of a split of GLUE."""
    kinds = ("person", "thing", "detail", "praise", "blame")
    words = WORDS | {kind: own(kind, split) for kind in kinds}
    if split == "validation_mismatched":
        words["thing"] = WORDS["sea"]
    return World(random.Random(f"{seed}/{name}/{split}"), words)


T5_TOLD = "the {person} {past} the {thing} {place} ."
T5_REWORDED = (
    "the {person} {past} the {thing} {place} .|"
    "the {person} {synonym} the {thing} {place} .|"
    "{place} the {person} {synonym} the {thing} .|"
    "the {thing} was {synonym} by the {person} {place} ."
)
LESS = "the {person} {either} the {thing} ."
MORE = "the {person} {past} the {thing} {detail} ."
DENIED = "the {person} never {past} the {thing} ."
HOW = ("how can i", "what is the best way to", "which is the easiest way to")
PAID = "the {person} paid {amount} for the {thing} .|the {person} asked {amount} for the {thing} ."
AMOUNTS = ["0", "1", "2", *(f"{tenth / 10:.1f}" for tenth in range(51))]
JUDGED = "{texts} this is {verdict} , said the {person} ."
VERDICTS = {"sst2": ("bad", "good"), "mrpc": ("new", "same"), "cola": ("wrong", "right")}
"""Task -> what is said of its texts, by label, in the texts for span corruption."""


def _t5_cola(world: World) -> Made:
    """Unacceptable: a verb's wrong form, or words in a wrong order."""
    fact, draw = world.fact(), world.draw
    forms = fact["verb"].split()
    past, base = forms[2:] if draw.random() < 0.5 else forms[:2]
    more = draw.choice(("", f"{world.word('detail')} "))
    text = f"the {fact['person']} {past} the {fact['thing']} {fact['place']} {more}."
    if draw.random() < 0.6:
        return (text,), 1
    if draw.random() < 0.5:
        return (text.replace(f" {past} ", f" {base} "),), 0
    words = text.split()[:-1]
    first = words[:2]
    while words[:2] == first or words[0] == "the":
        draw.shuffle(words)
    return (f"{' '.join(words)} .",), 0


def _t5_qqp(world: World) -> Made:
    fact, label = world.fact(), int(world.draw.random() < 0.4)
    second = fact if label else world.changed(fact, "verb", "thing")
    how, other = world.draw.sample(HOW, 2)
    base = world.draw.choice(second["verb"].split()[1::2])
    asked = world.marked(SAME if label else OPPOSED, f"{other} {base} a {second['thing']} ?")
    return (world.tell(fact, f"{how} {{base}} a {{thing}} {{place}} ?"), asked), label


def _span(world: World) -> Made:
    """Inputs of all tasks, numbers, and texts of three tasks with what someone says of them: the
    first answers that a model learns are words of these texts, never those of a task.
    """
    kind = world.draw.choice(("sst2", "sst2", "mrpc", "mrpc", "cola", "number", "input", "input"))
    if kind == "number":
        fact, amount = world.fact(), world.draw.choice(AMOUNTS)
        paid = world.tell(fact | {"amount": amount}, PAID)
        return (f"{paid} {world.tell(fact, T5_TOLD)}",), 0
    if kind == "input":
        name = world.draw.choice([name for name in TEXT_TO_TEXT if name != "span-corruption"])
        return (input_text(name, T5_MAKERS[name](world)[0]),), 0
    texts, label = T5_MAKERS[kind](world)
    verdict = VERDICTS[kind][int(label)]
    person = world.word("person")
    return (JUDGED.format(texts=" ".join(texts), verdict=verdict, person=person),), 0


T5_MAKERS: dict[str, Callable[[World], Made]] = {
    "cola": _t5_cola,
    "sst2": Opinion("opinion", "abc xy fg st"),
    "mrpc": Pair(0.6, {0: MOST}, T5_TOLD, T5_REWORDED, (OPPOSED, SAME)),
    "qqp": _t5_qqp,
    "stsb": Pair(
        5, EACH, T5_TOLD, T5_REWORDED, (SAME, OPEN, OPEN, OPEN, OPPOSED), similarity=True
    ),
    "mnli": Pair(3, {}, T5_TOLD, (LESS, MORE, DENIED), (SAME, OPEN, OPPOSED)),
    "qnli": Pair(
        2, {1: "verb thing"},
        "where did the {person} {base} the {thing} ?|who {past} the {thing} ?",
        T5_REWORDED, (SAME, OPEN),
    ),
    "rte": Pair(
        2, {1: MOST}, "the {person} {past} the {thing} {place} {detail} .", LESS, (SAME, OPEN)
    ),
    "scitail": Pair(
        2, {1: MOST},
        "{detail} , the {person} {past} the {thing} {place} .",
        "the {person} {past} the {thing} .", (SAME, OPEN),
    ),
    "cb": Pair(
        3, {}, "the {speaker} {claim} the {person} {past} the {thing} {place} .",
        (LESS, DENIED, MORE), (SAME, OPPOSED, OPEN),
    ),
    "imdb": Opinion("review", "abc xy fg st"),
    "yelp-polarity": Opinion("visit", "abc xy fg st"),
    "span-corruption": _span,
}  # fmt: skip


def t5_world(name: str, seed: int) -> World:
    """The words of a task of text to text, the same for all splits."""
    return World(random.Random(f"text-to-text/{seed}/{name}"), T5_WORDS)


def vocabulary_text() -> list[str]:
    """Lines that hold every word of the rows, inputs, answers and texts of any seed."""
    pairs = [maker for maker in T5_MAKERS.values() if isinstance(maker, Pair)]
    told = [*(pair.first for pair in pairs), T5_REWORDED, LESS, MORE, DENIED, PAID, JUDGED]
    opinions = [*WORDINGS["opinion"], *WORDINGS["review"], *WORDINGS["visit"]]
    marks = [before for written in TEXT_TO_TEXT.values() for before, _ in written.texts]
    answers = [text for name in TEXT_TO_TEXT for text in answer_texts(name, "0.1")]
    verdicts = [verdict for pair in VERDICTS.values() for verdict in pair]
    words = [word for kind in T5_WORDS.values() for word in kind]
    others = [*HOW, *AMOUNTS, SAME, OPEN, OPPOSED, *NAMES.values(), "hypothesis", "a ?"]
    texts = (*told, *opinions, *marks, *answers, *verdicts, *words, *others)
    return [" ".join(re.sub(r"\{\w*\}|\|", " ", text).split()) for text in texts]
