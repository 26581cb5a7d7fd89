"""GLUE tables laid out from the store: cells of many tasks, means of rows, the best of a sweep."""

from __future__ import annotations

import statistics

import pytest
from fake_glue import by_task, request, store_run, store_table, task_of

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import NOT_ASKED
from repro.report.cells import Cell
from repro.report.counted import count_missing
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, Scale, run_key
from repro.store import Store

TABLE, HOULSBY, COUNTS = (TABLES[id] for id in ("3-shared-2", "Houlsby-1", "3-shared-1"))
NINE = ["CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI(m)", "MNLI(mm)", "QNLI", "RTE"]
PLACES = [50, 51, 52, 53, 54, 55, 55.5, 56, 57]
"""What `by_task` gives: a task's place in GLUE, half a point more on mismatched rows."""


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


def cell(table: TableView, row: str, column: str) -> Cell:
    found = next(found for found in table.rows if found.row.name == row)
    return next(cell for cell in found.cells if cell.column.name == column)


def cell_runs(asked: Request, row: str, column: str) -> list[RunSpec]:
    table = TABLES[asked.id]
    found = next(found for found in table.rows if found.name == row)
    return table.matrix(asked).of(
        found.name, next(c for c in table.columns if c.name == column).name
    )


def size(spec: RunSpec) -> int:
    assert isinstance(spec.method, BottleneckAdapters)
    return spec.method.size


def test_each_cell_shows_the_runs_of_its_own_task(store: Store) -> None:
    asked = request()
    store_table(store, asked)
    table = view(store, asked)
    for name, place in zip(NINE, PLACES, strict=True):
        found = cell(table, "Ours (3-shared)", name)
        assert found.reproduced is not None
        assert found.reproduced.mean == pytest.approx(place + 0.05)  # five epochs at smoke scale
        assert found.runs == tuple(map(run_key, cell_runs(asked, "Ours (3-shared)", name)))
    assert (table.done, table.cells, table.complete) == (44, 44, True)
    assert len(table.runs) == 4 * 8


def test_the_epoch_that_was_kept_is_shown(store: Store) -> None:
    asked = request(seeds=2)
    first, second = cell_runs(asked, "Ours (3-shared)", "CoLA")
    store_run(store, first, kept=2)
    store_run(store, second)
    found = cell(view(store, asked), "Ours (3-shared)", "CoLA").reproduced
    assert found is not None
    assert found.values == (50.02, 60.05)  # epoch 2 of the first, the last of the second


def test_the_mean_of_a_row_is_that_of_its_nine_columns_seed_by_seed(store: Store) -> None:
    asked = request(seeds=2)
    store_table(store, asked)
    expected = statistics.fmean(PLACES) + 0.05
    for name in ("Total", "Mean of 9"):
        found = cell(view(store, asked), "Ours (3-shared)", name).reproduced
        assert found is not None
        assert found.values == pytest.approx((expected, expected + 10))
        assert found.mean == pytest.approx(expected + 5)
        assert found.sd == pytest.approx(statistics.stdev([0, 10]))


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_row_that_lacks_a_run_has_no_mean(store: Store, seeds: int) -> None:
    """Not even where another seed of that task is stored."""
    asked = request(seeds=seeds)
    missing = cell_runs(asked, "Ours (3-shared)", "QQP")[-1]
    for spec in TABLE.matrix(asked).runs.values():
        if run_key(spec) != run_key(missing):
            store_run(store, spec)
    table = view(store, asked)
    for name in ("Total", "Mean of 9"):
        found = cell(table, "Ours (3-shared)", name)
        assert (found.reproduced, found.difference) == (None, None)
        assert (found.verdict, found.reason) == ("GAP", "8/9 columns")
        assert cell(table, "Ours (not shared)", name).reproduced is not None
    assert (table.done, table.cells) == (44 - 3, 44)


def test_an_empty_store_has_means_of_nothing(store: Store) -> None:
    table = view(store, request())
    assert cell(table, "Ours (3-shared)", "Total").reason == "0/9 columns"
    assert table.done == 0


def test_tasks_not_asked_for_are_gaps_that_leave_the_table_complete(store: Store) -> None:
    asked = request(tasks=("cola", "rte"))
    store_table(store, asked)
    table = view(store, asked)
    assert (table.done, table.cells, table.complete) == (8, 8, True)
    assert cell(table, "Ours (3-shared)", "QQP").reason == NOT_ASKED
    total = cell(table, "Ours (3-shared)", "Total")
    assert (total.reproduced, total.reason) == (None, "2/9 columns")


def test_a_task_without_data_is_a_gap_that_leaves_the_table_incomplete(store: Store) -> None:
    asked = request(scale="reduced", unavailable={"qqp": "glue_qqp/train is not here"})
    store_table(store, asked)
    table = view(store, asked)
    found = cell(table, "Ours (3-shared)", "QQP")
    assert (found.verdict, found.reason) == ("GAP", "glue_qqp/train is not here")
    assert cell(table, "Ours (3-shared)", "Total").reason == "8/9 columns"
    assert (table.done, table.cells, table.complete) == (32, 44, False)


@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
@pytest.mark.parametrize("seeds", [1, 2])
def test_scores_of_the_test_server_are_never_compared_with(
    store: Store, scale: Scale, seeds: int
) -> None:
    asked = request(scale=scale, seeds=seeds)
    store_table(store, asked)
    table = view(store, asked)
    verdicts = {cell.verdict for row in table.rows for cell in row.cells}
    assert verdicts == {"NOT COMPARABLE"}
    reason = cell(table, "Ours (3-shared)", "MNLI(mm)").reason
    other = "published: GLUE test server, reproduced: validation_mismatched"
    assert reason == (other if scale == "paper" else f"{scale} scale")


def test_an_undefined_score_is_a_gap_that_names_the_collapse(store: Store) -> None:
    """Never 0: a constant prediction has no correlation."""
    asked = request()
    (spec,) = cell_runs(asked, "Ours (3-shared)", "CoLA")
    store_run(store, spec, lambda *where: None if where[-1] == "matthews" else 69.0, collapsed=True)
    found = cell(view(store, asked), "Ours (3-shared)", "CoLA")
    assert (found.verdict, found.reproduced) == ("GAP", None)
    assert found.reason == "undefined, as the run predicts one class"
    assert found.collapsed == (run_key(spec),)


def test_an_undefined_seed_is_left_out_and_said(store: Store) -> None:
    asked = request(seeds=2)
    first, second = cell_runs(asked, "Ours (3-shared)", "CoLA")
    store_run(store, first, lambda *where: None, collapsed=True)
    store_run(store, second)
    found = cell(view(store, asked), "Ours (3-shared)", "CoLA")
    assert found.reproduced is not None
    assert found.reproduced.values == (60.05,)
    assert found.partial == "1 of 2 seeds missing: undefined, as the run predicts one class"
    assert not found.complete


def test_collapsed_runs_are_counted_a_row_each_once(store: Store) -> None:
    """MNLI's two columns show one run."""
    asked = request()
    for spec in TABLE.matrix(asked).runs.values():
        store_run(store, spec, collapsed=task_of(spec).name == "mnli")
    for row in view(store, asked).rows:
        assert row.collapsed == 1
        assert sum(bool(cell.collapsed) for cell in row.cells) == 2


# The best of a sweep

SWEEP = "Adapters (8-256)"


def by_size(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """Larger is better by a point for each doubling; the rest as ever."""
    more = size(spec).bit_length() if isinstance(spec.method, BottleneckAdapters) else 0
    return by_task(spec, epoch, split, metric) + more


def test_a_cell_of_a_sweep_is_its_best_run(store: Store) -> None:
    asked = request("Houlsby-1", "reduced")
    store_table(store, asked, by_size)
    table = view(store, asked)
    for row, column in ((SWEEP, "CoLA"), ("Adapters (64)", "CoLA"), (SWEEP, "MNLImm")):
        found = cell(table, row, column)
        assert found.reproduced is not None
        assert (found.reproduced.n, found.reproduced.sd) == (1, None)
        best = max(
            by_size(spec, spec.recipe.epochs, str(getattr(found.column, "split", "")), "")
            for spec in cell_runs(asked, row, column)
        )
        assert found.reproduced.mean == best
        assert len(found.behind) == len(cell_runs(asked, row, column)) > 1
        assert set(found.runs) < set(found.behind)


def test_an_expected_best_of_zero_is_shown(store: Store) -> None:
    """The paper's best is of 5 seeds. Of the 6 subsets of 5 of these, 5 have 0.5 as their best and
    one has -2.5: the mean is 0.
    """
    asked = request("Houlsby-1", "smoke", seeds=6)
    store_table(store, asked, lambda spec, *where: [-9.0, 0.5, -9.0, -2.5, -9.0, -9.0][spec.seed])
    found = cell(view(store, asked), SWEEP, "CoLA").reproduced
    assert found is not None
    assert found.mean == 0.0


def test_what_was_chosen_is_told_by_the_fields_that_were_swept(store: Store) -> None:
    asked = request("Houlsby-1", "reduced", seeds=2)

    def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        wanted = isinstance(spec.method, BottleneckAdapters) and size(spec) == 8
        return 90.0 if wanted and spec.seed == 1 and spec.recipe.learning_rate == 1e-3 else 80.0

    store_table(store, asked, value)
    chosen = cell(view(store, asked), SWEEP, "RTE").chosen
    assert chosen == {"method.size": 8, "recipe.learning_rate": 1e-3, "seed": 1}


def test_of_equal_runs_the_first_is_chosen(store: Store) -> None:
    asked = request("Houlsby-1", "reduced", seeds=2)
    store_table(store, asked, lambda *where: 70.0)
    for row in TABLES["Houlsby-1"].rows:
        for name in ("CoLA", "MNLIm"):
            found = cell(view(store, asked), row.name, name)
            assert found.runs == (run_key(cell_runs(asked, row.name, name)[0]),)


def test_a_column_selects_by_its_own_score(store: Store) -> None:
    """MNLI's matched and mismatched rows may choose different runs."""
    asked = request("Houlsby-1", "smoke")

    def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        small = isinstance(spec.method, BottleneckAdapters) and size(spec) == 8
        return 80.0 if small == ("mismatched" in split) else 70.0

    store_table(store, asked, value)
    table = view(store, asked)
    assert cell(table, SWEEP, "MNLIm").chosen == {"method.size": 64}
    assert cell(table, SWEEP, "MNLImm").chosen == {"method.size": 8}


def test_while_a_run_of_the_sweep_is_missing_nothing_is_selected(store: Store) -> None:
    asked = request("Houlsby-1", "reduced")
    specs = cell_runs(asked, SWEEP, "CoLA")
    for spec in specs[1:]:
        store_run(store, spec)
    found = cell(view(store, asked), SWEEP, "CoLA")
    assert (found.verdict, found.reproduced, found.chosen) == ("GAP", None, None)
    assert found.reason == "3 of 4 runs of the sweep have ended; the rest: not run"
    assert len(found.behind) == 3


def test_a_diverged_run_ends_the_sweep_without_being_chosen(store: Store) -> None:
    asked = request("Houlsby-1", "reduced")
    first, *others = cell_runs(asked, SWEEP, "CoLA")
    store.record_failure(run_key(first), first, "diverged", "The loss was not finite.", "log")
    for spec in others:
        store_run(store, spec, by_size)
    found = cell(view(store, asked), SWEEP, "CoLA")
    assert found.complete
    assert found.chosen is not None
    assert found.chosen["method.size"] == 64
    assert len(found.behind) == 3


def test_a_run_that_failed_otherwise_leaves_the_sweep_open(store: Store) -> None:
    asked = request("Houlsby-1", "smoke")
    first, second = cell_runs(asked, SWEEP, "CoLA")
    store.record_failure(run_key(first), first, "error", "it broke", "log")
    store_run(store, second)
    found = cell(view(store, asked), SWEEP, "CoLA")
    assert found.reason.endswith("the rest: failed (error): it broke")
    assert not found.complete


def test_a_sweep_that_diverged_whole_is_a_gap(store: Store) -> None:
    asked = request("Houlsby-1", "smoke")
    for spec in cell_runs(asked, SWEEP, "CoLA"):
        store.record_failure(run_key(spec), spec, "diverged", "The loss was not finite.", "log")
    found = cell(view(store, asked), SWEEP, "CoLA")
    assert (found.verdict, found.reproduced) == ("GAP", None)
    assert found.reason == "failed (diverged): The loss was not finite."


# Parameters


def test_the_share_of_size_64_is_the_printed_one_without_any_run(store: Store) -> None:
    """48 x (2 x 64 x 1024 + 64 + 1024) of 24 x 12,596,224; nine tasks beside one encoder."""
    table = view(store, request("Houlsby-1", "paper", seeds=5))
    share = 48 * (2 * 64 * 1024 + 64 + 1024) / (24 * 12_596_224)
    trained, total = (cell(table, "Adapters (64)", n) for n in ("Trained / task", "Total params"))
    assert trained.reproduced is not None
    assert total.reproduced is not None
    assert trained.reproduced.mean == pytest.approx(100 * share)
    assert total.reproduced.mean == pytest.approx(1 + 9 * share)
    assert (trained.verdict, total.verdict) == ("MATCH", "MATCH")  # 2.1 % and 1.2 x
    whole = cell(table, "BERT-large", "Total params")
    assert whole.reproduced is not None
    assert (whole.reproduced.mean, whole.verdict) == (9.0, "MATCH")


def test_a_share_that_depends_on_the_choice_waits_for_all_choices(store: Store) -> None:
    asked = request("Houlsby-1", "smoke")
    specs = [*TABLES["Houlsby-1"].matrix(asked).runs.values()]
    for spec in specs:
        if task_of(spec).name != "rte":
            store_run(store, spec, by_size)
    waiting = cell(view(store, asked), SWEEP, "Trained / task")
    assert (waiting.reproduced, waiting.verdict) == (None, "GAP")
    assert waiting.reason == "8/9 columns have their model chosen"
    for spec in specs:
        if task_of(spec).name == "rte":
            value = (
                99.0 if not isinstance(spec.method, BottleneckAdapters) or size(spec) == 8 else 1
            )
            store_run(store, spec, lambda *where, value=value: value)
    found = cell(view(store, asked), SWEEP, "Trained / task")
    layers = 6 * (4 * (384 * 384 + 384) + 2 * 384 * 1536 + 1536 + 384 + 4 * 384)
    small, large = (12 * (2 * m * 384 + m + 384) for m in (8, 64))
    assert found.reproduced is not None
    assert found.reproduced.mean == pytest.approx(100 * (8 * large + small) / 9 / layers)
    assert (found.verdict, found.reason) == ("NOT COMPARABLE", "smoke scale")


def test_the_servers_total_is_shown_and_not_recomputed(store: Store) -> None:
    asked = request("Houlsby-1", "smoke")
    store_table(store, asked)
    table = view(store, asked)
    found = cell(table, SWEEP, "Total")
    assert found.published is not None
    assert found.published.value == 80.0  # Houlsby et al., Table 1
    assert (found.reproduced, found.verdict) == (None, None)
    assert "server's own" in found.reason
    assert table.complete
    assert table.cells == 3 * 11


# 3-shared-1


@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
def test_counts_equal_the_printed_ones_at_every_scale(store: Store, scale: Scale) -> None:
    asked = request("3-shared-1", scale)
    count_missing(COUNTS, asked, store)
    table = view(store, asked)
    assert {cell.verdict for row in table.rows for cell in row.cells} == {"MATCH"}
    counts = [row.cells[-1].reproduced for row in table.rows]
    assert [found.mean for found in counts if found] == [1_189_632, 3_006_720, 396_544]
    assert (table.done, table.cells, table.complete, table.runs) == (12, 12, True, [])


def test_what_was_not_counted_is_a_gap(store: Store) -> None:
    table = view(store, request("3-shared-1"))
    for row in table.rows:
        assert [cell.verdict for cell in row.cells] == ["MATCH", "MATCH", "MATCH", "GAP"]
        assert row.cells[-1].reason == "not counted"
    assert not table.complete


def test_todays_code_trains_layer_norms_too(store: Store) -> None:
    """not_shared_3shared.md: 12 adapters and 24 layer norms are 1,226,496."""
    asked = request("3-shared-1", as_released=True)
    count_missing(COUNTS, asked, store)
    found = cell(view(store, asked), "Houlsby", "Parameters without last classifier")
    assert found.reproduced is not None
    assert (found.reproduced.mean, found.verdict) == (1_226_496, "HIGHER")
    assert cell(view(store, asked), "Houlsby", "Trained part of BERT").verdict == "DIFFERS"
