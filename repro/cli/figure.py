"""`figure ID`: trains what is missing, draws the figure, writes it to figures/."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from repro.cli import options as o
from repro.cli.run import exit_code, train
from repro.cli.scales import choose_shown
from repro.engine.plan import make_plan
from repro.papers.registry import find_figure
from repro.report.figures.view import FigureView, view_figure, write_figure
from repro.report.files import FIGURES_FOLDER, check_writable
from repro.report.render import json_text
from repro.report.reproduce import write_page


@o.grouped
def command(
    id: Annotated[
        str,
        o.ids("Figure, for example ablation-heatmap.", "FIGURES"),
    ],
    asked: o.AskedOfWhole,
    how: o.How,
    made: o.Made,
) -> None:
    """Draws published and reproduced numbers side by side; trains the runs that are missing.

    Example: python -m repro figure ablation-heatmap --scale smoke
    """
    results, figure = o.open_store(made.store), find_figure(id)
    request, trained = choose_shown(figure, asked, results, device=how.device)
    check_writable(made.out / FIGURES_FOLDER)
    if trained and not made.no_run:
        train([request], results, how.execution(asked, request.backbone), how, retry=made.retry)
    view = view_figure(figure, request, results)
    paths = [*write_figure(view, made.out), write_page(view, results, made.out)]
    sys.stdout.write(json_text(view.document) if made.json else as_text(view, paths))
    gaps = bool(request.unavailable)
    raise typer.Exit(0 if view.complete else exit_code(make_plan([request], results), gaps=gaps))


def as_text(view: FigureView, paths: Sequence[Path]) -> str:
    """Caption and notes, and where the picture is."""
    lines = [
        f"{view.id}. {view.caption}",
        "",
        *(f"- {note}" for note in view.notes),
        "",
        *(f"Wrote {path}" for path in paths),
    ]
    return "\n".join(lines) + "\n"
