"""Where rows come from: the local folder, its identity, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from squad_examples import data_folder, row, task, write_split

from repro.errors import MissingData, ReproError
from repro.spec import SquadTask
from repro.tasks.rows import data_revision as revision_of
from repro.tasks.squad2.sources import evaluation_questions, training_questions

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


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fails at once where the hub is asked."""
    import huggingface_hub

    def refuse(*_: object, **__: object) -> str:
        raise ConnectionError("no network in this test")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", refuse)


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


def test_paper_scale_refuses_other_rows_than_the_published_ones(folder: Path) -> None:
    with pytest.raises(MissingData) as caught:
        paper_revision(BOTH)
    assert "2 questions, 1 of them unanswerable" in str(caught.value)
    assert "130,319 questions, 43,498 of them unanswerable" in str(caught.value)
    assert "train.jsonl.gz" in str(caught.value)


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


def test_data_other_than_planned_is_refused(folder: Path) -> None:
    planned = _local(BOTH)
    write_split(folder, "train", TRAIN[:1])
    with pytest.raises(MissingData, match="planned for data with digest sha256:"):
        evaluation_questions(planned)


def test_data_planned_from_a_folder_that_is_gone_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = _local(BOTH)
    (folder / "elsewhere").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(folder / "elsewhere"))
    with pytest.raises(MissingData, match=r"Set REPRO_DATA to the folder that was planned with"):
        training_questions(planned)


def test_a_local_file_never_stands_in_for_the_published_set(folder: Path) -> None:
    with pytest.raises(MissingData, match="not the published train set"):
        training_questions(task(revision=None))


def test_half_a_folder_is_refused(folder: Path) -> None:
    (folder / "squad_v2" / "train.jsonl.gz").unlink()
    with pytest.raises(MissingData, match=r"but not train\.jsonl\.gz"):
        revision_of("squad2", BOTH)


@pytest.mark.usefixtures("no_hub")
def test_missing_data_names_the_file_the_folder_the_hub_id_and_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    with pytest.raises(MissingData) as caught:
        training_questions(task())
    for part in (
        "train.jsonl.gz",
        "REPRO_DATA",
        str(tmp_path),
        "rajpurkar/squad_v2",
        "squad_v2/train-00000-of-00001.parquet",
        "no network in this test",
        "give the command once",
    ):
        assert part in str(caught.value)


def test_a_truncated_file_is_an_error_with_a_mend(folder: Path) -> None:
    path = folder / "squad_v2" / "validation.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(MissingData, match=r"validation\.jsonl\.gz cannot be read .* Copy the file"):
        revision_of("squad2", ("validation",))


def test_a_broken_line_is_named(folder: Path) -> None:
    path = write_split(folder, "validation", DEV, gz=False)
    path.write_text(path.read_text() + "\n{not json\n")
    (folder / "squad_v2" / "validation.jsonl.gz").unlink()
    with pytest.raises(MissingData, match=r"validation\.jsonl, line 5: not JSON"):
        evaluation_questions(_local(BOTH))


def test_an_id_that_stands_twice_is_refused(folder: Path) -> None:
    write_split(folder, "validation", [*DEV, DEV[0]])
    with pytest.raises(MissingData, match=r"line 4: the id d1 stands twice"):
        evaluation_questions(_local(BOTH))


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


def test_planning_imports_neither_torch_nor_a_data_library() -> None:
    heavy = ("torch", "transformers", "datasets", "pyarrow", "huggingface_hub", "numpy")
    code = (
        "import sys; import repro.tasks.squad2.sources; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
