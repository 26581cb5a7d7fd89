"""The first screen of REPRODUCE.md: what was run, what holds, what does not, what is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import shorten

from repro.audit.finding import Finding
from repro.papers.claims import KINDS
from repro.papers.names import PAPERS
from repro.papers.registry import ARTEFACTS
from repro.papers.tables import Fact
from repro.report.cells import Cell
from repro.report.claims import JudgedClaim
from repro.report.figures.view import FigureView
from repro.report.layout import markdown_table, prose
from repro.report.view import TableView
from repro.stats.verdicts import MEANINGS
from repro.store.store import Store
from repro.words import counted, duration

View = TableView | FigureView
BORNE_OUT = "confirmed", "direction holds"
REVERSED = "reversed", "direction reversed"
"""What several runs may say for a claim, and against it."""
AS_CLAIMED, AGAINST = "direction holds (one seed)", "direction reversed (one seed)"
"""What single runs may say: their sign, which another seed may change."""
LONGEST = 200
"""Characters of a reason on the first screen; the notes below its table have all of it."""


def what_holds(
    views: Sequence[View], claims: Sequence[JudgedClaim], findings: Sequence[Finding], store: Store
) -> list[str]:
    """A few lines that answer whether the papers hold."""
    return [
        *(f"- {line}" for line in _ran(views, store)),
        f"- **Claims on our runs:** {_on_ours(claims)}",
        *_listed("Borne out here", [c for c in claims if c.ours in BORNE_OUT]),
        *_listed("Reversed here", [c for c in claims if c.ours in REVERSED]),
        *_listed("Single runs point as claimed", [c for c in claims if c.ours == AS_CLAIMED]),
        *_listed("Single runs point the other way", [c for c in claims if c.ours == AGAINST]),
        f"- **Claims on the papers' own numbers:** {_on_printed(claims)}",
        *_listed("Do not hold", [c for c in claims if c.published == "does not hold"]),
        f"- **Cells:** {_cells(views)}",
        f"- **Audit of the printed numbers:** {_audit(findings)}",
        f"- **Missing:** {_missing(views)}",
    ]


def _ran(views: Sequence[View], store: Store) -> list[str]:
    """One line a scale: the runs, their encoders, and the machines they took."""
    lines = []
    for scale in ("paper", "reduced", "smoke"):
        keys = sorted({k for view in views if view.request.scale == scale for k in view.runs})
        if not keys:
            continue
        encoders = sorted(
            {v.lead.backbone.name for v in views if v.request.scale == scale and v.runs}
        )
        far = "" if scale == "paper" else ", not comparable with the printed numbers"
        lines.append(
            f"**Run at {scale} scale**{far}: {counted(len(keys), 'run')} of "
            f"{prose(', '.join(encoders))} on {prose(machines(keys, store))}."
        )
    return lines or ["**Run:** nothing yet."]


def machines(keys: Iterable[str], store: Store) -> str:
    """Where these runs trained, jobs counted once: "a CPU, 2.1 h in 14 jobs"."""
    jobs: dict[tuple[str, ...], tuple[str, float]] = {}
    for key in keys:
        run = store.read(key)
        machine = run.environment() if run is not None else {}
        if machine:
            jobs[tuple(machine["members"])] = machine["device_name"], float(machine["seconds"])
    devices: dict[str, list[float]] = {}
    for device, seconds in jobs.values():
        devices.setdefault(device, []).append(seconds)
    said = [
        f"{device}, {duration(math.fsum(taken))} in {counted(len(taken), 'job')}"
        for device, taken in sorted(devices.items())
    ]
    return "; ".join(said) or "an unrecorded machine"


def _on_ours(claims: Sequence[JudgedClaim]) -> str:
    counts = Counter(claim.ours for claim in claims)
    words = sorted(counts, key=lambda word: (word == "open", word))
    return f"{', '.join(f'{counts[word]} {word}' for word in words)}, of {len(claims)}."


def _on_printed(claims: Sequence[JudgedClaim]) -> str:
    counts = Counter(claim.published for claim in claims)
    return (
        f"{counts['holds']} hold, {counts['does not hold']} do not, "
        f"{counts['not printed']} rest on numbers that are not printed."
    )


def _listed(title: str, claims: Sequence[JudgedClaim]) -> list[str]:
    """One line a paper; the section of claims has their arithmetic."""
    lines = []
    for paper, name in PAPERS.items():
        said = [claim.claim.says for claim in claims if claim.claim.paper == paper]
        if said:
            lines.append(f"  - {title}, {name}: {prose(' '.join(said))}")
    return lines


def _cells(views: Sequence[View]) -> str:
    cells = cells_of(views)
    counts = Counter(str(cell.verdict) for cell in cells if cell.verdict is not None)
    said = [f"{counts[word]} {word}" for word in MEANINGS if counts[word]]
    equal = sum(cell.verdict == "MATCH" and isinstance(cell.column, Fact) for cell in cells)
    how = f" {equal} of the {counts['MATCH']} MATCH are counted, not measured." if equal else ""
    return f"{', '.join(said) or 'none'}.{how} What the words mean: docs/verdicts.md."


def cells_of(views: Sequence[View]) -> list[Cell]:
    """Every cell of every table that was asked for and can be reproduced."""
    tables = [view for view in views if isinstance(view, TableView)]
    return [c for view in tables for row in view.rows for c in row.cells if c.wanted]


def _audit(findings: Sequence[Finding]) -> str:
    counts = Counter(found.severity for found in findings)
    return (
        f"{counted(counts['error'], 'error')}, {counted(counts['doubt'], 'doubt')} and "
        f"{counted(counts['note'], 'note')} in {counted(len(PAPERS), 'paper')}; listed below."
    )


def _missing(views: Sequence[View]) -> str:
    """Cells without a run by their reason, and tables nobody asked for."""
    asked = {view.request.id for view in views}
    absent = [name for name in ARTEFACTS if name not in asked]
    gaps = Counter(cell.reason for cell in cells_of(views) if cell.verdict == "GAP")
    said = [
        f"{counted(number, 'cell')} ({prose(shorten(reason, LONGEST))})"
        for reason, number in sorted(gaps.items())
    ]
    if absent:
        said.append(f"not asked for: {', '.join(absent)}")
    return f"{'; '.join(said) or 'nothing'}."


def verdict_counts(view: View) -> list[str]:
    """How often each verdict stands in a table, one word a number: "31 NOT COMPARABLE"."""
    if isinstance(view, FigureView):
        return []
    counts = Counter(str(cell.verdict) for cell in cells_of([view]) if cell.verdict)
    return [f"{counts[word]} {word}" for word in MEANINGS if counts[word]]


def claims_section(claims: Sequence[JudgedClaim]) -> list[str]:
    """All claims, judged twice."""
    lines = [
        "## Claims",
        "",
        "Each is a sentence of the paper or a reading of one of its tables or figures, judged on "
        "the printed numbers and on our runs.",
        "",
    ]
    for paper, name in PAPERS.items():
        of_paper = [claim for claim in claims if claim.claim.paper == paper]
        if not of_paper:
            continue
        rows = [
            [
                f"{claim.claim.says} ({KINDS[claim.claim.kind]}: {claim.claim.source})",
                f"{claim.published}: {claim.published_detail}",
                f"{claim.ours}: {claim.ours_detail}",
            ]
            for claim in of_paper
        ]
        head = ["Claim", "On the printed numbers", "On our runs"]
        lines += [f"### {name}", "", *markdown_table(head, rows, left=3), ""]
    return lines


def audit_section(findings: Sequence[Finding]) -> list[str]:
    """All findings, by paper."""
    lines = ["## Audit of the printed numbers", ""]
    for paper, name in PAPERS.items():
        of_paper = [found for found in findings if found.paper == paper]
        if not of_paper:
            continue
        rows = [[found.severity, found.says, found.arithmetic, found.source] for found in of_paper]
        head = ["", "Finding", "Arithmetic", "Source"]
        lines += [f"### {name}", "", *markdown_table(head, rows, left=4), ""]
    return lines
