"""GLUE tables and tables of words as Markdown, CSV and JSON: captions, notes, marks, choices."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from fake_glue import request, store_run, store_table, task_of

from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.captions import caption
from repro.report.counted import count_missing, read_count, to_count
from repro.report.notes import follows, notes
from repro.report.render import as_json, csv_text, json_text, markdown
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, run_key
from repro.store import Store

TABLE, HOULSBY, COUNTS = (TABLES[id] for id in ("3-shared-2", "Houlsby-1", "3-shared-1"))


def view(store: Store, asked: Request) -> TableView:
    return view_table(TABLES[asked.id], asked, store)


def lines_of(text: str) -> list[list[str]]:
    """The cells of every line of a Markdown table."""
    table = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def csv_lines(table: TableView) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(table))))


def json_of(table: TableView) -> Any:
    return json.loads(json_text(as_json(table)))


def test_printed_total_and_recomputed_mean_stand_side_by_side_in_every_format(
    store: Store,
) -> None:
    table = view(store, request())
    lines = lines_of(markdown(table, "side-by-side"))
    published = next(line for line in lines if line[0] == "Ours (not shared)")
    assert published[11:13] == ["79.2", "79.54"]  # of 715.9 / 9
    cells = json_of(table)["rows"][2]["cells"][-2:]
    assert [cell["published"]["value"] for cell in cells] == [79.2, pytest.approx(715.9 / 9)]
    rows = [line for line in csv_lines(table) if line["row"] == "Ours (not shared)"][-2:]
    assert [float(line["published"]) for line in rows] == [79.2, pytest.approx(715.9 / 9)]
    assert rows[1]["source"] == "recomputed from the printed scores of the row"


def test_only_the_total_that_does_not_follow_is_remarked(store: Store) -> None:
    found = [note for note in notes(view(store, request())) if "is printed as" in note]
    assert found == [
        "Ours (not shared): 79.2 is printed as Total, and the mean of the row's printed scores is "
        "79.54."
    ]


@pytest.mark.parametrize(
    ("printed", "mean", "expected"),
    [
        (79.7, 79.744, True),  # rounded
        (79.3, 79.389, True),  # cut
        (79.4, 79.389, True),
        (79.2, 79.544, False),
        (79.4, 79.544, False),
        (80.4, 80.4, True),
    ],
)
def test_a_printed_mean_may_be_rounded_or_cut(printed: float, mean: float, expected: bool) -> None:
    assert follows(printed, mean) == expected


def test_a_row_without_all_its_columns_says_how_many_it_has(store: Store) -> None:
    asked = request()
    for spec in TABLE.matrix(asked).runs.values():
        if task_of(spec).name not in ("qqp", "mnli"):
            store_run(store, spec)
    table = view(store, asked)
    lines = lines_of(markdown(table))[2:]
    assert [line[10:12] for line in lines] == [["— (6/9)", "— (6/9)"]] * 4
    assert {line["mean"] for line in csv_lines(table) if line["column"] == "Total"} == {""}
    cell = json_of(table)["rows"][0]["cells"][-1]
    assert (cell["reproduced"], cell["reason"]) == (None, "6/9 columns")
    assert "Full fine-tuning (QQP, MNLI(m), MNLI(mm)): gap, not run." in notes(table)


def test_the_caption_counts_one_epoch_as_one(store: Store) -> None:
    said = caption(view(store, request(epochs=1)))
    assert "1 epoch, batch 16" in said
    assert "1 epochs" not in said


def test_the_caption_of_a_glue_table(store: Store) -> None:
    said = caption(view(store, request(seeds=2)))
    for part in (
        "Scale: smoke (not comparable with the published numbers).",
        "Encoder: MiniLM-L6, 6 layers.",
        "Training: each task's generated training rows; Full fine-tuning: 3 epochs, batch 16, "
        "rate 5e-05, fp32; Houlsby (shared in layer), Ours (not shared), Ours (3-shared): 5 "
        "epochs, batch 16, rate 0.001, fp32.",
        "Scored: validation rows, CoLA by Matthews correlation, MRPC by F1, STS-B by Spearman's "
        "correlation, QQP by F1, the others by accuracy.",
        "Reading: as published.",
        "Seeds: 2.",
        "Trained parameters: of the model of CoLA.",
        "Cells reproduced: 0/44.",
    ):
        assert part in said


def test_the_caption_says_what_was_asked_for(store: Store) -> None:
    asked = request(
        scale="reduced", train_rows=300, evaluation_rows=200, epochs=2, learning_rate=0.5,
        tasks=("sst2", "rte"), as_released=True,
    )  # fmt: skip
    said = caption(view(store, asked))
    for part in (
        "at most 300 of each task's published training rows; ",
        "training rows; 2 epochs, batch 32, rate 0.5, fp32.",  # all rows alike
        "Tasks: SST-2, RTE only. Scored: at most 200 validation rows, by accuracy.",
        "Reading: as released.",
    ):
        assert part in said


def test_the_caption_of_a_sweep_names_all_that_it_is_over(store: Store) -> None:
    said = caption(view(store, request("Houlsby-1", "paper", seeds=5)))
    assert (
        "Adapters (8-256): best of 90 on validation, size 8, 64 or 256, 3 or 20 epochs, batch 32, "
        "rate 3e-05, 0.0003 or 0.003, bf16"
    ) in said
    assert "Adapters (64): best of 30 on validation, 3 or 20 epochs, batch 32" in said


def test_collapsed_cells_are_marked_and_counted(store: Store) -> None:
    asked = request(seeds=2)
    for spec in TABLE.matrix(asked).runs.values():
        row = spec.method.kind == "full-fine-tuning" and spec.seed == 1
        store_run(store, spec, collapsed=row and task_of(spec).name in ("cola", "rte"))
    table = view(store, asked)
    assert notes(table)[0] == (
        "† collapsed, predicts one class: Full fine-tuning on CoLA: 1 of 2 runs; Full fine-tuning "
        "on RTE: 1 of 2 runs."
    )
    lines = lines_of(markdown(table))[2:]
    assert [n for n, cell in enumerate(lines[0]) if cell.endswith("†")] == [1, 9]
    assert not any("†" in cell for line in lines[1:] for cell in line)
    first = json_of(table)["rows"][0]
    assert first["collapsed"] == 2
    assert [cell.get("collapsed") for cell in first["cells"]] == [1, 0, 0, 0, 0, 0, 0, 0, 1] + [
        None
    ] * 2
    collapsed = [line["collapsed"] for line in csv_lines(table)][:9]
    assert collapsed == ["1", "0", "0", "0", "0", "0", "0", "0", "1"]


def test_a_reason_that_holds_for_a_column_is_said_once(store: Store) -> None:
    asked = request(scale="reduced", unavailable={"qqp": "glue_qqp/train is not here"})
    store_table(store, asked)
    found = [note for note in notes(view(store, asked)) if "gap" in note]
    assert found == ["QQP: gap, glue_qqp/train is not here."]


def test_what_was_chosen_is_in_every_format(store: Store) -> None:
    asked = request("Houlsby-1", "reduced")
    store_table(store, asked, lambda *where: 70.0)  # ties: the first of the sweep
    table = view(store, asked)
    said = next(note for note in notes(table) if note.startswith("Adapters (8-256), chosen"))
    assert said.startswith(
        "Adapters (8-256), chosen on validation: CoLA size 8, rate 0.0003; SST size 8, rate 0.0003;"
    )
    chosen = {"method.size": 8, "recipe.learning_rate": 3e-4}
    cells = {cell["column"]: cell for cell in json_of(table)["rows"][1]["cells"]}
    assert cells["RTE"]["chosen"] == chosen
    assert cells["Total"]["chosen"] is None
    line = next(
        line
        for line in csv_lines(table)
        if (line["row"], line["column"]) == ("Adapters (8-256)", "RTE")
    )
    assert json.loads(line["chosen"]) == chosen
    assert line["n"] == "1"


def test_words_and_counts_of_a_table_that_trains_nothing(store: Store) -> None:
    asked = request("3-shared-1")
    count_missing(COUNTS, asked, store)
    table = view(store, asked)
    head, _, published, reproduced, difference, *_ = lines_of(markdown(table))
    assert head[-1] == "Parameters without last classifier"
    assert published == [
        "Houlsby", "published", "Shared in each layer", "-", "1", "1,189,632",
    ]  # fmt: skip
    assert reproduced == ["", "reproduced", *published[2:]]
    assert difference == ["", "difference", "—", "—", "+0", "+0"]
    said = caption(table)
    assert "Scale: smoke (the same at every scale). Of modules of BERT-base's shape" in said
    first = json_of(table)["rows"][0]["cells"]
    assert first[0]["text"] == {
        "published": "Shared in each layer",
        "reproduced": "Shared in each layer",
    }
    assert first[0]["reproduced"] is None
    assert (first[3]["reproduced"]["mean"], first[3]["verdict"]) == (1_189_632, "MATCH")
    lines = csv_lines(table)
    assert (lines[0]["published_words"], lines[0]["words"]) == ("Shared in each layer",) * 2
    assert (lines[3]["published"], lines[3]["mean"]) == ("1189632.0",) * 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"adapters": "many"}'])
def test_a_damaged_count_is_counted_again(store: Store, damage: bytes) -> None:
    asked = request("3-shared-1")
    first = to_count(COUNTS, asked)[0]
    count_missing(COUNTS, asked, store)
    before = read_count(store, *first)
    for path in (store.root / "counts").iterdir():
        path.write_bytes(damage)
    assert read_count(store, *first) is None
    count_missing(COUNTS, asked, store)
    assert read_count(store, *first) == before
    assert before is not None
    assert before["adapters"] == 1_189_632


def test_a_count_belongs_to_a_model_not_to_a_seed_or_a_rate(store: Store) -> None:
    def counted(spec: RunSpec) -> bool:
        return read_count(store, "modules", spec) is not None

    asked = request("3-shared-1")
    count_missing(COUNTS, asked, store)
    _, spec = to_count(COUNTS, asked)[0]
    other = spec.model_copy(update={"seed": 7})
    assert run_key(other) != run_key(spec)
    assert counted(other)
    wider = spec.model_copy(update={"method": spec.method.model_copy(update={"size": 65})})
    assert not counted(wider)
