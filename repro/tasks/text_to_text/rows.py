"""The rows of a task of text to text: read as GLUE's own runs read them, or made, then divided.

The split rules are those of Karimi Mahabadi et al. 2021, after rabeehk/hyperformer, data/tasks.py:
small sets have their scored split halved, large ones have 1,000 training rows set aside, both by a
permutation that the split seed draws once for all runs. A cap on training rows keeps the first rows
of a permutation by the run's own seed. Torch-free.

How many rows a run trains on and scores is also said from its spec alone, without reading data: a
local folder that is not the published set, of which a spec knows a digest only, counts as it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from repro.errors import MissingData, ReproError
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import SET_ASIDE, TEXT_TO_TEXT
from repro.tasks.draws import FIXED_SEED, fewer
from repro.tasks.generated import FORM, WRITTEN, sizes
from repro.tasks.sentences.rows import Row, generated_rows, read_rows

FEW = 5
"""A set of fewer training rows than five times `SET_ASIDE` sets a fifth of them aside."""


def task_rows(task: TextToText, name: WrittenName) -> dict[str, list[Row]]:
    """The rows of "train" and of every official split that is scored or divided, whole.

    Raises MissingData where they cannot be had, are damaged, or are not those of the task's
    revision; ReproError where the spec names no revision of generated rows.
    """
    revision = task.revisions.get(name)
    if task.source == "generated":
        return generated_rows(f"{WRITTEN}{name}", revision)
    if not TEXT_TO_TEXT[name].facts.folder:
        raise ReproError(f"{TEXT_TO_TEXT[name].facts.title} has generated rows only.")
    return read_rows(name, revision)


def divided(
    found: dict[str, list[Row]], name: WrittenName, task: TextToText
) -> dict[str, list[Row]]:
    """The rows of "train", "validation" and "test", each part as it stands in its file; `found`
    holds whole splits ("train" and the scored ones).

    A cap on training rows keeps the first ones of a permutation by the subset seed; rows that are
    set aside are skipped. A cap on scored rows keeps the same ones for every seed. Raises
    MissingData where there are too few rows to divide.
    """
    written = TEXT_TO_TEXT[name]
    train, scored = found["train"], [found[split] for split in written.scored]
    trained, *whole = [range(len(rows)) for rows in (train, *scored)]
    at = partial(_at, complete=task.last_rows == "kept")
    kept: Sequence[int] = trained
    if written.division == "own":
        validation, test = map(at, scored, whole)
    elif written.division == "set-aside":
        order, count = permutation(len(train), task.split_seed), set_aside(len(train))
        if task.set_aside == "left-out":
            kept = order[count:]
        validation, test = at(train, order[:count]), at(scored[0], whole[0])
    else:
        order, half = permutation(len(scored[0]), task.split_seed), len(scored[0]) // 2
        validation, test = at(scored[0], order[:half]), at(scored[0], order[half:])
    training = _training(train, kept, task)
    if not (training and validation and test):
        raise MissingData(
            f"{written.facts.title} has {len(train)} training rows and "
            f"{sum(map(len, scored))} to score, too few to be divided into training, validation "
            "and test rows."
        )
    cap = task.evaluation_rows
    return {
        "train": training,
        "validation": fewer(validation, cap, FIXED_SEED, "scored"),
        "test": fewer(test, cap, FIXED_SEED, "scored"),
    }


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


def training_rows(task: TextToText) -> dict[WrittenName, int]:
    """Task -> rows that are trained on, in the order of the mixture."""
    cap = task.train_rows
    if cap is None:
        return {name: _parts(task, name)[0] for name in task.tasks}
    return {name: min(_divided(task, name)[0], cap) for name in task.tasks}


def scored_rows(task: TextToText) -> tuple[int, int]:
    """All validation rows, and all test rows, of the mixture."""
    parts = [_parts(task, name) for name in task.tasks]
    validation, test = (
        sum(min(part[place], task.evaluation_rows or part[place]) for part in parts)
        for place in (1, 2)
    )
    return validation, test


def _parts(task: TextToText, name: WrittenName) -> tuple[int, ...]:
    """Training, validation and test rows before any cap."""
    short = int(task.last_rows == "left-out")
    return tuple(rows - short for rows in _divided(task, name))


def _divided(task: TextToText, name: WrittenName) -> tuple[int, int, int]:
    """The same with the last row of each."""
    written, splits = TEXT_TO_TEXT[name], _splits(task, name)
    train, scored = splits["train"], [splits[split] for split in written.scored]
    if written.division == "own":
        return train, scored[0], scored[1]
    if written.division == "validation-halved":
        return train, scored[0] // 2, scored[0] - scored[0] // 2
    aside = set_aside(train)
    return train - (aside if task.set_aside == "left-out" else 0), aside, scored[0]


def _splits(task: TextToText, name: WrittenName) -> dict[str, int]:
    """Official split -> rows."""
    revision, written = task.revisions.get(name) or "", TEXT_TO_TEXT[name]
    # what is not of the generator's form is refused where the rows are made
    if task.source == "generated" and (FORM.fullmatch(revision) or not written.facts.rows):
        _, train, scored = sizes(f"{WRITTEN}{name}", revision)
        return {"train": train} | dict.fromkeys(written.scored, scored)
    return written.facts.rows
