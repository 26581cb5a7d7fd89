"""Which rows of a task train, validate and test: the split rules of Karimi Mahabadi et al. 2021.

After rabeehk/hyperformer, data/tasks.py: small sets have their scored split halved, large ones have
1,000 training rows set aside, both by a permutation that the split seed draws once for all runs.
A cap on training rows keeps the first rows of a permutation by the run's own seed. Torch-free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from repro.errors import MissingData
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import SET_ASIDE, TEXT_TO_TEXT
from repro.tasks.draws import ranked
from repro.tasks.sentences.rows import Row

FIXED_SEED = 0
"""Ranks the rows that a cap leaves to be scored: the same ones for every subset seed."""
FEW = 5
"""A set of fewer training rows than five times `SET_ASIDE` sets a fifth of them aside."""


@dataclass(frozen=True, slots=True)
class Divided:
    """The rows of one task, each part as it stands in its file."""

    training: list[Row]
    validation: list[Row]
    test: list[Row]


def divided(found: dict[str, list[Row]], name: WrittenName, task: TextToText) -> Divided:
    """Divides whole splits ("train" and the scored ones) and caps the parts.

    A cap on training rows keeps the first ones of a permutation by the subset seed; rows that are
    set aside are skipped. A cap on scored rows keeps the same ones for every seed. Raises
    MissingData where there are too few rows to divide.
    """
    written = TEXT_TO_TEXT[name]
    train, scored = found["train"], [found[split] for split in written.scored]
    trained, *whole = [range(len(rows)) for rows in (train, *scored)]
    at, training = partial(_at, complete=task.last_rows == "kept"), partial(_training, task=task)
    if written.division == "own":
        parts = Divided(training(train, trained), *map(at, scored, whole))
    elif written.division == "set-aside":
        order, count = permutation(len(train), task.split_seed), set_aside(len(train))
        kept = trained if task.set_aside == "trained-on" else order[count:]
        parts = Divided(training(train, kept), at(train, order[:count]), at(scored[0], whole[0]))
    else:
        order, half = permutation(len(scored[0]), task.split_seed), len(scored[0]) // 2
        parts = Divided(
            training(train, trained), at(scored[0], order[:half]), at(scored[0], order[half:])
        )
    if not (parts.training and parts.validation and parts.test):
        raise MissingData(
            f"{written.facts.title} has {len(train)} training rows and "
            f"{sum(map(len, scored))} to score, too few to be divided into training, validation "
            "and test rows."
        )
    cap = task.evaluation_rows
    return Divided(
        parts.training,
        _ranked(parts.validation, cap),
        _ranked(parts.test, cap),
    )


def set_aside(rows: int) -> int:
    """How many training rows of a large set become validation rows: 1,000, or a fifth of fewer."""
    return min(SET_ASIDE, rows // FEW)


def permutation(rows: int, seed: int) -> list[int]:
    """The order of `rows` rows that torch.randperm gives a CPU generator with this seed.

    Computed here so that no release of torch can change which rows are scored: Fisher and Yates's
    shuffle from the front, by the remainders of the 32-bit numbers of a Mersenne twister.
    """
    import numpy as np

    twister = np.random.RandomState(seed % 2**32)
    numbers = twister.randint(0, 2**32, size=rows, dtype=np.uint32).tolist()
    order = list(range(rows))
    for place in range(rows - 1):
        other = place + numbers[place] % (rows - place)
        order[place], order[other] = order[other], order[place]
    return order


def _at(rows: Sequence[Row], places: Sequence[int], *, complete: bool) -> list[Row]:
    """The rows at these places, in the order of the file; the last place named is left out of a
    part that is not complete.
    """
    kept = set(places if complete else places[:-1])
    return [row for place, row in enumerate(rows) if place in kept]


def _training(rows: Sequence[Row], places: Sequence[int], task: TextToText) -> list[Row]:
    """The training rows at these places, or those of them that a cap's draw keeps.

    The released code's slice that leaves out the last row (`n_obs` = -1) is of uncapped parts only.
    """
    cap, allowed = task.train_rows, set(places)
    if cap is None or cap >= len(allowed):
        return _at(rows, places, complete=cap is not None or task.last_rows == "kept")
    order = permutation(len(rows), task.subset_seed)
    return _at(rows, [place for place in order if place in allowed][:cap], complete=True)


def _ranked(rows: list[Row], cap: int | None) -> list[Row]:
    if cap is None or cap >= len(rows):
        return rows
    ids = set(ranked((str(row.idx) for row in rows), FIXED_SEED, "scored")[:cap])
    return [row for row in rows if str(row.idx) in ids]
