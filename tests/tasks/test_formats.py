"""The same rows in every format are the same data: one key, one data set, one order of labels."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from format_samples import WRITERS, lines, save, write_parquet
from glue_samples import ROOT, rows

from repro.errors import MissingData, UnknownName
from repro.spec.facts import KNOWN
from repro.tasks.rows import data_revision, features, load

REAL = {
    "rte": ("train", "validation"),
    "stsb": ("train", "validation"),
    "sick-e": ("train", "validation", "test"),
    "sick-r": ("train", "validation", "test"),
    "sms-spam": ("train",),
    "squad2": ("validation",),
}
MOST = 250
"""Rows of a real split that are written in each format."""


def real_rows(name: str, split: str) -> list[dict[str, Any]]:
    root = Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared" / "data")
    path = root / KNOWN[name].folder / f"{split}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} of {name} under REPRO_DATA (default ../shared/data)")
    content = gzip.decompress(path.read_bytes())
    found = [json.loads(line) for line in content.splitlines()]
    assert lines(found) == content, "the files under REPRO_DATA are the form that digests are of"
    return found[:MOST]


def digest_of(splits: dict[str, bytes]) -> str:
    """By the rule of the first release: of each split's JSON Lines, sorted by split."""
    named = [f"{s} {hashlib.sha256(splits[s]).hexdigest()}\n" for s in sorted(splits)]
    return f"sha256:{hashlib.sha256(''.join(named).encode()).hexdigest()}"


@pytest.mark.parametrize("name", REAL)
def test_real_rows_have_the_same_key_and_content_in_every_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {split: real_rows(name, split) for split in REAL[name]}
    wanted = digest_of({split: lines(of) for split, of in found.items()})
    first: dict[str, Any] = {}
    for form, write in WRITERS.items():
        root = tmp_path / form
        (root / KNOWN[name].folder).mkdir(parents=True)
        for split, of in found.items():
            write(root / KNOWN[name].folder, split, of)
        monkeypatch.setenv("REPRO_DATA", str(root))
        splits = REAL[name]
        assert data_revision(name, splits) == wanted, form
        loaded = load(name, wanted, splits)
        assert all(rows.features == features(KNOWN[name]) for rows in loaded.values())
        read = {split: rows[:] for split, rows in loaded.items()}
        first = first or read
        assert read == first, form
        assert sum(map(len, loaded.values())) == sum(map(len, found.values()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of RTE, with ten validation rows."""
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    found = tmp_path / "glue_rte"
    found.mkdir()
    (found / "validation.jsonl").write_bytes(lines(rows("rte", 10)))
    return found


def declared(names: list[str], dtype: str = "int64") -> Any:
    from datasets import ClassLabel, Features, Value

    texts = {"sentence1": Value("string"), "sentence2": Value("string")}
    return Features({**texts, "label": ClassLabel(names=names), "idx": Value(dtype)})


def labels(name: str = "rte") -> list[int]:
    return list(load(name, data_revision(name))["train"]["label"])


def test_a_set_of_features_names_the_published_labels_in_their_order(folder: Path) -> None:
    (folder / "train.jsonl").write_bytes(lines(rows("rte", 10)))
    found = load("rte", data_revision("rte"))["train"].features
    assert found["label"].names == ["entailment", "not_entailment"]
    assert {name: found[name].dtype for name in ("sentence1", "sentence2", "idx")} == {
        "sentence1": "string", "sentence2": "string", "idx": "int64",
    }  # fmt: skip


def test_a_set_of_another_name_names_the_closest() -> None:
    with pytest.raises(UnknownName, match=r"no data set called 'rt'\. Did you mean rte"):
        load("rt")


@pytest.mark.parametrize("write", [save, write_parquet])
def test_labels_in_another_order_are_mapped_by_their_names(folder: Path, write: Any) -> None:
    """entailment is 0 as published, and 1 in the other file: the labels stay what they name."""
    (folder / "train.jsonl").write_bytes(lines(rows("rte", 10)))
    published, wanted = data_revision("rte"), labels()
    (folder / "train.jsonl").unlink()
    turned = [row | {"label": 1 - row["label"]} for row in rows("rte", 10)]
    write(folder, "train", turned, declared(["not_entailment", "entailment"]))
    assert labels() == wanted == [0, 1] * 5
    assert data_revision("rte") == published


@pytest.mark.parametrize("write", [save, write_parquet])
def test_labels_of_other_names_are_refused(folder: Path, write: Any) -> None:
    path = write(folder, "train", rows("rte", 10), declared(["yes", "no"]))
    with pytest.raises(MissingData) as caught:
        data_revision("rte")
    assert str(caught.value).startswith(f"{path}, row 1: the label 'yes' is unknown. Expected")


def test_the_hubs_own_names_of_labels_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """stanfordnlp/imdb names its classes neg and pos, fancyzhx/yelp_polarity 1 and 2."""
    from datasets import ClassLabel, Features, Value

    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    for name, names in (("imdb", ["neg", "pos"]), ("yelp-polarity", ["1", "2"])):
        text = [{"text": f"Text {n}.", "label": n % 2} for n in range(6)]
        of = Features({"text": Value("string"), "label": ClassLabel(names=names)})
        for split in KNOWN[name].needed:
            (tmp_path / KNOWN[name].folder).mkdir(exist_ok=True)
            save(tmp_path / KNOWN[name].folder, split, text, of)
        assert labels(name) == [0, 1] * 3


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet"])
def test_labels_may_be_given_by_their_published_names(folder: Path, form: str) -> None:
    names = KNOWN["rte"].labels
    WRITERS[form](folder, "train", [r | {"label": names[r["label"]]} for r in rows("rte", 6)])
    assert labels() == [0, 1] * 3


def test_numbers_of_32_bits_are_the_decimals_that_were_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nyu-mll/glue has STS-B's similarities as float32, in which 3.8 is 3.799999952316284."""
    from datasets import Features, Value

    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    text = {"sentence1": Value("string"), "sentence2": Value("string")}
    of = Features({**text, "label": Value("float32"), "idx": Value("int32")})
    given = [
        row | {"label": value} for row, value in zip(rows("stsb", 3), (3.8, 0.2, 5.0), strict=True)
    ]
    (tmp_path / "glue_stsb").mkdir()
    for split in ("train", "validation"):
        save(tmp_path / "glue_stsb", split, given, of)
    assert labels("stsb") == [3.8, 0.2, 5.0]
    content = dict.fromkeys(("train", "validation"), lines(given))
    assert data_revision("stsb") == digest_of(content)


def test_a_saved_dict_of_data_sets_is_a_folder_of_its_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datasets import Dataset, DatasetDict

    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    splits = {split: Dataset.from_list(rows("rte", 8)) for split in ("train", "validation")}
    DatasetDict(splits).save_to_disk(tmp_path / "glue_rte")
    assert {s: len(r) for s, r in load("rte", data_revision("rte")).items()} == {
        "train": 8, "validation": 8,
    }  # fmt: skip


def test_rows_that_were_shuffled_before_they_were_saved_keep_that_order(folder: Path) -> None:
    from datasets import Dataset

    kept = [7, 2, 5, 0]
    Dataset.from_list(rows("rte", 8)).select(kept).save_to_disk(folder / "train")
    assert load("rte", data_revision("rte"))["train"]["idx"][:] == kept


def test_columns_may_stand_in_any_order_beside_others(folder: Path) -> None:
    (folder / "train.jsonl").write_bytes(lines(rows("rte", 6)))
    wanted = data_revision("rte")
    (folder / "train.jsonl").unlink()
    turned = [{"more": 1, **dict(reversed(row.items()))} for row in rows("rte", 6)]
    WRITERS["csv"](folder, "train", turned)
    assert data_revision("rte") == wanted


def test_tags_and_answers_are_json_in_a_table_of_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    given = {"tokens": ["Ann", "left", "Oslo"], "ner_tags": ["B-PER", "O", "B-LOC"]}
    (tmp_path / "conll2003").mkdir()
    for split in ("train", "validation", "test"):
        WRITERS["csv"](tmp_path / "conll2003", split, [given, given])
    found = load("conll2003", data_revision("conll2003"))["test"]
    assert found[1] == {"tokens": given["tokens"], "ner_tags": [1, 0, 5], "idx": 1}
    assert found.features["ner_tags"].feature.names[5] == "B-LOC"
