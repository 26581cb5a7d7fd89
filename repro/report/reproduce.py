"""REPRODUCE.md and the pages under tables/ that it links: one of each table and figure, the claims,
the audit, and what was run at smoke scale.

The same store, the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from repro.backbones.describe import LOCAL
from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.papers.registry import FIGURES, TABLES
from repro.papers.request import Request
from repro.report.figures.view import FigureView, view_figure
from repro.report.files import ENDINGS, FIGURES_FOLDER, command_line, table_name, write_changed
from repro.report.layout import Markdown, alternative, link, prose, prose_table
from repro.report.protocol import machines, protocol_table
from repro.report.render import markdown
from repro.report.summary import (
    SCALES,
    STATUSES,
    Based,
    Summary,
    View,
    answer,
    collapsed,
    contradictions,
    decided,
    encoder,
    heading,
    missing,
    status,
    tally,
    title,
    training_rows,
)
from repro.report.view import TableView, view_table
from repro.stats.verdicts import MEANINGS
from repro.store.store import Store
from repro.words import counted

MOST_NAMED = 6
"""Claims of one kind, or cells, that the first page names."""
TABLES_FOLDER = "tables"
CLAIMS, AUDIT, SMOKE = "claims.md", "audit.md", "smoke.md"
BACK = "[All tables and figures](../REPRODUCE.md)."
HOW_TO_READ = [
    "## How to read it",
    "",
    "A page has the table or figure, its notes and, folded below them, its protocol (each value "
    "with its source) and its provenance (command, machines, versions). A table shows the "
    "published number, the reproduced one (mean ± spread over seeds), their difference and, where "
    "they can be compared, the verdict. † marks runs that give a constant answer. Claims are "
    "judged at paper and reduced scale only.",
    "",
    *prose_table(["Scale", "What is trained"], [list(one) for one in SCALES.items()]),
    "",
    *prose_table(["Status", "Meaning"], [list(one) for one in STATUSES.items()]),
    "",
    *prose_table(["Verdict", "Meaning"], [[word, said] for word, said in MEANINGS.items()]),
    "",
    "The rule for verdicts is in `docs/verdicts.md`. `python -m repro report` writes this file and "
    "all pages from the stored results alone; the same results give the same bytes.",
]


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
    texts = {CLAIMS: claims_page, AUDIT: audit_page, SMOKE: smoke_page}
    paths = [write_changed(folder / TABLES_FOLDER / n, made(summary)) for n, made in texts.items()]
    return paths + [write_page(view, store, folder) for view in summary.views]


def write_page(view: View, store: Store, folder: Path) -> Path:
    return write_changed(folder / TABLES_FOLDER / page_name(view), page(view, store))


def front_page(summary: Summary) -> str:
    """REPRODUCE.md: the answer on one screen, the index, what is missing, how to read it."""
    root = f"{TABLES_FOLDER}/"
    lines = ["# Do the published numbers reproduce?", ""]
    lines += [f"- **{one.title}: {one.number}.** {prose(one.says)}" for one in answer(summary)]
    lines += [
        *_not_as_published(summary, root),
        f"- **In full:** {link('claims', root + CLAIMS)} with their arithmetic, "
        f"{link('audit', root + AUDIT)} of the printed numbers, "
        f"{link('smoke scale', root + SMOKE)}.",
        "",
        "## Tables and figures",
        "",
        *index(summary, ("paper", "reduced"), root),
        "",
        "## What is missing",
        "",
        *(f"- {prose(one)}." for one in missing(summary) or ["Nothing"]),
        "",
        "## Claims that are decided",
        "",
        *_decided(summary, root),
        "",
        *HOW_TO_READ,
    ]
    return "\n".join(lines) + "\n"


def index(summary: Summary, scales: Sequence[str], root: str) -> list[str]:
    """One line a table or figure at these scales; `root` leads to the folder of the pages."""
    rows = [
        [
            link(view.request.id, root + page_name(view)),
            title(view),
            view.request.scale,
            encoder(view) or "—",
            training_rows(view, summary.read) or "—",
            status(view),
        ]
        for view in summary.at(*scales)
    ]
    if not rows:
        return ["None yet."]
    return prose_table(["Page", "Title", "Scale", "Encoder", "Training rows", "Status"], rows)


def _not_as_published(summary: Summary, root: str) -> list[str]:
    found = contradictions(summary)
    cells = [
        f"{link(view.request.id, root + page_name(view))}, "
        f"{prose(', '.join([cell['row'], cell['column']]))} ({cell['verdict'].lower()})"
        for view, cell in found[:MOST_NAMED]
    ]
    cells += [f"and {len(found) - len(cells)} more"] * (len(found) > len(cells))
    return [f"- **Not as published:** {'; '.join(cells)}."] * bool(found)


def _decided(summary: Summary, root: str) -> list[str]:
    """The claims that are decided; of many of a kind the first."""
    lines = []
    for what, claims in decided(summary):
        lines.append(f"- **{what}:**")
        for one in claims[:MOST_NAMED]:
            claim, basis = one.judged.claim, _judged_on(one, root)
            lines.append(f"  - {prose(PAPERS[claim.paper])}: {prose(claim.says)} ({basis})")
        more = len(claims) - MOST_NAMED
        lines += [f"  - and {more} more in {link(CLAIMS, root + CLAIMS)}"] * (more > 0)
    return lines or ["None yet."]


def _judged_on(claim: Based, root: str = "") -> Markdown:
    """Links to what a claim was judged on, with the conditions of its runs."""
    links = [
        f"{link(view.request.id, root + page_name(view))}, {prose(conditions)}"
        for view, conditions in claim.views
    ]
    return Markdown("; ".join([*links, *map(prose, claim.said)]) or "—")


def _titled(title: str, says: str, lines: Sequence[str]) -> str:
    return "\n".join([f"# {title}", "", BACK, "", says, "", *lines])


def smoke_page(summary: Summary) -> str:
    """The appendix: what was run on generated data, which says nothing about the papers."""
    says = (
        "Generated data and small encoders: these runs show that every table and figure can be "
        "trained, scored and written. Their scores say nothing about the papers; numbers of "
        "parameters are those of the papers' models where a verdict stands beside them."
    )
    return _titled("Tables and figures at smoke scale", says, index(summary, ("smoke",), "")) + "\n"


def claims_page(summary: Summary) -> str:
    says = (
        "Each is a sentence of the paper or a reading of one of its tables or figures, judged on "
        "the printed numbers and on the runs here. `docs/claims.md` has the rule."
    )
    head, lines = ["Claim", "On the printed numbers", "On the runs here", "Judged on"], []
    for name, claims in summary.claims_by_paper():
        rows = []
        for based in claims:
            one, claim = based.judged, based.judged.claim
            said = f"{claim.says} ({KINDS[claim.kind]}: {claim.source})"
            both = f"{one.published}: {one.published_detail}", f"{one.ours}: {one.ours_detail}"
            rows.append([said, *both, _judged_on(based)])
        lines += [f"## {name}", "", *prose_table(head, rows), ""]
    return _titled("Claims of the papers", says, lines)


def audit_page(summary: Summary) -> str:
    says = (
        "What the published numbers say against themselves. `docs/audit.md` lists what is checked."
    )
    head, lines = ["Severity", "Finding", "Arithmetic", "Source"], []
    for name, findings in summary.findings_by_paper():
        rows = [[one.severity, one.says, one.arithmetic, one.source] for one in findings]
        lines += [f"## {name}", "", *prose_table(head, rows), ""]
    return _titled("Audit of the printed numbers", says, lines)


def page(view: View, store: Store) -> str:
    """A table or figure with its numbers, and below them how they came about."""
    name, figure = table_name(view.request), isinstance(view, FigureView)
    folder, endings = (f"../{FIGURES_FOLDER}/", ENDINGS) if figure else ("", ("csv", "json", "tex"))
    files = ", ".join(link(ending.upper(), f"{folder}{name}.{ending}") for ending in endings)
    protocol = "Protocol: what the paper says, what is used here, and the source"
    lines = [
        f"# {prose(heading(view))}",
        "",
        f"{BACK} Files: {files}.",
        "",
        f"**Status:** {prose(_status(view))}",
        "",
        picture(view) if isinstance(view, FigureView) else markdown(view),
        *(_folded(protocol, protocol_table(view.request)) if view.runs else ()),
        *_folded("Provenance: command, runs, machines and versions", _provenance(view, store)),
    ]
    return "\n".join(lines)


def _status(view: View) -> str:
    """Complete, 36 of 36 cells: 30 not comparable. Collapsed: ..."""
    said = ", ".join(f"{number} {word.lower()}" for word, number in tally(view).items())
    rows = collapsed(view)
    constant = f" Constant answers (†): {rows}." if rows else ""
    cells = f"{status(view)}, {view.done} of {counted(view.cells, 'cell')}"
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
    behind = f"{counted(len(view.runs), 'run')} behind it"
    lines += [
        f"{behind}; the CSV names those of each cell."
        if isinstance(view, TableView)
        else f"{behind}."
    ]
    rows = [[one.device, one.work, one.versions or "—"] for one in machines(view.runs, store.read)]
    return [*lines, "", *prose_table(["Device", "Time", "Versions"], rows)] if rows else lines
