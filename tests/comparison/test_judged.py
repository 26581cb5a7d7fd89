"""Verdicts on frames that no table made, by hand and by scipy."""

from __future__ import annotations

import math
from typing import Any

import pandas
import pytest
from fake_results import request, store_all
from scipy import stats

import repro
from repro.errors import ReproError
from repro.papers.registry import TABLES
from repro.report.view import view_table
from repro.store import Store

VALUES: dict[str, list[float] | None] = {
    "near": [69.8, 70.0, 70.2],  # deviation 0.2
    "far": [59.9, 60.0, 60.1],  # deviation 0.1
    "wide": [66.0, 70.0, 74.0],  # deviation 4
    "one": [70.3],
    "none": None,
    "not printed": [70.0, 70.0],
}


def made_up(**more: list[Any]) -> pandas.DataFrame:
    """One column, printed with one decimal; each row as a run of the paper's."""
    printed = [70.0] * 5 + [None]
    columns = {"row": list(VALUES), "column": "RTE", "published": printed, "decimals": 1}
    return pandas.DataFrame(columns | {"values": list(VALUES.values())} | more)


def test_a_frame_of_ones_own_gets_the_verdicts_of_the_rule() -> None:
    """The margin is 1 point and half a printed unit; three cells are tested."""
    frame = made_up()
    found = repro.judged(frame).set_index("row")
    assert found["verdict"].tolist()[:5] == ["MATCH", "LOWER", "UNDECIDED", "SINGLE", "GAP"]
    assert found["verdict"].isna().tolist() == [False] * 5 + [True]
    assert found["margin"].tolist()[:5] == [1.05] * 5
    assert "verdict" not in frame
    near, far = found.loc["near"], found.loc["far"]
    half = stats.t.ppf(0.95, 2) * 0.2 * math.sqrt(1 / 3 + 1)
    assert (near["low_90"], near["high_90"]) == pytest.approx((-half, half))
    # 0.15 is the median of 0.2, 0.1, 4 and, of the row that is not printed, 0.
    assert (far["run_sd"], far["column_sd"]) == pytest.approx((0.1, 0.15))
    p = 2 * stats.t.sf((10 - 1.05) / (0.15 * math.sqrt(1 / 3 + 1)), 2)
    assert far["p_adjusted"] == pytest.approx(3 * p)
    assert found.loc["none", "reason"] == "no values"


def test_margins_missing_seeds_and_what_is_not_comparable_are_heeded() -> None:
    frame = made_up(
        margin=[0.1, 12.0, None, 1.0, 1.0, None],
        partial=[None, "1 of 4 seeds diverged", None, None, None, None],
        verdict=[None, None, None, "NOT COMPARABLE", "GAP", None],
        reason=[None, None, None, "reduced scale", "not run", None],
    )
    found = repro.judged(frame).set_index("row")
    said = ["UNDECIDED", "UNDECIDED", None, "NOT COMPARABLE", "GAP", None]
    assert found["verdict"].astype(object).where(found["verdict"].notna(), None).tolist() == said
    assert found.loc["far", "reason"] == "within the margin of 12.00; 1 of 4 seeds diverged"
    assert found.loc["one", ["reason", "cv_star"]].notna().all()
    assert found["low_90"].notna().tolist() == [True, True] + [False] * 4


def test_judging_a_tables_frame_again_changes_nothing(store: Store) -> None:
    asked = request(scale="paper", seeds=3)
    store_all(store, asked)
    frame = view_table(TABLES[asked.id], asked, store).frame
    assert len(set(frame["verdict"])) > 1
    pandas.testing.assert_frame_equal(repro.judged(frame), frame)


def test_a_frame_without_a_needed_column_is_refused() -> None:
    with pytest.raises(ReproError, match="no column decimals, values"):
        repro.judged(made_up()[["column", "published"]])


@pytest.mark.parametrize(
    ("column", "given", "says"),
    [
        ("margin", [-1.0], r"Row 0 .* margin is -1\.0, not a number from 0"),
        ("published_sd", [-0.1], "published_sd is -0.1, not a number from 0"),
        ("published_n", [0], "published_n is 0, not a number from 1"),
        ("published", ["70.0"], "published is '70.0', not a number"),
        ("decimals", [None], "decimals is missing"),
        ("spread", ["sigma"], "spread is 'sigma', not one of sd, population sd, sem"),
        ("measure", ["scores"], "measure is 'scores', not one of score, layers, difference"),
        ("verdict", ["match"], "verdict is 'match', not one of MATCH, LOWER"),
        ("values", [70.0], r"values is 70\.0, not a list of numbers"),
        ("values", [[70.0, "high"]], "values is .*, not a list of numbers"),
    ],
)
def test_a_value_that_its_column_cannot_have_is_refused(
    column: str, given: list[Any], says: str
) -> None:
    frame = made_up().head(1).drop(columns=column, errors="ignore")
    with pytest.raises(ReproError, match=says):
        repro.judged(frame.assign(**{column: pandas.Series(given, dtype=object)}))
