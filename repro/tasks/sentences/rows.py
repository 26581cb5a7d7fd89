"""One row of a GLUE task, and how a row of the published files becomes one.

A row is the task's texts, `label` and `idx`, as on the hub (nyu-mll/glue): a class is an int in the
order of `repro.spec.glue`, STS-B's similarity a number from 0 to 5, and a label withheld (test) -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from repro.errors import MissingData
from repro.spec.facts import Facts

WITHHELD = -1
HIGHEST = 5.0
"""STS-B's largest similarity."""
PUBLISHED_EMPTY = {("QQP", "train", 310_137), ("QQP", "train", 362_246)}
"""(task, split, idx) of the published rows whose second question is empty (github
huggingface/datasets, issue 277)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One or two texts and what is to be said of them. `label` is a float for STS-B."""

    idx: int
    texts: tuple[str, ...]
    label: int | float


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
            raise _bad(glue, place, f"the idx {one.idx} stands twice")
        seen.add(one.idx)
        made.append(one)
    if not made:
        raise _bad(glue, name, "it has no rows")
    if not split.startswith("test") and len({row.label for row in made}) == 1:
        raise _bad(glue, name, f"every row has the label {_named(glue, made[0].label)}")
    return made


def _row(row: object, glue: Facts, split: str, place: str) -> Row:
    if not isinstance(row, Mapping):
        raise _bad(glue, place, f"the row is of type {type(row).__name__}, not an object")
    columns = (*glue.texts, "label", "idx")
    missing = [f"'{name}'" for name in columns if row.get(name) is None]
    if missing:
        found = ", ".join(map(str, row)) or "nothing"
        are = "is" if len(missing) == 1 else "are"
        named = " and ".join(missing)
        raise _bad(glue, place, f"{named} {are} missing or null (the row has {found})")
    idx = row["idx"]
    if type(idx) is not int or idx < 0:
        raise _bad(glue, place, f"'idx' is {idx!r}, not a number of a row")
    may_be_empty = (glue.title, split, idx) in PUBLISHED_EMPTY
    texts = tuple(_text(row, name, glue, place, may_be_empty) for name in glue.texts)
    return Row(idx, texts, _label(row["label"], glue, split, place))


def _text(
    row: Mapping[str, Any], name: str, glue: Facts, place: str, may_be_empty: bool = False
) -> str:
    text = row[name]
    if not isinstance(text, str):
        raise _bad(glue, place, f"'{name}' is of type {type(text).__name__}, not text")
    if not text.strip() and not may_be_empty:
        raise _bad(glue, place, f"'{name}' is empty")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _bad(glue, place, f"'{name}' holds half a character (a lone surrogate)")
    return text


def _label(label: Any, glue: Facts, split: str, place: str) -> int | float:
    kinds = (int,) if glue.labels else (int, float)
    if type(label) not in kinds:  # bool is an int to isinstance, never a label
        raise _bad(glue, place, f"the label {label!r} is of type {type(label).__name__}")
    withheld = label == WITHHELD
    known = label in range(len(glue.labels)) if glue.labels else 0 <= label <= HIGHEST
    if not known and not (withheld and split.startswith("test")):
        why = " (withheld, as only a test set's may be)" if withheld else ""
        raise _bad(glue, place, f"the label {label} is unknown{why}")
    return int(label) if glue.labels else float(label)


def _named(glue: Facts, label: int | float) -> str:
    return f"{label} ({glue.labels[int(label)]})" if glue.labels else str(label)


def _bad(glue: Facts, place: str, problem: str) -> MissingData:
    labels = [_named(glue, number) for number in range(len(glue.labels))]
    expected = f"one of {', '.join(labels)}" if labels else f"a number from 0 to {HIGHEST:g}"
    return MissingData(
        f"{place}: {problem}. Expected rows of {glue.title} with {', '.join(glue.texts)}, idx and "
        f"label ({expected}); replace the file by the published one."
    )
