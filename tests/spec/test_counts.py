"""Counts from formulas, against hand arithmetic, the reference script and real modules."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
from run_samples import cells, run_spec
from tiny_models import tiny_config

from repro.backbones.load import Encoder
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.inside import adapter_parameters
from repro.methods.linear_probe import LinearProbe
from repro.methods.resadapters import PipelinedCells
from repro.methods.untrained import AblatedSpans, AlwaysNull
from repro.spec import GlueTask, RunSpec
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, MINILM, bert_parameters

COLA = GlueTask(name="cola", source="generated", revision="by hand")
SCRIPT = Path(__file__).parents[3] / "shared" / "methods" / "count_params.py"


def released(nonlinearity: str, bottleneck: int) -> PipelinedCells:
    """As released: the batch norm runs over the 384 positions of a window."""
    return cells("plain", nonlinearity, bottleneck=bottleneck, norm_axis="position")


def by_hand(b: int, *, attention: bool) -> int:
    """One stack on BERT-base, as resadapters.md, section 5, writes it: 12 cells and 769."""
    cell = 1536 * b + b + 768 + 768 + 1536
    return 12 * (cell + (4 * (b * b + b) + 2 * b) * attention) + 769


CASES = [
    # nonlinearity, bottleneck, one stack, two stacks
    ("relu", 200, 3_726_433, 7_452_866),
    ("attention", 200, 5_660_833, 11_321_666),
    ("relu", 80, 1_513_153, 3_026_306),
    ("attention", 136, 3_443_617, 6_887_234),
    ("attention", 140, 3_570_673, 7_141_346),
]


@pytest.mark.parametrize(("nonlinearity", "b", "one", "two"), CASES)
def test_resadapters_counts_equal_the_published_arithmetic(
    nonlinearity: str, b: int, one: int, two: int
) -> None:
    method = released(nonlinearity, b)
    assert by_hand(b, attention=nonlinearity == "attention") == one
    assert method.stack_parameters(layers=12, hidden=768, length=384) == one
    spec = run_spec(method, backbone=KNOWN[BERT_BASE], task__max_length=384)
    assert spec.trained_parameters() == two == 2 * one
    # BERT-base 109,482,240 without its pooler 768 * 769, and the two stacks
    assert spec.total_parameters() == 109_482_240 - 590_592 + two


def test_a_repaired_cell_normalises_features_so_its_count_ignores_the_length() -> None:
    method = cells(nonlinearity="gelu", bottleneck=200)
    # down 768 * 200 + 200, norm 2 * 200, up 200 * 768 + 768, norm 2 * 768
    expected = 153_800 + 400 + 154_368 + 1_536
    for length in (384, 128):
        assert sum(method.cell_parts(768, length).values()) == expected


def test_counts_equal_the_reference_script() -> None:
    if not SCRIPT.is_file():
        pytest.skip("needs ../shared/methods/count_params.py")
    printed = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"BERT-base-uncased\s+([\d,]+)", printed)
    assert found
    assert number(found[1]) == KNOWN[BERT_BASE].parameters
    for name, nonlinearity in (("non-linear", "relu"), ("attention", "attention")):
        stacks = re.search(rf"b=200 {name}\s*: one stack ([\d,]+); two stacks ([\d,]+)", printed)
        assert stacks
        one = released(nonlinearity, 200).stack_parameters(layers=12, hidden=768, length=384)
        assert [number(text) for text in stacks.groups()] == [one, 2 * one]
    searched = re.findall(r"stacks=(\d) b=(\d+)\s+NL\s+([\d.]+)M\s+ATT\s+([\d.]+)M", printed)
    assert len(searched) == 20
    for stacks_text, b, plain, attention in searched:
        for text, nonlinearity in ((plain, "relu"), (attention, "attention")):
            one = released(nonlinearity, int(b)).stack_parameters(12, 768, 384)
            assert f"{int(stacks_text) * one / 1e6:.2f}" == text


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_bert_base_has_its_published_number_of_parameters() -> None:
    assert bert_parameters(768, 12, 3072, 30_522, 512, 2) == 109_482_240
    assert KNOWN[BERT_BASE].parameters == 109_482_240
    # MiniLM-L6-H384-uncased, as its card says: 22.7M
    assert KNOWN[MINILM].parameters == 22_713_216


@lru_cache
def meta_encoder(layers: int, hidden: int) -> Encoder:
    from transformers import BertModel

    heads = hidden // 32
    with torch.device("meta"):
        return Encoder(BertModel(tiny_config(layers, hidden, num_attention_heads=heads)), None)


def real_parameters(model: torch.nn.Module, *, trained_only: bool = False) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained_only)


def test_bert_large_has_its_published_number_of_parameters() -> None:
    # the library's bert-large-uncased with its pooler; Devlin et al. print 340M
    assert KNOWN[BERT_LARGE].parameters == 335_141_888
    assert (KNOWN[BERT_LARGE].layers, KNOWN[BERT_LARGE].hidden_size) == (24, 1024)
    # Houlsby et al.: 2.1 % is 6.34M of the 24 layers' 302.3M
    assert 24 * KNOWN[BERT_LARGE].layer_parameters == 302_309_376


def test_an_adapter_has_the_papers_number_of_parameters() -> None:
    # 2 m d + m + d: 64 x 768 twice, 64 and 768
    assert adapter_parameters(64, 768) == 2 * 49_152 + 832 == 99_136
    assert adapter_parameters(64, 1024) == 132_160


def test_a_run_that_only_evaluates_trains_nothing() -> None:
    spec = run_spec(AblatedSpans(), backbone=KNOWN[BERT_BASE], task=COLA)
    assert spec.trained_parameters() == 0
    assert spec.total_parameters() == 109_482_240


def test_a_formula_for_bert_equals_the_librarys_model() -> None:
    model = meta_encoder(6, 96).model
    expected = bert_parameters(96, 6, 192, 30_522, 64, 2)
    assert real_parameters(model) == expected
    # by hand: embeddings, 6 layers (attention, feed-forward, two norms), pooler
    by_hand = (30_522 + 64 + 2 + 2) * 96
    by_hand += 6 * (4 * 96 * 97 + 96 * 192 + 192 + 192 * 96 + 96 + 4 * 96) + 96 * 97
    assert expected == by_hand


VARIANTS: list[Any] = [
    *(
        pytest.param(
            cells(wiring, nonlinearity, bottleneck=12, norm_axis=axis),
            id=f"{wiring}-{nonlinearity}-{axis}",
        )
        for wiring in ("plain", "resnet", "resnext")
        for nonlinearity in ("relu", "gelu", "attention")
        for axis in ("feature", "position")
    ),
    pytest.param(LinearProbe(layer=3), id="linear-probe"),
    pytest.param(FullFineTuning(), id="full-fine-tuning"),
    pytest.param(AlwaysNull(), id="always-null"),
]


def meta_run(method: Any, layers: int, hidden: int) -> RunSpec:
    return run_spec(
        method,
        recipe__padding="max",
        backbone__layers=layers,
        backbone__hidden_size=hidden,
        backbone__parameters=bert_parameters(hidden, layers, 2 * hidden, 30_522, 64, 2),
    )


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize(("layers", "hidden"), [(6, 96), (12, 64)])
def test_every_methods_formula_equals_its_module(method: Any, layers: int, hidden: int) -> None:
    from transformers import BertModel

    spec = meta_run(method, layers, hidden)
    with torch.device("meta"):
        config = meta_encoder(layers, hidden).model.config
        frozen = Encoder(BertModel(config, add_pooling_layer=False).requires_grad_(False), None)
        one, three = spec.learner(1, frozen), spec.learner(3, frozen)
    assert real_parameters(one, trained_only=True) == spec.trained_parameters()
    if not isinstance(method, FullFineTuning):
        assert real_parameters(three, trained_only=True) == 3 * spec.trained_parameters()
    whole = real_parameters(one)
    if isinstance(method, (PipelinedCells, LinearProbe)):
        whole += real_parameters(frozen.model)
    assert spec.total_parameters() == whole


@pytest.mark.parametrize(("nonlinearity", "b", "one", "two"), CASES)
def test_the_released_modules_have_the_published_counts(
    nonlinearity: str, b: int, one: int, two: int
) -> None:
    spec = run_spec(
        released(nonlinearity, b),
        backbone=KNOWN[BERT_BASE],
        task__max_length=384,
        recipe__padding="max",
    )
    with torch.device("meta"):
        learner = spec.learner(1, meta_encoder(6, 96))
    assert real_parameters(learner) == two == 2 * one
