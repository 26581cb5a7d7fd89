"""One row of a task of one or two texts, and how a row of a file becomes one.

A row is the task's texts, `label` and `idx`, as GLUE's are on the hub (nyu-mll/glue): a class is an
int in the order of the task's labels, a similarity a number within its bounds, and a label withheld
(test) -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from repro.errors import MissingData
from repro.spec import GlueTask, TextTask
from repro.spec.facts import Facts
from repro.tasks.draws import drawn

WITHHELD = -1
MOST_NAMED = 20
"""Labels that an error lists."""
PUBLISHED_EMPTY = {("QQP", "train", 310_137), ("QQP", "train", 362_246)}
"""(task, split, idx) of the published rows whose second question is empty (github
huggingface/datasets, issue 277)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One or two texts and what is to be said of them. `label` is a float of a similarity."""

    idx: int
    texts: tuple[str, ...]
    label: int | float


def generated_rows(name: str, revision: str) -> dict[str, list[Row]]:
    """The rows of a set of `repro.tasks.generated`; raises ReproError as it does."""
    from repro.tasks.generated import FACTS, generate

    facts = FACTS[name]
    return {
        split: [
            Row(row["idx"], tuple(row[text] for text in facts.texts), row[facts.label])
            for row in rows
        ]
        for split, rows in generate(name, revision).items()
    }


def capped(found: Mapping[str, list[Row]], task: GlueTask | TextTask) -> dict[str, list[Row]]:
    """Of every split at most the task's cap, drawn by its subset seed, in their order."""
    kept = {}
    for split, rows in found.items():
        count = task.train_rows if split == "train" else task.evaluation_rows
        if count is not None and count < len(rows):
            ids = drawn((str(row.idx) for row in rows), count, task.subset_seed)
            kept[split] = [row for row in rows if str(row.idx) in ids]
        else:
            kept[split] = rows
    return kept


def checked(rows: Iterable[tuple[Any, str]], glue: Facts, split: str, name: str) -> list[Row]:
    """The rows of a split, in their order; `rows` gives each with its place for errors.

    Raises MissingData, which names the place and what was expected, for a field that is missing or
    of a wrong type, an unknown label, an empty text, an idx that stands twice; and, by the file's
    `name`, for a split without rows, or one to learn or score whose rows all have one label.
    """
    seen: set[int] = set()
    made = []
    for row, place in rows:
        one = _row(row, glue, split, place)
        if one.idx in seen:
            raise bad_row(glue, place, f"the idx {one.idx} stands twice")
        seen.add(one.idx)
        made.append(one)
    if not made:
        raise bad_row(glue, name, "it has no rows")
    if not split.startswith("test") and len({row.label for row in made}) == 1:
        raise bad_row(glue, name, f"every row has the label {named_label(glue, made[0].label)}")
    return made


def check_published(found: int, facts: Facts, split: str, file: str, mend: str) -> None:
    """Raises MissingData, which ends in `mend`, where a file has not as many rows as published."""
    expected = facts.rows[split]
    if found != expected:
        raise MissingData(
            f"{file} is not the published {split} set of {facts.title}: it has {found:,} rows; "
            f"the published set has {expected:,}. {mend}"
        )


def _row(row: object, glue: Facts, split: str, place: str) -> Row:
    if not isinstance(row, Mapping):
        raise bad_row(glue, place, f"the row is of type {type(row).__name__}, not an object")
    columns = (*glue.texts, "label", "idx")
    missing = [f"'{name}'" for name in columns if row.get(name) is None]
    if missing:
        found = ", ".join(map(str, row)) or "nothing"
        are = "is" if len(missing) == 1 else "are"
        named = " and ".join(missing)
        raise bad_row(glue, place, f"{named} {are} missing or null (the row has {found})")
    idx = row["idx"]
    if type(idx) is not int or idx < 0:
        raise bad_row(glue, place, f"'idx' is {idx!r}, not a number of a row")
    may_be_empty = (glue.title, split, idx) in PUBLISHED_EMPTY
    texts = tuple(text_of(row, name, glue, place, may_be_empty) for name in glue.texts)
    withheld = split.startswith("test")
    return Row(idx, texts, label_of(row["label"], glue, place, may_be_withheld=withheld))


def text_of(
    row: Mapping[str, Any], name: str, facts: Facts, place: str, may_be_empty: bool = False
) -> str:
    """A field's text; raises MissingData for another type, an empty text or half a character."""
    text = row[name]
    if not isinstance(text, str):
        raise bad_row(facts, place, f"'{name}' is of type {type(text).__name__}, not text")
    if not text.strip() and not may_be_empty:
        raise bad_row(facts, place, f"'{name}' is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"'{name}' holds half a character (a lone surrogate)"
        raise bad_row(facts, place, problem) from error
    return text


def label_of(label: Any, facts: Facts, place: str, *, may_be_withheld: bool) -> int | float:
    """A class, or the number of a similarity; raises MissingData for any other label."""
    kinds = (int,) if facts.labels else (int, float)
    if type(label) not in kinds:  # bool is an int to isinstance, never a label
        raise bad_row(facts, place, f"the label {label!r} is of type {type(label).__name__}")
    withheld = label == WITHHELD
    least, most = facts.bounds
    known = label in range(len(facts.labels)) if facts.labels else least <= label <= most
    if not known and not (withheld and may_be_withheld):
        why = " (withheld, as only a test set's may be)" if withheld else ""
        raise bad_row(facts, place, f"the label {label} is unknown{why}")
    return int(label) if facts.labels else float(label)


def named_label(facts: Facts, label: int | float) -> str:
    """A label for a reader: "1 (entailment)", or the number of a similarity."""
    return f"{label} ({facts.labels[int(label)]})" if facts.labels else str(label)


def bad_row(facts: Facts, place: str, problem: str) -> MissingData:
    """The error of one row, or of a file: where, what, and what was expected."""
    labels = [named_label(facts, number) for number in range(len(facts.labels))]
    if len(labels) > MOST_NAMED:
        labels = [*labels[:MOST_NAMED], f"... to {len(facts.labels) - 1}"]
    least, most = facts.bounds
    expected = f"one of {', '.join(labels)}" if labels else f"a number from {least:g} to {most:g}"
    fields = ", ".join(facts.texts if facts.tested or facts.placed else (*facts.texts, "idx"))
    return MissingData(
        f"{place}: {problem}. Expected rows of {facts.title} with {fields} and {facts.label} "
        f"({expected}); replace the file by the published one."
    )
