"""The runs behind 3-shared's tables: the report's setting, its sources, what today's code does."""

from __future__ import annotations

from typing import Any

import pytest
from request_samples import made

from repro.errors import ReproError
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.papers.published import load_published
from repro.papers.three_shared.setting import AS_RELEASED, METHODS, runs_of
from repro.papers.three_shared.tables import FURTHER
from repro.spec import GlueTask, RunSpec, Scale
from repro.spec.backbones import BERT_BASE, KNOWN, MINILM
from repro.spec.glue import GLUE
from repro.spec.identity import flatten, identity_fields
from repro.spec.method import method_called

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
EVERY = [
    (variant, scale)
    for variant in METHODS
    for scale in SCALES
    if scale == "paper" or variant not in ("4-shared", "12-shared")  # MiniLM has 6 layers
]
MODELS = ("shared-in-layer", "not-shared", "3-shared")


def run(variant: str, scale: Scale = "paper", task: str = "cola", **asked: Any) -> RunSpec:
    return runs_of(variant, task, made(id="3-shared-2", scale=scale, seeds=1, **asked)).run(0)


def adapters(spec: RunSpec) -> BottleneckAdapters:
    assert isinstance(spec.method, BottleneckAdapters)
    return spec.method


def text(row: str) -> float:
    """A number of the report's text."""
    cells = load_published("three_shared", "SR20-text")
    (value,) = [cell.value for cell in cells.values() if cell.row == row]
    assert value is not None
    return value


def differences(one: RunSpec, other: RunSpec) -> dict[str, Any]:
    first, second = (dict(flatten(identity_fields(spec))) for spec in (one, other))
    names = sorted(first.keys() | second.keys())
    return {n: second.get(n) for n in names if first.get(n) != second.get(n)}


@pytest.mark.parametrize("variant", MODELS)
def test_the_paper_scale_has_the_reports_hyperparameters(variant: str) -> None:
    spec = run(variant)
    method, recipe = adapters(spec), spec.recipe
    assert method.size == text("adapter bottleneck m")
    assert spec.backbone.id == BERT_BASE
    assert spec.backbone.hidden_size == text("hidden size d")
    assert recipe.learning_rate == text("max learning rate, GLUE")
    assert recipe.epochs == text("epochs, GLUE")
    assert recipe.batch_size == text("batch size")
    assert spec.task.max_length == text("max sequence length")
    assert 100 * recipe.warmup == text("warmup")
    # Keras Adam, the best epoch on validation
    assert (recipe.adam_eps, recipe.bias_correction) == (1e-6, True)
    assert (recipe.weight_decay, recipe.clip_norm) == (0.0, None)
    assert (recipe.schedule, recipe.keep) == ("linear", "best")


@pytest.mark.parametrize("task", FURTHER)
def test_further_tasks_are_trained_for_longer_at_a_smaller_rate(task: str) -> None:
    recipe, on_glue = run("not-shared", task=task).recipe, run("not-shared").recipe
    assert recipe.learning_rate == text("max learning rate, additional tasks")
    assert recipe.epochs == text("epochs, additional tasks")
    same = {"learning_rate": on_glue.learning_rate, "epochs": on_glue.epochs}
    assert recipe.model_copy(update=same) == on_glue


def test_the_epochs_of_further_tasks_are_the_papers_for_its_own_models_only() -> None:
    for variant, origin in (("not-shared", "paper"), ("pfeiffer", "assumed")):
        sources = run(variant, task="airline").sources
        assert sources["recipe.epochs"].origin == origin
        assert sources["recipe.learning_rate"].origin == origin
    # what is fine-tuned is trained as BERT's authors did, on any task
    assert run("full-fine-tuning", task="airline").recipe == run("full-fine-tuning").recipe


@pytest.mark.parametrize("scale", ["reduced", "smoke"])
def test_smaller_scales_train_further_tasks_as_they_train_glue(scale: Scale) -> None:
    assert run("not-shared", scale, "airline").recipe == run("not-shared", scale, "rte").recipe


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        # span, norms, head, init, its deviation
        ("shared-in-layer", (1, "none", "linear", "truncated-normal", 0.02)),
        ("not-shared", (0, "encoder", "two-layer", "normal", 0.02)),
        ("3-shared", (3, "none", "linear", "truncated-normal", 0.02)),
        ("houlsby", (0, "all", "linear", "truncated-normal", 0.01)),
        ("pfeiffer", (0, "none", "linear", "normal", 0.02)),
    ],
)
def test_a_model_is_what_the_report_says_of_it(variant: str, expected: tuple[Any, ...]) -> None:
    for scale in SCALES:
        method = adapters(run(variant, scale))
        found = (method.span, method.norms, method.head, method.init, method.init_std)
        assert found == expected
        assert method.pooler == ("frozen" if scale == "paper" else "trained")
        assert method.placement == ("pfeiffer" if variant == "pfeiffer" else "houlsby")


def test_a_pfeiffer_adapter_is_a_sixteenth_as_wide_as_the_encoder() -> None:
    assert adapters(run("pfeiffer")).size == 48
    assert adapters(run("pfeiffer", "smoke")).size == 24


@pytest.mark.parametrize(("variant", "scale"), EVERY)
def test_as_released_is_the_code_after_the_report(variant: str, scale: Scale) -> None:
    """Layer norms trained, 1e-3 and GELU by tanh, in the models of the TensorFlow code; Houlsby's
    own 1e-3.
    """
    changed = differences(run(variant, scale), run(variant, scale, as_released=True))
    today = {
        "method.init_std": 1e-3,
        "method.norms": "encoder",
        "method.nonlinearity": "gelu-tanh",
    }
    expected = {"shared-in-layer": today, "3-shared": today, "houlsby": {"method.init_std": 1e-3}}
    assert changed == expected.get(variant, {})
    assert AS_RELEASED.keys() == expected.keys()


def test_fine_tuning_is_berts_own() -> None:
    # Devlin et al., section 4.1 and released code
    recipe = run("full-fine-tuning").recipe
    assert (recipe.epochs, recipe.batch_size) == (3, 32)
    assert 2e-5 <= recipe.learning_rate <= 5e-5
    assert (recipe.weight_decay, recipe.decayed, recipe.clip_norm) == (0.01, "matrices", 1.0)
    assert recipe.bias_correction is False


@pytest.mark.parametrize(("variant", "scale"), EVERY)
def test_every_field_says_where_its_value_comes_from(variant: str, scale: Scale) -> None:
    for released in (False, True):
        spec = run(variant, scale, as_released=released)
        wanted = {
            path.rpartition(".")[0] if path.startswith("recipe.logit_clamp.") else path
            for part in ("task", "method", "recipe")
            for path, _ in flatten(identity_fields(getattr(spec, part)), part)
        }
        assert wanted <= spec.sources.keys()
        assert all(source.citation.strip() for source in spec.sources.values())
        if scale == "paper" and variant in MODELS:
            assert not any("scale" in source.citation for source in spec.sources.values())


def test_every_line_on_a_method_names_a_field_of_some_method() -> None:
    kinds = ("bottleneck-adapters", "full-fine-tuning", "top-layers", "layer-norms")
    known = {f"method.{name}" for kind in kinds for name in method_called(kind).model_fields}
    for setting in METHODS.values():
        assert {path for path in setting if path.startswith("method.")} <= known


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("task", GLUE)
def test_every_task_has_its_run_at_every_scale(task: str, scale: Scale) -> None:
    spec = run("3-shared", scale, task, data_revisions={task: "found"})
    assert isinstance(spec.task, GlueTask)
    assert (spec.task.name, spec.task.revision) == (task, "found")
    assert spec.task.source == ("generated" if scale == "smoke" else "glue")
    assert spec.backbone == KNOWN[BERT_BASE if scale == "paper" else MINILM]


def test_the_whole_of_a_task_is_trained_on_at_the_papers_scale() -> None:
    task = run("3-shared").task
    assert (task.train_rows, task.evaluation_rows) == (None, None)


def test_what_a_user_asks_for_wins_and_is_said_to_be_asked_for() -> None:
    asked: dict[str, Any] = {
        "train_rows": 77,
        "evaluation_rows": 66,
        "epochs": 3,
        "learning_rate": 0.5,
        "precision": "fp32",
        "bottleneck": 16,
    }
    for variant in MODELS:
        found = run(variant, **asked)
        changed = differences(run(variant), found)
        assert changed == {
            "task.train_rows": 77,
            "task.evaluation_rows": 66,
            "recipe.epochs": 3,
            "recipe.learning_rate": 0.5,
            "recipe.precision": "fp32",
            "method.size": 16,
        }
        assert {found.sources[path].origin for path in changed} == {"assumed"}


def test_a_depth_that_three_does_not_divide_is_refused_when_planned() -> None:
    four = KNOWN[MINILM].model_copy(update={"layers": 4, "id": "local", "name": "four"})
    with pytest.raises(ReproError, match="4 layers"):
        run("3-shared", "smoke", backbone=four)
    run("not-shared", "smoke", backbone=four)


TENSORFLOW_ONLY = (
    "recipe.adam_eps",
    "recipe.weight_decay",
    "recipe.clip_norm",
    "recipe.bias_correction",
    "method.pooler",
    "method.init_std",
)


@pytest.mark.parametrize("field", TENSORFLOW_ONLY)
def test_the_released_code_speaks_of_its_own_two_models_only(field: str) -> None:
    # methods/not_shared_3shared: "not shared" is likely another code base's model
    for variant in ("shared-in-layer", "3-shared"):
        assert run(variant).sources[field].origin == "code"
    assert run("not-shared").sources[field].origin == "assumed"
    assert run("layer-norms").sources["recipe.epochs"].origin == "assumed"


@pytest.mark.parametrize("span", [2, 4, 6, 12])
def test_n_shared_has_one_module_for_n_layers_and_is_a_model_of_ours(span: int) -> None:
    spec = run(f"{span}-shared")
    assert adapters(spec).span == span
    # 12 / n modules of 2 m d + m + d = 99,136 parameters, and a classifier of 2 x (768 + 1)
    assert spec.trained_parameters() == 12 // span * 99_136 + 2 * 769
    assert spec.sources["method.span"].origin == "assumed"


@pytest.mark.parametrize("span", [4, 12])
def test_a_span_that_does_not_divide_the_depth_is_refused(span: int) -> None:
    with pytest.raises(ReproError, match="1, 2, 3, 6"):
        run(f"{span}-shared", "smoke")
