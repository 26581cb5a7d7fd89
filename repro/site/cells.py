"""A cell of a table as its page shows it: number, verdict, and the runs behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from repro.report.layout import plain_label
from repro.report.render import GAP, Cell, with_spread
from repro.report.runs_found import kept_epoch
from repro.report.view import TableView
from repro.site import words
from repro.site.plots import spark
from repro.site.runs import Runs, Use, by_epoch, plain
from repro.spec import RunSpec, run_key
from repro.words import counted, grouped, run_name

MOST_NAMED = 40
"""More missing runs than this are counted, not named."""


def show(view: TableView, cell: Cell, runs: Runs) -> dict[str, Any]:
    """A cell as its template reads it: its row of the comparison frame, and that in words. `facts`
    and `evidence` are (term, words); `runs` are behind the number, `others` were read to choose
    these; `plotted`: its words in a plot, if it is in one.
    """
    use = Use(
        words.page_of(view.request),
        words.cell_id(view.table, cell),
        view.table.id,
        f"{cell['row']}, {cell['column']}",
    )
    specs = {run_key(spec): spec for spec in _specs(view, cell)}
    behind = _behind(view, cell, [*specs], runs, use)
    alone = cell["difference"] is None and None not in (cell["mean"], cell["published"])
    shown = {
        "id": use.anchor,
        "record": cell,
        "value": _value(cell),
        "published": "" if alone else words.printed(cell),
        "difference": words.difference(cell["difference"], cell["digits"]),
        "word": words.WORDS[cell["verdict"]] if cell["verdict"] else None,
        "reason": _reason(cell),
        "facts": _facts(view, cell),
        "evidence": _evidence(cell),
        "runs": [one for key, one in behind.items() if key in cell["runs"]],
        "others": [one for key, one in behind.items() if key not in cell["runs"]],
        "missing": _missing(specs, runs, use),
        "plotted": _plotted(cell),
    }
    return shown | {"opens": bool(shown["facts"] or shown["runs"] or shown["missing"])}


def _value(cell: Cell) -> str:
    if cell["words"] is not None:
        return str(cell["words"])
    if cell["mean"] is None:
        return GAP if cell["wanted"] or cell["verdict"] else ""
    return words.minus(with_spread(cell)) + " †" * bool(cell["collapsed"])


def _reason(cell: Cell) -> str:
    if cell["verdict"] == "GAP" and cell["kind"] == "mean":
        return f"a mean needs every column, here stand {cell['reason']}"
    return cell["reason"] or ""


def _plotted(cell: Cell) -> tuple[str, str] | None:
    """The name in a plot and the words beside the mark; None for a cell that does not compare a
    measured number of one of the paper's models with a printed one.
    """
    if cell["measure"] == "difference" or cell["reference"] or cell["margin"] is None:
        return None
    places, word = cell["digits"], words.WORDS[cell["verdict"]]
    ends = _interval(cell, 95)
    told = f" [{words.interval(ends, places)}]" if ends else " (one run)"
    difference = words.difference(cell["difference"], places)
    name = plain_label(f"{cell['row']}, {cell['column']}")
    return name, f"{difference}{told} {word.sign} {word.text}"


def _interval(cell: Cell, width: int) -> tuple[float, float] | None:
    low, high = cell[f"low_{width}"], cell[f"high_{width}"]
    return None if low is None else (low, high)


def _facts(view: TableView, cell: Cell) -> list[tuple[str, str]]:
    facts = []
    if cell["source"] is not None:
        of = f", {counted(cell['published_n'], 'run')}" if cell["published_n"] else ""
        facts.append(("Published", f"{words.printed(cell)}{of} ({cell['source']})"))
    if cell["mean"] is not None and cell["measure"] == "external":
        runs = f" ({counted(cell['n'], 'run')})" * (cell["n"] is not None)
        facts.append(("External", _value(cell) + runs))
    elif cell["mean"] is not None:
        runs = counted(cell["n"], "run") if cell["kind"] == "score" else ""
        kind = "standard error" if cell["spread"] == "sem" else "standard deviation"
        how = f" ({runs})" * bool(runs)
        if cell["n"] > 1:
            how = f" ({cell['statistic']} ± {kind} of {runs})"
        facts.append(("Reproduced", _value(cell) + how))
    if cell["difference"] is not None:
        facts.append(("Difference", words.difference(cell["difference"], cell["digits"])))
    if cell["verdict"]:
        word = words.WORDS[cell["verdict"]]
        facts.append(("Verdict", f"{word.sign} {word.text}: {word.meaning}"))
    if cell["reason"]:
        facts.append(("Why", _reason(cell)))
    if cell["chosen"]:
        chosen = ", ".join(f"{name} {plain(value)}" for name, value in cell["chosen"].items())
        facts.append(("Chosen on validation", chosen))
    if cell["partial"]:
        facts.append(("Missing", cell["partial"]))
    if cell["collapsed"]:
        facts.append(("Collapsed", f"{counted(cell['collapsed'], 'run')} †, {view.table.collapse}"))
    return facts


def _evidence(cell: Cell) -> list[tuple[str, str]]:
    if cell["margin"] is None:
        return []
    places = cell["digits"] + 1
    facts = [("Margin", f"±{cell['margin']:.{places}f}, declared before any result")]
    for width, term in ((95, "95 % interval"), (90, "90 % interval, for equivalence")):
        ends = _interval(cell, width)
        facts += [(term, words.interval(ends, places))] if ends else []
    others = (
        ("basis", "Compared", "{}"),
        ("p_adjusted", "p, adjusted over the table", "{:.3g}"),
        ("cv_star", "CV*, published and reproduced together", "{:.2f} %"),
    )
    told = ((term, cell[name], how) for name, term, how in others)
    return facts + [(term, how.format(value)) for term, value, how in told if value is not None]


def _specs(view: TableView, cell: Cell) -> list[RunSpec]:
    """The runs that a score is of, or is chosen from; none where it cannot be reproduced."""
    row = next(one for one in view.table.rows if one.name == cell["row"])
    scores = (one for one in view.table.scores if one.name == cell["column"])
    asked = any(not view.table.gap(column, view.request) for column in scores)
    return view.matrix.of(row.name, cell["column"]) if asked and row.trained else []


def _behind(
    view: TableView, cell: Cell, asked: Sequence[str], runs: Runs, use: Use
) -> dict[str, dict[str, str]]:
    """Key -> a run behind the number, or read to choose it: its page, its score, and a small curve
    of that score by epoch.
    """
    score = cell["kind"] == "score" and cell["measure"] != "difference"
    values = (cell["values"] or []) if score else []
    own = len(values) == len(cell["runs"])
    told = dict(zip(cell["runs"], values, strict=True)) if own else {}
    epoch = next(row.epoch for row in view.table.rows if row.name == cell["row"])
    found: dict[str, dict[str, str]] = {}
    for key in dict.fromkeys((*cell["runs"], *asked)):
        run = runs.read(key)
        if run is None:
            continue
        runs.shown_in(key, use)
        scored = (cell["split"], cell["protocol"], cell["metric"], cell["group"])
        kept = kept_epoch(run) if epoch is None else epoch
        said = [f"epoch {kept} of {run.spec.recipe.epochs}"]
        said += ["collapsed †"] * bool(run.result.collapsed)
        found[key] = {
            "name": run_name(run.spec),
            "page": words.run_page(key),
            "value": words.minus(f"{told[key]:.2f}") if key in told else "",
            "spark": spark(by_epoch(run, scored) if cell["kind"] == "score" else []),
            "told": ", ".join(said),
        }
    return found


def _missing(specs: Mapping[str, RunSpec], runs: Runs, use: Use) -> list[dict[str, Any]]:
    """The runs without a result, by reason: (name, page or "")."""
    lacking = {key: spec for key, spec in specs.items() if runs.read(key) is None}
    found = []
    for reason, keys in grouped((runs.why(spec), key) for key, spec in lacking.items()).items():
        named = []
        for key in keys[:MOST_NAMED]:
            failed = runs.failure(key) is not None
            if failed:
                runs.shown_in(key, use)
            named.append((run_name(specs[key]), words.run_page(key) if failed else ""))
        found.append({"reason": reason, "count": len(keys), "runs": named})
    return found
