"""What HyperFormer claims."""

from __future__ import annotations

from repro.papers.claims import Claim, Quantity, Statement, cell, every, mean, more, within
from repro.papers.hyperformer.setting import (
    ABLATIONS,
    DAGGER,
    HYPER,
    MULTI,
    NO_BLOCKS,
    NO_CONDITIONAL,
    NO_NORMS,
    NO_T5_NORM,
    PLUS,
    SIZES,
    TUNED,
    WHOLE,
)  # fmt: skip
from repro.papers.hyperformer.tables import FOUR, ONE, SETTINGS, TWO, row_of

PAPER = "Karimi Mahabadi et al. 2021 (HyperFormer)"
SLIDES = "Zhang, Adapter Modules for NLP, slides"
ABSTRACT = f"{PAPER}, abstract, as in the ACL Anthology"
"""Its text is known to us by its abstract and by what the slides show."""
LOW_RESOURCE = "CoLA", "MRPC F1", "STS-B Spearman", "RTE"
"""The small tasks of GLUE, by the column that is compared."""


def glue(model: str, size: str) -> Quantity:
    """The mean of Table 1."""
    row = row_of(model, size)
    return cell(ONE, row, "Avg", row)


def over_small(model: str, size: str) -> Quantity:
    """The mean of Table 1 over the small tasks."""
    row = row_of(model, size)
    cells = (cell(ONE, row, column) for column in LOW_RESOURCE)
    return mean(f"{row}, mean of the small tasks", cells)


def trained(model: str, size: str) -> Quantity:
    """What a task trains, in percent."""
    row = row_of(model, size)
    return cell(ONE, row, "Trained a task", f"{row}, trained a task")


def few_shot_mean(task: str, model: str) -> Quantity:
    """The mean of Table 2 over the settings of a task."""
    cells = (cell(TWO, model, f"{task} / {samples} samples") for samples in SETTINGS[task])
    return mean(f"{model}, mean of {task}", cells)


def ahead_few_shot(other: str) -> tuple[Statement, ...]:
    """HyperFormer++ is ahead on every task of Table 2, in the mean over its settings."""
    ours = "HYPERFORMER++_BASE"
    return every(more(few_shot_mean(task, ours), few_shot_mean(task, other)) for task in SETTINGS)


def ablated(row: str) -> Quantity:
    """A number of Table 4."""
    return cell(FOUR, row, "GLUE", row)


CLAIMS = (
    Claim("hyperformer-glue-adapters", "hyperformer", "reading",
        "HyperFormer++ is ahead of multi-task adapters on GLUE.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        every(more(glue(PLUS, size), glue(DAGGER, size)) for size in SIZES)),
    Claim("hyperformer-glue-fine-tuning", "hyperformer", "sentence",
        "On GLUE, shared hypernetworks improve the performance in multi-task learning.",
        f"{ABSTRACT}; Table 1, as in {SLIDES}, Results",
        every(more(glue(PLUS, size), glue(MULTI, size)) for size in SIZES),
        note="Read as: HyperFormer++ is ahead of T5 fine-tuned on all tasks together, in both "
        "sizes."),
    Claim("hyperformer-glue-single", "hyperformer", "reading",
        "HyperFormer++ is ahead of T5 fine-tuned on each task alone.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        every(more(glue(PLUS, size), glue(TUNED, size)) for size in SIZES),
        note="Read as: in the average over GLUE."),
    Claim("hyperformer-share", "hyperformer", "sentence",
        "Shared hypernetworks add 0.29 % of the parameters a task.",
        f"{ABSTRACT}; Table 1",
        within(trained(PLUS, "BASE"), 0.29, by=0),
        note="Of HyperFormer++ of the base size."),
    Claim("hyperformer-fewer-parameters", "hyperformer", "reading",
        "Shared hypernetworks train fewer parameters than adapters and than one hypernetwork a "
        "layer, at a comparable score.",
        f"{PAPER}, Table 1, as in {SLIDES}, Results",
        every(
            more(trained(DAGGER, size), trained(PLUS, size))
            + more(trained(HYPER, size), trained(PLUS, size))
            + within(glue(HYPER, size), glue(PLUS, size))
            for size in SIZES
        ),
        note="Comparable is read as within a point."),
    Claim("hyperformer-low-resource", "hyperformer", "sentence",
        "What is shared across tasks transfers to tasks of few rows.",
        f"{PAPER}, as in {SLIDES}, section Motivation; Table 1",
        every(more(over_small(PLUS, size), over_small(TUNED, size)) for size in SIZES),
        note="Stated as the aim. Read as: in the mean over the four small tasks of GLUE "
        "HyperFormer++ is ahead of T5 fine-tuned on each task."),
    Claim("hyperformer-few-shot-adapters", "hyperformer", "sentence",
        "Performance in few-shot domain generalization improves substantially across a variety of "
        "tasks (here against multi-task adapters).",
        f"{ABSTRACT}; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("Adapters dagger_BASE"),
        note="The sentence names no baseline. Read as: HyperFormer++ is ahead on each of the four "
        "tasks, in the mean over its numbers of samples."),
    Claim("hyperformer-few-shot-fine-tuning", "hyperformer", "sentence",
        "Performance in few-shot domain generalization improves substantially across a variety of "
        "tasks (here against a fine-tuned T5).",
        f"{ABSTRACT}; Table 2, as in {SLIDES}, Few-shot Learning",
        ahead_few_shot("T5_BASE"),
        note="The sentence names no baseline. Read as: HyperFormer++ is ahead on each of the four "
        "tasks, in the mean over its numbers of samples."),
    Claim("hyperformer-ablation-each", "hyperformer", "reading",
        "Every component of HyperFormer adds to the score.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        more(ablated(WHOLE), *map(ablated, ABLATIONS))),
    Claim("hyperformer-ablation-blocks", "hyperformer", "reading",
        "Nothing matters as much as the adapter blocks.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        every(more(ablated(row), ablated(NO_BLOCKS)) for row in ABLATIONS if row != NO_BLOCKS)),
    Claim("hyperformer-ablation-norms", "hyperformer", "reading",
        "Without both layer norms the score is lower than without either.",
        f"{PAPER}, Table 4, as in {SLIDES}, Ablation Studies",
        every(more(ablated(row), ablated(NO_NORMS)) for row in (NO_CONDITIONAL, NO_T5_NORM))),
)  # fmt: skip
