"""Sentences of tagged words: read or made, then capped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.tasks.draws import drawn
from repro.tasks.rows import generated, load

if TYPE_CHECKING:
    from datasets import Dataset

    from repro.spec import TaggingTask


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and their tags, as numbers in the order of TAGS; `idx` is its place in the split."""

    idx: int
    words: tuple[str, ...]
    tags: tuple[int, ...]


def task_rows(task: TaggingTask) -> dict[str, list[Sentence]]:
    """The sentences of "train", "validation" and "test", capped, in file order.

    Raises MissingData where they cannot be had, are damaged or are not those of `task.revision`.
    """
    kept = {}
    for split, rows in _found(task).items():
        count = task.train_rows if split == "train" else task.evaluation_rows
        ids = [str(row.idx) for row in rows]
        chosen = set(ids) if count is None else drawn(ids, count, task.subset_seed)
        kept[split] = [row for row in rows if str(row.idx) in chosen]
    return kept


def _found(task: TaggingTask) -> dict[str, list[Sentence]]:
    of = generated if task.source == "generated" else load
    return {split: _sentences(rows) for split, rows in of(task.name, task.revision).items()}


def _sentences(found: Dataset) -> list[Sentence]:
    columns = found[:]
    words, tags = (map(tuple, columns[name]) for name in ("tokens", "ner_tags"))
    return list(map(Sentence, columns["idx"], words, tags))
