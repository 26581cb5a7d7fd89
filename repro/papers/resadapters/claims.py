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
        "Residual paths improve the adapter without attention.",
        f"{PAPER}, section 4.3, first paragraph; caption of Table 1",
        better(ADAPTER_RESNET, ADAPTER, *METRICS),
    ),
    Claim(
        "resadapters-residual-attention",
        "resadapters",
        "Residual paths improve the adapter with attention, whichever of the two is taken.",
        f"{PAPER}, section 4.3, first paragraph; section 5",
        better(RESNET, ATTENTION, *METRICS) + better(RESNEXT, ATTENTION, *METRICS),
    ),
    Claim(
        "resadapters-attention-adds",
        "resadapters",
        "Attention, and the parameters that come with it, raises the performance further.",
        f"{PAPER}, section 4.3, first paragraph",
        better(ATTENTION, ADAPTER, *METRICS) + better(RESNET, ADAPTER_RESNET, *METRICS),
    ),
    Claim(
        "resadapters-resnext-hasans",
        "resadapters",
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
        "ResNeXt raises F1 on all questions still higher.",
        f"{PAPER}, section 5",
        best(*(of_model(row, "ALL", "F1") for row in reversed(MODELS))),
    ),
    Claim(
        "resadapters-bold-attention",
        "resadapters",
        "Of the models with attention, ResNeXt has the best exact match and F1 on all questions.",
        f"{PAPER}, Table 1, bold numbers",
        better(RESNEXT, ATTENTION, *METRICS) + better(RESNEXT, RESNET, *METRICS),
    ),
    Claim(
        "resadapters-noans-high",
        "resadapters",
        "All models are good at unanswerable questions before they are at answerable ones.",
        f"{PAPER}, caption of Table 1",
        tuple(
            Statement(of_model(row, "NoAns", metric), of_model(row, "HasAns", metric))
            for row in MODELS
            for metric in METRICS
        ),
        note="Read as: a higher score on unanswerable than on answerable questions.",
    ),
    Claim(
        "resadapters-hasans-grows",
        "resadapters",
        "Training raises the score on answerable questions at the cost of unanswerable ones.",
        f"{PAPER}, caption of Table 1; Table 2",
        (
            Statement(of_epoch(EPOCHS[-1], "HasAns", "F1"), of_epoch(EPOCHS[0], "HasAns", "F1")),
            Statement(of_epoch(EPOCHS[0], "NoAns", "F1"), of_epoch(EPOCHS[-1], "NoAns", "F1")),
        ),
        note="Read as: the last epoch against the first.",
    ),
    Claim(
        "resadapters-similar-to-bert",
        "resadapters",
        "With few trained parameters the adapter comes to a performance similar to that of a "
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
        "The fine-tuned BERT is ahead of ResNeXt after every epoch.",
        f"{PAPER}, Table 2, bold numbers",
        tuple(
            Statement(of_bert("ALL", metric), of_epoch(epoch, "ALL", metric))
            for metric in METRICS
            for epoch in EPOCHS
        ),
    ),
    Claim(
        "resadapters-nonlinear-below-bert",
        "resadapters",
        "The models without attention stay below the fine-tuned BERT.",
        f"{PAPER}, Tables 1 and 2",
        tuple(
            Statement(of_bert("ALL", metric), Quantity(of_model(row, "ALL", metric).name,
                                                       of_model(row, "ALL", metric).printed))
            for row in (ADAPTER, ADAPTER_RESNET)
            for metric in METRICS
        ),
        note="The two tables are trained on different rows, so ours are not put side by side.",
    ),
)  # fmt: skip
