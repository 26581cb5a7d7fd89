"""The curves of Houlsby et al.: score against trained parameters, and against the initialisation.

Figures 1, 3 and 4 (GLUE), 3 (further tasks), 5 (SQuAD 1.1) and 6, right side (initialisation).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from repro.errors import ReproError
from repro.papers.curves import MEDIAN, Curves, Mark, Point, Said, Scored, one_a_seed
from repro.papers.glue import PRINTED, encoder
from repro.papers.houlsby.curve_runs import (
    FULL,
    NORMS,
    SIZED,
    TOP,
    glue_runs,
    init_runs,
    squad_runs,
    text_runs,
)
from repro.papers.houlsby.tables import OWN_CUT
from repro.papers.published import Published, in_text, load_published
from repro.papers.request import Request
from repro.papers.setting import paper, width_of
from repro.spec import Scale
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN
from repro.spec.facts import KNOWN as FACTS
from repro.spec.texts import HOULSBY

SEEDS: dict[Scale, int] = {"paper": 3, "reduced": 1, "smoke": 1}
"""Figures 4 and 5: three seeds."""

Numbers = tuple[int, ...]
GLUE_SIZES: dict[Scale, Numbers] = {
    "paper": tuple(2**n for n in range(10)), "reduced": (2, 8, 64), "smoke": (2, 16, 64)
}  # fmt: skip
GLUE_TOPS: dict[Scale, Numbers] = {
    "paper": tuple(range(1, 13)), "reduced": (1, 2, 3), "smoke": (1, 3)
}  # fmt: skip
"""Figure 4: sizes 2^n, n = 0..9, and the top k = 1..12 layers."""
TEXT_SIZES: dict[Scale, Numbers] = {
    "paper": (2, 4, 8, 16, 32, 64), "reduced": (2, 8, 64), "smoke": (2, 64)
}  # fmt: skip
TEXT_TOPS: dict[Scale, Numbers] = {
    "paper": (1, 2, 3, 5, 7, 9, 11, 12), "reduced": (1, 2, 3), "smoke": (1, 3)
}  # fmt: skip
"""Section 3.3."""
SQUAD_SIZES: dict[Scale, Numbers] = {
    "paper": (2, 8, 64, 256), "reduced": (2, 64), "smoke": (2, 64)
}  # fmt: skip
"""Section 3.5 quotes 2 and 64."""
DEVIATIONS: dict[Scale, tuple[float, ...]] = {
    "paper": tuple(float(f"1e-{n}") for n in range(7, -1, -1)),
    "reduced": (1e-7, 1e-4, 1e-2, 1e-1, 1.0),
    "smoke": (1e-7, 1e-4, 1e-2, 1e-1, 1.0),
}
"""Section 3.6: from 1e-7 to 1."""

TEXT, PICTURE = ("houlsby", "H19-text"), ("houlsby", "H19-F1-digitised")
DRAWN = {"Adapters (ours)": SIZED, "Fine-tune top layers": TOP}
"""The series of the picture, as its CSV names them."""


class Quote(NamedTuple):
    """A point that the text quotes: the row of its CSV, the series, and what the point is called
    here and beside its mark.
    """

    row: str
    series: str
    point: str
    label: str


QUOTES: dict[str, tuple[Quote, ...]] = {
    "mnli": (
        Quote("MNLIm validation accuracy, top layer only (approx. 9M params)",
              TOP, "top layer", "top layer only"),
        Quote("MNLIm validation accuracy, adapters size 64 (approx. 2M params)",
              SIZED, "size 64", "adapters size 64"),
        Quote("MNLIm validation accuracy, full fine-tuning", FULL, "", "full fine-tuning"),
    ),
    "squad1": (
        Quote("SQuAD v1.1 F1, adapters size 64 (2% params)", SIZED, "size 64", "adapters size 64"),
        Quote("SQuAD v1.1 F1, full fine-tuning", FULL, "", "full fine-tuning"),
        Quote("SQuAD v1.1 F1, adapters size 2 (0.1% params)", SIZED, "size 2", "adapters size 2"),
    ),
}  # fmt: skip
"""Task -> its points; those of SQuAD are placed by the share of BERT-base's parameters that is
trained, in percent.
"""
DROPS = {"cola": "layer-norm only, drop on CoLA", "mnli": "layer-norm only, drop on MNLI"}
BEHIND = "adapters behind full fine-tuning (17 tasks)"

SMALLER = "Smaller scales have fewer points, chosen to take minutes."
ONE_SETTING = (
    "The paper chooses rate and epochs on validation for every point; here a series has one "
    "setting, so a point may be lower than with a sweep."
)
OUTPUT_LAYER = (
    "Trained parameters leave the output layer out, whose size is the task's. The modules of the "
    "top layer of BERT-base have 7.09M, and the pooler, trained with it, 0.59M: the text says more."
)
PERCENTILES = (
    "Percentiles are over the tasks named in the caption, numpy's with linear interpolation, the "
    "same tasks at every point: a point that lacks a run is absent. A task's score is the mean "
    "over seeds."
)


def trade_off(
    sizes: dict[Scale, Numbers], tops: dict[Scale, Numbers] | None
) -> Callable[[Request], tuple[Point, ...]]:
    """The points of a figure: adapters by size, top layers that the encoder has, layer norms, and
    full fine-tuning. `tops` None: adapters and full fine-tuning only.
    """

    def points(request: Request) -> tuple[Point, ...]:
        width = width_of(request)
        chosen = sizes[request.scale] if width is None else (width,)
        found = [Point(SIZED, f"size {size}", size) for size in chosen]
        if tops is not None:
            depth = encoder(request, BERT_BASE, paper("BERT-base"))[0].layers
            kept = [k for k in tops[request.scale] if k <= depth]
            found += [Point(TOP, "top layer" if k == 1 else f"top {k} layers", k) for k in kept]
            found.append(Point(NORMS, ""))
        return (*found, Point(FULL, ""))

    return points


def deviations(request: Request) -> tuple[Point, ...]:
    """Adapters of one size, by the standard deviation that their matrices start with."""
    values = DEVIATIONS[request.scale]
    return tuple(Point(SIZED, f"standard deviation {power(value)}", value) for value in values)


def power(value: float) -> str:
    """1e-7, 1e-2, 1."""
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(exponent)}" if int(exponent) else mantissa


def glue_scored(task: str, request: Request) -> Scored:
    """Validation accuracy of every task, CoLA too; STS-B has none. Section 3.4 says validation."""
    facts = FACTS[task]
    split = facts.evaluation[0]
    if "accuracy" in facts.metrics:
        return Scored("accuracy", split, split, "glue", "accuracy")
    return Scored("Spearman's correlation", split, split, "glue", "spearman")


def text_scored(task: str, request: Request) -> Scored:
    """Test accuracy."""
    return Scored("accuracy", OWN_CUT, "test", "texts", "accuracy")


def squad_scored(task: str, request: Request) -> Scored:
    """F1 of the best span: all questions have an answer. Section 3.5: the validation set."""
    split = "generated" if request.scale == "smoke" else "official-dev"
    return Scored("F1", "official-dev", split, "legacy/best-span", "span_f1", "HasAns")


def digitised_medians() -> tuple[Mark, ...]:
    """The two median curves of Figure 1 over the tasks of GLUE, measured on a picture."""
    encoder = KNOWN[BERT_LARGE].name  # the last points train more than all of BERT-base
    cells = load_published(*PICTURE).values()
    found = {row: [cell for cell in cells if cell.row == row] for row in DRAWN}
    return tuple(
        Mark(
            MEDIAN, DRAWN[row], "digitised", 10**_place(cell), cell.value, None, f"point {count}",
            cell.source, encoder,
        )
        for row, own in found.items()
        for count, cell in enumerate(own, 1)
    )  # fmt: skip


def threshold_marks() -> tuple[Mark, ...]:
    """The deviation below which the text calls adapters robust, for each task that is drawn."""
    cell = in_text(*TEXT, "robust below std")
    label = f"quoted: robust below {cell.text}"
    return tuple(
        Mark(task, SIZED, "quoted", cell.value, None, None, label, cell.source)
        for task in ("mnli", "cola")
    )


def norm_drops() -> tuple[Said, ...]:
    """What the text says that layer norms alone lose."""
    cells = {task: in_text(*TEXT, row) for task, row in DROPS.items()}
    return tuple(
        Said("What layer norms alone lose", cell.value or 0.0, cell.source, NORMS, task)
        for task, cell in cells.items()
    )


def adapters_behind() -> tuple[Said, ...]:
    """What the text says of adapters on the 17 further tasks."""
    cell, share = in_text(*TEXT, BEHIND), in_text(*TEXT, "new parameters per task, adapters")
    text = f"How far adapters that train {share.text} % a task are behind full fine-tuning"
    note = "theirs is a mean over 17 tasks, each with its best size, and no point of a curve"
    return (Said(text, cell.value or 0.0, cell.source, note=note),)


def text_marks(task: str, *, shares: bool = False) -> tuple[Mark, ...]:
    """Points of the text; `shares`: they are placed by a share of BERT-base's parameters."""
    base, marks = KNOWN[BERT_BASE], []
    for quote in QUOTES[task]:
        cell = in_text(*TEXT, quote.row)
        x = None if quote.series == FULL else _place(cell)
        if shares and x is not None:
            x = x / 100 * base.parameters
        marks.append(
            Mark(
                task, quote.series, "quoted", x, cell.value, cell.sd, quote.label, cell.source,
                base.name,
            )
        )  # fmt: skip
    return tuple(marks)


def _place(cell: Published) -> float:
    """Where a point is on the horizontal axis."""
    if cell.x is None:
        raise ReproError(f"The point '{cell.row}, {cell.column}' of Houlsby et al. has no x.")
    return cell.x


def glue_marks() -> tuple[Mark, ...]:
    """Digitised medians, and what the text quotes of MNLI."""
    return digitised_medians() + text_marks("mnli")


GLUE_CURVES = Curves(
    id="tradeoff-glue",
    paper="houlsby",
    title="Score against trained parameters on GLUE (Houlsby et al., Figures 1, 3 and 4)",
    axis="trained parameters",
    tasks=PRINTED,
    drawn={"paper": PRINTED, "reduced": PRINTED, "smoke": ("cola", "mrpc")},
    shown=("mnli", "cola"),
    across="median",
    reference=FULL,
    default_seeds=SEEDS,
    points=trade_off(GLUE_SIZES, GLUE_TOPS),
    chains=one_a_seed(glue_runs),
    scored=glue_scored,
    marks=glue_marks,
    said=norm_drops,
    notes=(
        PERCENTILES,
        "The paper says validation accuracy; STS-B has none, so its Spearman's correlation is "
        "assumed.",
        "Medians of the paper are digitised from a picture of Figure 1, to about 0.3 points. They "
        "are of BERT-large: their last point trains as many parameters as its 24 layers have. The "
        "points quoted for MNLI are of BERT-base, as is this figure unless --backbone is given.",
        OUTPUT_LAYER,
        ONE_SETTING,
        SMALLER,
    ),
)
TEXT_CURVES = Curves(
    id="tradeoff-extra",
    paper="houlsby",
    title="Score against trained parameters on 17 further tasks (Houlsby et al., Figure 3, right)",
    axis="trained parameters",
    tasks=HOULSBY,
    drawn={"paper": HOULSBY, "reduced": HOULSBY, "smoke": ("airline", "sms-spam")},
    shown=(),
    across="median",
    reference=FULL,
    default_seeds=SEEDS,
    points=trade_off(TEXT_SIZES, TEXT_TOPS),
    chains=one_a_seed(text_runs),
    scored=text_scored,
    said=adapters_behind,
    notes=(PERCENTILES, OUTPUT_LAYER, ONE_SETTING, SMALLER),
)
SQUAD_CURVES = Curves(
    id="tradeoff-squad",
    paper="houlsby",
    title="F1 against trained parameters on SQuAD 1.1 (Houlsby et al., Figure 5)",
    axis="trained parameters",
    tasks=("squad1",),
    drawn={"paper": ("squad1",), "reduced": ("squad1",), "smoke": ("squad1",)},
    shown=("squad1",),
    across="",
    reference=FULL,
    default_seeds=SEEDS,
    points=trade_off(SQUAD_SIZES, None),
    chains=one_a_seed(squad_runs),
    scored=squad_scored,
    marks=partial(text_marks, "squad1", shares=True),
    notes=(
        "F1 is that of the best span; SQuAD 1.1 has no question without an answer.",
        "The text gives the published points' parameters as shares of BERT-base.",
        ONE_SETTING,
        SMALLER,
    ),
)
INIT_CURVES = Curves(
    id="init-robustness",
    paper="houlsby",
    title="Accuracy against the standard deviation that adapters start with (Houlsby et al., "
    "Figure 6, right)",
    axis="initial standard deviation",
    tasks=("cola", "mnli"),
    drawn={"paper": ("cola", "mnli"), "reduced": ("cola", "mnli"), "smoke": ("cola",)},
    shown=("mnli", "cola"),
    across="",
    reference="",
    default_seeds=SEEDS,
    points=deviations,
    chains=one_a_seed(init_runs),
    scored=glue_scored,
    marks=threshold_marks,
    notes=(
        "Matrices start from a normal distribution of mean 0 that is truncated at two standard "
        "deviations, biases at 0. The curves of the paper are not printed as numbers.",
        "Three seeds are assumed, as in the paper's Figure 4.",
        SMALLER,
    ),
)
CURVES = (GLUE_CURVES, TEXT_CURVES, SQUAD_CURVES, INIT_CURVES)
