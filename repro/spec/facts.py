"""What is known of a task of one or two texts: fields, labels, metrics and published sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Metric = Literal["matthews", "accuracy", "f1", "pearson", "spearman"]


@dataclass(frozen=True, slots=True)
class Facts:
    """One task. `labels` is empty for a regression; `rows` holds the published split sizes."""

    title: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: tuple[Metric, ...]
    monitor: Metric
    rows: dict[str, int]
    label: str = "label"
    """The field that holds the class or the number."""
    bounds: tuple[float, float] = (0.0, 5.0)
    """Least and largest number of a regression."""
    tested: bool = False
    """Its test labels are public, so that test rows are scored beside validation rows."""
    placed: bool = False
    """A row is known by its place in the file, which needs no idx."""
    combined: bool = False
    """Where training rows are divided, the mean of its two metrics is scored too: the released code
    of Adaptable Adapters computes it, as "combined score"."""

    @property
    def outputs(self) -> int:
        """Numbers that a classifier gives for an example."""
        return len(self.labels) or 1

    @property
    def evaluation(self) -> tuple[str, ...]:
        """The splits that are scored; the first one selects."""
        scored = ("validation", "test") if self.tested else ("validation",)
        return tuple(split for split in self.rows if split.startswith(scored))
