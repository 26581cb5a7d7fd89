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


def tuning_wins(model: str, tasks: Sequence[str]) -> tuple[Statement, ...]:
    """Fine-tuning is ahead on each of these tasks."""
    return tuple(
        Statement(of(model, "fine-tuned", task), of(model, "features", task)) for task in tasks
    )


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
        "For BERT, fine-tuning outperforms feature extraction on every task.",
        f"{PAPER}, section 4.1, first paragraph; Figure 6",
        tuning_wins("BERT-base", EVERY),
    ),
    Claim(
        "peters-bert-pairs",
        "peters",
        "On pairs of sentences BERT is to be fine-tuned.",
        f"{PAPER}, Figures 5 and 6",
        tuning_wins("BERT-base", PAIRS),
    ),
    Claim(
        "peters-elmo-pairs",
        "peters",
        "On pairs of sentences ELMo is to be used for features.",
        f"{PAPER}, Figures 5 and 6",
        tuple(
            Statement(of("ELMo", "features", task), of("ELMo", "fine-tuned", task))
            for task in PAIRS
        ),
        note="ELMo is not rebuilt here.",
    ),
    Claim(
        "peters-elmo-behind",
        "peters",
        "Features of ELMo are comparatively poor on pairs of sentences, where a fine-tuned "
        "transformer is ahead.",
        f"{PAPER}, section 4.1, second paragraph; Figure 6",
        tuple(
            Statement(of("BERT-base", "fine-tuned", task), of("ELMo", "features", task))
            for task in PAIRS
        ),
        note="Read as: fine-tuned BERT is ahead on every such task. ELMo is not rebuilt here.",
    ),
    Claim(
        "peters-alone-similar",
        "peters",
        "On tagging and classification of single sentences both ways perform alike.",
        f"{PAPER}, Figures 5 and 6",
        similar("ELMo") + similar("BERT-base"),
        note="Alike is read as within a point. ELMo is not rebuilt here.",
    ),
)
