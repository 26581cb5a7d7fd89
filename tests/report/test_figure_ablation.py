"""What the heat map shows: grids by hand, the published grid, what is missing and why."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_spans import FIGURE, by_place, request, store_chain

import repro.papers
from repro.errors import UnknownName
from repro.methods.untrained import AblatedSpans
from repro.papers.three_shared.tables import published_drops, published_intact
from repro.report.figures.ablation import (
    Panel,
    rank_correlation,
    relative_change,
    view_of,
)
from repro.spec import run_key
from repro.spec.spans import Span
from repro.store import Store

PAPERS = Path(repro.papers.__file__).parent
SR20 = PAPERS / "three_shared" / "published" / "SR20-F8.csv"


def grid_of(layers: int, value: Callable[[Span], float]) -> Panel:
    spans = [(i, j) for i in range(layers) for j in range(i, layers)]
    return Panel("made", "Made", "points", layers, {span: value(span) for span in spans})


def test_the_figures_arithmetic_is_the_papers() -> None:
    """Houlsby et al.: percent of the intact score."""
    assert relative_change(80.0, 78.0) == pytest.approx(-2.5)
    assert relative_change(80.0, 82.0) == pytest.approx(2.5)
    assert relative_change(0.0, 2.0) is None


def test_grids_by_hand(store: Store) -> None:
    asked = request(layers=3)
    store_chain(store, asked)
    _, reproduced, _, relative = view_of(FIGURE, asked, store).panels
    assert reproduced.grid == pytest.approx(
        {(0, 0): 1, (0, 1): 11, (0, 2): 21, (1, 1): 12, (1, 2): 22, (2, 2): 23}
    )
    assert relative.grid[0, 2] == pytest.approx(100 * (69.5 - 80) / 80)
    assert relative.grid[2, 2] == pytest.approx(100 * (68.5 - 80) / 80)
    assert set(relative.grid) == set(reproduced.grid)


def test_several_seeds_give_the_mean_grid(store: Store) -> None:
    asked = request(layers=3, seeds=2)
    for seed in (0, 1):
        store_chain(store, asked, seed)
    view = view_of(FIGURE, asked, store)
    assert view.panels[1].grid[0, 1] == pytest.approx((11 + 22) / 2)
    assert view.panels[3].grid[0, 1] == pytest.approx(100 * -(5.5 + 11) / 2 / 80)
    assert (view.drawn, len(view.runs)) == (2, 4)  # each with its parent
    assert (view.done, view.cells, view.complete) == (6, 6, True)


def test_the_published_grid_is_the_csvs() -> None:
    with SR20.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    cells = [line for line in lines if line["column"]]
    drops = published_drops("cola")
    assert len(drops) == len(cells) == 78
    for line in cells:
        span = int(line["row"].split()[-1]), int(line["column"].split()[-1])
        assert drops[span].value == float(line["value"])
        assert line["source"]
    intact = published_intact().value
    assert [intact] == [float(line["value"]) for line in lines if not line["column"]]
    # the metric of each cell names the score that its drop is from
    assert {float(line["metric"].split(" = ")[1].split()[0]) for line in cells} == {intact}


def test_twelve_layers_are_laid_beside_the_published_grid(store: Store) -> None:
    asked = request(layers=12)
    store_chain(store, asked)
    published, reproduced, difference, _ = (view := view_of(FIGURE, asked, store)).panels
    assert published.grid[0, 0] == pytest.approx(3.0)  # printed x 100
    assert difference.grid[0, 0] == pytest.approx(1 - 3.0)
    assert difference.grid[11, 11] == pytest.approx(reproduced.grid[11, 11] - 2.5)
    assert set(difference.grid) == set(published.grid) == set(reproduced.grid)
    assert view.published_intact == pytest.approx(60.8)
    assert view.correlation is not None
    assert f"Spearman rank correlation {view.correlation:.2f}, over 78 spans." in view.caption


def test_the_lower_triangle_holds_nothing(store: Store) -> None:
    asked = request(layers=12)
    store_chain(store, asked)
    for panel in view_of(FIGURE, asked, store).panels:
        assert all(first <= last for first, last in panel.grid)
        assert len(panel.grid) == 78


def test_grids_of_different_depth_are_not_subtracted(store: Store) -> None:
    asked = request(layers=6)
    store_chain(store, asked)
    view = view_of(FIGURE, asked, store)
    difference = view.panels[2]
    why = "the published grid has 12 layers and this encoder 6"
    assert (difference.grid, difference.absent) == ({}, why)
    assert (view.correlation, view.correlation_reason) == (None, why)
    assert f"No rank correlation: {why}." in view.caption
    assert view.complete


def ranks(values: list[float]) -> list[float]:
    """1 for the least; ties share their mean rank."""
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def test_the_rank_correlation_is_pearsons_of_ranks_ties_included() -> None:
    one = grid_of(3, lambda span: float(span[1]))  # 0 1 2 1 2 2: ties
    other = grid_of(3, lambda span: float(span[0] ** 2 - span[1]))
    x, y = (ranks([panel.grid[s] for s in sorted(panel.grid)]) for panel in (one, other))
    mean = sum(x) / len(x)
    covariance = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    spread = [sum((v - mean) ** 2 for v in side) for side in (x, y)]
    expected = covariance / (spread[0] * spread[1]) ** 0.5
    found, over = rank_correlation(one, other)
    assert found == pytest.approx(expected)
    assert over == "over 6 spans"
    assert rank_correlation(one, one)[0] == pytest.approx(1.0)


def test_a_grid_of_one_value_has_no_rank_correlation() -> None:
    flat = grid_of(3, lambda span: 5.0)
    assert rank_correlation(flat, grid_of(3, lambda span: float(span[0])))[0] is None


def test_without_runs_the_panels_name_the_command(store: Store) -> None:
    asked = request(layers=6, backbone=None)
    view = view_of(FIGURE, asked, store)
    assert not view.complete
    assert view.panels[0].grid  # what is published needs no run
    command = "python -m repro figure ablation-heatmap --scale smoke"
    for panel in view.panels[1:]:
        assert (panel.grid, panel.absent) == ({}, f"not run: {command}")
    assert [said.reproduced for said in view.statements] == [None, None]


def test_a_failed_parent_is_the_reason(store: Store) -> None:
    asked = request()
    trained, _ = [*FIGURE.matrix(asked).runs.values()][:2]
    key = run_key(trained)
    store.record_failure(key, trained, "diverged", "The loss was not finite at step 3.", "log")
    absent = view_of(FIGURE, asked, store).panels[1].absent
    assert absent == "failed (diverged): The loss was not finite at step 3."


def test_one_of_two_seeds_is_drawn_and_said(store: Store) -> None:
    asked = request(seeds=2)
    store_chain(store, asked, seed=1)
    view = view_of(FIGURE, asked, store)
    assert view.panels[1].grid[0, 1] == pytest.approx(22)
    assert not view.complete
    assert any(note.startswith("1 of 2 seeds; the rest: not run") for note in view.notes)


def test_mnli_has_no_published_grid_and_is_drawn_in_accuracy(store: Store) -> None:
    asked = request(layers=3, task="mnli")
    store_chain(store, asked)
    view = view_of(FIGURE, asked, store)
    published, reproduced, difference, _ = view.panels
    assert published.absent == difference.absent == "MNLI: nobody printed the numbers of a grid"
    assert reproduced.unit == "drop in accuracy, points"
    assert reproduced.grid[0, 2] == pytest.approx(10.5)
    assert view.correlation is None
    assert view.statements[1].published == 37  # Houlsby et al.: the majority class of MNLI


def test_what_houlsby_et_al_say_stands_beside_what_is_found(store: Store) -> None:
    asked = request(layers=3)

    def value(seed: int, metric: str, span: Span | None) -> float:
        if span == (0, 2) and metric == "majority_share":
            return 100.0
        return by_place(seed, metric, span)

    store_chain(store, asked, value=value)
    view = view_of(FIGURE, asked, store)
    one, every = view.statements
    assert (one.published, every.published) == (2, 69)
    assert one.reproduced == pytest.approx(100 * 11.5 / 80)
    assert every.reproduced == pytest.approx(80 - 10.5)
    assert every.note == "100.0 % of the rows get the commonest prediction"
    assert view.panels[1].constant == frozenset({(0, 2)})
    assert any(note.startswith("1 span framed") for note in view.notes)


def no_accuracy(seed: int, metric: str, span: Span | None) -> float:
    """The intact model of seed 1 gets no row right."""
    if seed == 1 and metric == "accuracy" and span is None:
        return 0.0
    return by_place(seed, metric, span)


def test_a_change_relative_to_nothing_is_undefined_and_says_why(store: Store) -> None:
    asked = request(layers=3, seeds=2)
    for seed in (0, 1):
        store_chain(store, asked, seed, no_accuracy)
    view = view_of(FIGURE, asked, store)
    relative = view.panels[3]
    why = "no change in percent: the intact model's accuracy is 0"
    assert (relative.grid, relative.undefined) == ({}, dict.fromkeys(view.panels[1].grid, why))
    assert view.complete  # every span is scored
    assert f"6 spans undefined: {why}." in view.notes
    assert f"adapters of one layer off: 2 %; here: {why}." in view.caption
    assert f"Relative change in accuracy: {why}" in view.alternative


def one_class(seed: int, metric: str, span: Span | None) -> float:
    """The model of seed 0 gives every row one class, whatever is switched off."""
    constant = {"matthews": 0.0, "accuracy": 68.0, "majority_share": 100.0}
    return constant[metric] if seed == 0 else by_place(seed, metric, span)


def test_a_collapsed_intact_model_is_said(store: Store) -> None:
    asked = request(layers=3)
    store_chain(store, asked, value=one_class)
    view = view_of(FIGURE, asked, store)
    said = "The intact model predicts one class: its spans say nothing about adapters."
    assert view.constant == 1
    assert said in view.caption
    assert said in view.notes
    assert view.statements[0].reproduced == 0
    assert "one layer off: 2 %; here: 0.0 %" in view.caption


def test_of_several_seeds_the_collapsed_ones_are_counted(store: Store) -> None:
    asked = request(layers=3, seeds=2)
    for seed in (0, 1):
        store_chain(store, asked, seed, one_class)
    collapsed, framed, *_ = view_of(FIGURE, asked, store).notes
    assert collapsed.startswith("The intact model of 1 of 2 seeds predicts one class")
    assert framed.startswith("6 spans framed: For at least one seed every row gets one class")


def test_a_model_that_tells_rows_apart_is_not_called_collapsed(store: Store) -> None:
    store_chain(store, request())
    view = view_of(FIGURE, request(), store)
    assert view.constant == 0
    assert "predicts one class" not in view.caption


def test_the_seeds_behind_the_mean_are_counted(store: Store) -> None:
    asked = request(seeds=3)
    said = ["none of 3 seeds", "1 of 3 seeds", "mean of 2 of 3 seeds", "mean of 3 seeds"]
    for seed, words in enumerate(said):
        assert f"(3 layers) · {words} ·" in view_of(FIGURE, asked, store).stamp
        if seed < 3:
            store_chain(store, asked, seed)


def test_one_epoch_is_one_epoch(store: Store) -> None:
    assert " rows, 1 epoch, batch" in view_of(FIGURE, request(epochs=1), store).caption
    assert " rows, 2 epochs, batch" in view_of(FIGURE, request(epochs=2), store).caption


def test_statements_of_a_paper_say_that_another_models_adapters_are_drawn(store: Store) -> None:
    other, same = (
        view_of(FIGURE, request(method=method), store) for method in ("pfeiffer", "houlsby")
    )
    said = "Their numbers are of their own adapters, those here of pfeiffer."
    assert f"section 3.6: {said} Largest" in other.caption
    assert "section 3.6: Largest" in same.caption


def test_the_alternative_text_names_the_extremes(store: Store) -> None:
    asked = request(layers=3)
    store_chain(store, asked)
    words = view_of(FIGURE, asked, store).alternative
    assert "Reproduced: from 1.0 (layers 0 to 0) to 23.0 (layers 2 to 2)" in words


def test_the_child_is_its_parent_but_for_the_method() -> None:
    trained, ablated = [*FIGURE.matrix(request()).runs.values()][:2]
    assert isinstance(ablated.method, AblatedSpans)
    assert ablated.parents == {"trained": run_key(trained)}
    same = {"method": trained.method, "parents": {}, "sources": trained.sources}
    assert ablated.model_copy(update=same) == trained
    assert [*FIGURE.matrix(request(seeds=2)).runs.values()][:2] == [trained, ablated]


def test_the_model_that_is_assumed_says_so_and_another_can_be_asked_for() -> None:
    asked, chosen = request(), request(method="3-shared", layers=6)
    assert FIGURE.method(asked) == "not-shared"
    assert "not stated" in [*FIGURE.matrix(asked).runs.values()][:2][1].sources["parents"].citation
    assert "--method" in [*FIGURE.matrix(chosen).runs.values()][:2][1].sources["parents"].citation
    keys = [run_key(spec) for a in (asked, chosen) for spec in [*FIGURE.matrix(a).runs.values()]]
    assert all(a != b for a, b in itertools.combinations(keys, 2))


@pytest.mark.parametrize("asked", [{"method": "full-fine-tuning"}, {"tasks": ("sst2",)}])
def test_what_the_figure_cannot_draw_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match="of this figure called"):
        [*FIGURE.matrix(request(**asked)).runs.values()]


def test_every_adapter_model_can_be_drawn_at_twelve_layers() -> None:
    for method in FIGURE.methods:
        for task in FIGURE.tasks:
            assert len([*FIGURE.matrix(request(12, task, method=method)).runs.values()]) == 2
