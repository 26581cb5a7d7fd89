"""The entity scores of CoNLL-2003 as a module of `evaluate`."""

from __future__ import annotations

import datasets
import evaluate

from .conll_scores import Tags, scores
from .in_memory import InMemory

DESCRIPTION = """\
Precision, recall and F1 of named entities over a whole set, and the accuracy of words, in percent,
as the script conlleval counts them. An I- tag that continues nothing begins an entity. A score is 0
where it is undefined.
"""
CITATION = """\
@inproceedings{tjong2003introduction,
  title={Introduction to the {CoNLL}-2003 Shared Task: Language-Independent Named Entity
    Recognition},
  author={Tjong Kim Sang, Erik F. and De Meulder, Fien},
  booktitle={Proceedings of the Seventh Conference on Natural Language Learning at HLT-NAACL},
  pages={142--147},
  year={2003}
}
"""
INPUTS = """
Args:
    predictions: for each sentence the tags of its words, such as "B-PER", "I-PER" and "O".
    references: the right ones, in the same order.
Returns:
    f1, precision, recall: of entities, in percent.
    accuracy: of words, in percent.
Examples:
    >>> metric = evaluate.load("repro/tasks/metrics/conll.py")
    >>> metric.compute(
    ...     predictions=[["B-PER", "I-PER", "O", "O"]],
    ...     references=[["B-PER", "I-PER", "O", "B-LOC"]],
    ... )
    {'f1': 66.66666666666667, 'precision': 100.0, 'recall': 50.0, 'accuracy': 75.0}
"""


class Conll(InMemory, evaluate.Metric):  # type: ignore[misc]
    """The module of `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        tags = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": tags, "references": tags}),
            reference_urls=[
                "https://aclanthology.org/W03-0419",
                "https://github.com/chakki-works/seqeval",
            ],
        )

    def _compute(self, predictions: Tags, references: Tags) -> dict[str, float]:
        return scores(predictions, references)
