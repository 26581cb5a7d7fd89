"""Stored predictions give the scores again: from the rows alone, without tokenizer or model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tagging_samples import tagging_task
from tiny_models import minilm_tokenizer
from written_samples import made

from repro.backbones.tiny_t5 import tiny_tokenizer
from repro.spec import GlueTask, SquadTask, Task, TextToText
from repro.spec.text_to_text import MIXTURE
from repro.store.strict_json import json_bytes

SIZES = "seed=0,train=30,validation=12"
TASKS: dict[str, Task] = {
    "classes": GlueTask(name="mrpc", source="generated", revision=SIZES),
    "numbers": GlueTask(name="stsb", source="generated", revision=SIZES, evaluation_rows=8),
    "two splits": GlueTask(name="mnli", source="generated", revision=SIZES),
    "development rows": GlueTask(
        name="qqp", source="generated", revision=SIZES, train_rows=12, development=0.25
    ),
    "spans": SquadTask(
        source="generated", train="generated", evaluation="generated", revision=SIZES, max_length=48
    ),
    "tags": tagging_task(SIZES, max_length=12),
    "texts": made(*MIXTURE, revision=SIZES),
}
OF_THE_TOKENIZER = {"read_share"}


def scored(task: Task) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The scores of random outputs after an epoch, and the predictions as they are stored."""
    chance = np.random.default_rng(0)
    written = isinstance(task, TextToText)
    tokenizer = tiny_tokenizer() if written else minilm_tokenizer()
    data = task.load(tokenizer)
    collector = data.collector()
    for index, example in enumerate(data.evaluation):
        length = len(example.input_ids)
        if written:
            text = chance.choice(["0", "1", "2", "3.6", "-2.0", "none", " 1 ", ""])
            outputs = np.array([tokenizer(str(text)).input_ids])
        elif isinstance(task, SquadTask):
            outputs = chance.normal(size=(2, 1, length)).astype(np.float32)
        elif isinstance(task, GlueTask):
            outputs = chance.normal(size=(1, data.facts.outputs)).astype(np.float32)  # type: ignore[attr-defined]
        else:
            outputs = chance.normal(size=(1, length, 9)).astype(np.float32)
        collector.add([index], outputs)
    stored = json.loads(json_bytes(collector.predictions()))
    return collector.scores(3), stored


@pytest.mark.parametrize("kind", TASKS)
def test_scores_made_from_stored_predictions_are_those_of_the_run(kind: str) -> None:
    scores, document = scored(TASKS[kind])
    found = sorted(json.dumps({**one, "epoch": 3}) for one in TASKS[kind].rescored(document))
    kept = [score for score in scores if score["metric"] not in OF_THE_TOKENIZER]
    assert found == sorted(map(json.dumps, kept))
    assert len({score["value"] for score in kept}) > 1


@pytest.mark.parametrize("kind", TASKS)
def test_predictions_of_other_rows_are_refused(kind: str) -> None:
    _, document = scored(TASKS[kind])
    first = next(iter(document.values()))
    first = first["validation"] if kind == "texts" else first
    if kind == "spans":
        first["text"]["another"] = first["text"].pop(next(iter(first["text"])))
    else:
        first["ids"] = first["ids"][::-1]
    with pytest.raises(ValueError, match="of other rows than the data here"):
        list(TASKS[kind].rescored(document))


def test_right_answers_of_span_corruption_need_the_tokenizer_and_are_left_out() -> None:
    task = made("span-corruption", revision=SIZES)
    assert list(task.rescored(scored(task)[1])) == []
