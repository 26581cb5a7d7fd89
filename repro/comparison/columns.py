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


def records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame; what is missing is None."""
    found: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return found
