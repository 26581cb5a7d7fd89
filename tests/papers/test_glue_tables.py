"""The GLUE tables as data: printed means by hand, the runs behind every cell, what is shared."""

from __future__ import annotations

from typing import Any

import pytest
from request_samples import made

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import FullFineTuning
from repro.papers.houlsby.setting import GLUE_SWEEPS, sweep_of
from repro.papers.published import load_published
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import NOT_ASKED, Mean, Row, Score, Table
from repro.spec import GlueTask, RunSpec, Scale, run_key
from repro.spec.glue import GLUE
from repro.spec.identity import identity_fields

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
HOULSBY, COUNTS, GLUE_TABLE = (TABLES[id] for id in ("Houlsby-1", "3-shared-1", "3-shared-2"))


def request(table: Table, scale: Scale = "paper", **asked: Any) -> Request:
    return made(**({"id": table.id, "scale": scale, "seeds": table.default_seeds[scale]} | asked))


def row_of(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def column(table: Table, name: str) -> Score:
    return next(column for column in table.scores if column.name == name)


def keys(specs: list[RunSpec]) -> set[str]:
    return {run_key(spec) for spec in specs}


@pytest.mark.parametrize(
    ("name", "printed", "mean"),
    [
        # sums of the nine printed cells by hand: 717.7, 714.9, 715.9, 714.5
        ("Full fine-tuning", 79.7, 717.7 / 9),
        ("Houlsby (shared in layer)", 79.4, 714.9 / 9),
        ("Ours (not shared)", 79.2, 715.9 / 9),
        ("Ours (3-shared)", 79.3, 714.5 / 9),
    ],
)
def test_printed_totals_and_the_means_of_the_printed_cells(
    name: str, printed: float, mean: float
) -> None:
    row = row_of(GLUE_TABLE, name)
    total, recomputed = (GLUE_TABLE.published_cell(row, c) for c in GLUE_TABLE.columns[-2:])
    assert total is not None
    assert recomputed is not None
    assert total.value == printed
    assert recomputed.value == pytest.approx(mean)
    assert recomputed.text == {79.7: "79.74", 79.4: "79.43", 79.2: "79.54", 79.3: "79.39"}[printed]


def test_a_row_with_a_cell_that_nobody_printed_has_no_printed_mean() -> None:
    row = Row("Another", "3-shared", "Another")
    [*_, mean] = (column for column in GLUE_TABLE.columns if isinstance(column, Mean))
    assert GLUE_TABLE.printed_mean(row, mean) is None


def test_columns_are_scored_by_the_metric_that_the_papers_name() -> None:
    named = {
        "CoLA": "Matthews corr", "MRPC": "F1", "QQP": "F1", "STS-B": "Spearman",
    }  # fmt: skip
    for table in (HOULSBY, GLUE_TABLE):
        assert len(table.scores) == 9
        assert len(table.tasks) == 8  # MNLI has two columns
        for found in table.scores:
            metric = named.get(found.name, "accuracy")
            assert found.published_metric == f"{metric} (GLUE test server)"
            assert found.metric == metric.split()[0].lower()
    splits = {c.name: c.split for c in GLUE_TABLE.scores if c.task == "mnli"}
    assert splits == {"MNLI(m)": "validation_matched", "MNLI(mm)": "validation_mismatched"}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", [HOULSBY, GLUE_TABLE], ids=lambda table: table.id)
def test_every_cells_runs_are_of_its_task_and_in_the_tables_plan(
    table: Table, scale: Scale
) -> None:
    asked = request(table, scale)
    planned = keys([*table.matrix(asked).runs.values()])
    behind: set[str] = set()
    for row in table.rows:
        for found in table.scores:
            specs = table.matrix(asked).of(row.name, found.name)
            assert {spec.task.name for spec in specs} == {found.task}
            assert {spec.scale for spec in specs} == {scale}
            behind |= keys(specs)
    assert behind == planned


def test_a_table_of_counts_trains_nothing() -> None:
    for scale in SCALES:
        assert [*COUNTS.matrix(request(COUNTS, scale)).runs.values()] == []


def test_the_plan_takes_one_seed_of_all_rows_before_the_next() -> None:
    for table in (HOULSBY, GLUE_TABLE):
        seeds = [
            spec.seed for spec in [*table.matrix(request(table, "smoke", seeds=3)).runs.values()]
        ]
        assert seeds == sorted(seeds)
        assert set(seeds) == {0, 1, 2}


def test_three_shareds_table_has_a_run_for_each_model_task_and_seed() -> None:
    # 4 rows x 8 trainings (MNLI once) x 3 seeds
    assert len([*GLUE_TABLE.matrix(request(GLUE_TABLE)).runs.values()]) == 4 * 8 * 3


def test_houlsbys_sweep_counted_by_hand() -> None:
    """3 sizes x 3 rates x 2 epochs x 5 restarts = 90 a training, 8 trainings; fine-tuning has 4
    rates x 5 restarts; the row of size 64 is a third of the sweep and adds nothing.
    """
    asked = request(HOULSBY)
    specs = [*HOULSBY.matrix(asked).runs.values()]
    adapters = [spec for spec in specs if isinstance(spec.method, BottleneckAdapters)]
    tuned = [spec for spec in specs if isinstance(spec.method, FullFineTuning)]
    assert len(adapters) == 8 * 90
    assert len(tuned) == 8 * 20
    assert len(specs) == 880
    cola = column(HOULSBY, "CoLA")
    whole, small = (
        HOULSBY.matrix(asked).of(row_of(HOULSBY, name).name, cola.name)
        for name in ("Adapters (8-256)", "Adapters (64)")
    )
    assert (len(whole), len(small)) == (90, 30)
    assert keys(small) < keys(whole)
    assert {spec.method.size for spec in small if isinstance(spec.method, BottleneckAdapters)} == {
        64
    }


def test_houlsbys_sweep_is_that_of_the_papers_text() -> None:
    texts = {
        row: cell.text
        for (row, where, _), cell in load_published("houlsby", "H19-text").items()
        if where == "sec 3.2"
    }
    sweep = sweep_of(GLUE_SWEEPS, "adapters", request(HOULSBY))
    assert ", ".join(map(str, sweep.widths)) == texts["GLUE adapter sizes"]
    assert [float(r) for r in texts["GLUE learning rates"].split(", ")] == [*sweep.learning_rates]
    assert ", ".join(map(str, sweep.epochs)) == texts["GLUE epochs"]
    assert texts["GLUE restarts"] == str(HOULSBY.default_seeds["paper"])


def test_houlsbys_setting_is_the_papers() -> None:
    # houlsby.md: paper where it speaks, else the released code
    asked = request(HOULSBY)
    spec = HOULSBY.matrix(asked).of(HOULSBY.rows[1].name, HOULSBY.scores[0].name)[0]
    method, recipe = spec.method, spec.recipe
    assert isinstance(method, BottleneckAdapters)
    assert (method.init, method.init_std) == ("truncated-normal", 1e-2)
    assert (method.span, method.norms, method.nonlinearity) == (0, "all", "gelu-tanh")
    assert (recipe.bias_correction, recipe.adam_eps, recipe.clip_norm) == (False, 1e-6, 1.0)
    assert (recipe.weight_decay, recipe.decayed, recipe.keep) == (0.01, "matrices", "last")
    assert (recipe.batch_size, recipe.warmup, recipe.schedule) == (32, 0.1, "linear")
    assert (spec.backbone.layers, spec.backbone.hidden_size) == (24, 1024)
    released = HOULSBY.matrix(request(HOULSBY, as_released=True)).of(
        HOULSBY.rows[1].name, HOULSBY.scores[0].name
    )[0]
    assert released.method == method.model_copy(update={"init_std": 1e-3})
    # optimization.py: the rate is not rescaled after the warm-up; BERT's own rows always have it
    assert released.recipe == recipe.model_copy(update={"schedule": "bert"})
    tuned = HOULSBY.matrix(asked).of(HOULSBY.rows[0].name, HOULSBY.scores[0].name)[0]
    assert (tuned.method.kind, tuned.recipe.schedule) == ("full-fine-tuning", "bert")


def test_every_field_of_a_swept_run_has_a_source() -> None:
    for scale in SCALES:
        for row in HOULSBY.rows:
            for (spec,) in HOULSBY.chains(row, HOULSBY.scores[0], request(HOULSBY, scale, seeds=1)):
                parts = {"task": spec.task, "method": spec.method, "recipe": spec.recipe}
                wanted = {f"{n}.{f}" for n, part in parts.items() for f in identity_fields(part)}
                assert wanted | {"backbone"} <= spec.sources.keys()


def test_what_is_set_by_hand_leaves_nothing_to_sweep() -> None:
    asked = request(HOULSBY, bottleneck=16, learning_rate=1e-3, epochs=2, seeds=1)
    for row in HOULSBY.rows:
        (spec,) = HOULSBY.matrix(asked).of(row.name, HOULSBY.scores[0].name)
        assert (spec.recipe.learning_rate, spec.recipe.epochs) == (1e-3, 2)
        if isinstance(spec.method, BottleneckAdapters):
            assert spec.method.size == 16


def test_tasks_that_are_not_asked_for_are_not_run() -> None:
    asked = request(GLUE_TABLE, "smoke", tasks=("cola", "mnli"))
    assert {spec.task.name for spec in GLUE_TABLE.matrix(asked).runs.values()} == {"cola", "mnli"}
    assert GLUE_TABLE.needed(asked) == ("cola", "mnli")
    gaps = {c.name: GLUE_TABLE.gap(c, asked) for c in GLUE_TABLE.scores}
    assert {name for name, gap in gaps.items() if not gap} == {"CoLA", "MNLI(m)", "MNLI(mm)"}
    assert set(gaps.values()) == {"", NOT_ASKED}


def test_a_task_without_data_is_a_gap_and_not_run() -> None:
    asked = request(GLUE_TABLE, "reduced", unavailable={"qqp": "no such folder"})
    assert "qqp" not in {spec.task.name for spec in GLUE_TABLE.matrix(asked).runs.values()}
    assert GLUE_TABLE.gap(column(GLUE_TABLE, "QQP"), asked) == "no such folder"


def test_each_task_is_trained_on_the_data_found_for_it() -> None:
    found = {name: f"revision of {name}" for name in GLUE}
    for spec in GLUE_TABLE.matrix(
        request(GLUE_TABLE, "reduced", data_revisions=found)
    ).runs.values():
        assert isinstance(spec.task, GlueTask)
        assert spec.task.revision == f"revision of {spec.task.name}"
