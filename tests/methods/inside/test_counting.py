"""The papers' parameter counts, from real modules at BERT-base's and BERT-large's shape."""

from __future__ import annotations

from typing import Any

import pytest
from inside_samples import MNLI, adapters
from run_samples import TASK, run_spec

from repro.methods.fine_tuning import FullFineTuning, LayerNorms, TopLayers
from repro.methods.modules.counting import count_modules
from repro.spec import GlueTask, RunSpec
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, MINILM
from repro.spec.method import Method

COLA = GlueTask(name="cola", source="generated", revision="by hand")


def spec_of(method: Method, backbone: str = BERT_BASE, task: Any = COLA) -> RunSpec:
    return run_spec(method, task=task, backbone=KNOWN[backbone])


def houlsby(**changes: Any) -> Method:
    return adapters(**({"size": 64} | changes))


PFEIFFER = {"placement": "pfeiffer", "nonlinearity": "relu"}
PUBLISHED = [
    # the 3-shared report, Table 1: 12 modules of 99,136, 24 and more, 4
    (houlsby(span=1), BERT_BASE, {"adapters": 1_189_632}),
    (
        houlsby(norms="encoder", head="two-layer"),
        BERT_BASE,
        {"adapters": 2_379_264, "layer norms": 36_864, "head layers": 590_592},
    ),
    (houlsby(span=3), BERT_BASE, {"adapters": 396_544}),
    # Houlsby et al., 24 and 48 modules; 25 and 49 layer norms
    (houlsby(norms="all"), BERT_BASE, {"adapters": 2_379_264, "layer norms": 38_400}),
    (houlsby(norms="all"), BERT_LARGE, {"adapters": 6_343_680, "layer norms": 100_352}),
    # AdapterHub's Pfeiffer configuration, a sixteenth of the hidden size, biases included
    (houlsby(size=48, **PFEIFFER), BERT_BASE, {"adapters": 894_528}),
    (houlsby(size=64, **PFEIFFER), BERT_LARGE, {"adapters": 3_171_840}),
]


@pytest.mark.parametrize(("method", "backbone", "expected"), PUBLISHED)
def test_modules_have_the_published_counts(
    method: Method, backbone: str, expected: dict[str, int]
) -> None:
    counted = count_modules(spec_of(method, backbone))
    classifier = 2 * (KNOWN[backbone].hidden_size + 1)
    assert {part: n for part, n in counted.items() if n} == expected | {"classifier": classifier}


def test_not_shared_has_the_reports_total_without_its_last_classifier() -> None:
    counted = count_modules(spec_of(houlsby(norms="encoder", head="two-layer")))
    assert sum(counted.values()) - counted["classifier"] == 3_006_720


def test_pfeiffers_matrices_alone_have_the_counts_that_papers_print() -> None:
    spec = spec_of(houlsby(size=48, **PFEIFFER))
    modules = spec.method.modules(12)  # type: ignore[attr-defined]
    biases = modules * (48 + 768)
    weights = count_modules(spec)["adapters"] - biases
    assert (modules, weights // modules, weights) == (12, 73_728, 884_736)


METHODS = [
    FullFineTuning(),
    TopLayers(layers=1),
    TopLayers(layers=5),
    LayerNorms(),
    LayerNorms(pooler="trained"),
    *(
        adapters(placement=placement, span=span, norms=norms, head=head, pooler=pooler)
        for placement, span, norms, head, pooler in [
            ("houlsby", 0, "all", "linear", "trained"),
            ("houlsby", 2, "none", "two-layer", "frozen"),
            ("pfeiffer", 1, "encoder", "linear", "frozen"),
            ("pfeiffer", 6, "all", "two-layer", "trained"),
        ]
    ),
]


@pytest.mark.parametrize("task", [COLA, MNLI, TASK, COLA.model_copy(update={"name": "stsb"})])
@pytest.mark.parametrize("method", METHODS)
def test_formulas_equal_the_modules_on_every_kind_of_task(method: Method, task: Any) -> None:
    spec = spec_of(method, MINILM, task)
    assert sum(count_modules(spec).values()) == spec.trained_parameters()


@pytest.mark.parametrize("backbone", [BERT_BASE, BERT_LARGE, MINILM])
def test_full_fine_tuning_trains_the_whole_model(backbone: str) -> None:
    spec = spec_of(FullFineTuning(), backbone)
    classifier = 2 * (KNOWN[backbone].hidden_size + 1)
    assert sum(count_modules(spec).values()) == KNOWN[backbone].parameters + classifier
    assert spec.total_parameters() == spec.trained_parameters()


def test_the_whole_model_is_the_encoder_and_what_is_added() -> None:
    # BERT-base 109,482,240 with its pooler, 2,379,264 of adapters, 1,538 of a classifier
    spec = spec_of(houlsby(norms="all", pooler="trained"))
    assert spec.total_parameters() == 109_482_240 + 2_379_264 + 1_538
    assert spec_of(TopLayers(layers=2)).total_parameters() == 109_482_240 + 1_538
    spans = spec_of(houlsby(norms="all"), task=TASK)  # no pooler, two scorers
    assert spans.total_parameters() == 109_482_240 - 590_592 + 2_379_264 + 1_538
