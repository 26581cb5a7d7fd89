"""Files of rows under $REPRO_DATA: one for each split, each line one object with a key once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from glue_samples import rows, task, write_lines, write_split

from repro.errors import MissingData
from repro.spec.facts import KNOWN
from repro.tasks.catalogue import data_revision
from repro.tasks.formats import json_rows
from repro.tasks.rows import here
from repro.tasks.sentences.rows import task_rows

LINE = b'{"idx": 0, "label": 1, "text": {"a": 1}, "more": [{"b": 1}]}'


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (LINE.replace(b'"label": 1', b'"label": 1, "label": 0'), "label"),
        (LINE.replace(b'"label": 1', b'"label": 1, "idx": 0'), "idx"),
        (LINE.replace(b'"a": 1', b'"a": 1, "\\u0061": 1'), "a"),
        (LINE.replace(b'"b": 1', b'"b": 1, "c": 2, "b": 1'), "b"),
    ],
)
def test_a_key_that_stands_twice_in_a_line_is_refused_with_file_and_line(
    line: bytes, key: str
) -> None:
    assert len(list(json_rows(LINE, "train.jsonl"))) == 1
    found = json_rows(LINE + b"\n\n" + line + b"\n", "train.jsonl")
    next(found)
    with pytest.raises(MissingData, match=rf"^train\.jsonl, line 3: .*key '{key}' stands twice"):
        next(found)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_json_has_no_number_for_is_refused_with_file_and_line(number: bytes) -> None:
    with pytest.raises(MissingData, match=r"^train\.jsonl, line 1: not JSON"):
        list(json_rows(b'{"label": ' + number + b"}", "train.jsonl"))


def test_two_files_of_one_split_are_refused_by_both_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them was meant is not known, and the older one would win without a word."""
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    for split in ("train", "validation"):
        write_split(tmp_path, "rte", split, rows("rte", 10))
    revision = data_revision("reduced", "rte")
    newer = write_lines(tmp_path, "rte", "train", [b"{}"], gz=False)
    for read in (
        lambda: here(KNOWN["rte"], ["train"]),
        lambda: data_revision("reduced", "rte"),
        lambda: task_rows(task("rte", revision=revision)),
    ):
        with pytest.raises(MissingData) as caught:
            read()
        for part in ("train.jsonl.gz", "train.jsonl ", str(newer.parent), "Remove"):
            assert part in str(caught.value)
    newer.with_name("train.jsonl.gz").unlink()
    assert here(KNOWN["rte"], ["train"]) == {"train": newer}
    newer.unlink()
    newer.write_bytes(gzip.compress(b"{}"))  # another name for the same split is none
    assert here(KNOWN["rte"], ["test"]) == {}
