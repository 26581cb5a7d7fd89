"""Local files of few-shot sets, and of GLUE as text to text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from glue_samples import rows as glue_rows
from glue_samples import write_split
from written_samples import hub_row, made, real, write_set

from repro.errors import MissingData, ReproError
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import FEW_SHOT, TEXT_TO_TEXT
from repro.tasks import catalogue
from repro.tasks.text_to_text.rows import task_rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def write_all(folder: Path, name: WrittenName, count: int = 12) -> None:
    for split in ("train", *TEXT_TO_TEXT[name].scored):
        write_set(folder, name, split, [hub_row(name, number) for number in range(count)])


@pytest.mark.parametrize("name", FEW_SHOT)
def test_a_local_set_is_read_with_its_lines_as_ids(folder: Path, name: WrittenName) -> None:
    write_all(folder, name)
    revision = catalogue.data_revision("reduced", name)
    assert revision is not None
    assert revision.startswith("sha256:")
    found = task_rows(real(name, revision), name)
    assert list(found) == ["train", *TEXT_TO_TEXT[name].scored]
    facts = TEXT_TO_TEXT[name].facts
    row = found["train"][4]
    assert (row.idx, row.label) == (4, 4 % len(facts.labels))
    assert row.texts == tuple(f"Text 4 of the {field}." for field in facts.texts)


def test_scitails_labels_are_names_or_numbers(folder: Path) -> None:
    write_all(folder, "scitail")
    rows = [hub_row("scitail", 0), hub_row("scitail", 1, label=1)]
    write_set(folder, "scitail", "test", rows)
    revision = catalogue.data_revision("reduced", "scitail")
    found = task_rows(real("scitail", revision), "scitail")
    assert [row.label for row in found["test"]] == [0, 1]


@pytest.mark.parametrize(
    ("name", "split", "changes", "told"),
    [
        ("scitail", "test", {"label": "contradiction"}, "the label 'contradiction' is unknown"),
        ("scitail", "test", {"label": -1}, "withheld, as only a test set's may be"),
        ("imdb", "test", {"label": -1}, "withheld, as only a test set's may be"),
        ("cb", "validation", {"label": 3}, "the label 3 is unknown"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(
    folder: Path, name: WrittenName, split: str, changes: dict[str, Any], told: str
) -> None:
    write_all(folder, name)
    rows = [hub_row(name, number) for number in range(12)]
    path = write_set(folder, name, split, [*rows[:2], rows[2] | changes, *rows[3:]])
    with pytest.raises(MissingData, match=told) as error:
        task_rows(real(name, catalogue.data_revision("reduced", name)), name)
    assert str(error.value).startswith(f"{path}, line 3:")
    expected = str(error.value).partition("Expected rows of ")[2]
    assert "label" in expected
    assert "idx" not in expected, "a row is known by its place"


def test_withheld_test_labels_of_cb_are_never_read(folder: Path) -> None:
    write_all(folder, "cb")
    write_set(folder, "cb", "test", [hub_row("cb", number, label=-1) for number in range(5)])
    revision = catalogue.data_revision("reduced", "cb")
    assert "test" not in task_rows(real("cb", revision), "cb")


def test_other_rows_than_the_published_ones_are_refused_at_paper_scale(folder: Path) -> None:
    write_all(folder, "cb")
    with pytest.raises(MissingData, match="it has 12 rows; the published set has 250"):
        catalogue.data_revision("paper", "cb")
    with pytest.raises(MissingData, match="not the published train set of CB"):
        task_rows(real("cb"), "cb")


def test_a_set_with_a_split_missing_is_a_gap_and_an_error(folder: Path) -> None:
    write_set(folder, "scitail", "train", [hub_row("scitail", number) for number in range(4)])
    assert catalogue.unavailable("reduced", "scitail") == (
        "scitail/validation and scitail/test are not in $REPRO_DATA"
    )
    with pytest.raises(MissingData, match=r"but not validation\.jsonl\.gz or test\.jsonl\.gz"):
        task_rows(real("scitail"), "scitail")


@pytest.mark.parametrize("name", FEW_SHOT)
def test_a_few_shot_set_is_named_and_has_generated_rows(name: WrittenName) -> None:
    assert catalogue.TITLES[name] == TEXT_TO_TEXT[name].facts.title
    assert catalogue.unavailable("smoke", name) is None
    assert catalogue.unavailable("paper", name) is None
    assert catalogue.pool("reduced", name) == "train"
    revision = catalogue.data_revision("smoke", name)
    assert revision == "seed=0,train=400,validation=120"
    assert len(task_rows(made(name, revision=revision), name)["train"]) == 400


def test_glue_is_read_as_its_own_runs_read_it(folder: Path) -> None:
    for split, count in (("train", 10), ("validation", 6)):
        write_split(folder, "rte", split, glue_rows("rte", count))
    revision = catalogue.data_revision("reduced", "rte")
    found = task_rows(real("rte", revision), "rte")
    assert {split: len(rows) for split, rows in found.items()} == {"train": 10, "validation": 6}
    with pytest.raises(MissingData, match="not the published train set of RTE"):
        task_rows(real("rte"), "rte")


def test_mnli_without_mismatched_rows_is_told(folder: Path) -> None:
    for split in ("train", "validation_matched"):
        write_split(folder, "mnli", split, glue_rows("mnli", 9))
    gap = "glue_mnli/validation_mismatched is not in $REPRO_DATA"
    assert catalogue.unavailable("reduced", "mnli") == gap
    with pytest.raises(MissingData, match=r"but not validation_mismatched\.jsonl\.gz"):
        task_rows(real("mnli"), "mnli")


def test_a_generated_task_without_a_revision_is_told() -> None:
    task = made("cb").model_copy(update={"revisions": {}})
    with pytest.raises(ReproError, match="Generated rows of CB need a revision"):
        task_rows(task, "cb")
