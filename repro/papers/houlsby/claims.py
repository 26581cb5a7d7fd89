"""What Houlsby et al. claim, and what a summary of them adds."""

from __future__ import annotations

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement
from repro.papers.glue import PRINTED as GLUE_TASKS
from repro.papers.houlsby.tables import ONE

PAPER = "Houlsby et al. 2019, as on arXiv (1902.00751)"
SCORE, SHARE = "test accuracy %", "percent of BERT_BASE"
GRID = "drop in CoLA validation Matthews corr = 0.608 - score after ablation (figure prints x100)"
LAYERS = 12
FULL, TOP, NORMS = "Full fine-tuning", "Top layers, top layer", "Layer norms only"
BERT, SIZES, ONE_SIZE = "BERT-large", "Adapters (8-256)", "Adapters (64)"
TUNED, VARIABLE, ADAPTED = "Fine-tune", "Variable FT", "Adapters"


def glue_total(row: str) -> Quantity:
    """The last column of Table 1; ours is the mean of the nine scores before it."""
    printed = Printed("H19-T1", row.replace("-large", "_LARGE"), "Total", "mean GLUE score")
    ours = tuple(Ours(ONE.id, row, column.name) for column in ONE.scores)
    return Quantity(f"{row}, GLUE", (printed,), ours)


def glue_parameters(row: str, column: str, ours: str, metric: str) -> Quantity:
    """A parameter column of Table 1."""
    printed = Printed("H19-T1", row.replace("-large", "_LARGE"), column, metric)
    return Quantity(f"{row}, {column.lower()}", (printed,), (Ours(ONE.id, row, ours),))


def glue_total_parameters(row: str) -> Quantity:
    """All tasks together, in BERTs."""
    return glue_parameters(row, "Total num params", "Total params", "x BERT size")


def further(row: str, published: str, metric: str, ours: str) -> Quantity:
    """A number of Table 2 over all 17 tasks."""
    system = "No BERT baseline (AutoML)" if row.startswith("No") else f"{row} BERT_BASE"
    known = () if row.startswith("No") else (Ours("Houlsby-2", row, ours),)
    return Quantity(f"{row}, {published.lower()}", (Printed("H19-T2", published, system, metric),),
                    known)  # fmt: skip


def average(row: str) -> Quantity:
    """The mean over the 17 tasks."""
    return further(row, "Average", SCORE, "Average")


def trained(row: str) -> Quantity:
    """What a task trains, in percent."""
    return further(row, "Trained params/task", SHARE, "Trained / task")


def mnli(printed: str, point: str) -> Quantity:
    """A point that the text quotes of MNLI."""
    row = f"MNLIm validation accuracy, {printed}"
    place = Printed("H19-text", row, "sec 3.4 / Fig 4", "accuracy %")
    return Quantity(f"{point} on MNLI", (place,), (Ours("tradeoff-glue", point, "mnli"),))


def squad(printed: str, point: str) -> Quantity:
    """A point that the text quotes of SQuAD 1.1."""
    place = Printed("H19-text", f"SQuAD v1.1 F1, {printed}", "sec 3.5 / Fig 5", "F1 %")
    return Quantity(f"{point} on SQuAD 1.1", (place,), (Ours("tradeoff-squad", point, "squad1"),))


def sized(size: int) -> Quantity:
    """Adapters of one size, over eight tasks."""
    row = f"mean validation accuracy over 8 tasks, adapter size {size}"
    ours = tuple(Ours("tradeoff-glue", f"Adapters, size {size}", task) for task in GLUE_TASKS)
    return Quantity(f"size {size}", (Printed("H19-text", row, "sec 3.6", "accuracy %"),), ours)


def over_glue(point: str) -> Quantity:
    """A point of Figure 3, over eight tasks; the picture's numbers are not printed."""
    ours = tuple(Ours("tradeoff-glue", point, task) for task in GLUE_TASKS)
    return Quantity(f"{point} on GLUE", ours=ours)


def started(deviation: str, task: str) -> Quantity:
    """Adapters by their initialisation; the curves are not printed."""
    point = f"Adapters, standard deviation {deviation}"
    return Quantity(f"start at {deviation}, {task}", ours=(Ours("init-robustness", point, task),))


def without_norms(task: str) -> Statement:
    """Layer norms alone lose: only the loss is printed."""
    full, norms = (
        Quantity(f"{point} on {task}", ours=(Ours("tradeoff-glue", point, task),))
        for point in (FULL, NORMS)
    )
    return Statement(full, norms)


def drop(first: int, last: int) -> Quantity:
    """What is lost without the adapters of these layers; only the 3-shared report prints it."""
    place = Printed("SR20-F8", f"first ablated layer {first}", f"last ablated layer {last}", GRID)
    ours = Ours("ablation-heatmap", str(first), str(last))
    which = f"layer {first}" if first == last else f"layers {first} to {last}"
    return Quantity(f"drop without the adapters of {which}", (place,), (ours,))


def spans(first: int, last: int) -> Quantity:
    """The mean drop over all spans within these layers."""
    drops = [drop(i, j) for i in range(first, last + 1) for j in range(i, last + 1)]
    return Quantity(
        f"mean drop over the spans within layers {first} to {last}",
        tuple(place for one in drops for place in one.printed),
        tuple(place for one in drops for place in one.ours),
    )


CLAIMS = (
    Claim(
        "houlsby-glue-within",
        "houlsby",
        "sentence",
        "On GLUE adapters come within 0.4 points of full fine-tuning, and train 3.6 % of its "
        "parameters a task.",
        f"{PAPER}, abstract; section 3.2, Table 1",
        (
            Statement(glue_total(BERT), glue_total(SIZES), "within", 0.4),
            Statement(
                glue_parameters(SIZES, "Trained params / task", "Trained / task",
                                "percent of BERT"),
                3.6,
                "within",
            ),
        ),
        note="Theirs is the test server's total; ours the mean of nine validation scores.",
    ),
    Claim(
        "houlsby-glue-total-parameters",
        "houlsby",
        "sentence",
        "For all tasks of GLUE adapters take 1.3 times the parameters of one BERT, fine-tuning 9 "
        "times.",
        f"{PAPER}, section 3.2, last paragraph; Table 1",
        (
            Statement(glue_total_parameters(SIZES), 1.3, "within"),
            Statement(glue_total_parameters(BERT), 9.0, "within"),
        ),
    ),
    Claim(
        "houlsby-glue-one-size",
        "houlsby",
        "sentence",
        "One adapter size for all tasks of GLUE scores slightly lower than the best size for each.",
        f"{PAPER}, section 3.2, last paragraph; caption of Table 1",
        (
            Statement(glue_total(SIZES), glue_total(ONE_SIZE)),
            Statement(glue_total(SIZES), glue_total(ONE_SIZE), "within", SIMILAR),
        ),
        note="Slightly is read as at most a point.",
    ),
    Claim(
        "houlsby-further-within",
        "houlsby",
        "sentence",
        "On 17 further tasks adapters are close to full fine-tuning, 0.4 points behind.",
        f"{PAPER}, section 3.3, last paragraph; Table 2",
        (Statement(average(TUNED), average(ADAPTED), "within", 0.4),),
        note="Read as: within so much of it on average.",
    ),
    Claim(
        "houlsby-further-similar",
        "houlsby",
        "sentence",
        "On the further tasks adapters perform similarly to full and variable fine-tuning and to a "
        "search without BERT.",
        f"{PAPER}, Table 2, as the Adapters blog post sums it up, section Experiments",
        tuple(
            Statement(average(row), average(ADAPTED), "within", SIMILAR)
            for row in (TUNED, VARIABLE, "No BERT (AutoML)")
        ),
        note="The blog post's sentence, not the paper's. Similarly is read as within a point on "
        "average; the search is not rebuilt here.",
    ),
    Claim(
        "houlsby-further-parameters",
        "houlsby",
        "sentence",
        "On the further tasks adapters add 1.14 % new parameters a task, and are much more compact "
        "than variable fine-tuning, which trains about half of the network.",
        f"{PAPER}, section 3.3, last paragraph; Table 2",
        (
            Statement(trained(ADAPTED), 1.14, "within"),
            Statement(trained(VARIABLE), trained(ADAPTED)),
            Statement(trained(TUNED), trained(VARIABLE)),
        ),
        note="Read as: variable fine-tuning trains more than adapters, and less than all.",
    ),
    Claim(
        "houlsby-mnli-top-layer",
        "houlsby",
        "sentence",
        "On MNLI a fine-tuned top layer is substantially worse than adapters of size 64, which "
        "train fewer parameters and are comparable with full fine-tuning.",
        f"{PAPER}, section 3.4, on Figure 4 and last paragraph",
        (
            Statement(
                mnli("adapters size 64 (approx. 2M params)", "Adapters, size 64"),
                mnli("top layer only (approx. 9M params)", TOP),
            ),
            Statement(
                mnli("full fine-tuning", FULL),
                mnli("adapters size 64 (approx. 2M params)", "Adapters, size 64"),
                "within",
                SIMILAR,
            ),
        ),
        note="The last paragraph says comparable of adapters in general; read as within a point.",
    ),
    Claim(
        "houlsby-fewer-layers",
        "houlsby",
        "sentence",
        "On GLUE performance falls dramatically when fewer layers are fine-tuned; adapters perform "
        "well at far fewer parameters.",
        f"{PAPER}, section 3.4, on Figure 3",
        (
            Statement(over_glue(FULL), over_glue(TOP)),
            Statement(over_glue("Adapters, size 2"), over_glue(TOP)),
        ),
        note="The curves are not printed as numbers. Read as: in the mean over eight tasks one "
        "layer is worse than all, and than adapters at their smallest.",
    ),
    Claim(
        "houlsby-layer-norms",
        "houlsby",
        "sentence",
        "Layer norms trained alone perform poorly, on CoLA and on MNLI.",
        f"{PAPER}, section 3.4, on layer normalization",
        (without_norms("cola"), without_norms("mnli")),
        note="Read as: worse than full fine-tuning. Only the losses are printed, not the scores.",
    ),
    Claim(
        "houlsby-squad",
        "houlsby",
        "sentence",
        "On SQuAD 1.1 adapters are comparable with full fine-tuning, and perform well even at size "
        "2.",
        f"{PAPER}, section 3.5; Figure 5",
        tuple(
            Statement(squad("full fine-tuning", FULL), squad(printed, point), "within", SIMILAR)
            for printed, point in (
                ("adapters size 64 (2% params)", "Adapters, size 64"),
                ("adapters size 2 (0.1% params)", "Adapters, size 2"),
            )
        ),
        note="Both are read as within a point, at sizes 64 and 2, which the text quotes.",
    ),
    Claim(
        "houlsby-lower-layers",
        "houlsby",
        "sentence",
        "Adapters of the lower layers matter less than those of the higher ones.",
        f"{PAPER}, section 3.6, on Figure 6",
        (Statement(spans(LAYERS // 2, LAYERS - 1), spans(0, LAYERS // 2 - 1)),),
        note="Read as: the mean drop over the spans within either half of the layers. The only "
        "printed grid is that of the 3-shared report, Figure 8.",
    ),
    Claim(
        "houlsby-initialisation",
        "houlsby",
        "sentence",
        "Adapters are robust to a start with a standard deviation below 1e-2; a too large one "
        "hurts.",
        f"{PAPER}, section 3.6, on Figure 6, right",
        tuple(
            statement
            for task in ("mnli", "cola")
            for statement in (
                Statement(started("1e-2", task), started("1e-7", task), "within", SIMILAR),
                Statement(started("1e-2", task), started("1", task)),
            )
        ),
        note="The curves are not printed as numbers. Robust is read as within a point.",
    ),
    Claim(
        "houlsby-size-robust",
        "houlsby",
        "sentence",
        "The quality is stable across adapter sizes: 8, 64 and 256 in the mean over eight tasks.",
        f"{PAPER}, section 3.6, on adapter sizes",
        (
            Statement(sized(8), sized(64), "within", SIMILAR),
            Statement(sized(64), sized(256), "within", SIMILAR),
            Statement(sized(8), sized(256), "within", SIMILAR),
        ),
        note="Stable is read as within a point.",
    ),
)  # fmt: skip
