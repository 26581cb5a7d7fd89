"""All checks on the published numbers, paper by paper. Reads the CSVs only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from repro.audit import adaptable_adapters, houlsby, hyperformer, peters, resadapters, three_shared
from repro.audit.copies import copies
from repro.audit.finding import Finding
from repro.audit.notes import NOTES
from repro.audit.numbers import Tables, load
from repro.audit.series import all_series
from repro.papers.names import PAPERS

CHECKS: dict[str, Callable[[Tables], list[Finding]]] = {
    "resadapters": resadapters.check,
    "houlsby": houlsby.check,
    "three_shared": three_shared.check,
    "peters": peters.check,
    "hyperformer": hyperformer.check,
    "adaptable_adapters": adaptable_adapters.check,
}
SEVERITIES = ("error", "doubt", "note")


def findings(paper: str | None = None) -> list[Finding]:
    """What the audit finds in one paper, or in all: by paper, severity and id."""
    tables = {name: load(name) for name in PAPERS}
    found = [*computed(tables), *NOTES]
    names = list(PAPERS)
    return sorted(
        (one for one in found if paper in (None, one.paper)),
        key=lambda one: (names.index(one.paper), SEVERITIES.index(one.severity), one.id),
    )


def computed(papers: Mapping[str, Tables]) -> list[Finding]:
    """What arithmetic alone finds in these tables, by paper and CSV."""
    found = [one for name, check in CHECKS.items() for one in check(papers[name])]
    return [*found, *copies(all_series(papers))]
