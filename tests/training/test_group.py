"""Runs trained together are the runs trained alone; one that diverges harms no other."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import FIVE_ROWS, Watched, compare, group_of, losses, spec_of, trained, watched
from inside_samples import plain
from run_samples import cells
from tiny_models import tiny_bert, tiny_data, tiny_encoder
from torch import Tensor

from repro.backbones.load import Encoder
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.modules.randomness import Dropout
from repro.methods.resadapters.module import Pipelined
from repro.methods.untrained import AlwaysNull
from repro.spec import RunSpec
from repro.training.batches import collate, placed
from repro.training.checkpoint import read_artefact
from repro.training.environment import matrix_products
from repro.training.feed import FrozenStates
from repro.training.group import Group

CPU = torch.device("cpu")

__all__ = ["watched"]
STEPS_AN_EPOCH = -(-len(tiny_data().training) // 4)


def test_five_rows_trained_in_one_group_agree_with_five_trained_alone(
    tmp_path: Path, watched: Watched
) -> None:
    specs = [spec_of(method) for method in FIVE_ROWS]
    assert all(getattr(method, "dropout", 0) == 0.3 for method in FIVE_ROWS)
    together = trained(specs, tmp_path / "all")
    assert len(together.cohorts) == 5
    assert together.steps >= 12
    alone = [trained([spec], tmp_path / str(n)) for n, spec in enumerate(specs)]
    compare(watched, together, alone, steps=12)
    assert len({tuple(losses(together, member)) for member in range(5)}) == 5


def test_runs_of_one_method_stacked_agree_with_the_runs_alone(
    tmp_path: Path, watched: Watched
) -> None:
    own: list[dict[str, Any]] = [
        {"recipe__learning_rate": 1e-3},
        {"recipe__learning_rate": 3e-4, "recipe__clip_norm": None},
        {"recipe__clip_norm": 0.1, "recipe__start_weight": 0.6, "recipe__end_weight": 0.4},
    ]
    specs = [spec_of(cells("resnext", "attention"), **changes) for changes in own]
    together = trained(specs, tmp_path / "all")
    assert [cohort.members for cohort in together.cohorts] == [[0, 1, 2]]
    alone = [trained([spec], tmp_path / str(n)) for n, spec in enumerate(specs)]
    compare(watched, together, alone, steps=12)
    assert losses(together, 0) != losses(together, 1)


def test_a_mixed_group_keeps_each_member_in_its_place(tmp_path: Path) -> None:
    specs = [
        spec_of(LinearProbe(layer=3), recipe__learning_rate=0.01),
        spec_of(AlwaysNull()),
        spec_of(cells("resnet")),
        spec_of(LinearProbe(layer=3), recipe__learning_rate=0.1),
    ]
    group = trained(specs, tmp_path)
    assert [cohort.members for cohort in group.cohorts] == [[0, 3], [1], [2]]
    for member, spec in enumerate(specs):
        if not isinstance(spec.method, AlwaysNull):
            alone = trained([spec], tmp_path / str(member))
            assert losses(group, member) == pytest.approx(losses(alone), rel=1e-5)
            assert [s["epoch"] for s in group.members[member].scores][
                :: len(alone.members[0].scores) // 2
            ] == [1, 2]


def test_always_null_trains_nothing_and_answers_nothing(tmp_path: Path) -> None:
    group = trained([spec_of(AlwaysNull())], tmp_path)
    member = group.members[0]
    assert losses(group) == []
    rates = [s["value"] for s in member.scores if s["metric"] == "null_rate"]
    assert rates
    assert set(rates) == {100.0}
    # 9 questions, every third without an answer: all right on those, wrong on the others
    exact = {s["group"]: s["value"] for s in member.scores if s["metric"] == "em"}
    assert exact == {"ALL": pytest.approx(100 / 3), "HasAns": 0.0, "NoAns": 100.0}
    predictions = json.loads(member.predictions.read_bytes())
    assert {text for found in predictions.values() for text in found["text"].values()} == {""}
    assert read_artefact(member.artefact) == {}


def test_training_lowers_the_loss_and_stores_what_it_trained(tmp_path: Path) -> None:
    spec = spec_of(cells("resnext", "attention"), recipe__epochs=6, recipe__learning_rate=1e-2)
    group = trained([spec], tmp_path)
    found = losses(group)
    assert len(found) == 6 * STEPS_AN_EPOCH
    assert sum(found[-5:]) < 0.8 * sum(found[:5])
    stored = read_artefact(group.members[0].artefact)
    learner = group.cohorts[0].learner
    for name, value in [*learner.named_parameters(), *learner.named_buffers()]:
        assert torch.equal(stored.pop(name), value.detach()[0]), name
    assert stored == {}
    assert group.trained_tokens == 6 * sum(len(w.input_ids) for w in tiny_data().training)


def test_the_frozen_encoder_is_bit_identical_after_training(tmp_path: Path) -> None:
    encoder = tiny_encoder(3)
    before = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    methods: list[Any] = [cells(), LinearProbe(layer=2), FullFineTuning()]
    for number, method in enumerate(methods):
        trained([spec_of(method)], tmp_path / str(number), encoder=encoder)
    after = encoder.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not encoder.model.training


def test_full_fine_tuning_moves_every_parameter_it_trains(tmp_path: Path) -> None:
    encoder = tiny_encoder(3)
    group = trained([spec_of(FullFineTuning())], tmp_path, encoder=encoder)
    stored = read_artefact(group.members[0].artefact)
    for name, value in encoder.model.named_parameters():
        moved = stored[f"encoder.{name}"]
        # a key's bias cancels in the softmax: its gradient is rounding noise around 0
        if "key.bias" not in name:
            assert not torch.equal(moved, value), name
    assert len(stored) > len(list(encoder.model.named_parameters()))  # and a head


# -- micro-batches ---------------------------------------------------------------------------


def test_a_probe_trained_in_micro_batches_equals_whole_batches(
    tmp_path: Path, watched: Watched
) -> None:
    spec = spec_of(LinearProbe(layer=3), recipe__learning_rate=0.05)
    whole = trained([spec], tmp_path / "whole")
    for size in (1, 3):
        split = trained([spec], tmp_path / str(size), micro_batch=size)
        pairs = zip(watched.of(split, 0), watched.of(whole, 0), strict=True)
        for found, expected in pairs:
            scale = float(expected.abs().max())
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6 * scale)
        assert losses(split) == pytest.approx(losses(whole), rel=1e-6)


@pytest.mark.parametrize(
    ("specs", "largest"),
    [
        ([LinearProbe(layer=3)], 2),
        ([FullFineTuning()], 2),
        ([cells("resnext")], 4),
        ([LinearProbe(layer=3), cells("resnext")], 4),
    ],
)
def test_a_method_with_batch_statistics_is_never_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, specs: list[Any], largest: int
) -> None:
    sizes: list[int] = []
    group = group_of([spec_of(method) for method in specs], tmp_path, micro_batch=2)
    for cohort in group.cohorts:
        accumulate = cohort.accumulate

        def noting(inputs: Any, targets: Tensor, share: float, call: Any = accumulate) -> Tensor:
            sizes.append(inputs.input_ids.shape[0])
            found: Tensor = call(inputs, targets, share)
            return found

        monkeypatch.setattr(cohort, "accumulate", noting)
    group.train()
    assert max(sizes) == largest
    assert sum(sizes) == 2 * len(tiny_data().training) * len(specs)


# -- divergence ------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e10, 1e30])
def test_a_member_whose_rate_is_absurd_is_marked_and_the_others_go_on(
    tmp_path: Path, rate: float
) -> None:
    fine = [spec_of(cells("resnet")), spec_of(LinearProbe(layer=1))]
    wild = spec_of(cells("resnet"), recipe__learning_rate=rate, recipe__clip_norm=None)
    reference = trained(fine, tmp_path / "without")
    events: list[dict[str, Any]] = []
    group = trained([fine[0], wild, fine[1]], tmp_path / "with", report=events.append)
    assert [cohort.members for cohort in group.cohorts] == [[0, 1], [2]]
    assert losses(group, 0) == losses(reference, 0)
    assert losses(group, 2) == losses(reference, 1)
    assert group.members[0].scores == reference.members[0].scores
    check_diverged(group, 1, events)


def check_diverged(group: Group, member: int, events: list[dict[str, Any]]) -> None:
    """Marked once at a step, silent afterwards, without predictions."""
    wild = group.members[member]
    assert wild.diverged_at is not None
    news = {"event": "diverged", "run": wild.key, "step": wild.diverged_at}
    assert [e for e in events if e["event"] == "diverged"] == [news]
    assert len(losses(group, member)) <= wild.diverged_at
    assert all(math.isfinite(loss) for loss in losses(group, member))
    assert not wild.predictions.exists()
    later = [e for e in events[events.index(news) :] if e["event"] == "step"]
    assert all(wild.key not in e["losses"] for e in later)


@pytest.mark.parametrize("at", [1, 3, STEPS_AN_EPOCH, 2 * STEPS_AN_EPOCH])
def test_a_nan_in_one_members_parameters_stays_with_that_member(tmp_path: Path, at: int) -> None:
    specs = [spec_of(cells("plain", "attention"), recipe__learning_rate=r) for r in (1e-3, 2e-3)]
    reference = trained(specs, tmp_path / "healthy")
    events: list[dict[str, Any]] = []
    group = group_of(specs, tmp_path / "sick")
    values = group.cohorts[0].parameters.values

    def poison(event: dict[str, Any]) -> None:
        events.append(event)
        if event["event"] == "step" and event["step"] == at:
            values[1] = float("nan")

    group.report = poison
    group.train()
    assert losses(group, 0) == losses(reference, 0)
    assert group.members[0].scores == reference.members[0].scores
    assert group.members[0].diverged_at is None
    check_diverged(group, 1, events)
    # it is met at the next step's loss, or by the evaluation before there is one
    assert group.members[1].diverged_at == (at if at % STEPS_AN_EPOCH == 0 else at + 1)


def test_a_gradient_that_overflows_ends_its_member_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [spec_of(cells("resnet"), recipe__learning_rate=rate) for rate in (1e-3, 2e-3)]
    reference = trained(specs, tmp_path / "healthy")
    events: list[dict[str, Any]] = []
    group = group_of(specs, tmp_path / "sick", report=events.append)
    accumulate, seen = group.cohorts[0].parameters.accumulate, []

    def overflowing(loss: Tensor) -> None:
        accumulate(loss)
        seen.append(loss)
        if len(seen) == 3:  # elements whose squares, and so whose norm, leave fp32
            group.cohorts[0].parameters.gradients[1] = 1e25

    monkeypatch.setattr(group.cohorts[0].parameters, "accumulate", overflowing)
    group.train()
    assert losses(group, 0) == losses(reference, 0)
    check_diverged(group, 1, events)
    assert group.members[1].diverged_at == 3


# -- precision -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [cells("resnext", "attention"), cells("plain", "gelu"), LinearProbe(layer=2)]
)
def test_bf16_trains_on_a_cpu_and_parameters_stay_fp32(tmp_path: Path, method: Any) -> None:
    exact = trained([spec_of(method)], tmp_path / "fp32")
    group = trained([spec_of(method, recipe__precision="bf16")], tmp_path / "bf16")
    cohort = group.cohorts[0]
    for tensor in cohort.state().values():
        assert tensor.dtype in (torch.float32, torch.uint8)
        assert torch.isfinite(tensor.float()).all()
    # bf16 keeps 8 bits: losses agree to about a hundredth, and are not equal
    assert losses(group) == pytest.approx(losses(exact), rel=0.1)
    assert losses(group) != losses(exact)


def test_in_bf16_shared_states_are_those_of_a_run_inside_the_encoder() -> None:
    """Weights and residuals that are rounded, too, would differ by a hundredth."""
    encoder, data = Encoder(tiny_bert(6), None), tiny_data()
    batch = collate(data.training[:4], data.pad_id)
    inputs = placed(batch, CPU)
    exact, shared = (
        inputs.layout.pack(FrozenStates(encoder, CPU, precision)._encode(batch)[-1])
        for precision in ("fp32", "bf16")
    )
    learner = plain(encoder, spans=True)
    with torch.no_grad(), matrix_products("bf16", CPU):
        inside = learner.start(inputs, Dropout([]))
        for index in range(learner.layers):
            inside = learner.run_layer(index, inside)
    size = exact.norm()
    assert shared.dtype == inside.dtype == torch.float32
    assert (shared - inside[0]).norm() < 1e-4 * size
    assert (shared - exact).norm() > 1e-3 * size


def test_bf16_fine_tunes_an_fp32_encoder(tmp_path: Path) -> None:
    group = trained([spec_of(FullFineTuning(), recipe__precision="bf16")], tmp_path)
    assert group.members[0].diverged_at is None
    assert all(p.dtype == torch.float32 for p in group.cohorts[0].learner.parameters())


def test_learners_are_the_ones_asked_for(tmp_path: Path) -> None:
    specs: list[RunSpec] = [spec_of(cells("resnet", "gelu")), spec_of(LinearProbe(layer=2))]
    group = group_of(specs, tmp_path)
    first, second = (cohort.learner for cohort in group.cohorts)
    assert isinstance(first, Pipelined)
    assert first.spec.nonlinearity == "gelu"
    assert [type(second).__name__, second.layer] == ["Probe", 2]
