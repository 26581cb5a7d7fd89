"""Compiled steps: rounded shapes and graphs change no number, and the shapes are few."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from group_samples import group_of, losses, spec_of
from inside_groups import adapters, data_of, inside_spec
from tiny_models import real_tokens

from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.inside.packing import LENGTHS, TOKENS, Packing, rounded_up
from repro.methods.lora import LoRA
from repro.methods.modules.layout import Layout
from repro.spec import RunSpec
from repro.training.group import Group


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Graphs run as they were traced, by torch's operations; gives every graph that was made."""
    made: list[Any] = []

    def uncompiled(graph: Any, **_: Any) -> Any:
        made.append(graph)
        return graph

    monkeypatch.setattr(torch, "compile", uncompiled)
    return made


def small(method: Any, seed: int = 0, **changes: Any) -> RunSpec:
    few: dict[str, Any] = {"backbone__layers": 1, "recipe__epochs": 1, "recipe__batch_size": 8}
    return inside_spec(method, seed, **(few | changes))


def after(specs: Sequence[RunSpec], work: Path, **options: Any) -> Group:
    data = None if specs[0].task.name == "squad2" else data_of()
    made = group_of(specs, work, data=data, **options)
    made.train()
    return made


PFEIFFER = adapters(placement="pfeiffer", nonlinearity="relu", head="two-layer")
KINDS: dict[str, tuple[Any, int | None]] = {
    "houlsby, two seeds": (
        lambda: [small(adapters(), seed, backbone__layers=2) for seed in (0, 1)],
        None,
    ),
    "pfeiffer, in parts": (lambda: [small(PFEIFFER)], 5),
    "lora in bf16": (lambda: [small(LoRA(pooler="none"), recipe__precision="bf16")], None),
    "fine-tuned on questions": (
        lambda: [spec_of(FullFineTuning(), recipe__epochs=1, backbone__layers=1)],
        None,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_steps_on_rounded_shapes_are_those_on_exact_ones(
    kind: str, tmp_path: Path, replayed: list[Any]
) -> None:
    """Dropout is on: the masks are the same. To 1e-5 in fp32, to a few of bf16's 8 bits there."""
    specs, micro_batch = KINDS[kind]
    exact = after(specs(), tmp_path / "exact", micro_batch=micro_batch)
    assert not replayed
    made = after(specs(), tmp_path / "graphs", micro_batch=micro_batch, compiled=True)
    parts = 4 if micro_batch else 1
    assert 0 < len(replayed) < parts * made.steps  # a shape's graph is made once
    near = 1e-2 if "bf16" in kind else 1e-5
    for run in range(len(made.members)):
        assert losses(made, run) == pytest.approx(losses(exact, run), abs=near)


def test_a_method_that_draws_in_a_pass_is_not_compiled(tmp_path: Path, replayed: list[Any]) -> None:
    switched = AdaptableAdapters(size=4, activation="relu", switch="as-run", pooler="trained")
    after([small(switched)], tmp_path, compiled=True)
    assert not replayed


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_a_compiled_step_is_one_graph_and_gives_the_eager_numbers(tmp_path: Path) -> None:
    from torch._dynamo.utils import counters

    specs = [small(adapters(), recipe__batch_size=12)]
    exact = after(specs, tmp_path / "eager")
    counters.clear()
    made = after(specs, tmp_path / "compiled", compiled=True)
    [cohort] = made.cohorts
    assert cohort.graphs is not None
    assert counters["stats"]["unique_graphs"] == len(cohort.graphs.programs)
    assert not counters["graph_break"]
    assert losses(made) == pytest.approx(losses(exact), abs=1e-5)


# -- shapes ------------------------------------------------------------------------------------


def test_sizes_are_rounded_up_to_few_others() -> None:
    assert [rounded_up(n, 1.5) for n in (1, 16, 17, 24, 25, 37, 128)] == [
        16,
        16,
        24,
        24,
        40,
        56,
        184,
    ]
    found = {rounded_up(n, TOKENS) for n in range(1, 5000)}
    assert len(found) < 30
    assert all(n <= rounded_up(n, TOKENS) <= max(24, 1.25 * n + 8) for n in range(1, 5000))


def test_a_rounded_packing_has_the_rounded_shape_and_every_real_token() -> None:
    lengths = [2, 7, 5, 20]
    made = Packing(Layout.of(real_tokens(lengths, 21), keep_padding=False), 2, 2, rounded=True)
    assert made.tokens.sizes == (32, 32)  # of 9 and 25 tokens
    assert (made.real, made.lengths, made.longest) == ((9, 25), [7, 20], 24)
    ids = made.ids(torch.arange(84).view(4, 21))[0]
    assert ids[:9].tolist() == [0, 1, *range(21, 28)]
    assert ids[32:57].tolist() == [*range(42, 47), *range(63, 83)]


# Tokens of MiniLM's at these percentiles, counted on the training rows (SQuAD 2.0: on the windows
# of the dev set): GLUE cut at 128, SQuAD at 384
PERCENTILES = [0, 1, 5, 25, 50, 75, 95, 99, 100]
COUNTED = {
    "CoLA": (8551, [4, 5, 6, 9, 10, 13, 20, 25, 47]),
    "MRPC": (3668, [18, 27, 32, 44, 53, 62, 74, 83, 103]),
    "RTE": (2490, [13, 21, 29, 43, 56, 85, 128, 128, 128]),
    "SQuAD 2.0": (130_000, [30, 74, 109, 135, 164, 208, 316, 384, 384]),
}


@pytest.mark.parametrize("batch", [16, 32])
@pytest.mark.parametrize("name", COUNTED)
def test_an_epoch_has_at_most_twelve_shapes(name: str, batch: int) -> None:
    rows, counts = COUNTED[name]
    draw = np.random.default_rng(0)
    lengths = np.interp(draw.uniform(0, 100, rows), PERCENTILES, counts).astype(int)
    batches = [lengths[i : i + batch] for i in range(0, rows, batch)]
    shapes = {
        (len(own), rounded_up(int(own.sum()), TOKENS), rounded_up(int(own.max()), LENGTHS))
        for own in batches
    }
    assert len(shapes) <= 12
