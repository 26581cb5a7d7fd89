"""SQuAD 1.1: its rows all have an answer, and its best span is scored whatever the null score."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from squad_examples import ROOT, question, row
from tiny_models import tiny_data

from repro.errors import MissingData
from repro.spec import SquadTask
from repro.spec.facts import KNOWN
from repro.tasks.catalogue import data_revision, unavailable
from repro.tasks.generated import default_revision, generate
from repro.tasks.rows import Size, published
from repro.tasks.squad2.questions import (
    capped,
    evaluation_questions,
    training_questions,
    with_share,
)
from repro.tasks.squad2.task import SquadData


def write(root: Path, split: str, rows: list[dict[str, Any]]) -> Path:
    """A split under the data folder `root`."""
    path = root / "squad" / f"{split}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with three training and two development questions."""
    write(tmp_path, "train", [row(f"t{n}", answer="Ann") for n in range(3)])
    write(tmp_path, "validation", [row(f"d{n}", answer="Bo") for n in range(2)])
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    return tmp_path


def task(**changes: Any) -> SquadTask:
    fields = {"name": "squad1", "source": "squad", "train": "train", "evaluation": "official-dev"}
    return SquadTask.model_validate({**fields, "revision": None, **changes})


def generated(**changes: Any) -> SquadTask:
    made = {"source": "generated", "train": "generated", "evaluation": "generated"}
    return task(**made, revision=default_revision("squad1"), **changes)


@pytest.mark.parametrize(
    "real", [Path(os.environ.get("REPRO_DATA") or ROOT.parent / "shared/data")]
)
def test_the_real_set_has_its_published_questions_which_all_have_an_answer(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """87,599 and 10,570 questions (Rajpurkar, Jia and Liang 2018, Table 2).

    The training rows are counted only, by the check of the scale "paper": reading them takes long.
    """
    for split in ("train", "validation"):
        if not (real / "squad" / f"{split}.jsonl.gz").is_file():
            pytest.skip(f"needs squad/{split}.jsonl.gz under REPRO_DATA (default ../shared/data)")
    monkeypatch.setenv("REPRO_DATA", str(real))
    assert unavailable("reduced", "squad1") is None
    sizes = [published(KNOWN["squad1"], split) for split in ("train", "validation")]
    assert sizes == [Size(87_599, 0), Size(10_570, 0)]
    assert data_revision("paper", "squad1") is None
    scored = evaluation_questions(task())
    assert len(scored) == 10_570
    assert all(question.answerable for question in scored)


def test_a_local_set_is_read_from_its_own_folder(folder: Path) -> None:
    local = task(revision=data_revision("reduced", "squad1"))
    assert [found.id for found in training_questions(local)] == ["t0", "t1", "t2"]
    assert [found.id for found in evaluation_questions(local)] == ["d0", "d1"]
    (folder / "squad" / "train.jsonl.gz").unlink()
    assert unavailable("reduced", "squad1") == "squad/train is not in $REPRO_DATA"


def test_a_question_without_an_answer_is_refused_with_its_line(folder: Path) -> None:
    path = write(folder, "validation", [row("d0", answer="Bo"), row("d1"), row("d2")])
    with pytest.raises(MissingData) as caught:
        evaluation_questions(task(revision=data_revision("reduced", "squad1")))
    assert f"{path}, line 2: the question d1 has no answer" in str(caught.value)
    assert "every question of SQuAD 1.1 has an answer" in str(caught.value)


def test_other_rows_are_refused_at_paper_scale(folder: Path) -> None:
    with pytest.raises(MissingData, match=r"not the published train set of SQuAD 1\.1: it has 3"):
        data_revision("paper", "squad1")


def test_a_share_of_one_leaves_the_answerable_questions_and_survives_a_cap() -> None:
    mixed = [question(f"a{n}", "Ann met Bo.", "Bo") for n in range(5)]
    mixed[2:2] = [question(f"u{n}", "Ann met Bo.") for n in range(4)]
    kept = with_share(mixed, 1.0, 0)
    assert [found.id for found in kept] == ["a0", "a1", "a2", "a3", "a4"]
    assert len(capped(kept, 3, "shuffled", 0, 1.0)) == 3
    assert with_share(kept, 1.0, 0) == kept


def test_the_generated_set_trains_on_answerable_questions_only() -> None:
    made = generate("squad1", default_revision("squad1"))["train"]
    found = training_questions(generated(answerable_share=1.0))
    assert [one.id for one in found] == [row["id"] for row in made if row["answers"]["text"]]
    assert len(training_questions(generated(answerable_share=1.0, train_rows=50))) == 50


def test_the_headline_is_the_best_spans_f1_and_no_run_is_collapsed() -> None:
    """Logits that prefer the null position everywhere answer nothing, yet have a best span."""
    data = tiny_data()
    one = SquadData(data.training, replace(data.scoring, task="squad1"), data.pad_id)
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(2, len(one.evaluation), 32)).astype(np.float32)
    logits[:, :, 0] = 50.0
    collector = one.collector()
    collector.add(list(range(len(one.evaluation))), logits)
    scores = collector.scores(1)
    spans = {
        score["value"]
        for score in scores
        if (score["protocol"], score["metric"], score["group"])
        == ("legacy/best-span", "span_f1", "HasAns")
    }
    assert one.headline(scores) == {"generated/span_f1": spans.pop()}
    assert one.monitor(scores) == one.headline(scores)["generated/span_f1"]
    assert not one.collapsed(scores)
    assert data.collapsed(scores)  # as a run on SQuAD 2.0 it is
    assert {score["task"] for score in scores} == {"squad1"}
