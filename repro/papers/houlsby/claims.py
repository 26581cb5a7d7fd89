"""What Houlsby et al. claim, and what a summary of them adds."""

from __future__ import annotations

from dataclasses import replace

from repro.papers.claims import (
    Claim,
    Ours,
    Printed,
    Quantity,
    cell,
    every,
    mean,
    more,
    within,
)  # fmt: skip
from repro.papers.curves import Point
from repro.papers.glue import PRINTED as GLUE_TASKS
from repro.papers.houlsby.figures import QUOTES, TEXT
from repro.papers.houlsby.tables import ONE, TWO

PAPER = "Houlsby et al. 2019, as on arXiv (1902.00751)"
GRID = "drop in CoLA validation Matthews corr = 0.608 - score after ablation (figure prints x100)"
LAYERS = 12
FULL, TOP, NORMS = "Full fine-tuning", "Top layers, top layer", "Layer norms only"
BERT, SIZES, ONE_SIZE = "BERT-large", "Adapters (8-256)", "Adapters (64)"
TUNED, VARIABLE, ADAPTED = "Fine-tune", "Variable FT", "Adapters"
PLACES = {
    "mnli": ("MNLI", "tradeoff-glue", "sec 3.4 / Fig 4", "accuracy %"),
    "squad1": ("SQuAD 1.1", "tradeoff-squad", "sec 3.5 / Fig 5", "F1 %"),
}
"""Task -> its name, its figure, and where the text speaks of it."""


def glue(row: str, column: str) -> Quantity:
    """A parameter column of Table 1."""
    printed = next(one.published_column for one in ONE.columns if one.name == column)
    return cell(ONE, row, column, f"{row}, {printed.lower()}")


def total(row: str) -> Quantity:
    """The last column of Table 1; ours is the mean of the nine scores before it."""
    ours = mean("", (cell(ONE, row, column.name) for column in ONE.scores)).ours
    return replace(cell(ONE, row, "Total", f"{row}, GLUE"), ours=ours)


def average(row: str) -> Quantity:
    """The mean over the 17 tasks of Table 2."""
    return cell(TWO, row, "Average", f"{row}, average")


def trained(row: str) -> Quantity:
    """What a task of Table 2 trains, in percent."""
    return cell(TWO, row, "Trained / task", f"{row}, trained params/task")


def quoted(task: str, point: str) -> Quantity:
    """A point that the text quotes."""
    name, figure, section, metric = PLACES[task]
    quotes = {Point(quote.series, quote.point).name: quote.row for quote in QUOTES[task]}
    place = Printed(*TEXT, quotes[point], section, metric)
    return Quantity(f"{point} on {name}", (place,), (Ours(figure, point, task),))


def sized(size: int) -> Quantity:
    """Adapters of one size, over eight tasks."""
    row = f"mean validation accuracy over 8 tasks, adapter size {size}"
    ours = tuple(Ours("tradeoff-glue", f"Adapters, size {size}", task) for task in GLUE_TASKS)
    return Quantity(f"size {size}", (Printed(*TEXT, row, "sec 3.6", "accuracy %"),), ours)


def point(name: str, task: str) -> Quantity:
    """A point of Figure 3 on one task; the picture's numbers are not printed."""
    return Quantity(f"{name} on {task}", ours=(Ours("tradeoff-glue", name, task),))


def over_glue(name: str) -> Quantity:
    """A point of Figure 3, over eight tasks."""
    return mean(f"{name} on GLUE", (point(name, task) for task in GLUE_TASKS))


def started(deviation: str, task: str) -> Quantity:
    """Adapters by their initialisation; the curves are not printed."""
    name = f"Adapters, standard deviation {deviation}"
    return Quantity(f"start at {deviation}, {task}", ours=(Ours("init-robustness", name, task),))


def drop(first: int, last: int) -> Quantity:
    """What is lost without the adapters of these layers; only the 3-shared report prints it."""
    span = f"first ablated layer {first}", f"last ablated layer {last}"
    place = Printed("three_shared", "SR20-F8", *span, GRID)
    ours = Ours("ablation-heatmap", str(first), str(last))
    which = f"layer {first}" if first == last else f"layers {first} to {last}"
    return Quantity(f"drop without the adapters of {which}", (place,), (ours,))


def spans(first: int, last: int) -> Quantity:
    """The mean drop over all spans within these layers."""
    drops = (drop(i, j) for i in range(first, last + 1) for j in range(i, last + 1))
    return mean(f"mean drop over the spans within layers {first} to {last}", drops)


CLAIMS = (
    Claim("houlsby-glue-within", "houlsby", "sentence",
        "On GLUE adapters come within 0.4 points of full fine-tuning, and train 3.6 % of its "
        "parameters a task.",
        f"{PAPER}, abstract; section 3.2, Table 1",
        within(total(BERT), total(SIZES), by=0.4)
        + within(glue(SIZES, "Trained / task"), 3.6, by=0),
        note="Theirs is the test server's total; ours the mean of nine validation scores."),
    Claim("houlsby-glue-total-parameters", "houlsby", "sentence",
        "For all tasks of GLUE adapters take 1.3 times the parameters of one BERT, fine-tuning 9 "
        "times.",
        f"{PAPER}, section 3.2, last paragraph; Table 1",
        within(glue(SIZES, "Total params"), 1.3, by=0)
        + within(glue(BERT, "Total params"), 9.0, by=0)),
    Claim("houlsby-glue-one-size", "houlsby", "sentence",
        "One adapter size for all tasks of GLUE scores slightly lower than the best size for each.",
        f"{PAPER}, section 3.2, last paragraph; caption of Table 1",
        more(total(SIZES), total(ONE_SIZE))
        + within(total(SIZES), total(ONE_SIZE)),
        note="Slightly is read as at most a point."),
    Claim("houlsby-further-within", "houlsby", "sentence",
        "On 17 further tasks adapters are close to full fine-tuning, 0.4 points behind.",
        f"{PAPER}, section 3.3, last paragraph; Table 2",
        within(average(TUNED), average(ADAPTED), by=0.4),
        note="Read as: within so much of it on average."),
    Claim("houlsby-further-similar", "houlsby", "sentence",
        "On the further tasks adapters perform similarly to full and variable fine-tuning and to a "
        "search without BERT.",
        f"{PAPER}, Table 2, as the Adapters blog post sums it up, section Experiments",
        every(
            within(average(row), average(ADAPTED))
            for row in (TUNED, VARIABLE, "No BERT (AutoML)")
        ),
        note="The blog post's sentence, not the paper's. Similarly is read as within a point on "
        "average; the search is not rebuilt here."),
    Claim("houlsby-further-parameters", "houlsby", "sentence",
        "On the further tasks adapters add 1.14 % new parameters a task, and are much more compact "
        "than variable fine-tuning, which trains about half of the network.",
        f"{PAPER}, section 3.3, last paragraph; Table 2",
        within(trained(ADAPTED), 1.14, by=0)
        + more(trained(VARIABLE), trained(ADAPTED))
        + more(trained(TUNED), trained(VARIABLE)),
        note="Read as: variable fine-tuning trains more than adapters, and less than all."),
    Claim("houlsby-mnli-top-layer", "houlsby", "sentence",
        "On MNLI a fine-tuned top layer is substantially worse than adapters of size 64, which "
        "train fewer parameters and are comparable with full fine-tuning.",
        f"{PAPER}, section 3.4, on Figure 4 and last paragraph",
        more(quoted("mnli", "Adapters, size 64"), quoted("mnli", TOP))
        + within(quoted("mnli", FULL), quoted("mnli", "Adapters, size 64")),
        note="The last paragraph says comparable of adapters in general; read as within a point."),
    Claim("houlsby-fewer-layers", "houlsby", "sentence",
        "On GLUE performance falls dramatically when fewer layers are fine-tuned; adapters perform "
        "well at far fewer parameters.",
        f"{PAPER}, section 3.4, on Figure 3",
        every(more(over_glue(point), over_glue(TOP)) for point in (FULL, "Adapters, size 2")),
        note="The curves are not printed as numbers. Read as: in the mean over eight tasks one "
        "layer is worse than all, and than adapters at their smallest."),
    Claim("houlsby-layer-norms", "houlsby", "sentence",
        "Layer norms trained alone perform poorly, on CoLA and on MNLI.",
        f"{PAPER}, section 3.4, on layer normalization",
        every(more(point(FULL, task), point(NORMS, task)) for task in ("cola", "mnli")),
        note="Read as: worse than full fine-tuning. Only the losses are printed, not the scores."),
    Claim("houlsby-squad", "houlsby", "sentence",
        "On SQuAD 1.1 adapters are comparable with full fine-tuning, and perform well even at size "
        "2.",
        f"{PAPER}, section 3.5; Figure 5",
        within(quoted("squad1", FULL),
               *(quoted("squad1", f"Adapters, size {size}") for size in (64, 2))),
        note="Both are read as within a point, at sizes 64 and 2, which the text quotes."),
    Claim("houlsby-lower-layers", "houlsby", "sentence",
        "Adapters of the lower layers matter less than those of the higher ones.",
        f"{PAPER}, section 3.6, on Figure 6",
        more(spans(LAYERS // 2, LAYERS - 1), spans(0, LAYERS // 2 - 1)),
        note="Read as: the mean drop over the spans within either half of the layers. The only "
        "printed grid is that of the 3-shared report, Figure 8."),
    Claim("houlsby-initialisation", "houlsby", "sentence",
        "Adapters are robust to a start with a standard deviation below 1e-2; a too large one "
        "hurts.",
        f"{PAPER}, section 3.6, on Figure 6, right",
        every(
            within(started("1e-2", task), started("1e-7", task))
            + more(started("1e-2", task), started("1", task))
            for task in ("mnli", "cola")
        ),
        note="The curves are not printed as numbers. Robust is read as within a point."),
    Claim("houlsby-size-robust", "houlsby", "sentence",
        "The quality is stable across adapter sizes: 8, 64 and 256 in the mean over eight tasks.",
        f"{PAPER}, section 3.6, on adapter sizes",
        every(within(sized(a), sized(b)) for a, b in ((8, 64), (64, 256), (8, 256))),
        note="Stable is read as within a point."),
)  # fmt: skip
