"""A cell of a table as its page shows it: number, verdict, and the runs behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.papers.tables import Fact, Mean, Score
from repro.report.cells import Cell, Place, RowView
from repro.report.layout import plain_label
from repro.report.render import GAP, digits, with_spread
from repro.report.runs_found import Lookup, kept_epoch
from repro.report.view import TableView
from repro.site import words
from repro.site.plots import Compared, spark
from repro.site.runs import Runs, Use, by_epoch, plain
from repro.spec import RunSpec, run_key
from repro.store.entry import StoredRun
from repro.words import counted, run_name

MOST_NAMED = 40
"""More missing runs than this are counted, not named."""


@dataclass(frozen=True, slots=True)
class Behind:
    """A run behind a cell: its page, its score, and a small curve of that score by epoch."""

    name: str
    page: str
    value: str
    spark: str
    told: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Runs without a result, for one reason: (name, page or "")."""

    reason: str
    count: int
    runs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell. `order` is what its column is sorted by; `facts`, `evidence`: (term, words)."""

    id: str
    row: str
    column: str
    value: str
    order: float | None
    published: str
    difference: str
    word: words.Word | None
    reason: str
    facts: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, str], ...]
    runs: tuple[Behind, ...]
    others: tuple[Behind, ...]
    missing: tuple[Missing, ...]
    compared: Compared | None
    wanted: bool

    @property
    def opens(self) -> bool:
        """Whether there is anything to say of it."""
        return bool(self.facts or self.runs or self.missing)


def show(view: TableView, row: int, column: int, runs: Runs, line: Mapping[str, Any]) -> Shown:
    """The cell at these places of the table as data; `line`: its row of the table's frame, {} where
    it was not asked for.
    """
    of, cell = view.rows[row], view.rows[row].cells[column]
    places = digits(cell.column)
    word = words.WORDS[cell.verdict] if cell.verdict else None
    use = Use(
        words.page_of(view.request),
        words.cell_id(row, column),
        view.table.id,
        f"{of.row.name}, {cell.column.name}",
    )
    shown, others = _behind(view, of, cell, runs, use)
    value = _value(view, cell)
    difference = line.get("difference")
    alone = cell.difference is not None and difference is None
    return Shown(
        id=use.anchor,
        row=of.row.name,
        column=cell.column.name,
        value=value,
        order=cell.reproduced.mean if cell.reproduced else None,
        published="" if alone else _published(cell),
        difference=words.difference(difference, places),
        word=word,
        reason=_reason(cell),
        facts=tuple(_facts(view, cell, line)),
        evidence=tuple(_evidence(cell, line)),
        runs=shown,
        others=others,
        missing=_missing(view, of, cell, runs, use),
        compared=_compared(of, cell, word, line),
        wanted=cell.wanted,
    )


def _value(view: TableView, cell: Cell) -> str:
    if cell.text is not None:
        return cell.text
    if cell.reproduced is None:
        return GAP if cell.wanted or cell.verdict else ""
    mark = " †" if cell.collapsed else ""
    return words.minus(with_spread(cell.reproduced, digits(cell.column), view.table.spread)) + mark


def _published(cell: Cell) -> str:
    return words.printed(cell.published, _places(cell)) if cell.published else ""


def _places(cell: Cell) -> int:
    """The least digits of the printed number: a score has one, a count as many as are printed."""
    return 0 if isinstance(cell.column, Fact) else digits(cell.column)


def _reason(cell: Cell) -> str:
    if cell.verdict == "GAP" and isinstance(cell.column, Mean):
        return f"a mean needs every column, here stand {cell.reason}"
    return cell.reason


def _compared(
    of: RowView, cell: Cell, word: words.Word | None, line: Mapping[str, Any]
) -> Compared | None:
    """What the plots need; None where no measured number of a model of the paper's stands beside a
    printed one.
    """
    if not of.row.trained or of.row.reference or line.get("margin") is None or word is None:
        return None
    places, difference = digits(cell.column), line["difference"]
    ends = _interval(line, 95)
    told = f" [{words.interval(ends, places)}]" if ends else " (one run)"
    text = f"{words.difference(difference, places)}{told} {word.sign} {word.text}"
    name = plain_label(f"{of.row.name}, {cell.column.name}")
    return Compared(
        name, line["published"], difference, line["margin"], ends, word.css, word.mark, text
    )


def _interval(line: Mapping[str, Any], width: int) -> tuple[float, float] | None:
    low, high = line[f"low_{width}"], line[f"high_{width}"]
    return None if low is None else (low, high)


def _facts(view: TableView, cell: Cell, line: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = []
    if cell.published:
        of = f", {counted(cell.published.n, 'run')}" if cell.published.n else ""
        source = cell.published.source
        facts.append(("Published", f"{_published(cell)}{of} ({source})"))
    if cell.reproduced is not None:
        runs = counted(cell.reproduced.n, "run") if isinstance(cell.column, Score) else ""
        kind = "standard error" if view.table.spread == "sem" else "standard deviation"
        how = f" (mean ± {kind} of {runs})" if cell.reproduced.n > 1 else f" ({runs})" * bool(runs)
        facts.append(("Reproduced", _value(view, cell) + how))
    if line.get("difference") is not None:
        facts.append(("Difference", words.difference(line["difference"], digits(cell.column))))
    if cell.verdict:
        word = words.WORDS[cell.verdict]
        facts.append(("Verdict", f"{word.sign} {word.text}: {word.meaning}"))
    if cell.reason:
        facts.append(("Why", _reason(cell)))
    if cell.chosen:
        chosen = ", ".join(f"{name} {plain(value)}" for name, value in cell.chosen.items())
        facts.append(("Chosen on validation", chosen))
    if cell.partial:
        facts.append(("Missing", cell.partial))
    if cell.collapsed:
        facts.append(
            ("Collapsed", f"{counted(len(cell.collapsed), 'run')} †, {view.table.collapse}")
        )
    return facts


def _evidence(cell: Cell, line: Mapping[str, Any]) -> list[tuple[str, str]]:
    if line.get("margin") is None:
        return []
    places = digits(cell.column) + 1
    facts = [("Margin", f"±{line['margin']:.{places}f}, declared before any result")]
    for width, term in ((95, "95 % interval"), (90, "90 % interval, for equivalence")):
        ends = _interval(line, width)
        facts += [(term, words.interval(ends, places))] if ends else []
    others = (
        ("basis", "Compared", "{}"),
        ("p_adjusted", "p, adjusted over the table", "{:.3g}"),
        ("cv_star", "CV*, published and reproduced together", "{:.2f} %"),
    )
    told = ((term, line[name], how) for name, term, how in others)
    return facts + [(term, how.format(value)) for term, value, how in told if value is not None]


def _behind(
    view: TableView, of: RowView, cell: Cell, runs: Runs, use: Use
) -> tuple[tuple[Behind, ...], tuple[Behind, ...]]:
    """The runs behind the number, and the others that were read to choose them."""
    values = cell.reproduced.values if cell.reproduced else ()
    own = isinstance(cell.column, Score) and of.row.delta is None and len(values) == len(cell.runs)
    told = dict(zip(cell.runs, values, strict=True)) if own else {}
    place = Place(view.matrix, of.row, Lookup(runs.store))
    found: dict[str, Behind] = {}
    for key in dict.fromkeys((*cell.runs, *cell.behind)):
        run = runs.read(key)
        if run is not None:
            runs.shown_in(key, use)
            found[key] = _run(run, cell, place, told.get(key))
    others = tuple(one for key, one in found.items() if key not in cell.runs)
    return tuple(one for key, one in found.items() if key in cell.runs), others


def _run(run: StoredRun, cell: Cell, place: Place, value: float | None) -> Behind:
    line: list[float] = []
    if isinstance(cell.column, Score):
        where = place.split(cell.column), place.protocol(cell.column)
        line = by_epoch(run, (*where, cell.column.metric, cell.column.group))
    kept = kept_epoch(run) if place.row.epoch is None else place.row.epoch
    said = [f"epoch {kept} of {run.spec.recipe.epochs}"]
    said += ["collapsed †"] * bool(run.result.collapsed)
    return Behind(
        name=run_name(run.spec),
        page=words.run_page(run.key),
        value="" if value is None else words.minus(f"{value:.2f}"),
        spark=spark(line),
        told=", ".join(said),
    )


def _missing(view: TableView, of: RowView, cell: Cell, runs: Runs, use: Use) -> tuple[Missing, ...]:
    """The runs that the cell lacks, by reason."""
    column = cell.column
    if not isinstance(column, Score) or not of.row.trained or view.table.gap(column, view.request):
        return ()
    reasons: dict[str, list[tuple[str, RunSpec]]] = {}
    for spec in view.matrix.of(of.row.name, column.name):
        key = run_key(spec)
        if runs.read(key) is None:
            reasons.setdefault(runs.why(spec), []).append((key, spec))
    return tuple(
        Missing(reason, len(found), _named(found, runs, use)) for reason, found in reasons.items()
    )


def _named(
    found: Sequence[tuple[str, RunSpec]], runs: Runs, use: Use
) -> tuple[tuple[str, str], ...]:
    named = []
    for key, spec in found[:MOST_NAMED]:
        failed = runs.failure(key) is not None
        if failed:
            runs.shown_in(key, use)
        named.append((run_name(spec), words.run_page(key) if failed else ""))
    return tuple(named)
