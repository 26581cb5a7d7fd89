"""What ResAdapters claims."""

from __future__ import annotations

from dataclasses import replace

from repro.papers.claims import Claim, Quantity, Statement, cell, every, mean, more, within
from repro.papers.resadapters.tables import ONE, TWO

PAPER = "Hsu & Wu, ResAdapters"
MODELS = ADAPTER, ADAPTER_RESNET, ATTENTION, RESNET, RESNEXT = (
    "Adapter", "Adapter ResNet", "Attention", "Attention ResNet", "Attention ResNeXt"
)  # fmt: skip
EPOCHS = range(1, 9)
METRICS = "EM", "F1"


def of_model(row: str, group: str, metric: str) -> Quantity:
    """A number of Table 1."""
    return cell(ONE, row, f"{group} {metric}", f"{row}, {group} {metric}")


def of_epoch(epoch: int, group: str, metric: str) -> Quantity:
    """A number of Table 2: Attention ResNeXt after an epoch."""
    name = f"ResNeXt after epoch {epoch}, {group} {metric}"
    return cell(TWO, f"Epoch {epoch}", f"{group} {metric}", name)


def of_bert(group: str, metric: str) -> Quantity:
    """A number of Table 2: the whole BERT fine-tuned. Ours is a real fine-tuning."""
    column = f"{group} {metric}"
    printed = cell(TWO, "BERT Fine-tuned (printed)", column, f"fine-tuned BERT, {column}")
    return replace(printed, ours=cell(TWO, "Full fine-tuning", column).ours)


def over_models(group: str, metric: str) -> Quantity:
    """The mean of Table 1 over its five models."""
    cells = (of_model(row, group, metric) for row in MODELS)
    return mean(f"mean over the models, {group} {metric}", cells)


def better(row: str, other: str) -> tuple[Statement, ...]:
    """One model is ahead of another on all questions, in both metrics."""
    return every(more(of_model(row, "ALL", m), of_model(other, "ALL", m)) for m in METRICS)


CLAIMS = (
    Claim("resadapters-residual-nonlinear", "resadapters", "sentence",
        "Residual paths significantly improve the adapter without attention.",
        f"{PAPER}, section 4.3, first paragraph; caption of Table 1",
        better(ADAPTER_RESNET, ADAPTER),
        note="Read as: ahead in exact match and F1 on all questions."),
    Claim("resadapters-residual-attention", "resadapters", "sentence",
        "Residual paths significantly improve the adapter, however many parameters it trains.",
        f"{PAPER}, caption of Table 1; section 5, first sentence",
        better(RESNET, ATTENTION) + better(RESNEXT, ATTENTION),
        note="Read as: with attention too, both residual models are ahead of the one without "
        "residual paths, in exact match and F1 on all questions."),
    Claim("resadapters-attention-adds", "resadapters", "sentence",
        "Attention layers, and the parameters that come with them, are added to raise the overall "
        "performance further.",
        f"{PAPER}, section 4.3, first paragraph",
        better(ATTENTION, ADAPTER) + better(RESNET, ADAPTER_RESNET),
        note="Stated as the aim. Read as: ahead of the same model without attention."),
    Claim("resadapters-resnext-hasans", "resadapters", "sentence",
        "Attention ResNeXt has the highest exact match and F1 on answerable questions.",
        f"{PAPER}, section 4.3, first paragraph",
        every(more(*(of_model(row, "HasAns", m) for row in reversed(MODELS))) for m in METRICS)),
    Claim("resadapters-resnext-f1", "resadapters", "sentence",
        "ResNeXt raises F1 still higher.",
        f"{PAPER}, section 5, second sentence",
        more(*(of_model(row, "ALL", "F1") for row in reversed(MODELS))),
        note="Read as: F1 on all questions, ahead of the four other models."),
    Claim("resadapters-bold-attention", "resadapters", "reading",
        "Of the models with attention, ResNeXt has the best exact match and F1 on all questions.",
        f"{PAPER}, Table 1, bold numbers",
        better(RESNEXT, ATTENTION) + better(RESNEXT, RESNET),
        note="The table prints both numbers in bold; the text claims answerable questions only."),
    Claim("resadapters-noans-high", "resadapters", "sentence",
        "Scores on unanswerable questions are generally high.",
        f"{PAPER}, caption of Table 1",
        every(more(over_models("NoAns", m), over_models("HasAns", m)) for m in METRICS),
        note="Read as: higher than on answerable questions, in the mean over the five models."),
    Claim("resadapters-hasans-grows", "resadapters", "sentence",
        "Adapters learn to raise the score on answerable questions, with a side effect on "
        "unanswerable ones.",
        f"{PAPER}, caption of Table 1, last sentence; Table 2",
        more(of_epoch(EPOCHS[-1], "HasAns", "F1"), of_epoch(EPOCHS[0], "HasAns", "F1"))
        + more(of_epoch(EPOCHS[0], "NoAns", "F1"), of_epoch(EPOCHS[-1], "NoAns", "F1")),
        note="Read as: the last epoch of Table 2 against the first."),
    Claim("resadapters-similar-to-bert", "resadapters", "sentence",
        "With few trained parameters the adapter reaches a performance similar to that of a "
        "fine-tuned BERT.",
        f"{PAPER}, section 1, last paragraph",
        every(within(of_bert("ALL", m), of_epoch(EPOCHS[-1], "ALL", m)) for m in METRICS),
        note="Read as: within a point after the last epoch."),
    Claim("resadapters-bert-ahead", "resadapters", "reading",
        "The fine-tuned BERT is ahead of ResNeXt after every epoch.",
        f"{PAPER}, Table 2",
        every(more(of_bert("ALL", m), *(of_epoch(n, "ALL", m) for n in EPOCHS)) for m in METRICS),
        note="Read as: in exact match and F1 on all questions."),
)  # fmt: skip
