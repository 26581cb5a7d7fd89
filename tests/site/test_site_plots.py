"""Where the parts of a plot stand, by hand."""

from __future__ import annotations

import pytest

from repro.site import plots


def compared(
    difference: float, ends: tuple[float, float] | None = None, published: float = 80.0
) -> plots.Compared:
    return plots.Compared("a row", published, difference, 1.0, ends, "match", "circle", "words")


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


def test_an_interval_is_drawn_around_its_difference_against_the_margin() -> None:
    one = compared(-2.0, (-3.0, -1.0))
    drawn = plots.forest([one])
    assert drawn is not None
    line = drawn.lines[0]
    middle = plots.LABELS + plots.FIELD / 2
    assert line.bar is not None
    assert middle - line.margin[0] == pytest.approx(line.margin[1] - middle, abs=0.2)
    # -1 is the margin's own end, and the interval's upper one.
    assert line.bar[1] == line.margin[0]
    assert (line.bar[0] + line.bar[1]) / 2 == pytest.approx(line.x, abs=0.2)
    assert line.cut == (False, False)


def test_an_interval_that_leaves_the_axis_says_so() -> None:
    drawn = plots.forest([compared(0.5, (-40.0, 41.0))])
    assert drawn is not None
    assert drawn.lines[0].cut == (True, True)
    assert drawn.lines[0].bar == (plots.LABELS, plots.LABELS + plots.FIELD)


def test_one_run_has_a_point_and_no_interval() -> None:
    drawn = plots.forest([compared(0.5)])
    assert drawn is not None
    assert drawn.lines[0].bar is None


def test_the_delta_plot_marks_the_mean_difference() -> None:
    drawn = plots.delta([compared(d, None, p) for d, p in ((1.0, 50.0), (-4.0, 90.0))])
    assert drawn is not None
    assert drawn.offset == -1.5
    assert drawn.mean == drawn.y.at(-1.5)
    assert [point.x for point in drawn.points] == [drawn.x.at(50.0), drawn.x.at(90.0)]
    assert plots.delta([]) is None
    assert plots.forest([]) is None


def test_names_of_curves_do_not_overlap_and_keep_their_order() -> None:
    found = plots.apart([100, 98, 99, 20], gap=14, last=120)
    assert found[3] == 20
    assert sorted(found[:3]) == [found[1], found[2], found[0]]
    assert found[2] - found[1] == found[0] - found[2] == 14
    assert plots.apart([119, 119], gap=14, last=120) == [106, 120]


def test_many_losses_are_means_of_neighbours() -> None:
    drawn, size = plots.thinned([(float(i), float(i % 2)) for i in range(400)])
    assert size == 2
    assert len(drawn) == 200
    assert {value for _, value in drawn} == {0.5}
    assert plots.thinned([(1.0, 3.0)]) == ([(1.0, 3.0)], 1)


def test_a_curve_needs_two_points() -> None:
    assert plots.curves({"f1": [(1, 50.0)]}, "epoch", "score") is None
    assert plots.spark([50.0]) == ""
    assert plots.spark([0.0, 10.0]).split()[0].startswith("2,")
