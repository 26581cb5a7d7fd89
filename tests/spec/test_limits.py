"""Runs that cannot be trained are refused with a sentence that names the choices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from inside_samples import adapters
from run_samples import cells, changed, run_spec

from repro.errors import ReproError
from repro.methods.fine_tuning import FullFineTuning, LayerNorms, TopLayers
from repro.methods.frozen_features import FrozenFeatures
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AblatedSpans, AlwaysNull
from repro.spec import GlueTask, RunSpec, TaggingTask, Task, run_key
from repro.spec.backbones import KNOWN
from repro.spec.method import Method

COLA = GlueTask(name="cola", source="generated", revision="by hand")


def refusal(spec: RunSpec) -> str:
    with pytest.raises(ReproError) as caught:
        spec.check()
    return str(caught.value)


@pytest.mark.parametrize(
    ("layers", "choices"), [(2, "of 3 layers"), (7, "of 6 or 9 layers"), (11, "of 9 or 12 layers")]
)
@pytest.mark.parametrize("wiring", ["plain", "resnet", "resnext"])
def test_a_depth_that_is_no_multiple_of_the_stage_is_refused(
    layers: int, choices: str, wiring: str
) -> None:
    said = refusal(run_spec(cells(wiring), backbone__layers=layers))
    assert f"this encoder has {layers} layers, which is no multiple of 3" in said
    assert choices in said
    assert "--backbone" in said


@pytest.mark.parametrize("layers", [3, 6, 12, 24])
def test_a_depth_that_is_a_multiple_of_the_stage_is_accepted(layers: int) -> None:
    run_spec(cells("resnext"), backbone__layers=layers).check()


def test_heads_that_do_not_divide_the_bottleneck_are_refused() -> None:
    said = refusal(run_spec(cells(nonlinearity="attention", bottleneck=10)))
    assert "bottleneck of 10 cannot be split into 4 attention heads" in said
    assert "a multiple of 4" in said
    run_spec(cells(nonlinearity="relu", bottleneck=10)).check()


def test_a_norm_over_positions_needs_windows_of_one_length() -> None:
    spec = run_spec(cells(norm_axis="position"))
    assert "padding to 'max'" in refusal(spec)
    run_spec(cells(norm_axis="position"), recipe__padding="max").check()


def test_a_probe_of_a_layer_that_is_not_there_is_refused() -> None:
    assert "reads layer 7, and tiny has 6 layers" in refusal(run_spec(LinearProbe(layer=7)))
    run_spec(LinearProbe(layer=6)).check()


@pytest.mark.parametrize(
    ("layers", "span", "choices"), [(12, 5, "1, 2, 3, 4, 6, 12"), (6, 4, "1, 2, 3, 6")]
)
def test_a_span_that_does_not_divide_the_depth_is_refused(
    layers: int, span: int, choices: str
) -> None:
    said = refusal(run_spec(adapters(span=span), backbone__layers=layers))
    assert f"tiny has {layers} layers" in said
    assert f"spans of {span}" in said
    assert f"Choose a span of {choices} (0 shares nothing)." in said


@pytest.mark.parametrize("span", [0, 1, 2, 3, 4, 6, 12])
def test_a_span_that_divides_the_depth_is_accepted(span: int) -> None:
    run_spec(adapters(span=span), backbone__layers=12).check()


def test_more_top_layers_than_there_are_are_refused() -> None:
    assert "The top 7 layers cannot be trained: tiny has 6." in refusal(
        run_spec(TopLayers(layers=7))
    )
    run_spec(TopLayers(layers=6)).check()


@pytest.mark.parametrize("method", [cells(), LinearProbe(layer=1), AlwaysNull()])
def test_a_method_that_answers_with_spans_is_refused_on_a_classification(method: Method) -> None:
    said = refusal(run_spec(method, task=COLA))
    assert f"The method '{method.kind}' answers questions with spans, and cola wants" in said
    assert "bottleneck-adapters" in said


@pytest.mark.parametrize(
    "method", [FullFineTuning(), TopLayers(layers=2), LayerNorms(), adapters()]
)
def test_methods_inside_the_encoder_do_both_kinds_of_task(method: Method) -> None:
    run_spec(method, task=COLA).check()
    run_spec(method).check()


def test_ablated_spans_need_the_run_that_they_ablate() -> None:
    assert "parent 'trained'" in refusal(run_spec(AblatedSpans(), task=COLA))
    run_spec(AblatedSpans(), task=COLA, parents={"trained": "0" * 64}).check()


def test_planning_imports_neither_torch_nor_data_libraries() -> None:
    program = (
        "import sys, repro.papers.registry, repro.backbones.describe;"
        "from repro.spec.method import methods; assert len(methods()) > 13;"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'pyarrow'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_frozen_features_answer_no_questions_but_tag_and_classify() -> None:
    method = FrozenFeatures(units=8)
    assert "Choose another method, such as 'linear-probe'" in refusal(run_spec(method))
    run_spec(method, task=COLA).check()
    run_spec(method, task=TaggingTask(source="generated", revision="by hand")).check()


def test_spans_are_no_tags() -> None:
    tagging = TaggingTask(source="generated", revision="by hand")
    for method in (cells(), LinearProbe(layer=1), AlwaysNull()):
        assert "conll2003 wants" in refusal(run_spec(method, task=tagging))


@pytest.mark.parametrize("positions", [64, 128])
@pytest.mark.parametrize(
    ("task", "method"),
    [
        (COLA, adapters()),
        (TaggingTask(source="generated", revision="by hand"), FrozenFeatures(units=8)),
        (run_spec().task, cells()),
    ],
)
def test_an_input_longer_than_the_positions_is_refused_with_both_numbers(
    positions: int, task: Task, method: Method
) -> None:
    encoder = changed(run_spec().backbone, ("positions",), positions)
    spec = run_spec(method, backbone=encoder, task=task, task__max_length=600)
    said = refusal(spec)
    assert "up to 600 tokens" in said
    assert f"tiny has {positions} positions" in said
    assert f"--set task.max_length={positions}" in said
    changed(spec, ("task", "max_length"), positions).check()


def test_positions_are_no_identity_and_a_t5_has_none() -> None:
    spec = run_spec()
    longer = changed(spec, ("backbone", "positions"), 512)
    assert run_key(longer) == run_key(spec)
    known: dict[str, set[int | None]] = {"bert": set(), "t5": set()}
    for backbone in KNOWN.values():
        known[backbone.family].add(backbone.positions)
    assert known == {"bert": {512}, "t5": {None}}
