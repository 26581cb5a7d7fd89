"""Rows of a run from its spec alone, beside the published sizes."""

from __future__ import annotations

import pytest
from written_samples import real

from repro.spec import TextToText
from repro.spec.text_to_text import MIXTURE, probabilities
from repro.tasks.text_to_text.rows import scored_rows, training_rows


def glue(**changes: object) -> TextToText:
    fields = {"tasks": MIXTURE, "source": "published", "revisions": dict.fromkeys(MIXTURE)}
    return TextToText.model_validate(fields | changes)


def test_the_rows_of_glue() -> None:
    # Wang et al. 2018 as on the hub; 1,000 rows less of SST-2, QQP and QNLI
    assert training_rows(glue()) == {
        "cola": 8_551, "sst2": 66_349, "mrpc": 3_668, "qqp": 362_846, "stsb": 5_749,
        "mnli": 392_702, "qnli": 103_743, "rte": 2_490,
    }  # fmt: skip
    # halves of CoLA, MRPC, STS-B, RTE (521, 204, 750, 138; 522, 204, 750, 139)
    assert scored_rows(glue()) == (1_613 + 3_000 + 9_832, 1_615 + 872 + 40_430 + 5_463 + 9_815)


def test_the_draw_of_tasks_is_that_of_the_published_sizes() -> None:
    rows = tuple(training_rows(glue(set_aside="trained-on")).values())
    share = dict(zip(MIXTURE, probabilities(rows, 10.0), strict=True))
    # by hand from the published sizes, n ** 0.1 over their sum; to half a point of the last digit
    told = {
        "rte": 0.096, "sst2": 0.134, "mrpc": 0.100, "stsb": 0.105, "qqp": 0.158, "mnli": 0.159,
        "qnli": 0.140, "cola": 0.109,
    }  # fmt: skip
    assert share == pytest.approx(told, abs=6e-4)


@pytest.mark.parametrize(
    ("name", "trained", "scored"),
    [("scitail", 23_596, (1_304, 2_126)), ("cb", 250, (28, 28)), ("imdb", 25_000, (12_500, 12_500)),
     ("yelp-polarity", 559_000, (1_000, 38_000))],
)  # fmt: skip
def test_the_rows_of_few_shot_sets(name: str, trained: int, scored: tuple[int, int]) -> None:
    assert training_rows(real(name)) == {name: trained}
    assert scored_rows(real(name)) == scored


def test_caps_count() -> None:
    task = glue(train_rows=4_000, evaluation_rows=500)
    assert training_rows(task)["mrpc"] == 3_668
    assert training_rows(task)["mnli"] == 4_000
    # RTE has 138 and 139 rows, MRPC 204 and 204; the others are cut
    assert scored_rows(task) == (138 + 204 + 6 * 500, 139 + 204 + 6 * 500)


def test_a_local_folder_counts_as_the_published_set() -> None:
    assert training_rows(real("cb", "sha256:" + "0" * 64)) == {"cb": 250}
