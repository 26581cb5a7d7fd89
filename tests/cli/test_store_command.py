"""`store ls|du|gc|rm`: what a store holds and takes, what goes, and what always stays."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fake_results import request, runs_of, store_all, store_result
from fake_spans import request as spans_request
from fake_spans import store_chain
from kill_points import killed_in_a_fork
from store_samples import tree

from repro.cli.main import main
from repro.engine.jobs import Execution, make_job, write_job
from repro.report.files import save_request, saved_requests, table_name
from repro.report.reproduce import view_of
from repro.spec import run_key
from repro.store import Store
from repro.store.atomic import write_json
from repro.store.remote import copy_of
from repro.store.temporary import machine

Call = Callable[..., Any]
LEFT = f".staging-{machine()}-{os.getpid()}-1-abc"
"""Of this process's id, but started at another time: its process is gone."""


def make_older(path: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for item in (*path.rglob("*"), path):
        os.utime(item, (then, then))


def lines_of(out: str) -> list[dict[str, str]]:
    head, *rows = [line.split("\t") for line in out.splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.fixture
def asked(store: Store) -> list[str]:
    """The keys of a saved request's runs, all stored."""
    one = request(epochs=1)
    save_request(store, one)
    return store_all(store, one)


@pytest.fixture
def stranger(store: Store) -> str:
    """A stored run that nothing needs."""
    return store_result(store, runs_of(request(epochs=3))[0])


def test_piped_runs_are_lines_of_tabs_with_whole_keys_and_what_needs_them(
    cli: Call, store: Store, asked: list[str], stranger: str
) -> None:
    rows = {row["key"]: row for row in lines_of(cli("store", "ls").out)}
    assert rows.keys() == {*asked, stranger}
    assert {rows[key]["needed by"] for key in asked} == {table_name(request(epochs=1))}
    assert rows[stranger]["needed by"] == ""
    found = {run["key"]: run for run in json.loads(cli("store", "ls", "--json").out)["runs"]}
    folder = store.root / stranger[:2] / stranger
    assert found[stranger]["bytes"] == sum(path.stat().st_size for path in folder.iterdir())


def test_runs_are_chosen_by_their_fields_and_by_state(
    cli: Call, store: Store, asked: list[str], stranger: str
) -> None:
    spec = runs_of(request(epochs=2))[1]
    store.record_failure(run_key(spec), spec, "diverged", "m", "log")

    def keys(*words: str) -> set[str]:
        return {row["key"] for row in lines_of(cli("store", "ls", *words).out)}

    assert keys("--where", "recipe.epochs=3") == {stranger}
    assert keys("--state", "failed") == keys("--where", "state=failed") == {run_key(spec)}
    assert keys("--where", "table=ResAdapters-1") == set(asked)
    assert keys("--where", "task=squad2", "--where", "recipe.epochs=1") == set(asked)
    assert keys("--where", "task=rte") == set()
    assert "No run in" in cli("store", "ls", "--where", "task=rte").err
    assert "Did you mean done?" in cli("store", "ls", "--where", "state=dnoe").err
    assert len(cli("store", "ls", "--where", "zzz=1").err) < 300
    answer = cli("store", "ls", "--where", "tusk=rte")
    assert (answer.code, answer.out) == (2, "")
    assert "Did you mean task" in answer.err
    assert "FIELD=VALUE" in cli("store", "ls", "--where", "rte").err


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_narrow_terminal_cuts_names_and_no_line_is_wider(
    cli: Call, asked: list[str], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out = re.sub("\x1b\\[[0-9;]*m", "", cli("store", "ls", "--where", "seed=0").out)
    lines = [line.rstrip() for line in out.splitlines()[:-1]]
    assert [line for line in lines if len(line) > width] == []
    assert {line[:8] for line in lines} > {key[:8] for key in asked}
    assert all(line[10:14] == "done" for line in lines[2:])
    assert ("ResAdapters-1.smoke" in out) == (width == 200)


def test_du_counts_every_byte_once_by_kind(cli: Call, store: Store, asked: list[str]) -> None:
    for name, content in (("work/job/state", b"12345"), ("cache/x.arrow", b"1" * 70)):
        path = store.root / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    found = json.loads(cli("store", "du", "--json").out)
    kinds = {kind["kind"]: kind["bytes"] for kind in found["kinds"]}
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert found["bytes"] == sum(path.stat().st_size for path in files)
    assert (kinds["checkpoints"], kinds["token cache"]) == (5, 70)
    assert list(kinds.values()) == sorted(kinds.values(), reverse=True)


@pytest.fixture
def used(store: Store, asked: list[str]) -> dict[str, Path]:
    """What `gc` meets in a store that was worked with, by what it is."""
    specs, done = runs_of(request(epochs=2)), runs_of(request(epochs=1))
    abandoned = write_job(store, make_job(specs[:2]), Execution())
    stored = write_job(store, make_job(done[:1]), Execution())
    wanted = write_job(store, make_job(runs_of(request("ResAdapters-2", epochs=1))), Execution())
    save_request(store, request("ResAdapters-2", epochs=1))
    save_request(store, spans_request(layers=3))
    store_chain(store, spans_request(layers=3))
    make_older(abandoned, 40)
    make_older(wanted, 40)
    cache = {name: store.cache / f"{name}.arrow" for name in ("old", "new")}
    store.cache.mkdir()
    for path in cache.values():
        path.write_bytes(b"rows")
    make_older(cache["old"], 40)
    left = store.root / LEFT
    left.mkdir()
    lease = store.root / "claims" / f"{asked[0]}.lock"
    write_json(lease, {"token": "ab12", "machine": machine(), "pid": 2**30})  # of a dead process
    store.record_failure(asked[0], done[0], "killed", "m", "log")
    store.record_failure(run_key(specs[0]), specs[0], "killed", "m", "log")
    return {
        "abandoned": abandoned, "stored": stored, "wanted": wanted, "left": left,
        "old": cache["old"], "new": cache["new"],
        "stale failure": store.failure_path(asked[0]),
        "failure": store.failure_path(run_key(specs[0])),
        "claim": lease,
    }  # fmt: skip


GOES = {"abandoned", "stored", "left", "old", "stale failure", "claim"}


def test_gc_removes_what_nothing_needs_and_nothing_else(
    cli: Call, store: Store, used: dict[str, Path]
) -> None:
    before, runs = tree(store.root), set(store.keys())
    dry = json.loads(cli("store", "gc", "--dry-run", "--json").out)
    assert tree(store.root) == before
    assert {item["path"] for item in dry["removed"]} == {
        f"runs/{used[n].relative_to(store.root)}" for n in GOES
    }
    done = json.loads(cli("store", "gc", "--json").out)
    assert done["removed"] == dry["removed"]
    assert {name for name, path in used.items() if not path.exists()} == GOES
    assert set(store.keys()) == runs
    assert json.loads(cli("store", "gc", "--json").out)["removed"] == []


def test_gc_leaves_the_checkpoint_of_a_live_process(
    cli: Call, store: Store, used: dict[str, Path], asked: list[str]
) -> None:
    with store.claim([asked[0], *(run_key(s) for s in runs_of(request(epochs=2))[:1])]):
        assert cli("store", "gc", "--older-than", "0d").code == 0
        assert used["abandoned"].exists()
        assert used["stored"].exists()
        assert used["stale failure"].exists()
        assert used["claim"].exists()


def test_gc_killed_at_every_step_leaves_every_run_and_ends_when_given_again(
    cli: Call, store: Store, used: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["repro", "store", "gc"])
    keys = store.keys()
    runs = {key: store.read(key) for key in keys}
    step = 0
    while True:
        try:
            killed_in_a_fork(partial(_quietly, main), step)
        except AssertionError:  # it came to its end
            break
        fresh = Store(store.root)
        assert fresh.keys() == keys
        assert {key: fresh.read(key, verify=True) for key in keys} == runs
        step += 3
    assert step > 15
    assert {name for name, path in used.items() if not path.exists()} == GOES
    assert not list(store.root.glob(".staging*"))


def _quietly(work: Callable[[], object]) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    work()


def test_outdated_runs_go_on_request_only_and_never_a_parent_of_what_stays(
    cli: Call, store: Store, stranger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_chain(store, spans_request(layers=3))
    save_request(store, spans_request(layers=3))
    child = next(spec for spec in store.specs().values() if spec.parents)
    outdated = [store.specs()[key] for key in (stranger, *child.parents.values())]
    before = set(store.keys())
    monkeypatch.setattr(
        "repro.engine.housekeeping.run_key", lambda s: "f" * 64 if s in outdated else run_key(s)
    )
    assert cli("store", "gc").code == 0
    assert set(store.keys()) == before
    assert cli("store", "gc", "--outdated").code == 0
    assert before - set(store.keys()) == {stranger}


def test_a_request_that_cannot_be_read_bars_the_removal_of_what_it_may_need(
    cli: Call, store: Store, asked: list[str], stranger: str
) -> None:
    store.save_request("of-another-version", {"id": "ResAdapters-9", "novel": 1})
    answer = cli("store", "gc", "--outdated")
    assert answer.code == 2
    assert "of-another-version" in answer.err
    answer = cli("store", "rm", stranger)
    assert answer.code == 2
    assert "store rm --request of-another-version`" in answer.err
    assert set(store.keys()) == {*asked, stranger}
    assert cli("store", "rm", stranger, "--request", "of-another-version").code == 0
    assert set(store.keys()) == set(asked)


def test_rm_removes_runs_of_a_condition_with_their_failures(
    cli: Call, store: Store, asked: list[str], stranger: str
) -> None:
    spec = runs_of(request(epochs=3))[1]
    store.record_failure(run_key(spec), spec, "diverged", "m", "log")
    dry = cli("store", "rm", "--where", "recipe.epochs=3", "--dry-run")
    assert dry.out.splitlines()[-1].startswith("Would remove 2 runs")
    assert store.read(stranger) is not None
    assert cli("store", "rm", "--where", "recipe.epochs=3").code == 0
    assert set(store.keys()) == set(asked)
    assert store.failed() == set()
    assert not list((store.root / "failures").iterdir())
    assert "No run in" in cli("store", "rm", "--where", "recipe.epochs=3").err


def test_rm_refuses_what_a_request_needs_unless_forced_or_the_request_goes_too(
    cli: Call, store: Store, asked: list[str]
) -> None:
    name = table_name(request(epochs=1))
    answer = cli("store", "rm", asked[0][:12])
    assert answer.code == 2
    assert f"needed by {name}" in answer.err
    assert set(store.keys()) == set(asked)
    assert cli("store", "rm", asked[0], "--force").code == 0
    assert set(store.keys()) == set(asked[1:])
    assert cli("store", "rm", asked[1], "--request", name).code == 0
    assert store.requests() == {}
    assert set(store.keys()) == set(asked[2:])
    assert "no saved request called" in cli("store", "rm", "--request", name).err


def test_rm_leaves_what_a_live_process_trains_from_and_what_lies_in_a_bundle(
    cli: Call, store: Store, asked: list[str]
) -> None:
    chain = spans_request(layers=3)
    store_chain(store, chain)
    child = next(spec for spec in store.specs().values() if spec.parents)
    parent = next(iter(child.parents.values()))
    write_job(store, make_job([child]), Execution())
    with store.claim([run_key(child)]):
        answer = cli("store", "rm", parent, "--force")
        assert (answer.code, answer.out) == (2, "")
        assert "trains in" in answer.err
    cli("store", "pack", "other/one.jsonl.xz")
    answer = cli("store", "rm", asked[0], "--force", "--store", "other")
    assert answer.code == 2
    assert "one.jsonl.xz, which never changes" in answer.err
    answer = cli("store", "rm", "--where", "state=done", "--force", "--store", "other")
    assert (answer.code, answer.out) == (0, "Removed nothing.\n")
    assert re.search(r"Left as they are: \d+ runs? of bundles", answer.err)
    (store.root / "one.jsonl.xz").write_bytes(Path("other/one.jsonl.xz").read_bytes())
    said = cli("store", "rm", asked[0], "--force").out.splitlines()[-1]
    assert said == "Tables still show 1 run of the bundle runs/one.jsonl.xz."


@pytest.mark.parametrize("verb", ["ls", "du", "gc", "verify", "rm abc"])
@pytest.mark.parametrize("place", ["absent", "project"])
def test_a_folder_that_is_no_store_is_neither_cleaned_nor_called_sound(
    cli: Call, tmp_path: Path, verb: str, place: str
) -> None:
    for name in ("cache/x.arrow", "work/0123/notes.txt", "quarantine/x-1/a"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True)
        path.write_text("precious")
    make_older(tmp_path / "project", 400)
    before = tree(tmp_path / "project")
    answer = cli("store", *verb.split(), "--store", place)
    assert (answer.code, answer.out) == (2, "")
    assert f"{place} is no store" in answer.err
    assert tree(tmp_path / "project") == before


@pytest.mark.usefixtures("asked")
def test_an_unknown_name_state_age_or_nothing_to_remove_is_said(cli: Call) -> None:
    for words, said in (
        (("rm",), "Name what to remove"),
        (("rm", "xyz"), "no run's key"),
        (("rm", "abcdef"), "No run's key begins with 'abcdef'"),
        (("rm", "--request", "../x"), "no saved request called '../x'"),
        (("ls", "--state", "lost"), "no state called 'lost'"),
        (("gc", "--older-than", "soon"), "no age"),
        (("gc", "--older-than", "-1d"), "no age"),
    ):
        answer = cli("store", *words)
        assert (answer.code, answer.out) == (2, ""), words
        assert said in answer.err, words


def test_a_store_that_is_a_link_is_cleaned_and_what_lies_outside_it_stays(
    cli: Call, store: Store, asked: list[str], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    store.cache.mkdir()
    (store.cache / "link.arrow").symlink_to(outside)
    (tmp_path / "link").symlink_to(store.root)
    assert cli("store", "gc", "--older-than", "0d", "--store", "link").code == 0
    assert (outside / "precious").read_text() == "x"
    assert not (store.cache / "link.arrow").is_symlink()
    assert set(store.keys()) == set(asked)


def test_two_halves_of_a_table_merge_to_the_cells_of_the_whole(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    asked = request(epochs=1)
    whole, specs = Store(tmp_path / "whole"), runs_of(asked)
    store_all(whole, asked)
    save_request(whole, asked)
    for name, part in (("one", specs[:4]), ("two", specs[3:])):
        half = Store(tmp_path / name)
        save_request(half, asked)
        for spec in part:
            store_result(half, spec)
    answer = cli("store", "merge", "one", "two")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1].startswith("two: ")
    assert "1 equal to those here" in answer.out
    (merged,) = saved_requests(store)
    assert view_of(merged, store) == view_of(asked, whole)


def test_a_merge_says_how_results_differ_and_ends_with_another_exit_code(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    spec = runs_of(request(epochs=1))[0]
    other = Store(tmp_path / "other")
    key = store_result(store, spec)
    store_result(other, spec, lambda *_: 12.345)
    answer = cli("store", "merge", "other")
    assert answer.code == 4
    assert (
        "squad2 generated legacy/argmax-pair em ALL, epoch 1: 10 here, 12.345 there" in answer.out
    )
    assert f"kept in runs/quarantine/{key}-1" in answer.out
    found = json.loads(cli("store", "merge", "other", "--json").out)["sources"][0]
    assert found["runs"]["differs"] == [key]
    assert found["conflicts"][0]["differences"][0]["here"] == 10.0


def test_verify_names_what_is_damaged_with_a_mend_that_works(
    cli: Call, store: Store, asked: list[str]
) -> None:
    whole = cli("store", "verify", "--no-rescore")
    assert whole.code == 0
    assert whole.out.splitlines()[-1].startswith(f"{len(asked)} runs and 1 record: 0 damaged")
    path = store.root / asked[0][:2] / asked[0] / "history.jsonl"
    path.write_bytes(b"x" * path.stat().st_size)
    assert Store(store.root).read(asked[0]) is not None  # an ordinary read looks at its size only
    answer = cli("store", "verify", "--no-rescore")
    assert answer.code == 1
    assert "history.jsonl has another checksum" in answer.out
    found = json.loads(cli("store", "verify", "--json", "--no-rescore").out)["damaged"]
    assert [one["what"] for one in found] == [asked[0]]
    words = re.findall("`python -m repro ([^`]+)`", found[0]["mend"])[0].split()
    assert cli(*words).code == 0
    store_result(store, runs_of(request(epochs=1))[0], members=asked)
    assert cli("store", "verify", "--no-rescore").code == 0


def test_a_table_of_a_shared_store_is_shown_and_merged_on_another_machine(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, asked = f"file://{tmp_path}/share", request(epochs=1)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "one"))
    shared = Store(copy_of(share))
    save_request(shared, asked)
    keys = store_all(shared, asked)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "two"))
    monkeypatch.setenv("REPRO_STORE", share)
    assert json.loads(cli("status", "--json").out)["tables"][0]["done"] == len(keys)
    monkeypatch.delenv("REPRO_STORE")
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "three"))
    tried = cli("store", "merge", share, "--store", "mine", "--dry-run")
    said = f"{share}: {len(keys)} runs, nothing changed: {len(keys)} new, 1 record to be copied."
    assert tried.out.startswith(said)
    answer = cli("store", "merge", share, "--store", "mine")
    assert answer.code == 0, answer.err
    assert answer.out.startswith(f"{share}: {len(keys)} runs: {len(keys)} new, 1 record copied")
    assert Store(tmp_path / "mine").keys() == sorted(keys)
    answer = cli("store", "merge", share, "--store", share)
    assert answer.code == 2
    assert "is the store itself" in answer.err


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a shared store that does not answer."""

    def refused(*_: object, **__: object) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.find", refused)
    return f"file://{tmp_path}/share"


def test_a_shared_store_that_cannot_be_reached_merges_nothing(cli: Call, unreachable: str) -> None:
    answer = cli("store", "merge", unreachable)
    assert (answer.code, answer.out) == (2, "")
    assert f"Nothing was merged from {unreachable}" in answer.err


def test_a_shared_store_that_was_never_read_here_and_does_not_answer_is_refused_in_a_line(
    cli: Call, unreachable: str
) -> None:
    for words in (("table", "3-shared-1", "--scale", "smoke"), ("store", "ls"), ("status",)):
        answer = cli(*words, "--store", unreachable)
        assert (answer.code, answer.out) == (2, "")
        (line,) = answer.err.splitlines()
        assert f"{unreachable} cannot be reached (ConnectionError: no route to host)" in line
        assert line.endswith("mend that, or name another store with --store.")


def test_with_a_copy_of_a_shared_store_that_does_not_answer_commands_go_on_and_say_so(
    cli: Call, unreachable: str
) -> None:
    save_request(Store(copy_of(unreachable), warn=lambda line: None), request(epochs=1))
    answer = cli("status", "--store", unreachable)
    assert answer.code == 0
    assert "ResAdapters-1.smoke" in answer.out
    assert "cannot be reached" in answer.err
    assert "Its copy in" in answer.err


def test_a_url_where_nothing_was_stored_is_no_store(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    url = f"file://{tmp_path}/absent"
    answer = cli("store", "ls", "--store", url)
    assert (answer.code, answer.out) == (2, "")
    assert f"{url} is no store" in answer.err


def test_runs_from_the_future_have_no_age_and_nothing_of_them_is_taken_for_old(
    cli: Call, store: Store, asked: list[str]
) -> None:
    (store.cache / "rows.arrow").parent.mkdir()
    (store.cache / "rows.arrow").write_bytes(b"x")
    make_older(store.root, -3000)
    assert {row["age"] for row in lines_of(cli("store", "ls").out)} == {"0 s"}
    assert cli("store", "gc", "--older-than", "0d").out == "Removed 0 items, 0 KB.\n"
    assert json.loads(cli("status", "--json").out)["tables"][0]["done"] == len(asked)
