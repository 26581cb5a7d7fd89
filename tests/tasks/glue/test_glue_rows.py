"""Bad files are refused with file, line and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from glue_samples import row, rows, task, write_split

from repro.errors import MissingData
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName
from repro.tasks.catalogue import data_revision
from repro.tasks.checks import Checker
from repro.tasks.sentences.rows import task_rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with small good sets of a single-text, a pair and a similarity task."""
    for name in ("sst2", "qqp", "stsb"):
        for split in ("train", "validation"):
            write_split(tmp_path, name, split, rows(name, 6))
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def refusal(name: GlueName) -> str:
    """What is said of the files as they are."""
    with pytest.raises(MissingData) as caught:
        task_rows(task(name, revision=data_revision("reduced", name)))
    return str(caught.value)


def said_of(folder: Path, name: GlueName, bad: dict[str, Any], split: str = "train") -> str:
    """What is said of a good file whose third row is `bad`."""
    write_split(folder, name, split, [*rows(name, 2), bad, *rows(name, 6)[3:]])
    return refusal(name)


def test_good_rows_keep_their_order_and_become_texts_and_labels(folder: Path) -> None:
    found = task_rows(task("qqp", revision=data_revision("reduced", "qqp")))
    assert list(found) == ["train", "validation"]
    assert [one.idx for one in found["train"]] == [0, 1, 2, 3, 4, 5]
    assert found["train"][3].texts == ("Text 3 of the question1.", "Text 3 of the question2.")
    assert found["train"][3].label == 1


def test_a_similarity_may_be_written_as_a_whole_number(folder: Path) -> None:
    write_split(folder, "stsb", "train", [row("stsb", 0, label=5), row("stsb", 1, label=2.5)])
    found = task_rows(task("stsb", revision=data_revision("reduced", "stsb")))["train"]
    assert [(one.label, type(one.label)) for one in found] == [(5.0, float), (2.5, float)]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (
            "sst2",
            {"sentence": None},
            "'sentence' is missing or null (the row has sentence, label, idx)",
        ),
        ("sst2", {"label": None}, "'label' is missing or null"),
        ("sst2", {"idx": True}, "'idx' is True, not a number of a row"),
        ("sst2", {"idx": -1}, "'idx' is -1"),
        ("qqp", {"question2": " \t"}, "'question2' is empty"),
        ("sst2", {"label": -1}, "the label -1 is unknown (withheld, as only a test set's may be)"),
        ("stsb", {"label": 5.01}, "the label 5.01 is unknown"),
        ("stsb", {"label": -0.5}, "the label -0.5 is unknown"),
        ("stsb", {"label": -1.0}, "the label -1.0 is unknown (withheld"),
        ("stsb", {"label": 10**400}, "is unknown"),
        ("stsb", {"label": "5"}, "the label '5' is of type str"),
    ],
)
def test_a_bad_row_is_named_with_what_was_expected(
    folder: Path, name: GlueName, change: dict[str, Any], said: str
) -> None:
    found = said_of(folder, name, row(name, 2) | change)
    assert found.startswith(f"{folder / f'glue_{name}' / 'train.jsonl.gz'}, line 3: ")
    assert said in found
    glue = GLUE[name]
    assert f"Expected rows of {glue.title} with {', '.join(glue.texts)}, idx and label (" in found
    expected = "one of 0 (" if glue.labels else "a number from 0 to 5"
    assert expected in found
    assert found.endswith("replace the file by the published one.")


def test_columns_of_another_task_are_named(folder: Path) -> None:
    found = said_of(folder, "qqp", row("mrpc", 2), split="validation")
    assert "validation.jsonl.gz, line 3: 'question1' and 'question2' are missing or null" in found
    assert "(the row has sentence1, sentence2, label, idx)" in found


@pytest.mark.parametrize("split", ["train", "validation"])
@pytest.mark.parametrize(
    ("name", "label", "said"),
    [("sst2", 1, "1 (positive)"), ("stsb", 2.0, "2.0")],
)
def test_rows_of_one_label_only_are_refused(
    folder: Path, split: str, name: GlueName, label: float, said: str
) -> None:
    write_split(folder, name, split, [row(name, idx, label=label) for idx in range(3)])
    found = refusal(name)
    assert f"{split}.jsonl.gz: every row has the label {said}. Expected rows of" in found


def test_the_label_of_a_test_set_may_be_withheld_or_told() -> None:
    given = [(row("sst2", 0, label=-1), "line 1"), (row("sst2", 1, label=1), "line 2")]
    assert [one["label"] for one in Checker(GLUE["sst2"]).rows("test", given)] == [-1, 1]


def test_the_two_published_questions_that_are_empty_are_kept() -> None:
    """Rows 310,121 and 362,225 of QQP's training set (huggingface/datasets, issue 277)."""
    empty = row("qqp", 310_137, label=0, question2="")
    given = [(row("qqp", 1), "line 1"), (empty, "line 2")]
    assert Checker(GLUE["qqp"]).rows("train", given)[1]["question2"] == ""
    with pytest.raises(MissingData, match="line 2: 'question2' is empty"):
        Checker(GLUE["qqp"]).rows("validation", given)
