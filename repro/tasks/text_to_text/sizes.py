"""How many rows a run of text to text trains on and scores, as far as its spec alone tells.

Of a local folder that is not the published set the spec knows a digest only: it counts as the
published one. Torch-free, and no data is read.
"""

from __future__ import annotations

from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.generated import FORM, sizes
from repro.tasks.text_to_text.division import set_aside


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
        sum(_capped(part[place], task.evaluation_rows) for part in parts) for place in (1, 2)
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
        _, train, scored = sizes(f"text-to-text/{name}", revision)
        return {"train": train} | dict.fromkeys(written.scored, scored)
    return written.facts.rows


def _capped(rows: int, cap: int | None) -> int:
    return rows if cap is None else min(rows, cap)
