"""The words of the generated rows of text to text, and the sentences that are made of them.

A tiny T5 knows only what these rows teach it, so all splits and tasks share a few hundred words:
those of GLUE's generated rows, fewer of each kind, in small letters, blanks around punctuation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from repro.tasks.glue import generated as glue

PEOPLE = glue.PEOPLE.split()[:12]
THINGS = glue.HOME.split()[:12]
VERBS = glue.VERBS[:8]
PLACES = glue.PLACES[:6]
DETAILS = glue.DETAILS[:6]
PRAISE = glue.PRAISE.split()[:12]
BLAME = glue.BLAME.split()[:12]
FILMS = glue.FILMS.split()[:8]
SAME = ("indeed", "thus")
OPEN = ("perhaps", "maybe")
OPPOSED = ("however", "instead")
MARKED = 0.75
"""Share of second texts that begin with a word that tells how they stand to the first one. Real
entailment sets have such words too; of the other rows only a comparison of both texts tells.
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """Someone did something with a thing somewhere. `verb` is a position in `VERBS`."""

    person: str
    verb: int
    thing: str
    place: str

    def told(self, *, place: bool = True, synonym: bool = False, more: str = "") -> str:
        """'the nurse bought the lamp at the market .', or with a synonym, or something more."""
        verb = VERBS[self.verb][2 if synonym else 0]
        parts = [f"the {self.person} {verb} the {self.thing}", self.place if place else "", more]
        return " ".join(part for part in [*parts, "."] if part)

    def reworded(self, draw: random.Random) -> str:
        """The same fact as it was told, with a synonym, in the passive or in another order."""
        verb = VERBS[self.verb][2]
        return draw.choice(
            (
                self.told(),
                self.told(synonym=True),
                f"{self.place} the {self.person} {verb} the {self.thing} .",
                f"the {self.thing} was {verb} by the {self.person} {self.place} .",
            )
        )


@dataclass(frozen=True, slots=True)
class World:
    """What sentences are drawn from: the random numbers of one set of rows."""

    draw: random.Random

    def fact(self) -> Fact:
        """Any fact."""
        return Fact(
            self.draw.choice(PEOPLE),
            self.draw.randrange(len(VERBS)),
            self.draw.choice(THINGS),
            self.draw.choice(PLACES),
        )

    def changed(self, fact: Fact, slots: list[str]) -> Fact:
        """The fact with another value in every one of the slots."""
        new = self.fact()
        while any(getattr(new, slot) == getattr(fact, slot) for slot in slots):
            new = self.fact()
        return replace(fact, **{slot: getattr(new, slot) for slot in slots})

    def marked(self, marks: tuple[str, ...], text: str) -> str:
        """The text, in most rows behind one of the marks."""
        if self.draw.random() < MARKED:
            return f"{self.draw.choice(marks)} {text}"
        return text

    def detail(self, other: str = "") -> str:
        """A detail of an action, not the `other` one."""
        return self.draw.choice([detail for detail in DETAILS if detail != other])

    def opinion(self, wordings: tuple[str, ...], label: int) -> str:
        """What someone says of films or meals: praise (1) or blame (0)."""
        said, denied = (PRAISE, BLAME) if label else (BLAME, PRAISE)
        a, b, c = self.draw.sample(said, 3)
        x, y = self.draw.sample(denied, 2)
        f, g = self.draw.sample(FILMS, 2)
        s, t = self.draw.sample(THINGS, 2)
        wording = self.draw.choice(wordings)
        who = self.draw.choice(PEOPLE)
        return wording.format(a=a, b=b, c=c, x=x, y=y, f=f, g=g, s=s, t=t, p=who)
