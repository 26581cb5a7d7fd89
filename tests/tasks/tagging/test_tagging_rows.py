"""Local and generated tagged sentences: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from seqeval.metrics.sequence_labeling import get_entities
from tagging_samples import GOOD, SPLITS, tagging_task, write_lines, write_splits

from repro.errors import MissingData, ReproError
from repro.spec import TaggingTask
from repro.spec.tagging import SENTENCES_PUBLISHED, TAGS
from repro.tasks import catalogue
from repro.tasks.generated import default_revision
from repro.tasks.tagging import Sentence, task_rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def read(**changes: Any) -> dict[str, list[Sentence]]:
    revision = catalogue.data_revision("reduced", "conll2003")
    return task_rows(TaggingTask(**({"source": "local", "revision": revision} | changes)))


def test_published_sizes_are_those_of_the_shared_task() -> None:
    # Tjong Kim Sang and De Meulder 2003, Table 1 counts 14,987 / 3,466 / 3,684 sentences and
    # 946 / 216 / 231 articles, each of which opens with a -DOCSTART- sentence
    opened = {"train": 14_987 - 946, "validation": 3_466 - 216, "test": 3_684 - 231}
    assert opened == SENTENCES_PUBLISHED


def test_a_folder_without_files_is_a_gap_that_says_where_to_look(folder: Path) -> None:
    assert catalogue.unavailable("reduced", "conll2003") == (
        "conll2003 is not in $REPRO_DATA; `python -m repro prepare conll2003` says where it is "
        "published"
    )
    write_lines(folder, "train", [json.dumps(GOOD).encode()])
    assert "conll2003/validation and conll2003/test are not in" in str(
        catalogue.unavailable("reduced", "conll2003")
    )
    with pytest.raises(MissingData, match="conll2003/validation and conll2003/test"):
        catalogue.data_revision("reduced", "conll2003")
    write_splits(folder, [GOOD])
    assert catalogue.unavailable("reduced", "conll2003") is None


def test_names_and_numbers_of_tags_are_the_same_row(folder: Path) -> None:
    numbered = GOOD | {"ner_tags": [1, 0, 0, 0, 0, 0, 5]}
    write_splits(folder, [GOOD, numbered])
    named, counted = read()["train"]
    assert named.words == counted.words == tuple(GOOD["tokens"])
    assert named.tags == counted.tags == (1, 0, 0, 0, 0, 0, 5)
    assert (named.idx, counted.idx) == (0, 1)


def test_the_content_is_the_revision_and_the_paper_wants_the_published_rows(folder: Path) -> None:
    write_splits(folder, [GOOD])
    first = catalogue.data_revision("reduced", "conll2003")
    assert first is not None
    assert first.startswith("sha256:")
    with pytest.raises(MissingData, match=r"14,041.*'reduced' accepts"):
        catalogue.data_revision("paper", "conll2003")
    write_splits(folder, [GOOD, GOOD])
    assert catalogue.data_revision("reduced", "conll2003") != first
    with pytest.raises(MissingData, match="planned for data with digest"):
        read(revision=first)
    write_splits(
        folder, [], **{split: [b"{}"] * count for split, count in SENTENCES_PUBLISHED.items()}
    )
    assert catalogue.data_revision("paper", "conll2003") is None


def test_caps_keep_rows_in_file_order(folder: Path) -> None:
    rows = [{"tokens": [f"w{n}", "Oslo"], "ner_tags": ["O", "B-LOC"]} for n in range(30)]
    write_splits(folder, rows)
    kept = read(train_rows=7, evaluation_rows=4)
    assert {split: len(found) for split, found in kept.items()} == {
        "train": 7, "validation": 4, "test": 4,
    }  # fmt: skip
    places = [one.idx for one in kept["train"]]
    assert places == sorted(places)
    assert places != list(range(7))
    assert set(places) < {one.idx for one in read(train_rows=8)["train"]}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"tokens": ["a"]}, "'ner_tags' is missing"),
    ({"tokens": None, "ner_tags": [0]}, "'tokens' is missing"),
    ({"tokens": "a b", "ner_tags": [0, 0]}, "'tokens' is of type str"),
    ({"tokens": [], "ner_tags": []}, "'tokens' is empty"),
    ({"tokens": ["a", "b"], "ner_tags": [0]}, "2 words have 1 tags"),
    ({"tokens": ["a", " "], "ner_tags": [0, 0]}, "word 2 is empty"),
    ({"tokens": ["a", 3], "ner_tags": [0, 0]}, "word 2 is of type int"),
    ({"tokens": ["a", "\ud800"], "ner_tags": [0, 0]}, "half a character"),
    ({"tokens": ["a"], "ner_tags": [9]}, "tag 1 is 9, which is unknown"),
    ({"tokens": ["a"], "ner_tags": [True]}, "tag 1 is True, which is unknown"),
    ({"tokens": ["a"], "ner_tags": ["B-XYZ"]}, "'B-XYZ', which is unknown"),
    ({"tokens": ["a", "b"], "ner_tags": ["O", "I-LOC"]}, "tag 2 .'b'. is I-LOC after O"),
    ({"tokens": ["a", "b"], "ner_tags": ["B-PER", "I-LOC"]}, "is I-LOC after B-PER"),
    ({"tokens": ["a"], "ner_tags": [2]}, "is I-PER at the beginning"),
]


@pytest.mark.parametrize(("row", "problem"), BAD)
def test_a_bad_row_is_refused_with_file_line_and_what_was_expected(
    folder: Path, row: dict[str, Any], problem: str
) -> None:
    write_splits(folder, [GOOD], validation=[json.dumps(r).encode() for r in (GOOD, row)])
    with pytest.raises(MissingData, match=problem) as caught:
        read()
    assert "validation.jsonl.gz, line 2: " in str(caught.value)
    assert "Expected rows of CoNLL-2003 with tokens" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [([b""], "no rows"), ([b'{"tokens": ["a"], "ner_tags": [0]}'] * 2, "every word is O")],
)
def test_a_split_without_rows_or_entities_is_refused(
    folder: Path, lines: list[bytes], problem: str
) -> None:
    write_splits(folder, [GOOD], test=lines)
    with pytest.raises(MissingData, match=problem):
        read()


def test_generated_sentences_are_repeatable_valid_and_partly_of_new_names() -> None:
    found = task_rows(tagging_task(default_revision("conll2003")))
    assert task_rows(tagging_task(default_revision("conll2003"))) == found
    assert list(found) == list(SPLITS)
    assert len(found["validation"]) == len(found["test"]) == 60
    named = {split: set[str]() for split in SPLITS}
    kinds = set()
    for split, sentences in found.items():
        for one in sentences:
            assert len(one.words) == len(one.tags)
            for kind, begin, last in get_entities([TAGS[tag] for tag in one.tags]):
                assert TAGS[one.tags[begin]] == f"B-{kind}"
                named[split].add(" ".join(one.words[begin : last + 1]))
                kinds.add(kind)
    assert kinds == {"PER", "ORG", "LOC", "MISC"}
    for split in ("validation", "test"):
        assert named[split] & named["train"]
        assert named[split] - named["train"]


def test_a_generated_task_needs_a_revision_of_its_form() -> None:
    with pytest.raises(ReproError, match="write it like"):
        task_rows(tagging_task("some"))
    with pytest.raises(ReproError, match="need a revision"):
        task_rows(tagging_task(revision=None))
