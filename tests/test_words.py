"""Runs and numbers in words."""

from __future__ import annotations

from typing import Any

import pytest
from request_samples import made
from run_samples import cells, run_spec, written

from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.t5 import T5FineTuning
from repro.methods.untrained import AlwaysNull
from repro.papers.three_shared.setting import runs_of
from repro.spec import RunSpec
from repro.words import counted, duration, run_name, size


def named(variant: str, **asked: Any) -> str:
    request = made(id="3-shared-2", scale="smoke", seeds=1, **asked)
    return run_name(runs_of(variant, "cola", request).run(1))


@pytest.mark.parametrize(
    ("variant", "method"),
    [
        ("shared-in-layer", "shared-in-layer m64"),
        ("not-shared", "not-shared m64"),
        ("3-shared", "3-shared m64"),
        ("houlsby", "houlsby m64"),
        ("pfeiffer", "pfeiffer m24"),
        ("layer-norms", "layer norms"),
    ],
)
def test_a_run_inside_the_encoder_is_named_by_model_task_and_recipe(
    variant: str, method: str
) -> None:
    assert named(variant) == f"{method} on cola, MiniLM-L6, rate 0.001, 5 epochs, seed 1"


def test_a_fine_tuned_run_has_its_own_rate() -> None:
    tail = "on cola, MiniLM-L6, rate 5e-05, 3 epochs, seed 1"
    assert named("full-fine-tuning") == f"full fine-tuning {tail}"
    assert named("top-layers") == f"top 2 layers {tail}"
    assert "1 epoch, seed" in named("full-fine-tuning", epochs=1)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (run_spec(cells("resnext", "attention")), "attention-resnext b8 on tiny, seed 0"),
        (run_spec(cells()), "adapter b8 on tiny, seed 0"),
        (run_spec(LinearProbe(layer=6), 2), "linear probe of layer 6 on tiny, seed 2"),
        (run_spec(FullFineTuning()), "full fine-tuning on tiny, seed 0"),
        (run_spec(AlwaysNull()), "always null on tiny, seed 0"),
    ],
)
def test_a_run_on_questions_is_named_without_its_task(spec: RunSpec, name: str) -> None:
    assert run_name(spec) == name


def test_a_run_on_one_row_and_on_thousands_says_so() -> None:
    for rows, said in ((1, "rte (1 row), tiny"), (2_000, "rte (2,000 rows), tiny")):
        assert said in run_name(run_spec(T5FineTuning(), task=written("rte", train_rows=rows)))


def test_numbers_with_their_units() -> None:
    assert (duration(42), duration(210), duration(7560)) == ("42 s", "3.5 min", "2.1 h")
    assert (size(3.4e8), size(1.24e9)) == ("340 MB", "1.2 GB")
    assert (counted(1, "job"), counted(2, "job")) == ("1 job", "2 jobs")
