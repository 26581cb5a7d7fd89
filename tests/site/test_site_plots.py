"""Where the parts of a plot stand, by hand."""

from __future__ import annotations

import pytest

from repro.site import plots


def compared(
    difference: float, low: float | None = None, high: float | None = None
) -> dict[str, float | None]:
    return {"difference": difference, "margin": 1.0, "low_95": low, "high_95": high}


def test_a_value_stands_where_its_share_of_the_axis_is() -> None:
    axis = plots.Axis(-10, 10, 100, 300)
    assert [axis.at(value) for value in (-10, 0, 5, 10)] == [100, 200, 250, 300]
    assert axis.at(99) == 300  # beyond the axis: at its end
    assert axis.holds(-10)
    assert not axis.holds(10.1)


@pytest.mark.parametrize(
    ("least", "step"), [(0.9, 1), (1, 1), (1.1, 2), (3, 5), (6, 10), (0.03, 0.05), (120, 200)]
)
def test_ticks_are_one_two_or_five(least: float, step: float) -> None:
    assert plots.round_step(least) == pytest.approx(step)


def test_ticks_of_epochs_are_whole() -> None:
    axis = plots.Axis(1, 3, 0, 100, whole=True)
    assert axis.ticks == [(0, "1"), (50, "2"), (100, "3")]
    assert [text for _, text in plots.Axis(-1, 1, 0, 100).ticks] == [
        "−1.0", "−0.5", "0.0", "0.5", "1.0",
    ]  # fmt: skip


def test_the_axis_of_differences_holds_every_margin_and_cuts_the_widest_interval() -> None:
    axis = plots.differences(
        [compared(-2.0, -3.0, -1.0), compared(0.5), compared(1.0, -40.0, 41.0)]
    )
    assert axis.at(0.0) == plots.LABELS + plots.FIELD / 2
    assert axis.holds(2.0)
    assert axis.holds(-3.0)
    assert not axis.holds(41.0)
    assert axis.at(41.0) == plots.LABELS + plots.FIELD


def test_a_curve_needs_two_points() -> None:
    assert plots.curves({"f1": [(1, 50.0)]}, "epoch", "score") is None
    assert plots.spark([50.0]) == ""
    assert plots.spark([0.0, 10.0]).split()[0].startswith("2,")
