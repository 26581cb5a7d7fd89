"""Full fine-tuning against the library's own model, and its dropout's independence."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from run_samples import run_spec
from tiny_models import real_tokens, tiny_encoder
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.methods import build
from repro.methods.full_fine_tuning import FineTuned
from repro.methods.layout import Layout
from repro.methods.learner import Inputs
from repro.methods.randomness import Dropout, generator
from repro.spec import FullFineTuning

LAYERS = 3
REAL = real_tokens([8, 5, 3], 8)


def tuned(rate: float, encoder: Encoder | None = None, seed: int = 0) -> FineTuned:
    spec = run_spec(FullFineTuning(dropout=rate), backbone__layers=LAYERS)
    learner = build(spec, 1, encoder or tiny_encoder(LAYERS))
    assert isinstance(learner, FineTuned)
    learner.initialise([generator("cpu", "init", seed)])
    return learner


def inputs() -> Inputs:
    ids = torch.randint(5, 30_000, REAL.shape, generator=generator("cpu", "ids")) * REAL
    types = (torch.arange(8) > 2).long().expand(3, -1) * REAL
    return Inputs(ids, REAL.long(), types, Layout.of(REAL, keep_padding=False), [])


def stream(seed: int = 0) -> Dropout:
    return Dropout([generator("cpu", "dropout", seed)])


def attention_of(model: Any) -> str:
    return str(model.config._attn_implementation)


def loss_of(scores: Tensor) -> Tensor:
    wanted = torch.tensor([0, 2, 1, 1, 4, 0])
    return nn.functional.cross_entropy(scores.reshape(6, 8), wanted)


@pytest.mark.parametrize("training", [True, False])
def test_without_dropout_it_equals_the_librarys_model_and_a_linear_map(training: bool) -> None:
    frozen = tiny_encoder(LAYERS)
    learner = tuned(0.0, frozen).train(training)
    model = copy.deepcopy(frozen.model).requires_grad_(True).eval()  # eval: its own dropout is off
    assert attention_of(model) == "sdpa"
    scorer = nn.Linear(32, 2)
    scorer.load_state_dict(learner.scorer.state_dict())
    batch = inputs()
    found = learner(batch, stream())
    states = model(
        input_ids=batch.input_ids,
        attention_mask=batch.attention_mask,
        token_type_ids=batch.type_ids,
    ).last_hidden_state
    expected = scorer(states).permute(2, 0, 1).masked_fill(~REAL, float("-inf"))
    torch.testing.assert_close(found[0], expected, rtol=1e-5, atol=1e-5)
    torch.autograd.backward(loss_of(found))
    torch.autograd.backward(loss_of(expected))
    library = dict(model.named_parameters())
    for name, parameter in learner.encoder.named_parameters():
        own, other = parameter.grad, library[name].grad
        assert own is not None
        assert other is not None
        torch.testing.assert_close(own, other, rtol=1e-3, atol=1e-5, msg=name)
    torch.testing.assert_close(learner.scorer.weight.grad, scorer.weight.grad)


def test_equal_streams_agree_bit_for_bit_whatever_else_the_process_draws() -> None:
    found = []
    for other_draws in (0, 1000):
        learner = tuned(0.1).train()
        torch.manual_seed(other_draws)
        torch.rand(other_draws)
        scores = learner(inputs(), stream(5))
        loss = loss_of(scores)
        torch.autograd.backward(loss)
        gradient = learner.encoder.get_parameter("embeddings.word_embeddings.weight").grad
        assert gradient is not None
        found.append((scores.detach(), gradient))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    other = tuned(0.1).train()(inputs(), stream(6))
    assert not torch.equal(found[0][0], other)


def test_a_step_draws_nothing_from_the_global_generator() -> None:
    learner = tuned(0.3).train()
    before = torch.get_rng_state()
    torch.autograd.backward(loss_of(learner(inputs(), stream())))
    assert torch.equal(torch.get_rng_state(), before)


class Watched(Dropout):
    """Notes the shape of everything that is dropped from."""

    def __init__(self) -> None:
        super().__init__([generator("cpu", "dropout", 0)])
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, x: Tensor, rate: float) -> Tensor:
        assert rate == 0.1
        self.shapes.append(tuple(x.shape))
        return super().__call__(x, rate)


def test_dropout_runs_where_bert_has_it() -> None:
    # Devlin et al., A.2: on all layers; in the library's BERT after the embeddings, on attention
    # weights, after the attention's output and after the feed-forward
    drop = Watched()
    tuned(0.1).train()(inputs(), drop)
    hidden, weights = (3, 8, 32), (3, 4, 8, 8)
    assert drop.shapes == [hidden] + [weights, hidden, hidden] * LAYERS


def test_dropout_is_off_in_evaluation() -> None:
    learner, off = tuned(0.5).eval(), stream()
    off.active = False
    assert torch.equal(learner(inputs(), off), learner(inputs(), off))
    torch.testing.assert_close(learner(inputs(), off), tuned(0.0).eval()(inputs(), stream()))


def test_the_frozen_encoder_is_not_touched_by_its_trainable_copy() -> None:
    frozen = tiny_encoder(LAYERS)
    before = {name: value.clone() for name, value in frozen.model.state_dict().items()}
    learner = tuned(0.1, frozen).train()
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.add_(1.0)
    after = frozen.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not any(p.requires_grad for p in frozen.model.parameters())
    assert not frozen.model.training
    assert sum(isinstance(m, nn.Dropout) for m in frozen.model.modules()) == 1 + 3 * LAYERS
    assert attention_of(frozen.model) == "sdpa"


def test_every_parameter_is_trained_in_fp32() -> None:
    model = tiny_encoder(LAYERS)
    learner = tuned(0.1, Encoder(model.model.to(torch.bfloat16), None))
    assert all(p.requires_grad and p.dtype == torch.float32 for p in learner.parameters())


def test_the_scorer_starts_as_berts_output_layers_do() -> None:
    scorer = tuned(0.1, seed=3).scorer
    values = scorer.weight.detach()
    # N(0, 0.02): the mean and the spread of 64 draws within five standard errors
    assert abs(float(values.mean())) < 5 * 0.02 / 8
    assert abs(float(values.std()) / 0.02 - 1) < 5 / math.sqrt(2 * 63)
    assert scorer.bias.tolist() == [0.0, 0.0]
    assert torch.equal(values, tuned(0.1, seed=3).scorer.weight)
    assert not torch.equal(values, tuned(0.1, seed=4).scorer.weight)
