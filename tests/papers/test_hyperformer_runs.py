"""Plans of HyperFormer's tables: how many runs, which need which, and what is printed of them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_written import request

from repro.engine.cost import ASSUMED
from repro.engine.plan import make_plan
from repro.errors import MissingData
from repro.methods.t5 import HyperFormer, T5FineTuning
from repro.papers.hyperformer.runs import few_shot_runs, mixture, table_runs
from repro.papers.hyperformer.setting import DAGGER, MULTI, PLUS
from repro.papers.hyperformer.tables import FOUR, LOW_RESOURCE, ONE, SETTINGS, TWO, rows_scored
from repro.papers.published import load_published
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.papers.tables import Mean, Table
from repro.spec import RunSpec, Scale, TextToText, run_key
from repro.spec.backbones import KNOWN, T5_SMALL, TINY_T5
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import MIXTURE
from repro.store import Store

SINGLE_RUNS, MULTI_RUNS = 2 * 2 * 8, 4 * 2
"""Two models of two sizes on eight tasks; four of two sizes on all at once."""


def runs(table: str, scale: Scale = "paper", **asked: Any) -> list[RunSpec]:
    return [*ARTEFACTS[table].matrix(request(table, scale, **asked)).runs.values()]


def keys(table: str, scale: Scale = "paper", **asked: Any) -> set[str]:
    return {run_key(spec) for spec in runs(table, scale, **asked)}


def texts(spec: RunSpec) -> TextToText:
    assert isinstance(spec.task, TextToText)
    return spec.task


def test_table_one_has_a_run_for_each_task_or_one_for_all() -> None:
    assert SINGLE_RUNS + MULTI_RUNS == 40
    assert len(keys("Hyperformer-1")) == len(runs("Hyperformer-1")) == 40
    sizes = [len(texts(spec).tasks) for spec in runs("Hyperformer-1")]
    assert (sizes.count(1), sizes.count(8)) == (SINGLE_RUNS, MULTI_RUNS)


def test_table_two_has_a_run_for_each_setting_model_and_seed_and_three_before_them() -> None:
    """26 settings x 3 models x 5 seeds = 390, and the three multi-task runs of Table 1."""
    assert sum(map(len, SETTINGS.values())) == 26
    found = keys("Hyperformer-2", seeds=5)
    assert len(found) == 26 * 3 * 5 + 3
    assert len(found & keys("Hyperformer-1")) == 3


def test_table_four_shares_its_first_row_with_table_one() -> None:
    assert len(keys("Hyperformer-4")) == 6
    assert len(keys("Hyperformer-4") & keys("Hyperformer-1")) == 1


def test_the_figure_has_a_run_for_each_model_size_and_seed() -> None:
    assert LOW_RESOURCE.default_seeds["paper"] == 5
    found = runs("low-resource", seeds=5)
    assert len(found) == 3 * 5 * 5  # a run scores all tasks
    assert {texts(spec).train_rows for spec in found} == {100, 500, 1_000, 2_000, 4_000}
    assert {texts(spec).subset_seed for spec in found} == {42, 43, 44, 45, 46}


def test_samples_of_the_figure_are_the_papers() -> None:
    (cell,) = (
        cell for cell in load_published("hyperformer", "HF21-text").values()
        if cell.row == "samples per task in Figure 2"
    )  # fmt: skip
    drawn = {int(point.value or 0) for point in LOW_RESOURCE.points(request("low-resource"))}
    assert sorted(drawn) == [int(number) for number in cell.text.split(", ")]


@pytest.mark.parametrize("model", [MULTI, DAGGER, PLUS])
def test_a_few_shot_run_goes_on_from_the_models_multi_task_run(model: str) -> None:
    tasks: tuple[tuple[WrittenName, str], ...]
    tasks = ("scitail", "mnli"), ("cb", "mnli"), ("imdb", "sst2")
    asked = request("Hyperformer-2", seeds=5)
    parent = table_runs(model, "BASE", "cola", asked).run(42)
    for task, like in tasks:
        before, runs = few_shot_runs(model, task, 16, asked)
        run = runs.run(45)
        assert before == parent
        assert run.parents == {"multi-task": run_key(parent)}
        assert (run.seed, texts(run).subset_seed, texts(run).train_rows) == (45, 45, 16)
        assert (texts(run).tasks, run.recipe.batch_size) == ((task,), 16)
        if not isinstance(run.method, T5FineTuning):
            assert getattr(run.method, "starts_from") == like  # noqa: B009
            assert run.method.model_copy(update={"starts_from": None}) == parent.method


@pytest.mark.parametrize(
    "table", ["Hyperformer-1", "Hyperformer-2", "Hyperformer-4", "low-resource"]
)
@pytest.mark.parametrize("scale", ["paper", "smoke"])
def test_a_run_stands_behind_those_that_it_needs(table: str, scale: Scale) -> None:
    seen: set[str] = set()
    for spec in runs(table, scale, seeds=2):
        assert set(spec.parents.values()) <= seen
        seen.add(run_key(spec))


def test_at_smoke_scale_a_run_pre_trains_the_tiny_t5_that_all_others_read() -> None:
    """8 tasks x 2 models and 4 multi-task runs for both sizes, 26 settings x 3 models; and it."""
    for table, count in (
        ("Hyperformer-1", 8 * 2 + 4), ("Hyperformer-2", 26 * 3 + 3), ("Hyperformer-4", 6),
        ("low-resource", 3 * 3),
    ):  # fmt: skip
        first, *others = runs(table, "smoke")
        assert len(others) == count
        assert (texts(first).tasks, first.parents) == (("span-corruption",), {})
        assert isinstance(first.method, T5FineTuning)
        assert {spec.parents["pretrained"] for spec in others} == {run_key(first)}
        assert {spec.backbone.id for spec in (first, *others)} == {TINY_T5}


def test_all_settings_of_table_two_run_at_smoke_scale_on_as_many_rows_as_there_are() -> None:
    few = [spec for spec in runs("Hyperformer-2", "smoke") if "multi-task" in spec.parents]
    assert len(few) == 26 * 3
    sizes = {texts(spec).train_rows or 0 for spec in few}
    assert min(sizes) == 4
    assert max(sizes) <= 400


def test_nothing_that_is_set_by_hand_changes_what_stands_for_a_checkpoint() -> None:
    plain, asked = (
        runs("Hyperformer-4", "smoke", **more)
        for more in ({}, {"epochs": 2, "learning_rate": 0.1, "train_rows": 5})
    )
    assert plain[0] == asked[0]
    assert plain[1] != asked[1]


def test_another_t5_needs_no_pre_training() -> None:
    for scale in ("reduced", "smoke"):
        for spec in runs("Hyperformer-4", scale, backbone=KNOWN[T5_SMALL]):
            assert spec.parents == {}
            assert spec.backbone == KNOWN[T5_SMALL]


def test_a_mixture_is_of_what_is_asked_for_and_there_but_whole_at_the_papers_scale() -> None:
    gone = {"qqp": "no such folder"}
    some = request(scale="reduced", tasks=("rte", "cola"), unavailable=gone)
    assert mixture(some) == ("cola", "rte")
    assert mixture(request(scale="reduced", unavailable=gone)) == tuple(
        task for task in MIXTURE if task != "qqp"
    )
    few = request("Hyperformer-2", "reduced", tasks=("cb",))
    assert mixture(few) == MIXTURE
    assert mixture(request(tasks=("rte",))) == MIXTURE
    with pytest.raises(MissingData, match=r"No task of GLUE has data here.*no such folder"):
        mixture(request(scale="reduced", tasks=("qqp",), unavailable=gone))


def test_a_new_task_starts_from_another_where_the_like_one_has_no_data() -> None:
    asked = request("Hyperformer-2", "reduced", unavailable={"mnli": "no such folder"})
    run = few_shot_runs(PLUS, "cb", 16, asked)[1].run(42)
    assert isinstance(run.method, HyperFormer)
    assert run.method.starts_from == "cola"
    assert "no data of mnli" in run.sources["method.starts_from"].citation


def test_tasks_that_are_asked_for_are_the_only_columns_that_run() -> None:
    few = runs("Hyperformer-2", "smoke", tasks=("cb",))
    assert {texts(spec).tasks for spec in few if "multi-task" in spec.parents} == {("cb",)}
    one = runs("Hyperformer-1", "smoke", tasks=("rte",))
    assert {texts(spec).tasks for spec in one[1:]} == {("rte",)}


def test_a_plan_of_the_papers_scale_is_estimated(tmp_path: Path) -> None:
    store = Store(tmp_path)
    requests = [Request(name, "paper", 1) for name in ("Hyperformer-1", "Hyperformer-4")]
    plan = make_plan(requests, store, ASSUMED["cuda"])
    assert len(plan.runs) == 40 + 5
    assert math.isfinite(plan.estimate().seconds)
    assert plan.estimate().seconds > 0


@pytest.mark.parametrize("table", [ONE, TWO, FOUR], ids=lambda table: table.id)
def test_every_printed_number_has_its_cell(table: Table) -> None:
    cells = [table.published_cell(row, column) for row in table.rows for column in table.columns]
    found = {(cell.row, cell.column, cell.metric) for cell in cells if cell is not None}
    assert found == load_published("hyperformer", table.published).keys()


@pytest.mark.parametrize(
    ("name", "total", "printed"),
    [
        # sums of the eleven printed numbers by hand
        ("Single-task / T5_SMALL", 902.67, 82.06),
        ("Multi-task / HYPERFORMER_SMALL", 907.20, 82.47),
        ("Multi-task / HYPERFORMER++_BASE", 951.31, 86.48),
    ],
)
def test_the_printed_average_is_the_mean_of_eleven_numbers(
    name: str, total: float, printed: float
) -> None:
    row = next(row for row in ONE.rows if row.name == name)
    [average] = (column for column in ONE.columns if isinstance(column, Mean))
    mean, cell = ONE.printed_mean(row, average), ONE.published_cell(row, average)
    assert mean is not None
    assert mean.value == pytest.approx(total / 11)
    assert cell is not None
    assert cell.value == printed == round(total / 11, 2)


def test_the_margin_of_the_average_is_that_of_the_whole_table_in_every_section() -> None:
    """0.45 between HyperFormer++ (82.51) and T5 on single tasks (82.06), whose half it is."""
    average = ONE.columns[-1]
    for section in (None, *((name,) for name in ONE.sections)):
        shown = ONE.matrix(replace(request(), sections=section)).artefact
        assert shown.margin_of(average) == pytest.approx(0.225, abs=0.01), section


@pytest.mark.parametrize(
    ("task", "rows"),
    # hyperformer.md, data: halves of 1,043, 408, 1,500, 277 and 56; whole validation sets
    [("cola", 522), ("mrpc", 204), ("stsb", 750), ("rte", 139), ("cb", 28), ("sst2", 872),
     ("mnli", 9_815), ("imdb", 12_500), ("scitail", 2_126)],
)  # fmt: skip
def test_margins_are_those_of_so_many_test_rows(task: str, rows: int) -> None:
    assert rows_scored(task) == rows  # type: ignore[arg-type]
    margins = {column.margin for column in (*ONE.scores, *TWO.scores) if column.task == task}
    assert margins == {2.0 if rows < 1_500 else 1.0}


def multiples(values: list[float], rows: int) -> bool:
    """Whether each is so many rows of `rows`, in percent, as two printed decimals (cut or rounded)
    can say.
    """
    return all(
        abs(value / 100 * rows - round(value / 100 * rows)) <= rows * 1e-4 for value in values
    )


def printed(table: str, pattern: str, column: str, metric: str) -> list[float]:
    cells = load_published("hyperformer", table).values()
    return [
        cell.value
        for cell in cells
        if re.match(pattern, cell.row) and cell.value is not None
        if column in ("", cell.column) and cell.metric == metric
    ]


@pytest.mark.parametrize(
    ("table", "pattern", "column", "metric", "rows", "seeds"),
    [
        ("HF21-T1", "", "MRPC", "accuracy", 203, 1),
        ("HF21-T1", "", "RTE", "accuracy", 138, 1),
        ("HF21-T2", "CB", "", "accuracy %", 27, 5),
    ],
)
def test_printed_accuracies_are_of_one_row_fewer_than_the_half(
    table: str, pattern: str, column: str, metric: str, rows: int, seeds: int
) -> None:
    """What the notes say: the released code cuts the last row of each part."""
    values = printed(table, pattern, column, metric)
    assert len(values) >= 12
    assert multiples(values, rows * seeds)
    assert not multiples(values, (rows + 1) * seeds)
