"""Reads the published rows of SQuAD 2.0: a local folder's files, or the hub's.

Local: `$REPRO_DATA/squad_v2/{train,validation}.jsonl.gz` or `.jsonl`, one row a line. Hub: the
parquet files of rajpurkar/squad_v2, fetched by huggingface_hub, which honours HF_ENDPOINT, HF_HOME
and HF_HUB_OFFLINE; no code of the hub is run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import MissingData, ReproError
from repro.tasks.squad2.questions import Question, question_from_row

HUB_ID = "rajpurkar/squad_v2"
FOLDER_VARIABLE = "REPRO_DATA"
FOLDER = "squad_v2"
SUFFIXES = (".jsonl.gz", ".jsonl")

_EMPTY_STARTS = re.compile(rb'"answer_start":\s*\[\s*\]')


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a set has, and how many of them have no answer."""

    rows: int
    unanswerable: int

    def __str__(self) -> str:
        return f"{self.rows:,} questions, {self.unanswerable:,} of them unanswerable"


PUBLISHED = {"train": Size(130_319, 43_498), "validation": Size(11_873, 5_945)}
"""Rajpurkar, Jia and Liang 2018, Table 2 (train and development)."""


def local_file(split: str) -> Path | None:
    """The split's file under $REPRO_DATA, if there is one."""
    root = os.environ.get(FOLDER_VARIABLE)
    if not root:
        return None
    names = (Path(root).expanduser() / FOLDER / f"{split}{suffix}" for suffix in SUFFIXES)
    return next((path for path in names if path.is_file()), None)


def local_content(path: Path) -> bytes:
    """The file's decompressed bytes; raises ReproError for a damaged or unreadable file."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise ReproError(
            f"{path} cannot be read ({error}). Copy the file again, or unset {FOLDER_VARIABLE} to "
            f"use {HUB_ID} from the hub."
        ) from error


def content_digest(contents: dict[str, bytes]) -> str:
    """'sha256:<64 digits>' over the decompressed content of the given splits, in sorted order."""
    lines = [
        f"{split} {hashlib.sha256(content).hexdigest()}\n"
        for split, content in sorted(contents.items())
    ]
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def quick_size(content: bytes) -> Size:
    """The size of a .jsonl file without parsing it, so that `plan` stays fast.

    Quotes inside a JSON text are escaped, so the pattern only meets the field itself.
    """
    rows = sum(1 for line in content.split(b"\n") if line.strip())
    return Size(rows, sum(1 for _ in _EMPTY_STARTS.finditer(content)))


def parse_lines(content: bytes, name: str) -> list[Question]:
    """The questions of a .jsonl file; `name` is its name in errors."""
    return _questions(_rows(content, name))


def _rows(content: bytes, name: str) -> Iterable[tuple[Any, str]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            yield json.loads(line), place
        except ValueError as error:
            raise MissingData(
                f"{place}: not JSON ({error}). Replace the file by the published one."
            ) from error


def hub_questions(split: str, revision: str | None) -> list[Question]:
    """The split's questions from the hub, or its cache, at a revision (None: the newest).

    Raises MissingData where the file cannot be had, or is not the published set.
    """
    import pyarrow
    import pyarrow.parquet

    file = f"squad_v2/{split}-00000-of-00001.parquet"
    path = _download(file, split, revision)
    columns = ["id", "title", "context", "question", "answers"]
    try:
        rows = pyarrow.parquet.read_table(path, columns=columns).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise MissingData(
            f"{file} of {HUB_ID} cannot be read ({error}). Delete {path} and "
            "give the command again."
        ) from error
    questions = _questions(
        (row, f"{HUB_ID} {file}, row {number}") for number, row in enumerate(rows, start=1)
    )
    mend = "Plan with another revision of it."
    check_published(size(questions), split, f"{HUB_ID} {file}", mend)
    return questions


def _download(file: str, split: str, revision: str | None) -> str:
    import huggingface_hub

    try:
        return str(
            huggingface_hub.hf_hub_download(HUB_ID, file, repo_type="dataset", revision=revision)
        )
    except Exception as error:  # network, HTTP, cache and disk errors share no base class
        at = f" at revision {revision}" if revision else ""
        raise MissingData(
            f"SQuAD 2.0's {split} set is missing. Looked for {split}.jsonl.gz or {split}.jsonl in "
            f"the folder {FOLDER} under ${FOLDER_VARIABLE} "
            f"({os.environ.get(FOLDER_VARIABLE) or 'not set'}), then for {file} of the hub's "
            f"data set {HUB_ID}{at}, which failed: {error}. Either set {FOLDER_VARIABLE} to a "
            f"folder that holds {FOLDER}/{split}.jsonl.gz, or give the command once "
            "where the hub can be reached (HF_ENDPOINT names a mirror, HF_HOME the cache)."
        ) from error


def size(questions: Iterable[Question]) -> Size:
    """How many questions there are, and how many have no answer."""
    answerable = [question.answerable for question in questions]
    return Size(len(answerable), answerable.count(False))


def check_published(found: Size, split: str, name: str, mend: str) -> None:
    """Raises MissingData, which ends with `mend`, unless `found` is the published split's size."""
    if found != PUBLISHED[split]:
        raise MissingData(
            f"{name} is not the published {split} set of SQuAD 2.0: it has {found}; the published "
            f"set has {PUBLISHED[split]}. {mend}"
        )


def _questions(rows: Iterable[tuple[Any, str]]) -> list[Question]:
    """Checks every row; equal contexts become one string, and ids have to be unique."""
    contexts: dict[str, str] = {}
    seen: set[str] = set()
    questions = []
    for row, place in rows:
        question = question_from_row(row, place, contexts)
        if question.id in seen:
            raise MissingData(
                f"{place}: the id {question.id} stands twice. Remove one of the rows."
            )
        seen.add(question.id)
        questions.append(question)
    return questions
