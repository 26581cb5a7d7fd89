"""The metric of SQuAD 2.0 as a module of `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from .in_memory import InMemory
from .squad_scores import score

OFFICIAL = {
    "em": "exact",
    "f1": "f1",
    "n": "total",
    "best_em": "best_exact",
    "best_em_threshold": "best_exact_thresh",
    "best_f1": "best_f1",
    "best_f1_threshold": "best_f1_thresh",
}
"""Our name of a number -> the official script's."""
DESCRIPTION = """\
Exact match and F1 of SQuAD 2.0 in percent, as the official evaluation script v2.0 computes them:
over all questions, over those with an answer (HasAns) and those without (NoAns), and the best that
any threshold of the null score reaches. The search for that threshold differs from the script's in
three ways: equal null scores are decided together; answering nothing has a threshold below every
null score; an answer without words scores 1 at a question without an answer, as it does at a fixed
threshold.
"""
CITATION = """\
@inproceedings{rajpurkar2018know,
  title={Know What You Don't Know: Unanswerable Questions for {SQuAD}},
  author={Rajpurkar, Pranav and Jia, Robin and Liang, Percy},
  booktitle={Proceedings of the 56th Annual Meeting of the Association for Computational
    Linguistics (Volume 2: Short Papers)},
  pages={784--789},
  year={2018}
}
"""
INPUTS = """
Args:
    predictions: for each question its "id", "prediction_text" ("" for no answer) and
        "no_answer_probability" (any score that grows with the belief in no answer).
    references: for each question its "id" and "answers", as in the data set squad_v2.
    no_answer_threshold: a prediction counts as no answer if its probability is above this.
Returns:
    exact, f1, total: over all questions; with HasAns_ or NoAns_ before it, over such questions.
    best_exact, best_exact_thresh, best_f1, best_f1_thresh: the best scores and their thresholds.
Examples:
    >>> metric = evaluate.load("repro/tasks/metrics/squad_v2.py")
    >>> metric.compute(
    ...     predictions=[{"id": "1", "prediction_text": "Bo", "no_answer_probability": 0.0}],
    ...     references=[{"id": "1", "answers": {"text": ["Bo"], "answer_start": [8]}}],
    ... )["exact"]
    100.0
"""


class SquadV2(InMemory, evaluate.Metric):  # type: ignore[misc]
    """The module of `evaluate`; inputs and names of outputs are those of its own `squad_v2`."""

    def _info(self) -> evaluate.MetricInfo:
        text, number = datasets.Value("string"), datasets.Value("float64")
        answers = {
            "text": datasets.List(text),
            "answer_start": datasets.List(datasets.Value("int32")),
        }
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(
                {
                    "predictions": {
                        "id": text,
                        "prediction_text": text,
                        "no_answer_probability": number,
                    },
                    "references": {"id": text, "answers": answers},
                }
            ),
            reference_urls=["https://rajpurkar.github.io/SQuAD-explorer/"],
        )

    def _compute(
        self,
        predictions: Sequence[Mapping[str, Any]],
        references: Sequence[Mapping[str, Any]],
        no_answer_threshold: float = 1.0,
    ) -> dict[str, float]:
        answers = {each["id"]: tuple(each["answers"]["text"]) for each in references}
        candidates = {each["id"]: each["prediction_text"] for each in predictions}
        margins = {each["id"]: each["no_answer_probability"] for each in predictions}
        if len(answers) < len(references) or len(candidates) < len(predictions):
            raise ValueError("An id occurs twice. Give each question one prediction.")
        if not all(map(math.isfinite, margins.values())):
            raise ValueError("A no_answer_probability is not finite, so that it has no order.")
        withheld = {id for id, margin in margins.items() if margin > no_answer_threshold}
        texts = {id: "" if id in withheld else text for id, text in candidates.items()}
        groups = score(texts, answers, margins, candidates, withheld)
        return {
            ("" if group == "ALL" else f"{group}_") + OFFICIAL[name]: value
            for group, values in groups.items()
            for name, value in values.items()
        }
