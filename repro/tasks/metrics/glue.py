"""GLUE's metrics as a module of `evaluate`.

The configuration is a task of GLUE or the name of one metric.
"""

from __future__ import annotations

import datasets
import evaluate

from .glue_scores import CONFIGURATIONS, Values, scores
from .in_memory import InMemory

DESCRIPTION = """\
GLUE's metrics, as fractions: accuracy, F1 of class 1, Matthews' correlation, and the correlations
of Pearson and Spearman. With two metrics, "combined" is their mean. F1 and Matthews' correlation
are 0 where they are undefined; a correlation of numbers is None where either side is constant.
"""
CITATION = """\
@inproceedings{wang2019glue,
  title={{GLUE}: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding},
  author={Wang, Alex and Singh, Amanpreet and Michael, Julian and Hill, Felix and Levy, Omer and
    Bowman, Samuel R.},
  booktitle={International Conference on Learning Representations},
  year={2019}
}
"""
INPUTS = """
Args:
    predictions: predicted classes, or numbers for stsb, pearson and spearman.
    references: the right ones, in the same order.
Returns:
    a dictionary of the configuration's metrics, and of their mean, "combined", if there are two.
Examples:
    >>> metric = evaluate.load("repro/tasks/metrics/glue.py", "mrpc")
    >>> metric.compute(predictions=[1, 0, 1, 1], references=[1, 0, 0, 1])
    {'f1': 0.8, 'accuracy': 0.75, 'combined': 0.775}
    >>> metric = evaluate.load("repro/tasks/metrics/glue.py", "pearson")
    >>> metric.compute(predictions=[2.0, 2.0], references=[1.0, 2.0])
    {'pearson': None}
"""


class Glue(InMemory, evaluate.Metric):  # type: ignore[misc]
    """The module of `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in CONFIGURATIONS:
            raise ValueError(
                f"There is no configuration '{self.config_name}'. Name one of "
                f"{', '.join(CONFIGURATIONS)}."
            )
        numbers = {"pearson", "spearman"} & set(CONFIGURATIONS[self.config_name])
        value = datasets.Value("float64" if numbers else "int64")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": value, "references": value}),
            reference_urls=[
                "https://gluebenchmark.com",
                "https://openreview.net/forum?id=rJ4km2R5t7",
                "https://scikit-learn.org/stable/modules/model_evaluation.html",
                "https://docs.scipy.org/doc/scipy/reference/stats.html",
            ],
        )

    def _compute(self, predictions: Values, references: Values) -> dict[str, float | None]:
        names = CONFIGURATIONS[self.config_name]
        return scores(names, predictions, references, combined=len(names) > 1)
