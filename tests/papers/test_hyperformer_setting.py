"""HyperFormer's setting is the released configuration's, each value with its source."""

from __future__ import annotations

from typing import Any

import pytest
from fake_written import request

from repro.errors import ReproError
from repro.methods.t5 import HyperFormer, T5Adapters
from repro.papers.hyperformer.runs import (
    METHODS,
    ONE_TASK,
    ablated_runs,
    few_shot_runs,
    low_resource_runs,
    pretraining,
    table_runs,
)
from repro.papers.hyperformer.setting import (
    ABLATIONS,
    DAGGER,
    HYPER,
    MULTI,
    NO_BLOCKS,
    NO_CONDITIONAL,
    NO_NORMS,
    NO_PROJECTOR,
    NO_T5_NORM,
    PLUS,
    SIZES,
    TUNED,
    WHOLE,
)
from repro.papers.published import load_published
from repro.spec import RunSpec, Scale, TextToText, run_key
from repro.spec.backbones import KNOWN, T5_BASE, T5_SMALL, TINY_T5
from repro.spec.identity import flatten, identity_fields
from repro.spec.text_to_text import MIXTURE

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")


def row(model: str, size: str = "BASE", scale: Scale = "paper", **asked: Any) -> RunSpec:
    return table_runs(model, size, "rte", request(scale=scale, **asked)).run(42)


def hyper(spec: RunSpec) -> HyperFormer:
    assert isinstance(spec.method, HyperFormer)
    return spec.method


def texts(spec: RunSpec) -> TextToText:
    assert isinstance(spec.task, TextToText)
    return spec.task


def config(name: str) -> str:
    cells = load_published("hyperformer", "HF21-config").values()
    return next(cell.text for cell in cells if cell.row.startswith(name))


def differences(one: RunSpec, other: RunSpec) -> dict[str, Any]:
    """Fields in which they differ, with the other's value."""
    first, second = (dict(flatten(identity_fields(spec))) for spec in (one, other))
    names = first.keys() | second.keys()
    return {name: second.get(name) for name in names if first.get(name) != second.get(name)}


@pytest.mark.parametrize("model", METHODS)
def test_the_paper_scale_trains_as_the_released_configurations_say(model: str) -> None:
    spec = row(model)
    recipe, task = spec.recipe, texts(spec)
    assert recipe.learning_rate == float(config("learning_rate"))
    assert config("per_device_train_batch_size") == "32"
    cells = load_published("hyperformer", "HF21-config").values()
    assert "x4 GPUs" in [cell.note for cell in cells if cell.row.startswith("per_device_train")]
    assert recipe.batch_size == 32 * 4
    assert recipe.steps == int(config("max_steps"))
    assert recipe.steps * recipe.batch_size == 2**18 * 32  # the text's steps, of one GPU's rows
    assert recipe.warmup * recipe.steps == int(config("warmup_steps"))
    assert recipe.look_steps == int(config("eval_steps"))
    assert recipe.epochs == 66  # 65 looks and one after the last 536 steps
    assert recipe.label_smoothing == float(config("label_smoothing"))
    assert (task.max_length, task.max_target) == (
        int(config("max_source_length")), int(config("max_target_length")),
    )  # fmt: skip
    assert task.temperature == float(config("temperature"))
    assert (recipe.schedule, recipe.over_tokens, recipe.keep) == ("linear", "sum", "first-best")
    assert recipe.loss_parts == 4  # the mean over four GPUs of sums over 32 rows
    assert (recipe.adam_eps, recipe.weight_decay, recipe.clip_norm) == (1e-8, 0.0, 1.0)
    assert (task.train_rows, task.evaluation_rows, task.split_seed) == (None, None, 42)
    assert spec.seed == 42


def test_only_rows_that_are_fine_tuned_name_the_task_in_the_input() -> None:
    assert {model for model in METHODS if texts(row(model)).prefix} == {TUNED, MULTI}


@pytest.mark.parametrize(("size", "id"), [("SMALL", T5_SMALL), ("BASE", T5_BASE)])
def test_a_row_is_of_its_size_and_of_one_task_or_all(size: str, id: str) -> None:
    for model in METHODS:
        spec = row(model, size)
        assert spec.backbone == KNOWN[id]
        assert set(texts(spec).tasks) == ({"rte"} if model in ONE_TASK else set(MIXTURE))
        assert spec.parents == {}


def test_the_models_are_those_that_table_one_counts() -> None:
    # hyperformer.md, counts: r = 32 throughout; z = 512 and the MLP for HyperFormer
    slot, stack = hyper(row(HYPER)), hyper(row(PLUS))
    assert (slot.generators, slot.task_embedding, slot.projector) == ("slot", 512, 128)
    assert (stack.generators, stack.task_embedding, stack.projector) == ("stack", 64, 128)
    assert {slot.projected, stack.projected} == {int(config("projected_task_embedding_dim"))}
    assert {slot.reduction, stack.reduction} == {32}
    dagger = row(DAGGER).method
    assert isinstance(dagger, T5Adapters)
    assert dagger.reduction == 32


def test_as_released_changes_exactly_the_documented_fields() -> None:
    data = {
        "task.set_aside": "trained-on",
        "task.last_rows": "left-out",
        "task.grid": "0.1",
        "task.colon": False,
    }
    model = {
        "method.generators": "kind",
        "method.task_embedding": int(config("task_embedding_dim")),
    }
    for name in METHODS:
        released = row(name, as_released=True)
        expected = data | (model if name == HYPER else {})
        assert differences(row(name), released) == expected
        assert {released.sources[field].origin for field in expected} == {"code"}


ABLATED = {
    "- Adapter blocks": {"method.blocks": False},
    "- Conditional layer norm": {"method.norm": "shared"},
    "- Task projector": {"method.projector": None, "method.task_embedding": 64},
    "- T5 Layer norm": {"method.t5_norms": False},
    "- Conditional layer norm, T5 Layer norm": {
        "method.norm": "shared", "method.t5_norms": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ABLATED)
def test_an_ablation_is_the_small_hyperformer_without_a_part(name: str) -> None:
    whole = ablated_runs(WHOLE, request("Hyperformer-4")).run(42)
    assert run_key(whole) == run_key(row(HYPER, "SMALL"))
    assert differences(whole, ablated_runs(name, request("Hyperformer-4")).run(42)) == ABLATED[name]
    assert set(ABLATIONS) == set(ABLATED)


def test_a_norm_set_by_hand_is_for_the_rows_without_a_generated_one() -> None:
    asked = request("Hyperformer-4", settings={"method.norm": "none"})
    norms = {name: hyper(ablated_runs(name, asked).run(42)).norm for name in (WHOLE, *ABLATIONS)}
    assert {name for name, norm in norms.items() if norm == "none"} == {NO_CONDITIONAL, NO_NORMS}
    assert norms[NO_PROJECTOR] == "generated"


def test_what_a_row_leaves_out_stays_out_whatever_is_set_by_hand() -> None:
    parts = {"projector": 16, "blocks": True, "t5_norms": True}
    asked = request("Hyperformer-4", settings={f"method.{k}": v for k, v in parts.items()})
    assert hyper(ablated_runs(WHOLE, asked).run(42)).projector == 16
    assert hyper(ablated_runs(NO_BLOCKS, asked).run(42)).projector == 16
    assert hyper(ablated_runs(NO_PROJECTOR, asked).run(42)).projector is None
    assert not hyper(ablated_runs(NO_BLOCKS, asked).run(42)).blocks
    for name in (NO_T5_NORM, NO_NORMS):
        assert not hyper(ablated_runs(name, asked).run(42)).t5_norms


def test_the_grid_of_the_released_code_is_set_as_a_number() -> None:
    """`--set task.grid=0.1` is read as one; the run is the same as with the text."""
    for given in (0.1, "0.1"):
        spec = row(PLUS, settings={"task.grid": given})
        assert (texts(spec).grid, run_key(spec)) == (
            "0.1",
            run_key(row(PLUS, settings={"task.grid": "0.1"})),
        )
    with pytest.raises(ReproError, match=r"expected '0\.2' or '0\.1'"):
        row(PLUS, settings={"task.grid": 0.3})


def every_run(scale: Scale, *, released: bool) -> list[RunSpec]:
    asked = request(scale=scale, as_released=released)
    found = [row(model, size, scale, as_released=released) for model in METHODS for size in SIZES]
    found += [ablated_runs(name, asked).run(42) for name in ABLATIONS]
    found += [few_shot_runs(model, "cb", 16, asked)[1].run(43) for model in (MULTI, DAGGER, PLUS)]
    found.append(low_resource_runs(PLUS, 100, asked).run(43))
    first = pretraining(asked, found[0].backbone)
    return [*found, *([first] if first is not None else [])]


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_every_field_says_where_its_value_comes_from(scale: Scale, released: bool) -> None:
    for spec in every_run(scale, released=released):
        parts = {"task": spec.task, "method": spec.method, "recipe": spec.recipe}
        wanted = {f"{n}.{field}" for n, part in parts.items() for field in identity_fields(part)}
        wanted |= {"backbone"} | ({"parents"} if spec.parents else set())
        assert wanted <= spec.sources.keys()
        said = {path: source for path, source in spec.sources.items() if path in wanted}
        for source in said.values():
            assert source.citation.strip()
            assert scale != "paper" or "scale" not in source.citation


def test_few_samples_are_of_the_task_that_table_two_names() -> None:
    few = few_shot_runs(PLUS, "cb", 16, request("Hyperformer-2"))[1].run(42)
    assert texts(few).tasks == ("cb",)
    assert {few.sources[f"task.{name}"].citation for name in ("tasks", "train_rows")} == {"Table 2"}


def test_the_task_to_start_from_can_be_set_and_is_the_few_shot_runs_alone() -> None:
    first, bare = few_shot_runs(PLUS, "cb", 16, request("Hyperformer-2"))
    asked = request("Hyperformer-2", settings={"method.starts_from": "rte"})
    parent, few = few_shot_runs(PLUS, "cb", 16, asked)
    assert parent == first
    starts = [hyper(runs.run(42)).starts_from for runs in (bare, few)]
    assert starts == ["mnli", "rte"]
    unknown = request("Hyperformer-2", settings={"method.starts_from": "cb"})
    with pytest.raises(ReproError, match=r"=cb: the multi-task run has no such task\. Choose one"):
        few_shot_runs(PLUS, "cb", 16, unknown)


def test_what_is_set_by_hand_wins_and_looks_fit_steps() -> None:
    asked: dict[str, Any] = {
        "epochs": 3,
        "learning_rate": 0.5,
        "evaluation_rows": 66,
        "train_rows": 77,
    }
    spec = row(PLUS, **asked, bottleneck=48)
    assert differences(row(PLUS), spec) == {
        "recipe.epochs": 3,
        "recipe.steps": 3_000,  # three looks of 1,000
        "recipe.learning_rate": 0.5,
        "task.evaluation_rows": 66,
        "task.train_rows": 77,
        "method.reduction": 768 // 48,
    }
    long = row(PLUS, settings={"recipe.steps": 2_500, "recipe.schedule": "constant"})
    assert (long.recipe.steps, long.recipe.epochs, long.recipe.schedule) == (2_500, 3, "constant")
    with pytest.raises(ReproError, match="--bottleneck 50 does not divide the hidden size"):
        row(PLUS, bottleneck=50)


def test_low_resource_runs_are_multi_task_runs_on_few_rows() -> None:
    spec = low_resource_runs(PLUS, 500, request("low-resource")).run(44)
    changed = differences(row(PLUS), spec)
    assert changed.keys() == {
        "seed", "task.subset_seed", "task.train_rows", "recipe.epochs", "recipe.steps",
        "recipe.warmup",
    }  # fmt: skip
    assert (changed["task.train_rows"], changed["task.subset_seed"]) == (500, 44)
    assert changed["recipe.warmup"] * changed["recipe.steps"] == pytest.approx(500)


@pytest.mark.parametrize("scale", ["reduced", "smoke"])
def test_small_scales_have_one_model_for_both_sizes(scale: Scale) -> None:
    backbone = KNOWN[T5_SMALL if scale == "reduced" else TINY_T5]
    for model in METHODS:
        small, base = (row(model, size, scale) for size in SIZES)
        assert small == base
        assert small.backbone == backbone
