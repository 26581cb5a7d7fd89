"""`store pack`, and the verbs that read a bundle and never write to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_spans
import pytest
from fake_results import request, store_all
from store_samples import tree

from repro.papers.request import Request
from repro.report.files import save_request, saved_requests
from repro.report.reproduce import view_of
from repro.store import Store

Call = Callable[..., Any]


@pytest.fixture
def asked(cli: Call, store: Store) -> list[Request]:
    """Everything in the default store, which holds one bundle and no run of its own."""
    first, second = request("ResAdapters-2", epochs=1), fake_spans.request(layers=3)
    source = Store("source")
    store_all(source, first)
    fake_spans.store_chain(source, second)
    for one in (first, second):
        save_request(source, one)
    answer = cli("store", "pack", "runs/one.jsonl.xz", "--store", "source")
    assert answer.code == 0
    assert re.fullmatch(r"Packed \d+ runs and 2 requests into runs/one.jsonl.xz.\n", answer.out)
    assert saved_requests(store) == saved_requests(source)
    none: Any = None
    packed, whole = (
        [replace(view_of(r, one), matrix=none) for r in (first, second)] for one in (store, source)
    )
    assert packed == whole
    return saved_requests(store)


def test_no_verb_that_reads_changes_a_bundle(cli: Call, store: Store, asked: list[Request]) -> None:
    before = tree(store.root)
    key = store.keys()[0]
    assert f"{key}\n" in cli("why", key).out
    tables = json.loads(cli("status", "--json").out)["tables"]
    assert [table["done"] == table["runs"] > 0 for table in tables] == [True, True]
    done = cli("table", "ResAdapters-2", "--scale", "smoke", "--epochs", "1", "--no-run")
    assert "ResAdapters-2" in done.out
    assert cli("plan", "ResAdapters-2", "--scale", "smoke", "--epochs", "1").code == 0
    assert tree(store.root) == before


def test_report_lays_out_a_bundle_beside_the_stores_own_runs(
    cli: Call, store: Store, asked: list[Request], tmp_path: Path
) -> None:
    save_request(store, request())
    before = tree(store.root)
    assert cli("report").code == 0
    assert tree(store.root) == before
    text = (tmp_path / "tables" / "smoke.md").read_text()
    assert re.search(r"\| \[ResAdapters-1\].*\| smoke \| MiniLM-L6 \| .*\| empty \|", text)
    assert re.search(r"\| \[ResAdapters-2\].*\| smoke \| MiniLM-L6 \| .*\| (in)?complete \|", text)


def test_a_packed_table_is_shown_without_torch(
    run: Call, asked: list[Request], tmp_path: Path
) -> None:
    words = ("table", "ResAdapters-2", "--scale", "smoke", "--epochs", "1", "--no-run")
    answer = run(*words, at=tmp_path, torch=False)
    assert "ResAdapters-2" in answer.out, answer.err


def test_pack_refuses_a_name_that_no_store_reads_and_a_store_of_nothing(cli: Call) -> None:
    for name in ("results.tar", ".jsonl.xz", ".x.jsonl.xz"):
        answer = cli("store", "pack", name)
        assert (answer.code, answer.out) == (2, "")
        assert "NAME.jsonl.xz" in answer.err
    answer = cli("store", "pack", "x.jsonl.xz")
    assert answer.code == 2
    assert "No table or figure was asked for" in answer.err


def test_a_bundle_that_is_there_is_not_written_over(cli: Call, asked: list[Request]) -> None:
    before = Path("runs/one.jsonl.xz").read_bytes()
    answer = cli("store", "pack", "runs/one.jsonl.xz", "--store", "source")
    assert answer.code == 2
    assert "is there already" in answer.err
    assert Path("runs/one.jsonl.xz").read_bytes() == before
