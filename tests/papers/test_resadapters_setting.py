"""The runs behind ResAdapters' tables: the published setting, its sources, the released reading."""

from __future__ import annotations

from typing import Any

import pytest
from request_samples import made
from run_samples import TINY, changed

from repro.errors import ReproError, UnknownName
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.resadapters import PipelinedCells
from repro.papers.published import load_published
from repro.papers.registry import TABLES, find_table
from repro.papers.request import Request
from repro.papers.resadapters.tables import ONE, TWO, runs_of
from repro.papers.tables import Table
from repro.spec import RunSpec, Scale, SquadTask, run_key
from repro.spec.backbones import BERT_BASE, BERT_BASE_SQUAD2, KNOWN, MINILM
from repro.spec.identity import flatten, identity_fields

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
CELLS = ("adapter", "adapter-resnet", "attention", "attention-resnet", "attention-resnext")


def request(table: Table, scale: Scale = "paper", **changes: Any) -> Request:
    return made(id=table.id, scale=scale, seeds=1, **changes)


def run_of(table: Table, variant: str, scale: Scale = "paper", **changes: Any) -> RunSpec:
    asked = request(table, scale, **changes)
    return runs_of(variant, "squad2", asked, all_rows=table is TWO).run(0)


def questions(spec: RunSpec) -> SquadTask:
    assert isinstance(spec.task, SquadTask)
    return spec.task


def text(row: str) -> float:
    """A number of the paper's text."""
    cells = load_published("resadapters", "RA-text")
    (value,) = [cell.value for cell in cells.values() if cell.row == row]
    assert value is not None
    return value


@pytest.mark.parametrize("variant", CELLS)
def test_the_paper_scale_has_the_papers_hyperparameters(variant: str) -> None:
    spec = run_of(ONE, variant)
    method, task, recipe = spec.method, questions(spec), spec.recipe
    assert isinstance(method, PipelinedCells)
    assert recipe.learning_rate == text("learning rate")
    assert recipe.batch_size == text("batch size")
    assert method.dropout == text("dropout")
    assert task.max_length == text("max sequence length")
    assert task.train_rows == text("Table 1 training samples")
    assert method.stage == text("ResNet stage size")
    assert spec.backbone.layers == text("BERT layers tapped")
    assert spec.backbone.hidden_size == text("hidden size")
    assert spec.backbone.layers / method.stage == text("ResNeXt cardinality")
    assert spec.backbone.id == BERT_BASE
    assert (task.source, task.train, task.subset) == ("squad_v2", "train", "file-order")


@pytest.mark.parametrize("variant", CELLS)
def test_what_the_paper_leaves_open_is_the_released_codes(variant: str) -> None:
    # resadapters.md, sections 1 and 3: the notebook's values
    spec = run_of(ONE, variant)
    method, recipe = spec.method, spec.recipe
    assert isinstance(method, PipelinedCells)
    assert (method.bottleneck, method.heads) == (200, 4)
    assert recipe.epochs == 5
    assert (recipe.schedule, recipe.warmup) == ("constant", 0.0)
    assert (recipe.adam_eps, recipe.weight_decay) == (1e-8, 0.0)
    assert recipe.bias_correction is False
    task = questions(spec)
    assert (task.features, task.stride, task.max_query) == ("legacy", 128, 64)


@pytest.mark.parametrize(
    ("variant", "wiring", "nonlinearity"),
    [
        ("adapter", "plain", "relu"),
        ("adapter-resnet", "resnet", "relu"),
        ("attention", "plain", "attention"),
        ("attention-resnet", "resnet", "attention"),
        ("attention-resnext", "resnext", "attention"),
    ],
)
def test_a_row_is_its_wiring_and_its_cells_middle(
    variant: str, wiring: str, nonlinearity: str
) -> None:
    for scale in SCALES:
        method = run_of(ONE, variant, scale).method
        assert isinstance(method, PipelinedCells)
        assert (method.wiring, method.nonlinearity) == (wiring, nonlinearity)


def test_table_two_trains_on_all_rows_for_the_epochs_it_prints() -> None:
    spec = run_of(TWO, "attention-resnext")
    assert spec.task.train_rows is None
    epochs = [row.epoch for row in TWO.rows if row.epoch is not None]
    assert epochs == list(range(1, spec.recipe.epochs + 1))
    one = run_of(ONE, "attention-resnext")
    assert differences(one, spec) == {"task.train_rows", "recipe.epochs"}


def test_the_printed_fine_tuning_row_is_a_probe_of_a_tuned_encoder() -> None:
    spec = run_of(TWO, "linear-probe")
    assert spec.method == LinearProbe(layer=12)
    assert spec.backbone == KNOWN[BERT_BASE_SQUAD2]
    tuned = run_of(TWO, "full-fine-tuning")
    # optimization.py of BERT: no decay of biases and layer norms, 1 - g/N after the warm-up
    assert (tuned.recipe.decayed, tuned.recipe.schedule) == ("matrices", "bert")
    assert tuned.method == FullFineTuning(dropout=0.1)
    assert tuned.backbone == KNOWN[BERT_BASE]


def differences(one: RunSpec, other: RunSpec) -> set[str]:
    first, second = (dict(flatten(identity_fields(spec))) for spec in (one, other))
    names = first.keys() | second.keys()
    return {name for name in names if first.get(name) != second.get(name)}


RELEASED = {
    # resadapters.md, section 6
    "method.layer_norm_eps": 384.0,
    "method.norm_axis": "position",
    "method.attention_mask": False,
    "recipe.clip_norm": 0.1,
    "recipe.start_weight": 0.6,
    "recipe.end_weight": 0.4,
    "recipe.logit_clamp": [0.0, 384.0],
    "recipe.padding": "max",
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("variant", CELLS)
def test_as_released_changes_exactly_the_documented_fields(variant: str, scale: Scale) -> None:
    repaired = run_of(ONE, variant, scale)
    released = run_of(ONE, variant, scale, as_released=True)
    expected: dict[str, Any] = dict(RELEASED)
    if not variant.startswith("attention"):
        expected["method.nonlinearity"] = "gelu"
    assert differences(repaired, released) == set(expected)
    found = dict(flatten(identity_fields(released)))
    assert {name: found[name] for name in expected} == expected
    assert {released.sources[name].origin for name in expected} == {"code"}


@pytest.mark.parametrize("variant", ["linear-probe", "full-fine-tuning", "always-null"])
def test_as_released_leaves_rows_that_have_no_cells(variant: str) -> None:
    for scale in SCALES:
        assert run_of(TWO, variant, scale) == run_of(TWO, variant, scale, as_released=True)


def every_run() -> list[Any]:
    return [
        pytest.param(table, variant, scale, released, id=f"{table.id}-{variant}-{scale}-{released}")
        for table in (ONE, TWO)
        for variant in dict.fromkeys(row.variant for row in table.rows)
        for scale in SCALES
        for released in (False, True)
    ]


@pytest.mark.parametrize(("table", "variant", "scale", "released"), every_run())
def test_every_field_says_where_its_value_comes_from(
    table: Table, variant: str, scale: Scale, released: bool
) -> None:
    spec = run_of(table, variant, scale, as_released=released)
    parts = {"task": spec.task, "method": spec.method, "recipe": spec.recipe}
    # a field that came later has a source where it is not what every run did before
    wanted = {f"{name}.{field}" for name, part in parts.items() for field in identity_fields(part)}
    assert spec.sources.keys() == wanted | {"backbone"}
    for source in spec.sources.values():
        assert source.citation.strip()
        if scale == "paper" and variant in CELLS:
            assert "scale" not in source.citation


def test_runs_come_seed_by_seed_and_each_once() -> None:
    asked = Request(id=TWO.id, scale="smoke", seeds=2)
    runs = [*TWO.matrix(asked).runs.values()]
    kinds = ["pipelined-cells", "linear-probe", "full-fine-tuning", "always-null"]
    assert [(run.seed, run.method.kind) for run in runs] == [
        (seed, kind) for seed in (0, 1) for kind in kinds
    ]
    assert len({run_key(run) for run in runs}) == len(runs)


def test_the_tables_share_the_runs_they_have_in_common_at_small_scales() -> None:
    for scale in ("reduced", "smoke"):
        one, two = (
            {run_key(run) for run in table.matrix(Request(table.id, scale, seeds=1)).runs.values()}
            for table in (ONE, TWO)
        )
        assert len(one & two) == 2  # Attention ResNeXt and the reference


@pytest.mark.parametrize("scale", ["reduced", "smoke"])
def test_small_scales_read_a_small_encoder(scale: Scale) -> None:
    for variant in (*CELLS, "linear-probe", "full-fine-tuning", "always-null"):
        spec = run_of(TWO, variant, scale)
        assert spec.backbone == KNOWN[MINILM]
        if isinstance(spec.method, PipelinedCells):
            assert spec.method.bottleneck == 100  # 200 of 768, as 100 of 384
        if isinstance(spec.method, LinearProbe):
            assert spec.method.layer == 6


@pytest.mark.parametrize(("hidden", "expected"), [(768, 200), (384, 100), (32, 8), (1024, 268)])
def test_the_bottleneck_grows_with_the_hidden_size_in_steps_of_the_heads(
    hidden: int, expected: int
) -> None:
    # 1024 * 200 / 768 = 266.7, the nearest multiple of 4 is 268
    backbone = changed(TINY, ("hidden_size",), hidden)
    method = run_of(ONE, "attention", "smoke", backbone=backbone).method
    assert isinstance(method, PipelinedCells)
    assert method.bottleneck == expected


def test_what_a_user_asks_for_wins_and_is_said_to_be_asked_for() -> None:
    asked: dict[str, Any] = {
        "train_rows": 77,
        "evaluation_rows": 66,
        "epochs": 3,
        "learning_rate": 0.5,
        "precision": "fp32",
        "bottleneck": 80,
        "data_revisions": {"squad2": "sha256:data"},
    }
    spec = run_of(ONE, "attention", **asked)
    plain = run_of(ONE, "attention")
    expected = {
        "task.train_rows": 77,
        "task.evaluation_rows": 66,
        "recipe.epochs": 3,
        "recipe.learning_rate": 0.5,
        "recipe.precision": "fp32",
        "method.bottleneck": 80,
        "task.revision": "sha256:data",
    }
    assert differences(plain, spec) == set(expected)
    found = dict(flatten(identity_fields(spec)))
    assert {name: found[name] for name in expected} == expected
    assert {spec.sources[name].origin for name in expected} == {"assumed"}


def test_an_encoder_whose_depth_does_not_fit_is_refused_when_planned() -> None:
    backbone = changed(TINY, ("layers",), 4)
    with pytest.raises(ReproError, match="no multiple of 3"):
        [*ONE.matrix(request(ONE, "smoke", backbone=backbone)).runs.values()]
    run_of(TWO, "linear-probe", "smoke", backbone=backbone)


def test_tables_are_found_in_any_case_and_unknown_ones_name_the_closest() -> None:
    assert find_table("resadapters-1") is ONE
    assert find_table("RESADAPTERS-2") is TWO
    assert find_table("3-SHARED-2").id == "3-shared-2"
    assert set(TABLES) == {
        "ResAdapters-1", "ResAdapters-2", "Houlsby-1", "Houlsby-2", "3-shared-1", "3-shared-2",
        "3-shared-3", "Peters-1", "Hyperformer-1", "Hyperformer-2", "Hyperformer-4",
        "AA-1", "AA-2", "AA-3", "AA-4", "AA-5", "LoRA-1",
    }  # fmt: skip
    with pytest.raises(UnknownName, match="Did you mean ResAdapters-"):
        find_table("ResAdapter-1")
