"""learned-activations: what rationals have become, by layer and by task (Figure 3), as data."""

from __future__ import annotations

from repro.papers.adaptable_adapters.runs import AA, RATIONAL_ONLY, SIM, chain_of
from repro.papers.adaptable_adapters.setting import BLOCKS, DEPTH, LOW, SEEDS
from repro.papers.adaptable_adapters.tables import PAPER, TASKS
from repro.papers.figures import Activations, Curve, Digitised
from repro.papers.published import load_published
from repro.papers.request import Request
from repro.spec import RunSpec
from repro.spec.tasks import GlueName

TABLE = "AA22-F3-digitised"
LEFT: GlueName = "qnli"
LAYERS, LAYER = (0, 2, 4, 7, 10), 2
"""Layers of the left panel, and the one of the right panel."""
RIGHT: tuple[GlueName, ...] = ("cola", "mnli", "qnli", "stsb", "wnli")
DRAWN = {
    f"left: layers of one adapter (QNLI) / layer {layer}": Curve("layers", LEFT, layer)
    for layer in LAYERS
} | {f"right: layer {LAYER} across tasks / {task}": Curve("tasks", task, LAYER) for task in RIGHT}
"""Rows of the CSV file -> the curve that their points are of."""


def run(method: str, task: str, request: Request, block: str) -> RunSpec:
    """The run of a model that learns rationals, with the paper's first seed; the same as a
    table's.
    """
    return chain_of(method, task, request, block, SEEDS[0])[-1]


def published() -> dict[Curve, Digitised]:
    """The curves of the paper's picture, by what they are of."""
    found: dict[Curve, list[tuple[float, float]]] = {}
    told: dict[Curve, tuple[float, str]] = {}
    for cell in load_published(PAPER, TABLE).values():
        curve = DRAWN[cell.row]
        assert cell.x is not None
        assert cell.value is not None
        assert cell.sd is not None
        found.setdefault(curve, []).append((cell.x, cell.value))
        told[curve] = cell.sd, cell.source
    return {curve: Digitised(tuple(sorted(found[curve])), *told[curve]) for curve in found}


ACTIVATIONS = Activations(
    id="learned-activations",
    paper=PAPER,
    title="Activations that adapters learn, by layer and by task (Adaptable Adapters, Figure 3)",
    methods=(AA, SIM, RATIONAL_ONLY),
    tasks=tuple(TASKS.values()),
    task=LEFT,
    layers=LAYERS,
    layer=LAYER,
    shown=RIGHT,
    depth=DEPTH,
    encoder="BERT-large",
    sections=tuple(BLOCKS),
    block={"paper": LOW[500], "reduced": LOW[100], "smoke": LOW[500]},
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    run=run,
    published=published,
    low_data=True,
    notes=(
        "The paper does not say on how many rows its adapters were trained. Assumed: the largest "
        "of its low-data settings, at reduced scale the smallest; --section takes another.",
        "The run is that of the first seed in AA-2 (of Rational-only in AA-4).",
        "A switch that leaves an adapter out leaves its activation as it was learned: such a "
        "layer is drawn and marked.",
        f"Where not all of {DEPTH} layers have an activation, a published layer l is stood for by "
        f"the one at round(l n / {DEPTH}) of n, or the next that is free.",
    ),
)
