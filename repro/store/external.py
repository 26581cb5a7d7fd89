"""Numbers from elsewhere: a row that somebody adds to a published table, `external/<key>.json`."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from pydantic import Field, model_validator

from repro.spec import Scale, canonical_json
from repro.store.result import Hex, Record, Stored

Line = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""A text that cannot steer a terminal."""


class Number(Stored):
    """What the row has in one column: a number of each run, or their mean with what is known."""

    column: str = Field(description="name of the column")
    values: list[float] = Field([], description="one number a run")
    mean: float | None = Field(None, description="where the single runs are not known")
    sd: float | None = Field(None, description="sample standard deviation of the runs", ge=0)
    n: int | None = Field(None, description="number of runs", ge=1)

    @model_validator(mode="after")
    def _once(self) -> Number:
        if bool(self.values) == (self.mean is not None):
            raise ValueError("either values or a mean")
        if self.values and (self.sd, self.n) != (None, None):
            raise ValueError("sd and n follow from the values")
        if self.sd is not None and (self.n or 0) < 2:
            raise ValueError("an sd of fewer than two runs")
        return self


class External(Record):
    """`external/<key>.json`: one row, and where it is from."""

    folder: ClassVar[str] = "external"
    key: str = Field(description="digest of table, section and name", pattern=Hex)
    table: str = Field(description="the table")
    name: str = Field(description="the row", pattern=Line, min_length=1)
    section: str = Field("", description="the part of the table that it is in")
    scales: list[Scale] = Field(description="the scales at which it is shown")
    server: bool = Field(False, description="scores of the table's test server")
    by: str = Field(description="who added it", pattern=Line)
    added: str = Field(description="when, UTC")
    note: str = Field("", description="in the words of who added it", pattern=Line)
    sha256: str = Field(description="of the file that the numbers are from", pattern=Hex)
    parameters: int | None = Field(None, description="trained parameters", ge=0)
    numbers: list[Number] = Field(min_length=1)

    @model_validator(mode="after")
    def _of_its_key(self) -> External:
        if self.key != key_of(self.table, self.section, self.name):
            raise ValueError("the key is not that of table, section and name")
        if len({number.column for number in self.numbers}) < len(self.numbers):
            raise ValueError("two numbers of one column")
        return self


def key_of(table: str, section: str, name: str) -> str:
    """What the record of a row is called; names in any case are one."""
    named = canonical_json([table, section, name.casefold()])
    return hashlib.sha256(named.encode()).hexdigest()
