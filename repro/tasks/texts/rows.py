"""The rows of a local text set, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from repro.spec.facts import Facts
from repro.tasks import files
from repro.tasks.sentences.rows import Row, bad_row, label_of, text_of


@dataclass
class Reader:
    """Reads the files of one set, one after the other; ids and labels' texts hold for all of them.

    Rows are numbered from 0 over all the files.
    """

    facts: Facts
    rows: int = 0
    ids: dict[str, str] = field(default_factory=dict)
    """Of a row -> where it stands."""
    names: dict[int | float, Any] = field(default_factory=dict)
    """Label -> its text."""

    def read(self, content: bytes, file: str) -> list[Row]:
        """The rows of a file, in their order; the file's name is for errors.

        Raises MissingData with file and line for a missing field, an unknown label, an empty text,
        broken UTF-8, an id that stands twice, or a label's text that contradicts an earlier one.
        """
        return [self._row(row, place) for row, place in files.json_rows(content, file)]

    def _row(self, found: object, place: str) -> Row:
        row = _object(found, self.facts, place)
        self._check_id(row, place)
        label = label_of(row[self.facts.label], self.facts, place, may_be_withheld=False)
        self._check_name(row.get("label_text"), label, place)
        texts = tuple(text_of(row, name, self.facts, place) for name in self.facts.texts)
        self.rows += 1
        return Row(self.rows - 1, texts, label)

    def _check_id(self, row: Mapping[str, Any], place: str) -> None:
        id = row.get("id")
        if id is None:
            return
        if str(id) in self.ids:
            first = self.ids[str(id)]
            raise bad_row(self.facts, place, f"the id {id} stands twice (first: {first})")
        self.ids[str(id)] = place

    def _check_name(self, name: object, label: int | float, place: str) -> None:
        """A label has one text, and a text one label, all through the set."""
        if name is None or not self.facts.labels:
            return
        if label not in self.names and name in self.names.values():
            other = next(number for number, known in self.names.items() if known == name)
            problem = f"'{name}' is the label {label}, and was {other} before"
            raise bad_row(self.facts, place, problem)
        known = self.names.setdefault(label, name)
        if known != name:
            problem = f"the label {label} is '{name}', and was '{known}' before"
            raise bad_row(self.facts, place, problem)


def check_usable(rows: Iterable[Row], facts: Facts, place: str, part: str = "") -> None:
    """Raises MissingData, which names `place`, for no rows, one row, or rows of one label only.

    `part` names the rows for the reader: "validation ".
    """
    labels = [row.label for row in rows]
    if not labels:
        raise bad_row(facts, place, f"it has no {part}rows")
    if len(labels) == 1:
        raise bad_row(facts, place, f"it has one {part}row only, and needs at least two")
    if len(set(labels)) == 1:
        raise bad_row(facts, place, f"every {part}row has the label {labels[0]}")


def _object(row: object, facts: Facts, place: str) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise bad_row(facts, place, f"the row is of type {type(row).__name__}, not an object")
    missing = [f"'{name}'" for name in (*facts.texts, facts.label) if row.get(name) is None]
    if missing:
        found = ", ".join(map(str, row)) or "nothing"
        are = "is" if len(missing) == 1 else "are"
        named = " and ".join(missing)
        raise bad_row(facts, place, f"{named} {are} missing or null (the row has {found})")
    return row
