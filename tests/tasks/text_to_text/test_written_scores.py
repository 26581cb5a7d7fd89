"""Scores of written answers, beside scikit-learn's and scipy's of the same predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import MIXTURE, TEXT_TO_TEXT
from repro.tasks.text_to_text.task import measured, printed


def drawn(classes: int, rows: int = 300, *, broken: bool = False) -> tuple[list[str], list[str]]:
    """Answers and gold labels that agree in about two rows of three."""
    draw = np.random.default_rng(classes)
    gold = draw.integers(classes, size=rows)
    said = np.where(draw.random(rows) < 0.6, gold, draw.integers(classes, size=rows))
    answers = [str(label) for label in said]
    if broken:
        answers = [text if draw.random() < 0.9 else "none" for text in answers]
    return answers, [str(label) for label in gold]


def released_class(text: str) -> int:
    return int(text) if text.isdigit() else -1


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("name", ["cola", "mrpc", "qqp", "sst2", "mnli", "cb"])
def test_class_scores_are_those_of_scikit_learn(name: WrittenName, broken: bool) -> None:
    from sklearn import metrics

    answers, gold = drawn(len(TEXT_TO_TEXT[name].labels), broken=broken)
    said, right = (np.array([released_class(text) for text in of]) for of in (answers, gold))
    expected = {
        "accuracy": metrics.accuracy_score(right, said),
        "invalid_share": np.mean(said == -1),
        "majority_share": np.unique(answers, return_counts=True)[1].max() / 300,
    }
    if name == "cola":
        expected["matthews"] = metrics.matthews_corrcoef(right, said)
    if name in ("mrpc", "qqp"):
        # as the released code: an invalid answer is the opposite of its target
        expected["f1"] = metrics.f1_score(right, np.where(said == -1, 1 - right, said))
    assert measured(name, answers, gold) == pytest.approx(expected)


@pytest.mark.parametrize("broken", [False, True])
def test_similarity_scores_are_those_of_scipy(broken: bool) -> None:
    from scipy import stats

    draw = np.random.default_rng(3)
    gold = [f"{value:.1f}" for value in draw.integers(26, size=200) / 5]
    answers = [f"{value:.1f}" for value in draw.integers(26, size=200) / 5]
    answers[:100] = gold[:100]
    if broken:
        answers[::9] = [""] * len(answers[::9])
    said, right = (np.array([float(text or -1) for text in of]) for of in (answers, gold))
    found = measured("stsb", answers, gold)
    assert found["pearson"] == pytest.approx(stats.pearsonr(said, right)[0])
    assert found["spearman"] == pytest.approx(stats.spearmanr(said, right)[0])
    assert found["invalid_share"] == pytest.approx(len(answers[::9]) / 200 if broken else 0)


def test_a_constant_similarity_has_a_correlation_of_0() -> None:
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(stats.pearsonr([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])[0])
    assert measured("stsb", ["2.0"] * 3, ["1.0", "2.0", "3.0"]) == {
        "pearson": 0.0, "spearman": 0.0, "invalid_share": 0.0, "majority_share": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["cola", "mrpc"])
def test_empty_answers_score_nothing_and_are_invalid(name: WrittenName) -> None:
    found = measured(name, [""] * 4, ["0", "1", "1", "0"])
    assert (found["accuracy"], found["invalid_share"], found["majority_share"]) == (0, 1, 1)
    assert found[TEXT_TO_TEXT[name].metrics[-1]] == 0.0


def test_a_perfect_run_scores_1() -> None:
    for name in MIXTURE:
        gold = ["0.0", "1.0", "1.0"] if name == "stsb" else ["0", "1", "1"]
        found = measured(name, gold, gold)
        assert all(found[metric] == pytest.approx(1) for metric in printed(name))


def test_spans_are_right_when_they_are_written_exactly() -> None:
    found = measured("span-corruption", ["<a> b", "<a>", "<a> b"], ["<a> b", "<a> b", "<a>  b"])
    assert found == {"accuracy": pytest.approx(1 / 3), "majority_share": pytest.approx(2 / 3)}


def test_eleven_numbers_are_printed_of_the_eight_tasks() -> None:
    assert sum(len(printed(name)) for name in MIXTURE) == 11
