"""A merge copies what another store holds, replaces nothing, and may be killed at any step."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pandas
import pytest
from committed import committed
from kill_points import killed_in_a_fork, steps_of
from store_samples import (
    FULL,
    files_of,
    listening,
    result_of,
    spec_of,
    tree,
    unfinished,
    write_child,
    write_run,
    write_scores,
)

import repro
from repro.errors import ReproError, StoreError
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.spec import method as registry
from repro.spec import run_key
from repro.store import Store, render
from repro.store.merge import Merged, check_sources
from repro.store.merge import merge as merge_one

SECTION = "Low-data-100"


def merge(store: Store, source: Path, *, dry_run: bool = False) -> Merged:
    check_sources(store, [source])
    return merge_one(store, source, dry_run=dry_run)


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(tmp_path / "other")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_what_is_only_there_is_copied_byte_by_byte_and_the_source_stays(
    store: Store, other: Store
) -> None:
    keys = [write_run(other, seed) for seed in range(2)]
    parent = keys[0]
    child = write_child(other, parent)
    other.save_request("T-1", {"seeds": 1})
    for name in ("external/a.json", "counts/b.json"):
        (other.root / name).parent.mkdir()
        (other.root / name).write_text('{"x": 1}')
    other.save_method("mine", Path("/somewhere/mine.py"))
    failing = spec_of(7)
    other.record_failure(run_key(failing), failing, "diverged", "It diverged.", "the log")
    before = tree(other.root)
    found = merge(store, other.root)
    assert sorted(found.runs["new"]) == sorted([*keys, child])
    assert (found.records, found.failures, found.conflicts, found.problems) == (3, 1, [], [])
    assert tree(other.root) == before
    assert tree(store.root) == before
    again = merge(store, other.root)
    assert sorted(again.runs["same"]) == sorted([*keys, child])
    assert (again.records, again.equal_records, again.failures) == (0, 3, 0)
    assert tree(store.root) == before


def test_the_methods_of_a_source_are_known_before_its_runs_are_read(
    store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of a user's method were left out as damaged, and copied by the next merge."""
    monkeypatch.setattr(registry, "_REMEMBERED", {})
    write_run(other, 0)
    other.save_method("my-scales", tmp_path / "my_scales.py")
    check_sources(store, [other.root])
    assert {"my-scales": tmp_path / "my_scales.py"} == registry._REMEMBERED


def test_a_dry_run_says_the_same_and_changes_nothing(store: Store, other: Store) -> None:
    parent = write_run(other, 0, value=60.0)
    write_child(other, parent)
    write_run(store, 0, value=50.0)
    write_run(other, 1)
    before = tree(store.root)
    told = merge(store, other.root, dry_run=True)
    assert tree(store.root) == before
    done = merge(store, other.root)
    assert told.runs == done.runs
    assert [(c.what, c.differences) for c in told.conflicts] == [
        (c.what, c.differences) for c in done.conflicts
    ]


def test_equal_results_of_two_machines_are_one(store: Store, other: Store) -> None:
    key = write_run(store, 0, environment="one")
    write_run(other, 0, environment="another")
    before = tree(store.root)
    assert merge(store, other.root).runs == {"same": [key]}
    assert tree(store.root) == before


def test_different_results_of_one_run_are_both_kept_and_shown_once(
    store: Store, other: Store
) -> None:
    key = write_run(store, 0, value=50.0)
    write_run(other, 0, value=52.5)
    for _ in range(2):
        found = merge(store, other.root)
        assert found.runs == {"differs": [key]}
        (conflict,) = found.conflicts
        assert conflict.why == "2 scores differ"
        assert [(d.here, d.there) for d in conflict.differences] == [(51.0, 53.5), (52.0, 54.5)]
        assert "epoch 1" in conflict.differences[0].score
        assert conflict.kept is not None
        assert (conflict.kept / "result.json").read_bytes() == render(result_of(key, 52.5))
    run = Store(store.root).read(key, verify=True)
    assert run is not None
    assert run.result == result_of(key, 50.0)
    assert len(list((store.root / "quarantine").glob(f"{key}-*"))) == 1


def test_a_result_that_only_a_bundle_holds_here_is_not_hidden_by_another(
    store: Store, other: Store, tmp_path: Path
) -> None:
    packing = Store(tmp_path / "packing")
    key = write_run(packing, 0, value=50.0)
    packing.pack([key], store.root / "one.jsonl.xz", {})
    write_run(other, 0, value=60.0)
    assert merge(Store(store.root), other.root).runs == {"differs": [key]}
    run = Store(store.root).read(key)
    assert run is not None
    assert run.result == result_of(key, 50.0)


def test_files_that_are_only_there_complete_an_equal_result(store: Store, other: Store) -> None:
    key = write_scores(store, 0)
    write_run(other, 0)
    environment = (store.root / key[:2] / key / "environment.json").read_bytes()
    assert merge(store, other.root).runs == {"completed": [key]}
    folder = store.root / key[:2] / key
    assert {path.name for path in folder.iterdir()} == FULL
    assert (folder / "adapter.safetensors").read_bytes() == files_of(key)["adapter.safetensors"]
    assert (folder / "environment.json").read_bytes() == environment
    assert Store(store.root).is_whole(key, weights=True)
    assert merge(other, store.root).runs == {"same": [key]}


def test_runs_of_a_bundle_are_stored_as_the_part_that_they_are(
    store: Store, other: Store, tmp_path: Path
) -> None:
    key = write_run(other, 0)
    other.pack([key], tmp_path / "one.jsonl.xz", {"requests/T-1.json": b"{}\n"})
    found = merge(store, tmp_path / "one.jsonl.xz")
    assert (found.runs, found.records) == ({"new": [key]}, 1)
    run = store.read(key, verify=True)
    assert run is not None
    assert run.partial
    assert not store.is_whole(key)
    assert merge(store, other.root).runs == {"completed": [key]}
    assert store.is_whole(key, weights=True)


def test_a_child_of_another_result_of_its_parent_is_kept_aside(store: Store, other: Store) -> None:
    parent = write_run(store, 0, value=50.0)
    write_run(other, 0, value=60.0)
    child = write_child(other, parent)
    found = merge(store, other.root)
    assert found.runs == {"differs": [parent, child]}
    assert "another result of its parent" in found.conflicts[1].why
    fresh, lines = listening(store.root)
    assert fresh.keys() == [parent]
    assert fresh.read(parent, verify=True) is not None
    assert lines == []


def test_a_failure_replaces_neither_a_result_nor_a_failure(store: Store, other: Store) -> None:
    done, failed, new = (spec_of(seed) for seed in range(3))
    write_run(store, 0)
    store.record_failure(run_key(failed), failed, "error", "ours", "our log")
    for spec in (done, failed, new):
        other.record_failure(run_key(spec), spec, "diverged", "theirs", "their log")
    assert merge(store, other.root).failures == 1
    found = {key: store.failure(key) for key in map(run_key, (done, failed, new))}
    assert [failure and failure.message for failure in found.values()] == [None, "ours", "theirs"]


def test_a_result_ends_the_failure_that_is_recorded_here(store: Store, other: Store) -> None:
    key = write_run(other, 0)
    store.record_failure(key, spec_of(0), "killed", "m", "log")
    assert merge(store, other.root).runs == {"new": [key]}
    assert store.failed() == set()


def test_a_record_that_differs_is_kept_aside_once(store: Store, other: Store) -> None:
    store.save_request("T-1", {"seeds": 1})
    other.save_request("T-1", {"seeds": 2})
    for _ in range(2):
        (conflict,) = merge(store, other.root).conflicts
        assert conflict.what == "requests/T-1.json"
        assert conflict.kept is not None
        assert json.loads(conflict.kept.read_bytes()) == {"seeds": 2}
    assert store.requests() == {"T-1": {"seeds": 1}}
    assert len(list((store.root / "quarantine").glob("T-1-*"))) == 1


@pytest.mark.parametrize("name", ["result.json", "adapter.safetensors", "MANIFEST.json"])
def test_a_damaged_run_is_left_out_and_left_where_it_is(
    store: Store, other: Store, name: str
) -> None:
    bad, good = write_run(other, 0), write_run(other, 1)
    path = other.root / bad[:2] / bad / name
    path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    before = tree(other.root)
    found = merge(store, other.root)
    assert found.runs == {"damaged": [bad], "new": [good]}
    assert [bad[:12] in line for line in found.problems] == [True]
    assert tree(other.root) == before
    assert store.keys() == [good]


def test_a_damaged_run_here_gives_way_to_a_good_one(store: Store, other: Store) -> None:
    key = write_run(store, 0)
    write_run(other, 0)
    (store.root / key[:2] / key / "result.json").write_bytes(b"{}")
    assert merge(Store(store.root, warn=print), other.root).runs == {"new": [key]}
    assert store.read(key, verify=True) is not None


def test_nothing_is_written_outside_the_store_nor_read_through_links(
    store: Store, other: Store, tmp_path: Path
) -> None:
    spec = spec_of(0)
    other.record_failure(run_key(spec), spec, "error", "m", "log")
    path = other.failure_path(run_key(spec))
    path.write_text(path.read_text().replace("failures/", "../../outside/failures/"))
    (other.root / "requests").mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (other.root / "requests" / "T-1.json").symlink_to(tmp_path / "secret.json")
    (other.root / "requests" / "T-2.json").mkdir()
    (other.root / "requests" / "T-3.json").write_text("[" * 100_000)
    found = merge(store, other.root)
    assert found.failures == 1
    assert len(found.problems) == 3
    assert store.requests() == {}
    files = set(tree(tmp_path)) - {name for name in tree(tmp_path) if name.startswith("other/")}
    assert {name for name in files if not name.startswith("runs/")} == {"secret.json"}


def test_what_is_no_store_or_the_store_itself_is_refused_before_anything_is_copied(
    store: Store, other: Store, tmp_path: Path
) -> None:
    key = write_run(other, 0)
    write_run(store, 1)
    store.pack([run_key(spec_of(1))], store.root / "one.jsonl.xz", {})
    (tmp_path / "link").symlink_to(store.root)
    (tmp_path / "empty").mkdir()
    before = tree(store.root)
    for source, said in (
        (store.root, "the store itself"),
        (tmp_path / "link", "the store itself"),
        (store.root / "one.jsonl.xz", "shows its runs already"),
        (tmp_path, f"There are stores in it: {tmp_path / 'link'}, {other.root}, {store.root}"),
        (tmp_path / "empty", "no store"),
        (tmp_path / "absent", "There is no"),
        (other.root / key[:2] / key / "result.json", "neither"),
    ):
        with pytest.raises(ReproError) as refused:
            check_sources(store, [other.root, source])
        assert said in str(refused.value), source
    assert tree(store.root) == before


def test_a_damaged_bundle_is_a_problem_and_no_empty_store(store: Store, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl.xz").write_bytes(b"no bundle")
    found = merge(store, tmp_path / "bad.jsonl.xz")
    assert found.runs == {}
    assert "bad.jsonl.xz is ignored" in found.problems[0]


def test_a_full_disk_stops_a_merge_and_the_same_merge_goes_on(
    small_disk: Path, other: Store
) -> None:
    keys = [write_run(other, seed) for seed in range(8)]
    store = Store(small_disk / "runs")
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 100_000)
    with pytest.raises(StoreError, match="disk is full"):
        merge(store, other.root)
    stored = store.keys()
    assert 0 < len(stored) < len(keys)
    assert all(store.read(key, verify=True) for key in stored)
    assert not unfinished(store.root)
    filler.unlink()
    (small_disk / "link").symlink_to(other.root)
    left = 8 - len(stored)
    assert merge(store, small_disk / "link", dry_run=True).count("new") == left


def test_a_merge_killed_at_any_step_leaves_a_sound_store_that_the_next_one_completes(
    tmp_path: Path, other: Store
) -> None:
    """New, completed and differing runs, a failure, an equal and a differing record."""
    new, completed, differing = write_run(other, 0), write_run(other, 1), write_run(other, 2, 9.0)
    write_child(other, new)
    other.record_failure(run_key(spec_of(4)), spec_of(4), "error", "m", "log")
    other.save_request("T-1", {"seeds": 2})
    start = Store(tmp_path / "start")
    write_scores(start, 1)
    write_run(start, 2)
    start.save_request("T-1", {"seeds": 1})
    other.save_method("mine", Path("/somewhere/mine.py"))
    whole = tmp_path / "whole"
    shutil.copytree(start.root, whole)
    names = steps_of(lambda store: merge(store, other.root), whole)
    wanted = {name: data for name, data in tree(whole).items() if not name.startswith("claims/")}
    for step in range(0, len(names), 11):
        root = tmp_path / str(step)
        shutil.copytree(start.root, root)
        killed_in_a_fork(partial(merge, Store(root), other.root), step)
        store, _ = listening(root)
        keys = store.keys()
        for key in keys:
            run = store.read(key, verify=True)
            assert run is not None
            assert run.result == result_of(key, 50.0) or run.spec.parents, (step, names[step])
        assert {completed, differing} <= {*keys, *_aside(root)}, (step, names[step])
        merge(store, other.root)
        store.sweep()
        found = {name: data for name, data in tree(root).items() if "quarantine/" not in name}
        kept = {name: data for name, data in wanted.items() if "quarantine/" not in name}
        assert found == kept, (step, names[step])
        aside = {d for n, d in tree(root).items() if "quarantine/" in n}
        assert aside >= {d for n, d in wanted.items() if "quarantine/" in n}
        shutil.rmtree(root)
    assert len(names) > 100


def _aside(root: Path) -> set[str]:
    return {path.name[:64] for path in (root / "quarantine").glob("*")}


def test_halves_that_two_machines_trained_give_the_cells_of_one_machine(tmp_path: Path) -> None:
    """AA-2's section of 100 rows as committed; parents that both halves need are in both."""
    (tmp_path / "whole").mkdir()
    whole = committed(tmp_path / "whole", "smoke")
    wanted = list(TABLES["AA-2"].matrix(Request("AA-2", "smoke", 1, sections=(SECTION,))).runs)
    cells = partial(repro.comparison, "AA-2", scale="smoke", sections=SECTION)
    halves = [tmp_path / f"{number}.jsonl.xz" for number in range(2)]
    for number, half in enumerate(halves):
        whole.pack(wanted[number::2], half, {})
    expected = cells(store=whole.root)
    assert expected["mean"].notna().sum() > 50
    for name, order in (("one", halves), ("other", halves[::-1])):
        store = Store(tmp_path / name)
        found = [merge(store, half) for half in order]
        assert [each.conflicts + each.problems for each in found] == [[], []]
        assert found[1].count("same") > 0
        assert set(store.keys()) == set(wanted)
        pandas.testing.assert_frame_equal(cells(store=store.root), expected)
