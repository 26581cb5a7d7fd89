"""What HyperFormer claims."""

from __future__ import annotations

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement, best

PAPER = "Karimi Mahabadi et al. 2021 (HyperFormer)"
SLIDES = "Zhang, Adapter Modules for NLP, slides"
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


def ahead_few_shot(other: str) -> tuple[Statement, ...]:
    """HyperFormer++ is ahead in every setting of Table 2."""
    return tuple(
        Statement(few_shot(task, samples, "HYPERFORMER++_BASE"), few_shot(task, samples, other))
        for task, sizes in SETTINGS.items()
        for samples in sizes
    )


def ablated(row: str) -> Quantity:
    """A number of Table 4."""
    place = Printed("HF21-T4", row, "GLUE", "average GLUE")
    return Quantity(row, (place,), (Ours(FOUR, row, "GLUE"),))


CLAIMS = (
    Claim(
        "hyperformer-glue-adapters",
        "hyperformer",
        "HyperFormer++ is ahead of multi-task adapters on GLUE.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        tuple(Statement(glue(PLUS, size), glue(DAGGER, size)) for size in SIZES),
    ),
    Claim(
        "hyperformer-glue-fine-tuning",
        "hyperformer",
        "HyperFormer++ is ahead of T5 fine-tuned on each task and on all tasks together.",
        f"{PAPER}, abstract; Table 1, as in {SLIDES}, Results",
        tuple(
            Statement(glue(PLUS, size), glue(model, size))
            for size in SIZES
            for model in (TUNED, MULTI)
        ),
    ),
    Claim(
        "hyperformer-share",
        "hyperformer",
        "HyperFormer++ of the base size adds 0.29 % of the parameters a task.",
        f"{PAPER}, abstract",
        (Statement(trained(PLUS, "BASE"), 0.29, "within"),),
    ),
    Claim(
        "hyperformer-fewer-parameters",
        "hyperformer",
        "Shared hypernetworks train fewer parameters than adapters and than one hypernetwork a "
        "layer, at a comparable score.",
        f"{PAPER}, Table 1; {SLIDES}, HyperFormer++",
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
        "Sharing across tasks helps those of few rows.",
        f"{PAPER}, section 1; {SLIDES}, Motivation; Table 1",
        tuple(
            Statement(on_task(PLUS, size, task), on_task(TUNED, size, task))
            for size in SIZES
            for task in LOW_RESOURCE
        ),
        note="Read as: HyperFormer++ is ahead of T5 fine-tuned on each of the four small tasks.",
    ),
    Claim(
        "hyperformer-few-shot-adapters",
        "hyperformer",
        "HyperFormer++ is ahead of multi-task adapters in every few-shot setting.",
        f"{PAPER}, abstract; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("Adapters dagger_BASE"),
    ),
    Claim(
        "hyperformer-few-shot-fine-tuning",
        "hyperformer",
        "HyperFormer++ is ahead of a fine-tuned T5 in every few-shot setting.",
        f"{PAPER}, abstract; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("T5_BASE"),
    ),
    Claim(
        "hyperformer-ablation-each",
        "hyperformer",
        "Every component of HyperFormer adds to the score.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        best(*map(ablated, (WHOLE, NO_BLOCKS, NO_CONDITIONAL, NO_PROJECTOR, NO_T5_NORM,
                            NO_NORMS))),
    ),
    Claim(
        "hyperformer-ablation-blocks",
        "hyperformer",
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
        "Without both layer norms the score is lower than without either.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        tuple(
            Statement(ablated(row), ablated(NO_NORMS)) for row in (NO_CONDITIONAL, NO_T5_NORM)
        ),
    ),
)  # fmt: skip
