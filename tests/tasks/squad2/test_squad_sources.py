"""Where rows come from: the local folder, its identity, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest
from squad_examples import data_folder, row, task, write_split

from repro.errors import MissingData, ReproError
from repro.spec import SquadTask
from repro.tasks.rows import data_revision as revision_of
from repro.tasks.squad2.questions import evaluation_questions, training_questions

BOTH = ("train", "validation")
DEV = [row("d1", "Normans", answer="Ann"), row("d2", "Rhine"), row("d3", "Rhine", answer="Bo")]
TRAIN = [row("t1", "Chopin", answer="Ann"), row("t2", "Chopin")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a small train and validation set."""
    write_split(tmp_path, "train", TRAIN)
    write_split(tmp_path, "validation", DEV)
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def paper_revision(splits: tuple[str, ...]) -> str | None:
    return revision_of("squad2", splits, whole=True)


def _ids(questions: list[Any]) -> list[str]:
    return [question.id for question in questions]


def _local(splits: tuple[str, ...], **changes: Any) -> SquadTask:
    return task(revision=revision_of("squad2", splits), **changes)


def test_without_a_local_file_the_hub_id_alone_identifies_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    assert revision_of("squad2", BOTH) is None
    monkeypatch.delenv("REPRO_DATA")
    assert paper_revision(BOTH) is None


def test_a_local_file_is_named_by_its_decompressed_content(folder: Path) -> None:
    named = revision_of("squad2", ("validation",))
    content = gzip.decompress((folder / "squad_v2" / "validation.jsonl.gz").read_bytes())
    line = f"validation {hashlib.sha256(content).hexdigest()}\n"
    assert named == f"sha256:{hashlib.sha256(line.encode()).hexdigest()}"
    (folder / "squad_v2" / "validation.jsonl.gz").unlink()
    write_split(folder, "validation", DEV, gz=False)
    assert revision_of("squad2", ("validation",)) == named


def test_only_the_splits_that_a_run_needs_name_its_data(folder: Path) -> None:
    dev, both = revision_of("squad2", ("validation",)), revision_of("squad2", BOTH)
    write_split(folder, "train", TRAIN[:1])
    assert revision_of("squad2", ("validation",)) == dev
    assert revision_of("squad2", BOTH) != both


@pytest.mark.parametrize(
    ("train", "needed"),
    [("train", BOTH), ("dev-minus-cs224n", ("validation",))],
)
def test_a_task_needs_its_training_rows_and_the_dev_set(train: str, needed: tuple[str]) -> None:
    assert task(train=train).splits("squad2") == needed


def test_paper_scale_identifies_the_published_set_by_its_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(f"d{number}", answer="Bo" if number < 5_928 else "") for number in range(11_873)]
    write_split(tmp_path, "validation", rows)
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    assert paper_revision(("validation",)) is None
    write_split(tmp_path, "validation", rows[1:])
    with pytest.raises(MissingData, match="11,872 questions"):
        paper_revision(("validation",))


def test_rows_are_read_in_file_order(folder: Path) -> None:
    assert _ids(training_questions(_local(BOTH))) == ["t1", "t2"]
    assert _ids(evaluation_questions(_local(BOTH, evaluation="official-dev"))) == ["d1", "d2", "d3"]


def test_the_reduced_task_trains_and_scores_on_disjoint_articles(folder: Path) -> None:
    reduced = _local(("validation",), train="dev-minus-cs224n", evaluation="cs224n")
    assert _ids(training_questions(reduced)) == ["d2", "d3"]
    assert _ids(evaluation_questions(reduced)) == ["d1"]


def test_a_task_is_not_half_generated() -> None:
    with pytest.raises(ReproError, match="generated as a whole or not at all"):
        training_questions(task(source="generated", revision="x"))


def test_no_question_left_is_an_error(folder: Path) -> None:
    write_split(folder, "validation", DEV[1:])
    with pytest.raises(ReproError, match="leaves no question to score"):
        evaluation_questions(_local(BOTH))


def test_the_real_dev_set_has_its_published_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRO_DATA", str(data_folder()))
    assert paper_revision(("validation",)) is None
    reduced = _local(("validation",), train="dev-minus-cs224n", evaluation="cs224n")
    train, scored = training_questions(reduced), evaluation_questions(reduced)
    assert (len(train), len(scored)) == (5_795, 6_078)
    assert sum(not question.answerable for question in scored) == 3_168
    assert not {question.title for question in train} & {question.title for question in scored}
