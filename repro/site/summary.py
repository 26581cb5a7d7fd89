"""The first page: what was run where, what holds, what does not, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from repro.papers.registry import ARTEFACTS
from repro.report.figures.view import FigureView
from repro.report.files import command_line
from repro.report.view import TableView
from repro.site import words
from repro.site.cells import Shown
from repro.site.links import page_of
from repro.site.machines import machines
from repro.site.runs import Runs

FOUND_OTHERWISE = ("lower", "higher", "differs")
OPEN = ("undecided", "single")


@dataclass(frozen=True, slots=True)
class Entry:
    """An artefact in the list: its page, how far it is, how often each verdict stands in it.

    `shown` and `counts` are of the cells that were asked for.
    """

    id: str
    page: str
    kind: str
    scale: str
    encoder: str
    done: int
    cells: int
    counts: dict[str, int]
    shown: tuple[Shown, ...]
    asked: str

    @property
    def missing(self) -> list[tuple[str, int]]:
        """Why cells that were asked for have no number, each reason with how many cells."""
        gaps = [c for c in self.shown if c.word and c.word.css == "gap"]
        return Counter(cell.reason for cell in gaps).most_common()


def entry(view: TableView | FigureView, cells: Sequence[Shown]) -> Entry:
    """The line of a table or a figure; a figure has no cells with verdicts."""
    return Entry(
        id=view.request.id,
        page=page_of(view.request),
        kind="figure" if isinstance(view, FigureView) else "table",
        scale=view.request.scale,
        encoder=view.lead.backbone.name,
        done=view.done,
        cells=view.cells,
        counts=dict(Counter(cell.word.css for cell in cells if cell.word and cell.wanted)),
        shown=tuple(cell for cell in cells if cell.wanted),
        asked=command_line(view.request).partition(f"--scale {view.request.scale}")[2].strip(),
    )


def index_page(
    entries: Sequence[Entry], views: Sequence[TableView | FigureView], runs: Runs
) -> dict[str, Any]:
    """What the first page shows."""
    cells = [(one, cell) for one in entries for cell in one.shown if cell.word]
    totals = Counter(cell.word.css for _, cell in cells if cell.word)
    asked = {one.id for one in entries}
    keys = sorted({key for view in views for key in view.runs})
    return {
        "title": "Do the tables hold?",
        "entries": entries,
        "totals": [(word, totals[word.css]) for word in words.WORDS.values()],
        "total": sum(totals.values()),
        "holds": [one for one in entries if one.counts.get("match")],
        "against": [(one, c) for one, c in cells if c.word and c.word.css in FOUND_OTHERWISE],
        "open": [(one, c) for one, c in cells if c.word and c.word.css in OPEN],
        "elsewhere": [one for one in entries if one.counts.get("not-comparable")],
        "gaps": [one for one in entries if one.missing],
        "not_asked": [name for name in ARTEFACTS if name not in asked],
        "scales": sorted({one.scale for one in entries}),
        "machines": machines(keys, runs),
        "runs": len(keys),
    }
