"""What Peters et al. claim, as the 3-shared report retells it."""

from __future__ import annotations

from collections.abc import Sequence

from repro.papers.claims import Claim, Quantity, cell, every, mean, more, within
from repro.papers.peters.tables import ONE

PAPER = "Peters et al. 2019, as retold by Mohebbi & Rajaee, Final Report"
ALONE = "NER", "SST-2"
PAIRS = "MNLI", "SICK-E", "SICK-R", "MRPC", "STS-B"
EVERY = *ALONE, *PAIRS


def of(model: str, kind: str, task: str) -> Quantity:
    """A number of the table; only BERT's are rebuilt here."""
    return cell(ONE, f"{model}, {kind}", task, f"{model}, {kind}, {task}")


def over(model: str, kind: str, tasks: Sequence[str]) -> Quantity:
    """The mean of the table over these tasks."""
    name = f"{model}, {kind}, mean of {len(tasks)} tasks"
    return mean(name, (of(model, kind, task) for task in tasks))


CLAIMS = (
    Claim("peters-bert-fine-tuning", "peters", "sentence",
        "For BERT, fine-tuning outperforms feature extraction.",
        f"{PAPER}, section 4.1, first paragraph; Figure 6",
        more(over("BERT-base", "fine-tuned", EVERY), over("BERT-base", "features", EVERY)),
        note="Read as: in the mean over the seven tasks. On MNLI both print the same score."),
    Claim("peters-bert-pairs", "peters", "sentence",
        "On pairs of sentences BERT is to be fine-tuned.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        more(over("BERT-base", "fine-tuned", PAIRS), over("BERT-base", "features", PAIRS)),
        note="A recommendation. Read as: fine-tuning is ahead in the mean over the five tasks."),
    Claim("peters-elmo-pairs", "peters", "sentence",
        "On pairs of sentences ELMo is to be used for features.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        more(over("ELMo", "features", PAIRS), over("ELMo", "fine-tuned", PAIRS)),
        note="A recommendation. Read as: features are ahead in the mean over the five tasks. ELMo "
        "is not rebuilt here."),
    Claim("peters-elmo-behind", "peters", "sentence",
        "Features of ELMo are comparatively poor on pairs of sentences, where transformers gain "
        "from fine-tuning.",
        f"{PAPER}, section 4.1, second paragraph; Figure 6",
        more(over("BERT-base", "fine-tuned", PAIRS), over("ELMo", "features", PAIRS)),
        note="Read as: fine-tuned BERT is ahead in the mean over the five tasks. ELMo is not "
        "rebuilt here."),
    Claim("peters-alone-similar", "peters", "sentence",
        "On tagging and on classification of single sentences both ways have similar performance.",
        f"{PAPER}, Figure 5, guidelines; Figure 6",
        every(
            within(of(model, "fine-tuned", task), of(model, "features", task))
            for model in ("ELMo", "BERT-base")
            for task in ALONE
        ),
        note="Similar is read as within a point. ELMo is not rebuilt here."),
)  # fmt: skip
