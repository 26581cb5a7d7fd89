"""Entity scores as the shared task defines them (Tjong Kim Sang and De Meulder 2003, section 3).

An entity is right only if its first word, its last word and its type are. Which entities tags say
is read by `seqeval`, whose default mode is that of conlleval.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import datasets
import evaluate
from seqeval.metrics.sequence_labeling import get_entities

from .in_memory import InMemory

Tags = Sequence[list[str]]

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


# The same gold tags, and mostly the same predictions, come in every epoch.
@lru_cache(maxsize=1 << 16)
def entities(tags: tuple[str, ...]) -> frozenset[tuple[str, int, int]]:
    """Type, first and last word of each entity. An I- tag that continues nothing begins one."""
    return frozenset(get_entities(list(tags)))


def scores(predicted: Tags, gold: Tags) -> dict[str, float]:
    """Entity F1, precision and recall, and the accuracy of words, in percent; 0 if undefined.

    Raises ValueError if sentences or words are missing on one side.
    """
    pairs = [(entities(tuple(p)), entities(tuple(g))) for p, g in zip(predicted, gold, strict=True)]
    right = sum(len(p & g) for p, g in pairs)
    precision = _percent(right, sum(len(p) for p, _ in pairs))
    recall = _percent(right, sum(len(g) for _, g in pairs))
    both = precision + recall
    words = [
        p == g for ps, gs in zip(predicted, gold, strict=True) for p, g in zip(ps, gs, strict=True)
    ]
    return {
        "f1": 2 * precision * recall / both if both else 0.0,
        "precision": precision,
        "recall": recall,
        "accuracy": _percent(sum(words), len(words)),
    }


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


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
