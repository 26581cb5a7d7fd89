"""A table laid out from the store: which runs a cell shows, and what it says without any."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fake_results import Value, request, runs_of, store_all, store_result
from scipy import stats

from repro.methods.untrained import AlwaysNull
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.cells import RowView
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, Scale, run_key
from repro.store import Store, StoredRun
from repro.store.result import FailureKind


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


def row(table: TableView, name: str) -> RowView:
    return next(found for found in table.rows if found.row.name == name)


def test_an_empty_store_gives_gaps_that_say_not_run(store: Store) -> None:
    table = view(store, request())
    cells = [cell for found in table.rows for cell in found.cells]
    assert len(cells) == table.cells == 6 * 6
    assert {cell.verdict for cell in cells} == {"GAP"}
    assert {cell.reason for cell in cells} == {"not run"}
    assert {cell.reproduced for cell in cells} == {None}
    assert {cell.difference for cell in cells} == {None}
    assert (table.done, table.complete) == (0, False)


def test_published_numbers_are_those_of_the_papers_first_table(store: Store) -> None:
    published = [
        cell.published.value if cell.published else None
        for cell in row(view(store, request()), "Adapter").cells
    ]
    assert published == [30.6, 31.6, 54.5, 54.5, 4.6, 6.6]  # ResAdapters, Table 1, first row


def test_two_seeds_give_mean_spread_difference_and_the_runs_behind(store: Store) -> None:
    asked = request(seeds=2, epochs=3)
    store_all(store, asked)
    table = view(store, asked)
    cell = row(table, "Adapter").cells[0]  # 10 x 3 epochs + seed 0 and 1
    assert cell.reproduced is not None
    assert cell.reproduced.values == (30.0, 31.0)
    assert cell.reproduced.mean == 30.5
    assert cell.reproduced.sd == pytest.approx(math.sqrt(0.5))
    assert cell.difference == pytest.approx(30.5 - 30.6)
    specs = [spec for spec in runs_of(asked) if spec.method == runs_of(asked)[0].method]
    assert cell.runs == tuple(run_key(spec) for spec in specs)
    assert len(specs) == 2
    assert (table.done, table.complete) == (36, True)


def test_columns_are_exact_match_and_f1_of_each_group(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    table = view(store, asked)
    assert [column.name for column in table.table.columns] == [
        "ALL EM", "ALL F1", "NoAns EM", "NoAns F1", "HasAns EM", "HasAns F1",
    ]  # fmt: skip
    means = [cell.reproduced.mean for cell in row(table, "Attention").cells if cell.reproduced]
    assert means == [10.0, 11.0, 10.01, 11.01, 10.02, 11.02]


def test_a_row_with_some_of_its_seeds_is_not_complete(store: Store) -> None:
    asked = request(seeds=3)
    for spec in runs_of(asked):
        if spec.seed < 2 or isinstance(spec.method, AlwaysNull):
            store_result(store, spec)
    table = view(store, asked)
    adapter = row(table, "Adapter")
    assert adapter.cells[0].reproduced is not None
    assert adapter.cells[0].reproduced.n == 2
    assert {cell.partial for cell in adapter.cells} == {"1 of 3 seeds missing: not run"}
    assert {cell.partial for cell in row(table, "Always null").cells} == {""}
    assert (table.done, table.complete) == (6, False)


def test_epoch_rows_read_the_history_of_one_run(store: Store) -> None:
    asked = request("ResAdapters-2", epochs=8)
    specs = runs_of(asked)
    assert len(specs) == 4  # the ResNeXt run, the probe, full fine-tuning, always null
    store_result(store, specs[0])
    table = view(store, asked)
    rows = [row(table, f"Epoch {number}") for number in range(1, 9)]
    means = [found.cells[0].reproduced.mean for found in rows if found.cells[0].reproduced]
    assert means == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
    assert {cell.runs for found in rows for cell in found.cells} == {(run_key(specs[0]),)}


def test_an_epoch_beyond_the_runs_own_is_a_gap_that_says_so(store: Store) -> None:
    asked = request("ResAdapters-2", epochs=2)
    store_all(store, asked)
    table = view(store, asked)
    for number in range(3, 9):
        for cell in row(table, f"Epoch {number}").cells:
            assert (cell.verdict, cell.reason) == ("GAP", "the run has 2 epochs")
            assert cell.reproduced is None
    assert row(table, "Epoch 2").cells[0].reproduced is not None
    assert (table.done, table.complete) == (5 * 6, False)


def test_a_failed_run_gives_its_kind_and_message_in_one_line(store: Store) -> None:
    spec = runs_of(request())[0]
    store.record_failure(run_key(spec), spec, "error", "ValueError: two\n  lines", "log")
    cells = row(view(store, request()), "Adapter").cells
    assert {cell.reason for cell in cells} == {"failed (error): ValueError: two lines"}


def test_a_run_in_work_is_called_running(store: Store) -> None:
    spec = runs_of(request())[0]
    with store.claim([run_key(spec)]):
        table = view(store, request())
    assert {cell.reason for cell in row(table, "Adapter").cells} == {"running"}
    assert {cell.reason for cell in row(table, "Attention").cells} == {"not run"}


def test_a_group_that_was_not_scored_is_a_gap_beside_scored_ones(store: Store) -> None:
    asked = request(epochs=1)
    spec = runs_of(asked)[0]
    store_result(store, spec, groups=("ALL", "NoAns"))
    cells = row(view(store, asked), "Adapter").cells
    assert [cell.verdict for cell in cells] == ["NOT COMPARABLE"] * 4 + ["GAP"] * 2
    assert cells[4].reason == "not scored"


@pytest.mark.parametrize(
    ("scale", "seeds", "verdict"),
    [
        ("smoke", 1, "NOT COMPARABLE"),
        ("reduced", 2, "NOT COMPARABLE"),
        ("paper", 1, "SINGLE"),
    ],
)
def test_verdicts_by_scale_and_seeds(store: Store, scale: Scale, seeds: int, verdict: str) -> None:
    asked = request(scale=scale, seeds=seeds)
    store_all(store, asked)
    table = view(store, asked)
    assert {cell.verdict for cell in row(table, "Adapter").cells} == {verdict}
    null = row(table, "Always null")
    assert {cell.verdict for cell in null.cells} == {None}
    assert {cell.reason for cell in null.cells} == {"the paper has no such number"}


SCATTER = {"adapter-resnet": 1.0, "attention": 0.08}
"""Variant -> the step from seed to seed; 0.1 of the others."""


def near_published(asked: Request, below: float) -> Value:
    """Five seeds about the printed numbers; Attention lies `below` them."""
    table = TABLES[asked.id]
    variants = {
        run_key(spec): found.variant
        for found in table.trained
        for spec in table.matrix(asked).of(found.name, table.columns[0].name)
    }
    printed = {
        (found.variant, column.name): cell.value
        for found in table.trained
        for column in table.columns
        if (cell := table.published_cell(found, column))
    }

    def near(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
        if isinstance(spec.method, AlwaysNull):
            return 50.0
        variant = variants[run_key(spec)]
        value = printed[variant, f"{group} {metric.upper()}"]
        assert value is not None
        step = SCATTER.get(variant, 0.1)
        return value + step * (spec.seed - 2) - below * (variant == "attention")

    return near


def test_each_row_has_its_own_deviation_and_the_table_one_chance_of_a_false_alarm(
    store: Store,
) -> None:
    """Five seeds at -2, -1, 0, 1 and 2 steps have a deviation of sqrt(2.5) steps."""
    asked = request(scale="paper", seeds=5)
    store_all(store, asked, near_published(asked, 20))
    judged = view(store, asked)
    adapter, noisy, attention = (
        row(judged, name).cells for name in ("Adapter", "Adapter ResNet", "Attention")
    )
    first = judged.frame.drop_duplicates("row").set_index("row")
    evidence, sd = first.loc["Adapter"], 0.1 * math.sqrt(2.5)
    assert (evidence["run_sd"], evidence["freedom"]) == (pytest.approx(sd), 4)
    half = stats.t.ppf(0.95, 4) * sd * math.sqrt(1 / 5 + 1)
    assert (evidence["low_90"], evidence["high_90"]) == pytest.approx((-half, half))
    assert {cell.verdict for cell in adapter} == {"MATCH"}
    assert {cell.verdict for cell in noisy} == {"UNDECIDED"}
    assert {cell.verdict for cell in attention} == {"LOWER"}
    found = first.loc["Attention"]
    assert found["run_sd"] == pytest.approx(0.8 * sd)
    assert found["column_sd"] == pytest.approx(sd)  # the median of the column's five rows
    raw = 2 * stats.t.sf((20 - 1.05) / (sd * math.sqrt(1 / 5 + 1)), 4)
    assert found["p_adjusted"] == pytest.approx(raw * 30)  # the smallest of 30 cells' p-values


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("diverged", "diverged"), "2 of 5 seeds diverged"),
        (("out-of-memory",), "1 of 5 seeds ran out of memory"),
        (("killed", "diverged"), "1 of 5 seeds killed; 1 of 5 seeds diverged"),
        (("error",), "1 of 5 seeds missing: failed (error): it broke"),
        ((None, None), "2 of 5 seeds missing: not run"),
        ((None, "diverged"), "1 of 5 seeds missing: not run; 1 of 5 seeds diverged"),
    ],
)
@pytest.mark.parametrize("variant", ["adapter", "attention"])
def test_nothing_is_decided_while_a_seed_is_missing(
    store: Store, variant: str, kinds: tuple[FailureKind | None, ...], said: str
) -> None:
    """Neither MATCH nor LOWER over the seeds that are left."""
    asked = request(scale="paper", seeds=5)
    table = TABLES[asked.id]
    lacking = next(found for found in table.trained if found.variant == variant)
    specs = table.matrix(asked).of(lacking.name, table.columns[0].name)
    lost = {run_key(spec): kind for spec, kind in zip(specs, kinds, strict=False)}
    value = near_published(asked, 20)
    for spec in runs_of(asked):
        kind = lost.get(run_key(spec))
        if run_key(spec) not in lost:
            store_result(store, spec, value)
        elif kind is not None:
            store.record_failure(run_key(spec), spec, kind, "it broke", "log")
    judged = view(store, asked)
    cells = row(judged, lacking.name).cells
    assert {cell.verdict for cell in cells} == {"UNDECIDED"}
    where = "within" if variant == "adapter" else "outside"
    assert {cell.reason for cell in cells} == {f"{where} the margin of 1.05; {said}"}
    other = "Attention" if variant == "adapter" else "Adapter"
    verdict = "LOWER" if variant == "adapter" else "MATCH"
    assert {cell.verdict for cell in row(judged, other).cells} == {verdict}


def test_one_seed_that_is_left_of_five_is_undecided(store: Store) -> None:
    asked = request(scale="paper", seeds=5)
    first, *others = (s for s in runs_of(asked) if s.method == runs_of(asked)[0].method)
    store_result(store, first)
    for spec in others:
        store.record_failure(run_key(spec), spec, "diverged", "The loss was not finite.", "log")
    cell = row(view(store, asked), "Adapter").cells[0]
    assert cell.verdict == "UNDECIDED"
    assert cell.reason.endswith("4 of 5 seeds diverged")


def test_parameters_are_those_of_the_run_and_none_for_a_reference(store: Store) -> None:
    table = view(store, request())
    # MiniLM-L6, b = 100: two stacks of six cells (2 d b + b + d projections, 2 b batch norm,
    # 2 d layer norm; attention 4 (b^2 + b) + 2 b) and a scorer d + 1
    cell = 2 * 384 * 100 + 100 + 384 + 200 + 768
    attention = cell + 4 * (100 * 100 + 100) + 200
    trained = [found.parameters[0] if found.parameters else None for found in table.rows]
    adapter, attends = 2 * (6 * cell + 385), 2 * (6 * attention + 385)
    assert trained == [adapter, adapter, attends, attends, attends, None]


def test_collapsed_runs_are_counted_with_the_f1_of_their_best_spans(store: Store) -> None:
    asked = request(seeds=2, epochs=1)
    first, second = (spec for spec in runs_of(asked) if spec.method == runs_of(asked)[0].method)
    store_result(store, first, collapsed=True, span_f1=4.0)
    store_result(store, second, collapsed=False, span_f1=6.0)
    adapter = row(view(store, asked), "Adapter")
    assert adapter.collapsed == 1
    assert adapter.span_f1 is not None
    assert adapter.span_f1.mean == 5.0


def test_laying_out_reads_each_run_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request("ResAdapters-2")
    store_all(store, asked)
    read, keys = store.read, []

    def counted(key: str, **options: Any) -> StoredRun | None:
        keys.append(key)
        return read(key, **options)

    monkeypatch.setattr(store, "read", counted)
    view(store, asked)
    assert len(keys) == len(set(keys)) == 4  # though eight rows show the same run
