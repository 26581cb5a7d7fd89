"""`why RUN`: the first field in which a run differs from the nearest stored one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_glue
import pytest
from fake_results import request, runs_of, store_all, store_result

from repro.cli.requests import make_request
from repro.engine.plan import make_plan
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request
from repro.papers.tables import _matrix
from repro.report.files import save_request, saved_requests
from repro.spec import run_key
from repro.spec.identity import REVISIONS
from repro.store import Store

Call = Callable[..., Any]


def asked_for(store: Store, **changes: Any) -> Request:
    """A request that the store remembers, so that its runs are known."""
    asked = request(**changes)
    save_request(store, asked)
    return asked


def test_the_first_differing_field_against_the_nearest_stored_run(cli: Call, store: Store) -> None:
    stored = request(learning_rate=0.5)
    store_all(store, stored)
    spec = runs_of(asked_for(store, learning_rate=0.25))[0]
    near = runs_of(stored)[0]
    answer = cli("why", run_key(spec)[:10])
    assert answer.code == 0
    *said, settings, compared, difference = answer.out.splitlines()
    assert said == [
        run_key(spec),
        "adapter b100 on MiniLM-L6, seed 0: missing",
        "Needed by: ResAdapters-1",
    ]
    assert "method.bottleneck=100" in settings
    assert "recipe.learning_rate=0.25" in settings
    name = "adapter b100 on MiniLM-L6, seed 0"
    near_key = run_key(near)[:12]
    assert compared == f"Nearest stored run: {near_key} ({name}), which differs in:"
    assert difference == "  spec.recipe.learning_rate: 0.25 here, 0.5 there"


def test_of_several_stored_runs_the_one_with_fewest_differences_is_nearest(
    cli: Call, store: Store
) -> None:
    stored = request(epochs=8)
    store_all(store, stored)
    spec = runs_of(asked_for(store, seeds=2, epochs=3))[-1]  # always null, seed 1
    document = json.loads(cli("why", run_key(spec), "--json").out)
    assert document["nearest"]["key"] == run_key(runs_of(stored)[-1])
    assert document["differences"] == [
        {"field": "spec.recipe.epochs", "this": 3, "stored": 8},
        {"field": "spec.seed", "this": 1, "stored": 0},
    ]


def test_a_stored_run_is_done_and_its_neighbour_named(cli: Call, store: Store) -> None:
    specs = [spec for spec in runs_of(request(seeds=2)) if spec.method.kind == "always-null"]
    for spec in specs:
        store_result(store, spec)
    spec = specs[0]
    document = json.loads(cli("why", run_key(spec), "--json").out)
    assert (document["state"], document["failure"]) == ("done", None)
    assert document["differences"] == [{"field": "spec.seed", "this": 0, "stored": 1}]


def test_a_stored_run_is_told_without_a_plan_and_with_the_tables_that_a_plan_names(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans and the specs of all stored runs take seconds in a large store."""
    for asked in (asked_for(store), asked_for(store, seeds=2), asked_for(store, epochs=3)):
        store_all(store, asked)
    key = run_key(runs_of(request())[0])
    plan = make_plan(saved_requests(store), store)
    (planned,) = [run for run in plan.runs if run.key == key]
    monkeypatch.setattr("repro.cli.why.make_plan", lambda *_: pytest.fail("it makes a plan"))
    monkeypatch.setattr(Store, "specs", lambda _: pytest.fail("it reads all specs"))
    document = json.loads(cli("why", key[:12], "--json").out)
    assert (document["state"], document["tables"]) == ("done", list(planned.tables))


def test_two_named_runs_are_compared_by_settings_and_scores(cli: Call, store: Store) -> None:
    fast, slow = (request(learning_rate=rate, epochs=2) for rate in (0.5, 0.25))
    store_all(store, fast, lambda spec, epoch, metric, group: 10 * epoch)
    store_all(store, slow, lambda spec, epoch, metric, group: 11 * epoch)
    one, other = (run_key(runs_of(asked)[0]) for asked in (fast, slow))
    document = json.loads(cli("why", one[:12], other[:12], "--json").out)
    assert (document["nearest"], document["other"]["key"]) == (None, other)
    assert document["differences"] == [
        {"field": "spec.recipe.learning_rate", "this": 0.5, "stored": 0.25}
    ]
    pairs = {(one["epoch"], one["value"], one["other"]) for one in document["scores"]}
    assert pairs == {(2, 20.0, 22.0)}  # of the epoch that each run kept
    text = cli("why", one[:12], other[:12]).out
    assert re.search(r"squad2 +generated +em \(legacy/argmax-pair\) +12 +20\.0 +22\.0", text)
    assert f"Compared with {other[:12]} (" in text
    same = cli("why", one[:12], one[:14])
    assert (same.code, "are the same run" in same.err) == (2, True)


def test_of_two_runs_that_share_no_score_it_is_said_what_the_other_was_scored_on(
    cli: Call, store: Store
) -> None:
    answers = store_all(store, request())[0]
    asked = fake_glue.request(tasks=("rte",), rows=("Ours (3-shared)",))
    classes = run_key(fake_glue.store_table(store, asked)[0])
    text = cli("why", answers, classes).out
    assert re.search(rf"^Settings of {classes[:12]}: .*recipe.learning_rate=", text, re.MULTILINE)
    (line,) = (line for line in text.splitlines() if "has none of these scores" in line)
    assert line.startswith(classes[:12])
    assert "rte validation (glue)" in line
    assert not re.search(rf"this run +{classes[:8]}", text)  # no empty column


def test_a_failed_run_says_how_it_failed(cli: Call, store: Store) -> None:
    spec = runs_of(asked_for(store))[0]
    store.record_failure(run_key(spec), spec, "error", "it broke", "log")
    answer = cli("why", run_key(spec)[:8])
    assert "seed 0: failed" in answer.out
    assert "It failed: it broke" in answer.out
    assert "No other run is stored." in answer.out


@pytest.fixture
def _keys_of_its_own() -> Iterator[None]:
    """No matrix with other keys is left to later tests."""
    yield
    _matrix.cache_clear()


@pytest.mark.usefixtures("_keys_of_its_own")
def test_a_run_of_an_older_revision_differs_in_the_revision(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upgrade case: nothing about the spec differs, and yet the run is missing."""
    asked = asked_for(store, epochs=1)
    old = store_result(store, runs_of(asked)[0])
    before = REVISIONS["recipe"]
    monkeypatch.setitem(REVISIONS, "recipe", before + 1)
    _matrix.cache_clear()
    new = run_key(runs_of(asked)[0])
    assert new != old
    document = json.loads(cli("why", new, "--json").out)
    assert document["state"] == "missing"
    assert document["nearest"]["key"] == old
    assert document["differences"] == [
        {"field": "revisions.recipe", "this": before + 1, "stored": before}
    ]
    assert json.loads(cli("why", old, "--json").out)["key"] == old


def test_a_prefix_that_fits_several_runs_is_refused(cli: Call, store: Store) -> None:
    keys = store_all(store, request(seeds=3))
    first = {key[0] for key in keys if sum(other[0] == key[0] for other in keys) > 1}
    answer = cli("why", sorted(first)[0])
    assert answer.code == 2
    assert "runs' keys begin with" in answer.err
    assert "repro plan" in answer.err


@pytest.mark.parametrize("given", ["Adapter", "", "f75e38…", "0" * 65])
def test_what_can_be_no_key_is_refused_before_any_run_is_listed(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setattr("repro.cli.why.runs_of", lambda *_: pytest.fail("it lists runs"))
    answer = cli("why", given)
    assert answer.code == 2
    assert f"'{given}' is no run's key or its beginning" in answer.err


def test_a_prefix_of_no_run_is_refused_before_any_stored_spec_is_read(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_all(store, request())
    monkeypatch.setattr(Store, "specs", lambda _: pytest.fail("it reads specs"))
    monkeypatch.setattr("repro.cli.why.default_runs", lambda: ({}, [], [" Not looked through: x."]))
    answer = cli("why", "0" * 64, "--planned")
    assert answer.code == 2
    assert "No run's key begins" in answer.err
    assert answer.err.rstrip().endswith("Not looked through: x.")


def test_an_unknown_prefix_is_refused_without_making_all_plans(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.cli.why.make_request", lambda *_: pytest.fail("it makes plans"))
    asked_for(store)
    answer = cli("why", "3fa94cdead")
    assert answer.code == 2
    assert "No run's key begins with '3fa94cdead'" in answer.err
    assert "`python -m repro why 3fa94cdead --planned` looks at those of all plans" in answer.err


def test_a_job_is_told_from_a_run_and_its_runs_are_named(cli: Call, store: Store) -> None:
    save_request(store, make_request(ARTEFACTS["ResAdapters-1"], "smoke"))
    jobs = json.loads(cli("plan", "ResAdapters-1", "--scale", "smoke", "--json").out)["jobs"]
    job = jobs[0]
    answer = cli("why", job["id"])
    assert (answer.code, answer.out) == (2, "")
    first, *runs = answer.err.splitlines()
    assert first.startswith(f"repro: {job['id']} is a job, which trains {len(job['runs'])} run")
    assert [line.split()[0] for line in runs] == [key[:12] for key in job["runs"]]
    assert cli("why", runs[0].split()[0]).code == 0


def test_a_key_in_capitals_is_found(cli: Call, store: Store) -> None:
    key = store_all(store, request())[0]
    assert cli("why", key[:12].upper()).out.startswith(key)


def test_runs_of_the_default_plans_are_found_before_anything_is_stored(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {id: ARTEFACTS[id] for id in ("ResAdapters-1", "ResAdapters-2", "Houlsby-1")}
    monkeypatch.setattr("repro.cli.why.ARTEFACTS", few)  # all of them take seconds
    runs = json.loads(cli("plan", "ResAdapters-1", "--scale", "paper", "--json").out)["runs"]
    key = runs[0]["key"][:12]
    assert "No run's key begins" in cli("why", key).err
    answer = cli("why", key, "--planned")
    assert answer.code == 0
    assert "missing" in answer.out


def test_damaged_data_of_another_table_hides_no_run(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = run_key(runs_of(asked_for(store))[0])
    for split in ("train", "validation"):
        path = tmp_path / "data" / "glue_cola" / f"{split}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"no gzip")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    assert cli("why", key[:12]).code == 0
    assert cli("status").code == 0
    answer = cli("why", "0" * 64, "--planned")
    assert answer.code == 2
    assert "Not looked through for lack of data: " in answer.err
    # once for tables on CoLA, once for rows elsewhere that need a run on it
    assert answer.err.count("glue_cola/train.jsonl.gz cannot be read") == 2
