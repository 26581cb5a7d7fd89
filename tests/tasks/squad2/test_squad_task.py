"""SQuAD 2.0 as the training loop sees it: logits that come batch by batch, and their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_models import tiny_data

from repro.methods.modules.randomness import stream_seed
from repro.tasks.data import TaskData
from repro.tasks.squad2.task import HEADLINE, SquadCollector, score_run
from repro.training.batches import length_sorted

DATA = tiny_data()
DRAW = np.random.default_rng(stream_seed("logits"))
LOGITS = DRAW.normal(size=(2, len(DATA.evaluation), 32)).astype(np.float32)


def collected(batches: list[list[int]]) -> SquadCollector:
    collector = DATA.collector()
    for indices in batches:
        longest = max(len(DATA.evaluation[i].input_ids) for i in indices)
        collector.add(indices, LOGITS[:, indices, :longest])
    return collector


def whole() -> SquadCollector:
    return collected([list(range(len(DATA.evaluation)))])


def null_rates(**rates: float) -> list[dict[str, Any]]:
    fixed = {"protocol": HEADLINE, "metric": "null_rate", "group": "ALL"}
    return [{**fixed, "split": split, "value": rate} for split, rate in rates.items()]


def test_it_is_what_the_training_loop_asks_for() -> None:
    data: TaskData = DATA
    assert data.evaluation is DATA.scoring.windows


@pytest.mark.parametrize("tokens", [1, 70, 10_000])
def test_the_order_and_size_of_batches_do_not_matter(tokens: int) -> None:
    parts = collected(length_sorted(DATA.evaluation, tokens))
    assert parts.predictions() == whole().predictions()
    assert parts.scores(1) == whole().scores(1)


def test_every_score_names_its_epoch_and_the_headline_is_a_part_of_them() -> None:
    scores = whole().scores(3)
    found = score_run(whole().outcomes(), DATA.scoring)
    assert scores == [{**score, "epoch": 3} for score in found]
    chosen = {
        s["metric"]: s["value"] for s in scores if s["protocol"] == HEADLINE and s["group"] == "ALL"
    }
    assert DATA.headline(scores) == {
        f"generated/{name}": chosen[name] for name in ("em", "f1", "null_rate")
    }
    assert DATA.monitor(scores) == chosen["f1"]
    assert DATA.monitor([]) is None


def test_logits_that_are_not_finite_are_refused() -> None:
    collector = DATA.collector()
    logits = LOGITS[:, :1].copy()
    logits[1, 0, 0] = np.nan
    with pytest.raises(FloatingPointError):
        collector.add([0], logits)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"generated": 100.0}, True),
        ({"generated": 99.9}, False),
        ({"official-dev": 100.0, "cs224n": 100.0}, True),
        ({"official-dev": 99.9, "cs224n": 100.0}, False),
        ({}, False),
    ],
)
def test_a_run_is_collapsed_that_answers_nothing(rates: dict[str, float], expected: bool) -> None:
    assert DATA.collapsed(null_rates(**rates)) is expected
