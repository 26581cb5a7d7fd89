"""`sweep`: a row with several values of some settings, and the one that validation rows choose."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_glue import store_run

import repro
from repro.cli.requests import make_request
from repro.papers.registry import TABLES
from repro.papers.sweeps import Sweep, matrices
from repro.report.figures.style import styled
from repro.report.figures.sweep_drawing import draw_sweep
from repro.report.files import (
    request_document,
    save_request,
    saved_requests,
    saved_sweeps,
    sweep_name,
)
from repro.report.sweep import view_sweep
from repro.spec import RunSpec, run_key
from repro.stats.summary import expected_best
from repro.store import Store
from repro.words import run_name

Call = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("unpainted")
DOCUMENT = Path(__file__).parents[2] / "docs" / "sweeps.md"
ROW = ("--row", "Ours (3-shared)")
ASKED = ("sweep", "3-shared-2", "--scale", "smoke", "--seeds", "2", *ROW)
GRID = ("--set", "method.size=8,64", "--set", "recipe.learning_rate=1e-4,3e-4,1e-3")
SCORES = {8: {1e-4: 50.0, 3e-4: 54.0, 1e-3: 52.0}, 64: {1e-4: 60.0, 3e-4: 61.0, 1e-3: 56.0}}


def score(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """As `SCORES`, one more for seed 1; CoLA is best at the other size; on test rows 20 less."""
    size = getattr(spec.method, "size", 0)
    size = 72 - size if spec.task.name == "cola" else size
    return SCORES[size][spec.recipe.learning_rate] + spec.seed - 20 * (split == "test")


def sweep(
    store: Store, table: str = "3-shared-2", tasks: str = "rte", row: str = "Ours (3-shared)"
) -> Sweep:
    """The sweep of `GRID`, all runs of which are stored."""
    asked = make_request(TABLES[table], "smoke", seeds=2, tasks=tasks, rows=[row])
    points = [{"method.size": s, "recipe.learning_rate": r} for s in SCORES for r in SCORES[s]]
    found = Sweep(asked, tuple(points))
    for matrix in matrices(TABLES[table], found):
        for spec in matrix.runs.values():
            store_run(store, spec, score)
    return found


def document(answer: Any) -> dict[str, Any]:
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


def test_every_setting_is_the_request_that_table_makes_and_shares_its_runs(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(store)
    monkeypatch.setattr("repro.cli.execute.train_missing", lambda *_, **__: pytest.fail("trains"))
    found = document(cli(*ASKED, "--tasks", "rte", *GRID, "--json"))
    assert len(found["settings"]) == 6
    first = found["settings"][0]
    assert first["values"] == [8, 1e-4]
    words = re.findall(r"'[^']*'|\S+", first["command"])[3:]
    table = document(cli(*(word.strip("'") for word in words), "--no-run", "--json"))
    (own,) = [c for c in table["rows"][0]["cells"] if c["reproduced"]]
    assert own["runs"] == first["cells"][0]["runs"]
    assert own["reproduced"]["values"] == first["cells"][0]["values"] == [50.0, 51.0]


def test_the_setting_with_the_best_validation_mean_is_chosen_and_said_to_be_optimistic(
    cli: Call, store: Store
) -> None:
    sweep(store)
    answer = cli(*ASKED, "--tasks", "rte", *GRID)
    assert "method.size=64, recipe.learning_rate=0.0003, which scores 61.5 ± 0.7." in answer.out
    assert "chosen score is optimistic" in answer.out
    # Means 50.5, 52.5, 54.5, 56.5, 60.5, 61.5. Of two draws from six the i-th smallest is the
    # largest (2i - 1) of 36 times: (50.5 + 3 52.5 + 5 54.5 + 7 56.5 + 9 60.5 + 11 61.5) / 36.
    found = document(cli(*ASKED, "--tasks", "rte", *GRID, "--json"))
    assert [one["k"] for one in found["expected_best"]] == [1, 2, 4, 6]
    assert [one["value"] for one in found["expected_best"][:2]] == pytest.approx([56.0, 58.25])


def test_a_tie_is_told_and_settled_alike_in_any_order_of_the_settings(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCORES[8], 3e-4, 61.0)
    sweep(store)
    other = ("--set", "recipe.learning_rate=1e-3,3e-4,1e-4", "--set", "method.size=64,8")
    for grid in (GRID, other):
        out = cli(*ASKED, "--tasks", "rte", *grid).out
        assert "which scores 61.5 ± 0.7, as does 1 other setting." in out
        assert out.count("**61.5 ± 0.7**") == 2
        chosen = document(cli(*ASKED, "--tasks", "rte", *grid, "--json"))["chosen"]
        assert chosen == (2 if grid is GRID else 4)


def test_a_table_of_test_rows_is_chosen_on_validation_rows(cli: Call, store: Store) -> None:
    sweep(store, "3-shared-3", "emotion", "Ours (not shared)")
    words = ("sweep", "3-shared-3", "--scale", "smoke", "--seeds", "2", "--tasks", "emotion")
    asked = (*words, "--row", "Ours (not shared)", *GRID)
    (best,) = [
        cell for one in document(cli(*asked, "--json"))["settings"] for cell in one["cells"]
        if cell["chosen"]
    ]  # fmt: skip
    assert (best["split"], best["mean"]) == ("validation", 61.5)
    assert (best["held_out_split"], best["held_out_mean"]) == ("test", 41.5)
    assert "Its score on test rows, which chose nothing: 41.5 ± 0.7." in cli(*asked).out


def test_of_several_tasks_their_mean_chooses_and_each_has_a_best_of_its_own(
    cli: Call, store: Store
) -> None:
    sweep(store, tasks="cola,rte")
    found = document(cli(*ASKED, "--tasks", "cola,rte", *GRID, "--json"))
    assert found["objective"] == "mean"
    best = {
        cell["column"]: (one["values"], cell["mean"])
        for one in found["settings"] for cell in one["cells"] if cell["chosen"]
    }  # fmt: skip
    assert best["CoLA"] == ([8, 3e-4], 61.5)
    assert best["RTE"] == ([64, 3e-4], 61.5)
    assert best["mean"] == ([8, 3e-4], 58.0)  # (54 + 61) / 2 + 0.5 at both sizes: the first


def test_a_setting_that_lacks_a_seed_is_never_chosen(cli: Call, store: Store) -> None:
    sweep(store)
    asked = (*ASKED, "--tasks", "rte", *GRID, "--no-run")
    best = [one for one in document(cli(*asked, "--json"))["settings"] if one["cells"][0]["chosen"]]
    key = best[0]["cells"][0]["runs"][1]
    (store.root / key[:2] / key / "MANIFEST.json").write_text("damaged")
    answer = cli(*asked)
    assert answer.code == 3
    assert "61.0 (1 of 2 seeds)" in answer.out
    assert "of the 5 settings with every score: method.size=64, recipe.learning_rate=0.0001" in (
        answer.out
    )


def test_a_diverged_run_is_no_failure_of_a_sweep(cli: Call, store: Store) -> None:
    found = sweep(store)
    spec = matrices(TABLES["3-shared-2"], found)[2].runs
    key, lost = next(iter(spec.items()))
    (store.root / key[:2] / key / "MANIFEST.json").write_text("damaged")
    store.record_failure(key, lost, "diverged", "The loss was not finite.", "log")
    answer = cli(*ASKED, "--tasks", "rte", *GRID)
    assert answer.code == 0
    assert "53.0 (1 of 2 seeds)" in answer.out


REFUSED = {
    "method.size=8,8": "8 is given twice",
    "recipe.learning_rate=1e-3,0.001": "0.001 is given twice",
    "method.sice=8,16": "There is no field called 'method.sice'",
    "method.size=8,wide": "--set method.size=wide",
    "method.size=8,,16": "there is no value before or after one of the commas",
    "method.size=8": "needs a field with several values",
    "recipe.seed=0,1": "--seeds N trains every setting with N seeds",
    "method.form=a,b": "No run of 3-shared-2 has a method.form",
    "task.evaluation_rows=8,16": "changes which rows are scored",
    "recipe.epochs=" + ",".join(map(str, range(1, 202))): "201 settings, and a sweep at most 200",
    "method.size=0,-1": "expected at least 1",
    "recipe.learning_rate=1e-5..1e-3": "--search random --trials N draws from it",
    "method.size=64..8": "the first end of a range is below the second",
    "recipe.precision=bf16..fp32": "--set recipe.precision=bf16..fp32: a range is of numbers",
}


@pytest.mark.parametrize("given", REFUSED)
def test_what_no_sweep_can_be_is_refused_before_anything_is_written(
    cli: Call, store: Store, given: str
) -> None:
    answer = cli(*ASKED, "--tasks", "rte", "--set", given)
    assert (answer.code, answer.out) == (2, "")
    assert REFUSED[given] in answer.err
    assert not store.root.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "method.size=8,16", "--set", "method.size=32"), "set the same field"),
        (("--set", "method.size=8,16", "--bottleneck", "32"), "swept and set by another option"),
        (("--set", "method.size=8,16", "--row", "Ours (not shared)"), "this names 2"),
        (("--set", "method.size=8,16", "--method", "lora"), "leave out --row"),
        (("--set", "method.size=8,16", "--budget", "soon"), "like 2h or 30min"),
        (("--set", "method.size=8,16", "--budget", "1s"), "--budget allows 1 s"),
        (("--set", "method.size=8,16", "--search", "random"), "--trials N go together"),
        (("--set", "method.size=8,16", "--trials", "3"), "--trials N go together"),
        (("--set", "method.size=8,16", "--search", "grid", "--trials", "2"), "no search called"),
        (("--set", "method.size=8,16", "--search", "random", "--trials", "3"), "has 2 settings"),
    ],
)
def test_options_that_do_not_fit_a_sweep_are_refused(
    cli: Call, words: tuple[str, ...], said: str
) -> None:
    answer = cli(*ASKED, "--tasks", "rte", *words)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ResAdapters-1", "smoke", "Always null"), "no scores of a model that is trained"),
        (("3-shared-1", "smoke", "Ours (3-shared)"), "no scores of a model that is trained"),
        (("Houlsby-1", "paper", "Adapters (8-256)"), "is itself the best of several settings"),
    ],
)
def test_a_row_without_one_trained_model_a_seed_is_refused(
    cli: Call, words: tuple[str, ...], said: str
) -> None:
    id, scale, row = words
    sets = ("--set", "recipe.weight_decay=0.1,0.2", "--no-run")
    answer = cli("sweep", id, "--scale", scale, "--row", row, *sets)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_the_row_of_a_method_of_yours_is_swept_alone(cli: Call) -> None:
    asked = ("sweep", "3-shared-2", "--tasks", "rte", "--scale", "smoke", "--method", "lora")
    found = json.loads(cli(*asked, "--set", "method.rank=2,8", "--no-run", "--json").out)
    assert (found["row"], found["fields"]) == ("lora (yours)", ["method.rank"])
    assert "2 runs, 0 stored" in cli(*asked, "--set", "method.rank=2,8", "--no-run").err


@pytest.mark.usefixtures("methods_forgotten")
def test_the_file_of_a_swept_method_is_remembered_for_the_command_that_is_printed(
    cli: Call, run: Call, store: Store, tmp_path: Path
) -> None:
    cli("new", "method", "my-scales")
    method = ("--method", "my_scales.py:MyScales", "--set", "method.initial=0.5,1.0")
    asked = ("sweep", "3-shared-2", "--tasks", "rte", "--scale", "smoke", *method)
    request = make_request(
        TABLES["3-shared-2"], "smoke", tasks="rte", method="my_scales.py:MyScales", rows=["yours"]
    )
    points = tuple({"method.initial": value} for value in (0.5, 1.0))
    for matrix in matrices(TABLES["3-shared-2"], Sweep(request, points)):
        for spec in matrix.runs.values():
            store_run(store, spec, lambda spec, *_: 50.0 + spec.method.model_dump()["initial"])
    found = document(cli(*asked, "--json"))
    assert (found["row"], found["complete"], found["chosen"]) == ("my-scales (yours)", "2/2", 2)
    assert list(store.method_files()) == ["my-scales"]
    words = shlex.split(found["settings"][1]["command"])[3:]
    # A process of its own. The user's cache, not the store, knows which file to run.
    cache = {"REPRO_CACHE": os.environ["REPRO_CACHE"]}
    answer = run(*words, "--no-run", "--json", at=tmp_path, torch=False, **cache)
    (own,) = [c for c in json.loads(answer.out)["rows"][0]["cells"] if c["reproduced"]]
    assert own["reproduced"]["mean"] == 51.0


def test_a_sweep_over_the_budget_is_refused_and_says_what_fits(cli: Call, store: Store) -> None:
    words = (*ASKED, "--tasks", "rte", *GRID)
    whole = re.search(r"about ([\d.]+) (min|s)", cli(*words, "--no-run").err)
    assert whole is not None
    minutes = float(whole[1]) / (60 if whole[2] == "s" else 1)
    answer = cli(*words, "--budget", f"{minutes / 2}min")
    assert answer.code == 2
    assert re.search(r"the first [1-5] of 6 settings fit. Nothing was trained", answer.err)
    assert saved_sweeps(store) == []


def test_a_sweep_is_one_line_of_status_and_no_variant_of_its_table(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    found = sweep(store)
    assert cli(*ASKED, "--tasks", "rte", *GRID).code == 0
    (line,) = document(cli("status", "--json"))["tables"]
    assert (line["runs"], line["done"]) == (12, 12)
    assert ".sweep.Ours-3-shared.size-learning_rate." in line["name"]
    assert saved_requests(store) == []
    key = next(iter(matrices(TABLES["3-shared-2"], found)[0].runs))
    assert "Needed by: 3-shared-2" in cli("why", key[:12]).out
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == sorted(
        f"{line['name']}.{e}" for e in ("csv", "json", "md", "pdf", "png", "svg")
    )
    assert len(pd.read_csv(tmp_path / "figures" / f"{line['name']}.csv")) == 6


def test_the_store_knows_which_sweep_needs_a_run(cli: Call, store: Store) -> None:
    sweep(store)
    cli(*ASKED, "--tasks", "rte", *GRID)
    name = sweep_name(saved_sweeps(store)[0])
    listed = document(cli("store", "ls", "--json"))["runs"]
    assert [one["needed_by"] for one in listed] == [[name]] * 12


def test_a_packed_sweep_is_shown_by_another_store(cli: Call, store: Store) -> None:
    sweep(store)
    before = cli(*ASKED, "--tasks", "rte", *GRID)
    packed = cli("store", "pack", "other/one.jsonl.xz")
    assert packed.out == "Packed 12 runs and 1 request into other/one.jsonl.xz.\n"
    again = cli(*ASKED, "--tasks", "rte", *GRID, "--store", "other", "--no-run")
    assert (again.code, again.out) == (0, before.out)
    assert saved_sweeps(Store("other")) == saved_sweeps(store)


@pytest.mark.parametrize("points", [[], 5, [{"method.size": 8}, "x"], None])
def test_a_damaged_record_of_a_sweep_is_left_out_with_a_line(
    cli: Call, store: Store, points: Any
) -> None:
    found = sweep(store)
    store.save_request("mine", request_document(found) | {"points": points})
    store.save_request("other", request_document(found))
    answer = cli("status", "--json")
    assert [one["name"] for one in json.loads(answer.out)["tables"]] == ["other"]
    assert "mine.json was written by another version" in answer.err


def test_python_gives_the_frame_of_what_is_stored(store: Store) -> None:
    sweep(store)
    grid: dict[str, Any] = {"method.size": [8, 64], "recipe.learning_rate": [1e-4, 3e-4, 1e-3]}
    asked: dict[str, Any] = {"store": store.root, "tasks": "rte", "seeds": 2}
    frame = repro.sweep("3-shared-2", "Ours (3-shared)", grid, **asked)
    assert frame[frame["chosen"]]["method.size"].tolist() == [64]
    assert frame["mean"].tolist() == [50.5, 54.5, 52.5, 60.5, 61.5, 56.5]
    with pytest.raises(repro.errors.ReproError, match="has no run of this sweep"):
        repro.sweep("3-shared-2", "Ours (3-shared)", {"method.size": [2, 4]}, **asked)


RANDOM = (
    "--set", "recipe.learning_rate=1e-5..1e-2", "--set", "method.size=4..64",
    "--set", "recipe.epochs=1,2", "--search", "random", "--no-run",
)  # fmt: skip


def test_a_random_search_draws_other_settings_each_within_its_range_and_the_same_again(
    cli: Call,
) -> None:
    pytest.importorskip("optuna", reason="the extra search is not installed")

    def drawn(trials: int) -> list[tuple[float, int, int]]:
        answer = cli(*ASKED, "--tasks", "rte", *RANDOM, "--trials", trials, "--json")
        found = json.loads(answer.out)
        assert found["fields"] == ["recipe.learning_rate", "method.size", "recipe.epochs"]
        return [tuple(one["values"]) for one in found["settings"]]

    many = drawn(40)
    assert len(set(many)) == 40
    assert all(1e-5 <= rate <= 1e-2 and 4 <= size <= 64 for rate, size, _ in many)
    assert {epochs for *_, epochs in many} == {1, 2}
    # By the logarithm: half of the rates are below the geometric mean of the two ends.
    assert 10 <= sum(rate < 10**-3.5 for rate, *_ in many) <= 30
    assert drawn(12) == many[:12]
    turned = (*RANDOM[2:4], *RANDOM[:2], *RANDOM[4:])
    found = json.loads(cli(*ASKED, "--tasks", "rte", *turned, "--trials", 40, "--json").out)
    assert [
        (rate, size, epochs) for size, rate, epochs in map(itemgetter("values"), found["settings"])
    ] == many


def test_a_whole_grid_can_be_drawn_at_random(cli: Call, store: Store) -> None:
    pytest.importorskip("optuna", reason="the extra search is not installed")
    sweep(store)
    words = (*ASKED, "--tasks", "rte", *GRID, "--search", "random", "--trials", "6", "--json")
    found = document(cli(*words))
    assert found["complete"] == "6/6"
    assert found["settings"][found["chosen"] - 1]["values"] == [64, 3e-4]


def test_report_writes_the_files_of_sweeps_again(cli: Call, store: Store, tmp_path: Path) -> None:
    found = sweep(store)
    save_request(store, found)
    save_request(store, found.request)
    assert cli("report", "--out", tmp_path / "there").code == 0
    drawn = sorted(path.name for path in (tmp_path / "there" / "figures").iterdir())
    endings = ("csv", "json", "md", "pdf", "png", "svg")
    assert drawn == [f"{sweep_name(found)}.{ending}" for ending in endings]


def test_a_collapsed_run_is_marked_and_counted(cli: Call, store: Store) -> None:
    asked = make_request(
        TABLES["3-shared-2"], "smoke", seeds=2, tasks="rte", rows=["Ours (3-shared)"]
    )
    found = Sweep(asked, ({"method.size": 8}, {"method.size": 64}))
    for number, matrix in enumerate(matrices(TABLES["3-shared-2"], found)):
        for spec in matrix.runs.values():
            store_run(store, spec, collapsed=number == 1 and spec.seed == 0)
    words = ("sweep", "3-shared-2", "--row", "Ours (3-shared)", "--scale", "smoke", "--seeds", "2",
             "--tasks", "rte", "--set", "method.size=8,64", "--no-run")  # fmt: skip
    text = cli(*words).out
    assert "†: 1 of 4 runs collapsed: such a run predicts one class." in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [("†" in line) for line in lines[2:4]] == [False, True]
    cells = [one["cells"][0] for one in document(cli(*words, "--json"))["settings"]]
    assert [cell["collapsed"] for cell in cells] == [0, 1]


def test_a_table_of_medians_chooses_by_medians(cli: Call, store: Store) -> None:
    """Of three runs 60, 60 and 0 are in the median better than 50, in the mean worse."""
    table = TABLES["LoRA-1"]
    asked = make_request(table, "smoke", seeds=3, tasks="cola", rows=["LoRA"])
    found = Sweep(asked, ({"method.rank": 4}, {"method.rank": 8}))

    def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        return (0.0 if spec.seed == 2 else 60.0) if getattr(spec.method, "rank", 0) == 8 else 50.0

    for matrix in matrices(table, found):
        for spec in matrix.runs.values():
            store_run(store, spec, value)
    words = ("sweep", "LoRA-1", "--row", "LoRA", "--scale", "smoke", "--seeds", "3",
             "--tasks", "cola", "--set", "method.rank=4,8", "--no-run", "--json")  # fmt: skip
    shown = document(cli(*words))
    assert (shown["chosen"], [one["cells"][0]["mean"] for one in shown["settings"]]) == (
        2,
        [50, 60],
    )
    assert "median ± standard deviation over seeds" in cli(*words[:-1]).out


HALVING = (*ASKED, "--tasks", "rte", *GRID, "--search", "halving", "--epochs", "4")


@pytest.fixture
def lengths(store: Store) -> dict[int, list[RunSpec]]:
    """The runs of `GRID` with 1, 2 and 4 epochs; the best setting is the worst after one."""
    runs = {}
    for epochs in (1, 2, 4):
        asked = make_request(
            TABLES["3-shared-2"], "smoke", seeds=2, tasks="rte", rows=["Ours (3-shared)"],
            epochs=epochs,
        )  # fmt: skip
        points = [{"method.size": s, "recipe.learning_rate": r} for s in SCORES for r in SCORES[s]]
        found = matrices(TABLES["3-shared-2"], Sweep(asked, tuple(points)))
        runs[epochs] = [spec for matrix in found for spec in matrix.runs.values()]

    def slow(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
        late = spec.recipe.epochs == 1 and spec.recipe.learning_rate == 3e-4
        return score(spec, epoch, split, metric) - 20 * late

    for spec in (spec for own in runs.values() for spec in own):
        store_run(store, spec, slow)
    return runs


def test_halving_goes_on_with_the_better_half_and_chooses_among_those_of_full_length(
    cli: Call, lengths: dict[int, list[RunSpec]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.cli.execute.train_missing", lambda *_, **__: pytest.fail("trains"))
    found = document(cli(*HALVING, "--json"))
    tried = [tuple(one["values"]) for one in found["settings"]]
    assert [epochs for *_, epochs in tried] == [1] * 6 + [2] * 3 + [4] * 2
    assert tried[6:9] == [(64, 1e-4, 2), (64, 1e-3, 2), (8, 1e-3, 2)]
    assert tried[9:] == [(64, 1e-4, 4), (64, 1e-3, 4)]
    assert tried[found["chosen"] - 1] == (64, 1e-4, 4)
    assert found["expected_best"] == []
    assert "tried 6 settings, 2 of them with all 4 epochs" in cli(*HALVING).out
    (name,) = [one["name"] for one in document(cli("status", "--json"))["tables"]]
    assert name in found["files"][0]


def test_a_finished_halving_is_planned_as_it_went(
    cli: Call, store: Store, lengths: dict[int, list[RunSpec]]
) -> None:
    """The first settings lost after one epoch, and their longer runs were called missing."""
    for spec in (*lengths[2], *lengths[4]):
        if getattr(spec.method, "size", 0) == 8 and spec.recipe.learning_rate != 1e-3:
            key = run_key(spec)
            shutil.rmtree(store.root / key[:2] / key)
    answer = cli(*HALVING, "--budget", "0.001")
    assert answer.code == 0, answer.err
    assert "2 seeds. 22 runs, 22 stored" in answer.err


def test_halving_stops_where_a_run_is_missing_and_leaves_out_a_diverged_setting(
    cli: Call, store: Store, lengths: dict[int, list[RunSpec]]
) -> None:
    spec = next(one for one in lengths[2] if getattr(one.method, "size", 0) == 64)
    key = run_key(spec)
    (store.root / key[:2] / key / "MANIFEST.json").write_text("damaged")
    answer = cli(*HALVING, "--no-run", "--json")
    found = json.loads(answer.out)
    assert (answer.code, len(found["settings"]), found["chosen"]) == (3, 9, None)
    store.record_failure(key, spec, "diverged", "The loss was not finite.", "log")
    found = document(cli(*HALVING, "--no-run", "--json"))
    assert [tuple(one["values"]) for one in found["settings"][9:]] == [(64, 1e-3, 4), (8, 1e-3, 4)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "recipe.epochs=2,4"), "sets recipe.epochs by itself"),
        (("--set", "method.size=8,16", "--epochs", "1"), "of 2 epochs at least"),
    ],
)
def test_halving_is_refused_where_no_run_can_be_shortened(
    cli: Call, words: tuple[str, ...], said: str
) -> None:
    answer = cli(*ASKED, "--tasks", "rte", *words, "--search", "halving")
    assert (answer.code, said in answer.err) == (2, True)


def test_a_search_without_its_library_says_what_to_install(
    cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    answer = cli(*ASKED, "--tasks", "rte", *RANDOM, "--trials", "4")
    assert (answer.code, "pip install 'repro[search]'" in answer.err) == (2, True)


def test_the_picture_has_a_line_a_task_a_logarithmic_axis_and_marks_the_chosen_setting(
    store: Store,
) -> None:
    whole = sweep(store, tasks="cola,rte")
    own = tuple({"method.size": p["method.size"]} for p in whole.points[1::3])
    request = make_request(
        TABLES["3-shared-2"], "smoke", seeds=2, tasks="cola,rte", rows=["Ours (3-shared)"],
        learning_rate=3e-4,
    )  # fmt: skip
    with styled():
        alone = draw_sweep(view_sweep(Sweep(request, own), store))
        both = draw_sweep(view_sweep(whole, store))
    (axes,) = alone.axes
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["8", "64"]
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert len(lines) == 3  # CoLA, RTE and their mean
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    assert np.asarray(star.get_xydata()).tolist() == [[8.0, 58.0]]
    titles = [axes.get_title(loc="left") for axes in both.axes]
    assert titles == [
        "learning rate 0.0001", "learning rate 0.0003", "learning rate 0.001",
        "the mean of 2 columns", "",
    ]  # fmt: skip


def test_the_example_of_the_documentation_is_what_the_command_lays_out(cli: Call) -> None:
    told, shown, *_ = re.findall(r"```\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    words = shlex.split(told.replace("\\\n", ""))[3:]
    out = cli(*words, "--no-run").out
    caption, table, expected = shown.split("\n\n")
    assert out.partition("\n\n")[0] == " ".join(caption.split()).replace("12/12", "0/12")
    settings = [line.split("|")[1:3] for line in table.splitlines() if line.endswith("|")]
    laid = [line.split("|")[1:3] for line in out.splitlines() if line.startswith("|")]
    assert settings == laid
    means = [float(mean) for mean in re.findall(r"([\d.]+) ±", table)]
    counts, values = (re.findall(r"[\d.]+", line) for line in expected.splitlines()[::2])
    for k, value in zip(counts, values, strict=True):
        assert float(value) == pytest.approx(
            expected_best(means, int(k)), abs=0.1
        )  # both are rounded


KILLED = (
    "sweep", "3-shared-2", "--scale", "smoke", "--backbone", "tiny", "--seeds", "2",
    "--tasks", "rte", *ROW, "--set", "method.size=4,8,12,16",
    "--set", "recipe.learning_rate=1e-4,1e-3,1e-2", "--train-rows", "24",
    "--evaluation-rows", "12", "--epochs", "2", "--threads", "1",
)  # fmt: skip


@pytest.mark.slow
def test_a_sweep_killed_twice_trains_each_of_its_24_runs_once(
    start: Callable[..., subprocess.Popen[str]], run: Call, tmp_path: Path
) -> None:
    store = Store(tmp_path / "runs")
    for jobs in (1, 2):
        process = start(*KILLED, at=tmp_path)
        assert process.stderr is not None
        for line in process.stderr:  # killed in the middle of a job, after others were stored
            if "epoch 1:" in line and len(store.keys()) >= 6 * (jobs - 1):
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    before = {run_name(spec) for spec in store.specs().values()}
    assert 0 < len(before) < 24
    answer = run(*KILLED, at=tmp_path)
    assert answer.code == 0, answer.err
    trained = re.findall(r"kept epoch \d+: (.*seed \d)", answer.err)
    assert set(Counter(trained).values()) == {1}
    assert before.isdisjoint(trained)
    assert len(before) + len(trained) == len(store.keys()) == 24
    again = run(*KILLED, at=tmp_path, torch=False)
    assert (again.code, again.out) == (0, answer.out)
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(*KILLED, at=whole).out == answer.out
