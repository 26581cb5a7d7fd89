"""Local text sets: the published sizes, the cut, and what is refused."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from text_samples import (
    text_folder,
    text_row,
    text_rows,
    text_task,
    write_texts,
)

from repro.errors import MissingData
from repro.papers.published import load_published
from repro.spec.tasks import TextName
from repro.spec.texts import HOULSBY, TEXTS
from repro.tasks import catalogue
from repro.tasks.catalogue import data_revision
from repro.tasks.sentences.rows import Row, task_rows

SPLITS = ("train", "validation", "test")
WHOLE: list[TextName] = [
    "20-newsgroups", "airline", "corporate-messaging", "disasters", "emotion", "global-warming",
    "political-bias", "primary-emotions", "progressive-opinion", "progressive-stance", "sms-spam",
    "sick-e", "sick-r",
]  # fmt: skip
"""Sets of which every published row is public in one place."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def read(name: TextName, **changes: Any) -> dict[str, list[Row]]:
    return task_rows(text_task(name, revision=data_revision("reduced", name), **changes))


def refusal(name: TextName) -> str:
    with pytest.raises(MissingData) as caught:
        read(name)
    return str(caught.value)


# -- what is published ------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOULSBY)
def test_sizes_and_classes_are_those_of_table_3(name: TextName) -> None:
    facts = TEXTS[name]
    cells = load_published("houlsby", "H19-T3")
    printed = {cell.column: cell.value for cell in cells.values() if cell.row == facts.title}
    assert [printed[f"{split.capitalize()} examples"] for split in SPLITS] == [
        facts.rows[split] for split in SPLITS
    ]
    assert printed["Classes"] == len(facts.labels) == len(set(facts.labels))


def test_the_sets_are_those_of_table_2_in_its_order() -> None:
    rows = [row for row, _, _ in load_published("houlsby", "H19-T2")]
    assert list(dict.fromkeys(rows))[:17] == [TEXTS[name].title for name in HOULSBY]


@pytest.mark.parametrize("name", WHOLE)
def test_a_real_set_has_the_published_rows_and_the_published_split(
    name: TextName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(text_folder(name)))
    assert catalogue.unavailable("reduced", name) is None
    assert data_revision("paper", name) is None
    found = task_rows(text_task(name))
    assert {split: len(rows) for split, rows in found.items()} == TEXTS[name].rows
    if TEXTS[name].labels:
        labels = {row.label for rows in found.values() for row in rows}
        assert labels == set(range(len(TEXTS[name].labels)))


def test_the_real_entailments_have_the_published_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRO_DATA", str(text_folder("sick-e")))
    tested = Counter(row.label for row in read("sick-e")["test"])
    # Marelli et al. 2014 (SemEval task 1): test pairs by entailment, neutral, contradiction
    assert [tested[label] for label in range(3)] == [1_414, 2_793, 720]


# -- the cut ----------------------------------------------------------------------------------


def test_a_set_is_cut_80_10_10_without_losing_or_repeating_a_row(folder: Path) -> None:
    write_texts(folder, "airline", "train", text_rows("airline", 95))
    found = read("airline")
    assert {split: len(rows) for split, rows in found.items()} == {
        "train": 75, "validation": 10, "test": 10,
    }  # fmt: skip
    ids = [row.idx for rows in found.values() for row in rows]
    assert sorted(ids) == list(range(95))
    assert all([r.idx for r in rows] == sorted(r.idx for r in rows) for rows in found.values())


def test_another_seed_cuts_otherwise_and_the_same_seed_alike(folder: Path) -> None:
    write_texts(folder, "airline", "train", text_rows("airline", 90))
    tested = [[row.idx for row in read("airline", split_seed=seed)["test"]] for seed in (0, 0, 1)]
    assert tested[0] == tested[1] != tested[2]


def test_a_rows_part_follows_from_the_seed_and_its_number(folder: Path) -> None:
    """SHA-256 of purpose, seed and number ranks the rows; the first two tenths are held out."""
    write_texts(folder, "airline", "train", text_rows("airline", 90))
    order = sorted(range(90), key=lambda n: hashlib.sha256(f"split\n7\n{n}".encode()).digest())
    found = read("airline", split_seed=7)
    ids = {split: {row.idx for row in rows} for split, rows in found.items()}
    assert ids["validation"] == set(order[:9])
    assert ids["test"] == set(order[9:18])


def test_the_published_number_of_rows_is_cut_to_the_published_sizes(folder: Path) -> None:
    """A tenth of 1,159 is 116 to both sides; 4,225 rows are cut to 422 and 423."""
    write_texts(folder, "global-warming", "train", text_rows("global-warming", 4_225))
    found = read("global-warming")
    assert [len(found[split]) for split in SPLITS] == [3_380, 422, 423]
    write_texts(folder, "global-warming", "train", text_rows("global-warming", 4_226))
    assert [len(read("global-warming")[split]) for split in SPLITS] == [3_380, 423, 423]


def test_files_of_a_set_without_splits_are_joined_first(folder: Path) -> None:
    write_texts(folder, "sms-spam", "train", text_rows("sms-spam", 40))
    write_texts(folder, "sms-spam", "test", text_rows("sms-spam", 20))
    found = read("sms-spam")
    assert {split: len(rows) for split, rows in found.items()} == {
        "train": 48, "validation": 6, "test": 6,
    }  # fmt: skip


def test_sick_keeps_its_own_splits(folder: Path) -> None:
    for split, count in (("train", 12), ("validation", 4), ("test", 9)):
        write_texts(folder, "sick-r", split, text_rows("sick-r", count))
    found = read("sick-r")
    assert [len(found[split]) for split in SPLITS] == [12, 4, 9]
    assert found["test"][3].texts == ("Text 3 of the sentence_A.", "Text 3 of the sentence_B.")
    assert found["test"][3].label == 4.0


def test_a_cap_keeps_a_part_of_what_a_larger_cap_keeps(folder: Path) -> None:
    write_texts(folder, "airline", "train", text_rows("airline", 90))
    small, large = (read("airline", train_rows=n, evaluation_rows=3) for n in (10, 20))
    assert {row.idx for row in small["train"]} < {row.idx for row in large["train"]}
    assert [len(small[split]) for split in SPLITS] == [10, 3, 3]


# -- what is refused --------------------------------------------------------------------------


def test_a_bad_row_is_refused_with_file_line_and_what_was_expected(folder: Path) -> None:
    rows = text_rows("airline", 30)
    path = write_texts(folder, "airline", "train", [*rows[:4], rows[4] | {"label": 3}, *rows[5:]])
    found = refusal("airline")
    assert f"{path}, line 5: the label 3 is unknown" in found
    assert "Expected rows of Crowdflower airline with text and label (one of 0 (negative)" in found


def test_another_sets_columns_are_named(folder: Path) -> None:
    path = write_texts(folder, "airline", "train", text_rows("sms-spam", 30))
    assert f"{path}, line 1: 'text' is missing or null (the row has sms, label)" in refusal(
        "airline"
    )


def test_a_relatedness_beyond_its_scale_is_refused(folder: Path) -> None:
    for split in SPLITS:
        write_texts(folder, "sick-r", split, text_rows("sick-r", 6))
    write_texts(folder, "sick-r", "test", [text_row("sick-r", 0, relatedness_score=0.5)])
    found = refusal("sick-r")
    assert "test.jsonl.gz, line 1: the label 0.5 is unknown" in found
    assert "relatedness_score (a number from 1 to 5)" in found


def test_an_id_that_stands_twice_is_refused(folder: Path) -> None:
    rows = [row | {"id": number} for number, row in enumerate(text_rows("airline", 30))]
    rows[20]["id"] = 3
    path = write_texts(folder, "airline", "train", rows)
    assert f"{path}, line 21: the id 3 stands twice" in refusal("airline")


@pytest.mark.parametrize("name", ["airline", "sick-e"])
def test_an_idx_is_another_field_and_may_begin_anew_in_every_split(
    folder: Path, name: TextName
) -> None:
    """As the hub's files have it; docs/data.md: other fields than id are ignored."""
    for split in SPLITS:
        found = [row | {"idx": n} for n, row in enumerate(text_rows(name, 20))]
        write_texts(folder, name, split, found)
    assert sum(len(rows) for rows in read(name).values()) == 60


def test_an_id_of_another_split_is_refused(folder: Path) -> None:
    for split in SPLITS:
        rows = [row | {"id": f"{split[:2]}{n}"} for n, row in enumerate(text_rows("sick-e", 6))]
        write_texts(folder, "sick-e", split, rows)
    assert len(read("sick-e")["test"]) == 6
    rows[4]["id"] = "va3"
    path = write_texts(folder, "sick-e", "test", rows)
    found = refusal("sick-e")
    assert f"{path}, line 5: the id va3 stands twice (first: " in found
    assert "validation.jsonl.gz, line 4)" in found


@pytest.mark.parametrize("rows", [1, 5])
def test_a_split_of_sick_that_tells_nothing_is_refused_by_its_file(folder: Path, rows: int) -> None:
    for split in SPLITS:
        write_texts(folder, "sick-e", split, text_rows("sick-e", 6))
    same = [text_row("sick-e", n, label=2) for n in range(rows)]
    path = write_texts(folder, "sick-e", "validation", same)
    said = "every row has the label 2 (contradiction)" if rows > 1 else "it has one row only"
    assert f"{path}: {said}" in refusal("sick-e")


def test_a_damaged_file_and_a_folder_that_is_none_name_no_hub(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_texts(folder, "airline", "train", text_rows("airline", 30))
    path.write_bytes(path.read_bytes()[:-9])
    assert refusal("airline").endswith("Copy the file again.")
    monkeypatch.setenv("REPRO_DATA", str(folder / "mistyped"))
    with pytest.raises(
        MissingData, match=r"Set it to the folder that holds crowdflower_airline\.$"
    ):
        catalogue.unavailable("reduced", "airline")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["negative", "neutral", "positive", "neutral"], "the label 0 is 'neutral', and was"),
        (["negative", "neutral", "neutral", "negative"], "'neutral' is the label 2, and was 1"),
    ],
)
def test_a_label_text_that_contradicts_is_refused(
    folder: Path, texts: list[str], said: str
) -> None:
    rows = text_rows("airline", 30)
    named = [row | {"label_text": text} for row, text in zip(rows, texts, strict=False)]
    write_texts(folder, "airline", "train", [*named, *rows[4:]])
    assert said in refusal("airline")


def test_a_split_of_one_class_is_refused(folder: Path) -> None:
    rare = [text_row("airline", n, label=int(n == 0)) for n in range(40)]
    path = write_texts(folder, "airline", "train", rare)
    found = refusal("airline")
    assert re.search(
        rf"{path}: every (validation|test|train) row has the label 0 \(negative\)\. Expected", found
    )


def test_fewer_rows_than_a_split_needs_are_refused(folder: Path) -> None:
    path = write_texts(folder, "airline", "train", text_rows("airline", 14))
    found = refusal("airline")
    assert f"{path}: 14 rows are too few to cut (at least 15)" in found


@pytest.mark.parametrize("root", [None, ""])
def test_a_set_that_is_not_here_is_a_gap(
    root: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path) if root is None else root)
    said = catalogue.unavailable("reduced", "political-audience")
    assert said is not None
    assert said.startswith("crowdflower_political_audience is not in $REPRO_DATA; ")
    assert "`python -m repro prepare political-audience`" in said


def test_sick_without_its_test_rows_is_a_gap(folder: Path) -> None:
    for split in ("train", "validation"):
        write_texts(folder, "sick-e", split, text_rows("sick-e", 6))
    assert (catalogue.unavailable("reduced", "sick-e") or "").startswith(
        "sick/test is not in $REPRO_DATA"
    )
