"""`--scale auto`: what is stored wins, largest first; else a GPU, else what the budget allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_results import runs_of, store_all, store_result

from repro.cli.requests import make_request
from repro.engine.cost import Speed, store_speed
from repro.engine.plan import make_plan
from repro.papers.registry import TABLES
from repro.spec import Scale
from repro.store import Store

Call = Callable[..., Any]
ONE = TABLES["ResAdapters-1"]
QUICK = Speed(1e30, 1e30, "a dream", True)
SLOW = Speed(1.0, 1.0, "an abacus", True)


def stored(store: Store, scale: Scale) -> None:
    store_all(store, make_request(ONE, scale))


def chosen(answer: Any) -> str:
    """The line that explains the choice: the first on standard error."""
    line = str(answer.err.splitlines()[0])
    assert line.startswith("Scale: ")
    return line


def hours(store: Store, scale: Scale, speed: Speed) -> float:
    plan = make_plan([make_request(ONE, scale)], store, speed)
    return plan.estimate().seconds / 3600


def test_a_stored_scale_wins_over_a_larger_one(cli: Call, store: Store) -> None:
    stored(store, "smoke")
    store_speed(store.root, "cpu", QUICK)  # the paper's scale would fit any budget
    answer = cli("table", "ResAdapters-1", "--no-run")
    assert chosen(answer) == "Scale: smoke (all its runs are stored)."
    assert answer.code == 0


def test_the_largest_stored_scale_wins(cli: Call, store: Store) -> None:
    stored(store, "smoke")
    stored(store, "reduced")
    assert chosen(cli("table", "ResAdapters-1")) == "Scale: reduced (all its runs are stored)."


def test_a_scale_with_a_missing_run_is_not_stored(cli: Call, store: Store) -> None:
    stored(store, "smoke")
    asked = make_request(ONE, "reduced")
    for spec in runs_of(asked)[1:]:
        store_result(store, spec)
    assert chosen(cli("plan", "ResAdapters-1")) == "Scale: smoke (all its runs are stored)."


def test_the_largest_scale_that_fits_the_budget(cli: Call, store: Store) -> None:
    store_speed(store.root, "cpu", QUICK)
    assert chosen(cli("plan", "ResAdapters-1")).startswith(
        "Scale: paper (the largest that fits: about 0 s of the budget of 1 h"
    )
    speed = Speed(1e11, 1e10, "this machine", True)
    store_speed(store.root, "cpu", speed)
    reduced, paper = hours(store, "reduced", speed), hours(store, "paper", speed)
    between = (reduced + paper) / 2
    assert chosen(cli("plan", "ResAdapters-1", "--budget", between)).startswith("Scale: reduced")
    assert chosen(cli("plan", "ResAdapters-1", "--budget", paper * 1.01)).startswith("Scale: paper")
    smoke = hours(store, "smoke", speed)
    assert chosen(cli("plan", "ResAdapters-1", "--budget", (smoke + reduced) / 2)).startswith(
        "Scale: smoke (the largest that fits"
    )


def test_where_nothing_fits_the_smallest_is_taken(cli: Call, store: Store) -> None:
    store_speed(store.root, "cpu", SLOW)
    answer = cli("plan", "ResAdapters-1", "--json")
    assert chosen(answer) == "Scale: smoke (the smallest; none fits the budget)."
    assert '"scale": "smoke"' in answer.out


def test_only_missing_runs_cost(cli: Call, store: Store) -> None:
    """What is stored of the paper's scale brings the rest into the budget."""
    store_speed(store.root, "cpu", SLOW)
    asked = make_request(ONE, "reduced")
    for spec in runs_of(asked):
        if spec.method.kind != "always-null":
            store_result(store, spec)
    assert chosen(cli("plan", "ResAdapters-1")).startswith("Scale: reduced (the largest that fits")


@pytest.mark.parametrize(("speed", "scale"), [(QUICK, "paper"), (SLOW, "smoke")])
def test_a_gpu_has_the_same_budget(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch, speed: Speed, scale: str
) -> None:
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: True)
    store_speed(store.root, "cuda", speed)
    assert chosen(cli("plan", "ResAdapters-1", "--budget", "0.1")).startswith(f"Scale: {scale}")


def test_the_budget_is_for_the_device_that_trains(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: True)
    store_speed(store.root, "cuda", QUICK)
    store_speed(store.root, "cpu", SLOW)
    assert chosen(cli("plan", "ResAdapters-1", "--device", "cpu")).startswith("Scale: smoke")
    assert chosen(cli("plan", "ResAdapters-1", "--device", "auto")).startswith("Scale: paper")
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: False)
    assert chosen(cli("plan", "ResAdapters-1", "--device", "cuda")).startswith("Scale: paper")


def test_without_the_papers_data_its_scale_is_not_chosen(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A local folder that holds only the dev set, as for the reduced scale."""
    folder = tmp_path / "data" / "squad_v2"
    folder.mkdir(parents=True)
    (folder / "validation.jsonl").write_text("{}\n")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("repro.engine.devices.has_gpu", lambda: True)
    store_speed(store.root, "cuda", QUICK)
    answer = cli("plan", "ResAdapters-1")
    assert chosen(answer).startswith("Scale: reduced")
    assert answer.err.splitlines()[1].startswith("Not paper: ")
    assert "but not train.jsonl.gz" in answer.err.splitlines()[1]


def test_a_data_folder_that_is_not_there_is_said(
    cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", "mistyped")
    why = "REPRO_DATA is mistyped, and there is no such folder. Set it to the folder that holds"
    answer = cli("plan", "ResAdapters-1")
    assert chosen(answer).startswith("Scale: smoke")
    assert [line.partition(": ")[0] for line in answer.err.splitlines()[1:]] == [
        "Not paper", "Not reduced",
    ]  # fmt: skip
    assert answer.err.count(why) == 2
    refused = cli("plan", "ResAdapters-1", "--scale", "reduced")
    assert (refused.code, refused.out) == (2, "")
    assert why in refused.err
    assert cli("plan", "ResAdapters-1", "--scale", "smoke").err == ""


def test_a_table_that_trains_nothing_has_no_stored_runs(cli: Call) -> None:
    answer = cli("table", "3-shared-1", "--no-run")
    assert chosen(answer) == "Scale: paper (nothing is to be trained)."
    assert answer.code == 3


@pytest.mark.parametrize("scale", ["AUTO", "Auto"])
def test_auto_in_any_case(cli: Call, scale: str) -> None:
    assert chosen(cli("plan", "ResAdapters-1", "--scale", scale))


def test_a_scale_that_is_asked_for_is_taken_without_a_word(cli: Call, store: Store) -> None:
    stored(store, "smoke")
    answer = cli("table", "ResAdapters-1", "--scale", "SMOKE")
    assert answer.code == 0
    assert answer.err == ""
