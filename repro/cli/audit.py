"""`audit`: the published numbers against themselves."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from repro.audit.numbers import Finding
from repro.audit.run import SEVERITIES, findings
from repro.cli import completion
from repro.cli import options as o
from repro.papers.names import PAPERS, by_paper, find_paper
from repro.report.render import json_text
from repro.words import counted, wrapped


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="One paper, for example houlsby; all without.", autocompletion=completion.papers
        ),
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """Checks the printed numbers: sums, averages, counts, impossible values, copies, text.

    Nothing is trained; findings are no failure of the command.

    Example: python -m repro audit resadapters
    """
    chosen = find_paper(paper)
    found = findings(chosen)
    if json:
        document = {"findings": [asdict(one) for one in found], "counts": _counts(found)}
        sys.stdout.write(json_text(document))
        return
    print("\n".join(as_text(found, chosen)))


def as_text(found: Sequence[Finding], paper: str | None) -> list[str]:
    """The findings by paper, wrapped to the terminal, and how many there are."""
    width, lines = min(100, shutil.get_terminal_size((100, 24)).columns), []
    for title, own in by_paper(found, lambda one: one.paper):
        lines += [title, "=" * len(title), ""]
        for one in own:
            how = "" if one.computed else ", from text or code"
            lines += wrapped(f"{one.severity}{how}: {one.says}", width)
            lines += wrapped(one.arithmetic, width, "  ")
            lines += [*wrapped(f"[{one.id}] {one.source}", width, "  "), ""]
    said = ", ".join(counted(number, name) for name, number in _counts(found).items())
    where = "one paper" if paper else counted(len(PAPERS), "paper")
    return [*lines, f"{said} in {where}."]


def _counts(found: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(one.severity for one in found)
    return {name: counts[name] for name in SEVERITIES}  # type: ignore[index]
