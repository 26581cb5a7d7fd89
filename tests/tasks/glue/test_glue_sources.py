"""Where GLUE's rows come from: the local folder, its identity, caps, and what is refused."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from glue_samples import row, rows, task, write_split

from repro.errors import MissingData, ReproError
from repro.spec import GlueTask, Scale
from repro.spec.tasks import GlueName
from repro.tasks.catalogue import data_revision, unavailable
from repro.tasks.generated import default_revision
from repro.tasks.sentences.rows import Row, generated_rows, submission_rows, task_rows

WNLI = {"train": 635, "validation": 71}
"""The published sizes: the smallest task of GLUE."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with small sets of RTE and MNLI."""
    for split in ("train", "validation"):
        write_split(tmp_path, "rte", split, rows("rte", 40))
    for split in ("train", "validation_matched", "validation_mismatched"):
        write_split(tmp_path, "mnli", split, rows("mnli", 9))
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at once where the hub is asked."""
    import huggingface_hub

    def refuse(*_: object, **__: object) -> str:
        raise ConnectionError("no network in this test")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", refuse)


def local(name: GlueName, **changes: Any) -> GlueTask:
    return task(name, revision=data_revision("reduced", name), **changes)


def ids(found: list[Row]) -> list[int]:
    return [one.idx for one in found]


def test_a_run_reads_the_training_rows_and_every_scored_split() -> None:
    assert task("rte").splits("rte") == ("train", "validation")
    assert task("mnli").splits("mnli") == ("train", "validation_matched", "validation_mismatched")


def test_without_a_local_folder_the_hub_id_alone_identifies_the_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_revision("reduced", "cola") is None
    assert unavailable("reduced", "cola") is None
    monkeypatch.delenv("REPRO_DATA")
    assert data_revision("paper", "rte") is None


def test_a_local_folder_is_named_by_the_content_of_what_a_run_reads(folder: Path) -> None:
    content = "".join(json.dumps(one) + "\n" for one in rows("rte", 40)).encode()
    digest = hashlib.sha256(content).hexdigest()
    lines = f"train {digest}\nvalidation {digest}\n"
    expected = f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
    assert data_revision("reduced", "rte") == expected
    write_split(folder, "rte", "test", rows("rte", 3))  # no run reads it
    assert data_revision("reduced", "rte") == expected
    write_split(folder, "rte", "validation", rows("rte", 39))
    assert data_revision("reduced", "rte") != expected


def test_every_scored_split_is_read_in_file_order(folder: Path) -> None:
    found = task_rows(local("mnli"))
    assert list(found) == ["train", "validation_matched", "validation_mismatched"]
    assert all(ids(rows) == list(range(9)) for rows in found.values())


def test_a_cap_draws_rows_by_the_subset_seed_and_keeps_file_order(folder: Path) -> None:
    def drawn(**changes: Any) -> dict[str, list[int]]:
        found = task_rows(local("rte", train_rows=15, evaluation_rows=10, **changes))
        return {split: ids(rows) for split, rows in found.items()}

    first = drawn()
    assert {split: len(found) for split, found in first.items()} == {"train": 15, "validation": 10}
    assert all(found == sorted(found) for found in first.values())
    assert first["train"] != list(range(15))
    assert drawn() == first
    assert drawn(subset_seed=1) != first
    # the rank of a row is SHA-256 of seed and idx, so the rows are known by hand
    ranks = {idx: hashlib.sha256(f"subset\n0\n{idx}".encode()).digest() for idx in range(40)}
    assert set(first["validation"]) == set(sorted(ranks, key=lambda idx: ranks[idx])[:10])


def test_a_smaller_cap_keeps_a_part_of_a_larger_one(folder: Path) -> None:
    small, large = (set(ids(task_rows(local("rte", train_rows=cap))["train"])) for cap in (5, 20))
    assert small < large


def test_a_cap_caps_every_scored_split(folder: Path) -> None:
    found = task_rows(local("mnli", evaluation_rows=4))
    assert {split: len(rows) for split, rows in found.items()} == {
        "train": 9,
        "validation_matched": 4,
        "validation_mismatched": 4,
    }


def test_a_wide_cap_keeps_everything(folder: Path) -> None:
    assert ids(task_rows(local("rte", train_rows=40))["train"]) == list(range(40))


def test_half_a_folder_is_refused_and_not_filled_from_the_hub(folder: Path) -> None:
    (folder / "glue_mnli" / "train.jsonl.gz").unlink()
    with pytest.raises(MissingData) as caught:
        data_revision("reduced", "mnli")
    assert "but not train.jsonl.gz. Add what is missing, or unset REPRO_DATA" in str(caught.value)
    assert "nyu-mll/glue from the hub for all of them" in str(caught.value)
    with pytest.raises(MissingData, match=r"but not train\.jsonl\.gz"):
        task_rows(task("mnli"))


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        (["train"], "glue_mnli/train is not in $REPRO_DATA"),
        (
            ["train", "validation_mismatched"],
            "glue_mnli/train and glue_mnli/validation_mismatched are not in $REPRO_DATA",
        ),
        ([], None),
        (["train", "validation_matched", "validation_mismatched"], None),  # the hub's
    ],
)
def test_why_a_task_has_no_data_fits_in_a_table(
    folder: Path, gone: list[str], reason: str | None
) -> None:
    for split in gone:
        (folder / "glue_mnli" / f"{split}.jsonl.gz").unlink()
    assert unavailable("reduced", "mnli") == reason
    assert unavailable("paper", "mnli") is None  # an error of `data_revision` instead
    assert unavailable("smoke", "mnli") is None


@pytest.mark.parametrize("scale", ["paper", "reduced"])
def test_a_data_folder_that_is_not_there_is_not_taken_for_the_hub(
    folder: Path, monkeypatch: pytest.MonkeyPatch, scale: Scale
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(folder / "mistyped"))
    with pytest.raises(MissingData, match=r"REPRO_DATA is .*mistyped, and there is no such folder"):
        data_revision(scale, "rte")
    with pytest.raises(MissingData, match="holds glue_rte, or unset REPRO_DATA to use"):
        unavailable("reduced", "rte")
    assert unavailable("smoke", "rte") is None


def test_paper_scale_takes_the_published_set_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for split, count in WNLI.items():
        write_split(tmp_path, "wnli", split, rows("wnli", count))
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    assert data_revision("paper", "wnli") is None
    assert len(task_rows(task("wnli"))["train"]) == 635
    write_split(tmp_path, "wnli", "train", rows("wnli", 634))
    with pytest.raises(MissingData) as caught:
        data_revision("paper", "wnli")
    assert "train.jsonl.gz is not the published train set of WNLI: it has 634 rows" in str(
        caught.value
    )
    assert "the published set has 635. Replace it, or unset REPRO_DATA" in str(caught.value)
    with pytest.raises(MissingData, match="not the published train set"):
        task_rows(task("wnli"))


def test_data_other_than_planned_is_refused(folder: Path) -> None:
    planned = local("rte")
    write_split(folder, "rte", "validation", rows("rte", 30))
    with pytest.raises(MissingData, match="planned for data with digest sha256:"):
        task_rows(planned)


def test_data_planned_from_a_folder_that_is_gone_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = local("rte")
    (folder / "elsewhere").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(folder / "elsewhere"))
    with pytest.raises(MissingData, match="Set REPRO_DATA to the folder that was planned with"):
        task_rows(planned)


@pytest.mark.usefixtures("no_hub")
def test_missing_data_names_the_file_the_folder_the_hub_id_and_the_mend(folder: Path) -> None:
    with pytest.raises(MissingData) as caught:
        task_rows(task("cola"))
    for part in (
        "CoLA's train set is missing",
        "train.jsonl.gz",
        str(folder),
        "nyu-mll/glue",
        "cola/train-00000-of-00001.parquet",
        "no network in this test",
        "folder that holds glue_cola/train.jsonl.gz",
    ):
        assert part in str(caught.value)


def test_a_generated_task_reads_nothing(folder: Path) -> None:
    revision = default_revision("rte")
    made = task("rte", source="generated", revision=revision, train_rows=7)
    found = task_rows(made)
    whole = generated_rows("rte", revision)
    assert found["validation"] == whole["validation"]
    assert len(found["train"]) == 7
    with pytest.raises(ReproError, match="need a revision"):
        task_rows(task("rte", source="generated"))


def test_test_sets_are_read_for_a_submission(folder: Path) -> None:
    withheld = [row("wnli", idx, label=-1) for idx in range(146)]
    write_split(folder, "wnli", "test", withheld)
    found = submission_rows("wnli")
    assert list(found) == ["test"]
    assert [(one.idx, one.label) for one in found["test"]] == [(idx, -1) for idx in range(146)]
    write_split(folder, "wnli", "test", withheld[1:])
    with pytest.raises(MissingData, match="it has 145 rows; the published set has 146"):
        submission_rows("wnli")


@pytest.mark.parametrize("name", ["stsb", "mnli", "ax"])
def test_rows_of_a_submission_stand_in_the_order_of_their_idx(folder: Path, name: str) -> None:
    """The server counts rows by index; a file may hold them in any order."""
    like: GlueName = "stsb" if name == "stsb" else "mnli"
    tests = {"stsb": ["test"], "ax": ["test"], "mnli": ["test_matched", "test_mismatched"]}[name]
    sizes = {"stsb": [1_379], "ax": [1_104], "mnli": [9_796, 9_847]}[name]
    for split, size in zip(tests, sizes, strict=True):
        shuffled = [row(like, idx, label=-1) for idx in range(size)]
        random.Random(split).shuffle(shuffled)
        write_split(folder, name, split, shuffled)
    for split, size in zip(tests, sizes, strict=True):
        found = submission_rows(name)[split]
        assert [one.idx for one in found] == list(range(size))
        assert found[7].texts[0].startswith("Text 7 of the ")


@pytest.mark.parametrize(
    ("changed", "said"), [(0, "lacks the idx 0"), (100, "lacks the idx 100"), (145, "lacks")]
)
def test_a_test_set_without_one_of_its_numbers_is_refused(
    folder: Path, changed: int, said: str
) -> None:
    """Rows 1 to 146, say, would give every answer to its neighbour."""
    withheld = [row("wnli", 146 if idx == changed else idx, label=-1) for idx in range(146)]
    path = write_split(folder, "wnli", "test", withheld)
    with pytest.raises(MissingData) as caught:
        submission_rows("wnli")
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "from 0 to 145" in str(caught.value)


def test_the_diagnostic_set_has_mnlis_texts_and_no_labels(folder: Path) -> None:
    write_split(folder, "ax", "test", [row("mnli", idx, label=-1) for idx in range(1_104)])
    found = submission_rows("ax")["test"]
    assert len(found) == 1_104
    assert found[0].texts == ("Text 0 of the premise.", "Text 0 of the hypothesis.")


def test_planning_imports_neither_torch_nor_a_data_library() -> None:
    heavy = ("torch", "transformers", "datasets", "pyarrow", "huggingface_hub", "numpy")
    code = (
        "import sys; import repro.tasks.sentences.rows, repro.tasks.squad2.questions; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
