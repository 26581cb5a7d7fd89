"""A parent whose children are all stored is wanted by nobody: every command says so alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from committed import committed
from fake_spans import FIGURE, store_chain

from repro.cli.requests import make_request
from repro.engine.plan import make_plan
from repro.papers.registry import FIGURES, TABLES
from repro.report.figures.view import view_figure
from repro.report.files import save_request, saved_requests
from repro.report.view import view_table
from repro.spec import run_key
from repro.store import Store

Call = Callable[..., Any]
WORDS = ["ablation-heatmap", "--scale", "smoke"]


@pytest.fixture
def parent(store: Store) -> str:
    """A store with the figure's ablated run alone; the key of the run that it was made from."""
    asked = make_request(FIGURE, "smoke")
    store_chain(store, asked)
    save_request(store, asked)
    key = next(iter(FIGURE.matrix(asked).runs))
    shutil.rmtree(store.root / key[:2] / key)
    return key


def test_plan_and_status_count_the_figure_as_complete(cli: Call, parent: str) -> None:
    planned = json.loads(cli("plan", *WORDS, "--json").out)
    assert [run["state"] for run in planned["runs"]] == ["done"]
    assert planned["jobs"] == []
    assert "1 run: 1 stored, 0 missing" in cli("plan", *WORDS).out
    (counts,) = json.loads(cli("status", "--json").out)["tables"]
    assert (counts["runs"], counts["done"], counts["missing"]) == (1, 1, 0)


def test_run_and_figure_train_nothing(cli: Call, store: Store, parent: str) -> None:
    answer = cli("run", *WORDS)
    assert (answer.code, answer.out) == (0, f"1 of 1 run is stored in {store.root.name}.\n")
    answer = cli("figure", *WORDS)
    assert answer.code == 0
    assert "missing" not in answer.err
    assert store.state(parent) == "missing"


def test_why_says_that_nothing_needs_the_parent(cli: Call, parent: str) -> None:
    answer = cli("why", parent)
    assert answer.out.splitlines()[1].endswith(": missing")
    assert "Nothing that was asked for in this store needs it." in answer.out
    assert json.loads(cli("why", parent, "--json").out)["tables"] == []


def test_why_says_what_a_missing_child_makes_of_its_parent(cli: Call, store: Store) -> None:
    asked = make_request(FIGURE, "smoke")
    save_request(store, asked)
    document = json.loads(
        cli("why", run_key([*FIGURE.matrix(asked).runs.values()][:2][0]), "--json").out
    )
    assert (document["state"], document["tables"]) == ("missing", ["ablation-heatmap"])


def test_the_committed_tables_lack_runs_only_where_they_lack_cells(tmp_path: Path) -> None:
    store = committed(tmp_path)
    for request in saved_requests(store):
        if request.id in TABLES:
            complete = view_table(TABLES[request.id], request, store).complete
        else:
            complete = view_figure(FIGURES[request.id], request, store).complete
        plan = make_plan([request], store)
        assert (not plan.missing) >= complete, request
        assert bool(plan.jobs) == bool(plan.missing), request
