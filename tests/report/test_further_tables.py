"""Houlsby-2, 3-shared-3 and Peters-1 laid out from the store."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import pytest
from fake_glue import request, store_run, store_table, task_of

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import TopLayers
from repro.papers.published import load_published
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.papers.tables import NOT_ASKED, Mean
from repro.report.captions import caption
from repro.report.cells import Cell
from repro.report.notes import notes
from repro.report.render import as_json, csv_text, markdown
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, Scale, run_key
from repro.spec.identity import identity_fields
from repro.spec.texts import HOULSBY, TEXTS
from repro.store import Store

VALUE = Callable[[RunSpec, int, str, str], float]


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


def cell(table: TableView, row: str, column: str) -> Cell:
    found = next(found for found in table.rows if found.row.name == row)
    return next(cell for cell in found.cells if cell.column.name == column)


def adapters(asked: Request, task: str) -> list[RunSpec]:
    specs = [*TABLES["Houlsby-2"].matrix(asked).runs.values()]
    return [s for s in specs if isinstance(s.method, BottleneckAdapters) and s.task.name == task]


def two_sizes(seeds: int = 2) -> Request:
    """Houlsby-2 at paper scale, two tasks, one rate: six sizes of adapters."""
    return request(
        "Houlsby-2", "paper", seeds=seeds, tasks=("airline", "sms-spam"), learning_rate=1e-4
    )


# -- averages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "row", "printed", "mean"),
    [
        # arithmetic means of the printed columns, to two digits, by hand
        ("Houlsby-2", "No BERT (AutoML)", 72.7, 72.72),
        ("Houlsby-2", "Fine-tune", 73.7, 73.71),
        ("Houlsby-2", "Variable FT", 74.0, 74.08),
        ("Houlsby-2", "Adapters", 73.3, 73.31),
        ("3-shared-3", "Full fine-tuning", 71.4, 71.42),
        ("3-shared-3", "Ours (not shared)", 74.9, 74.98),
    ],
)
def test_the_printed_averages_are_recomputed(
    table: str, row: str, printed: float, mean: float
) -> None:
    found = TABLES[table]
    line = next(one for one in found.rows if one.name == row)
    column = next(one for one in found.columns if isinstance(one, Mean))
    recomputed = found.printed_mean(line, column)
    assert recomputed is not None
    assert recomputed.value == pytest.approx(mean, abs=0.005)
    cell = found.published_cell(line, column)
    assert cell is not None
    assert cell.value == printed


def test_an_average_that_is_cut_is_told(store: Store) -> None:
    said = notes(view(store, request("Houlsby-2")))
    assert [line for line in said if "so it is cut" in line] == [
        "Variable FT: the mean of the printed scores is 74.08, printed as 74.0, so it is cut; "
        "rounded it is 74.1."
    ]
    said = notes(view(store, request("3-shared-3")))
    assert [line.partition(":")[0] for line in said if "so it is cut" in line] == [
        "Ours (not shared)"
    ]


def test_an_average_waits_for_all_tasks(store: Store) -> None:
    asked = request("3-shared-3")
    specs = [*TABLES["3-shared-3"].matrix(asked).runs.values()]
    for spec in specs:
        if spec.task.name != "airline":
            store_run(store, spec, lambda *_: 70.0)
    table = view(store, asked)
    assert cell(table, "Ours (not shared)", "Average").reason == "11/12 columns"
    assert "— (11/12)" in markdown(table)
    for spec in specs:
        if spec.task.name == "airline":
            store_run(store, spec, lambda *_: 82.0)
    found = cell(view(store, asked), "Ours (not shared)", "Average").reproduced
    assert found is not None
    assert found.mean == pytest.approx((11 * 70 + 82) / 12)


# -- tuned on validation, shown on test rows --------------------------------------------------


def test_the_best_setting_on_validation_is_shown_on_test_rows(store: Store) -> None:
    asked = two_sizes()

    def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        size = getattr(spec.method, "size", 0)
        best = {8: 90.0, 64: 80.0}.get(size, 70.0)
        return best + spec.seed if split == "validation" else 100 - best + spec.seed

    store_table(store, asked, value)
    table = view(store, asked)
    found = cell(table, "Adapters", "Crowdflower airline")
    assert found.reproduced is not None
    assert found.reproduced.values == (10.0, 11.0)  # not the 30 that is best on test rows
    assert found.chosen == {"method.size": 8}
    assert len(found.runs) == 2
    assert len(found.behind) == 6 * 2


def test_a_tie_goes_to_the_first_setting(store: Store) -> None:
    asked = two_sizes()
    store_table(store, asked, lambda spec, epoch, split, metric: 50.0)
    assert cell(view(store, asked), "Adapters", "SMS spam collection").chosen == {"method.size": 2}


def test_a_cell_is_blank_while_a_setting_may_still_win(store: Store) -> None:
    asked = two_sizes()
    first, *rest = adapters(asked, "airline")
    for spec in rest:
        store_run(store, spec, lambda *_: 50.0)
    found = cell(view(store, asked), "Adapters", "Crowdflower airline")
    assert found.reproduced is None
    assert found.reason == "11 of 12 runs of the sweep have ended; the rest: not run"
    store.record_failure(run_key(first), first, "diverged", "The loss was not finite.", "log")
    found = cell(view(store, asked), "Adapters", "Crowdflower airline")
    assert found.reproduced is not None
    assert found.chosen == {"method.size": 4}  # the size with a diverged seed never wins


def test_a_setting_without_a_score_of_its_test_rows_is_no_number(store: Store) -> None:
    asked = two_sizes()
    store_table(store, asked, lambda s, e, split, m: None if split == "test" else 50.0)
    found = cell(view(store, asked), "Adapters", "Crowdflower airline")
    assert (found.reproduced, found.reason) == (None, "not scored")


def test_the_spread_is_the_standard_error_of_the_mean(store: Store) -> None:
    asked = two_sizes(seeds=3)
    store_table(store, asked, lambda spec, *_: 80.0 + 3 * spec.seed)
    table = view(store, asked)
    found = cell(table, "Adapters", "Crowdflower airline").reproduced
    assert found is not None
    assert found.sem == pytest.approx(statistics.stdev([80, 83, 86]) / math.sqrt(3))
    assert f"83.0 ± {3 / math.sqrt(3):.1f}" in markdown(table)
    assert "standard error of the mean" in " ".join(notes(table))
    assert as_json(table)["spread"] == "sem"
    assert as_json(view(store, request("3-shared-3")))["spread"] == "sd"


def test_parameters_are_those_of_the_chosen_settings(store: Store) -> None:
    asked = two_sizes()

    def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        wanted = 8 if spec.task.name == "airline" else 64
        return 90.0 if getattr(spec.method, "size", 0) == wanted else 60.0

    specs = store_table(store, asked, value)
    found = cell(view(store, asked), "Adapters", "Trained / task")
    assert found.reason == "2/17 columns have their model chosen"
    every = request("Houlsby-2", "paper", learning_rate=1e-4, bottleneck=64)
    store_table(store, every, value)
    share = cell(view(store, every), "Adapters", "Trained / task").reproduced
    # 24 modules of 2 x 64 x 768 + 64 + 768 of 12 layers of 7,087,872
    assert share is not None
    assert share.mean == pytest.approx(100 * 24 * 99_136 / (12 * 7_087_872))
    assert len(specs) == 2 * 2 * (1 + 8 + 6)


def test_whole_layers_give_the_printed_share_of_variable_fine_tuning(store: Store) -> None:
    asked = request("Houlsby-2", "paper", learning_rate=1e-4)
    # of the numbers tried, e.g. 12 + 8 x 5 + 8 x 7 = 108 of 17 x 12 layers
    chosen: dict[str, int] = dict(zip(HOULSBY, [12, *[5] * 8, *[7] * 8], strict=True))
    for spec in TABLES["Houlsby-2"].matrix(asked).runs.values():
        if isinstance(spec.method, TopLayers):
            best = spec.method.layers == chosen[spec.task.name]
            store_run(store, spec, lambda *_, best=best: 90.0 if best else 60.0)
    table = view(store, asked)
    share, all_tasks = (
        cell(table, "Variable FT", name) for name in ("Trained / task", "Total params")
    )
    assert share.published is not None
    assert share.reproduced is not None
    assert share.published.value == round(share.reproduced.mean, 1) == 52.9
    assert share.verdict == "NOT COMPARABLE"  # a part of the declared sweep
    assert "recipe.learning_rate 0.0001, declared 1e-05, 3e-05, 0.0001 or 0.003" in share.reason
    # one encoder and 108 layers of 12; the paper's is 1 + 17 x its rounded share, cut
    assert all_tasks.reproduced is not None
    assert all_tasks.reproduced.mean == pytest.approx(10.0)
    line = next(
        line for line in markdown(table, "side-by-side").splitlines() if "| Trained / task" in line
    )
    printed = [part.strip() for part in line.split("|")[2:-1]]
    assert printed == ["published", "—", "100", "52.9", "1.14"]  # with the digits of the paper


# -- what is planned --------------------------------------------------------------------------


def test_the_paper_scale_is_the_whole_sweep() -> None:
    specs = [*TABLES["Houlsby-2"].matrix(request("Houlsby-2", "paper", seeds=3)).runs.values()]
    # rates x (fine-tuning + top layers + sizes) x seeds x tasks, section 3.3
    assert len(specs) == 4 * (1 + 8 + 6) * 3 * 17
    tops = {s.method.layers for s in specs if isinstance(s.method, TopLayers)}
    assert tops == {1, 2, 3, 5, 7, 9, 11, 12}
    sizes = {s.method.size for s in specs if isinstance(s.method, BottleneckAdapters)}
    assert sizes == {2, 4, 8, 16, 32, 64}
    assert {s.recipe.learning_rate for s in specs} == {1e-5, 3e-5, 1e-4, 3e-3}


@pytest.mark.parametrize("name", HOULSBY)
def test_epochs_are_those_of_table_4(name: str) -> None:
    asked = request("Houlsby-2", "paper", tasks=(name,))
    title = next(facts.title for known, facts in TEXTS.items() if known == name)
    printed = load_published("houlsby", "H19-T4")
    for spec in TABLES["Houlsby-2"].matrix(asked).runs.values():
        adapted = isinstance(spec.method, BottleneckAdapters)
        column = "Epochs (Adapters)" if adapted else "Epochs (Fine-tune)"
        assert spec.recipe.epochs == printed[title, column, "epochs"].value
        origin = "assumed" if isinstance(spec.method, TopLayers) else "paper"
        assert spec.sources["recipe.epochs"].origin == origin


def test_more_layers_than_the_encoder_has_are_left_out() -> None:
    specs = [
        *TABLES["Houlsby-2"]
        .matrix(request("Houlsby-2", "reduced", tasks=("airline",)))
        .runs.values()
    ]
    assert all(s.method.layers <= 6 for s in specs if isinstance(s.method, TopLayers))


def test_a_task_that_is_not_here_is_a_gap_with_its_reason(store: Store) -> None:
    why = "crowdflower_political_message is not in $REPRO_DATA"
    asked = request("Houlsby-2", unavailable={"political-message": why})
    table = view(store, asked)
    assert cell(table, "Adapters", "Crowdflower political message").reason == why
    assert f"Crowdflower political message: gap, {why}." in notes(table)
    assert "political-message" not in {
        s.task.name for s in TABLES["Houlsby-2"].matrix(asked).runs.values()
    }


def test_what_is_printed_only_is_neither_wanted_nor_a_gap(store: Store) -> None:
    asked = request("Houlsby-2")
    table = view(store, asked)
    automl = cell(table, "No BERT (AutoML)", "20 newsgroups")
    assert (automl.wanted, automl.verdict) == (False, None)
    assert automl.reason.startswith("not rebuilt")
    assert automl.published is not None
    assert automl.published.value == 91.1


@pytest.mark.parametrize("name", ["Houlsby-2", "3-shared-3"])
@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
def test_every_value_of_a_run_has_a_source(name: str, scale: Scale) -> None:
    for spec in TABLES[name].matrix(request(name, scale, tasks=("airline",))).runs.values():
        parts = {"task": spec.task, "method": spec.method, "recipe": spec.recipe}
        wanted = {f"{n}.{f}" for n, part in parts.items() for f in identity_fields(part)}
        assert wanted | {"backbone"} <= spec.sources.keys()
        rate = spec.sources["recipe.learning_rate"].origin
        assert rate == "assumed" or scale == "paper"


def test_what_is_set_by_hand_leaves_nothing_to_sweep() -> None:
    by_hand = {"epochs": 2, "learning_rate": 1e-3, "bottleneck": 16, "train_rows": 100}
    asked = request("Houlsby-2", "paper", tasks=("airline",), as_released=True, **by_hand)
    specs = [*TABLES["Houlsby-2"].matrix(asked).runs.values()]
    assert {(s.recipe.epochs, s.recipe.learning_rate) for s in specs} == {(2, 1e-3)}
    assert {task_of(s).train_rows for s in specs} == {100}
    (adapted,) = (s.method for s in specs if isinstance(s.method, BottleneckAdapters))
    assert (adapted.size, adapted.init_std) == (16, 1e-3)


# -- how it is shown --------------------------------------------------------------------------


def test_a_transposed_table_has_a_line_a_task(store: Store) -> None:
    text = markdown(view(store, request("Houlsby-2")), "side-by-side")
    line = next(line for line in text.splitlines() if "SMS spam collection" in line)
    assert [part.strip() for part in line.strip("|").split("|")] == [
        "SMS spam collection", "published", "98.5", "99.3 ± 0.2", "99.3 ± 0.2", "95.1 ± 2.2",
    ]  # fmt: skip


def test_the_caption_says_which_rows_are_scored(store: Store) -> None:
    assert "Scored: test rows, by accuracy." in caption(view(store, request("Houlsby-2")))
    said = caption(view(store, request("Peters-1", tasks=("mrpc", "sick-e", "sick-r"))))
    assert "Scored: test rows of SICK-E, SICK-R, validation rows of the others" in said
    assert "SICK-R by Pearson's correlation" in said


def test_the_caption_gives_no_tasks_epochs_for_all(store: Store) -> None:
    # Table 4: from 20 (SMS spam, adapters) to 100 (primary emotions)
    said = caption(view(store, request("Houlsby-2", "paper")))
    assert said.count("epochs 20 to 100, by task, batch 32") == 3
    said = caption(view(store, request("Houlsby-2", "paper", tasks=("sms-spam",))))
    assert (
        "Adapters: best of 24 settings on validation, size 2, 4, 8, 16, 32 or 64, 20 epochs,"
        in said
    )
    assert "Fine-tune: best of 4 settings on validation, 50 epochs," in said


def test_the_caption_counts_settings_not_their_seeds(store: Store) -> None:
    said = caption(view(store, request("Houlsby-2", "paper", seeds=3)))
    # four rates; times eight numbers of layers; times six sizes (section 3.3)
    assert "Fine-tune: best of 4 settings on validation, epochs 20 to 100" in said
    assert (
        "Variable FT: best of 32 settings on validation, top 1, 2, 3, 5, 7, 9, 11 or 12 layers, "
        in said
    )
    assert (
        "Adapters: best of 24 settings on validation, size 2, 4, 8, 16, 32 or 64, epochs 20" in said
    )


def test_the_caption_names_the_layers_where_nothing_is_chosen(store: Store) -> None:
    said = caption(view(store, request("Houlsby-2", "reduced", tasks=("airline",))))
    assert "Variable FT: top 3 layers, 3 epochs, " in said


def test_rows_that_are_cut_here_are_not_called_published_ones(store: Store) -> None:
    asked = request("3-shared-3", "reduced", tasks=("airline",))
    assert "Training: at most 4,000 of each task's training rows; " in caption(view(store, asked))
    generated = caption(view(store, request("3-shared-3")))
    assert "Training: each task's generated training rows; " in generated


def test_a_transposed_table_prints_the_parameters_that_its_caption_speaks_of(store: Store) -> None:
    table = view(store, request("3-shared-3", "paper"))
    assert "Trained parameters: of the model of Crowdflower airline." in caption(table)
    line = next(line for line in markdown(table).splitlines() if "| Trained parameters" in line)
    # 3-shared, Table 1, and a classifier of three classes: 3,006,720 + 3 x (768 + 1)
    assert line.split("|")[-2].strip() == "3,009,027"
    assert "Trained parameters" not in markdown(view(store, request("Houlsby-2")))


def test_every_cell_stands_in_the_csv_and_the_json(store: Store) -> None:
    table = view(store, request("Houlsby-2"))
    assert len(csv_text(table).splitlines()) == 1 + 4 * 20
    document = as_json(table)
    assert [row["name"] for row in document["rows"]] == [
        "No BERT (AutoML)", "Fine-tune", "Variable FT", "Adapters",
    ]  # fmt: skip


# -- Peters-1 ---------------------------------------------------------------------------------

PETERS = ("sst2", "mrpc", "sick-e", "sick-r")


def tuned_better(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """Fine-tuning 80, features 77 and one more a seed."""
    return 80.0 if spec.method.kind == "full-fine-tuning" else 77.0 + spec.seed


def test_the_difference_is_fine_tuning_minus_features(store: Store) -> None:
    asked = request("Peters-1", seeds=2, tasks=PETERS)
    store_table(store, asked, tuned_better)
    found = cell(view(store, asked), "BERT-base, delta", "SICK-E")
    assert found.reproduced is not None
    assert found.reproduced.values == (3.0, 2.0)
    assert found.published is not None
    assert found.published.value == 1.0
    assert found.difference == pytest.approx(2.5 - 1.0)


def test_the_difference_waits_for_both_rows(store: Store) -> None:
    asked = request("Peters-1", tasks=PETERS)
    for spec in TABLES["Peters-1"].matrix(asked).runs.values():
        if spec.method.kind == "frozen-features":
            store_run(store, spec, tuned_better)
    found = cell(view(store, asked), "BERT-base, delta", "MRPC")
    assert found.reproduced is None
    assert found.reason == "needs BERT-base, fine-tuned and BERT-base, features"
    assert cell(view(store, asked), "BERT-base, delta", "STS-B").reason == NOT_ASKED


def test_every_published_difference_follows_from_the_printed_scores_but_one(store: Store) -> None:
    said = notes(view(store, request("Peters-1", tasks=PETERS)))
    assert [line for line in said if "two printed scores" in line] == [
        "ELMo, delta: -3.3 is printed for SICK-E, and the two printed scores give -3.0."
    ]


def test_the_columns_are_of_their_own_tasks_and_splits() -> None:
    asked = request("Peters-1", tasks=("sick-r", "stsb"))
    specs = [*TABLES["Peters-1"].matrix(asked).runs.values()]
    assert {task_of(spec).name for spec in specs} == {"sick-r", "stsb"}
    columns = {c.name: (c.task, c.split, c.metric) for c in TABLES["Peters-1"].scores}
    assert columns["SICK-R"] == ("sick-r", "test", "pearson")
    assert columns["STS-B"] == ("stsb", "validation", "pearson")
    assert columns["NER"] == ("conll2003", "test", "f1")


def test_the_margins_that_were_declared_are_printed() -> None:
    """2 points below 1,500 test rows, 1 above, half of the gap 73.7 - 73.3 for the average."""
    table = TABLES["Houlsby-2"]
    margins = {column.name: table.margin_of(column) for column in table.columns}
    assert margins["SMS spam collection"] == 2.0  # 557 rows
    assert margins["20 newsgroups"] == 1.0  # 1,885 rows
    assert margins["Average"] == pytest.approx((73.7 - 73.3) / 2)
    assert margins["Total params"] is None


def test_a_validation_score_is_not_compared_with_a_printed_test_score(store: Store) -> None:
    """The 93.5 of BERT on SST-2's test rows is printed in two tables; neither is judged here."""
    peters, shared = request("Peters-1", "paper"), request("3-shared-2", "paper", tasks=("sst2",))
    for asked in (peters, shared):
        for spec in TABLES[asked.id].matrix(asked).runs.values():
            if spec.task.name in ("sst2", "sick-e"):
                store_run(store, spec)
    tables = view(store, peters), view(store, shared)
    rows = "BERT-base, fine-tuned", "Full fine-tuning"
    cells = [cell(table, row, "SST-2") for table, row in zip(tables, rows, strict=True)]
    assert [cell.published.value for cell in cells if cell.published] == [93.5, 93.5]
    assert {cell.verdict for cell in cells} == {"NOT COMPARABLE"}
    assert cells[0].reason == (
        "published: test rows whose labels are withheld, reproduced: validation"
    )
    sick = cell(tables[0], "BERT-base, features", "SICK-E")
    assert sick.verdict == "SINGLE"  # its test labels are public
