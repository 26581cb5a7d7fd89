"""The documents of a store: a run's result, and the records that are stored beside the runs.

A result holds only what equal runs have in common; versions, hardware and timings live in
`environment.json`. So two results are equal exactly where their bytes are. Records say why a run
failed, what a test server scored, and which numbers somebody added from elsewhere.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from operator import lt
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from repro.spec import Scale, canonical_json
from repro.words import shown

Hex = r"^[0-9a-f]{64}$"
Line = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""A text that cannot steer a terminal."""
FailureKind = Literal[
    "diverged", "out-of-memory", "missing-data", "missing-model", "error", "killed"
]
LATER = ("layers", "rows", "activations", "embeddings")
"""Fields that came when results were stored already: without a value they are left out, so that
equal results stay equal bytes.
"""
Coordinates = tuple[int, str, str, str, str, str]
ServerCoordinates = tuple[str, str, str]


class Stored(BaseModel):
    """Base of what the store reads back: frozen, finite, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Score(Stored):
    """One number: what was scored how, after which epoch, over how many examples."""

    task: str = Field(description="name of the task, a mixture has several")
    split: str = Field(description="rows that were scored")
    protocol: str = Field(description="how outputs became predictions")
    epoch: int = Field(description="passes over the training rows before scoring, 0 is none", ge=0)
    metric: str = Field(description="name of the metric")
    group: str = Field(description="part of the rows that the metric is over, or all of them")
    value: float = Field(description="in the metric's own units")
    n: int = Field(description="examples that the value is over", ge=0)

    @property
    def coordinates(self) -> Coordinates:
        """(epoch, task, split, protocol, metric, group): no two scores of a result share them."""
        return (self.epoch, self.task, self.split, self.protocol, self.metric, self.group)


class Activation(Stored):
    """A learned activation: its coefficients, and which inputs it met in the final scoring."""

    form: Literal["a", "b"] = Field(description="of the denominator")
    numerator: list[float] = Field(description="a_0 to a_5")
    denominator: list[float] = Field(description="b_1 to b_4")
    low: float = Field(description="the least input")
    high: float = Field(description="the greatest input")


class Result(Stored):
    """`result.json`. Scores are kept in one order, so equal results are equal bytes."""

    key: str = Field(description="the run's key", pattern=Hex)
    status: Literal["ok"] = Field("ok", description="a run that failed has no result")
    parameters_trained: int = Field(description="number of trained parameters", ge=0)
    parameters_total: int = Field(description="trained and frozen parameters together", ge=0)
    collapsed: bool | None = Field(
        None, description="predicts one class only; None where that was not judged"
    )
    selected_epoch: int | None = Field(
        None, description="the epoch whose weights were kept; None is the last"
    )
    parents: dict[str, str] = Field({}, description="role -> digest of the parent's result used")
    layers: list[int] | None = Field(
        None, description="layers (from 0) that have an adapter in use, where a run may choose"
    )
    rows: dict[str, str] | None = Field(
        None, description="split -> digest of the ids of the rows drawn for it, in order"
    )
    activations: dict[str, Activation] | None = Field(
        None, description="layer -> its learned activation"
    )
    embeddings: dict[str, list[float]] | None = Field(
        None, description="task -> its embedding z_tau as trained, all of one width"
    )
    notes: list[str] = Field([], description="what a reader of the numbers must know")
    scores: list[Score] = Field(description="every score, of every epoch that was scored")

    @field_validator("scores")
    @classmethod
    def _ordered_and_distinct(cls, scores: list[Score]) -> list[Score]:
        places = [score.coordinates for score in scores]
        if all(map(lt, places, places[1:])):  # as they are written
            return scores
        placed = dict(zip(places, scores, strict=True))
        if len(placed) < len(scores):
            twice = Counter(places).most_common(1)
            raise ValueError(f"two scores for {twice[0][0]}")
        return [placed[place] for place in sorted(placed)]

    @field_validator("embeddings")
    @classmethod
    def _of_one_width(cls, found: dict[str, list[float]] | None) -> dict[str, list[float]] | None:
        widths = {task: len(values) for task, values in (found or {}).items()}
        if found is not None and (len(set(widths.values())) != 1 or 0 in widths.values()):
            raise ValueError(f"embeddings of one width each, not {widths}")
        return found


def render(result: Result) -> bytes:
    """`result.json`: one field a line and one score a line, in a fixed order, strict JSON."""
    head = result.model_dump(mode="json", exclude={"scores"})
    head = {name: value for name, value in head.items() if value is not None or name not in LATER}
    lines = [f"{canonical_json(name)}: {canonical_json(value)}," for name, value in head.items()]
    scores = ",\n".join(canonical_json(score.model_dump(mode="json")) for score in result.scores)
    body = f"[\n{scores}\n]" if scores else "[]"
    return "\n".join(["{", *lines, f'"scores": {body}', "}", ""]).encode()


def parse(data: bytes) -> Result:
    """The result in `data`, read strictly: no coercion, no unknown field, no NaN.

    Raises ValueError (pydantic's ValidationError is one).
    """
    return Result.model_validate_json(data, strict=True)


# -- records --------------------------------------------------------------------------------------


class Record(Stored):
    """Base class of a record, stored beside the results as `<folder>/<key>.json`."""

    folder: ClassVar[str]
    key: str = Field(description="the run's key", pattern=Hex)

    @property
    def file(self) -> str:
        """Its name in a store."""
        return f"{self.folder}/{self.key}.json"


class Failure(Record):
    """`failures/<key>.json`: why a run has no result."""

    folder: ClassVar[str] = "failures"
    kind: FailureKind = Field(description="decides whether trying again makes sense")
    message: Annotated[str, AfterValidator(shown)] = Field(
        description="one sentence for the person"
    )
    log: str = Field(description="path of the log, relative to the store's root")
    spec: dict[str, Any] = Field(description="the run's spec as plain data, for any later version")


class ServerScore(Stored):
    """One number of a server's page."""

    task: str = Field(description="name of the task")
    split: str = Field(description="test rows that were scored")
    metric: str = Field(description="name of the metric")
    value: float = Field(description="in percent")
    archive: str = Field(description="digest of the archive that was submitted", pattern=Hex)

    @property
    def coordinates(self) -> ServerCoordinates:
        """(task, split, metric): no two scores of a run share them."""
        return (self.task, self.split, self.metric)


class ServedRun(Record):
    """`server/<key>.json`: all that a server said of one run."""

    folder: ClassVar[str] = "server"
    result: str = Field(description="digest of the result that was submitted", pattern=Hex)
    protocol: str = Field(description="which server, by its protocol")
    scores: list[ServerScore]

    @field_validator("scores")
    @classmethod
    def _ordered_and_distinct(cls, scores: list[ServerScore]) -> list[ServerScore]:
        placed = {score.coordinates: score for score in scores}
        if len(placed) < len(scores):
            raise ValueError("two scores of one metric")
        return [placed[place] for place in sorted(placed)]

    def value(self, task: str, split: str, metric: str) -> float | None:
        """The score there, None where none was imported."""
        found = (s.value for s in self.scores if s.coordinates == (task, split, metric))
        return next(found, None)


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
