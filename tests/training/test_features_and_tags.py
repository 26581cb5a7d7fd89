"""Groups of frozen features, and of tags out of the encoder: resumed, split, alone or together."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import Watched, compare, group_of, losses, remains, trained, watched
from inside_groups import adapters, data_of, inside_spec
from run_samples import run_spec
from tagging_samples import tagging_data, tagging_task
from tiny_models import tiny_bert, tiny_encoder

from repro.methods.fine_tuning import FullFineTuning
from repro.methods.frozen_features import FrozenFeatures
from repro.methods.modules.randomness import Dropout, generator
from repro.spec import RunSpec
from repro.spec.method import Method
from repro.spec.tagging import UNTAGGED
from repro.tasks.data import TaskData
from repro.training import feed
from repro.training import group as group_module
from repro.training.batches import collate, placed
from repro.training.checkpoint import read_artefact
from repro.training.cohort import cohorts_of
from repro.training.losses import tag_loss

__all__ = ["watched"]
FEATURES = FrozenFeatures(units=6, dropout=0.3)


class Cut(Exception):
    """Stands for a kill."""


def features_spec(seed: int = 0, name: str = "cola", **changes: Any) -> RunSpec:
    return inside_spec(FEATURES, seed, name, **changes)


def tags_spec(method: Method, seed: int = 0, **changes: Any) -> RunSpec:
    task = tagging_task("seed=0,train=16,validation=6")
    return run_spec(method, seed, **({"backbone__layers": 3, "task": task} | changes))


@lru_cache
def tags_data() -> TaskData:
    return tagging_data(16, 6)


@pytest.fixture(autouse=True)
def _small_evaluation_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_module, "EVALUATION_TOKENS", {"cpu": 120})
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def cut_at(specs: list[RunSpec], work: Path, data: TaskData, cut: int | None) -> dict[str, bytes]:
    """What a group leaves that is cut at its event number `cut` and given again."""
    seen = 0

    def report(event: dict[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if cut is not None and seen == cut:
            raise Cut

    if cut is not None:
        group = group_of(specs, work, data=data, report=report, checkpoint_steps=2)
        with pytest.raises(Cut):
            group.train()
        cut = None
    return remains(trained(specs, work, data=data, checkpoint_steps=2))


KINDS: dict[str, tuple[Method, str]] = {
    "features of classes": (FEATURES, "cola"),
    "features of tags": (FEATURES, "tags"),
    "fine-tuned tags": (FullFineTuning(), "tags"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_that_was_cut_leaves_the_same_bytes(kind: str, tmp_path: Path) -> None:
    method, name = KINDS[kind]
    tags = name == "tags"
    data = tags_data() if tags else data_of(name)
    specs = [
        (tags_spec(method, seed) if tags else inside_spec(method, seed, name)).model_copy(
            update={"recipe": run_spec(recipe__keep="best").recipe}
        )
        for seed in ((0,) if isinstance(method, FullFineTuning) else (0, 1))
    ]
    whole = cut_at(specs, tmp_path / "whole", data, None)
    assert cut_at(specs, tmp_path / "cut", data, 13) == whole


def test_features_of_several_seeds_agree_with_each_run_alone(
    tmp_path: Path, watched: Watched
) -> None:
    specs = [
        features_spec(0),
        features_spec(1),
        features_spec(0, recipe__learning_rate=1e-2),
        inside_spec(FrozenFeatures(units=4), 1),
    ]
    assert cohorts_of(specs) == [[0], [1], [2], [3]]  # an LSTM has no run axis
    together = trained(specs, tmp_path / "all", data=data_of())
    alone = [trained([s], tmp_path / str(n), data=data_of()) for n, s in enumerate(specs)]
    compare(watched, together, alone, steps=together.steps)
    assert len({tuple(losses(together, member)) for member in range(4)}) == 4


def test_kept_states_give_the_numbers_of_computed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = trained([features_spec()], tmp_path / "kept", data=data_of())
    assert len(kept.feed.states._kept) == len(kept.data.training) + len(kept.data.evaluation)
    monkeypatch.setattr(feed, "MOST_BYTES", 0)
    computed = trained([features_spec()], tmp_path / "computed", data=data_of())
    assert not computed.feed.states._kept
    assert losses(kept) == pytest.approx(losses(computed), rel=1e-4)


@pytest.mark.parametrize("method", [FEATURES, FullFineTuning(dropout=0.0)], ids=lambda m: m.kind)
def test_tags_trained_in_micro_batches_equal_whole_batches(
    method: Method, tmp_path: Path, watched: Watched
) -> None:
    if isinstance(method, FrozenFeatures):
        method = FrozenFeatures(units=6, dropout=0.0)
    spec = tags_spec(method, recipe__learning_rate=1e-4)
    whole = trained([spec], tmp_path / "whole", data=tags_data())
    split = trained([spec], tmp_path / "split", data=tags_data(), micro_batch=1)
    compare(watched, split, [whole], steps=3)


def test_an_artefact_read_back_gives_the_stored_outputs(tmp_path: Path) -> None:
    group = trained([features_spec()], tmp_path, data=data_of())
    tensors = read_artefact(group.members[0].artefact)
    learner = features_spec().learner(1, tiny_encoder(3))
    assert set(tensors) == {name for name, _ in learner.named_parameters()}
    learner.load_state_dict(tensors)
    examples = list(group.data.evaluation)
    inputs = placed(collate(examples, group.data.pad_id), torch.device("cpu"))
    [cohort] = group.cohorts
    dropout = Dropout([])
    dropout.active = False
    with torch.no_grad():
        states = tiny_encoder(3).states(inputs.input_ids, inputs.attention_mask, inputs.type_ids)
        packed = [inputs.layout.pack(state) for state in states]
        inputs = type(inputs)(
            inputs.input_ids, inputs.attention_mask, inputs.type_ids, inputs.layout, packed
        )
        torch.testing.assert_close(learner(inputs, dropout), cohort.evaluate(inputs))


def test_the_encoder_tags_every_token_with_the_librarys_states() -> None:
    spec, examples = tags_spec(FullFineTuning(dropout=0.0)), tags_data().training[:3]
    learner = spec.learner(1, tiny_encoder(3))
    learner.initialise([generator("cpu", "init", 0)])
    batch = collate(examples, 0, length=30)
    found = learner(placed(batch, torch.device("cpu")), Dropout([])).detach()
    assert found.shape == (1, 3, 30, 9)
    states = tiny_bert(3)(
        input_ids=batch.input_ids,
        attention_mask=batch.attention_mask,
        token_type_ids=batch.type_ids,
    ).last_hidden_state
    head = dict(learner.named_parameters())
    expected = states @ head["head.scorer.weight"] + head["head.scorer.bias"]
    real = batch.attention_mask.bool()
    torch.testing.assert_close(found[0][real], expected[real].detach(), rtol=1e-4, atol=1e-5)
    assert bool(torch.isfinite(found).all())


def test_dropout_before_the_tags_is_drawn_by_the_run() -> None:
    spec = tags_spec(adapters(pooler="frozen", dropout=0.5))
    learner = spec.learner(1, tiny_encoder(3))
    learner.initialise([generator("cpu", "init", 0)])
    inputs = placed(collate(tags_data().training[:2], 0), torch.device("cpu"))
    found = [
        learner(inputs, Dropout([generator("cpu", "dropout", seed)])).detach() for seed in (0, 0, 1)
    ]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_the_loss_of_tags_is_the_mean_over_sentences_of_their_tagged_tokens() -> None:
    draw = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 2, 4, 9, generator=draw)
    targets = torch.tensor([[[UNTAGGED, 3, UNTAGGED, 0], [UNTAGGED, 8, UNTAGGED, UNTAGGED]]])
    logs = outputs.log_softmax(3)
    for run, loss in enumerate(tag_loss(outputs, targets)):
        first = -(logs[run, 0, 1, 3] + logs[run, 0, 3, 0]) / 2
        second = -logs[run, 1, 1, 8]
        assert float(loss) == pytest.approx(float((first + second) / 2))
