"""AA-1 (data), AA-2 (main results), AA-3 (last layers), AA-4 (activations), AA-5 (BERT-base), and
learned-activations: what rationals have become, by layer and by task (Figure 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from repro.papers.adaptable_adapters import setting as aa
from repro.papers.figures import Activations, Curve, Digitised
from repro.papers.matrix import Chain
from repro.papers.published import for_rows, load_published
from repro.papers.request import Request
from repro.papers.tables import Column, Fact, Mean, Printed, Row, Score, Table, not_stated
from repro.spec import RunSpec, Scale
from repro.spec.backbones import BERT_BASE, BERT_LARGE
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName, GlueTask

PAPER = "adaptable_adapters"
TASKS: dict[str, GlueName] = {
    "MNLI": "mnli", "QQP": "qqp", "QNLI": "qnli", "SST-2": "sst2", "CoLA": "cola",
    "STS-B": "stsb", "MRPC": "mrpc", "RTE": "rte", "WNLI": "wnli",
}  # fmt: skip
"""Printed column -> task."""
POOLED = {
    "QQP": "F1 or mean of accuracy and F1, unconfirmed; see NOTES",
    "STS-B": "Spearman or mean of Pearson and Spearman, unconfirmed; see NOTES",
    "MRPC": "fits mean of accuracy and F1; see NOTES",
}
METRICS = (
    dict.fromkeys(TASKS, "accuracy %")
    | {task: f"score x100 ({metric})" for task, metric in POOLED.items()}
    | {"CoLA": "Matthews corr x100"}
)
"""Printed column -> its metric in the CSV."""
COMBINED = "combined"
"""The mean of a task's two metrics; the other reading is its first metric, stored beside it."""
LAYERS, GAIN = "number of adapter layers", "difference of the two averages"
MEAN = "mean over the 9 datasets"
SEEDS: dict[Scale, int] = {"paper": 5, "reduced": 2, "smoke": 1}
MODELS = (aa.BASELINE, aa.DROP_AA, aa.DROP_13, aa.AA, aa.SPEC, aa.UNI, aa.SIM)
"""Of Table 2, in its order."""


def columns(
    overall: str = "Avg", metric: str = MEAN, published_rows: str = ""
) -> tuple[Column, ...]:
    """Nine tasks and their mean. The paper scores on the official development rows (of MNLI the
    matched ones), as its released code does; `published_rows` says otherwise.
    """
    scores = (_column(name, published_rows) for name in TASKS)
    return (*scores, Mean(overall, overall, metric, digits=2))


def _column(name: str, published_rows: str) -> Score:
    task = TASKS[name]
    facts, split = GLUE[task], GLUE[task].evaluation[0]
    metric = COMBINED if task in ("qqp", "stsb", "mrpc") else facts.monitor
    margin = for_rows(facts.rows[split])
    rows = published_rows or split
    return Score(name, name, METRICS[name], metric, rows, split, task=task, margin=margin)


def block_rows(models: Sequence[str], blocks: Sequence[str], *, published: bool) -> tuple[Row, ...]:
    """The rows of every block: each model's scores, then how many layers have its adapters."""
    found = []
    for block in blocks:
        for model in models:
            name = f"{block} / {model}"
            printed = name if published and block == aa.LOW[100] else None
            found.append(Row(name, model, printed, section=block))
        if published:
            found.append(_gain(block))
        for model in models:
            name, known = f"{block} / {model}, layers", f"{block} / |{model}|"
            printed = known if published and block == aa.LOW[100] else None
            found.append(Row(name, model, printed, section=block, measure="layers", metric=LAYERS))
    return tuple(found)


def _gain(block: str) -> Row:
    """What the one architecture gains; of this the paper's averages are known in three blocks."""
    names = f"{block} / {aa.UNI}", f"{block} / {aa.BASELINE}"
    name = f"{names[0]} minus {aa.BASELINE}"
    printed = None if block == aa.FULL else name
    return Row(name, "", printed, section=block, delta=names, metric=GAIN)


def _chains(row: Row, column: Column, request: Request, large: str) -> list[Chain]:
    """The runs behind a cell, one chain a seed, where `large` is the paper's encoder."""
    assert isinstance(column, Score)
    return [
        aa.chain_of(row.variant, column.task, request, row.section, seed, large)
        for seed in aa.seeds_of(request, row.section)
    ]


READING = (
    "QQP, MRPC and STS-B show the mean of the task's two metrics: MRPC's printed 74.80 with "
    "deviation 0 is that mean for a constant answer, and cannot be F1. F1 and Spearman's "
    "correlation, which the released code selects by, are stored beside it."
)
COMMON = (
    "Annotated rows are drawn by the run's seed and split 75/25 into training and development "
    "rows; a cell is on the official development rows (of MNLI the matched ones), scored once, "
    "with the weights of the epoch that is best on development rows.",
    READING,
    "The paper's ± divides squares by the number of runs; compared as estimates for further runs "
    "they are wider by the root of 5/4, and ours divide by one less.",
    f"{aa.UNI} uses the layers that AA selects for QQP at 100 rows with the first seed, {aa.SPEC} "
    f"and {aa.DROP_AA} those for their own task and rows; --published-layers takes the printed "
    "ones.",
    f"Away from 24 layers the last {aa.KEPT} become the last round({aa.KEPT} L / 24).",
    "AdapterDrop leaves out up to all layers but one in training; the released code up to 10 of "
    "24, which --as-released keeps.",
    "Both branches of a switch keep the residual, as the released code runs; the paper prints the "
    "adapter's branch without.",
    "STS-B: predictions are clipped to [0, 5] before they are scored (assumed), as in the code of "
    "the 3-shared report. Ranks change only where several predictions fall on a bound.",
    "At smoke scale 40, 60 and 80 of 100 generated rows stand for 100, 300 and 500.",
)
FULL_ONCE = "Of all training rows the paper ran the first seed only, and so do we."

TWO = Table(
    id="AA-2",
    paper=PAPER,
    title="GLUE with all and with few training rows (Adaptable Adapters, Table 2)",
    published="AA22-T2",
    rows=block_rows(MODELS, tuple(aa.BLOCKS), published=True),
    columns=columns(),
    protocol="glue",
    default_seeds=SEEDS,
    chains=partial(_chains, large=BERT_LARGE),
    also=(aa.CHOSEN,),
    low_data=True,
    spread="population sd",
    notes=(
        *COMMON,
        FULL_ONCE,
        "Of the paper's numbers only the block of 100 rows is known to us, of the others the gain "
        f"of {aa.UNI} alone.",
    ),
)

LAST = (13, 12, 11)
"""Last layers of Table 3, of 24."""

THREE = replace(
    TWO,
    id="AA-3",
    title="Rational adapters in the last n layers (Adaptable Adapters, Table 3)",
    published="AA22-T3",
    rows=tuple(
        Row(
            f"{block} / last n={number}",
            f"last {number}",
            f"last n={number} adapter layers" if number != LAST[-1] else None,
            section=block,
        )
        for block in aa.LOW.values()
        for number in LAST
    ),
    columns=columns(
        "Avg (overall)",
        "average GLUE score, setting not stated in the seed",
        not_stated("trained on 100, 300 or 500 rows: the paper does not say"),
    ),
    also=(),
    notes=(
        "The paper does not state on how many rows: its two known averages stand beside all three "
        "settings, without a verdict.",
        f"n=13 is {aa.SIM} of AA-2: the same runs.",
        "Away from 24 layers n becomes round(n L / 24), so that rows may be of the same runs.",
        *COMMON[:3],
    ),
)

FOUR = replace(
    TWO,
    id="AA-4",
    title="What switch and rational activation add (Adaptable Adapters, Table 4)",
    published="",
    rows=block_rows(
        (aa.BASELINE, aa.AA, aa.SWITCH_ONLY, aa.RATIONAL_ONLY, aa.BASELINE_13, aa.SIM),
        tuple(aa.LOW.values()),
        published=False,
    ),
    also=(),
    notes=(
        "The table's numbers are not known to us, nor on how many rows it is.",
        f"{aa.BASELINE_13} has ReLU in the last layers of {aa.SIM}.",
        *COMMON[:3],
    ),
)

FIVE = replace(
    TWO,
    id="AA-5",
    title="The same with BERT-base (Adaptable Adapters, appendix A)",
    published="",
    rows=block_rows(MODELS, tuple(aa.BLOCKS), published=False),
    chains=partial(_chains, large=BERT_BASE),
    notes=("The appendix's numbers are not known to us.", *COMMON, FULL_ONCE),
)

METRIC_WORDS = {
    "accuracy": "accuracy",
    "f1": "F1",
    "matthews": "Matthews correlation",
    "spearman": "Spearman correlation",
    "pearson": "Pearson correlation",
}
SHOWN = {column.task: column.metric for column in columns() if isinstance(column, Score)}
"""Task -> the metric in a cell of AA-2."""


def all_rows(row: Row, column: Column, request: Request) -> list[Chain]:
    """A run of AA-2 on all rows of the task, which names its data; nothing is trained."""
    return [aa.chain_of(aa.BASELINE, row.variant, request, aa.FULL, aa.SEEDS[0])]


def _task(spec: RunSpec) -> GlueName:
    assert isinstance(spec.task, GlueTask)
    return spec.task.name


def counted_rows(part: str) -> Callable[[RunSpec, Mapping[str, int]], float]:
    """How many rows a part of a task's data has."""
    return lambda spec, counted: float(counted[part])


def scored_rows(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """Rows that are scored: official development rows."""
    return float(counted[GLUE[_task(spec)].evaluation[0]])


def divided(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """Which official rows become training and development rows."""
    assert isinstance(spec.task, GlueTask)
    return "training rows" if spec.task.drawn_from == "train" else "half of the validation rows"


def metric_shown(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """The metric in a cell of AA-2."""
    task = _task(spec)
    if SHOWN[task] == COMBINED:
        return "mean of " + " and ".join(METRIC_WORDS[metric] for metric in GLUE[task].metrics)
    return METRIC_WORDS[SHOWN[task]]


def selecting(spec: RunSpec, counted: Mapping[str, int]) -> str:
    """The metric on development rows that picks the epoch."""
    return METRIC_WORDS[GLUE[_task(spec)].monitor]


ONE = Table(
    id="AA-1",
    paper=PAPER,
    title="The tasks, their rows and their metrics (Adaptable Adapters, Table 1)",
    published="AA22-T1-partial",
    rows=tuple(Row(name, task, name) for name, task in TASKS.items()),
    columns=(
        Fact("Divided", "", "", divided),
        Fact("Training rows", "", "", counted_rows("train"), counted="rows"),
        Fact("Development rows", "", "", counted_rows("development"), counted="rows"),
        Fact("Test rows", "", "", scored_rows, counted="rows"),
        Fact("Metric shown", "", "", metric_shown),
        Fact("Selects the epoch", "", "", selecting),
        Printed(
            "Metric in the released code",
            "Metric",
            "metric (from code, not from the printed table)",
            "read from the released code, where ours are named beside it",
        ),
    ),
    protocol="counted",
    chains=all_rows,
    also=tuple(TASKS.values()),
    low_data=True,
    notes=(
        "The printed table is not known to us; its metrics are, from the released code.",
        "Rows are counted in the data of this scale, all of them: three quarters of the training "
        "rows are trained on, a quarter selects the epoch, and test rows are the development rows "
        "(of MNLI the matched ones). A run may draw fewer.",
        "Where no training rows are here, half of the validation rows is divided and the other "
        "half is scored.",
    ),
)

CURVES = "AA22-F3-digitised"
LEFT: GlueName = "qnli"
DRAWN_LAYERS, DRAWN_LAYER = (0, 2, 4, 7, 10), 2
"""Layers of the left panel, and the one of the right panel."""
RIGHT: tuple[GlueName, ...] = ("cola", "mnli", "qnli", "stsb", "wnli")
DRAWN = {
    f"left: layers of one adapter (QNLI) / layer {layer}": Curve("layers", LEFT, layer)
    for layer in DRAWN_LAYERS
} | {
    f"right: layer {DRAWN_LAYER} across tasks / {task}": Curve("tasks", task, DRAWN_LAYER)
    for task in RIGHT
}
"""Rows of the CSV file -> the curve that their points are of."""


def drawn_run(method: str, task: str, request: Request, block: str) -> RunSpec:
    """The run of a model that learns rationals, with the paper's first seed; the same as a
    table's.
    """
    return aa.chain_of(method, task, request, block, aa.SEEDS[0])[-1]


def drawn_curves() -> dict[Curve, Digitised]:
    """The curves of the paper's picture, by what they are of."""
    found: dict[Curve, list[tuple[float, float]]] = {}
    told: dict[Curve, tuple[float, str]] = {}
    for cell in load_published(PAPER, CURVES).values():
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
    methods=(aa.AA, aa.SIM, aa.RATIONAL_ONLY),
    tasks=tuple(TASKS.values()),
    task=LEFT,
    layers=DRAWN_LAYERS,
    layer=DRAWN_LAYER,
    shown=RIGHT,
    depth=aa.DEPTH,
    encoder="BERT-large",
    sections=tuple(aa.BLOCKS),
    block={"paper": aa.LOW[500], "reduced": aa.LOW[100], "smoke": aa.LOW[500]},
    run=drawn_run,
    published=drawn_curves,
    low_data=True,
    notes=(
        "The paper does not say on how many rows its adapters were trained. Assumed: the largest "
        "of its low-data settings, at reduced scale the smallest; --section takes another.",
        "The run is that of the first seed in AA-2 (of Rational-only in AA-4).",
        "A switch that leaves an adapter out leaves its activation as it was learned: such a "
        "layer is drawn and marked.",
        f"Where not all of {aa.DEPTH} layers have an activation, a published layer l is stood for "
        f"by the one at round(l n / {aa.DEPTH}) of n, or the next that is free.",
    ),
)
