"""What a finished run leaves (`result.json`) and what a failed one leaves (`failures/<key>.json`).

A result holds only what equal runs have in common; versions, hardware and timings live in
`environment.json`. So two results are equal exactly where their bytes are.
"""

from __future__ import annotations

from collections import Counter
from operator import lt
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from repro.spec import canonical_json
from repro.words import shown

Hex = r"^[0-9a-f]{64}$"
FailureKind = Literal[
    "diverged", "out-of-memory", "missing-data", "missing-model", "error", "killed"
]
LATER = ("layers", "rows", "activations", "embeddings")
"""Fields that came when results were stored already: without a value they are left out, so that
equal results stay equal bytes.
"""
Coordinates = tuple[int, str, str, str, str, str]


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
