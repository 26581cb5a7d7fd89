"""What a comparison says, against arithmetic by hand."""

from __future__ import annotations

import math

import pytest

from repro.stats.summary import Summary, summarise
from repro.stats.verdicts import comparable, compare

ONE_RUN = Summary(50.0, None, (50.0,))
TWO_RUNS = Summary(51.5, 2.1, (50.0, 53.0))


def test_mean_and_sample_standard_deviation() -> None:
    found = summarise([50.0, 53.0])
    assert found.mean == 51.5
    assert found.sd == pytest.approx(3 / math.sqrt(2))  # squares (1.5, 1.5), divided by n - 1 = 1
    assert (found.n, found.values) == (2, (50.0, 53.0))


def test_three_runs_divide_by_two() -> None:
    found = summarise([1.0, 2.0, 6.0])  # deviations -2, -1, 3: squares sum to 14
    assert found.mean == 3.0
    assert found.sd == pytest.approx(math.sqrt(7))


def test_one_run_has_no_spread() -> None:
    assert summarise([42.5]).sd is None


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_nothing_to_summarise_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="no finite values"):
        summarise(values)


@pytest.mark.parametrize("obstacle", ["", "smoke scale"])
def test_a_missing_number_is_a_gap_with_its_reason(obstacle: str) -> None:
    assert comparable(30.6, None, "not run", obstacle) == ("GAP", "not run")
    assert comparable(None, None, "failed (error): x", obstacle) == ("GAP", "failed (error): x")


@pytest.mark.parametrize("found", [ONE_RUN, TWO_RUNS])
def test_a_number_of_other_runs_or_rows_is_not_compared(found: Summary) -> None:
    obstacle = "published: test, reproduced: validation"
    assert comparable(50.0, found, "", obstacle) == ("NOT COMPARABLE", obstacle)


@pytest.mark.parametrize("obstacle", ["", "smoke scale"])
def test_a_number_that_nobody_published_has_no_verdict(obstacle: str) -> None:
    assert comparable(None, ONE_RUN, "", obstacle) == (None, "the paper has no such number")


def test_only_what_nothing_speaks_against_is_weighed() -> None:
    assert comparable(50.0, TWO_RUNS, "", "")[0] == "UNDECIDED"


@pytest.mark.parametrize(
    ("published", "found", "digits", "verdict"),
    [
        (1_189_632.0, 1_189_632.0, 0, "MATCH"),
        (1_189_632.0, 1_189_633.0, 0, "HIGHER"),
        (1_189_632.0, 1_189_631.0, 0, "LOWER"),
        (2.1, 2.0984, 1, "MATCH"),  # Houlsby et al., size 64 of BERT-large
        (1.2, 1.1889, 1, "MATCH"),
        (2.1, 1.89, 1, "LOWER"),
        ("Not shared", "Not shared", 0, "MATCH"),
        ("Not shared", "Shared in each layer", 0, "DIFFERS"),
        (None, 5.0, 0, None),
    ],
)
def test_what_is_counted_is_compared_to_the_printed_digits(
    published: float | str | None, found: float | str, digits: int, verdict: str | None
) -> None:
    assert compare(published, found, digits)[0] == verdict
