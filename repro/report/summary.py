"""What the first page answers, as data for REPRODUCE.md and for the site.

How many trained scores were judged at paper scale comes first, then what is counted, then the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import TYPE_CHECKING

from repro.papers.names import PAPERS, by_paper
from repro.papers.registry import ARTEFACTS
from repro.papers.request import SHORT_NAMES, as_typed
from repro.report.captions import of_data
from repro.report.figures.view import FigureView
from repro.report.files import table_name
from repro.report.protocol import Machine, machines
from repro.report.render import Cell
from repro.report.view import TableView
from repro.stats.verdicts import MEANINGS
from repro.store.entry import StoredRun
from repro.store.store import Store
from repro.tasks.catalogue import TITLES
from repro.words import counted, either

if TYPE_CHECKING:
    from repro.audit.numbers import Finding
    from repro.comparison.claims import JudgedClaim

View = TableView | FigureView
OFF = ("LOWER", "HIGHER", "DIFFERS")
JUDGED = ("MATCH", *OFF, "UNDECIDED", "SINGLE")
"""Verdicts on numbers that can be compared with the published ones."""
SCALES = {
    "paper": "the papers' encoders and data",
    "reduced": "a smaller encoder and fewer real rows",
    "smoke": "generated rows, to check the pipeline",
}
DECIDED = {
    "Confirmed by the paper's runs or by counts": ("confirmed",),
    "Reversed by the paper's runs or by counts": ("reversed",),
    "Other runs than the paper's point as claimed": ("direction holds",),
    "Other runs than the paper's point the other way": ("direction reversed",),
    "Single runs point as claimed": ("direction holds (one seed)",),
    "Single runs point the other way": ("direction reversed (one seed)",),
}
"""How a list of claims is called, and the verdicts on our runs that it holds. Runs of another model
or of other data confirm no claim, whatever their number, and what single runs say is only a sign,
which another seed may change.
"""
LONGEST = 200
"""Characters of a reason on the first page; the artefact's own page has all of it."""
MOST_NAMED = 6
"""Rows whose runs collapsed and that are named one by one."""


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the answer: its title, its number or "none yet", what is to be said of it."""

    title: str
    number: str
    says: str


@dataclass(frozen=True, slots=True)
class Based:
    """A claim and what it was judged on: tables and figures, each with the conditions of its runs,
    and what else is to be said (runs a side, or the source).
    """

    judged: JudgedClaim
    views: tuple[tuple[View, str], ...]
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that was asked for, the claims and the audit; `read` reads a run once."""

    views: tuple[View, ...]
    claims: tuple[JudgedClaim, ...]
    findings: tuple[Finding, ...]
    read: Callable[[str], StoredRun | None]
    stored: tuple[str, ...]
    """Keys of all runs in the store."""

    def at(self, *scales: str) -> list[View]:
        """What was asked for at these scales, in their order."""
        return [v for scale in scales for v in self.views if v.request.scale == scale]

    def claims_by_paper(self) -> list[tuple[str, list[Based]]]:
        return [
            (paper, [_based(claim, self) for claim in own])
            for paper, own in by_paper(self.claims, lambda one: one.claim.paper)
        ]

    def findings_by_paper(self) -> list[tuple[str, list[Finding]]]:
        return by_paper(self.findings, lambda one: one.paper)


def summarise(views: Sequence[View], store: Store) -> Summary:
    """Judges the claims, audits the printed numbers."""
    from repro.audit.run import findings as audit  # neither is needed for the page of one table
    from repro.comparison.claims import judge_all

    return Summary(
        tuple(views),
        tuple(judge_all(store)),
        tuple(audit()),
        cache(store.read),
        tuple(store.keys()),
    )


def answer(summary: Summary) -> list[Point]:
    """Whether the papers hold, in a few lines: first the trained scores at paper scale."""
    trained = verdicts(summary.at("paper"), counts=False)
    facts = verdicts(summary.views, counts=True)
    judged, exact = (sum(found[word] for word in JUDGED) for found in (trained, facts))
    says = "Numbers of parameters, other counts and words are judged exactly; nothing is trained."
    return [
        Point(
            "Trained scores judged at paper scale",
            f"{judged:,}" if judged else "none yet",
            _listed(trained)
            if judged
            else "No trained score of a paper is confirmed or contradicted here.",
        ),
        Point(
            "Facts judged",
            f"{exact:,}" if exact else "none yet",
            f"{_listed(facts, JUDGED)} {says}" if exact else says,
        ),
        *(point for scale in ("reduced", "smoke") if (point := _beside(summary, scale))),
        *_stored(summary),
        *_claimed(summary),
    ]


def _claimed(summary: Summary) -> list[Point]:
    """The claims on printed numbers and on the runs here, and the audit."""
    many = len(summary.claims)
    printed = Counter(claim.published for claim in summary.claims)
    ours = Counter(claim.ours for claim in summary.claims)
    audit = Counter(one.severity for one in summary.findings)
    others = ", ".join(f"{ours[word]} {word}" for word in sorted(ours) if word != "open")
    doubts, notes = counted(audit["doubt"], "doubt"), counted(audit["note"], "note")
    return [
        Point(
            "Claims on the papers' own numbers",
            f"{printed['holds']} of {many} hold",
            f"{printed['does not hold']} do not, {printed['not printed']} rest on numbers that "
            "are not printed.",
        ),
        Point(
            "Claims on the runs here",
            f"{ours['open']} of {many} open",
            f"{others}; listed below with scale, seeds and rows." if others else "",
        ),
        Point(
            "Audit of the printed numbers",
            counted(audit["error"], "error"),
            f"{doubts} and {notes} in {counted(len(PAPERS), 'paper')}.",
        ),
    ]


def _listed(found: Counter[str], words: Iterable[str] = MEANINGS) -> str:
    """10 match, 2 lower."""
    return ", ".join(f"{found[word]:,} {word.lower()}" for word in words if found[word]) + "."


def _beside(summary: Summary, scale: str) -> Point | None:
    """What was run at a scale that judges no score; None where that is nothing."""
    views = summary.at(scale)
    keys = sorted({key for view in views for key in view.runs})
    if not keys:
        return None
    encoders = sorted({view.lead.backbone.name for view in views if view.runs})
    found = verdicts(views, counts=False)
    trained_on = machines(keys, summary.read)
    took = f"Trained for {Machine.total(trained_on)}." if trained_on else ""
    says = f"{SCALES[scale].capitalize()} ({', '.join(encoders)}): no score is judged"
    if scale != "smoke" and found["NOT COMPARABLE"]:
        says += f", {found['NOT COMPARABLE']:,} stand beside a published one"
    return Point(f"Runs at {scale} scale", f"{len(keys):,}", f"{says}. {took}")


def _stored(summary: Summary) -> list[Point]:
    """What the store holds beside the runs that are shown: those that these were made from, and
    others.
    """
    shown = {key for view in summary.views for key in view.runs} & set(summary.stored)
    parents, waiting = set[str](), list(shown)
    while waiting:
        run = summary.read(waiting.pop())
        new = set(run.spec.parents.values()) - shown - parents if run is not None else set()
        parents |= new
        waiting += new
    parents &= set(summary.stored)
    others = len(summary.stored) - len(shown) - len(parents)
    said = [f"{len(parents):,} are parents, whose weights or layers those use"]
    said = said * bool(parents) + [f"{others:,} are of nothing that was asked for"] * bool(others)
    says = f"{len(shown):,} are shown in a table or figure, {' and '.join(said)}."
    return [Point("Runs in the store", f"{len(summary.stored):,}", says)] * bool(said)


def verdicts(views: Iterable[View], *, counts: bool) -> Counter[str]:
    """How often each verdict stands on counted numbers, or on trained scores."""
    return Counter(
        cell["verdict"]
        for _, cell in cells_of(views)
        if cell["verdict"] is not None and (cell["kind"] == "fact") == counts
    )


def tally(view: View) -> dict[str, int]:
    """How often each verdict stands in a table, in the order of their meanings."""
    found = Counter(cell["verdict"] for _, cell in cells_of([view]))
    return {word: found[word] for word in MEANINGS if found[word]}


def cells_of(views: Iterable[View]) -> list[tuple[TableView, Cell]]:
    """Every cell that was asked for and can be reproduced, with its table."""
    return [
        (view, cell)
        for view in views
        if isinstance(view, TableView)
        for cell in view.records
        if cell["wanted"]
    ]


def contradictions(summary: Summary) -> list[tuple[TableView, Cell]]:
    return [found for found in cells_of(summary.views) if found[1]["verdict"] in OFF]


def decided(summary: Summary) -> list[tuple[str, list[Based]]]:
    """The claims that our runs decide, by what they say, and those that the papers' own numbers
    contradict.
    """
    found = {
        title: [_based(claim, summary) for claim in summary.claims if claim.ours in words]
        for title, words in DECIDED.items()
    }
    found["Contradicted by the paper's own printed numbers"] = [
        Based(claim, (), (claim.claim.source,))
        for claim in summary.claims
        if claim.published == "does not hold"
    ]
    return [(title, claims) for title, claims in found.items() if claims]


def _based(claim: JudgedClaim, summary: Summary) -> Based:
    """With the tables and figures that are shown of those that a claim was judged on, and on how
    many runs a side: "1 to 3 runs a side"; nothing where runs have no part in it.
    """
    named = {table_name(view.request): view for view in summary.views}
    views = [named[name] for name in claim.artefacts if name in named]
    gaps = [one.ours.gap.runs for one in claim.statements if one.ours.gap is not None]
    every = sorted({number for runs in gaps for number in runs if number})
    said: tuple[str, ...] = ()
    if every:
        least = f"{every[0]} to " if len(every) > 1 else ""
        said = (f"{least}{counted(every[-1], 'run')} a side",)
    return Based(claim, tuple((view, where(view, summary)) for view in views), said)


def missing(summary: Summary) -> list[str]:
    """What is not there, from the most to the least: scales, tables and figures, cells."""
    asked = {view.request.id for view in summary.views}
    on_real_data = {view.request.id for view in summary.at("paper", "reduced")}
    said = []
    if not any(view.runs for view in summary.at("paper")):
        said.append("no run at paper scale, of any table or figure")
    for what, names in (
        ("no run on the papers' data", asked - on_real_data),
        ("not asked for", ARTEFACTS.keys() - asked),
    ):
        listed = ", ".join(name for name in ARTEFACTS if name in names)
        said += [f"{what}: {listed}"] * bool(listed)
    gaps = Counter(c["reason"] for _, c in cells_of(summary.views) if c["verdict"] == "GAP")
    shown = gaps.most_common(MOST_NAMED)
    said += [f"{counted(number, 'cell')}: {shorten(why, LONGEST)}" for why, number in shown]
    left = gaps.total() - sum(number for _, number in shown)
    if left:
        said.append(f"{counted(left, 'cell')} for other reasons, which their pages name")
    return said


def encoder(view: View) -> str:
    """The encoder, or "" of a table of data."""
    return "" if isinstance(view, TableView) and of_data(view) else view.lead.backbone.name


def training_rows(view: View, read: Callable[[str], StoredRun | None]) -> str:
    """The cap on the training rows of its stored runs: "100, 300 or all"; "" where none is
    trained.
    """
    runs = [run for key in view.runs if (run := read(key)) is not None]
    caps = {run.spec.task.train_rows or 0 for run in runs}
    said = [f"{cap:,}" for cap in sorted(caps - {0})] + ["all"] * (0 in caps)
    return either(said) if said else ""


def where(view: View, summary: Summary) -> str:
    """Under which conditions its numbers were made: "reduced scale, MiniLM-L6, 1 seed, 1,200
    training rows".
    """
    said = [f"{view.request.scale} scale", encoder(view)]
    rows = training_rows(view, summary.read)
    if rows:
        said += [counted(view.request.seeds, "seed"), f"{rows} training rows"]
    elif isinstance(view, TableView):
        said.append("counted, nothing trained")
    return ", ".join(filter(None, said))


def title(view: View) -> str:
    """What it shows, and which part of it was asked for."""
    return "; ".join(filter(None, [ARTEFACTS[view.request.id].title, ", ".join(part(view))]))


def heading(view: View) -> str:
    """Id, scale, encoder, and what else was asked for, so that variants can be told apart."""
    settings = view.request.settings
    short = {option.path: name for name, option in SHORT_NAMES.items()}
    said = [f"{view.request.id}, {view.request.scale} scale", encoder(view), *part(view)]
    for path, value in settings.items():
        given = "no cap" if value is None else as_typed(value)
        said.append(f"{short.get(path, path).replace('_', ' ')} {given}")
    return ", ".join(filter(None, said))


def part(view: View) -> list[str]:
    """Which part or reading of a table or figure was asked for, and how many seeds where these are
    not its own.
    """
    request = view.request
    said = [TITLES[task] for task in request.tasks or ()]
    for names in (request.sections, request.rows, request.columns):
        said += names or ()
    said += [request.method] if request.method else []
    flags = ("published_layers", "as_released", "server")
    said += [flag.replace("_", " ") for flag in flags if getattr(request, flag)]
    if request.seeds != ARTEFACTS[request.id].default_seeds[request.scale]:
        said.append(counted(request.seeds, "seed"))
    return said


def status(view: View) -> str:
    """One word: how complete it is, and where its numbers are judged, what they say."""
    if not view.complete:
        return "incomplete" if view.done else "empty"
    found = {cell["verdict"] for _, cell in cells_of([view])} & set(JUDGED)
    if found & set(OFF):
        return "differs"
    if found == {"MATCH"}:
        return "matches"
    return "open" if found else "complete"


STATUSES = {
    "matches": "every number that can be judged confirms the published one",
    "differs": "at least one number contradicts the published one",
    "open": "too few runs, or runs that decide nothing",
    "complete": "everything is there, and nothing in it can be judged",
    "incomplete": "cells are missing",
    "empty": "no cell is there",
}


def collapsed(view: View) -> str:
    """The rows of a table, or models of a figure, whose runs give a constant answer."""
    if isinstance(view, FigureView):
        return view.collapsed
    names = [row.row.name for row in view.rows if row.collapsed]
    if len(names) > MOST_NAMED:
        return f"{len(names)} of {len(view.rows)} rows"
    return ", ".join(names)
