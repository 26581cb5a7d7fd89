"""The picture of curves: readable ticks, a legend beside the data, hollow published points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from fake_curves import EXTRA, GLUE, INIT, request, store_curves
from matplotlib.text import Text

from repro.papers.curves import Point
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.hyperformer.tables import DAGGER_BASE, MULTI_BASE, PLUS_BASE
from repro.report.figures.curves import LOOKS, tick, view_of
from repro.report.figures.style import rendered, styled
from repro.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def score(point: Point, task: str, seed: int) -> float:
    """40 and a little more for each larger point."""
    return 40 + len(point.name) + seed


def texts(drawing: Drawing) -> list[str]:
    return [text.get_text() for text in drawing.findobj(Text)]


@pytest.mark.parametrize(
    ("value", "text"),
    [(38_400, "38.4k"), (1e5, "100k"), (2e6, "2M"), (1e8, "100M"), (1e-7, "1e-7"), (0.1, "1e-1"),
     (1.0, "1"), (5.0, "5")],
)  # fmt: skip
def test_ticks_are_read_at_a_glance(value: float, text: str) -> None:
    assert tick(value) == text


def test_series_differ_by_marker_as_well_as_colour() -> None:
    for series in ((SIZED, TOP, NORMS, FULL), (PLUS_BASE, DAGGER_BASE, MULTI_BASE)):
        looks = [LOOKS[name] for name in series]
        assert all(len(set(own)) == len(series) for own in zip(*looks, strict=True))


def test_the_legend_stands_below_the_data_and_names_every_series(store: Store) -> None:
    asked = request(GLUE)
    collapsed = [("Adapters, size 2", "mrpc"), (FULL, "cola")]
    store_curves(store, GLUE, asked, score, collapsed=collapsed)
    with styled():
        drawing = view_of(GLUE, asked, store).draw()
        pictures = rendered(drawing)
        lowest = min(box.y0 for axes in drawing.axes if (box := axes.get_tightbbox()))
        legend = drawing.legends[0]
        assert legend.get_window_extent().y1 <= lowest
        named = [text.get_text() for text in legend.get_texts()]
        hollow = [
            line.get_linestyle()
            for line in drawing.axes[0].lines
            if line.get_markerfacecolor() == "white"
        ]
    assert pictures["png"].startswith(b"\x89PNG")
    assert hollow == ["--", "--"]
    assert sorted(named) == sorted(
        [SIZED, TOP, NORMS, FULL, "published (digitised, BERT-large)", "a run predicts one class"]
    )


def test_a_long_title_is_cut_nowhere(store: Store) -> None:
    with styled():
        drawing = view_of(INIT, request(INIT), store).draw()
        drawing.draw_without_rendering()
        (title,) = [t for t in drawing.findobj(Text) if "standard deviation that" in t.get_text()]
        assert title.get_window_extent().x1 <= drawing.bbox.x1
    assert "(Houlsby et al., Figure 6, right)" in title.get_text().replace("\n", " ")


def test_a_run_that_collapsed_stretches_no_panel(store: Store) -> None:
    """It stands at the lower edge, with its score."""
    asked = request(INIT)
    fallen = "Adapters, standard deviation 1"
    store_curves(
        store,
        INIT,
        asked,
        lambda point, *_: 40.0 if point.name == fallen else 90 + len(point.name) / 9,
        collapsed=[(fallen, "cola")],
    )
    with styled():
        axes = view_of(INIT, asked, store).draw().axes[0]
    assert axes.get_ylim()[0] > 80
    assert [text.get_text() for text in axes.texts] == ["40.0"]


def test_nothing_is_drawn_outside_the_axes(store: Store) -> None:
    asked = request(INIT)
    store_curves(store, INIT, asked, score)
    with styled():
        axes = view_of(INIT, asked, store).draw().axes[0]
        left, right = axes.get_xlim()
        low, high = axes.get_ylim()
    points = np.concatenate([line.get_xydata() for line in axes.lines[:-1]])  # but the threshold
    assert points.shape == (5, 2)
    assert ((points > (left, low)) & (points < (right, high))).all()


def test_no_tick_stands_above_what_a_score_can_be(store: Store) -> None:
    asked = request(INIT)
    store_curves(store, INIT, asked, lambda point, task, seed: 100.0 - 40 * (point.value == 1))
    with styled():
        axes = view_of(INIT, asked, store).draw().axes[0]
        top = axes.get_ylim()[1]
    assert 100 < top < 104


def test_a_panel_in_which_all_is_equal_is_not_drawn_and_says_so(store: Store) -> None:
    asked = request(EXTRA)
    store_curves(store, EXTRA, asked, lambda point, task, seed: 70.0)
    with styled():
        drawing = view_of(EXTRA, asked, store).draw()
    assert drawing.axes == []
    assert "Not drawn: Median over 2 tasks: every point is at 0.0" in drawing.get_suptitle()


def test_a_small_difference_is_drawn_small(store: Store) -> None:
    asked = request(INIT)
    store_curves(store, INIT, asked, lambda point, *_: 70.0 + 0.1 * (point.value == 1))
    with styled():
        low, high = view_of(INIT, asked, store).draw().axes[0].get_ylim()
    assert high - low > 5


def test_an_empty_store_is_drawn_with_the_command_that_fills_it(store: Store) -> None:
    with styled():
        words = " ".join(texts(view_of(GLUE, request(GLUE), store).draw()))
    joined = " ".join(words.split())
    assert "ot run: python -m repro figure tradeoff-glue --scale smoke" in joined
    assert "not comparable with the published numbers" in joined
