"""The low-resource figure: means of eleven numbers by hand, deviations, what is absent."""

from __future__ import annotations

import csv
import io
import statistics

import pytest
from fake_written import request, store_all

from repro.papers.curves import MEAN
from repro.papers.hyperformer.tables import (
    DAGGER_BASE,
    LOW_RESOURCE,
    MULTI_BASE,
    PLUS_BASE,
    PRINTED,
)
from repro.report.figures.curves import (
    CurvesView,
    view_of,
)
from repro.report.figures.style import styled
from repro.report.figures.view import view_figure
from repro.spec import RunSpec, TextToText
from repro.store import Store

PLACES = ("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte")


def by_task(spec: RunSpec, task: str, metric: str) -> float:
    """50, 51, ... by task, half a point more by a second metric, one a seed, a tenth each 100
    samples.
    """
    assert isinstance(spec.task, TextToText)
    second = 0.5 * (metric in ("f1", "spearman"))
    samples = (spec.task.train_rows or 0) / 1_000
    return 50 + PLACES.index(task) + second + (spec.seed - 42) + samples


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> CurvesView:
    store, asked = Store(tmp_path_factory.mktemp("runs")), request("low-resource", seeds=5)
    store_all(store, asked, by_task)
    return view_of(LOW_RESOURCE, asked, store)


def test_a_point_is_the_mean_of_eleven_numbers_seed_by_seed(view: CurvesView) -> None:
    """By hand: 50 + (0 + 1 + 2 + 2.5 + 3 + 3.5 + 4 + 4.5 + 5 + 6 + 7) / 11 = 53.5, and a tenth."""
    (panel,) = view.panels
    assert (panel.name, panel.title) == (MEAN, "Mean over 8 tasks")
    assert panel.unit == "mean of 11 numbers, %"
    assert [line.series for line in panel.lines] == [MULTI_BASE, DAGGER_BASE, PLUS_BASE]
    for line in panel.lines:
        assert [dot.x for dot in line.points] == [100, 500, 1_000, 2_000, 4_000]
        first = line.points[0]
        assert first.values == pytest.approx((53.6, 54.6, 55.6, 56.6, 57.6))
        assert first.of == ("seed 42", "seed 43", "seed 44", "seed 45", "seed 46")
        assert line.points[-1].y == pytest.approx(53.5 + 4 + 2)


def test_a_band_is_the_standard_deviation_over_seeds(view: CurvesView) -> None:
    sd = statistics.stdev(range(5))
    for line in view.panels[0].lines:
        for dot in line.points:
            assert dot.y is not None
            assert (dot.low, dot.high) == pytest.approx((dot.y - sd, dot.y + sd))
    assert "shaded is 1 standard deviation over seeds" in view.caption


def test_a_tasks_own_score_is_the_mean_of_its_two(store: Store) -> None:
    asked = request("low-resource", seeds=1)
    store_all(store, asked, by_task)
    found = {
        (one.point.name, one.task): one.values
        for one in view_of(LOW_RESOURCE, asked, store).measured
    }
    assert found[f"{PLUS_BASE}, 500 samples", "mrpc"] == pytest.approx((52.75,))  # 52.5 and 53.0
    assert found[f"{PLUS_BASE}, 500 samples", "rte"] == pytest.approx((57.5,))


def test_some_tasks_have_the_mean_of_their_numbers(store: Store) -> None:
    """(50 + 52 + 52.5) / 3 of CoLA and MRPC."""
    asked = request("low-resource", "reduced", seeds=1, tasks=("cola", "mrpc"))
    store_all(store, asked, by_task)
    panel = view_of(LOW_RESOURCE, asked, store).panels[0]
    assert (panel.title, panel.unit) == ("Mean over 2 tasks", "mean of 3 numbers, %")
    assert panel.lines[0].points[0].y == pytest.approx(154.5 / 3 + 0.1)


def test_a_point_without_a_seed_is_absent_and_said_so(store: Store) -> None:
    asked = request("low-resource", seeds=2)
    store_all(store, request("low-resource", seeds=1), by_task)
    found = view_of(LOW_RESOURCE, asked, store)
    assert found.panels[0].lines == ()
    assert found.done == 0
    assert "1 of 2 seeds; the rest: not run: python -m repro figure low-resource" in " ".join(
        found.notes
    )


def test_the_figure_says_that_nothing_published_is_drawn(view: CurvesView) -> None:
    assert LOW_RESOURCE.marks() == ()
    assert {line.kind for line in view.panels[0].lines} == {"reproduced"}
    assert "nothing published is drawn" in " ".join(view.notes)


def test_words_beside_the_figure(view: CurvesView) -> None:
    said = view.caption
    assert "Paper scale · T5-base (12 layers) · mean of 5 seeds" in said
    assert "Trained on so many of each task's published training rows; 15,000 steps" in said
    assert "MRPC, QQP by mean of accuracy and F1 on test rows" in said
    assert f"{PLUS_BASE} from 55.6 (100 samples) to 59.5 (4,000 samples)" in view.alternative


def test_the_data_file_holds_every_point_with_its_seeds(view: CurvesView) -> None:
    lines = list(csv.DictReader(io.StringIO(view.csv)))
    assert len(lines) == 3 * 5
    assert {line["of"] for line in lines} == {"seed-42 seed-43 seed-44 seed-45 seed-46"}
    assert {line["encoder"] for line in lines} == {"T5-base"}


def test_it_is_drawn_with_bands_and_a_tick_at_every_number_of_samples(store: Store) -> None:
    asked = request("low-resource", seeds=2)
    store_all(store, asked, by_task)
    with styled():
        drawing = view_figure(LOW_RESOURCE, asked, store).draw()
        drawing.draw_without_rendering()
        (axes,) = drawing.axes
        ticks = [label.get_text() for label in axes.get_xticklabels()]
        named = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert ticks == ["100", "500", "1k", "2k", "4k"]
    assert (axes.get_ylabel(), named[-1]) == ("mean over the tasks' metrics, %", "HyperFormer++")
    assert len(axes.collections) == 3  # bands
    assert set(PRINTED) == set(LOW_RESOURCE.tasks)
