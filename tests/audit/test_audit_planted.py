"""Errors planted in the published tables are found; nothing is found in clean ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas
import pytest

from repro.audit import resadapters
from repro.audit.numbers import (
    Averaged,
    Cell,
    Mixed,
    Numbers,
    averages,
    common_share,
    deviation_of_items,
    item_counts,
    load,
    of_items,
    of_runs,
    reading,
    share_of_constant,
    shares,
)
from repro.audit.run import computed
from repro.audit.tables import copies

NUMBERS = load()
CHANGED = ["printed", "value", "decimals"]
GAIN = "adaptable-adapters-delta-low-data-100-aa-focused-uni-minus-baseline-avg"
KNOWN = {found.id for found in computed(NUMBERS)}


def printed(
    text: str,
    row: str = "a row",
    column: str = "a column",
    metric: str = "accuracy",
    sd: float = math.nan,
) -> Cell:
    number, digits = float(text.rstrip("x%")), decimals(text)
    return Cell(row, column, metric, number, sd, 0, digits, text, "a source", math.nan)


def frame(paper: str, table: str, cells: Iterable[Cell]) -> Numbers:
    return pandas.DataFrame(list(cells)).assign(paper=paper, table=table)


def decimals(text: str) -> int:
    """Digits behind the point."""
    return len(text.rstrip("x%K").partition(".")[2])


def place(paper: str, table: str, row: str, column: str, metric: str = "") -> Any:
    """Where a printed number is in the frame."""
    names = NUMBERS[["paper", "table", "row", "column"]]
    chosen = names.eq([paper, table, row, column]).all(axis=1)
    return NUMBERS.index[chosen & NUMBERS["metric"].str.startswith(metric)][0]


def planted(paper: str, table: str, row: str, column: str, text: str, metric: str = "") -> set[str]:
    """Ids that are found beside the known ones when one printed number is another."""
    numbers, cell = NUMBERS.copy(), place(paper, table, row, column, metric)
    value = float(text.rstrip("x%K")) * (1e3 if text.endswith("K") else 1)
    numbers.loc[cell, CHANGED] = text, value, decimals(text)
    return {found.id for found in computed(numbers)} - KNOWN


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("resadapters", "RA-T1", "Non Linear / Adapter", "ALL", "35.6", "EM"),
         {"resadapters-mix-ra-t1-non-linear-adapter-em",
          "resadapters-f1-ra-t1-non-linear-adapter-all"}),
        (("resadapters", "RA-T2", "Epoch3", "NoAns", "83.2", "F1"),
         {"resadapters-noans-ra-t2-epoch3-noans", "resadapters-mix-ra-t2-epoch3-f1"}),
        (("houlsby", "H19-T2", "Average", "Adapters BERT_BASE", "74.3"),
         {"houlsby-average-adapters-bert-base", "houlsby-text-gap-further"}),
        (("houlsby", "H19-T1", "Adapters (64)", "Total num params", "1.6x"),
         {"houlsby-total-table-1-adapters-64"}),
        (("houlsby", "H19-text", "gap to full fine-tuning on GLUE", "sec 1/abstract", "0.8"),
         {"houlsby-text-gap"}),
        (("three_shared", "SR20-T2", "Houlsby (our implementation)", "Total", "80.4"),
         {"three-shared-total-houlsby-our-implementation"}),
        (("three_shared", "SR20-T1", "Ours (3-shared)",
          "# All trainable parameters without last classifier", "396545"),
         {"three-shared-count-3-shared"}),
        (("hyperformer", "HF21-T1", "Multi-task / HYPERFORMER++_BASE", "Avg", "87.48"),
         {"hyperformer-average-multi-task-hyperformer-base"}),
        (("hyperformer", "HF21-T1", "Multi-task / Adapters_BASE dagger",
          "#Trained params / per task", "0.92%"), {"hyperformer-share-dagger-base"}),
        (("hyperformer", "HF21-T4", "HYPERFORMER_SMALL", "GLUE", "81.47"),
         {"hyperformer-ablation-start"}),
        (("adaptable_adapters", "AA22-T2", "Low-data-100 / Baseline", "RTE", "49.40"),
         {"adaptable-baseline-rte-impossible"}),
        (("adaptable_adapters", "AA22-T2", "Low-data-100 / AA-focused^uni minus Baseline", "Avg",
          "5.24"), {GAIN}),
        (("adaptable_adapters", "AA22-T2", "Low-data-100 / |AA|", "MNLI", "13.3"),
         {"adaptable-layers-mnli-impossible"}),
        (("adaptable_adapters", "AA22-text", "BERT-large adapter layer", "", "135K"),
         {"adaptable-count-bert-large-adapter-layer"}),
        (("lora", "LoRA21-T2-readme", "RoBERTa base / LoRA", "Average", "88.24"),
         {"lora-1-average-no-mean"}),
        (("lora", "LoRA21-T2-readme", "RoBERTa base / LoRA", "# of Trainable Params.", "700K"),
         {"lora-1-count-lora-700k"}),
        (("peters", "PRS19-T-reprint", "ELMo / fine-tuning", "MRPC", "75.9"),
         {"peters-delta-elmo-mrpc"}),
    ],
)  # fmt: skip
def test_a_planted_error_is_found(where: tuple[str, ...], expected: set[str]) -> None:
    assert planted(*where) == expected


def squad(*rows: tuple[str, str, str, str, str, str]) -> Numbers:
    """A table of ResAdapters: EM and F1 of ALL, NoAns and HasAns a row."""
    keys = [(group, metric) for group in ("ALL", "NoAns", "HasAns") for metric in ("EM", "F1")]
    cells = (
        printed(text, name, group, metric)
        for name, row in zip("abc", rows, strict=False)
        for (group, metric), text in zip(keys, row, strict=True)
    )
    return frame("resadapters", "RA-T1", cells)


CLEAN = (
    ("55.0", "60.0", "60.1", "60.1", "49.9", "59.9"),  # 0.5007 x 60.1 + 0.4993 x 49.9
    ("65.0", "70.0", "70.0", "70.0", "60.0", "70.0"),
    ("52.5", "54.0", "85.0", "85.0", "19.9", "22.9"),
)
"""Half of the questions without an answer, as in the official development set; by hand."""


def test_a_clean_table_of_question_answering_gives_nothing() -> None:
    assert resadapters.check(squad(*CLEAN)) == []


def test_exact_match_and_f1_in_each_others_place_are_found() -> None:
    """ALL swapped: its sums do not fit either."""
    a = CLEAN[0]
    swapped = (a[1], a[0], *a[2:])
    ids = {found.id for found in resadapters.check(squad(swapped, *CLEAN[1:]))}
    assert ids == {"resadapters-f1-ra-t1-a-all", "resadapters-mix-ra-t1-a-em",
                   "resadapters-mix-ra-t1-a-f1"}  # fmt: skip


def test_a_score_above_100_is_found() -> None:
    changed = (*CLEAN[1][:5], "170.0")
    ids = {found.id for found in resadapters.check(squad(CLEAN[0], changed, CLEAN[2]))}
    assert ids == {"resadapters-bounds-ra-t1-b-hasans-f1", "resadapters-mix-ra-t1-b-f1"}


def test_a_copied_column_of_the_real_tables_is_found() -> None:
    """Houlsby et al.'s adapters (64), row 3 of Table 1, under the name of another paper's row."""
    numbers = NUMBERS.copy()
    for task in ("CoLA", "MRPC", "STS-B", "QQP", "RTE"):
        first = place("houlsby", "H19-T1", "Adapters (64)", task)
        second = place("three_shared", "SR20-T2", "Houlsby (our implementation)", task)
        numbers.loc[second, CHANGED] = numbers.loc[first, CHANGED].to_list()
    found = {one.id for one in computed(numbers)} - KNOWN
    assert found == {"copy-sr20-t2-h19-t1", "three-shared-total-houlsby-our-implementation"}


def test_a_clean_table_gives_nothing() -> None:
    parts = (printed("50.0"), printed("60.0"), printed("71.0"))
    rows = [Averaged("a", printed("60.3"), parts), Averaged("b", printed("55.0"), parts[:2])]
    assert list(averages("Avg", "avg", rows)) == []
    whole = Mixed("m", printed("55.0"), printed("60.0"), printed("50.0"))
    assert common_share([whole, whole])[2] == []


def test_numbers_without_a_mean_at_all_are_one_note() -> None:
    parts = (printed("50.0"), printed("60.0"))
    rows = [Averaged(name, printed(text), parts) for name, text in (("a", "70.0"), ("b", "71.0"))]
    (found,) = averages("Total", "total", rows)
    assert (found.id, found.severity) == ("total-no-mean", "note")


@pytest.mark.parametrize(
    ("text", "exact", "kind"),
    [
        ("74.0", 74.04, "rounded"), ("74.1", 74.076, "rounded"), ("74.0", 74.076, "cut"),
        ("-3.3", -3.36, "cut"), ("74.2", 74.09, "near"), ("79.2", 79.54, "off"),
        ("1.45x", 1.464, "near"), ("9.9x", 9.993, "cut"),
    ],
)  # fmt: skip
def test_how_a_printed_number_follows(text: str, exact: float, kind: str) -> None:
    assert reading(printed(text), exact) == kind


def test_shares_of_a_mixture_by_hand() -> None:
    """0.6 x 80 + 0.4 x 20 = 56; each number is good to 0.05."""
    low, high = shares(Mixed("m", printed("56.0"), printed("80.0"), printed("20.0")))
    assert low < 0.6 < high
    assert high - low < 0.005


def test_a_part_that_tells_nothing_allows_every_share() -> None:
    assert shares(Mixed("m", printed("50.0"), printed("50.0"), printed("50.0"))) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "items", "runs", "possible"),
    [
        ("66.67", 3, 1, True), ("50.00", 3, 1, False), ("55.21", 71, 5, True),
        ("55.48", 71, 5, False), ("49.39", 277, 5, True), ("49.40", 277, 5, False),
        ("83.3", 6, 1, True), ("33.89", 9_815, 5, True),
    ],
)  # fmt: skip
def test_accuracies_of_so_many_items(text: str, items: int, runs: int, possible: bool) -> None:
    """196 / 355 = 55.211 %, 197 / 355 = 55.493 %; 684 / 1385 = 49.386 %."""
    assert of_items(printed(text), items, runs) == possible


def test_a_mean_of_five_whole_numbers() -> None:
    assert [text for text in ("12.2", "12.3", "12.4", "13.0") if of_runs(printed(text), 5)] == [
        "12.2", "12.4", "13.0",
    ]  # fmt: skip


@pytest.mark.parametrize(("divisor", "sd", "possible"), [(5, 2.46, True), (4, 2.46, False)])
def test_a_deviation_tells_its_divisor(divisor: int, sd: float, possible: bool) -> None:
    """Correct 36, 40, 40, 40, 41 of 71: mean 55.493, deviation 2.456 over 5, 2.746 over 4."""
    cell = printed("55.49", sd=sd)
    assert deviation_of_items(cell, 71, 5, divisor, 0.01) == possible
    sample = printed("55.49", sd=2.75)
    assert deviation_of_items(sample, 71, 5, 4, 0.01)


def test_runs_that_all_score_the_same_have_no_deviation() -> None:
    assert deviation_of_items(printed("50.00", sd=0.0), 10, 5, 5, 0.01)


def test_the_number_of_items_follows_from_enough_accuracies() -> None:
    cells = [printed(f"{100 * k / 17:.2f}") for k in (3, 8, 16)]
    assert item_counts(cells, range(5, 30)) == [17]


@pytest.mark.parametrize("share", [0.25, 0.5, 0.6838])
def test_the_constant_answer_is_solved_back(share: float) -> None:
    score = (share + 2 * share / (1 + share)) / 2
    assert share_of_constant(score) == pytest.approx(share)


def series(paper: str, table: str, *texts: str, model: str = "a model") -> Numbers:
    tasks = ("cola", "rte", "qnli", "wnli")
    cells = [printed(text, model, task) for task, text in zip(tasks, texts, strict=False)]
    return frame(paper, table, cells)


FIRST = series("houlsby", "H19-T1", "60.1", "70.2", "80.3", "55.0")


def test_a_copied_column_is_found_under_another_name() -> None:
    copied = series("peters", "PRS19-T-reprint", "60.1", "70.2", "80.31", "56.0")
    (found,) = copies(pandas.concat([FIRST, copied]))
    assert (found.id, found.paper) == ("copy-prs19-t-reprint-h19-t1", "peters")
    assert "3 of 4 places" in found.says


@pytest.mark.parametrize("texts", [("60.1", "70.2", "81.0", "56.0"), ("1.0", "2.0", "3.0")])
def test_chance_is_no_copy(texts: tuple[str, ...]) -> None:
    assert not [*copies(pandas.concat([FIRST, series("peters", "PRS19-T-reprint", *texts)]))]
    assert not [*copies(pandas.concat([FIRST, FIRST.assign(row="another model")]))]  # of one table
