"""Logits that come batch by batch in any order are scored as if they had come at once."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import tiny_data

from repro.methods.modules.randomness import stream_seed
from repro.tasks.squad2.protocols import HEADLINE, score_run
from repro.tasks.squad2.task import SquadCollector
from repro.training.batches import length_sorted

DATA = tiny_data()
EVALUATION = DATA.scoring
DRAW = np.random.default_rng(stream_seed("logits"))
LOGITS = DRAW.normal(size=(2, len(EVALUATION.windows), 32)).astype(np.float32)


def collected(batches: list[list[int]]) -> SquadCollector:
    collector = DATA.collector()
    for indices in batches:
        longest = max(len(EVALUATION.windows[i].input_ids) for i in indices)
        collector.add(indices, LOGITS[:, indices, :longest])
    return collector


@pytest.mark.parametrize("tokens", [1, 70, 10_000])
def test_the_order_and_size_of_batches_do_not_matter(tokens: int) -> None:
    whole = collected([list(range(len(EVALUATION.windows)))])
    parts = collected(length_sorted(EVALUATION.windows, tokens))
    assert parts.predictions() == whole.predictions()
    assert parts.scores(1) == whole.scores(1)


def test_every_score_names_its_epoch_and_the_headline_is_a_part_of_them() -> None:
    collector = collected([list(range(len(EVALUATION.windows)))])
    scores = collector.scores(3)
    outcomes = collector.outcomes()
    assert [{**score, "epoch": 3} for score in score_run(outcomes, EVALUATION)] == scores
    chosen = {
        s["metric"]: s["value"] for s in scores if s["protocol"] == HEADLINE and s["group"] == "ALL"
    }
    assert DATA.headline(scores) == {
        f"generated/{name}": chosen[name] for name in ("em", "f1", "null_rate")
    }
