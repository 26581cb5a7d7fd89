"""Our numbers for the cells that claims name: one value a run, by artefact, row and column.

Built from the store alone, without torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from repro.papers.claims import Ours
from repro.papers.curves import Curves
from repro.papers.figures import Figure
from repro.papers.registry import FIGURES, TABLES
from repro.papers.request import Request
from repro.papers.tables import Fact, Table
from repro.report.figures.ablation import grids_differ, lost
from repro.report.figures.curves import view_of as view_curves
from repro.report.files import saved_requests, table_name
from repro.report.view import view_table
from repro.store.store import Store

Where = tuple[str, str]
"""Row, column."""
SCALES = ("reduced", "paper")
"""Where claims are judged; the later the better. Smoke scale says nothing about a paper."""


@dataclass(frozen=True, slots=True)
class Known:
    """A cell's values, one a run, or why there are none: it has none while a seed is missing, as
    what is left of runs that failed is no sample of them.

    `runs` are behind them, of which those in `collapsed` give a constant answer. `counted`: an
    exact number of the models, not a score. `depth`: layers of the encoder. `differs`: why they
    are not of the paper's runs or models, "" where they are. `partial`: some of its seeds have a
    value and others have none.
    """

    values: tuple[float, ...] = ()
    runs: tuple[str, ...] = ()
    collapsed: tuple[str, ...] = ()
    reason: str = ""
    counted: bool = False
    depth: int = 0
    differs: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A table or figure that somebody asked for, and its cells."""

    request: Request
    cells: Mapping[Where, Known]

    @property
    def name(self) -> str:
        """As its files are called."""
        return table_name(self.request)

    def known(self, place: Ours) -> Known:
        """The cell, or why it has no value."""
        return self.cells.get((place.row, place.column), Known(reason="not in it"))

    def merit(self, places: Iterable[Ours]) -> tuple[int, bool, bool, int, int, bool]:
        """How fit it is to judge a claim about these cells: the higher the better.

        First how many of them it has, some of whose seeds may be missing, then the headline reading
        before the released one, the paper's runs before others, the paper's scale before a smaller
        one, more seeds asked for, and the scale's own encoder. So a seed that failed is not got rid
        of by a request for fewer seeds.
        """
        known_cells = [self.known(place) for place in places]
        found = [known for known in known_cells if known.values or known.partial]
        return (
            len(found),
            not self.request.as_released,
            not any(known.differs for known in found),
            SCALES.index(self.request.scale),
            self.request.seeds,
            self.request.backbone is None,
        )


def sources(store: Store, artefacts: set[str]) -> dict[str, list[Source]]:
    """Everything that was asked for of these artefacts at a scale where claims are judged."""
    found: dict[str, list[Source]] = {name: [] for name in artefacts}
    for request in saved_requests(store):
        if request.id in artefacts and request.scale in SCALES:
            found[request.id].append(Source(request, _cells(request, store)))
    return found


def _cells(request: Request, store: Store) -> dict[Where, Known]:
    if request.id in TABLES:
        return _of_table(TABLES[request.id], request, store)
    figure = FIGURES[request.id]
    if isinstance(figure, Curves):
        return _of_curves(figure, request, store)
    return _of_heat_map(figure, request, store) if isinstance(figure, Figure) else {}


def _of_table(table: Table, request: Request, store: Store) -> dict[Where, Known]:
    cells, view = {}, view_table(table, request, store)
    for row in view.rows:
        for cell in row.cells:
            column = cell.column
            cells[row.row.name, column.name] = Known(
                values=cell.reproduced.values if cell.reproduced and not cell.partial else (),
                runs=cell.runs,
                collapsed=cell.collapsed,
                partial=bool(cell.partial),
                reason=cell.partial or cell.reason,
                counted=isinstance(column, Fact),
                depth=view.lead.backbone.layers,
                differs=cell.differs,
            )
    return cells


def _of_curves(figure: Curves, request: Request, store: Store) -> dict[Where, Known]:
    """By the point's name and the task."""
    return {
        (one.point.name, one.task): Known(
            values=one.values,
            runs=one.runs,
            collapsed=one.runs if one.collapsed == len(one.runs) else (),
            reason=one.reason,
            differs=one.differs,
        )
        for one in view_curves(figure, request, store).measured
    }


def _of_heat_map(figure: Figure, request: Request, store: Store) -> dict[Where, Known]:
    """By first and last ablated layer: the drop, if every seed is there."""
    matrix = figure.matrix(request)
    keys = list(matrix.wanted)
    runs = [run for key in keys if (run := store.read(key)) is not None]
    grids = [lost(run, figure.task(request)) for run in runs]
    differs = grids_differ(figure, request, store) if runs else ""
    shared = [span for span in (grids[0] if grids else {}) if all(span in g for g in grids)]
    if len(runs) < len(keys):
        lacking = Known(reason=f"{len(runs)} of {len(keys)} seeds", partial=True)
        return {(str(first), str(last)): lacking for first, last in shared}
    return {
        (str(first), str(last)): Known(
            tuple(grid[first, last] for grid in grids),
            tuple(run.key for run in runs),
            differs=differs,
        )
        for first, last in shared
    }
