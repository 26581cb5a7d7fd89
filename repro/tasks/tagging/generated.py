"""Tagged sentences made from a seed: the data of the smoke scale.

People, places, firms and prizes take part in a few kinds of sentence. A quarter of the names of
each kind stands in validation and test rows only.
"""

from __future__ import annotations

import random

from repro.spec.tagging import TAGS
from repro.tasks.draws import generated_sizes, own
from repro.tasks.tagging.rows import Sentence

DEFAULT_REVISION = "seed=0,train=240,validation=60"

NAMES = {
    "PER": "Anna Keller;Tom Brook;Maria Lopez;Peter Hansen;Ruth Cohen;Ivan Petrov;Li Wei;Sara;"
    "Omar Haddad;Jane Miller;Paul;Nina Rossi",
    "LOC": "Paris;Berlin;New York;Madrid;Cape Town;Vienna;Lisbon;Oslo;Buenos Aires;Prague;Rome;"
    "Cairo",
    "ORG": "Northern Bank;Acme Motors;United Press;Delta Airlines;Green Party;Star Records;"
    "Baker Foods;City College;Union Steel;Royal Theatre;Apex Oil;Metro News",
    "MISC": "Nobel Prize;World Cup;Olympic Games;French;German;Grammy Award;Spanish;Italian;"
    "Tour de France;Dutch;Swedish;Golden Bear",
}
WORDINGS = (
    "{PER} flew to {LOC} on monday .",
    "{ORG} hired {PER} last year .",
    "the {MISC} brought {PER} to {LOC} .",
    "{ORG} closed its office in {LOC} .",
    "{PER} of {ORG} won the {MISC} again .",
    "nobody in {LOC} expected the news .",
    "shares of {ORG} fell after {PER} left .",
    "the weather stayed cold all week .",
)


def generate(revision: str) -> dict[str, list[Sentence]]:
    """The sentences of "train", "validation" and "test" of a revision such as `DEFAULT_REVISION`.

    The same on every machine; test has as many as validation. Raises ReproError for a revision of
    another form.
    """
    seed, train, held = generated_sizes(revision, DEFAULT_REVISION)
    counts = {"train": train, "validation": held, "test": held}
    return {
        split: [_sentence(idx, split, draw) for idx in range(count)]
        for split, count in counts.items()
        for draw in [random.Random(f"{seed}/conll2003/{split}")]
    }


def _sentence(idx: int, split: str, draw: random.Random) -> Sentence:
    words: list[str] = []
    tags: list[int] = []
    for part in draw.choice(WORDINGS).split():
        kind = part.strip("{}")
        if kind == part:
            words.append(part)
            tags.append(TAGS.index("O"))
            continue
        known = NAMES[kind].split(";")
        names = own(known, "train") if split == "train" else known
        name = draw.choice(names).split()
        words += name
        tags += [TAGS.index(f"{'I' if place else 'B'}-{kind}") for place in range(len(name))]
    return Sentence(idx, tuple(words), tuple(tags))
