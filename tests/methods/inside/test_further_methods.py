"""LoRA, BitFit, IA3 and prefix tuning against hand arithmetic, and against the peft library."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from inside_samples import batch_of, encoder_of, inside_spec, learner_of, library_states, no_dropout
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional as F

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.bitfit import BitFit
from repro.methods.ia3 import IA3
from repro.methods.inside.learner import Inside
from repro.methods.lora import LoRA
from repro.methods.modules.counting import count_modules
from repro.methods.prefix_tuning import PrefixTuning
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN
from repro.spec.method import Method

LENGTHS = [9, 4, 6]
COUNTS: list[Any] = [
    # Hu et al. 2021: 12 layers x 2 maps x 8 x (768 + 768)
    (LoRA(), BERT_BASE, 294_912),
    # Ben Zaken et al. 2021: 0.09 % of BERT-base, 0.08 % of BERT-large
    (BitFit(), BERT_BASE, 101_376),
    (BitFit(), BERT_LARGE, 270_336),
    # Liu et al. 2022: 12 x (768 + 768 + 3072)
    (IA3(), BERT_BASE, 55_296),
    # 2 x 12 layers x 10 positions x 768
    (PrefixTuning(middle=None), BERT_BASE, 184_320),
    # 10 x 768 + (768 x 512 + 512) + (512 x 18,432 + 18,432)
    (PrefixTuning(), BERT_BASE, 9_857_024),
]


@pytest.mark.parametrize(("method", "backbone", "added"), COUNTS)
def test_counts_are_those_of_the_papers_and_of_the_modules(
    method: Method, backbone: str, added: int
) -> None:
    spec = inside_spec(method).model_copy(update={"backbone": KNOWN[backbone]})
    classifier = 3 * (KNOWN[backbone].hidden_size + 1)
    assert spec.trained_parameters() == added + classifier
    counted = count_modules(spec)
    assert (counted["adapters"], counted["classifier"]) == (added, classifier)


@pytest.mark.parametrize("method", [LoRA, BitFit, IA3, PrefixTuning])
def test_a_misspelt_choice_is_refused(method: Any) -> None:
    with pytest.raises(ValidationError, match=r"'frozen'.*'trained'"):
        method(pooler="traned")


def test_lora_changes_at_least_one_map_that_there_is() -> None:
    wrong: Any
    for wrong in ((), ("querry",)):
        with pytest.raises(ValidationError, match="maps"):
            LoRA(maps=wrong)


def drawn(method: Method, encoder: Encoder) -> Inside:
    """A learner whose added parameters are all drawn, so that each is seen."""
    learner = learner_of(method, encoder).eval()
    assert learner.added is not None
    with torch.no_grad():
        for number, parameter in enumerate(learner.added.parameters()):
            draw = torch.Generator().manual_seed(number)
            parameter.normal_(0.5, 0.5, generator=draw)
    return learner


def pooled(learner: Inside, encoder: Encoder, states: Tensor) -> Tensor:
    """What the learner's frozen pooler and new classifier make of last states."""
    assert encoder.pooler is not None
    first = torch.tanh(encoder.pooler(states[:, 0]))
    scorer = learner.head.scorer
    return first @ scorer.weight[0, 0] + scorer.bias[0, 0]


@pytest.mark.parametrize("method", [LoRA(rank=4), BitFit(), IA3()])
def test_at_the_start_a_model_is_the_pretrained_one(method: Method) -> None:
    encoder, inputs = encoder_of("bert"), batch_of(LENGTHS)
    learner = learner_of(method, encoder).eval()
    found = learner(inputs, no_dropout())[0]
    expected = pooled(learner, encoder, library_states(encoder, inputs))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_bitfit_is_the_encoder_with_other_biases(family: str) -> None:
    encoder, inputs = encoder_of(family), batch_of(LENGTHS)
    learner = drawn(BitFit(), encoder)
    changed = Encoder(copy.deepcopy(encoder.model), None, encoder.pooler)
    places = ("query", "key", "value", "joined", "first_norm", "up", "down", "norm")
    own = dict(learner.added.named_parameters())  # type: ignore[union-attr]
    with torch.no_grad():
        layers = changed.model.get_submodule(learner.family.layers).children()
        for number, layer in enumerate(layers):
            for place in places:
                module: Any = layer.get_submodule(getattr(learner.family, place))
                module.bias += own[f"{number}-{place}.bias"][0, 0]
    assert len(own) == 2 * len(places)
    expected = pooled(learner, encoder, library_states(changed, inputs))
    torch.testing.assert_close(learner(inputs, no_dropout())[0], expected, rtol=0, atol=1e-5)


def attention(learner: Inside, layer: Any, x: Tensor, first: tuple[Tensor, Tensor]) -> Tensor:
    """Of one row (tokens, 32) in 4 heads of 8, with keys and values before those of its tokens."""
    maps = layer.attention.self
    q, k, v = maps.query(x), maps.key(x), maps.value(x)
    k, v = torch.cat([first[0], k]), torch.cat([first[1], v])
    heads = []
    for at in torch.arange(32).view(4, 8):
        weights = (q[:, at] @ k[:, at].T / 8**0.5).softmax(-1)
        heads.append(weights @ v[:, at])
    return torch.cat(heads, 1)


@pytest.mark.parametrize("middle", [None, 16])
def test_a_prefix_stands_before_the_keys_and_values_of_every_row(middle: int | None) -> None:
    encoder, inputs = encoder_of("bert"), batch_of(LENGTHS)
    learner = drawn(PrefixTuning(positions=3, middle=middle), encoder)
    added: Any = learner.added
    prefix = added.table[0, 0]
    if middle is not None:
        inner, outer = added.inner, added.outer
        prefix = torch.tanh(prefix @ inner.weight[0, 0] + inner.bias[0, 0])
        prefix = prefix @ outer.weight[0, 0] + outer.bias[0, 0]
    of_layers = prefix.view(3, 2, 2, 32)  # position, layer, keys or values, width
    model: Any = encoder.model
    rows = []
    for row, size in enumerate(LENGTHS):
        x = model.embeddings(inputs.input_ids[row : row + 1, :size],
                             inputs.type_ids[row : row + 1, :size])[0]  # fmt: skip
        for number, layer in enumerate(model.encoder.layer):
            own = of_layers[:, number]
            heads = attention(learner, layer, x, (own[:, 0], own[:, 1]))
            y = layer.attention.output.LayerNorm(layer.attention.output.dense(heads) + x)
            up = F.gelu(layer.intermediate.dense(y))
            x = layer.output.LayerNorm(layer.output.dense(up) + y)
        rows.append(x[:1])
    expected = pooled(learner, encoder, torch.stack(rows))
    torch.testing.assert_close(learner(inputs, no_dropout())[0], expected, rtol=0, atol=1e-5)


def test_lora_is_pefts_on_equal_weights() -> None:
    peft = pytest.importorskip("peft", reason="the peft library is not installed")
    encoder, inputs = encoder_of("bert"), batch_of(LENGTHS)
    learner = drawn(LoRA(rank=4, alpha=6.0), encoder)
    config = peft.LoraConfig(r=4, lora_alpha=6, target_modules=["query", "value"])
    model = peft.get_peft_model(copy.deepcopy(encoder.model), config).eval()
    own = dict(learner.added.named_parameters())  # type: ignore[union-attr]
    used = 0
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_" not in name:
                continue
            parts = name.split(".")
            number, place = parts[parts.index("layer") + 1], parts[parts.index("self") + 1]
            part = "down" if "lora_A" in name else "up"
            value.copy_(own[f"{number}-{place}.{part}"][0, 0].T)
            used += 1
    assert used == len(own) == 8
    assert_equal_with_gradients(learner, encoder, model, inputs)


def test_ia3_is_pefts_on_equal_weights() -> None:
    peft = pytest.importorskip("peft", reason="the peft library is not installed")
    encoder, inputs = encoder_of("bert"), batch_of(LENGTHS)
    learner = drawn(IA3(), encoder)
    middle = r".*\.\d+\.output\.dense"
    config = peft.IA3Config(target_modules=rf"{middle}|.*(key|value)", feedforward_modules=middle)
    model = peft.get_peft_model(copy.deepcopy(encoder.model), config).eval()
    own = dict(learner.added.named_parameters())  # type: ignore[union-attr]
    used = 0
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "ia3_l" not in name:
                continue
            number = name.split("layer.")[1].split(".")[0]
            place = next((p for p in ("key", "value") if f".{p}." in name), "middle")
            value.copy_(own[f"{number}-{place}.scale"].view(value.shape))
            used += 1
    assert used == len(own) == 6
    assert_equal_with_gradients(learner, encoder, model, inputs)


def test_a_run_starts_from_what_another_trained_but_for_its_head() -> None:
    encoder = encoder_of("bert")
    method = LoRA(rank=4, head="two-layer")
    trained, new = (learner_of(method, encoder, seeds) for seeds in ((7,), (0, 1)))
    artefact = {name: value[0].detach() for name, value in trained.named_parameters()}
    before = {name: value.clone() for name, value in new.named_parameters()}
    new.start_from(inside_spec(method), artefact)
    for name, value in new.named_parameters():
        for run in (0, 1):
            expected = before[name][run] if name.startswith("head.") else artefact[name]
            assert torch.equal(value[run], expected), name
    assert not torch.equal(before["head.dense.weight"][0], artefact["head.dense.weight"])


@pytest.mark.parametrize("other", [BitFit(), LoRA(rank=2), LoRA(maps=("query",))])
def test_a_run_of_another_method_or_size_is_no_start(other: Method) -> None:
    encoder = encoder_of("bert")
    theirs = learner_of(other, encoder)
    artefact = {name: value[0].detach() for name, value in theirs.named_parameters()}
    with pytest.raises(ReproError, match=r"is no start for this one.*same backbone and method"):
        learner_of(LoRA(), encoder).start_from(inside_spec(other), artefact)


def assert_equal_with_gradients(
    learner: Inside, encoder: Encoder, model: nn.Module, inputs: Any
) -> None:
    """Outputs agree to 1e-5, and so do the norms of the gradients of all added parameters."""
    found = learner(inputs, no_dropout())[0]
    states = library_states(Encoder(model, None, encoder.pooler), inputs)
    expected = pooled(learner, encoder, states)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    wanted = torch.tensor([0, 1, 2])
    own = list(learner.added.parameters())  # type: ignore[union-attr]
    theirs = [p for p in model.parameters() if p.requires_grad]
    norms = [
        sorted(float(g.norm()) for g in torch.autograd.grad(F.cross_entropy(scores, wanted), of))
        for scores, of in ((found, own), (expected, theirs))
    ]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4, abs=1e-7)
