"""All checks on the published numbers, paper by paper. Reads the CSVs and what tables declare."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.resources import files
from typing import Any

from repro.audit import adaptable_adapters, houlsby, hyperformer, resadapters, tables, three_shared
from repro.audit.numbers import Finding, Numbers, load
from repro.papers.names import PAPERS

CHECKS: dict[str, Callable[[Numbers], Iterable[Finding]]] = {
    "resadapters": resadapters.check,
    "houlsby": houlsby.check,
    "three_shared": three_shared.check,
    "hyperformer": hyperformer.check,
    "adaptable_adapters": adaptable_adapters.check,
}
SEVERITIES = ("error", "doubt", "note")


def findings(paper: str | None = None) -> list[Finding]:
    """What the audit finds in one paper, or in all: by paper, severity and id."""
    found = [*computed(load()), *notes()]
    names = list(PAPERS)
    return sorted(
        (one for one in found if paper in (None, one.paper)),
        key=lambda one: (names.index(one.paper), SEVERITIES.index(one.severity), one.id),
    )


def computed(numbers: Numbers) -> list[Finding]:
    """What arithmetic alone finds in these numbers."""
    return [
        *(replace(one, paper=paper) for paper, check in CHECKS.items() for one in check(numbers)),
        *tables.check(numbers, CHECKS),
        *tables.copies(numbers),
    ]


def notes() -> list[Finding]:
    """What only a reading of text, pictures and code shows; no arithmetic on numbers finds it."""
    text = (files("repro.audit") / "notes.csv").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    return [Finding(**row, computed=False) for row in rows]
