"""The columns of a frame: their types, and what a reader needs to know of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame.

    Attributes:
        dtype: Its pandas dtype; `object` where a value is a list or an object.
        doc: What it holds.
        json: Where `table --json` has the value, "" where it does not ("cells.published.value").
    """

    dtype: str
    doc: str
    json: str = ""


Columns = Mapping[str, Column]


def typed(rows: Iterable[Mapping[str, Any]], columns: Columns) -> pandas.DataFrame:
    """A frame of these columns in order; what a row lacks is missing (NaN, <NA> or None)."""
    import pandas

    frame = pandas.DataFrame(list(rows), columns=list(columns), dtype=object)
    return frame.astype({name: column.dtype for name, column in columns.items()})


PLAIN = {"float64": float, "Int64": int, "boolean": bool}
"""dtype -> what its values are in Python; those of other types stay as they are."""


def untyped(rows: Iterable[Mapping[str, Any]], columns: Columns) -> list[dict[str, Any]]:
    """The records of `typed(rows, columns)`, made without pandas, which takes a while to import."""
    kinds = [(name, PLAIN.get(column.dtype)) for name, column in columns.items()]
    return [
        {
            name: value if kind is None or value is None else kind(value)
            for name, kind in kinds
            for value in [row.get(name)]
        }
        for row in rows
    ]


def records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame; what is missing is None."""
    found: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return found
