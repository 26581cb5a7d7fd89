"""One row of a task of one or two texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.spec.facts import KNOWN
from repro.tasks.rows import generated, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasets import Dataset

    from repro.spec.facts import Facts


@dataclass(frozen=True, slots=True)
class Row:
    """One or two texts and what is to be said of them. `label` is a float of a similarity."""

    idx: int
    texts: tuple[str, ...]
    label: int | float


def rows_of(facts: Facts, found: Dataset) -> list[Row]:
    """The rows of a split, in their order."""
    columns = found[:]
    texts = zip(*(columns[name] for name in facts.texts), strict=True)
    return list(map(Row, columns["idx"], texts, columns[facts.label]))


def read_rows(name: str, revision: str | None, splits: Sequence[str] = ()) -> dict[str, list[Row]]:
    """The rows of a set's splits, whole; raises what `load` raises."""
    facts, found = KNOWN[name], load(name, revision, splits)
    return {split: rows_of(facts, rows) for split, rows in found.items()}


def generated_rows(name: str, revision: str | None) -> dict[str, list[Row]]:
    """The rows of a set of `repro.tasks.generated`; raises what `generated` raises."""
    facts = KNOWN[name.removeprefix("text-to-text/")]
    return {split: rows_of(facts, rows) for split, rows in generated(name, revision).items()}
