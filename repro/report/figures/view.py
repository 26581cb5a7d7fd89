"""A figure as it stands, whatever its kind: what commands, files and the report need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from repro.papers.request import Request
from repro.spec import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True, slots=True)
class FigureView:
    """One figure at one scale. `lead` is its first run, `runs` the stored ones behind it.

    `done` of its `cells` are scored; `collapsed` says which models give a constant answer. `csv`,
    `document` (JSON) and `draw` hold what is drawn; call `draw` within `style.styled`.
    """

    request: Request
    lead: RunSpec
    runs: tuple[str, ...]
    cells: int
    done: int
    collapsed: str
    caption: str
    notes: tuple[str, ...]
    alternative: str
    csv: str
    document: dict[str, Any]
    draw: Callable[[], Drawing] = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        """What a user types."""
        return self.request.id

    @property
    def complete(self) -> bool:
        """Everything is scored."""
        return self.done == self.cells


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; what is None is empty, and whole numbers stay whole."""
    import pandas as pd

    frame = pd.DataFrame([list(row) for row in rows], columns=list(columns), dtype=object)
    return str(frame.to_csv(index=False, lineterminator="\n"))


def lacking(word: str, parts: Iterable[tuple[str, str]]) -> list[str]:
    """What is missing of a picture, a sentence a reason: Not drawn: CoLA, RTE: not run."""
    names: dict[str, list[str]] = {}
    for name, reason in parts:
        names.setdefault(reason.removesuffix("."), []).append(name)
    return [f"{word}: {', '.join(found)}: {reason}." for reason, found in names.items()]
