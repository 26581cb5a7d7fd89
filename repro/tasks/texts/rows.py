"""The rows of a local text set, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from repro.spec.facts import Facts
from repro.tasks import files
from repro.tasks.sentences.rows import Row, bad_row, label_of, text_of


def checked_rows(texts: Iterable[tuple[bytes, str]], facts: Facts) -> list[Row]:
    """The rows of (content, name) files, in their order, numbered from 0 over all of them.

    Raises MissingData with file and line for a missing field, an unknown label, an empty text,
    broken UTF-8, an id that stands twice, or a label's text that contradicts an earlier one; and
    for a set without rows or with one class only.
    """
    seen: set[str] = set()
    names: dict[int | float, str] = {}
    rows: list[Row] = []
    last = "no file"
    for content, file in texts:
        for found, place in files.json_rows(content, file):
            row = _object(found, facts, place)
            _check_id(row, seen, facts, place)
            label = label_of(row[facts.label], facts, place, may_be_withheld=False)
            _check_name(row, label, names, facts, place)
            said = tuple(text_of(row, name, facts, place) for name in facts.texts)
            rows.append(Row(len(rows), said, label))
        last = file
    if not rows:
        raise bad_row(facts, last, "it has no rows")
    if len({row.label for row in rows}) == 1:
        raise bad_row(facts, last, f"every row has the label {rows[0].label}")
    return rows


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


def _check_id(row: Mapping[str, Any], seen: set[str], facts: Facts, place: str) -> None:
    id = row.get("id", row.get("idx"))
    if id is None:
        return
    if str(id) in seen:
        raise bad_row(facts, place, f"the id {id} stands twice")
    seen.add(str(id))


def _check_name(
    row: Mapping[str, Any],
    label: int | float,
    names: dict[int | float, str],
    facts: Facts,
    place: str,
) -> None:
    """A label has one text, and a text one label, all through the set."""
    name = row.get("label_text")
    if name is None or not facts.labels:
        return
    if label not in names and name in names.values():
        other = next(number for number, known in names.items() if known == name)
        raise bad_row(facts, place, f"'{name}' is the label {label}, and was {other} before")
    known = names.setdefault(label, name)
    if known != name:
        raise bad_row(facts, place, f"the label {label} is '{name}', and was '{known}' before")
