"""REPRODUCE.md and the pages under tables/ that it links: one of each table and figure, the claims,
the audit, and what was run at smoke scale.

The same store, the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from repro.backbones.describe import LOCAL
from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.papers.registry import FIGURES, TABLES
from repro.papers.request import Request
from repro.report import summary as report
from repro.report.figures.view import FigureView, view_figure
from repro.report.files import ENDINGS, FIGURES_FOLDER, command_line, table_name, write_changed
from repro.report.layout import alternative, cell, link, prose, prose_table, templates
from repro.report.protocol import choices, machines
from repro.report.render import markdown
from repro.report.summary import Based, Summary, View
from repro.report.view import TableView, view_table
from repro.stats.verdicts import MEANINGS
from repro.store.store import Store
from repro.words import counted

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_NAMED = 6
"""Claims of one kind, or cells, that the first page names."""
TABLES_FOLDER = "tables"


def view_of(request: Request, store: Store) -> View:
    if request.id in FIGURES:
        return view_figure(FIGURES[request.id], request, store)
    return view_table(TABLES[request.id], request, store)


def page_name(view: View) -> str:
    """ResAdapters-1.reduced.md: the page in tables/, also of a figure."""
    return f"{table_name(view.request)}.md"


def write_pages(summary: Summary, store: Store, folder: Path) -> list[Path]:
    """Writes REPRODUCE.md and every page that it links; returns the paths of the pages."""
    write_changed(folder / "REPRODUCE.md", front_page(summary))
    names = ("claims.md", "audit.md", "smoke.md")
    texts = {name: fill(name, summary) for name in names}
    paths = [write_changed(folder / TABLES_FOLDER / name, text) for name, text in texts.items()]
    return paths + [write_page(view, store, folder) for view in summary.views]


def write_page(view: View, store: Store, folder: Path) -> Path:
    return write_changed(folder / TABLES_FOLDER / page_name(view), page(view, store))


def front_page(summary: Summary) -> str:
    """REPRODUCE.md: the answer on one screen, the index, what is missing, how to read it."""
    return fill("REPRODUCE.md", summary)


def page(view: View, store: Store) -> str:
    """A table or figure with its numbers, and below them how they came about.

    No template: importing their library takes a tenth of the time of a stored table.
    """
    name, figure = table_name(view.request), isinstance(view, FigureView)
    folder, endings = (f"../{FIGURES_FOLDER}/", ENDINGS) if figure else ("", ("csv", "json", "tex"))
    files = ", ".join(link(ending.upper(), f"{folder}{name}.{ending}") for ending in endings)
    protocol = "Protocol: what the paper says, what is used here, and the source"
    lines = [
        f"# {prose(report.heading(view))}",
        "",
        f"[All tables and figures](../REPRODUCE.md). Files: {files}.",
        "",
        f"**Status:** {prose(_status(view))}",
        "",
        picture(view) if isinstance(view, FigureView) else markdown(view),
        *(_folded(protocol, _protocol(view.request)) if view.runs else ()),
        *_folded("Provenance: command, runs, machines and versions", _provenance(view, store)),
    ]
    return "\n".join(lines)


def fill(name: str, summary: Summary) -> str:
    """A page on everything that was asked for, from its template in `templates/`."""
    return _templates().get_template(f"{name}.jinja").render(summary=summary)


@cache
def _templates() -> Environment:
    environment = templates("repro.report", keep_trailing_newline=True)
    environment.filters |= {"prose": prose, "cell": cell}
    environment.globals |= {
        "report": report,
        "page_link": page_link,
        "judged_on": judged_on,
        "most_named": MOST_NAMED,
        "papers": PAPERS,
        "kinds": KINDS,
        "verdicts": MEANINGS,
    }
    return environment


def page_link(view: View, root: str) -> str:
    """A link to the page of a table or figure; `root` leads to the folder of the pages."""
    return link(view.request.id, root + page_name(view))


def judged_on(claim: Based, root: str) -> str:
    """Links to what a claim was judged on, with the conditions of its runs."""
    links = [f"{page_link(view, root)}, {prose(where)}" for view, where in claim.views]
    return "; ".join([*links, *map(prose, claim.said)]) or "—"


def _status(view: View) -> str:
    """Complete, 36 of 36 cells: 30 not comparable. Collapsed: ..."""
    said = ", ".join(f"{number} {word.lower()}" for word, number in report.tally(view).items())
    rows = report.collapsed(view)
    constant = f" Constant answers (†): {rows}." if rows else ""
    cells = f"{report.status(view)}, {view.done} of {counted(view.cells, 'cell')}"
    return f"{cells}{': ' * bool(said)}{said}.{constant}"


def picture(view: FigureView) -> str:
    """The picture with its caption and notes."""
    picture = quote(f"../{FIGURES_FOLDER}/{table_name(view.request)}.png")
    lines = [
        f"![{alternative(view.alternative)}]({picture})",
        "",
        f"**{view.id}.** {prose(view.caption)}",
        "",
        *(f"- {prose(note)}" for note in view.notes),
    ]
    return "\n".join(lines) + "\n"


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _protocol(request: Request) -> list[str]:
    """Field, the paper's value and its source, ours where it is another."""
    rows = [
        [
            one.field + (f" ({', '.join(one.rows)})" if one.rows else ""),
            str(one.paper or "—"),
            "" if one.same else str(one.here or "—"),
        ]
        for one in choices(request)
    ]
    return prose_table(["Field", "At the paper's scale", "Here, if another"], rows)


def _provenance(view: View, store: Store) -> list[str]:
    """What asks for it again, how many runs are behind it, and where they were trained."""
    lines = [f"    {command_line(view.request)}", ""]
    backbone = view.lead.backbone
    if backbone.id == LOCAL:
        lines += [
            f"The encoder {prose(backbone.name)} is a model folder ({backbone.revision}): to train "
            "more with it, set REPRO_MODELS to the folder that holds it. What is stored is shown "
            "without it.",
            "",
        ]
    if not view.runs:
        return [*lines, "Nothing was trained for it."]
    more = "; the CSV names those of each cell" * isinstance(view, TableView)
    lines.append(f"{counted(len(view.runs), 'run')} behind it{more}.")
    rows = [[one.device, one.work, one.versions or "—"] for one in machines(view.runs, store.read)]
    return [*lines, "", *prose_table(["Device", "Time", "Versions"], rows)] if rows else lines
