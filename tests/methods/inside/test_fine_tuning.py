"""Full fine-tuning and top layers against the library's own model, and their dropout."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from inside_samples import (
    FAMILIES,
    adapters,
    batch_of,
    dropout_of,
    encoder_of,
    learner_of,
    library_states,
    no_dropout,
)
from torch import Tensor, nn
from torch.nn import functional as F

from repro.backbones.load import Encoder
from repro.methods.fine_tuning import FullFineTuning, TopLayers
from repro.methods.lora import LoRA
from repro.methods.modules.randomness import Dropout, Shapes, generator

LAYERS = 3
ROWS = batch_of([8, 5, 3])


def trainable(encoder: Encoder) -> Encoder:
    model = copy.deepcopy(encoder.model).requires_grad_(True)
    return Encoder(model, None, copy.deepcopy(encoder.pooler).requires_grad_(True))  # type: ignore[union-attr]


@pytest.mark.parametrize("spans", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("method", [FullFineTuning(dropout=0.0), TopLayers(layers=2, dropout=0.0)])
def test_without_dropout_values_and_gradients_are_the_librarys(
    method: Any, spans: bool, training: bool
) -> None:
    encoder = encoder_of("bert", LAYERS)
    library = trainable(encoder)
    learner = learner_of(method, encoder, spans=spans).train(training)
    head = learner.head.scorer
    found = learner(ROWS, dropout_of(0))
    states = library_states(library, ROWS)
    weight = head.weight.detach().clone().requires_grad_(True)
    if spans:
        real = ROWS.attention_mask.bool()
        expected = (states @ weight + head.bias).permute(2, 0, 1)
        expected = expected.masked_fill(~real, float("-inf"))
        wanted = torch.tensor([0, 2, 1, 1, 4, 0])
    else:
        assert library.pooler is not None
        expected = torch.tanh(library.pooler(states[:, 0])) @ weight + head.bias
        wanted = torch.tensor([0, 2, 1])
    torch.testing.assert_close(found[0], expected, rtol=1e-5, atol=1e-5)
    for scores in (found, expected):
        torch.autograd.backward(F.cross_entropy(scores.flatten(0, -2), wanted))
    theirs = dict(library.model.named_parameters())
    for name, parameter in learner.encoder.named_parameters():
        if parameter.requires_grad:
            close(parameter.grad, theirs[name].grad, name)
    close(head.weight.grad, weight.grad, "scorer")
    if learner.pooler is not None and library.pooler is not None:
        close(learner.pooler.weight.grad, library.pooler.weight.grad.t(), "pooler")  # type: ignore[union-attr]


def close(own: Tensor | None, other: Tensor | None, name: str) -> None:
    assert own is not None, name
    assert other is not None, name
    torch.testing.assert_close(own, other, rtol=1e-3, atol=1e-5, msg=name)


def test_equal_streams_agree_bit_for_bit_whatever_else_the_process_draws() -> None:
    encoder, found = encoder_of("bert", LAYERS), []
    for other_draws in (0, 1000):
        learner = learner_of(FullFineTuning(), encoder, spans=True)
        torch.manual_seed(other_draws)
        torch.rand(other_draws)
        before = torch.get_rng_state()
        scores = learner(ROWS, dropout_of(5))
        torch.autograd.backward(scores[..., :3].sum())
        assert torch.equal(torch.get_rng_state(), before)  # nothing is drawn from the process
        gradient = learner.encoder.get_parameter("embeddings.word_embeddings.weight").grad
        assert gradient is not None
        found.append((scores.detach(), gradient))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    other = learner_of(FullFineTuning(), encoder, spans=True)(ROWS, dropout_of(6))
    assert not torch.equal(found[0][0], other)


class Watched(Dropout):
    """Notes the shape of everything that is dropped from."""

    def __init__(self) -> None:
        super().__init__([generator("cpu", "dropout", 0)])
        self.shapes: list[tuple[int, ...]] = []

    def keep(
        self, wanted: Sequence[Shapes], rate: float, device: torch.device
    ) -> list[list[Tensor]]:
        assert rate == 0.1
        self.shapes += [tuple(shape) for [shape] in wanted]
        return super().keep(wanted, rate, device)


def test_dropout_runs_where_bert_has_it() -> None:
    # Devlin et al., A.2: on all layers; in the library's BERT after the embeddings, on attention
    # weights, after the attention's output and after the feed-forward
    encoder = encoder_of("bert", LAYERS)
    drop = Watched()
    learner_of(FullFineTuning(), encoder, spans=True)(ROWS, drop)
    hidden, weights = (16, 32), (3, 4, 8, 8)
    assert drop.shapes == [hidden] + [weights, hidden, hidden] * LAYERS
    # a classifier's last layer goes on with first tokens, and its output layer has dropout
    drop = Watched()
    learner_of(FullFineTuning(), encoder)(ROWS, drop)
    last = [(3, 4, 1, 8), (3, 32), (3, 32)]
    assert drop.shapes == [hidden] + [weights, hidden, hidden] * 2 + last + [(1, 3, 32)]


def test_dropout_is_off_in_evaluation() -> None:
    encoder = encoder_of("bert", LAYERS)
    learner = learner_of(FullFineTuning(dropout=0.5), encoder).eval()
    off = learner(ROWS, no_dropout())
    assert torch.equal(off, learner(ROWS, no_dropout()))
    without = learner_of(FullFineTuning(dropout=0.0), encoder).eval()
    torch.testing.assert_close(off, without(ROWS, dropout_of(0)))


def test_a_copy_is_in_fp32_and_what_stays_frozen_is_not_copied() -> None:
    encoder = encoder_of("bert", LAYERS)
    encoder.model.to(torch.bfloat16)
    learner = learner_of(FullFineTuning(), encoder)
    assert all(p.requires_grad and p.dtype == torch.float32 for p in learner.parameters())
    top = learner_of(TopLayers(layers=1), encoder)
    theirs = dict(encoder.model.named_parameters())
    for name, parameter in top.encoder.named_parameters():
        copied = name.startswith("encoder.layer.2.")
        assert parameter.requires_grad == copied, name
        assert (parameter is theirs[name]) != copied, name
    assert nn.Dropout not in {type(m) for m in encoder.model.modules() if getattr(m, "p", 1) == 0}


@pytest.mark.parametrize("method", [FullFineTuning(), adapters(norms="all", pooler="trained")])
def test_bf16_keeps_the_numbers_near_and_the_gradients_in_fp32(method: Any) -> None:
    exact, short = encoder_of("bert", LAYERS), encoder_of("bert", LAYERS)
    short.model.to(torch.bfloat16)
    assert short.pooler is not None
    short.pooler.to(torch.bfloat16)
    wide, narrow = learner_of(method, exact), learner_of(method, short)
    expected = wide(ROWS, dropout_of(0))
    with torch.autocast("cpu", torch.bfloat16):
        found = narrow(ROWS, dropout_of(0))
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.02)
    torch.autograd.backward(found.float().square().sum())
    grads = [p.grad for p in narrow.parameters() if p.requires_grad]
    assert all(g is not None and g.dtype == torch.float32 for g in grads)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", [adapters(norms="all"), LoRA(), TopLayers(layers=1)])
def test_frozen_maps_that_are_rounded_once_give_the_bits_of_autocast(
    method: Any, family: str
) -> None:
    encoder = encoder_of(family, LAYERS)
    found = []
    for precision in ("fp32", "bf16"):
        learner = learner_of(method, encoder, precision=precision)
        with torch.autocast("cpu", torch.bfloat16):
            scores = learner(ROWS, dropout_of(0))
        torch.autograd.backward(scores.float().square().sum())
        found.append([scores, *(p.grad for p in learner.parameters() if p.requires_grad)])
    for expected, rounded in zip(*found, strict=True):
        assert torch.equal(rounded, expected)
    assert {p.dtype for p in encoder.model.parameters()} == {torch.float32}
