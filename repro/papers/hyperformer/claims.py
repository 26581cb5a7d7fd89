"""What HyperFormer claims."""

from __future__ import annotations

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement, best

PAPER = "Karimi Mahabadi et al. 2021 (HyperFormer)"
SLIDES = "Zhang, Adapter Modules for NLP, slides"
ABSTRACT = f"{PAPER}, abstract, as in the ACL Anthology"
"""Its text is known to us by its abstract and by what the slides show."""
TUNED, ADAPTERS, MULTI = "Single-task / T5", "Single-task / Adapters", "Multi-task / T5"
DAGGER, HYPER, PLUS = (
    "Multi-task / Adapters dagger", "Multi-task / HYPERFORMER", "Multi-task / HYPERFORMER++",
)  # fmt: skip
SIZES = "SMALL", "BASE"
ONE, TWO, FOUR = "Hyperformer-1", "Hyperformer-2", "Hyperformer-4"
"""Where our numbers are."""
LOW_RESOURCE = {"CoLA": "Matthews corr", "MRPC": "F1", "STS-B": "Spearman", "RTE": "accuracy"}
"""The small tasks of GLUE, and the metric that is compared."""
TWICE = ("MRPC", "STS-B")
"""Those of them with two metrics, which are columns of their own here."""
SETTINGS = {
    "SciTail": (4, 16, 32, 100, 500, 1000, 2000),
    "CB": (4, 16, 32, 100, 250),
    "IMDB": (4, 16, 32, 100, 500, 1000, 2000),
    "Yelp polarity": (4, 16, 32, 100, 500, 1000, 2000),
}
"""Rows of Table 2 that a model is trained on."""
WHOLE, NO_BLOCKS = "HYPERFORMER_SMALL", "- Adapter blocks"
NO_CONDITIONAL, NO_PROJECTOR = "- Conditional layer norm", "- Task projector"
NO_T5_NORM, NO_NORMS = "- T5 Layer norm", "- Conditional layer norm, T5 Layer norm"


def row_of(model: str, size: str) -> str:
    """A row as Table 1 names it."""
    base, dagger = model.removesuffix(" dagger"), " dagger" * model.endswith("dagger")
    multi = " (multi-task)" if model == MULTI else ""
    return f"{base}_{size}{dagger}{multi}"


def glue(model: str, size: str) -> Quantity:
    """The mean of Table 1."""
    row = row_of(model, size)
    place = Printed("HF21-T1", row, "Avg", "mean of the 11 printed numbers")
    return Quantity(row, (place,), (Ours(ONE, row, "Avg"),))


def on_task(model: str, size: str, task: str) -> Quantity:
    """A score of Table 1."""
    row = row_of(model, size)
    metric = LOW_RESOURCE[task]
    column = f"{task} {metric}" if task in TWICE else task
    place = Printed("HF21-T1", row, task, metric)
    return Quantity(f"{row}, {task}", (place,), (Ours(ONE, row, column),))


def over_small(model: str, size: str) -> Quantity:
    """The mean of Table 1 over the small tasks."""
    cells = [on_task(model, size, task) for task in LOW_RESOURCE]
    printed = tuple(place for cell in cells for place in cell.printed)
    ours = tuple(place for cell in cells for place in cell.ours)
    return Quantity(f"{row_of(model, size)}, mean of the small tasks", printed, ours)


def trained(model: str, size: str) -> Quantity:
    """What a task trains, in percent."""
    row = row_of(model, size)
    place = Printed("HF21-T1", row, "#Trained params / per task", "percent")
    return Quantity(f"{row}, trained a task", (place,), (Ours(ONE, row, "Trained a task"),))


def few_shot_row(task: str, samples: int) -> str:
    """A setting as Table 2 names it."""
    return f"{task} / {samples} samples"


def few_shot(task: str, samples: int, model: str) -> Quantity:
    """A number of Table 2."""
    row = few_shot_row(task, samples)
    place = Printed("HF21-T2", row, model, "accuracy %")
    return Quantity(f"{model}, {row}", (place,), (Ours(TWO, model, row),))


def few_shot_mean(task: str, model: str) -> Quantity:
    """The mean of Table 2 over the settings of a task."""
    cells = [few_shot(task, samples, model) for samples in SETTINGS[task]]
    printed = tuple(place for cell in cells for place in cell.printed)
    ours = tuple(place for cell in cells for place in cell.ours)
    return Quantity(f"{model}, mean of {task}", printed, ours)


def ahead_few_shot(other: str) -> tuple[Statement, ...]:
    """HyperFormer++ is ahead on every task of Table 2, in the mean over its settings."""
    return tuple(
        Statement(few_shot_mean(task, "HYPERFORMER++_BASE"), few_shot_mean(task, other))
        for task in SETTINGS
    )


def ablated(row: str) -> Quantity:
    """A number of Table 4."""
    place = Printed("HF21-T4", row, "GLUE", "average GLUE")
    return Quantity(row, (place,), (Ours(FOUR, row, "GLUE"),))


CLAIMS = (
    Claim(
        "hyperformer-glue-adapters",
        "hyperformer",
        "reading",
        "HyperFormer++ is ahead of multi-task adapters on GLUE.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        tuple(Statement(glue(PLUS, size), glue(DAGGER, size)) for size in SIZES),
    ),
    Claim(
        "hyperformer-glue-fine-tuning",
        "hyperformer",
        "sentence",
        "On GLUE, shared hypernetworks improve the performance in multi-task learning.",
        f"{ABSTRACT}; Table 1, as in {SLIDES}, Results",
        tuple(Statement(glue(PLUS, size), glue(MULTI, size)) for size in SIZES),
        note="Read as: HyperFormer++ is ahead of T5 fine-tuned on all tasks together, in both "
        "sizes.",
    ),
    Claim(
        "hyperformer-glue-single",
        "hyperformer",
        "reading",
        "HyperFormer++ is ahead of T5 fine-tuned on each task alone.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        tuple(Statement(glue(PLUS, size), glue(TUNED, size)) for size in SIZES),
        note="Read as: in the average over GLUE.",
    ),
    Claim(
        "hyperformer-share",
        "hyperformer",
        "sentence",
        "Shared hypernetworks add 0.29 % of the parameters a task.",
        f"{ABSTRACT}; Table 1",
        (Statement(trained(PLUS, "BASE"), 0.29, "within"),),
        note="Of HyperFormer++ of the base size.",
    ),
    Claim(
        "hyperformer-fewer-parameters",
        "hyperformer",
        "reading",
        "Shared hypernetworks train fewer parameters than adapters and than one hypernetwork a "
        "layer, at a comparable score.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        tuple(
            statement
            for size in SIZES
            for statement in (
                Statement(trained(DAGGER, size), trained(PLUS, size)),
                Statement(trained(HYPER, size), trained(PLUS, size)),
                Statement(glue(HYPER, size), glue(PLUS, size), "within", SIMILAR),
            )
        ),
        note="Comparable is read as within a point.",
    ),
    Claim(
        "hyperformer-low-resource",
        "hyperformer",
        "sentence",
        "What is shared across tasks transfers to tasks of few rows.",
        f"{PAPER}, as in {SLIDES}, section Motivation; Table 1",
        tuple(Statement(over_small(PLUS, size), over_small(TUNED, size)) for size in SIZES),
        note="Stated as the aim. Read as: in the mean over the four small tasks of GLUE "
        "HyperFormer++ is ahead of T5 fine-tuned on each task.",
    ),
    Claim(
        "hyperformer-few-shot-adapters",
        "hyperformer",
        "sentence",
        "Performance in few-shot domain generalization improves substantially across a variety of "
        "tasks (here against multi-task adapters).",
        f"{ABSTRACT}; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("Adapters dagger_BASE"),
        note="The sentence names no baseline. Read as: HyperFormer++ is ahead on each of the four "
        "tasks, in the mean over its numbers of samples.",
    ),
    Claim(
        "hyperformer-few-shot-fine-tuning",
        "hyperformer",
        "sentence",
        "Performance in few-shot domain generalization improves substantially across a variety of "
        "tasks (here against a fine-tuned T5).",
        f"{ABSTRACT}; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("T5_BASE"),
        note="The sentence names no baseline. Read as: HyperFormer++ is ahead on each of the four "
        "tasks, in the mean over its numbers of samples.",
    ),
    Claim(
        "hyperformer-ablation-each",
        "hyperformer",
        "reading",
        "Every component of HyperFormer adds to the score.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        best(*map(ablated, (WHOLE, NO_BLOCKS, NO_CONDITIONAL, NO_PROJECTOR, NO_T5_NORM,
                            NO_NORMS))),
    ),
    Claim(
        "hyperformer-ablation-blocks",
        "hyperformer",
        "reading",
        "Nothing matters as much as the adapter blocks.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        tuple(
            Statement(ablated(row), ablated(NO_BLOCKS))
            for row in (NO_CONDITIONAL, NO_PROJECTOR, NO_T5_NORM, NO_NORMS)
        ),
    ),
    Claim(
        "hyperformer-ablation-norms",
        "hyperformer",
        "reading",
        "Without both layer norms the score is lower than without either.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        tuple(
            Statement(ablated(row), ablated(NO_NORMS)) for row in (NO_CONDITIONAL, NO_T5_NORM)
        ),
    ),
)  # fmt: skip
