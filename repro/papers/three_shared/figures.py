"""The heat map of switched-off adapters: 3-shared's Figure 8, after Houlsby et al.'s Figure 6."""

from __future__ import annotations

from repro.methods.ablated_spans import AblatedSpans
from repro.papers.figures import Figure
from repro.papers.published import Published, load_published
from repro.papers.request import Request
from repro.papers.setting import assumed, paper
from repro.papers.three_shared.setting import SHARED_OVER, run_of
from repro.spec import RunSpec, run_key
from repro.spec.spans import Span, all_spans
from repro.spec.tasks import GlueName

ADAPTERS = ("not-shared", "shared-in-layer", "3-shared", "houlsby", "pfeiffer", *SHARED_OVER)
DRAWN: GlueName = "cola"
"""The one task whose grid the report draws."""

ONE_LAYER = "largest drop when one layer is ablated"
ALL_LAYERS: dict[GlueName, str] = {
    "cola": "CoLA with all adapters ablated",
    "mnli": "MNLI with all adapters ablated",
}
"""Statements of Houlsby et al., as their CSV names them."""

SPANS: dict[tuple[str, str], Span] = {
    (f"first ablated layer {first}", f"last ablated layer {last}"): (first, last)
    for first, last in all_spans(12)
}
"""Row and column of the report's grid, as its CSV names them -> the span of layers."""


def trained_and_ablated(
    method: str, task: GlueName, request: Request, seed: int
) -> tuple[RunSpec, RunSpec]:
    """The run that is trained, and the one that switches its adapters off."""
    trained = run_of(method, task, request, seed)
    which = (
        assumed("which model the report ablated is not stated")
        if request.method is None
        else assumed("asked for with --method")
    )
    kept = {path: s for path, s in trained.sources.items() if not path.startswith("method.")}
    ablated = trained.model_copy(
        update={
            "method": AblatedSpans(),
            "parents": {"trained": run_key(trained)},
            "sources": kept
            | {"method": paper("Houlsby et al., section 3.6; the report repeats it"),
               "parents": which},
        }
    )  # fmt: skip
    return trained, ablated


def published_drops(task: GlueName) -> dict[Span, Published]:
    """The report's grid: Matthews of the intact model minus that of the span, as a share of 1.

    Empty for a task that the report does not draw.
    """
    if task != DRAWN:
        return {}
    cells = load_published("three_shared", "SR20-F8").values()
    return {SPANS[cell.row, cell.column]: cell for cell in cells if cell.column}


def published_intact() -> Published:
    """Matthews correlation of the report's intact model, as a share of 1."""
    cells = load_published("three_shared", "SR20-F8").values()
    return next(cell for cell in cells if not cell.column)


def houlsby_says(statement: str) -> Published:
    """A number of Houlsby et al., section 3.6, in percent."""
    cells = load_published("houlsby", "H19-text").values()
    return next(cell for cell in cells if cell.row == statement)


ABLATION = Figure(
    id="ablation-heatmap",
    paper="three_shared",
    title="What is lost when the adapters of layers i to j are switched off (3-shared, Figure 8; "
    "Houlsby et al., Figure 6)",
    methods=ADAPTERS,
    published_rows={"cola": "validation", "mnli": "validation_matched"},
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    chain=trained_and_ablated,
    notes=(
        "Nothing is trained after adapters are switched off: trained layer norms and the "
        "classifier stay as they are.",
        "The report does not state which of its models it ablated: 'not-shared' is assumed, "
        "--method draws another.",
        "The caption of the report's figure says accuracy; the notebook behind it computes the "
        "Matthews correlation, and its grid is one run.",
    ),
)
