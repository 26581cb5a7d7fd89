"""What ResAdapters claims."""

from __future__ import annotations

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement, best

PAPER = "Hsu & Wu, ResAdapters"
ADAPTER, ADAPTER_RESNET = "Adapter", "Adapter ResNet"
ATTENTION, RESNET, RESNEXT = "Attention", "Attention ResNet", "Attention ResNeXt"
MODELS = ADAPTER, ADAPTER_RESNET, ATTENTION, RESNET, RESNEXT
EPOCHS = range(1, 9)
METRICS = "EM", "F1"


def of_model(row: str, group: str, metric: str) -> Quantity:
    """A number of Table 1."""
    section = "Non Linear" if row.startswith("Adapter") else "With Attention"
    printed = Printed("RA-T1", f"{section} / {row}", group, f"{metric} (SQuAD2.0 dev)")
    ours = Ours("ResAdapters-1", row, f"{group} {metric}")
    return Quantity(f"{row}, {group} {metric}", (printed,), (ours,))


def of_epoch(epoch: int, group: str, metric: str) -> Quantity:
    """A number of Table 2: Attention ResNeXt after an epoch."""
    printed = Printed("RA-T2", f"Epoch{epoch}", group, f"{metric} (SQuAD2.0 dev)")
    ours = Ours("ResAdapters-2", f"Epoch {epoch}", f"{group} {metric}")
    return Quantity(f"ResNeXt after epoch {epoch}, {group} {metric}", (printed,), (ours,))


def of_bert(group: str, metric: str) -> Quantity:
    """A number of Table 2: the whole BERT fine-tuned. Ours is a real fine-tuning."""
    printed = Printed("RA-T2", "BERT Fine-tuned", group, f"{metric} (SQuAD2.0 dev)")
    ours = Ours("ResAdapters-2", "Full fine-tuning", f"{group} {metric}")
    return Quantity(f"fine-tuned BERT, {group} {metric}", (printed,), (ours,))


def over_models(group: str, metric: str) -> Quantity:
    """The mean of Table 1 over its five models."""
    cells = [of_model(row, group, metric) for row in MODELS]
    printed = tuple(place for cell in cells for place in cell.printed)
    ours = tuple(place for cell in cells for place in cell.ours)
    return Quantity(f"mean over the models, {group} {metric}", printed, ours)


def better(row: str, other: str, *metrics: str) -> tuple[Statement, ...]:
    """One model is ahead of another on all questions."""
    return tuple(
        Statement(of_model(row, "ALL", metric), of_model(other, "ALL", metric))
        for metric in metrics
    )


CLAIMS = (
    Claim(
        "resadapters-residual-nonlinear",
        "resadapters",
        "sentence",
        "Residual paths significantly improve the adapter without attention.",
        f"{PAPER}, section 4.3, first paragraph; caption of Table 1",
        better(ADAPTER_RESNET, ADAPTER, *METRICS),
        note="Read as: ahead in exact match and F1 on all questions.",
    ),
    Claim(
        "resadapters-residual-attention",
        "resadapters",
        "sentence",
        "Residual paths significantly improve the adapter, however many parameters it trains.",
        f"{PAPER}, caption of Table 1; section 5, first sentence",
        better(RESNET, ATTENTION, *METRICS) + better(RESNEXT, ATTENTION, *METRICS),
        note="Read as: with attention too, both residual models are ahead of the one without "
        "residual paths, in exact match and F1 on all questions.",
    ),
    Claim(
        "resadapters-attention-adds",
        "resadapters",
        "sentence",
        "Attention layers, and the parameters that come with them, are added to raise the overall "
        "performance further.",
        f"{PAPER}, section 4.3, first paragraph",
        better(ATTENTION, ADAPTER, *METRICS) + better(RESNET, ADAPTER_RESNET, *METRICS),
        note="Stated as the aim. Read as: ahead of the same model without attention.",
    ),
    Claim(
        "resadapters-resnext-hasans",
        "resadapters",
        "sentence",
        "Attention ResNeXt has the highest exact match and F1 on answerable questions.",
        f"{PAPER}, section 4.3, first paragraph",
        tuple(
            statement
            for metric in METRICS
            for statement in best(*(of_model(row, "HasAns", metric) for row in reversed(MODELS)))
        ),
    ),
    Claim(
        "resadapters-resnext-f1",
        "resadapters",
        "sentence",
        "ResNeXt raises F1 still higher.",
        f"{PAPER}, section 5, second sentence",
        best(*(of_model(row, "ALL", "F1") for row in reversed(MODELS))),
        note="Read as: F1 on all questions, ahead of the four other models.",
    ),
    Claim(
        "resadapters-bold-attention",
        "resadapters",
        "reading",
        "Of the models with attention, ResNeXt has the best exact match and F1 on all questions.",
        f"{PAPER}, Table 1, bold numbers",
        better(RESNEXT, ATTENTION, *METRICS) + better(RESNEXT, RESNET, *METRICS),
        note="The table prints both numbers in bold; the text claims answerable questions only.",
    ),
    Claim(
        "resadapters-noans-high",
        "resadapters",
        "sentence",
        "Scores on unanswerable questions are generally high.",
        f"{PAPER}, caption of Table 1",
        tuple(Statement(over_models("NoAns", m), over_models("HasAns", m)) for m in METRICS),
        note="Read as: higher than on answerable questions, in the mean over the five models.",
    ),
    Claim(
        "resadapters-hasans-grows",
        "resadapters",
        "sentence",
        "Adapters learn to raise the score on answerable questions, with a side effect on "
        "unanswerable ones.",
        f"{PAPER}, caption of Table 1, last sentence; Table 2",
        (
            Statement(of_epoch(EPOCHS[-1], "HasAns", "F1"), of_epoch(EPOCHS[0], "HasAns", "F1")),
            Statement(of_epoch(EPOCHS[0], "NoAns", "F1"), of_epoch(EPOCHS[-1], "NoAns", "F1")),
        ),
        note="Read as: the last epoch of Table 2 against the first.",
    ),
    Claim(
        "resadapters-similar-to-bert",
        "resadapters",
        "sentence",
        "With few trained parameters the adapter reaches a performance similar to that of a "
        "fine-tuned BERT.",
        f"{PAPER}, section 1, last paragraph",
        tuple(
            Statement(of_bert("ALL", metric), of_epoch(EPOCHS[-1], "ALL", metric), "within",
                      SIMILAR)
            for metric in METRICS
        ),
        note="Read as: within a point after the last epoch.",
    ),
    Claim(
        "resadapters-bert-ahead",
        "resadapters",
        "reading",
        "The fine-tuned BERT is ahead of ResNeXt after every epoch.",
        f"{PAPER}, Table 2",
        tuple(
            Statement(of_bert("ALL", metric), of_epoch(epoch, "ALL", metric))
            for metric in METRICS
            for epoch in EPOCHS
        ),
        note="Read as: in exact match and F1 on all questions.",
    ),
)  # fmt: skip
