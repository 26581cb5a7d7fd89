"""Rows made from a seed, in the schema of every further text task: the data of the smoke scale.

A class is told by two words together, an activity and an occasion, in one of several wordings among
words that say nothing. SICK's rows are GLUE's generated entailments and similarities.
"""

from __future__ import annotations

import random

from repro.errors import ReproError
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName, TextName
from repro.spec.texts import TEXTS
from repro.tasks.draws import generated_sizes
from repro.tasks.glue.generated import generate as generate_glue
from repro.tasks.sentences.rows import Row

DEFAULT_REVISION = "seed=0,train=240,validation=60"

ACTIVITIES = (
    "cooking football painting sailing mathematics gardening banking surgery astronomy "
    "carpentry dancing farming chess"
)
OCCASIONS = (
    "wedding storm election birthday war holiday strike funeral harvest flood festival trial exam"
)
"""13 x 13 pairs: enough for 157 classes."""
SPEAKERS = "my neighbour;a friend;the reporter;our teacher;her brother;the mayor;some boy;a guest"
TIMES = "yesterday;this morning;last week;all day;on monday;at noon;again;for once"
WORDINGS = (
    "{who} talked about {a} during the {b} {when} .",
    "{when} {who} wrote a letter on {a} and the {b} .",
    "the {b} made {who} think of {a} {when} .",
    "{who} asked {when} whether {a} matters at a {b} .",
    "nobody spoke of {a} before the {b} , said {who} {when} .",
)


def generate(name: TextName, revision: str) -> dict[str, list[Row]]:
    """The rows of "train", "validation" and "test" of a revision such as `DEFAULT_REVISION`.

    The same on every machine; test has as many rows as validation, and no row stands in two
    splits. Raises ReproError for a revision of another form, or for more rows than there are.
    """
    seed, train, held = generated_sizes(revision, DEFAULT_REVISION)
    if name in ("sick-e", "sick-r"):
        return _pairs(name, seed, train, held)
    draw = random.Random(f"{seed}/{name}")
    classes = len(TEXTS[name].labels)
    most = classes * len(WORDINGS) * len(SPEAKERS.split(";")) * len(TIMES.split(";"))
    if train + 2 * held > most:
        raise _too_many(name, revision, most)
    rows: list[Row] = []
    seen: set[str] = set()
    while len(rows) < train + 2 * held:
        label = len(rows) % classes  # every class is there, however few rows there are
        text = _sentence(label, draw)
        if text not in seen:
            seen.add(text)
            rows.append(Row(len(rows), (text,), label))
    draw.shuffle(rows)
    return {
        "train": rows[:train],
        "validation": rows[train : train + held],
        "test": rows[train + held :],
    }


def _sentence(label: int, draw: random.Random) -> str:
    activities, occasions = ACTIVITIES.split(), OCCASIONS.split()
    first, second = divmod(label * 5, len(occasions))  # neighbours differ in both words
    return draw.choice(WORDINGS).format(
        a=activities[(first + second) % len(activities)],
        b=occasions[second],
        who=draw.choice(SPEAKERS.split(";")),
        when=draw.choice(TIMES.split(";")),
    )


def _pairs(name: TextName, seed: int, train: int, held: int) -> dict[str, list[Row]]:
    """GLUE's generated MNLI for entailment, its STS-B for relatedness, moved to 1..5."""
    like: GlueName = "mnli" if name == "sick-e" else "stsb"
    made = generate_glue(like, f"seed={seed},train={train},validation={4 * held}")
    scored = made[GLUE[like].evaluation[0]]
    validated = {row.texts for row in scored[:held]}
    others = [row for row in scored[held:] if row.texts not in validated]
    if len(others) < held:
        raise _too_many(name, f"seed={seed},train={train},validation={held}", len(others))
    found = {"train": made["train"], "validation": scored[:held], "test": others[:held]}
    if name == "sick-e":
        return found
    least, most = TEXTS[name].bounds
    ratio = (most - least) / GLUE["stsb"].bounds[1]
    return {
        split: [Row(row.idx, row.texts, least + ratio * row.label) for row in rows]
        for split, rows in found.items()
    }


def _too_many(name: str, revision: str, most: int) -> ReproError:
    return ReproError(
        f"The generator has no {revision} of {name}: it makes at most {most:,} different rows. "
        f"Ask for fewer, like {DEFAULT_REVISION}."
    )
