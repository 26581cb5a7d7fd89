"""Scores that a test server gave to a run: `server/<key>.json`, beside its finished entry."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from repro.store.result import Hex, Record, Stored

Coordinates = tuple[str, str, str]


class ServerScore(Stored):
    """One number of a server's page."""

    task: str = Field(description="name of the task")
    split: str = Field(description="test rows that were scored")
    metric: str = Field(description="name of the metric")
    value: float = Field(description="in percent")
    archive: str = Field(description="digest of the archive that was submitted", pattern=Hex)

    @property
    def coordinates(self) -> Coordinates:
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
