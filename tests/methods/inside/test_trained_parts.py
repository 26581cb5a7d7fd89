"""Gradients reach what a method declares and nothing else; a step moves nothing else."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest
import torch
from inside_samples import adapters, batch_of, dropout_of, encoder_of, learner_of, no_dropout
from torch import Tensor
from torch.nn import functional as F

from repro.methods.bitfit import BitFit
from repro.methods.fine_tuning import FullFineTuning, LayerNorms, TopLayers
from repro.methods.ia3 import IA3
from repro.methods.inside.learner import Inside
from repro.methods.lora import LoRA
from repro.methods.prefix_tuning import PrefixTuning
from repro.spec.method import Method
from repro.training.optimizer import FlatParameters

D, M, F_, LAYERS = 32, 8, 64, 4  # hidden, bottleneck, feed-forward, depth
ADAPTER = 2 * M * D + M + D
HEAD, POOLER, NORM = 3 * (D + 1), D * (D + 1), 2 * D
LAYER = 4 * POOLER + 2 * D * F_ + F_ + D + 2 * NORM
EMBEDDINGS = (500 + 64 + 2) * D + NORM
SPANS = 2 * (D + 1)

PFEIFFER = adapters(placement="pfeiffer", nonlinearity="relu")
NOT_SHARED = adapters(norms="encoder", head="two-layer")
TRAINED_POOLER = adapters(span=1, pooler="trained")

CASES: list[Any] = [
    # method, spans, its parameters by hand, the parts of their names
    (adapters(), False, 8 * ADAPTER + HEAD, "adapters head"),
    (adapters(norms="all"), False, 8 * ADAPTER + 9 * NORM + HEAD, "adapters norms head"),
    (NOT_SHARED, False, 8 * ADAPTER + 8 * NORM + POOLER + HEAD, "adapters norms head"),
    (TRAINED_POOLER, False, 4 * ADAPTER + POOLER + HEAD, "adapters pooler head"),
    (adapters(span=2), False, 2 * ADAPTER + HEAD, "adapters head"),
    (PFEIFFER, False, 4 * ADAPTER + HEAD, "adapters head"),
    (LayerNorms(), False, 9 * NORM + HEAD, "norms head"),
    (LayerNorms(pooler="trained"), False, 9 * NORM + POOLER + HEAD, "norms pooler head"),
    (TopLayers(layers=2), False, 2 * LAYER + POOLER + HEAD, "encoder pooler head"),
    (FullFineTuning(), False, EMBEDDINGS + 4 * LAYER + POOLER + HEAD, "encoder pooler head"),
    (FullFineTuning(), True, EMBEDDINGS + 4 * LAYER + SPANS, "encoder head"),
    (TopLayers(layers=1), True, LAYER + SPANS, "encoder head"),
    (TRAINED_POOLER, True, 4 * ADAPTER + SPANS, "adapters head"),
    (LoRA(rank=4), False, 4 * 2 * 2 * 4 * D + HEAD, "lora head"),
    (BitFit(pooler="trained"), False, 4 * (7 * D + F_) + POOLER + HEAD, "biases pooler head"),
    (IA3(), True, 4 * (2 * D + F_) + SPANS, "scales head"),
    (PrefixTuning(positions=3, middle=None), False, 3 * 8 * D + HEAD, "prefix head"),
    (
        PrefixTuning(positions=3, middle=16),
        False,
        3 * D + (D + 1) * 16 + 17 * 8 * D + HEAD,
        "prefix head",
    ),
]


def loss_of(outputs: Tensor) -> Tensor:
    """Of any fixed targets; what they are does not matter here."""
    if outputs.dim() == 4:
        return F.cross_entropy(outputs.flatten(0, 2), torch.arange(outputs[..., 0].numel()) % 3)
    return F.cross_entropy(outputs.flatten(0, 1), torch.arange(outputs[..., 0].numel()) % 3)


@pytest.mark.parametrize(("method", "spans", "count", "parts"), CASES)
def test_gradients_reach_exactly_what_is_declared_and_a_step_moves_nothing_else(
    method: Method, spans: bool, count: int, parts: str
) -> None:
    encoder = encoder_of("bert", LAYERS)
    assert encoder.pooler is not None
    before = copy.deepcopy((encoder.model.state_dict(), encoder.pooler.state_dict()))
    learner = learner_of(method, encoder, spans=spans)
    trains = {name: p for name, p in learner.named_parameters() if p.requires_grad}
    assert sum(p.numel() for p in trains.values()) == count
    assert {name.split(".")[0] for name in trains} == set(parts.split())
    flat = FlatParameters(learner)
    start = flat.values.clone()
    torch.autograd.backward(loss_of(learner(batch_of([8, 5, 3, 6]), dropout_of(0))))
    for name, parameter in trains.items():
        assert parameter.grad is not None, name
        if not name.endswith(("key.bias", "down")):  # softmax does not see it; LoRA's B is 0
            assert bool(parameter.grad.any()), name
    frozen = [p for p in _everything(learner) if not p.requires_grad]
    assert all(p.grad is None for p in frozen)
    with torch.no_grad():
        for parameter in trains.values():
            parameter.sub_(0.1 * parameter.grad.sign() if parameter.grad is not None else 0)
    assert not torch.equal(flat.values, start)
    for old, now in zip(before, (encoder.model, encoder.pooler), strict=True):
        assert all(torch.equal(old[name], value) for name, value in now.state_dict().items())
    own = {id(p) for p in (*encoder.model.parameters(), *encoder.pooler.parameters())}
    assert {id(p) for p in frozen} <= own  # frozen weights are the encoder's, read once


def _everything(learner: Inside) -> list[Tensor]:
    """The parameters of the learner and of the modules that it runs."""
    found = {id(p): p for p in (*learner.parameters(), *learner._model[0].parameters())}
    return list(found.values())


@pytest.mark.parametrize("method", [adapters(norms="all"), LayerNorms(), FullFineTuning()])
def test_an_artefact_holds_what_is_trained_and_nothing_of_the_encoder(method: Method) -> None:
    learner = learner_of(method, encoder_of("bert"))
    if learner.stacked:
        assert all(p.requires_grad for p in learner.parameters())
        assert list(learner.buffers()) == []
        assert all(p.shape[:2] == (1, 1) for p in learner.parameters())
    else:
        assert learner.runs == learner.stacks == 1
        vectors = {name for name, p in learner.named_parameters() if p.dim() == 1}
        small = ("bias", "LayerNorm.weight")
        assert vectors == {n for n, _ in learner.named_parameters() if n.endswith(small)}


def test_learners_of_one_encoder_leave_each_other_alone() -> None:
    encoder = encoder_of("bert", LAYERS)
    batch = batch_of([8, 5, 3, 6])
    first = learner_of(adapters(norms="all"), encoder)
    before = first(batch, no_dropout())
    others = [learner_of(m, encoder) for m in (FullFineTuning(), TopLayers(layers=2), LayerNorms())]
    with torch.no_grad():
        for other in others:
            for parameter in other.parameters():
                if parameter.requires_grad:
                    parameter.add_(1.0)
    assert torch.equal(first(batch, no_dropout()), before)
    assert str(encoder.model.config._attn_implementation) == "sdpa"  # type: ignore[union-attr]
    assert not any(m._forward_hooks for m in encoder.model.modules())
    assert not any(p.requires_grad for p in encoder.model.parameters())


@pytest.mark.parametrize(
    "method", [adapters(norms="all"), FullFineTuning(), LoRA(), BitFit(), IA3(), PrefixTuning()]
)
def test_a_learner_that_is_let_go_of_is_freed_at_once(method: Method) -> None:
    learner = learner_of(method, encoder_of("bert"))
    learner(batch_of([8, 5]), dropout_of(0)).sum().backward()
    held = weakref.ref(next(learner.parameters()))
    gc.disable()
    try:
        del learner
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "method", [adapters(), LayerNorms(), TopLayers(layers=1), FullFineTuning()]
)
def test_what_groups_and_jobs_assume_of_a_method_is_so(method: Method) -> None:
    learner = learner_of(method, encoder_of("bert"))
    assert method.own_rows
    assert learner.reads_states == method.reads_states
    assert learner.stacked != method.trains_encoder
