"""Adaptable adapters: switches, AdapterDrop, chosen layers, and what each trains."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from inside_samples import (
    MNLI,
    adapters,
    batch_of,
    dropout_of,
    encoder_of,
    joined,
    learner_of,
    no_dropout,
    plain,
)
from run_samples import RECIPE, changed, run_spec
from torch import Tensor

from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.methods.adaptable_adapters.module import Adaptable, AdaptableAdapter, first_dropped
from repro.methods.inside.learner import Inside
from repro.methods.inside.passing import Pass
from repro.methods.modules.counting import count_modules
from repro.methods.modules.randomness import Dropout
from repro.spec import RunSpec
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN
from repro.training.optimizer import AdamW, FlatParameters

LAYERS, HIDDEN = 3, 32


def adaptable(**changes: Any) -> AdaptableAdapters:
    """Of size 8, large enough to be seen, without dropout."""
    fields: dict[str, Any] = {
        "size": 8, "activation": "rational", "init_std": 0.3, "dropout": 0.0,
    }  # fmt: skip
    return AdaptableAdapters(**(fields | changes))


def switches(learner: Inside) -> list[AdaptableAdapter]:
    assert isinstance(learner.added, Adaptable)
    return list(learner.added)


def switch(learner: Inside, kept: set[int], run: int = 0) -> None:
    """The switches of `kept` layers select the adapter, all others the identity."""
    with torch.no_grad():
        for adapter in switches(learner):
            assert adapter.logits is not None
            on = adapter.layer in kept
            adapter.logits[run, 0] = torch.tensor([0.0, 1.0] if on else [1.0, 0.0])


def give(to: Inside, of: Inside) -> None:
    """Parameters of the same name."""
    known = dict(of.named_parameters())
    with torch.no_grad():
        for name, parameter in to.named_parameters():
            parameter.copy_(known[name])


def evaluated(learner: Inside, rows: list[int]) -> Tensor:
    learner.eval()
    with torch.no_grad():
        found: Tensor = learner(batch_of(rows), no_dropout(learner.runs))
    return found


def begun(sizes: list[int], runs: int, dropout: Dropout) -> Pass:
    """A pass through a batch of rows of so many tokens."""
    now = Pass(0.0)
    now.begin(batch_of(sizes).layout, runs, dropout)
    return now


ROWS = [5, 7, 4, 6]


# -- switches ---------------------------------------------------------------------------------


def test_switched_off_everywhere_is_the_frozen_encoder_bit_for_bit() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner, frozen = learner_of(adaptable(switch="as-run"), encoder), plain(encoder)
    switch(learner, set())
    give(frozen, learner)  # its head
    assert torch.equal(evaluated(learner, ROWS), evaluated(frozen, ROWS))


@pytest.mark.parametrize("kept", [{0}, {1, 2}, {0, 1, 2}])
def test_hard_switches_are_adapters_in_the_selected_layers(kept: set[int]) -> None:
    encoder = encoder_of("bert", LAYERS)
    learner = learner_of(adaptable(switch="as-run"), encoder)
    focused = learner_of(adaptable(layers=tuple(sorted(kept))), encoder)
    switch(learner, kept)
    give(focused, learner)
    assert learner.selected(0) == focused.selected(0) == sorted(kept)
    assert torch.equal(evaluated(learner, ROWS), evaluated(focused, ROWS))


def test_a_tie_selects_the_identity() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner, frozen = learner_of(adaptable(switch="as-run"), encoder), plain(encoder)
    give(frozen, learner)
    assert learner.selected(0) == []
    assert torch.equal(evaluated(learner, ROWS), evaluated(frozen, ROWS))


def test_without_rational_and_switch_it_is_adapterhubs_pfeiffer_adapter() -> None:
    encoder = encoder_of("bert", LAYERS)
    ours = learner_of(adaptable(activation="relu"), encoder)
    other = learner_of(
        adapters(placement="pfeiffer", nonlinearity="relu", init="normal", dropout=0.0), encoder
    )
    assert torch.equal(evaluated(ours, ROWS), evaluated(other, ROWS))


def test_selection_frequencies_agree_with_the_logits() -> None:
    """Gumbel's maximum falls on element k with softmax's probability, whatever tau; at 0.1 the
    greater weight tells which. Of 40,000 draws, six deviations: a false alarm in 5e8.
    """
    encoder = encoder_of("bert", 1)
    rows, rounds = 40, 1000
    for gap in (0.0, 0.8, -1.5):
        learner = learner_of(adaptable(switch="as-run"), encoder)
        (adapter,) = switches(learner)
        assert adapter.logits is not None
        with torch.no_grad():
            adapter.logits[0, 0] = torch.tensor([0.2, 0.2 + gap])
        now = begun([1] * rows, 1, dropout_of(3))
        with torch.no_grad():
            drawn = torch.cat([adapter.weights(now) for _ in range(rounds)])
        assert torch.allclose(drawn.sum(1), torch.ones(rows * rounds), atol=1e-6)
        share = float((drawn[:, 1] > 0.5).double().mean())
        expected = 1 / (1 + math.exp(-gap))
        deviation = math.sqrt(expected * (1 - expected) / (rows * rounds))
        assert abs(share - expected) < 6 * deviation


def test_the_weights_are_soft_and_their_spread_is_that_of_the_temperature() -> None:
    """w_1 = sigmoid(G / tau) with G logistic: P(0.1 < w_1 < 0.9) = 2 F(tau ln 9) - 1."""
    encoder, rows, rounds = encoder_of("bert", 1), 50, 400
    for tau in (0.1, 1.0):
        (adapter,) = switches(learner_of(adaptable(switch="as-run", temperature=tau), encoder))
        now = begun([1] * rows, 1, dropout_of(5))
        with torch.no_grad():
            drawn = torch.cat([adapter.weights(now)[:, 1] for _ in range(rounds)])
        expected = 2 / (1 + math.exp(-tau * math.log(9))) - 1
        share = float(((drawn > 0.1) & (drawn < 0.9)).double().mean())
        assert abs(share - expected) < 6 * math.sqrt(expected * (1 - expected) / (rows * rounds))


def test_noise_is_drawn_once_for_an_example_and_anew_for_the_next_layer() -> None:
    learner = learner_of(adaptable(switch="as-run"), encoder_of("bert", LAYERS))
    first, second, _ = switches(learner)
    now = begun(ROWS, 1, dropout_of(1))
    with torch.no_grad():
        one, other = first.weights(now), second.weights(now)
    parts = torch.split(one, ROWS)
    assert all(torch.equal(part, part[:1].expand_as(part)) for part in parts)
    assert len({float(part[0, 1]) for part in parts}) == len(ROWS)
    assert not torch.equal(one, other)


def test_a_run_draws_the_same_alone_and_beside_another() -> None:
    encoder = encoder_of("bert", LAYERS)
    both = learner_of(adaptable(switch="as-run", dropout=0.1), encoder, (0, 1))
    alone = learner_of(adaptable(switch="as-run", dropout=0.1), encoder, (1,))
    batches = [batch_of(ROWS, seed=1), batch_of([3, 8, 2, 5], seed=2)]
    together = both(joined(batches), dropout_of(0, 1))
    torch.testing.assert_close(together[1:], alone(batches[1], dropout_of(1)))


@pytest.mark.parametrize("kind", ["as-run", "paper-no-skip", "released"])
def test_both_branches_are_those_of_the_equations(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (adapter,) = switches(learner_of(adaptable(switch=kind), encoder_of("bert", 1)))
    now = begun([3, 2], 1, no_dropout())
    draw = torch.Generator().manual_seed(0)
    z, x, h = (torch.randn(1, 5, HIDDEN, generator=draw) for _ in range(3))
    weights = torch.tensor([[0.3, 0.7]] * 3 + [[0.9, 0.1]] * 2)
    monkeypatch.setattr(adapter, "weights", lambda now: weights)
    with torch.no_grad():
        f = adapter.change(x, now)
        w0, w1 = weights[:, :1], weights[:, 1:]
        mixed = {
            "as-run": w0 * z + w1 * (z + f),
            "paper-no-skip": (z - h) + w0 * h + w1 * f,
            "released": z + w0 * x + w1 * f,
        }[kind]
        torch.testing.assert_close(adapter.train()(z, x, h, now), mixed)
        adapter.eval()
        assert adapter.logits is not None
        for on in (True, False):
            adapter.logits[0, 0] = torch.tensor([0.0, float(on) - 0.5])
            hard = {
                "as-run": z + f if on else z,
                "paper-no-skip": z - h + f if on else z,
                "released": z + f if on else z + x,
            }[kind]
            torch.testing.assert_close(adapter(z, x, h, now), hard)


# -- AdapterDrop ------------------------------------------------------------------------------


def test_dropped_layers_are_uniform_and_repeatable() -> None:
    """A chi-square of 5 degrees of freedom is above 41 once in 1e7 samples."""
    drops, draws = 5, 6000
    found = Counter(first_dropped(drops, seed=7, step=step) for step in range(1, draws + 1))
    assert set(found) == set(range(drops + 1))
    expected = draws / (drops + 1)
    assert sum((n - expected) ** 2 / expected for n in found.values()) < 41
    assert first_dropped(drops, 7, 1) == first_dropped(drops, 7, 1)
    assert [first_dropped(drops, 8, s) for s in range(20)] != [
        first_dropped(drops, 9, s) for s in range(20)
    ]


def test_dropped_layers_have_no_adapter_and_learn_nothing_in_that_step() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner = learner_of(adaptable(activation="relu", drops=2), encoder)
    step = next(s for s in range(1, 50) if first_dropped(2, 4, s) == 2)
    learner.prepare(step, [4])
    given = batch_of(ROWS)
    dropped = learner(given, no_dropout())
    flat = FlatParameters(learner)
    flat.accumulate(learner(given, no_dropout()).square().sum())
    gradients = dict(zip([n for n, _ in learner.named_parameters()], flat._gradients, strict=True))
    moved = {name.split(".")[1] for name, g in gradients.items() if "adaptable" in name and g.any()}
    assert moved == {"2"}
    last = learner_of(adaptable(activation="relu", layers=(2,)), encoder)
    give(last, learner)
    assert torch.equal(dropped, last(given, no_dropout()))


def test_runs_of_a_step_leave_out_layers_of_their_own() -> None:
    encoder = encoder_of("bert", LAYERS)
    seeds = (0, 1)
    step = next(s for s in range(1, 50) if {first_dropped(2, i, s) for i in seeds} == {0, 2})
    both = learner_of(adaptable(activation="relu", drops=2), encoder, seeds)
    both.prepare(step, seeds)
    batches = [batch_of(ROWS, seed=1), batch_of([3, 8, 2, 5], seed=2)]
    together = both(joined(batches), no_dropout(2))
    for run, seed in enumerate(seeds):
        alone = learner_of(adaptable(activation="relu", drops=2), encoder, (seed,))
        alone.prepare(step, (seed,))
        torch.testing.assert_close(together[run : run + 1], alone(batches[run], no_dropout()))


def test_evaluation_drops_nothing() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner = learner_of(adaptable(activation="relu", drops=2), encoder)
    whole = learner_of(adaptable(activation="relu"), encoder)
    learner.prepare(next(s for s in range(1, 50) if first_dropped(2, 0, s) == 2), [0])
    assert torch.equal(evaluated(learner, ROWS), evaluated(whole, ROWS))


# -- counts and rates -------------------------------------------------------------------------


def of(method: AdaptableAdapters, backbone: str) -> RunSpec:
    return run_spec(method, task=MNLI).model_copy(update={"backbone": KNOWN[backbone]})


def test_counts_are_those_of_the_paper_and_of_the_modules() -> None:
    """131K and 3.1M are weights alone, 1.7M is 13 layers of them (section 4.3, 5)."""
    d, m, classifier, large = 1024, 64, 3 * 1024 + 3, KNOWN[BERT_LARGE]
    assert 2 * d * m == 131_072
    assert 24 * 2 * d * m == 3_145_728
    assert 2 * 768 * 48 == 73_728
    thirteen = AdaptableAdapters(size=m, activation="rational", layers=tuple(range(11, 24)))
    both = AdaptableAdapters(size=m, activation="rational", switch="as-run")
    bare = AdaptableAdapters(size=m, activation="relu")
    assert thirteen.added_parameters(large) == 1_718_210
    assert both.added_parameters(large) == 3_172_128
    assert bare.added_parameters(large) == 3_171_840
    per_rational = AdaptableAdapters(size=m, activation="rational")
    assert per_rational.added_parameters(large) - 3_171_840 == 24 * 10
    for method in (thirteen, both, bare):
        spec = of(method, BERT_LARGE)
        counted = count_modules(spec)
        assert sum(counted.values()) == spec.trained_parameters()
        assert counted["adapters"] + classifier == spec.trained_parameters()
    base = of(AdaptableAdapters(size=48, activation="relu"), BERT_BASE)
    assert count_modules(base)["adapters"] == 12 * 74_544 == 894_528


def test_a_chosen_architecture_without_layers_trains_the_classifier_alone() -> None:
    spec = of(AdaptableAdapters(size=64, activation="rational", layers=()), BERT_LARGE)
    assert count_modules(spec)["adapters"] == 0
    assert spec.trained_parameters() == 3 * 1024 + 3


def test_three_learning_rates_are_those_of_torchs_parameter_groups() -> None:
    learner = learner_of(adaptable(switch="as-run", start="one"), encoder_of("bert", LAYERS))
    recipe = RECIPE
    settings = {
        "learning_rate": 1e-4, "switch_rate": 0.05, "rational_rate": 0.01, "schedule": "linear",
        "warmup": 0.0, "bias_correction": True, "weight_decay": 0.0, "clip_norm": 1.0,
    }  # fmt: skip
    for name, value in settings.items():
        recipe = changed(recipe, (name,), value)
    steps, rates = 6, {"logits": 0.05, "numerator": 0.01, "denominator": 0.01}
    named = {name: p.detach().clone().requires_grad_() for name, p in learner.named_parameters()}
    groups = [
        {"params": [p], "lr": rates.get(name.rpartition(".")[2], 1e-4)} for name, p in named.items()
    ]
    theirs = torch.optim.Adam(
        groups, betas=(recipe.adam_beta1, recipe.adam_beta2), eps=recipe.adam_eps
    )
    decay = torch.optim.lr_scheduler.LambdaLR(theirs, lambda step: (steps - step) / steps)
    flat = FlatParameters(learner)
    ours = AdamW(flat, [recipe], steps)
    given, noise = batch_of(ROWS), (dropout_of(0), dropout_of(0))
    copy = learner_of(adaptable(switch="as-run"), encoder_of("bert", LAYERS))
    for step in range(1, steps + 1):
        flat.accumulate(learner(given, noise[0]).square().mean())
        ours.step(step)
        give(copy, _holder(named, copy))
        loss = copy(given, noise[1]).square().mean()
        found = torch.autograd.grad(loss, list(copy.parameters()))
        for (name, _), gradient in zip(copy.named_parameters(), found, strict=True):
            named[name].grad = gradient
        torch.nn.utils.clip_grad_norm_(list(named.values()), 1.0)
        theirs.step()
        decay.step()
    for name, parameter in learner.named_parameters():
        torch.testing.assert_close(parameter, named[name].detach(), rtol=1e-4, atol=1e-6)


def _holder(named: dict[str, Tensor], like: Inside) -> Any:
    class Holder:
        def named_parameters(self) -> list[tuple[str, Tensor]]:
            return [(name, named[name]) for name, _ in like.named_parameters()]

    return Holder()


def test_inputs_of_activations_are_those_of_the_evaluation() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner = learner_of(adaptable(), encoder)
    (first, *_) = switches(learner)
    seen: list[Tensor] = []
    assert first.rational is not None
    first.rational.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    evaluated(learner, ROWS)
    evaluated(learner, [9, 3])
    found = learner.activations(0)[0]
    assert found.low == min(float(x.min()) for x in seen)
    assert found.high == max(float(x.max()) for x in seen)
    learner.forget_inputs()
    assert learner.activations(0)[0].low == math.inf
