"""Every protocol is scored from one pass of the model over the distinct windows."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from squad_examples import always_null, data_folder, dev_questions, minilm, row, task, write_split

from repro.tasks.metrics.squad_scores import score
from repro.tasks.rows import data_revision
from repro.tasks.squad2.decoding import Outcomes, decode_batch, join
from repro.tasks.squad2.task import (
    HEADLINE,
    Evaluation,
    predictions_document,
    prepare_evaluation,
    score_run,
)

PROTOCOLS = [
    f"{convention}/{decoding}"
    for convention in ("legacy", "overlap")
    for decoding in ("argmax-pair", "best-span")
]


@lru_cache
def _evaluation() -> Evaluation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPRO_DATA", str(data_folder()))
        revision = data_revision("squad2", ("validation",))
        whole = task(revision=revision, train="dev-minus-cs224n", evaluation="official-dev")
        return prepare_evaluation(whole, minilm())


def _outcomes(evaluation: Evaluation, noise: float) -> Outcomes:
    """Of a model that sees the first gold answer through noise."""
    draw = np.random.Generator(np.random.PCG64(3))
    parts = []
    edges = [*range(0, len(evaluation.windows), 256), len(evaluation.windows)]
    for begin, end in pairwise(edges):
        windows = evaluation.windows[begin:end]
        longest = max(len(window.input_ids) for window in windows)
        logits = noise * draw.standard_normal((2, len(windows), longest), dtype=np.float32)
        for at, window in enumerate(windows):
            # surer of an answer than of its absence: a window beside the answer's is null
            logits[:, at, 0] += 10
            if window.target != (0, 0):
                logits[0, at, window.target[0]] += 12
                logits[1, at, window.target[1]] += 12
        parts.append(decode_batch(logits[0], logits[1], windows))
    return join(parts)


def _values(
    scores: list[dict[str, Any]], split: str, protocol: str
) -> dict[tuple[str, str], float]:
    return {
        (each["group"], each["metric"]): each["value"]
        for each in scores
        if each["split"] == split and each["protocol"] == protocol
    }


def test_an_all_knowing_model_scores_what_token_bounds_allow() -> None:
    evaluation = _evaluation()
    scores = score_run(_outcomes(evaluation, 0.0), evaluation)
    for protocol in PROTOCOLS:
        values = _values(scores, "official-dev", protocol)
        assert values["NoAns", "em"] == 100
    for convention in ("legacy", "overlap"):
        argmax = _values(scores, "official-dev", f"{convention}/argmax-pair")
        best = _values(scores, "official-dev", f"{convention}/best-span")
        # all but the 15 first answers that start or end inside a word can be matched exactly
        assert argmax["HasAns", "em"] >= 100 * (5_928 - 15) / 5_928
        # answers of more than 30 tokens are out of best-span's reach
        assert 99 < best["HasAns", "em"] < argmax["HasAns", "em"]


def test_scores_are_those_of_the_predictions_that_are_stored() -> None:
    evaluation = _evaluation()
    outcomes = _outcomes(evaluation, 4.0)
    document = json.loads(json.dumps(predictions_document(outcomes, evaluation), allow_nan=False))
    scores = score_run(outcomes, evaluation)
    assert all(np.isfinite(each["value"]) for each in scores)
    assert sorted(document) == PROTOCOLS
    for split, positions in evaluation.sets.items():
        questions = [dev_questions()[position] for position in positions]
        answers = {each.id: each.answers for each in questions}
        for protocol, stored in document.items():
            values = _values(scores, split, protocol)
            again = score(stored["text"], answers, stored["margin"], stored["span_text"])
            for group, metrics in again.items():
                for metric in metrics.keys() - {"n"}:
                    assert values[group, metric] == metrics[metric]
            answerable = {id: golds for id, golds in answers.items() if golds}
            if protocol.endswith("best-span"):
                spans = score(stored["span_text"], answerable)["HasAns"]["f1"]
                assert values["HasAns", "span_f1"] == spans > values["HasAns", "f1"]
            nulls = sum(stored["text"][each.id] == "" for each in questions)
            assert values["ALL", "null_rate"] == 100 * nulls / len(questions)
            assert values["ALL", "best_f1"] >= values["ALL", "f1"]


def test_every_set_group_and_metric_is_there_once_with_its_size() -> None:
    evaluation = _evaluation()
    scores = score_run(always_null(evaluation.windows), evaluation)
    assert all(np.isfinite(each["value"]) for each in scores)
    keys = {(s["split"], s["protocol"], s["group"], s["metric"]) for s in scores}
    metrics = {(group, metric) for group in ("ALL", "HasAns", "NoAns") for metric in ("em", "f1")}
    metrics |= {("ALL", name) for name in ("best_em", "best_f1", "null_rate")}
    metrics |= {("ALL", f"best_{name}_threshold") for name in ("em", "f1")}
    spans = {("HasAns", "span_f1")}
    assert len(keys) == len(scores)
    assert keys == {
        (split, protocol, *pair)
        for split in ("official-dev", "cs224n")
        for protocol in PROTOCOLS
        for pair in metrics | (spans if protocol.endswith("best-span") else set())
    }
    sizes = {(s["split"], s["group"]): s["n"] for s in scores}
    assert sizes == {
        ("official-dev", "ALL"): 11_873,
        ("official-dev", "HasAns"): 5_928,
        ("official-dev", "NoAns"): 5_945,
        ("cs224n", "ALL"): 6_078,
        ("cs224n", "HasAns"): 2_910,
        ("cs224n", "NoAns"): 3_168,
    }
    assert {s["task"] for s in scores} == {"squad2"}
    assert HEADLINE in PROTOCOLS


def test_always_null_scores_the_share_of_unanswerable_questions() -> None:
    evaluation = _evaluation()
    scores = score_run(always_null(evaluation.windows), evaluation)
    for split, value in (("official-dev", 50.07), ("cs224n", 52.12)):
        for protocol in PROTOCOLS:
            values = _values(scores, split, protocol)
            assert {round(values["ALL", name], 2) for name in ("em", "f1", "best_f1")} == {value}
            assert values["ALL", "null_rate"] == 100


def test_a_capped_set_without_answers_has_no_scores_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(f"d{n}", "Rhine" if n else "Force", f"Ann met Bo {n} times.") for n in range(30)]
    write_split(tmp_path, "validation", rows)
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    small = task(
        revision=data_revision("squad2", ("validation",)),
        train="dev-minus-cs224n",
        evaluation="official-dev",
        evaluation_rows=20,
        subset="file-order",
    )
    evaluation = prepare_evaluation(small, minilm())
    assert evaluation.sets == {"official-dev": list(range(20)), "cs224n": [0]}
    assert evaluation.indices == {"legacy": list(range(20)), "overlap": list(range(20))}
    scores = score_run(_outcomes(evaluation, 0.0), evaluation)
    assert {each["group"] for each in scores} == {"ALL", "NoAns"}
    assert {each["value"] for each in scores if each["metric"] in ("em", "f1")} == {100.0}
