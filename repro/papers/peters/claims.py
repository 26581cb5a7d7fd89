"""What Peters et al. claim, as the 3-shared report retells it."""

from __future__ import annotations

from collections.abc import Sequence

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement
from repro.papers.peters.tables import ONE, PRINTED

PAPER = "Peters et al. 2019, as retold by Mohebbi & Rajaee, Final Report"
COLUMNS = {score.name: score.published_column for score in ONE.scores}
ALONE = "NER", "SST-2"
PAIRS = "MNLI", "SICK-E", "SICK-R", "MRPC", "STS-B"
EVERY = *ALONE, *PAIRS
KINDS = {"features": "feature extraction", "fine-tuned": "fine-tuning"}


def of(model: str, kind: str, task: str) -> Quantity:
    """A number of the table; only BERT's are rebuilt here."""
    place = Printed("PRS19-T-reprint", f"{model} / {KINDS[kind]}", COLUMNS[task], PRINTED)
    ours = (Ours(ONE.id, f"{model}, {kind}", task),) if model == "BERT-base" else ()
    return Quantity(f"{model}, {kind}, {task}", (place,), ours)


def over(model: str, kind: str, tasks: Sequence[str]) -> Quantity:
    """The mean of the table over these tasks."""
    cells = [of(model, kind, task) for task in tasks]
    printed = tuple(place for cell in cells for place in cell.printed)
    ours = tuple(place for cell in cells for place in cell.ours)
    return Quantity(f"{model}, {kind}, mean of {len(tasks)} tasks", printed, ours)


def similar(model: str) -> tuple[Statement, ...]:
    """Both are within a point where one sentence is read."""
    return tuple(
        Statement(of(model, "fine-tuned", task), of(model, "features", task), "within", SIMILAR)
        for task in ALONE
    )


CLAIMS = (
    Claim(
        "peters-bert-fine-tuning",
        "peters",
        "sentence",
        "For BERT, fine-tuning outperforms feature extraction.",
        f"{PAPER}, section 4.1, first paragraph; Figure 6",
        (Statement(over("BERT-base", "fine-tuned", EVERY), over("BERT-base", "features", EVERY)),),
        note="Read as: in the mean over the seven tasks. On MNLI both print the same score.",
    ),
    Claim(
        "peters-bert-pairs",
        "peters",
        "sentence",
        "On pairs of sentences BERT is to be fine-tuned.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        (Statement(over("BERT-base", "fine-tuned", PAIRS), over("BERT-base", "features", PAIRS)),),
        note="A recommendation. Read as: fine-tuning is ahead in the mean over the five tasks.",
    ),
    Claim(
        "peters-elmo-pairs",
        "peters",
        "sentence",
        "On pairs of sentences ELMo is to be used for features.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        (Statement(over("ELMo", "features", PAIRS), over("ELMo", "fine-tuned", PAIRS)),),
        note="A recommendation. Read as: features are ahead in the mean over the five tasks. ELMo "
        "is not rebuilt here.",
    ),
    Claim(
        "peters-elmo-behind",
        "peters",
        "sentence",
        "Features of ELMo are comparatively poor on pairs of sentences, where transformers gain "
        "from fine-tuning.",
        f"{PAPER}, section 4.1, second paragraph; Figure 6",
        (Statement(over("BERT-base", "fine-tuned", PAIRS), over("ELMo", "features", PAIRS)),),
        note="Read as: fine-tuned BERT is ahead in the mean over the five tasks. ELMo is not "
        "rebuilt here.",
    ),
    Claim(
        "peters-alone-similar",
        "peters",
        "sentence",
        "On tagging and on classification of single sentences both ways have similar performance.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        similar("ELMo") + similar("BERT-base"),
        note="Similar is read as within a point. ELMo is not rebuilt here.",
    ),
)
