"""Figures of curves: arithmetic by hand, parameters as published, what is absent and why."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest
from fake_curves import EXTRA, GLUE, INIT, SQUAD, request, store_curves

from repro.errors import ReproError
from repro.papers.curves import MEDIAN, Curves, Point
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.figures.curve_points import (
    CurvePanel,
    Dot,
    Line,
    percentiles,
    place_of,
    spread_of,
)
from repro.report.figures.curves import CurvesView, view_of
from repro.report.figures.view import view_figure
from repro.spec import SquadTask, run_key
from repro.spec.backbones import BERT_LARGE, KNOWN, bert
from repro.store import Store

THREE = ("cola", "mrpc", "rte")
LOST = {"cola": 1.0, "mrpc": 4.0, "rte": 2.0}


def score(point: Point, task: str, seed: int) -> float:
    """Full fine-tuning has 80, adapters lose 1, 4, 2 by task; seeds are 0 and 2 apart."""
    spread = 2.0 * seed
    if point.series == FULL:
        return 80 + spread
    return 80 + spread - LOST.get(task, 1.0) - (0 if point.series == SIZED else 5)


def panel(view: CurvesView, name: str) -> CurvePanel:
    return next(found for found in view.panels if found.name == name)


def line(view: CurvesView, name: str, series: str, kind: str = "reproduced") -> Line:
    found = panel(view, name).lines
    return next(one for one in found if (one.series, one.kind) == (series, kind))


def dot(view: CurvesView, name: str, series: str, label: str) -> Dot:
    return next(one for one in line(view, name, series).points if one.point == label)


@pytest.fixture
def view(store: Store) -> CurvesView:
    asked = request(GLUE, tasks=THREE)
    store_curves(store, GLUE, asked, score)
    return view_of(GLUE, asked, store)


def test_percentiles_are_linear_between_the_tasks() -> None:
    """By hand: of 0, 1, 2, 3, 4 the p-th percentile is p/25; of three values between two."""
    assert percentiles([4, 0, 3, 1, 2]) == pytest.approx((0.8, 2.0, 3.2))
    assert percentiles([-4, -1, -2]) == pytest.approx((-4 + 0.4 * 2, -2, -2 + 0.6))
    assert percentiles([7.0]) == (7.0, 7.0, 7.0)


def test_the_standard_error_is_the_deviation_over_the_root_of_n() -> None:
    assert spread_of(GLUE, [80.0, 82.0, 84.0]) == pytest.approx(2 / math.sqrt(3))
    assert spread_of(GLUE, [80.0]) is None


def test_a_median_is_over_the_differences_to_full_fine_tuning(view: CurvesView) -> None:
    found = dot(view, MEDIAN, SIZED, "Adapters, size 16")
    assert dict(zip(found.of, found.values, strict=True)) == pytest.approx(
        {"cola": -1, "mrpc": -4, "rte": -2}
    )
    assert (found.low, found.y, found.high) == pytest.approx((-3.2, -2, -1.4))
    assert dot(view, MEDIAN, NORMS, NORMS).y == pytest.approx(-7)
    assert line(view, MEDIAN, FULL).points[0].y == 0


def test_a_tasks_own_panel_has_scores_and_the_standard_error_over_seeds(store: Store) -> None:
    asked = request(GLUE, seeds=3, tasks=("cola",))
    store_curves(store, GLUE, asked, score)
    view = view_of(GLUE, asked, store)
    found = dot(view, "cola", SIZED, "Adapters, size 2")
    assert (found.values, found.y) == ((79.0, 81.0, 83.0), 81.0)
    assert (found.low, found.high) == pytest.approx((81 - 2 / 3**0.5, 81 + 2 / 3**0.5))
    full = line(view, "cola", FULL)
    assert (full.shape, full.points[0].y) == ("level", 82.0)
    assert panel(view, "cola").unit == "accuracy, %"


def places(figure: Curves, asked: Request) -> dict[str, float | None]:
    task = figure.needed(asked)[0]
    return {
        p.name: place_of(figure, p, *figure.chains(p, task, asked)[0]) for p in figure.points(asked)
    }


def test_parameters_are_those_of_the_papers_modules() -> None:
    """H19: 24 (2md + m + d) adapters, 40k in layer norms; a layer of BERT-base and its pooler."""
    found = places(GLUE, request(GLUE, "paper", tasks=("mnli",)))
    assert found["Adapters, size 64"] == 2_379_264 + 38_400
    assert found["Adapters, size 2"] == 92_208 + 38_400
    assert found[NORMS] == 38_400
    assert found["Top layers, top layer"] == 7_087_872 + 590_592
    assert found[FULL] == KNOWN["google-bert/bert-base-uncased"].parameters
    # of SQuAD no pooler is trained; the text says 0.1 % and 2 %
    squad = places(SQUAD, request(SQUAD, "paper"))
    assert squad["Adapters, size 64"] == 2_379_264 + 38_400
    shares = [(squad[f"Adapters, size {m}"] or 0) / 109_482_240 for m in (2, 64)]
    assert [f"{100 * share:.1f}" for share in shares] == ["0.1", "2.2"]


@pytest.mark.parametrize(
    ("figure", "points", "tasks"), [(GLUE, 24, 8), (EXTRA, 16, 17), (SQUAD, 5, 1), (INIT, 8, 2)]
)
def test_the_papers_scale_plans_every_published_point(
    figure: Curves, points: int, tasks: int
) -> None:
    """Figure 4: 2^0..2^9, top 1..12; section 3.3: six sizes, eight k; three seeds."""
    asked = request(figure, "paper", seeds=figure.default_seeds["paper"])
    assert len(figure.points(asked)) == points
    assert len([*figure.matrix(asked).runs.values()]) == points * tasks * 3


def test_every_standard_deviation_from_1e_7_to_1_is_planned() -> None:
    runs = [*INIT.matrix(request(INIT, "paper", seeds=3)).runs.values()]
    assert {run.task.name for run in runs} == {"cola", "mnli"}
    deviations = sorted({getattr(run.method, "init_std", 0.0) for run in runs})
    assert deviations == pytest.approx([10.0**-n for n in range(7, -1, -1)])
    assert {(getattr(r.method, "size", 0), getattr(r.method, "init", "")) for r in runs} == {
        (64, "truncated-normal")
    }


def test_the_runs_of_a_small_scale_are_those_of_the_glue_table() -> None:
    """So a store that holds Houlsby-1 has some of the points."""
    asked = request(GLUE, "reduced", tasks=("mrpc",))
    table = Request("Houlsby-1", "reduced", 1, tasks=("mrpc",))
    keys = {run_key(run) for run in TABLES["Houlsby-1"].matrix(table).runs.values()}
    shared = [
        point.name
        for point in GLUE.points(asked)
        if run_key(*GLUE.chains(point, "mrpc", asked)[0]) in keys
    ]
    assert shared == ["Adapters, size 8", "Adapters, size 64", FULL]
    at_default = INIT.chains(Point(SIZED, "", 1e-2), "cola", request(INIT, "paper"))[0]
    size = GLUE.chains(Point(SIZED, "", 64), "cola", request(GLUE, "paper"))[0]
    assert run_key(*at_default) == run_key(*size)


def test_the_17_tasks_have_the_epochs_of_table_4() -> None:
    asked = request(EXTRA, "paper")
    epochs = {
        (task, series): EXTRA.chains(Point(series, "", value), task, asked)[0][0].recipe.epochs
        for task in ("us-economic", "sms-spam")
        for series, value in ((SIZED, 8), (FULL, None))
    }
    assert epochs == {
        ("us-economic", SIZED): 20, ("us-economic", FULL): 100,
        ("sms-spam", SIZED): 20, ("sms-spam", FULL): 50,
    }  # fmt: skip


def test_squad_is_read_as_berts_code_reads_it_and_scored_by_the_best_span() -> None:
    run = next(
        iter(SQUAD.matrix(request(SQUAD, "paper", data_revisions={"squad1": None})).runs.values())
    )
    document = run.task.model_dump()
    assert (document["name"], document["source"], document["train"]) == (
        "squad1", "squad", "train",
    )  # fmt: skip
    assert (document["max_length"], document["stride"]) == (384, 128)
    small = next(
        iter(
            SQUAD.matrix(
                request(SQUAD, "reduced", data_revisions={"squad1": "sha256:0"})
            ).runs.values()
        )
    ).task
    assert isinstance(small, SquadTask)
    assert (small.train_rows, small.evaluation_rows, small.revision) == (2_000, 500, "sha256:0")
    assert SQUAD.scored("squad1", request(SQUAD, "reduced")).protocol == "legacy/best-span"


def test_what_the_user_sets_by_hand_reaches_every_run() -> None:
    asked = request(
        GLUE, "reduced", seeds=2, tasks=("rte",), bottleneck=5, epochs=7, learning_rate=0.25,
        train_rows=9, as_released=True, backbone=bert("b", "B", None, layers=2, hidden=8),
    )  # fmt: skip
    points, runs = GLUE.points(asked), [*GLUE.matrix(asked).runs.values()]
    assert [p.name for p in points] == [
        "Adapters, size 5", "Top layers, top layer", "Top layers, top 2 layers", NORMS, FULL,
    ]  # fmt: skip
    assert len(runs) == 2 * len(points)
    assert {(r.recipe.epochs, r.recipe.learning_rate, r.task.train_rows) for r in runs} == {
        (7, 0.25, 9)
    }
    assert {getattr(r.method, "init_std", None) for r in runs} == {1e-3, None}


def test_a_method_is_no_choice_of_these_figures() -> None:
    with pytest.raises(ReproError, match="leave --method out"):
        [*GLUE.matrix(request(GLUE, method="houlsby")).runs.values()]


def test_accuracy_is_scored_but_for_the_regression() -> None:
    asked = request(GLUE, "paper")
    scored = {task: GLUE.scored(task, asked) for task in GLUE.tasks}
    assert {task for task, one in scored.items() if one.metric != "accuracy"} == {"stsb"}
    assert scored["mnli"].split == "validation_matched"
    assert {EXTRA.scored(task, asked).split for task in EXTRA.tasks} == {"test"}


def test_curves_of_other_runs_or_rows_are_not_comparable_with_the_papers_points(
    store: Store,
) -> None:
    def said(figure: Curves, **changes: Any) -> str:
        asked = request(figure, "paper", **changes)
        store_curves(store, figure, asked, lambda *_: 50.0)
        return view_of(figure, asked, store).stamp

    assert "not comparable" not in said(INIT, tasks=("cola",))
    assert "not comparable" not in said(INIT, tasks=("cola",), seeds=2)
    other = said(INIT, tasks=("cola",), epochs=1)
    assert "with the published numbers: recipe.epochs 1, declared " in other
    width = said(SQUAD, bottleneck=48)
    assert width.endswith("Adapters, size 48 is no point of the paper's figure")
    cut = said(EXTRA, tasks=("sms-spam",))
    assert cut.endswith("published: test rows of a cut that is not published, reproduced: test")


def test_published_points_say_how_they_are_known(view: CurvesView, store: Store) -> None:
    picture = line(view, MEDIAN, SIZED, "digitised")
    assert len(picture.points) == 7
    assert (math.log10(picture.points[0].x or 1), picture.points[0].y) == pytest.approx((5.4, -1.0))
    assert picture.encoder == KNOWN[BERT_LARGE].name
    last = line(view, MEDIAN, TOP, "digitised").points[-1].x or 0
    assert last == pytest.approx(24 * 12_596_224, rel=0.01)  # all layers of BERT-large
    mnli = view_of(GLUE, request(GLUE, tasks=("mnli",)), store)
    quoted = {
        one.series: (one.points[0].x, one.points[0].y, round(one.points[0].high or 0, 6))
        for one in panel(mnli, "mnli").lines
        if one.kind == "quoted"
    }
    assert quoted == {
        TOP: (9e6, 77.8, 77.9),
        SIZED: (2e6, 83.7, 83.8),
        FULL: (None, 84.4, 84.42),
    }
    squad = view_of(SQUAD, request(SQUAD), store).panels[0].lines
    assert sorted(d.y or 0 for one in squad for d in one.points) == [89.9, 90.4, 90.7]
    robust = view_of(INIT, request(INIT), store).panels[0].lines[-1]
    assert (robust.shape, robust.points[0].x) == ("threshold", 0.01)


def test_a_point_that_lacks_a_task_is_absent_and_named(store: Store) -> None:
    """Never a percentile over other tasks than its neighbours'."""
    asked = request(GLUE, tasks=THREE)
    store_curves(store, GLUE, asked, score, without=[("Adapters, size 16", "mrpc")])
    view = view_of(GLUE, asked, store)
    labels = [one.point for one in line(view, MEDIAN, SIZED).points]
    assert labels == ["Adapters, size 2", "Adapters, size 64"]
    assert all(one.of == THREE for one in line(view, MEDIAN, SIZED).points)
    assert (view.done, view.cells) == (20, 21)
    said = "Absent: Adapters, size 16 (MRPC): not run: python -m repro figure tradeoff-glue"
    assert any(note.startswith(said) for note in view.notes)
    assert not view_figure(GLUE, asked, store).complete


def test_without_the_reference_on_a_task_no_difference_is_drawn(store: Store) -> None:
    asked = request(GLUE, tasks=THREE)
    store_curves(store, GLUE, asked, score, without=[(FULL, "rte")])
    view = view_of(GLUE, asked, store)
    assert {one.kind for one in panel(view, MEDIAN).lines} == {"digitised"}
    assert panel(view, MEDIAN).absent.startswith("not run")
    assert dot(view, "cola", SIZED, "Adapters, size 2").y == 79


def test_a_task_without_data_is_left_out_of_every_point(store: Store) -> None:
    asked = request(GLUE, tasks=THREE, unavailable={"mrpc": "its rows are not here"})
    store_curves(store, GLUE, asked, score)
    view = view_of(GLUE, asked, store)
    assert view.tasks == ("cola", "rte")
    assert dot(view, MEDIAN, SIZED, "Adapters, size 2").of == ("cola", "rte")
    assert "Left out of every point, MRPC: its rows are not here." in view.notes
    assert view.done == view.cells == 14


def test_an_undefined_score_is_no_zero(store: Store) -> None:
    asked = request(GLUE, tasks=("stsb", "rte"))
    store_curves(
        store, GLUE, asked, lambda p, t, s: None if (p.label, t) == ("size 2", "stsb") else 50.0,
        collapsed=[("Adapters, size 2", "stsb")],
    )  # fmt: skip
    view = view_of(GLUE, asked, store)
    said = "Absent: Adapters, size 2 (STS-B): undefined, as the run predicts one class."
    assert said in view.notes


def test_a_collapsed_run_is_marked_and_counted(store: Store) -> None:
    asked = request(GLUE, tasks=THREE)
    store_curves(store, GLUE, asked, score, collapsed=[("Adapters, size 2", "rte")])
    view = view_of(GLUE, asked, store)
    assert dot(view, MEDIAN, SIZED, "Adapters, size 2").collapsed == 1
    assert dot(view, MEDIAN, SIZED, "Adapters, size 16").collapsed == 0
    assert any("predicts one class: Adapters, size 2 (RTE)." in note for note in view.notes)
    assert view.collapsed == "Adapters, size 2 (RTE)"


def test_a_missing_seed_leaves_the_point_out(store: Store) -> None:
    stored, asked = request(INIT), request(INIT, seeds=2)
    store_curves(store, INIT, stored, score)
    view = view_of(INIT, asked, store)
    assert view.done == 0
    assert "Absent: every point: 1 of 2 seeds; the rest: not run: " in view.notes[0]


def test_what_layer_norms_lose_stands_beside_what_the_text_says(view: CurvesView) -> None:
    cola, mnli = view.statements
    assert (cola.said.published, round(cola.reproduced or 0, 6)) == (3.5, 6.0)
    assert (mnli.said.published, mnli.reproduced) == (4, None)
    assert "on CoLA: 3.5 %, quoted; here: 6.0 points." in view.caption
    assert "on MNLI: 4 %, quoted; here: MNLI is not in this figure." in view.caption


def test_the_caption_names_tasks_setting_and_scale(view: CurvesView) -> None:
    text = view.caption
    for part in (
        "Smoke scale · MiniLM-L6 (6 layers) · seed 0 · not comparable",
        "Tasks: CoLA, MRPC, RTE.",
        "Adapters and Layer norms only: 3 epochs, batch 16, rate 0.001, fp32;",
        "shaded from the 20th to 80th percentile",
        "Points scored: 21/21.",
    ):
        assert part in text
    assert "Adapters from -2.0 (size 2) to -2.0 (size 64)" in view.alternative


def test_the_csv_holds_every_point_with_what_it_is_of(view: CurvesView) -> None:
    rows = list(csv.DictReader(io.StringIO(view.csv)))
    drawn = [one for found in view.panels for own in found.lines for one in own.points]
    assert len(rows) == len(drawn)
    row = next(r for r in rows if r["panel"] == MEDIAN and r["point"] == "Adapters, size 64")
    assert (row["of"], row["values"]) == ("cola mrpc rte", "-1.0 -4.0 -2.0")
    assert float(row["y"]) == -2
    assert {r["kind"] for r in rows} == {"reproduced", "digitised"}
    assert all(r["source"] for r in rows if r["kind"] != "reproduced")
